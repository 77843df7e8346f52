"""Thresholds and confident verdicts on a stored log."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta
from sqlalchemy import func, select

from engines import on_sqlite
from estimates import value_and_ends
from graded_log import BAD, GOOD, labels_in, labels_where
from judgeboard.domain import Status
from judgeboard.errors import BadInput, NotFound
from judgeboard.measure.corrected_trend import corrected_trend
from judgeboard.measure.rates import measure_rate
from judgeboard.measure.ratings import PairSource
from judgeboard.measure.result import Row
from judgeboard.measure.scored_labels import allowed_risk, flag_from, load_sample
from judgeboard.measure.threshold_figures import AtThreshold, QueueChange, ThresholdFigures
from judgeboard.measure.thresholds import (
    CHOSEN,
    HELD_OUT,
    IN_FORCE,
    KEPT,
    Goal,
    advised_setting,
    cost_decision,
    decision,
    measure_confident_verdicts,
    measure_threshold,
    replayed,
    setting_of,
    threshold_result,
    verdicts_note,
)
from judgeboard.people.roster import raise_flags
from judgeboard.reports.thresholds import thresholds_table
from judgeboard.stats.estimates import measured, unmeasured
from judgeboard.stats.thresholds import DELTA, labels_to_pass
from judgeboard.store.filter_conditions import verdict_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.response_pages import rules_of
from judgeboard.store.tables import CURRENT, FLAG, RESPONSE
from result_parts import codes, values_of_note
from stored_rows import rows_of, values_of


def judged(log, n=300, query_type="sql", share_bad=3):
    """One answer in ``share_bad`` (0: none) is bad, and the judge gives it a low score. A person labels all answers."""
    ids = log.answers(n, query_type=query_type)
    version = log.version("rag")
    bad = ids[::share_bad] if share_bad else ()
    scores = [
        (place * 37 % 101) / 250 + (0.05 if each in bad else 0.55) for place, each in enumerate(ids)
    ]
    log.say_scores(version, ids, [round(score, 4) for score in scores])
    log.reviews(labels_in(ids, bad))
    return version


@pytest.fixture
def labelled_flags(graded_once):
    """Return ``labelled_flags(share_bad, random_share, rest_bad_every)``: a log, and the version of its judge.

    All 240 flagged answers are labelled, a share of them bad. Of the other 600, ``random_share``
    are labelled, and every ``rest_bad_every``-th of them is bad (0: none).
    """

    def labelled(share_bad, random_share=0.1, rest_bad_every=10):
        def draw(log):
            log.set("random_share", random_share)

        def fill(log):
            draw(log)
            version, ids = log.version("rag"), log.answers(840)
            flagged, rest = ids[:240], ids[240:]
            say_rising(log, version, flagged, 0.1)
            say_rising(log, version, rest, 0.6, 1 / 3000)
            log.reviews(labels_where(flagged, lambda place: place % 10 < 10 * share_bad))
            drawn = log.read(rules_of, np.array(rest))["random_sample"].tolist()
            log.reviews(labels_in(drawn, drawn[::rest_bad_every] if rest_bad_every else ()))
            return version

        log, version = graded_once(
            f"labelled flags {share_bad} {random_share} {rest_bad_every}", fill
        )
        draw(log)  # a log to which a test says more draws nothing
        return log, version

    return labelled


def threshold_for(log, aim, value, **options):
    """Return the threshold that is measured for a goal."""
    (chosen,) = log.read(measure_threshold, Goal(aim, value), **options)
    return chosen


def sample_of(log, version, **options):
    """Return the answers that a version judged, with their labels."""
    return log.read(load_sample, [version], **options)


def say_rising(log, version, ids, first, step=0.001):
    """Give each answer a groundedness that is higher by a step than that of the answer before."""
    log.say_scores(version, ids, [first + place * step for place in range(len(ids))])


@on_sqlite
def test_a_threshold_for_recall_flags_fewer_answers_than_one_that_flags_all(log):
    judged(log)
    log.set("low_groundedness", 0.9)
    chosen = threshold_for(log, "recall", 0.8)
    assert advised_setting(chosen) < 0.9
    flags = [chosen.figure("flags", each).value for each in (CHOSEN, IN_FORCE)]
    assert chosen.figure("flags_change", CHOSEN).value == flags[0] - flags[1] < 0
    recall = chosen.figure("recall", CHOSEN)
    assert recall.low <= recall.value
    assert chosen.headline.code == "threshold_keep_or_change"
    assert chosen.headline.values["confidence"] == 0.95
    assert chosen.figure("flagged", CHOSEN).n == chosen.about.counts["other_half"]


@on_sqlite
def test_a_threshold_for_a_false_omission_rate_lets_out_as_many_answers_as_the_labels_allow(log):
    """The answers let out are tested from the best on, with the exact bound of Clopper and Pearson."""
    version = judged(log, 600)
    sample = sample_of(log, version, flags=True)
    chosen, strict = (threshold_for(log, "false_omission", share) for share in (0.05, 0.005))
    half = sample.labels.at(sample.labels.choosing)
    passing = []
    for threshold in np.unique(
        np.percentile(sample.judged.badness, range(1, 100), method="inverted_cdf")
    ):
        out = half.badness < threshold
        n, bad = int(out.sum()), int((out & half.bad).sum())
        # 0.95 ** 58 is above 5 %, 0.95 ** 59 is not: fewer labels show nothing even without an error.
        if n >= 59:
            if beta.ppf(0.95, bad + 1, n - bad) > 0.05:
                break
            passing.append((threshold, n, bad))
    wrong = chosen.figure("tested_wrong", CHOSEN)
    assert (chosen.figure("tested_badness", CHOSEN).value, wrong.n, wrong.value) == pytest.approx(
        passing[-1]
    )
    # The threshold lets out some bad answers.
    assert wrong.value > 0
    # Fewer than all bad answers are flagged.
    assert chosen.figure("flags", CHOSEN).value < 200
    other = sample.labels.at(~sample.labels.choosing)
    out = other.badness < passing[-1][0]
    assert chosen.figure("false_omission", CHOSEN).value == pytest.approx(other.bad[out].mean())
    assert (strict.headline.code, CHOSEN in strict.slices) == ("threshold_few_labels", False)


@on_sqlite
def test_a_false_omission_rate_of_unequal_labels_is_weighted(labelled_flags):
    """All 240 flagged answers have a label, and some of the others: only these tell what is let out."""
    log, version = labelled_flags(0.8, rest_bad_every=12)
    sample = sample_of(log, version, flags=True)
    chosen = threshold_for(log, "false_omission", 0.2)
    rest = sample.labels.at(~sample.labels.flagged)
    omission = chosen.figure("false_omission", IN_FORCE)
    assert omission.value == pytest.approx(rest.bad.mean())
    assert omission.low < rest.bad.mean() < omission.high
    columns = thresholds_table([chosen], "false_omission").columns
    assert columns[-1].title == "False omission rate"


@on_sqlite
def test_several_query_types_share_the_chance_to_miss_a_goal(log):
    for query_type in ("sql", "text"):
        judged(log, 200, query_type)
    goal = Goal("precision", 0.6, 0.1)
    both = log.read(measure_threshold, goal, by_query_type=True)
    (all_types,) = log.read(measure_threshold, goal)
    assert [each.about.where["query_type"] for each in both] == ["sql", "text"]
    confidences = [each.headline.values["confidence"] for each in (*both, all_types)]
    assert confidences == [0.95, 0.95, 0.9]
    assert all(len(each.curve) > 5 for each in (*both, all_types))


@on_sqlite
def test_a_threshold_of_a_query_type_is_replayed_and_decides_which_answers_are_bad(log):
    version, _ = (judged(log, 100, query_type) for query_type in ("sql", "text"))
    sample = sample_of(log, version)
    before, at = (replayed(sample, threshold, "sql") for threshold in (0.5, 0.62))
    low = int((sample.judged.of_type("sql").badness > 1 - 0.62).sum())
    assert before.change.flags == 0
    assert at.flags == low
    assert at.change.flags == low - before.flags > 0
    log.set("low_groundedness_by_type", ["sql=0.62"])
    raise_flags(log.store)
    after = sample_of(log, version)
    flagged_types = values_of(log.store, FLAG.c.query_type, FLAG.c.state == "open")
    assert Counter(flagged_types) == {"sql": low, "text": before.flags}
    with log.store.reading() as connection:
        pairs = PairSource(connection).pairs(version.id, "label")
    bad = (after.judged.flagged, after.labels.judged_bad, pairs.judge == pairs.scale.bad)
    assert [each.sum() for each in bad] == [low + before.flags] * 3
    assert judged_low(log) == low + before.flags
    assert after.cuts.words == "0.5 (sql: 0.62)"
    assert replayed(after, 0.5).change.flags == before.flags - low
    for refused, reason in (("other=0.5", "'other'"), ("sql", "not 'sql'")):
        with pytest.raises(BadInput, match=reason):
            log.set("low_groundedness_by_type", [refused])


def judged_low(log):
    """How many verdicts are on the low side."""
    with log.store.reading() as connection:
        low = verdict_conditions(connection, RowFilter(judge_side="low"))
        return connection.scalar(select(func.count()).select_from(CURRENT).where(*low))


def test_labels_have_the_evidence_groups_of_their_answers(log):
    version = judged(log, 40)
    log.say_all(version, log.answers(20), groundedness=0.4)
    sample = sample_of(log, version)
    stored = {row["id"]: row["evidence_group"] for row in rows_of(log.store, RESPONSE)}
    assert len(sample.judged.response_ids) == 60
    assert sample.labels.groups.tolist() == [
        stored[each] for each in sample.labels.response_ids.tolist()
    ]


@on_sqlite
def test_without_a_bad_label_nothing_is_said(log):
    judged(log, 60, share_bad=0)
    chosen = threshold_for(log, "recall", 0.8)
    assert (chosen.headline.code, advised_setting(chosen)) == ("threshold_no_bad_label", None)


@on_sqlite
def test_goals_at_the_ends_of_their_range_and_one_label_have_a_sentence(log):
    version = judged(log, 90)
    all_but_all = threshold_for(log, "recall", 1 - 1e-12)
    almost_none = threshold_for(log, "precision", 1e-12)
    surest, least_sure = (log.read(measure_confident_verdicts, goal) for goal in (1 - 1e-12, 1e-12))
    assert [each.next[0].code for each in (all_but_all, surest)] == ["log_more_of", "log_more_of"]
    assert almost_none.figure("low_groundedness", CHOSEN).value is not None
    assert least_sure.figure("no_review").value > 80
    with pytest.raises(BadInput, match="1,000,000, not 1e\\+300"):
        Goal("cost", 1e300)
    sample = sample_of(log, version)
    only = np.flatnonzero(~sample.labels.choosing & sample.labels.bad)[:1]
    (chosen,) = threshold_result(replace(sample, labels=sample.labels.at(only)), Goal("cost", 5))
    assert chosen.headline.code == "threshold_no_label_chooses"


@on_sqlite
def test_too_few_bad_labels_say_how_many_more_are_needed(log):
    judged(log, 30)
    chosen = threshold_for(log, "recall", 0.8)
    confident = log.read(measure_confident_verdicts, 0.95)
    assert (chosen.headline.code, advised_setting(chosen)) == ("threshold_few_labels", None)
    assert chosen.next[0].values == {"more": 64, "things": "bad answers", "counting": 10}
    assert (confident.headline.code, confident.rows) == ("confidence_few_labels", ())
    assert confident.next[0].values["counting"] == 30


@on_sqlite
def test_labels_of_all_flagged_answers_count_only_as_often_as_a_sample_of_the_rest(log):
    log.set("random_share", 0.2)
    version, ids = log.version("rag"), log.answers(400)
    flagged, rest = ids[:100], ids[100:]
    say_rising(log, version, flagged, 0.1)
    say_rising(log, version, rest, 0.6)
    log.reviews(labels_where(flagged, lambda place: place % 3))
    drawn = log.read(rules_of, np.array(rest))["random_sample"].tolist()
    unknown = threshold_for(log, "recall", 0.5)
    assert "no rule flagged" in unknown.sentence
    assert (unknown.headline.code, unknown.next[0].code) == ("not_available", "label_sample")
    log.review_all(drawn, label=GOOD)
    sample = sample_of(log, version)
    assert (sample.gap, sample.labels.n) == (None, 100 + len(drawn))
    by_lot = sample.by_lot
    assert set(drawn) <= set(by_lot.response_ids.tolist())
    assert len(drawn) < by_lot.n < len(drawn) + 50
    assert sample.left_out["more_often_labelled"] == sample.labels.n - by_lot.n


@on_sqlite
def test_labels_of_all_flagged_answers_choose_a_precision(labelled_flags):
    log, _ = labelled_flags(0.8)
    chosen, too_much = (threshold_for(log, "precision", value) for value in (0.6, 0.85))
    found, recall = (threshold_for(log, "recall", value) for value in (0.8, 0.95))
    # Half of all flagged answers, and not only a tenth of them.
    assert chosen.figure("tested_wrong", CHOSEN).n > 80
    assert chosen.figure("low_groundedness", CHOSEN).value >= 0.3
    # Few labels of answers without a flag tell which bad answers are missed.
    assert found.figure("recall", CHOSEN).low is None
    counting = values_of_note(recall.caveats, "uneven_labels")
    assert counting["labels"] == 192 + 6
    # Labels of all flagged answers do not count as a random sample.
    assert 10 < counting["counting"] < 60
    assert (too_much.headline.code, too_much.next) == ("threshold_not_shown", ())


@on_sqlite
def test_a_threshold_in_force_that_reaches_the_goal_is_kept(labelled_flags):
    log, _ = labelled_flags(0.8)
    shown, measured = (threshold_for(log, "precision", value) for value in (0.6, 0.79))
    recall = threshold_for(log, "recall", 0.5)
    assert (shown.headline.code, advised_setting(shown)) == ("threshold_keep", None)
    assert "below 0.5" not in shown.sentence
    assert measured.headline.code not in KEPT
    assert recall.headline.code == "threshold_keep_or_change"
    assert advised_setting(recall) < 0.4


@on_sqlite
def test_a_threshold_in_force_that_may_be_far_below_the_goal_is_not_advised(labelled_flags):
    """Few labels of 600 answers without a flag: the recall reaches 75 %, but its interval begins far below."""
    log, _ = labelled_flags(0.8, random_share=0.025, rest_bad_every=12)
    chosen = threshold_for(log, "recall", 0.75)
    recall = chosen.figure("recall", IN_FORCE)
    assert recall.low < 0.6
    assert recall.value >= 0.75
    assert codes([chosen.headline, chosen.next[0]]) == ["threshold_few_labels", "label_queue"]


@on_sqlite
def test_a_recall_is_as_uncertain_as_the_few_labels_of_answers_without_a_flag(labelled_flags):
    """None of some 60 labels of 600 answers is bad, so up to 6 % of them, 36 answers, may be: recall may be 84 %."""
    log, version = labelled_flags(0.8, rest_bad_every=0)
    sample = sample_of(log, version, flags=True)
    chosen = threshold_for(log, "precision", 0.75)
    half = replace(sample, labels=sample.labels.at(~sample.labels.choosing))
    low_of_half, low = (replayed(of, 0.5).recall.low for of in (half, sample))
    assert low_of_half <= low < 0.93
    rate = measure_rate(log.store)
    assert low == chosen.figure("recall", IN_FORCE).low == rate.figure("sensitivity").low
    only_flagged = replace(sample, labels=sample.labels.at(sample.labels.flagged))
    # Nothing is known of the answers without a flag.
    assert replayed(only_flagged, 0.5).recall.value is None


@on_sqlite
def test_a_recall_that_rests_on_too_few_labels_promises_nothing(labelled_flags):
    log, version = labelled_flags(0.8, random_share=0.006, rest_bad_every=0)
    sampled = sample_of(log, version).labels.n - 240
    recall, precision = (threshold_for(log, aim, 0.6) for aim in ("recall", "precision"))
    assert 2 <= sampled < 10
    for chosen in (recall, precision):
        assert chosen.figure("recall", IN_FORCE).low is None
        missing = values_of_note(chosen.caveats, "threshold_part_too_small")
        assert missing["labels"] == 10 - sampled
    assert recall.headline.code not in {"threshold_keep", "threshold_keep_or_change"}
    *of_half, _ = thresholds_table([threshold_for(log, "cost", 5)], "cost").rows
    assert len(of_half) == 2
    # A figure of half of the labels needs an interval: without one, its cell has the reason.
    why = recall.figure("recall", IN_FORCE).reason
    assert {(each.value, each.reason) for row in of_half for each in row[-2:]} == {(None, why)}


@on_sqlite
def test_the_threshold_in_force_has_the_figures_of_the_rate_beside_a_proposed_one_too(
    labelled_flags,
):
    log, _ = labelled_flags(0.7)
    chosen = threshold_for(log, "cost", 5)
    rate = measure_rate(log.store)
    other, held_out, in_force = thresholds_table([chosen], "recall").rows
    assert other[1] != held_out[1] == in_force[1] == "in force"
    assert other[2] == held_out[2]
    assert in_force[2] == f"all labels: {chosen.about.counts['labels']:,}"
    assert in_force[-2:] == tuple(rate.figure(each) for each in ("sensitivity", "precision"))


@on_sqlite
def test_the_figures_of_groundedness_are_not_those_of_a_label_that_differs(log):
    ids = log.answers(100)
    for name, called in (("same", lambda place: place < 50), ("other", lambda place: place < 60)):
        verdicts = {
            each: {"groundedness": 0.2 + 0.006 * place, "label": BAD if called(place) else GOOD}
            for place, each in enumerate(ids)
        }
        log.say(log.version(name), verdicts)
    log.reviews(labels_where(ids, lambda place: place < 40))
    differs = [
        "threshold_label_differs"
        in codes(threshold_for(log, "recall", 0.5, judge_version=name).caveats)
        for name in ("same", "other")
    ]
    assert differs == [False, True]


@on_sqlite
def test_a_threshold_in_force_and_a_proposed_one_are_measured_on_the_same_labels(labelled_flags):
    log, version = labelled_flags(0.7)
    sample = sample_of(log, version, flags=True)
    chosen = threshold_for(log, "cost", 5)
    labels, judged_answers = (each.at(~each.choosing) for each in (sample.labels, sample.judged))
    same = ThresholdFigures(labels, judged_answers).at(0.5, float(flag_from(0.5)))
    for slice_ in (HELD_OUT, CHOSEN):
        assert chosen.figure("flagged", slice_).n == labels.n < sample.labels.n
    assert chosen.figure("recall", HELD_OUT) == Row.of("", "", same.recall).estimate
    by_flags = sorted((CHOSEN, HELD_OUT), key=lambda each: chosen.figure("flags", each).value)
    recalls = [chosen.figure("recall", each).value for each in by_flags]
    # More flags cannot find fewer bad answers.
    assert recalls == sorted(recalls)


@on_sqlite
def test_the_advised_number_of_answers_gives_the_labels_that_a_recall_needs(labelled_flags):
    log, version = labelled_flags(0.8)
    before = threshold_for(log, "recall", 0.9)
    confident = log.read(measure_confident_verdicts, 0.95)
    by_lot = sample_of(log, version).by_lot
    bad = by_lot.at(by_lot.bad)
    counting, choosing = bad.n, int(bad.choosing.sum())
    advice = values_of_note(before.next, "label_queue")
    assert advice["command"].endswith(f"--plan rate --n {advice['answers']}")
    assert confident.next[0].code == "label_queue"
    needed = math.ceil(labels_to_pass(allowed_risk(0.9), DELTA))
    more = max(2 * needed - counting, needed - choosing)
    # Sample as many more of the 600 answers that have no flag.
    log.set("random_share", 0.1 + advice["answers"] / 600)
    raise_flags(log.store)
    ids = np.array(values_of(log.store, RESPONSE.c.id))
    labelled = sample_of(log, version).labels.response_ids
    drawn = np.setdiff1d(log.read(rules_of, ids)["random_sample"], labelled).tolist()
    assert 0.8 * advice["answers"] < len(drawn) < 1.2 * advice["answers"]
    log.reviews(labels_in(drawn, drawn[::10]))
    added = int(sample_of(log, version).by_lot.bad.sum()) - counting
    assert 0.7 * more < added < 1.4 * more


@on_sqlite
def test_the_number_of_flags_is_what_the_rules_raise(log):
    """Refusals after a search without a result and confident verdicts raise no flag, whatever the threshold."""
    judged(log, 200)
    version = log.version("rag")
    refusals = log.answers(30, answer="I could not find that.", passages=())
    say_rising(log, version, refusals, 0.4, 0.01)
    log.review_all(refusals, label=GOOD)
    sure = log.answers(10)
    log.say_all(version, sure, groundedness=0.01)
    log.review_all(sure, label=BAD)
    log.set("excuse_confident", True)
    log.set("uncertain_verdict", 0.99)
    log.set("random_share", 0.001)

    def raised():
        raise_flags(log.store)
        of_rule = FLAG.c.rule == "low_groundedness", FLAG.c.state == "open"
        return len(values_of(log.store, FLAG.c.id, *of_rule))

    today = raised()
    chosen = threshold_for(log, "recall", 0.7)
    assert chosen.figure("flags", IN_FORCE).value == today
    excused = values_of_note(chosen.caveats, "threshold_excused")
    assert chosen.figure("excused", IN_FORCE).value == excused["n"] == judged_low(log) - today
    assert "refusals" in excused["excuses"]
    assert "confident" in excused["excuses"]
    # Bad answers with a confident verdict are never flagged.
    assert chosen.figure("recall", CHOSEN).value < 1
    log.set("low_groundedness", advised_setting(chosen))
    assert raised() == chosen.figure("flags", CHOSEN).value != today


@on_sqlite
def test_a_threshold_that_decides_the_verdicts_says_how_agreement_changes(log):
    version = judged(log)
    log.set("low_groundedness", 0.7)
    chosen = threshold_for(log, "recall", 0.8)
    before = measure_rate(log.store).figure("agreement").value
    log.set("low_groundedness", advised_setting(chosen))
    after = measure_rate(log.store).figure("agreement").value
    assert before != after
    verdicts = values_of_note(chosen.caveats, "threshold_decides_verdicts")
    assert (verdicts["before"].value, verdicts["after"].value) == (before, after)
    labelling = log.version("labels")
    ids = sample_of(log, version).judged.response_ids.tolist()
    log.say_all(labelling, ids, groundedness=0.2, label=GOOD)
    assert verdicts_note(sample_of(log, labelling, flags=True), 0.1, None) is None


@on_sqlite
def test_the_threshold_in_force_is_kept_if_it_is_the_cheapest(log):
    judged(log)
    chosen = threshold_for(log, "cost", 5)
    assert (chosen.headline.code, advised_setting(chosen)) == ("threshold_cheapest", None)


@on_sqlite
def test_a_cost_that_is_not_shown_names_the_labels_that_are_missing(labelled_flags):
    log, _ = labelled_flags(0.7)
    chosen = threshold_for(log, "cost", 5)
    assert chosen.headline.code == "threshold_cost_not_shown"
    labels, queue = chosen.next
    assert 0 < labels.values["labels"] <= queue.values["answers"]


@on_sqlite
def test_a_threshold_that_is_shown_to_cost_more_is_said_to_cost_more(log):
    """Answers with a groundedness of 0.55 are bad only in the half of the labels that chooses."""
    version, ids = log.version("rag"), log.answers(400)
    log.say_scores(version, ids, (0.1, 0.55, 0.9, 0.9) * 100)
    judged_answers = sample_of(log, version, flags=True).judged
    choosing = judged_answers.response_ids[judged_answers.choosing].tolist()
    log.reviews(labels_in(ids, {*ids[::4], *({*ids[1::4]} & {*choosing})}))
    chosen = threshold_for(log, "cost", 5)
    assert chosen.figure("cost_change", CHOSEN).low > 0
    # It is shown already.
    assert (chosen.headline.code, chosen.next) == ("threshold_costs_more", ())
    assert thresholds_table([chosen], "recall").rows[0][1] == "costs more"


@on_sqlite
def test_a_threshold_in_force_that_reaches_a_precision_is_kept_though_it_has_no_interval(
    labelled_flags,
):
    """The percentiles of the scores leave out the answer that it flags last: another threshold would change nothing."""
    log, _ = labelled_flags(0.8, random_share=0.006, rest_bad_every=0)
    chosen = threshold_for(log, "precision", 0.6, by_query_type=True)
    assert chosen.figure("precision", IN_FORCE).low is None
    assert (chosen.headline.code, advised_setting(chosen)) == ("threshold_keep", None)


@on_sqlite
def test_a_change_of_the_cost_is_that_of_all_answers(labelled_flags):
    """All flagged answers are labelled but few others: on the labels alone, each change would be twice as large."""
    log, _ = labelled_flags(0.7)
    chosen = threshold_for(log, "cost", 0.5)
    flags = chosen.figure("flags_change", CHOSEN).value
    change = chosen.figure("cost_change", CHOSEN)
    assert flags < -200
    # Of the answers that lose their flag, 7 of 10 are bad.
    truth = (flags + 0.5 * 0.7 * -flags) / 840
    assert change.value == pytest.approx(truth, abs=0.01)
    assert flags / 840 <= change.low <= truth <= change.high < 0
    assert chosen.headline.code == "threshold_cheaper"


def test_a_change_of_the_cost_rests_on_ten_labels_at_least():
    few, enough = (
        QueueChange(-20, measured(6.0, n, (3.0, 10.0))).cost_per_answer(5, 100) for n in (9, 10)
    )
    assert few.value is None
    assert value_and_ends(enough) == pytest.approx((0.1, -0.05, 0.3))


@on_sqlite
def test_a_jury_counts_the_mean_score_of_answers_that_all_its_members_judged(log):
    first = judged(log, 100)
    second = log.version("nli")
    alone = sample_of(log, first).judged
    badness = dict(zip(alone.response_ids.tolist(), alone.badness.tolist(), strict=True))
    log.say_all(second, list(badness)[:80], groundedness=0.5)
    sample = log.read(load_sample, [first, second])
    with pytest.raises(BadInput, match="two different"):
        log.read(measure_confident_verdicts, 0.9, jury=["rag", "rag v1"])
    with pytest.raises(BadInput, match="takes the place"):
        log.read(measure_confident_verdicts, 0.9, jury=["rag", "nli"], judge_version="rag")
    expected = [(badness[each] + 0.5) / 2 for each in sample.judged.response_ids.tolist()]
    assert len(expected) == 80
    assert sample.judged.badness.tolist() == pytest.approx(expected)
    assert sample.labels.judged_bad.tolist() == (sample.labels.badness > 0.5).tolist()
    assert sample.title == " + ".join(each.title for each in (first, second))


@on_sqlite
def test_a_log_without_a_judge_names_the_next_command(log):
    log.answers(3)
    with pytest.raises(NotFound, match="judgeboard judge"):
        threshold_for(log, "recall", 0.8)


@pytest.mark.parametrize(
    ("aim", "value"), [("recall", 1.0), ("recall", 0.0), ("precision", 2.0), ("cost", 0.0)]
)
def test_a_goal_out_of_range_is_refused(aim, value):
    with pytest.raises(BadInput, match=aim):
        Goal(aim, value)


def test_a_setting_flags_what_the_threshold_flags_with_the_fewest_decimals():
    badness = np.array([0.0, 1e-6, 0.042798, 0.154285, 0.18, 0.5, 0.802555, 0.802556, 0.999999])
    for threshold in badness[1:].tolist():
        flagged = badness >= flag_from(setting_of(threshold, badness))
        assert flagged.tolist() == (badness >= threshold).tolist(), threshold
    # Groundedness from 0.845715 to below 0.957202 gives the same flags.
    assert setting_of(0.154285, badness) == 0.9
    assert setting_of(0.18, badness) == 0.83
    # The next answer has 0.197445.
    assert setting_of(0.802556, badness) == 0.197445


@on_sqlite
def test_without_a_label_drawn_at_random_no_verdict_is_excused(log):
    ids = log.answers(20)
    log.say_all(log.version(), ids, groundedness=0.9)
    for each in (log.read(measure_confident_verdicts, 0.9), threshold_for(log, "recall", 0.8)):
        assert (each.headline.code, each.next[0].code) == ("not_available", "label_some")
        assert each.next[0].values["labels"] == 20


@on_sqlite
def test_a_judge_whose_verdicts_are_all_unusable_is_not_said_to_have_judged_nothing(log):
    log.say_all(log.version("rag"), log.answers(12), status=Status.UNPARSABLE)
    with pytest.raises(NotFound, match=r"rag .*--rejudge failed"):
        threshold_for(log, "recall", 0.8)
    assert log.read(corrected_trend).changes.headline.code == "verdicts_unusable"


@on_sqlite
def test_a_primary_judge_without_verdicts_is_named(log):
    judged(log, 12)
    log.version("other")
    log.set("primary_judge", "other")
    with pytest.raises(NotFound, match=r"^other .*--judge-version"):
        threshold_for(log, "recall", 0.8)


@on_sqlite
def test_a_judge_without_scores_and_a_jury_without_common_answers_are_named(log):
    ids = log.answers(4)
    words, one, other = log.version("words"), log.version("one"), log.version("other")
    log.say_all(words, ids, label=GOOD)
    log.say_all(one, ids[:2], groundedness=0.9)
    log.say_all(other, ids[2:], groundedness=0.9)
    with pytest.raises(NotFound, match=r"^words v1: .*groundedness"):
        threshold_for(log, "recall", 0.8, judge_version="words")
    with pytest.raises(NotFound, match=r"^one v1 .*other v1:"):
        log.read(measure_confident_verdicts, 0.9, jury=["one", "other"])


AT = AtThreshold(0.5, 30, *[unmeasured(0, "")] * 4, QueueChange(0, unmeasured(0, "")), 0)


def from_(low):
    return measured(0.9, 100, (low, 0.95))


UNKNOWN = unmeasured(3, "too few")


@pytest.mark.parametrize(
    ("aim", "in_force", "held_out", "flags", "code"),
    [
        ("recall", from_(0.85), UNKNOWN, None, "threshold_keep"),
        ("recall", from_(0.85), UNKNOWN, 20, "threshold_keep_or_change"),
        ("recall", from_(0.85), UNKNOWN, 40, "threshold_keep"),
        ("precision", from_(0.85), UNKNOWN, 40, "threshold_keep_or_change"),
        ("precision", from_(0.85), UNKNOWN, 20, "threshold_keep"),
        ("recall", from_(0.7), UNKNOWN, None, "threshold_not_shown"),
        ("recall", from_(0.7), UNKNOWN, 40, "threshold_change"),
        ("recall", UNKNOWN, UNKNOWN, 40, "threshold_change"),
        # All labels show no error, so they have no interval: the other half has one.
        ("recall", measured(1.0, 100), from_(0.9), None, "threshold_keep"),
        ("recall", measured(1.0, 2), from_(0.9), None, "threshold_not_shown"),
    ],
)
def test_a_threshold_is_kept_if_the_labels_show_that_it_reaches_the_goal(
    aim, in_force, held_out, flags, code
):
    today, same = (replace(AT, **{aim: each}) for each in (in_force, held_out))
    chosen = None if flags is None else replace(AT, flags=flags)
    assert decision(Goal(aim, 0.8), today, same, chosen) == code
    if chosen is not None:
        assert decision(Goal(aim, 0.8), today, same, chosen, is_same=True) == "threshold_keep"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (measured(-0.2, 20, (-0.3, -0.1)), "threshold_cheaper"),
        (measured(0.2, 20, (0.1, 0.3)), "threshold_costs_more"),
        (measured(0.1, 20, (-0.1, 0.3)), "threshold_cost_not_shown"),
        (UNKNOWN, "threshold_cost_not_shown"),
    ],
)
def test_a_threshold_is_cheaper_if_the_whole_interval_is(change, code):
    assert cost_decision(change) == code

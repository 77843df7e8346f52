"""Thresholds and confident verdicts on a stored log."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta
from sqlalchemy import func, select

from engines import on_sqlite
from graded_log import BAD, GOOD, labels_in, labels_where, read
from judgeboard.domain import Status
from judgeboard.errors import BadInput, NotFound
from judgeboard.measure.confident_verdicts import measure_confident_verdicts
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
from judgeboard.store.settings import set_setting
from judgeboard.store.tables import CURRENT, FLAG, RESPONSE


def judged(log, n=300, query_type="sql", share_bad=3, name="rag"):
    """One answer in ``share_bad`` (0: none) is bad, and the judge gives it a low score. A person labels all answers."""
    ids = log.answers(n, query_type=query_type)
    version = log.version("rag")
    bad = {*ids[::share_bad]} if share_bad else set[int]()
    scores = {
        each: (place * 37 % 101) / 250 + (0.05 if each in bad else 0.55)
        for place, each in enumerate(ids)
    }
    log.say(version, {each: {"groundedness": round(scores[each], 4)} for each in ids})
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
            log.say(
                version,
                {each: {"groundedness": 0.1 + place / 1000} for place, each in enumerate(flagged)},
            )
            log.say(
                version,
                {each: {"groundedness": 0.6 + place / 3000} for place, each in enumerate(rest)},
            )
            log.reviews(labels_where(flagged, lambda place: place % 10 < 10 * share_bad))
            drawn = read(log.store, rules_of, np.array(rest))["random_sample"].tolist()
            log.reviews(labels_in(drawn, drawn[::rest_bad_every] if rest_bad_every else ()))
            return version

        log, version = graded_once(
            f"labelled flags {share_bad} {random_share} {rest_bad_every}", fill
        )
        draw(log)  # a log to which a test says more draws nothing
        return log, version

    return labelled


@on_sqlite
def test_a_threshold_for_recall_flags_fewer_answers_than_one_that_flags_all(log):
    judged(log)
    log.set("low_groundedness", 0.9)
    (chosen,) = read(log.store, measure_threshold, Goal("recall", 0.8))
    assert advised_setting(chosen) is not None
    assert advised_setting(chosen) < 0.9
    assert (
        chosen.figure("flags_change", CHOSEN).value
        == chosen.figure("flags", CHOSEN).value - chosen.figure("flags", IN_FORCE).value
        < 0
    )
    recall = chosen.figure("recall", CHOSEN)
    assert recall.low <= recall.value
    assert (chosen.headline.code, chosen.headline.values["confidence"]) == (
        "threshold_keep_or_change",
        0.95,
    )
    assert chosen.figure("flagged", CHOSEN).n == chosen.about.counts["other_half"]


@on_sqlite
def test_a_threshold_for_a_false_omission_rate_lets_out_as_many_answers_as_the_labels_allow(log):
    """The answers let out are tested from the best on, with the exact bound of Clopper and Pearson."""
    version = judged(log, 600)
    with log.store.reading() as connection:
        sample = load_sample(connection, [version], flags=True)
        (chosen,) = measure_threshold(connection, Goal("false_omission", 0.05))
        (strict,) = measure_threshold(connection, Goal("false_omission", 0.005))
    half = sample.labels.at(sample.labels.choosing)
    passing = []
    for threshold in np.unique(
        np.percentile(sample.judged.badness, range(1, 100), method="inverted_cdf")
    ):
        out = half.badness < threshold
        n, bad = int(out.sum()), int((out & half.bad).sum())
        if (
            n >= 59
        ):  # 0.95 ** 58 is above 5 %, 0.95 ** 59 is not: fewer labels show nothing even without an error
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
    with log.store.reading() as connection:
        sample = load_sample(connection, [version], flags=True)
        result = measure_threshold(connection, Goal("false_omission", 0.2))
    (chosen,) = result
    rest = sample.labels.at(~sample.labels.flagged)
    assert chosen.figure("false_omission", IN_FORCE).value == pytest.approx(rest.bad.mean())
    low, high = (
        chosen.figure("false_omission", IN_FORCE).low,
        chosen.figure("false_omission", IN_FORCE).high,
    )
    assert low < rest.bad.mean() < high
    assert [column.title for column in thresholds_table(result, "false_omission").columns][
        -1
    ] == "False omission rate"


@on_sqlite
def test_several_query_types_share_the_chance_to_miss_a_goal(log):
    for query_type in ("sql", "text"):
        judged(log, 200, query_type)
    with log.store.reading() as connection:
        both = measure_threshold(connection, Goal("precision", 0.6, 0.1), by_query_type=True)
        all_types = measure_threshold(connection, Goal("precision", 0.6, 0.1))
    assert [each.about.where["query_type"] for each in both] == ["sql", "text"]
    assert {each.headline.values["confidence"] for each in both} == {0.95}
    assert all_types[0].headline.values["confidence"] == 0.9
    assert all(len(each.curve) > 5 for each in (*both, *all_types))


@on_sqlite
def test_a_threshold_of_a_query_type_is_replayed_and_decides_which_answers_are_bad(log):
    versions = [judged(log, 100, query_type) for query_type in ("sql", "text")]
    with log.store.reading() as connection:
        sample = load_sample(connection, versions[:1])
        before = replayed(sample, 0.5, "sql")
        at = replayed(sample, 0.62, "sql")
        low = int((sample.judged.of_type("sql").badness > 1 - 0.62).sum())
    assert before.change.flags == 0
    assert at.flags == low
    assert at.change.flags == low - before.flags > 0
    log.set("low_groundedness_by_type", ["sql=0.62"])
    raise_flags(log.store)
    with log.store.reading() as connection:
        after = load_sample(connection, versions[:1])
        open_flags = (
            select(FLAG.c.query_type, func.count())
            .where(FLAG.c.state == "open")
            .group_by(FLAG.c.query_type)
        )
        flags = dict(connection.execute(open_flags).all())
        pairs = PairSource(connection).pairs(versions[0].id, "label")
        low_verdicts = verdict_conditions(connection, RowFilter(judge_side="low"))
        low_side = connection.execute(
            select(func.count()).select_from(CURRENT).where(*low_verdicts)
        ).scalar_one()
        all_types = replayed(after, 0.5)
    assert flags == {"sql": low, "text": before.flags}
    assert (
        int(after.judged.flagged.sum()) == int(after.labels.judged_bad.sum()) == low + before.flags
    )
    assert int((pairs.judge == pairs.scale.bad).sum()) == low_side == low + before.flags
    assert after.cuts.words == "0.5 (sql: 0.62)"
    assert all_types.change.flags == before.flags - low
    with log.store.writing() as connection, pytest.raises(BadInput, match="'other'"):
        set_setting(connection, "low_groundedness_by_type", ["other=0.5"], "test")
    with log.store.writing() as connection, pytest.raises(BadInput, match="not 'sql'"):
        set_setting(connection, "low_groundedness_by_type", ["sql"], "test")


def test_labels_have_the_evidence_groups_of_their_answers(log):
    version = judged(log, 40)
    log.say_all(version, log.answers(20), groundedness=0.4)
    with log.store.reading() as connection:
        sample = load_sample(connection, [version])
        stored = dict(connection.execute(select(RESPONSE.c.id, RESPONSE.c.evidence_group)).all())
    assert len(sample.judged.response_ids) == 60
    assert sample.labels.groups.tolist() == [
        stored[each] for each in sample.labels.response_ids.tolist()
    ]


@on_sqlite
def test_without_a_bad_label_nothing_is_said(log):
    judged(log, 60, share_bad=0)
    (chosen,) = read(log.store, measure_threshold, Goal("recall", 0.8))
    assert chosen.headline.code == "threshold_no_bad_label"
    assert advised_setting(chosen) is None


@on_sqlite
def test_goals_at_the_ends_of_their_range_and_one_label_have_a_sentence(log):
    version = judged(log, 90)
    with log.store.reading() as connection:
        (all_but_all,) = measure_threshold(connection, Goal("recall", 1 - 1e-12))
        (almost_none,) = measure_threshold(connection, Goal("precision", 1e-12))
        surest = measure_confident_verdicts(connection, 1 - 1e-12)
        least_sure = measure_confident_verdicts(connection, 1e-12)
        sample = load_sample(connection, [version])
    assert [each.next[0].code for each in (all_but_all, surest)] == ["log_more_of", "log_more_of"]
    assert almost_none.figure("low_groundedness", CHOSEN).value is not None
    assert least_sure.figure("no_review").value > 80
    with pytest.raises(BadInput, match="1,000,000, not 1e\\+300"):
        Goal("cost", 1e300)
    only = np.flatnonzero(~sample.labels.choosing & sample.labels.bad)[:1]
    (chosen,) = threshold_result(replace(sample, labels=sample.labels.at(only)), Goal("cost", 5))
    assert chosen.headline.code == "threshold_no_label_chooses"


@on_sqlite
def test_too_few_bad_labels_say_how_many_more_are_needed(log):
    judged(log, 30)
    with log.store.reading() as connection:
        (chosen,) = measure_threshold(connection, Goal("recall", 0.8))
        confident = measure_confident_verdicts(connection, 0.95)
    assert advised_setting(chosen) is None
    assert chosen.headline.code == "threshold_few_labels"
    assert chosen.next[0].values == {"more": 64, "things": "bad answers", "counting": 10}
    assert (confident.headline.code, confident.rows) == ("confidence_few_labels", ())
    assert confident.next[0].values["counting"] == 30


@on_sqlite
def test_labels_of_all_flagged_answers_count_only_as_often_as_a_sample_of_the_rest(log):
    log.set("random_share", 0.2)
    version, ids = log.version("rag"), log.answers(400)
    flagged, rest = ids[:100], ids[100:]
    log.say(
        version, {each: {"groundedness": 0.1 + place / 1000} for place, each in enumerate(flagged)}
    )
    log.say(
        version, {each: {"groundedness": 0.6 + place / 1000} for place, each in enumerate(rest)}
    )
    log.reviews(labels_where(flagged, lambda place: place % 3))
    with log.store.reading() as connection:
        drawn = rules_of(connection, np.array(rest))["random_sample"]
        (unknown,) = measure_threshold(connection, Goal("recall", 0.5))
    assert "no rule flagged" in unknown.sentence
    assert (unknown.headline.code, unknown.next[0].code) == ("not_available", "label_sample")
    log.review_all(drawn.tolist(), label=GOOD)
    sample = read(log.store, load_sample, [version])
    assert sample.gap is None
    assert sample.labels.n == 100 + len(drawn)
    by_lot = sample.by_lot
    assert set(drawn.tolist()) <= set(by_lot.response_ids.tolist())
    assert len(drawn) < by_lot.n < len(drawn) + 50
    assert sample.left_out["more_often_labelled"] == sample.labels.n - by_lot.n


@on_sqlite
def test_labels_of_all_flagged_answers_choose_a_precision(labelled_flags):
    log, _ = labelled_flags(0.8)
    with log.store.reading() as connection:
        result = measure_threshold(connection, Goal("precision", 0.6))
        (chosen,) = result
        (found,) = measure_threshold(connection, Goal("recall", 0.8))
        (recall,) = measure_threshold(connection, Goal("recall", 0.95))
        (too_much,) = measure_threshold(connection, Goal("precision", 0.85))
    # Half of all flagged answers, and not only a tenth of them.
    assert chosen.figure("tested_wrong", CHOSEN).n > 80
    assert chosen.figure("low_groundedness", CHOSEN).value >= 0.3
    # Few labels of answers without a flag tell which bad answers are missed.
    assert found.figure("recall", CHOSEN).low is None
    (counting,) = (each.values for each in recall.caveats if each.code == "uneven_labels")
    assert counting["labels"] == 192 + 6
    # Labels of all flagged answers do not count as a random sample.
    assert 10 < counting["counting"] < 60
    assert (too_much.headline.code, too_much.next) == ("threshold_not_shown", ())


@on_sqlite
def test_a_threshold_in_force_that_reaches_the_goal_is_kept(labelled_flags):
    log, _ = labelled_flags(0.8)
    with log.store.reading() as connection:
        (shown,) = measure_threshold(connection, Goal("precision", 0.6))
        (measured,) = measure_threshold(connection, Goal("precision", 0.79))
        (recall,) = measure_threshold(connection, Goal("recall", 0.5))
    assert (shown.headline.code, advised_setting(shown)) == ("threshold_keep", None)
    assert "below 0.5" not in shown.sentence
    assert measured.headline.code not in KEPT
    assert recall.headline.code == "threshold_keep_or_change"
    assert (advised_setting(recall) or 1) < 0.4


@on_sqlite
def test_a_threshold_in_force_that_may_be_far_below_the_goal_is_not_advised(labelled_flags):
    """Few labels of 600 answers without a flag: the recall reaches 75 %, but its interval begins far below."""
    log, _ = labelled_flags(0.8, random_share=0.025, rest_bad_every=12)
    (chosen,) = read(log.store, measure_threshold, Goal("recall", 0.75))
    recall = chosen.figure("recall", IN_FORCE)
    assert recall.low < 0.6
    assert recall.value >= 0.75
    assert chosen.headline.code == "threshold_few_labels"
    assert chosen.next[0].code == "label_queue"


@on_sqlite
def test_a_recall_is_as_uncertain_as_the_few_labels_of_answers_without_a_flag(labelled_flags):
    """None of some 60 labels of 600 answers is bad, so up to 6 % of them, 36 answers, may be: recall may be 84 %."""
    log, version = labelled_flags(0.8, rest_bad_every=0)
    with log.store.reading() as connection:
        sample = load_sample(connection, [version], flags=True)
        (chosen,) = measure_threshold(connection, Goal("precision", 0.75))
    half = replace(sample, labels=sample.labels.at(~sample.labels.choosing))
    lows = [replayed(of, 0.5).recall.low or 0 for of in (half, sample)]
    assert lows[0] <= lows[1] < 0.93
    rate = measure_rate(log.store)
    assert lows[1] == chosen.figure("recall", IN_FORCE).low == rate.figure("sensitivity").low
    only_flagged = replace(sample, labels=sample.labels.at(sample.labels.flagged))
    # Nothing is known of the answers without a flag.
    assert replayed(only_flagged, 0.5).recall.value is None


@on_sqlite
def test_a_recall_that_rests_on_too_few_labels_promises_nothing(labelled_flags):
    log, version = labelled_flags(0.8, random_share=0.006, rest_bad_every=0)
    with log.store.reading() as connection:
        sampled = load_sample(connection, [version]).labels.n - 240
        recall = measure_threshold(connection, Goal("recall", 0.6))
        precision = measure_threshold(connection, Goal("precision", 0.6))
    assert 2 <= sampled < 10
    for (chosen,) in (recall, precision):
        assert chosen.figure("recall", IN_FORCE).low is None
        (missing,) = (each for each in chosen.caveats if each.code == "threshold_part_too_small")
        assert missing.values["labels"] == 10 - sampled
    assert recall[0].headline.code not in {"threshold_keep", "threshold_keep_or_change"}
    proposed = [
        row[-2:] for row in thresholds_table(precision, "precision").rows if row[1] == "proposed"
    ]
    # A figure of half of the labels needs an interval.
    assert proposed in ([], [(None, None)])


@on_sqlite
def test_the_threshold_in_force_has_the_figures_of_the_rate_beside_a_proposed_one_too(
    labelled_flags,
):
    log, _ = labelled_flags(0.7)
    result = read(log.store, measure_threshold, Goal("cost", 5))
    rate = measure_rate(log.store)
    other, held_out, in_force = thresholds_table(result, "recall").rows
    assert (other[1] == held_out[1], held_out[1], in_force[1]) == (False, "in force", "in force")
    assert (other[2] == held_out[2], in_force[2]) == (
        True,
        f"all labels: {result[0].about.counts['labels']:,}",
    )
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
    with log.store.reading() as connection:
        results = [
            measure_threshold(connection, Goal("recall", 0.5), judge_version=name)[0]
            for name in ("same", "other")
        ]
    differs = [
        "threshold_label_differs" in {caveat.code for caveat in each.caveats} for each in results
    ]
    assert differs == [False, True]


@on_sqlite
def test_a_threshold_in_force_and_a_proposed_one_are_measured_on_the_same_labels(labelled_flags):
    log, version = labelled_flags(0.7)
    with log.store.reading() as connection:
        sample = load_sample(connection, [version], flags=True)
        (chosen,) = measure_threshold(connection, Goal("cost", 5))
    labels, judged_answers = (
        sample.labels.at(~sample.labels.choosing),
        sample.judged.at(~sample.judged.choosing),
    )
    same = ThresholdFigures(labels, judged_answers).at(0.5, float(flag_from(0.5)))
    for slice_ in (HELD_OUT, CHOSEN):
        assert chosen.figure("flagged", slice_).n == labels.n < sample.labels.n
    assert chosen.figure("recall", HELD_OUT) == Row.of("", "", same.recall).estimate
    fewer, more = sorted(
        (CHOSEN, HELD_OUT), key=lambda each: chosen.figure("flags", each).value or 0
    )
    recalls = [chosen.figure("recall", each).value or 0 for each in (fewer, more)]
    # More flags cannot find fewer bad answers.
    assert recalls == sorted(recalls)


@on_sqlite
def test_the_advised_number_of_answers_gives_the_labels_that_a_recall_needs(labelled_flags):
    log, version = labelled_flags(0.8)
    with log.store.reading() as connection:
        (before,) = measure_threshold(connection, Goal("recall", 0.9))
        confident = measure_confident_verdicts(connection, 0.95)
        bad = load_sample(connection, [version]).by_lot
        bad = bad.at(bad.bad)
    counting, choosing = bad.n, int(bad.choosing.sum())
    (advice,) = (each.values for each in before.next if each.code == "label_queue")
    assert str(advice["command"]).endswith(f"--plan rate --n {advice['answers']}")
    assert confident.next[0].code == "label_queue"
    needed = math.ceil(labels_to_pass(allowed_risk(0.9), DELTA))
    more = max(2 * needed - counting, needed - choosing)
    with (
        log.store.writing() as connection
    ):  # sample as many more of the 600 answers that have no flag
        set_setting(connection, "random_share", 0.1 + advice["answers"] / 600, "test")
    raise_flags(log.store)
    with log.store.reading() as connection:
        ids = np.array(connection.execute(select(RESPONSE.c.id)).scalars().all())
        labelled = load_sample(connection, [version]).labels.response_ids
        drawn = np.setdiff1d(rules_of(connection, ids)["random_sample"], labelled).tolist()
    assert 0.8 * advice["answers"] < len(drawn) < 1.2 * advice["answers"]
    log.reviews(labels_where(drawn, lambda place: place % 10 == 0))
    added = int(read(log.store, load_sample, [version]).by_lot.bad.sum()) - counting
    assert 0.7 * more < added < 1.4 * more


@on_sqlite
def test_the_number_of_flags_is_what_the_rules_raise(log):
    """Refusals after a search without a result and confident verdicts raise no flag, whatever the threshold."""
    judged(log, 200)
    version = log.version("rag")
    refusals = log.answers(30, answer="I could not find that.", passages=())
    log.say(
        version, {each: {"groundedness": 0.4 + place / 100} for place, each in enumerate(refusals)}
    )
    log.review_all(refusals, label=GOOD)
    sure = log.answers(10)
    log.say_all(version, sure, groundedness=0.01)
    log.review_all(sure, label=BAD)
    with log.store.writing() as connection:
        for name, value in (
            ("excuse_confident", True),
            ("uncertain_verdict", 0.99),
            ("random_share", 0.001),
        ):
            set_setting(connection, name, value, "test")
    raise_flags(log.store)
    of_rule = select(func.count()).where(FLAG.c.rule == "low_groundedness", FLAG.c.state == "open")
    with log.store.reading() as connection:
        result = measure_threshold(connection, Goal("recall", 0.7))
        (chosen,) = result
        today = connection.execute(of_rule).scalar_one()
        judged_low = verdict_conditions(connection, RowFilter(judge_side="low"))
        low = connection.execute(
            select(func.count()).select_from(CURRENT).where(*judged_low)
        ).scalar_one()
    assert chosen.figure("flags", IN_FORCE).value == today
    assert chosen.figure("excused", IN_FORCE).value == low - today
    (excused,) = (each.values for each in chosen.caveats if each.code == "threshold_excused")
    assert excused["n"] == low - today
    assert [each for each in ("refusals", "confident") if each in excused["excuses"]] == [
        "refusals",
        "confident",
    ]
    assert chosen.figure("recall", CHOSEN).value is not None
    # Bad answers with a confident verdict are never flagged.
    assert chosen.figure("recall", CHOSEN).value < 1
    log.set("low_groundedness", advised_setting(chosen))
    raise_flags(log.store)
    with log.store.reading() as connection:
        assert (
            connection.execute(of_rule).scalar_one()
            == chosen.figure("flags", CHOSEN).value
            != today
        )


@on_sqlite
def test_a_threshold_that_decides_the_verdicts_says_how_agreement_changes(log):
    version = judged(log)
    log.set("low_groundedness", 0.7)
    (chosen,) = read(log.store, measure_threshold, Goal("recall", 0.8))
    before = measure_rate(log.store).figure("agreement")
    log.set("low_groundedness", advised_setting(chosen))
    after = measure_rate(log.store).figure("agreement")
    assert before.value != after.value
    (verdicts,) = (
        each.values for each in chosen.caveats if each.code == "threshold_decides_verdicts"
    )
    assert [verdicts[each].value for each in ("before", "after")] == [before.value, after.value]
    labelling = log.version("labels")
    sample = read(log.store, load_sample, [version])
    ids = sample.judged.response_ids.tolist()
    log.say_all(labelling, ids, groundedness=0.2, label=GOOD)
    other = read(log.store, load_sample, [labelling], flags=True)
    assert verdicts_note(other, 0.1, None) is None


@on_sqlite
def test_the_threshold_in_force_is_kept_if_it_is_the_cheapest(log):
    judged(log)
    (chosen,) = read(log.store, measure_threshold, Goal("cost", 5))
    assert (chosen.headline.code, advised_setting(chosen)) == ("threshold_cheapest", None)


@on_sqlite
def test_a_cost_that_is_not_shown_names_the_labels_that_are_missing(labelled_flags):
    log, _ = labelled_flags(0.7)
    (chosen,) = read(log.store, measure_threshold, Goal("cost", 5))
    assert chosen.headline.code == "threshold_cost_not_shown"
    labels, queue = chosen.next
    assert 0 < labels.values["labels"] <= queue.values["answers"]


@on_sqlite
def test_a_threshold_that_is_shown_to_cost_more_is_said_to_cost_more(log):
    """Answers with a groundedness of 0.55 are bad only in the half of the labels that chooses."""
    version, ids = log.version("rag"), log.answers(400)
    scores = zip(ids, (0.1, 0.55, 0.9, 0.9) * 100, strict=True)
    log.say(version, {each: {"groundedness": score} for each, score in scores})
    sample = read(log.store, load_sample, [version], flags=True)
    choosing = dict(
        zip(sample.judged.response_ids.tolist(), sample.judged.choosing.tolist(), strict=True)
    )
    bad = {*ids[::4], *(each for each in ids[1::4] if choosing[each])}
    log.reviews(labels_in(ids, bad))
    result = read(log.store, measure_threshold, Goal("cost", 5))
    (chosen,) = result
    assert chosen.figure("cost_change", CHOSEN).low > 0
    # It is shown already.
    assert (chosen.headline.code, chosen.next) == ("threshold_costs_more", ())
    assert thresholds_table(result, "recall").rows[0][1] == "costs more"


@on_sqlite
def test_a_threshold_in_force_that_reaches_a_precision_is_kept_though_it_has_no_interval(
    labelled_flags,
):
    """The percentiles of the scores leave out the answer that it flags last: another threshold would change nothing."""
    log, _ = labelled_flags(0.8, random_share=0.006, rest_bad_every=0)
    (chosen,) = read(log.store, measure_threshold, Goal("precision", 0.6), by_query_type=True)
    assert chosen.figure("precision", IN_FORCE).low is None
    assert (chosen.headline.code, advised_setting(chosen)) == ("threshold_keep", None)


@on_sqlite
def test_a_change_of_the_cost_is_that_of_all_answers(labelled_flags):
    """All flagged answers are labelled but few others: on the labels alone, each change would be twice as large."""
    log, _ = labelled_flags(0.7)
    (chosen,) = read(log.store, measure_threshold, Goal("cost", 0.5))
    flags, change = (
        chosen.figure("flags_change", CHOSEN).value,
        chosen.figure("cost_change", CHOSEN),
    )
    assert flags < -200
    truth = (
        flags + 0.5 * 0.7 * -flags
    ) / 840  # of the answers that lose their flag, 7 of 10 are bad
    assert change.value is not None
    assert change.value == pytest.approx(truth, abs=0.01)
    assert flags / 840 <= change.low <= truth <= change.high < 0
    assert chosen.headline.code == "threshold_cheaper"


def test_a_change_of_the_cost_rests_on_ten_labels_at_least():
    change = QueueChange(20, measured(6.0, 9, (3.0, 10.0))).cost_per_answer(5, 100)
    assert change.value is None
    change = QueueChange(-20, measured(6.0, 10, (3.0, 10.0))).cost_per_answer(5, 100)
    assert (change.low, change.value, change.high) == pytest.approx((-0.05, 0.1, 0.3))


@on_sqlite
def test_a_jury_counts_the_mean_score_of_answers_that_all_its_members_judged(log):
    first = judged(log, 100)
    second = log.version("nli")
    alone = read(log.store, load_sample, [first]).judged
    badness = dict(zip(alone.response_ids.tolist(), alone.badness.tolist(), strict=True))
    log.say_all(second, list(badness)[:80], groundedness=0.5)
    with log.store.reading() as connection:
        sample = load_sample(connection, [first, second])
        with pytest.raises(BadInput, match="two different"):
            measure_confident_verdicts(connection, 0.9, jury=["rag", "rag v1"])
        with pytest.raises(BadInput, match="takes the place"):
            measure_confident_verdicts(connection, 0.9, jury=["rag", "nli"], judge_version="rag")
    expected = [(badness[each] + 0.5) / 2 for each in sample.judged.response_ids.tolist()]
    assert len(expected) == 80
    assert sample.judged.badness.tolist() == pytest.approx(expected)
    assert sample.labels.judged_bad.tolist() == (sample.labels.badness > 0.5).tolist()
    assert sample.title == " + ".join(each.title for each in (first, second))


@on_sqlite
def test_a_log_without_a_judge_names_the_next_command(log):
    log.answers(3)
    with log.store.reading() as connection, pytest.raises(NotFound, match="judgeboard judge"):
        measure_threshold(connection, Goal("recall", 0.8))


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
    with log.store.reading() as connection:
        confident = measure_confident_verdicts(connection, 0.9)
        (chosen,) = measure_threshold(connection, Goal("recall", 0.8))
    for each in (confident, chosen):
        assert (each.headline.code, each.next[0].code) == ("not_available", "label_some")
        assert each.next[0].values["labels"] == 20


@on_sqlite
def test_a_judge_whose_verdicts_are_all_unusable_is_not_said_to_have_judged_nothing(log):
    log.say_all(log.version("rag"), log.answers(12), status=Status.UNPARSABLE)
    with log.store.reading() as connection:
        with pytest.raises(NotFound, match=r"rag .*--rejudge failed"):
            measure_threshold(connection, Goal("recall", 0.8))
        headline = corrected_trend(connection).changes.headline
    assert headline.code == "verdicts_unusable"


@on_sqlite
def test_a_primary_judge_without_verdicts_is_named(log):
    judged(log, 12)
    log.version("other")
    log.set("primary_judge", "other")
    with (
        log.store.reading() as connection,
        pytest.raises(NotFound, match=r"^other .*--judge-version"),
    ):
        measure_threshold(connection, Goal("recall", 0.8))


@on_sqlite
def test_a_judge_without_scores_and_a_jury_without_common_answers_are_named(log):
    ids = log.answers(4)
    words, one, other = log.version("words"), log.version("one"), log.version("other")
    log.say_all(words, ids, label=GOOD)
    log.say_all(one, ids[:2], groundedness=0.9)
    log.say_all(other, ids[2:], groundedness=0.9)
    with log.store.reading() as connection:
        with pytest.raises(NotFound, match=r"^words v1: .*groundedness"):
            measure_threshold(connection, Goal("recall", 0.8), judge_version="words")
        with pytest.raises(NotFound, match=r"^one v1 .*other v1:"):
            measure_confident_verdicts(connection, 0.9, jury=["one", "other"])


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

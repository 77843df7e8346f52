"""Thresholds, confident verdicts and calibration on a stored log."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta
from sqlalchemy import func, select

from engines import on_sqlite
from graded_log import BAD, GOOD, GradedLog
from judgeboard.domain import Estimate, Status
from judgeboard.errors import BadInput, NotFound
from judgeboard.measure.calibration import SHOWN_SCORES, measure_calibration
from judgeboard.measure.confident_verdicts import measure_confident_verdicts
from judgeboard.measure.corrected_trend import corrected_sentence, corrected_trend
from judgeboard.measure.rates import measure_rate
from judgeboard.measure.ratings import PairSource
from judgeboard.measure.scored_labels import allowed_risk, flag_from, load_sample
from judgeboard.measure.threshold_figures import QueueChange, ThresholdFigures
from judgeboard.measure.thresholds import (
    Goal,
    below_words,
    beyond_words,
    measure_threshold,
    replayed,
    setting_of,
    threshold_result,
    verdicts_words,
)
from judgeboard.people.roster import raise_flags
from judgeboard.reports.thresholds import meaning_table, threshold_notes, thresholds_table
from judgeboard.stats.calibration_maps import HOWS
from judgeboard.stats.estimates import measured, percent, percent_words, unmeasured
from judgeboard.stats.thresholds import DELTA, labels_to_pass
from judgeboard.store.engine import Store
from judgeboard.store.filter_conditions import verdict_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import StoredVersion, get_version
from judgeboard.store.response_pages import rules_of
from judgeboard.store.settings import set_setting
from judgeboard.store.tables import CURRENT, FLAG, RESPONSE


def judged(
    log: GradedLog, n: int = 300, query_type: str = "sql", share_bad: int = 3, name: str = "rag"
) -> StoredVersion:
    """One answer in ``share_bad`` (0: none) is bad, and the judge gives it a low score. A person labels all answers."""
    ids = log.answers(n, query_type=query_type)
    version = log.version("rag")
    bad = {each: share_bad > 0 and place % share_bad == 0 for place, each in enumerate(ids)}
    scores = {each: (place * 37 % 101) / 250 + (0.05 if bad[each] else 0.55) for place, each in enumerate(ids)}
    log.say(version, {each: {"groundedness": round(scores[each], 4)} for each in ids})
    log.reviews({each: {"label": BAD if bad[each] else GOOD} for each in ids})
    return version


LabelledFlags = Callable[..., tuple[GradedLog, StoredVersion]]


@pytest.fixture
def labelled_flags(graded_once: Any) -> LabelledFlags:
    """Return ``labelled_flags(share_bad, random_share, rest_bad_every)``: a log, and the version of its judge.

    All 240 flagged answers are labelled, a share of them bad. Of the other 600, ``random_share`` are labelled, and
    every ``rest_bad_every``-th of them is bad (0: none).
    """

    def labelled(
        share_bad: float, random_share: float = 0.1, rest_bad_every: int = 10
    ) -> tuple[GradedLog, StoredVersion]:
        def draw(log: GradedLog) -> None:
            with log.store.writing() as connection:
                set_setting(connection, "random_share", random_share, "test")

        def fill(log: GradedLog) -> StoredVersion:
            draw(log)
            version, ids = log.version("rag"), log.answers(840)
            flagged, rest = ids[:240], ids[240:]
            log.say(version, {each: {"groundedness": 0.1 + place / 1000} for place, each in enumerate(flagged)})
            log.say(version, {each: {"groundedness": 0.6 + place / 3000} for place, each in enumerate(rest)})
            log.reviews(
                {each: {"label": BAD if place % 10 < 10 * share_bad else GOOD} for place, each in enumerate(flagged)}
            )
            with log.store.reading() as connection:
                drawn = rules_of(connection, np.array(rest))["random_sample"].tolist()
            bad = {each: rest_bad_every > 0 and place % rest_bad_every == 0 for place, each in enumerate(drawn)}
            log.reviews({each: {"label": BAD if bad[each] else GOOD} for each in drawn})
            return version

        log, version = graded_once(f"labelled flags {share_bad} {random_share} {rest_bad_every}", fill)
        draw(log)  # a log to which a test says more draws nothing
        return log, version

    return labelled


@on_sqlite
def test_a_threshold_for_recall_flags_fewer_answers_than_one_that_flags_all(log: GradedLog) -> None:
    judged(log)
    with log.store.writing() as connection:
        set_setting(connection, "low_groundedness", 0.9, "test")
    with log.store.reading() as connection:
        (chosen,) = measure_threshold(connection, Goal("recall", 0.8)).thresholds
    assert chosen.low_groundedness is not None
    assert chosen.low_groundedness < 0.9
    assert chosen.chosen is not None
    assert chosen.in_force is not None
    assert chosen.chosen.change.flags == chosen.chosen.flags - chosen.in_force.flags < 0
    recall = chosen.chosen.recall
    assert recall.low is not None
    assert recall.value is not None
    assert recall.low <= recall.value
    assert f": {chosen.chosen.flags} of 300 answers instead of {chosen.in_force.flags}." in chosen.sentence
    assert (
        "With 95 % confidence, at least 80 % of the bad answers are then flagged for low groundedness."
        in chosen.sentence
    )
    assert f"Of {chosen.chosen.flagged.n} labels that were not used to choose it, " in chosen.sentence
    assert f"of the bad answers (n = {recall.n}) were flagged; " in chosen.sentence


@on_sqlite
def test_a_threshold_for_a_false_omission_rate_lets_out_as_many_answers_as_the_labels_allow(log: GradedLog) -> None:
    """The answers let out are tested from the best on, with the exact bound of Clopper and Pearson."""
    version = judged(log, 600)
    with log.store.reading() as connection:
        sample = load_sample(connection, [version], flags=True)
        (chosen,) = measure_threshold(connection, Goal("false_omission", 0.05)).thresholds
        (strict,) = measure_threshold(connection, Goal("false_omission", 0.005)).thresholds
    half = sample.labels.at(sample.labels.choosing)
    passing = []
    for threshold in np.unique(np.percentile(sample.judged.badness, range(1, 100), method="inverted_cdf")):
        out = half.badness < threshold
        n, bad = int(out.sum()), int((out & half.bad).sum())
        if n >= 59:  # 0.95 ** 58 is above 5 %, 0.95 ** 59 is not: fewer labels show nothing even without an error
            if beta.ppf(0.95, bad + 1, n - bad) > 0.05:
                break
            passing.append((threshold, n, bad))
    assert chosen.test is not None
    assert (chosen.test.threshold, chosen.test.n, chosen.test.wrong) == pytest.approx(passing[-1])
    assert chosen.test.wrong > 0, "the threshold lets out some bad answers"
    assert chosen.chosen is not None
    assert chosen.chosen.flags < 200, "fewer than all bad answers are flagged"
    other = sample.labels.at(~sample.labels.choosing)
    out = other.badness < passing[-1][0]
    assert chosen.chosen.false_omission.value == pytest.approx(other.bad[out].mean())
    assert (
        "With 95 % confidence, at least 95 % of the answers not flagged for low groundedness are then good."
        in chosen.sentence
    )
    assert "of the unflagged answers (n = " in chosen.sentence
    assert strict.test is None
    assert "a false omission rate of at most 0.5 %" in strict.sentence


@on_sqlite
def test_a_false_omission_rate_of_unequal_labels_is_weighted(labelled_flags: LabelledFlags) -> None:
    """All 240 flagged answers have a label, and some of the others: only these tell what is let out."""
    log, version = labelled_flags(0.8, rest_bad_every=12)
    with log.store.reading() as connection:
        sample = load_sample(connection, [version], flags=True)
        result = measure_threshold(connection, Goal("false_omission", 0.2))
    (chosen,) = result.thresholds
    rest = sample.labels.at(~sample.labels.flagged)
    assert chosen.in_force is not None
    assert chosen.in_force.false_omission.value == pytest.approx(rest.bad.mean())
    low, high = chosen.in_force.false_omission.low, chosen.in_force.false_omission.high
    assert low is not None
    assert high is not None
    assert low < rest.bad.mean() < high
    assert [column.title for column in thresholds_table(result).columns][-1] == "False omission rate"


@on_sqlite
def test_several_query_types_share_the_chance_to_miss_a_goal(log: GradedLog) -> None:
    for query_type in ("sql", "text"):
        judged(log, 200, query_type)
    with log.store.reading() as connection:
        both = measure_threshold(connection, Goal("precision", 0.6, 0.1), by_query_type=True)
        all_types = measure_threshold(connection, Goal("precision", 0.6, 0.1))
    assert [each.query_type for each in both.thresholds] == ["sql", "text"]
    assert all("95 % confidence" in each.sentence for each in both.thresholds if each.test is not None)
    assert "90 % confidence" in all_types.thresholds[0].sentence
    assert len(all_types.thresholds[0].curve) > 5
    assert all(len(each.curve) > 5 for each in both.thresholds)


@on_sqlite
def test_a_threshold_of_a_query_type_is_replayed_and_decides_which_answers_are_bad(log: GradedLog) -> None:
    versions = [judged(log, 100, query_type) for query_type in ("sql", "text")]
    with log.store.reading() as connection:
        sample = load_sample(connection, versions[:1])
        before = replayed(sample, 0.5, "sql")
        at = replayed(sample, 0.62, "sql")
        low = int((sample.judged.of_type("sql").badness > 1 - 0.62).sum())
    assert before.change.flags == 0
    assert at.flags == low
    assert at.change.flags == low - before.flags > 0
    with log.store.writing() as connection:
        set_setting(connection, "low_groundedness_by_type", ["sql=0.62"], "test")
    raise_flags(log.store)
    with log.store.reading() as connection:
        after = load_sample(connection, versions[:1])
        open_flags = select(FLAG.c.query_type, func.count()).where(FLAG.c.state == "open").group_by(FLAG.c.query_type)
        flags = dict(connection.execute(open_flags).all())
        pairs = PairSource(connection).pairs(versions[0].id, "label")
        low_verdicts = verdict_conditions(connection, RowFilter(judge_side="low"))
        low_side = connection.execute(select(func.count()).select_from(CURRENT).where(*low_verdicts)).scalar_one()
        all_types = replayed(after, 0.5)
    assert flags == {"sql": low, "text": before.flags}
    assert int(after.judged.flagged.sum()) == int(after.labels.judged_bad.sum()) == low + before.flags
    assert int((pairs.judge == pairs.scale.bad).sum()) == low_side == low + before.flags
    assert after.cuts.words == "0.5 (sql: 0.62)"
    assert all_types.change.flags == before.flags - low
    with log.store.writing() as connection, pytest.raises(BadInput, match="no answer has the query type 'other'"):
        set_setting(connection, "low_groundedness_by_type", ["other=0.5"], "test")
    with log.store.writing() as connection, pytest.raises(BadInput, match="such as 'QA=0\\.3', not 'sql'"):
        set_setting(connection, "low_groundedness_by_type", ["sql"], "test")


def test_labels_have_the_evidence_groups_of_their_answers(log: GradedLog) -> None:
    version = judged(log, 40)
    log.say(version, {each: {"groundedness": 0.4} for each in log.answers(20)})
    with log.store.reading() as connection:
        sample = load_sample(connection, [version])
        stored = dict(connection.execute(select(RESPONSE.c.id, RESPONSE.c.evidence_group)).all())
    assert len(sample.judged.response_ids) == 60
    assert sample.labels.groups.tolist() == [stored[each] for each in sample.labels.response_ids.tolist()]


@on_sqlite
def test_without_a_bad_label_nothing_is_said(log: GradedLog) -> None:
    judged(log, 60, share_bad=0)
    with log.store.reading() as connection:
        (chosen,) = measure_threshold(connection, Goal("recall", 0.8)).thresholds
    assert chosen.sentence == "Not available, because no labelled answer is bad."
    assert chosen.low_groundedness is None


@on_sqlite
def test_goals_at_the_ends_of_their_range_and_one_label_have_a_sentence(log: GradedLog) -> None:
    version = judged(log, 90)
    with log.store.reading() as connection:
        (all_but_all,) = measure_threshold(connection, Goal("recall", 1 - 1e-12)).thresholds
        (almost_none,) = measure_threshold(connection, Goal("precision", 1e-12)).thresholds
        surest = measure_confident_verdicts(connection, 1 - 1e-12)
        least_sure = measure_confident_verdicts(connection, 1e-12)
        sample = load_sample(connection, [version])
    assert "more bad answers must have a label" in all_but_all.sentence
    assert "more answers must have a label" in surest.sentence
    assert almost_none.low_groundedness is not None
    assert least_sure.confident > 80
    with pytest.raises(BadInput, match="at most 1,000,000, not 1e\\+300"):
        Goal("cost", 1e300)
    only = np.flatnonzero(~sample.labels.choosing & sample.labels.bad)[:1]
    (chosen,) = threshold_result(replace(sample, labels=sample.labels.at(only)), Goal("cost", 5)).thresholds
    assert chosen.sentence == "Not available: of 1 label, none is in the half that chooses a threshold."


@on_sqlite
def test_too_few_bad_labels_say_how_many_more_are_needed(log: GradedLog) -> None:
    judged(log, 30)
    with log.store.reading() as connection:
        (chosen,) = measure_threshold(connection, Goal("recall", 0.8)).thresholds
        confident = measure_confident_verdicts(connection, 0.95)
    assert chosen.low_groundedness is None
    assert chosen.sentence.endswith(
        "Another threshold may reach a recall of at least 80 %, but the labels are too few to show it. To show one, "
        "log and judge more answers: all are labelled. About 64 more bad answers must have a label (10 so far)."
    )
    assert confident.confidence is None
    assert confident.sentence.endswith("more answers must have a label (30 so far).")


@on_sqlite
def test_labels_of_all_flagged_answers_count_only_as_often_as_a_sample_of_the_rest(log: GradedLog) -> None:
    with log.store.writing() as connection:
        set_setting(connection, "random_share", 0.2, "test")
    version, ids = log.version("rag"), log.answers(400)
    flagged, rest = ids[:100], ids[100:]
    log.say(version, {each: {"groundedness": 0.1 + place / 1000} for place, each in enumerate(flagged)})
    log.say(version, {each: {"groundedness": 0.6 + place / 1000} for place, each in enumerate(rest)})
    log.reviews({each: {"label": BAD if place % 3 else GOOD} for place, each in enumerate(flagged)})
    with log.store.reading() as connection:
        drawn = rules_of(connection, np.array(rest))["random_sample"]
        (unknown,) = measure_threshold(connection, Goal("recall", 0.5)).thresholds
    assert "no rule flagged" in unknown.sentence
    assert "has a label of a random sample. Label the random sample: " in unknown.sentence
    log.review_all(drawn.tolist(), label=GOOD)
    with log.store.reading() as connection:
        sample = load_sample(connection, [version])
    assert sample.gap is None
    assert sample.labels.n == 100 + len(drawn)
    by_lot = sample.by_lot
    assert set(drawn.tolist()) <= set(by_lot.response_ids.tolist())
    assert len(drawn) < by_lot.n < len(drawn) + 50
    assert sample.left_out["more_often_labelled"] == sample.labels.n - by_lot.n


@on_sqlite
def test_labels_of_all_flagged_answers_choose_a_precision(labelled_flags: LabelledFlags) -> None:
    log, _ = labelled_flags(0.8)
    with log.store.reading() as connection:
        result = measure_threshold(connection, Goal("precision", 0.6))
        (chosen,) = result.thresholds
        (found,) = measure_threshold(connection, Goal("recall", 0.8)).thresholds
        (recall,) = measure_threshold(connection, Goal("recall", 0.95)).thresholds
        (too_much,) = measure_threshold(connection, Goal("precision", 0.85)).thresholds
    assert chosen.test is not None
    assert chosen.test.n > 80, "half of all flagged answers, and not only a tenth of them"
    assert chosen.chosen is not None
    assert chosen.chosen.low_groundedness >= 0.3
    assert found.chosen is not None
    assert found.chosen.recall.low is None, "few labels of answers without a flag tell which bad answers are missed"
    assert "bad answers (n = " not in found.sentence
    assert re.search(
        "Of \\d+ labels that were not used to choose it, \\d+ % .* of the flagged answers ", found.sentence
    )
    counting = re.search(
        r"People labelled all flagged answers, but only \d+ % of the others \(\d+ of \d+\)\. To give all answers "
        r"the same chance, the search for a threshold uses only a random \d+ % of the labels of flagged answers, "
        r"and so only (\d+) of the (\d+) labels of bad answers\.$",
        recall.sentence,
    )
    assert counting is not None, recall.sentence
    of_all, labelled = map(int, counting.groups())
    assert labelled == 192 + 6
    assert 10 < of_all < 60, "labels of all flagged answers do not count as a random sample"
    assert re.match(
        r"No threshold is shown to reach a precision of at least 85 % by the \d+ labels that choose; one may exist\. ",
        too_much.sentence,
    )
    assert re.search("Today, 80 % \\[.*\\] of the answers flagged for low groundedness are bad\\.$", too_much.sentence)


@on_sqlite
def test_a_threshold_in_force_that_reaches_the_goal_is_kept(labelled_flags: LabelledFlags) -> None:
    log, _ = labelled_flags(0.8)
    with log.store.reading() as connection:
        (shown,) = measure_threshold(connection, Goal("precision", 0.6)).thresholds
        (measured,) = measure_threshold(connection, Goal("precision", 0.79)).thresholds
        (recall,) = measure_threshold(connection, Goal("recall", 0.5)).thresholds
    figure = shown.in_force.precision if shown.in_force is not None else None
    assert figure is not None
    assert shown.sentence == (
        f"Keep 0.5: {percent_words(figure)} of the answers flagged for low groundedness are bad. With 95 % confidence, "
        "this meets the goal. The labels do not show that a threshold with more flags meets it too."
    )
    assert (shown.is_kept, shown.is_advised, shown.low_groundedness) == (True, False, None)
    assert measured.sentence.startswith(
        "These labels do not show with 95 % confidence that at least 79 % of the answers flagged for low "
        f"groundedness are bad: the estimate for today is {percent_words(figure)}. The share may be as low as "
        f"{percent(figure.low)}. "
    )
    assert not measured.is_kept
    assert recall.sentence.startswith("Keep 0.5: ")
    assert "With 95 % confidence, this meets the goal." in recall.sentence
    assert "meets the goal. For fewer flags, flag answers with groundedness below 0.3" in recall.sentence


@on_sqlite
def test_a_threshold_in_force_that_may_be_far_below_the_goal_is_not_advised(labelled_flags: LabelledFlags) -> None:
    """Few labels of 600 answers without a flag: the recall reaches 75 %, but its interval begins far below."""
    log, _ = labelled_flags(0.8, random_share=0.025, rest_bad_every=12)
    with log.store.reading() as connection:
        (chosen,) = measure_threshold(connection, Goal("recall", 0.75)).thresholds
    assert chosen.in_force is not None
    recall = chosen.in_force.recall
    assert (recall.low or 1) < 0.6
    assert (recall.value or 0) >= 0.75
    assert chosen.sentence.startswith(
        "These labels do not show with 95 % confidence that at least 75 % of the bad answers are flagged for low "
        f"groundedness: the estimate for today is {percent_words(recall)}. The share may be as low as "
        f"{percent(recall.low or 0)}. "
    )
    assert "Keep" not in chosen.sentence
    too_few = "Another threshold may reach a recall of at least 75 %, but the labels are too few to show it."
    assert f"{too_few} To show one, label about " in chosen.sentence


@on_sqlite
def test_a_recall_is_as_uncertain_as_the_few_labels_of_answers_without_a_flag(labelled_flags: LabelledFlags) -> None:
    """None of some 60 labels of 600 answers is bad, so up to 6 % of them, 36 answers, may be: recall may be 84 %."""
    log, version = labelled_flags(0.8, rest_bad_every=0)
    with log.store.reading() as connection:
        sample = load_sample(connection, [version], flags=True)
        (chosen,) = measure_threshold(connection, Goal("precision", 0.75)).thresholds
    half = replace(sample, labels=sample.labels.at(~sample.labels.choosing))
    lows = [replayed(of, 0.5).recall.low or 0 for of in (half, sample)]
    assert chosen.in_force is not None
    assert lows[0] <= lows[1] < 0.93
    assert lows[1] == chosen.in_force.recall.low == measure_rate(log.store).in_all_answers["sensitivity"].low
    only_flagged = replace(sample, labels=sample.labels.at(sample.labels.flagged))
    assert replayed(only_flagged, 0.5).recall.value is None, "nothing is known of the answers without a flag"


@on_sqlite
def test_a_recall_that_rests_on_too_few_labels_promises_nothing(labelled_flags: LabelledFlags) -> None:
    log, version = labelled_flags(0.8, random_share=0.006, rest_bad_every=0)
    with log.store.reading() as connection:
        sampled = load_sample(connection, [version]).labels.n - 240
        recall = measure_threshold(connection, Goal("recall", 0.6))
        precision = measure_threshold(connection, Goal("precision", 0.6))
    assert 2 <= sampled < 10
    missing = (
        "The figures of the threshold in force have no interval, because a part of the answers has fewer than 10 "
        f"labels: {10 - sampled} more label{'s of this part are' if sampled < 9 else ' of this part is'} needed."
    )
    for result in (recall, precision):
        (chosen,) = result.thresholds
        assert chosen.in_force is not None
        assert chosen.in_force.recall.low is None
        assert missing in chosen.sentence
    assert "this meets the goal" not in recall.thresholds[0].sentence
    assert "Keep 0.5: " not in recall.thresholds[0].sentence
    proposed = [row[-2:] for row in thresholds_table(precision).rows if row[1] == "proposed"]
    assert proposed in ([], [(None, None)]), "a figure of half of the labels needs an interval"


@on_sqlite
def test_the_threshold_in_force_has_the_figures_of_the_rate_beside_a_proposed_one_too(
    labelled_flags: LabelledFlags,
) -> None:
    log, _ = labelled_flags(0.7)
    with log.store.reading() as connection:
        result = measure_threshold(connection, Goal("cost", 5))
    figures = measure_rate(log.store).in_all_answers
    other, in_force = thresholds_table(result).rows
    assert (other[1], in_force[1]) == ("not shown to be cheaper", "in force")
    assert in_force[-2:] == (figures["sensitivity"], figures["precision"])
    first, compared = threshold_notes(result)[:2]
    assert first.startswith("The threshold in force is measured on all labels, weighted as in `labels rate`, ")
    assert compared.startswith("To compare the two: on these labels, the threshold in force has a recall of ")


@on_sqlite
def test_the_figures_of_groundedness_are_not_those_of_a_label_that_differs(log: GradedLog) -> None:
    ids = log.answers(100)
    for name, called in (("same", lambda place: place < 50), ("other", lambda place: place < 60)):
        verdicts = {
            each: {"groundedness": 0.2 + 0.006 * place, "label": BAD if called(place) else GOOD}
            for place, each in enumerate(ids)
        }
        log.say(log.version(name), verdicts)
    log.reviews({each: {"label": BAD if place < 40 else GOOD} for place, each in enumerate(ids)})
    with log.store.reading() as connection:
        same, other = (
            threshold_notes(measure_threshold(connection, Goal("recall", 0.5), judge_version=name))[0]
            for name in ("same", "other")
        )
    differs = " All figures are of groundedness; `labels rate` measures the judge's label, which differs."
    assert (differs in same, other.endswith(differs)) == (False, True)


@on_sqlite
def test_a_map_that_is_not_shown_to_help_says_so_first(log: GradedLog) -> None:
    """A score is the share of such answers that people call grounded: there is nothing to improve."""
    version, ids, rng = log.version("rag"), log.answers(120), np.random.default_rng(0)
    scores = {each: 0.05 + 0.9 * place / 120 for place, each in enumerate(ids)}
    log.say(version, {each: {"groundedness": round(scores[each], 4)} for each in ids})
    log.reviews({each: {"label": GOOD if rng.random() < scores[each] else BAD} for each in ids})
    with log.store.reading() as connection:
        result = measure_calibration(connection)
        steps = measure_calibration(connection, how="isotonic")
    assert result.brier_change is not None
    assert (result.brier_change.low or 0) < 0 < (result.brier_change.high or 0)
    unproven = (
        "Do not use this map ({}) yet: the labels do not show that it predicts people better than the scores "
        "themselves."
    )
    assert result.sentence == (
        "The scores are not probabilities: of the answers with a score of 0.9, people call about 72 % [54, 84] "
        "grounded. The map below (--how platt) may correct this, but the labels do not show yet that it does. Until "
        "they do, use neither the scores nor the map as probabilities. Use the scores only to rank answers."
    )
    assert steps.sentence == unproven.format("isotonic")
    shown = [(score, each.value is None, each.low) for score, each in steps.meaning]
    assert shown == [(score, False, None) for score in SHOWN_SCORES], "a map shows what each score means"
    assert len(meaning_table(steps).rows) == len(SHOWN_SCORES)


@on_sqlite
def test_a_map_of_a_form_that_does_not_fit_says_how_far_it_is_off(log: GradedLog) -> None:
    """People call answers with a middle score grounded least often, so no rising line fits."""
    version, ids, rng = log.version("rag"), log.answers(400), np.random.default_rng(0)
    scores = {each: (0.1, 0.5, 0.9, 0.9)[place % 4] for place, each in enumerate(ids)}
    log.say(version, {each: {"groundedness": scores[each]} for each in ids})
    grounded = {0.1: 0.5, 0.5: 0.1, 0.9: 0.9}
    log.reviews({each: {"label": GOOD if rng.random() < grounded[scores[each]] else BAD} for each in ids})
    with log.store.reading() as connection:
        lines, steps = (measure_calibration(connection, how=how) for how in HOWS)
    (note,) = lines.notes
    assert note == (
        "After this map, the calibration error is still more than luck alone gives: a curve with two parameters does "
        "not fit these scores. Try `judgeboard labels calibrate --how isotonic`."
    )
    assert meaning_table(lines).rows == (), "the intervals of a wrong form mislead"
    assert lines.ece_after is not None
    assert lines.ece_after_by_luck is not None
    assert lines.ece_after > 2 * lines.ece_after_by_luck
    assert steps.notes == ()


@on_sqlite
def test_labels_of_unequal_weight_are_said_to_tell_less_where_no_map_is_shown_to_help(
    labelled_flags: LabelledFlags,
) -> None:
    log, _ = labelled_flags(0.8, rest_bad_every=4)
    with log.store.reading() as connection:
        result = measure_calibration(connection)
    assert result.sentence == (
        "Do not use this map (platt) yet: the labels do not show that it predicts people better than the scores "
        "themselves. The 300 labels tell only about as much as 113 of a random sample, because some kinds of answers "
        "are labelled more often than others. It is not known how many labels are enough. Start with 100 answers "
        "drawn at random (`judgeboard queue create NAME --plan rate --n 100`), label them, then run `labels calibrate` "
        "again."
    )


@on_sqlite
def test_a_few_heavy_labels_do_not_tell_whether_a_map_helps(labelled_flags: LabelledFlags) -> None:
    """Some labels stand for 600 of 840 answers: whatever map is fitted, luck is the same and nothing is advised."""
    log, _ = labelled_flags(0.8, random_share=0.006, rest_bad_every=2)
    with log.store.reading() as connection:
        results = [measure_calibration(connection, how=how) for how in HOWS]
    for result in results:
        assert re.fullmatch(
            "The labels do not show whether a map helps, because a part of the answers has fewer than 10 labels: "
            "\\d more labels? of this part (is|are) needed\\.",
            result.sentence,
        )
    assert len({result.ece_by_luck for result in results}) == 1
    assert results[0].n == 240 + 7
    assert results[0].left_out == {}, "a map weights its labels, and leaves none of them out"


@on_sqlite
def test_a_threshold_in_force_and_a_proposed_one_are_measured_on_the_same_labels(labelled_flags: LabelledFlags) -> None:
    log, version = labelled_flags(0.7)
    with log.store.reading() as connection:
        sample = load_sample(connection, [version], flags=True)
        (chosen,) = measure_threshold(connection, Goal("cost", 5)).thresholds
    labels, judged_answers = sample.labels.at(~sample.labels.choosing), sample.judged.at(~sample.judged.choosing)
    same = ThresholdFigures(labels, judged_answers).at(0.5, float(flag_from(0.5)))
    for at in (chosen.in_force_held_out, chosen.chosen):
        assert at is not None
        assert at.flagged.n == labels.n < sample.labels.n
    assert chosen.in_force_held_out is not None
    assert (chosen.in_force_held_out.recall, chosen.in_force_held_out.precision) == (same.recall, same.precision)
    fewer, more = sorted((chosen.chosen, chosen.in_force_held_out), key=lambda at: at.flags if at else 0)
    assert fewer is not None
    assert more is not None
    assert (fewer.recall.value or 0) <= (more.recall.value or 0), "more flags cannot find fewer bad answers"


@on_sqlite
def test_the_advised_number_of_answers_gives_the_labels_that_a_recall_needs(labelled_flags: LabelledFlags) -> None:
    log, version = labelled_flags(0.8)
    with log.store.reading() as connection:
        (before,) = measure_threshold(connection, Goal("recall", 0.9)).thresholds
        confident = measure_confident_verdicts(connection, 0.95)
        bad = load_sample(connection, [version]).by_lot
        bad = bad.at(bad.bad)
    counting, choosing = bad.n, int(bad.choosing.sum())
    advice = re.search(
        r"recall of at least 90 %, but the labels are too few to show it\. To show one, label about (\d+) more answers,"
        r" which this queue draws at random: `judgeboard queue create threshold --plan rate --n \1`\.",
        before.sentence,
    )
    assert advice is not None, before.sentence
    without_others = re.sub(r"\(.*?\)", "", before.sentence.split("Another threshold")[1])
    numbers = {int(each) for each in re.findall(r"\b(\d+)\b(?! %)", without_others)}
    assert numbers == {int(advice[1]), counting, 192 + 6}, "no second number of labels to make"
    assert re.search(
        r"an agreement of 95 %, but the labels are too few to show it\. To show one, label about \d+ more answers, "
        "which this queue draws at random: `judgeboard queue ",
        confident.sentence,
    ), confident.sentence
    needed = math.ceil(labels_to_pass(allowed_risk(0.9), DELTA))
    more = max(2 * needed - counting, needed - choosing)
    with log.store.writing() as connection:  # sample as many more of the 600 answers that have no flag
        set_setting(connection, "random_share", 0.1 + int(advice[1]) / 600, "test")
    raise_flags(log.store)
    with log.store.reading() as connection:
        ids = np.array(connection.execute(select(RESPONSE.c.id)).scalars().all())
        labelled = load_sample(connection, [version]).labels.response_ids
        drawn = np.setdiff1d(rules_of(connection, ids)["random_sample"], labelled).tolist()
    assert 0.8 * int(advice[1]) < len(drawn) < 1.2 * int(advice[1])
    log.reviews({each: {"label": BAD if place % 10 == 0 else GOOD} for place, each in enumerate(drawn)})
    with log.store.reading() as connection:
        added = int(load_sample(connection, [version]).by_lot.bad.sum()) - counting
    assert 0.7 * more < added < 1.4 * more


@on_sqlite
def test_the_figures_of_the_threshold_in_force_are_those_of_the_rate(labelled_flags: LabelledFlags) -> None:
    log, _ = labelled_flags(0.7)
    with log.store.reading() as connection:
        (chosen,) = measure_threshold(connection, Goal("recall", 0.8)).thresholds
    rate = measure_rate(log.store)
    assert chosen.in_force is not None
    assert chosen.in_force.precision == rate.in_all_answers["precision"]
    assert chosen.in_force.recall == rate.in_all_answers["sensitivity"]


@on_sqlite
def test_a_table_without_a_proposed_threshold_has_the_figures_of_the_rate(labelled_flags: LabelledFlags) -> None:
    log, _ = labelled_flags(0.7)
    with log.store.reading() as connection:
        result = measure_threshold(connection, Goal("precision", 0.95))
    figures = measure_rate(log.store).in_all_answers
    (row,) = thresholds_table(result).rows
    assert row[-2:] == (figures["sensitivity"], figures["precision"])
    assert threshold_notes(result) == (
        "Recall and precision are measured on all labels, weighted as in `labels rate`.",
    )


@on_sqlite
def test_the_number_of_flags_is_what_the_rules_raise(log: GradedLog) -> None:
    """Refusals after a search without a result and confident verdicts raise no flag, whatever the threshold."""
    judged(log, 200)
    version = log.version("rag")
    refusals = log.answers(30, answer="I could not find that.", passages=())
    log.say(version, {each: {"groundedness": 0.4 + place / 100} for place, each in enumerate(refusals)})
    log.review_all(refusals, label=GOOD)
    sure = log.answers(10)
    log.say_all(version, sure, groundedness=0.01)
    log.review_all(sure, label=BAD)
    with log.store.writing() as connection:
        for name, value in (("excuse_confident", True), ("uncertain_verdict", 0.99), ("random_share", 0.001)):
            set_setting(connection, name, value, "test")
    raise_flags(log.store)
    of_rule = select(func.count()).where(FLAG.c.rule == "low_groundedness", FLAG.c.state == "open")
    with log.store.reading() as connection:
        result = measure_threshold(connection, Goal("recall", 0.7))
        (chosen,) = result.thresholds
        today = connection.execute(of_rule).scalar_one()
        judged_low = verdict_conditions(connection, RowFilter(judge_side="low"))
        low = connection.execute(select(func.count()).select_from(CURRENT).where(*judged_low)).scalar_one()
    assert chosen.in_force is not None
    assert chosen.chosen is not None
    assert chosen.in_force.flags == today
    (line,) = (each for each in threshold_notes(result) if "does not flag" in each)
    assert line.startswith(
        "The rule does not flag refusals without a fitting passage and confident verdicts: "
        f"{low - today} of {low} answers below the threshold in force and "
    )
    assert line.endswith("`labels rate` and `agreement` count them as judged bad, so their figures differ.")
    assert chosen.chosen.recall.value is not None
    assert chosen.chosen.recall.value < 1, "bad answers with a confident verdict are never flagged"
    with log.store.writing() as connection:
        set_setting(connection, "low_groundedness", chosen.low_groundedness, "test")
    raise_flags(log.store)
    with log.store.reading() as connection:
        assert connection.execute(of_rule).scalar_one() == chosen.chosen.flags != today


@on_sqlite
def test_a_threshold_that_decides_the_verdicts_says_how_agreement_changes(log: GradedLog) -> None:
    version = judged(log)
    with log.store.writing() as connection:
        set_setting(connection, "low_groundedness", 0.7, "test")
    with log.store.reading() as connection:
        (chosen,) = measure_threshold(connection, Goal("recall", 0.8)).thresholds
    before = measure_rate(log.store).in_all_answers["agreement"]
    with log.store.writing() as connection:
        set_setting(connection, "low_groundedness", chosen.low_groundedness, "test")
    after = measure_rate(log.store).in_all_answers["agreement"]
    assert before.value != after.value
    assert chosen.sentence.endswith(
        "rag v1 gives no label, so this threshold also decides its verdicts: agreement with people would change from "
        f"{percent(before.value or 0)} to {percent(after.value or 0)}."
    )
    labelling = log.version("labels")
    with log.store.reading() as connection:
        sample = load_sample(connection, [version])
    ids = sample.judged.response_ids.tolist()
    log.say(labelling, {each: {"groundedness": 0.2, "label": GOOD} for each in ids})
    with log.store.reading() as connection:
        other = load_sample(connection, [labelling], flags=True)
    assert verdicts_words(other, 0.1, None) == ""


@on_sqlite
def test_the_threshold_in_force_is_kept_if_it_is_the_cheapest(log: GradedLog) -> None:
    judged(log)
    with log.store.reading() as connection:
        (chosen,) = measure_threshold(connection, Goal("cost", 5)).thresholds
    assert chosen.sentence == (
        "These labels do not show that another threshold is cheaper: on one half of them, none is cheaper than the "
        "threshold in force, 0.5."
    )
    assert (chosen.is_kept, chosen.is_advised, chosen.low_groundedness) == (True, False, None)


@on_sqlite
def test_a_cost_that_is_not_shown_names_the_labels_that_are_missing(labelled_flags: LabelledFlags) -> None:
    log, _ = labelled_flags(0.7)
    with log.store.reading() as connection:
        (chosen,) = measure_threshold(connection, Goal("cost", 5)).thresholds
    assert chosen.sentence.startswith(
        "These labels do not show that another threshold is cheaper than the one in force, 0.5. The cheapest one on "
        f"one half of them is {chosen.low_groundedness:g}, and the other half does not show that it is cheaper. "
    )
    assert "Keep" not in chosen.sentence, "what is not shown is no advice"
    missing = re.search(
        r"To show which one is cheaper, about (\d+) more labels of answers between the two are needed\. Label about "
        r"(\d+) more answers, which this queue draws at random: `judgeboard queue create threshold --plan rate --n \2`",
        chosen.sentence,
    )
    assert missing is not None
    assert 0 < int(missing[1]) <= int(missing[2])


@on_sqlite
def test_a_threshold_that_is_shown_to_cost_more_is_said_to_cost_more(log: GradedLog) -> None:
    """Answers with a groundedness of 0.55 are bad only in the half of the labels that chooses."""
    version, ids = log.version("rag"), log.answers(400)
    log.say(version, {each: {"groundedness": (0.1, 0.55, 0.9, 0.9)[place % 4]} for place, each in enumerate(ids)})
    with log.store.reading() as connection:
        sample = load_sample(connection, [version], flags=True)
    choosing = dict(zip(sample.judged.response_ids.tolist(), sample.judged.choosing.tolist(), strict=True))
    bad = {each: place % 4 == 0 or (place % 4 == 1 and choosing[each]) for place, each in enumerate(ids)}
    log.reviews({each: {"label": BAD if bad[each] else GOOD} for each in ids})
    with log.store.reading() as connection:
        result = measure_threshold(connection, Goal("cost", 5))
    (chosen,) = result.thresholds
    assert chosen.cost_change is not None
    assert (chosen.cost_change.low or 0) > 0
    words = (
        f"The cheapest one on one half of them, {chosen.low_groundedness:g}, costs more on the other half. In all 400 "
    )
    assert words in chosen.sentence
    assert "with more labels of these, a threshold that flags more may be shown to be cheaper." in chosen.sentence
    assert "queue create" not in chosen.sentence, "it is shown already"
    assert thresholds_table(result).rows[0][1] == "costs more"


@on_sqlite
def test_a_threshold_in_force_that_reaches_a_precision_is_kept_though_it_has_no_interval(
    labelled_flags: LabelledFlags,
) -> None:
    """The percentiles of the scores leave out the answer that it flags last: another threshold would change nothing."""
    log, _ = labelled_flags(0.8, random_share=0.006, rest_bad_every=0)
    with log.store.reading() as connection:
        (chosen,) = measure_threshold(connection, Goal("precision", 0.6), by_query_type=True).thresholds
    assert chosen.in_force is not None
    assert chosen.in_force.precision.low is None
    assert chosen.sentence.startswith(
        "Keep 0.5: with 95 % confidence, at least 60 % of the answers flagged for low groundedness are bad. The labels "
    )
    assert "instead of" not in chosen.sentence
    assert (chosen.is_kept, chosen.low_groundedness) == (True, None)


@on_sqlite
def test_a_change_of_the_cost_is_that_of_all_answers(labelled_flags: LabelledFlags) -> None:
    """All flagged answers are labelled but few others: on the labels alone, each change would be twice as large."""
    log, _ = labelled_flags(0.7)
    with log.store.reading() as connection:
        (chosen,) = measure_threshold(connection, Goal("cost", 0.5)).thresholds
    assert chosen.chosen is not None
    flags, change = chosen.chosen.change.flags, chosen.cost_change
    assert flags < -200
    truth = (flags + 0.5 * 0.7 * -flags) / 840  # of the answers that lose their flag, 7 of 10 are bad
    assert change is not None
    assert change.value is not None
    assert change.low is not None
    assert change.high is not None
    assert change.value == pytest.approx(truth, abs=0.01)
    assert flags / 840 <= change.low <= truth <= change.high < 0
    words = f"by {change.value:+.3f} reviews (95 % CI {change.low:+.3f} to {change.high:+.3f}, n = {change.n} labels)."
    assert f" In all 840 answers, the cost per answer changes {words}" in chosen.sentence


def test_a_change_of_the_cost_rests_on_ten_labels_at_least() -> None:
    change = QueueChange(20, measured(6.0, 9, (3.0, 10.0))).cost_per_answer(5, 100)
    assert change.value is None
    assert change.reason == "only 9 labelled answers would change their flag, and at least 10 are needed"
    change = QueueChange(-20, measured(6.0, 10, (3.0, 10.0))).cost_per_answer(5, 100)
    assert (change.low, change.value, change.high) == pytest.approx((-0.05, 0.1, 0.3))


@on_sqlite
def test_verdicts_need_no_review_where_the_judge_is_sure(log: GradedLog) -> None:
    version = judged(log)
    with log.store.reading() as connection:
        result = measure_confident_verdicts(connection, 0.8, judge_version=version.title)
    assert result.confidence is not None
    assert 0 < result.confident <= result.judged == 300
    assert result.agreement is not None
    assert "need no review: " in result.sentence


@on_sqlite
def test_a_jury_counts_the_mean_score_of_answers_that_all_its_members_judged(log: GradedLog) -> None:
    first = judged(log, 100)
    second = log.version("nli")
    with log.store.reading() as connection:
        alone = load_sample(connection, [first]).judged
    badness = dict(zip(alone.response_ids.tolist(), alone.badness.tolist(), strict=True))
    log.say(second, {each: {"groundedness": 0.5} for each in list(badness)[:80]})
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
    assert sample.title == "rag v1 + nli v1"


@on_sqlite
def test_calibration_needs_fifty_labels_of_both_kinds(log: GradedLog) -> None:
    judged(log, 40)
    with log.store.reading() as connection:
        assert "at least 50 needed" in measure_calibration(connection).sentence
    judged(log, 100)
    with log.store.reading() as connection:
        result = measure_calibration(connection)
    assert result.score_map is not None
    assert result.n == 140
    values = [each.value or 0 for _, each in result.meaning]
    assert values == sorted(values)
    assert all((each.low or 0) < (each.value or 0) < (each.high or 0) for _, each in result.meaning)
    assert "A score of 0.7 means: people call" in result.sentence


@on_sqlite
def test_a_log_without_a_judge_names_the_next_command(log: GradedLog) -> None:
    log.answers(3)
    with log.store.reading() as connection, pytest.raises(NotFound, match="judgeboard judge"):
        measure_threshold(connection, Goal("recall", 0.8))


@pytest.mark.parametrize(("aim", "value"), [("recall", 1.0), ("recall", 0.0), ("precision", 2.0), ("cost", 0.0)])
def test_a_goal_out_of_range_is_refused(aim: str, value: float) -> None:
    with pytest.raises(BadInput, match=aim):
        Goal(aim, value)  # type: ignore[arg-type]


def test_a_setting_flags_what_the_threshold_flags_with_the_fewest_decimals() -> None:
    badness = np.array([0.0, 1e-6, 0.042798, 0.154285, 0.18, 0.5, 0.802555, 0.802556, 0.999999])
    for threshold in badness[1:].tolist():
        flagged = badness >= flag_from(setting_of(threshold, badness))
        assert flagged.tolist() == (badness >= threshold).tolist(), threshold
    assert setting_of(0.154285, badness) == 0.9, "groundedness from 0.845715 to below 0.957202 gives the same flags"
    assert setting_of(0.18, badness) == 0.83
    assert setting_of(0.802556, badness) == 0.197445, "the next answer has 0.197445"


@pytest.mark.shared
def test_thresholds_of_ragtruth_reach_their_goal_on_the_other_half(ragtruth: Store) -> None:
    with ragtruth.reading() as connection:
        sample = load_sample(connection, [get_version(connection, "track_b_modernbert")])
        result = threshold_result(sample, Goal("recall", 0.8), by_query_type=True)
        confident = measure_confident_verdicts(
            connection, 0.9, jury=["track_b_modernbert", "approach_1_modernbert", "track_a_deberta"]
        )
    assert (sample.labels.n, len(np.unique(sample.labels.groups)), int(sample.labels.bad.sum())) == (1344, 225, 493)
    assert sample.labels.by_lot.all()
    assert {each.query_type for each in result.thresholds} == {"Data2txt", "QA", "Summary"}
    assert confident.agreement is not None
    assert (confident.agreement.value or 0) > 0.9


@on_sqlite
def test_degenerate_scores_have_a_map_and_a_sentence(log: GradedLog) -> None:
    equal, contrary, harmful = (log.version(name) for name in ("equal", "contrary", "harmful"))
    ids = log.answers(150)
    bad = {each: place % 3 == 0 for place, each in enumerate(ids)}
    log.say(equal, {each: {"groundedness": 0.8} for each in ids})
    log.say(contrary, {each: {"groundedness": 0.9 if bad[each] else 0.1} for each in ids})
    ordered = sorted(ids, key=lambda each: not bad[each])
    scores = [*[0.0] * 2, *[0.3] * 48, *[0.0] * 6, *[0.3] * 12, *[1.0] * 82]  # right but for six answers at 0
    log.say(harmful, {each: {"groundedness": score} for each, score in zip(ordered, scores, strict=True)})
    log.reviews({each: {"label": BAD if bad[each] else GOOD} for each in ids})
    with log.store.reading() as connection:
        for how in HOWS:
            result = measure_calibration(connection, judge_version="equal", how=how)
            assert "all answers the same score" in result.sentence
            shares = [each.value for _, each in result.meaning]
            assert shares == pytest.approx([2 / 3] * 5, abs=0.01)
        flat = measure_calibration(connection, judge_version="contrary")
        nothing = measure_confident_verdicts(connection, 0.9, judge_version="contrary")
        worse = measure_calibration(connection, judge_version="harmful")
        steps = measure_calibration(connection, judge_version="harmful", how="isotonic")
    assert worse.sentence == (
        "Do not use this map (platt): with it, the scores predict people worse. On average, a score is 0.08 away from "
        "the share of such answers that people call grounded. Luck alone gives only about 0.02. So the scores are off, "
        "but this map does not fit, or the labels are too few for it."
    )
    assert (worse.is_worse, worse.meaning) == (True, ())
    assert steps.brier_after < worse.brier_after
    assert steps.notes == (), "platt was just shown to be worse, so it is not recommended"
    assert flat.sentence == "People and this score have nothing in common: the map is flat."
    assert nothing.confident == 0
    assert nothing.sentence.startswith(
        "A threshold may reach an agreement of 90 %, but the labels are too few to show it. "
    )


@on_sqlite
def test_one_label_only_has_no_map(log: GradedLog) -> None:
    judged(log, 60, share_bad=0)
    with log.store.reading() as connection:
        assert measure_calibration(connection).sentence == "No map: people found no bad answer here."


@on_sqlite
def test_without_a_label_drawn_at_random_no_verdict_is_excused(log: GradedLog) -> None:
    ids = log.answers(20)
    log.say(log.version(), {each: {"groundedness": 0.9} for each in ids})
    with log.store.reading() as connection:
        confident = measure_confident_verdicts(connection, 0.9)
        (chosen,) = measure_threshold(connection, Goal("recall", 0.8)).thresholds
        calibrated = measure_calibration(connection)
    for sentence in (confident.sentence, chosen.sentence, calibrated.sentence):
        assert "none of the 20 answers has a label of a random sample. Label all of them. To create" in sentence


@on_sqlite
def test_a_judge_whose_verdicts_are_all_unusable_is_not_said_to_have_judged_nothing(log: GradedLog) -> None:
    log.say_all(log.version("rag"), log.answers(12), status=Status.UNPARSABLE)
    with log.store.reading() as connection:
        with pytest.raises(NotFound, match=r"All verdicts of rag on the log are unusable\. .*--rejudge failed"):
            measure_calibration(connection)
        trend = corrected_sentence(corrected_trend(connection))
    assert "All verdicts of rag on the log are unusable." in trend
    assert "No judge has judged the log yet" not in trend


@on_sqlite
def test_a_primary_judge_without_verdicts_is_named(log: GradedLog) -> None:
    judged(log, 12)
    log.version("other")
    with log.store.writing() as connection:
        set_setting(connection, "primary_judge", "other", "test")
    with log.store.reading() as connection, pytest.raises(NotFound, match="other has not judged the log yet, but ano"):
        measure_calibration(connection)


@on_sqlite
def test_a_judge_without_scores_and_a_jury_without_common_answers_are_named(log: GradedLog) -> None:
    ids = log.answers(4)
    words, one, other = log.version("words"), log.version("one"), log.version("other")
    log.say_all(words, ids, label=GOOD)
    log.say_all(one, ids[:2], groundedness=0.9)
    log.say_all(other, ids[2:], groundedness=0.9)
    with log.store.reading() as connection:
        with pytest.raises(NotFound, match="no logged answer has a groundedness score"):
            measure_threshold(connection, Goal("recall", 0.8), judge_version="words")
        with pytest.raises(NotFound, match=r"one v1 \+ other v1: no logged answer"):
            measure_confident_verdicts(connection, 0.9, jury=["one", "other"])


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (
            measured(0.76, 100, (0.62, 0.86)),
            "The two halves of the labels differ. The interval of 76 % includes 80 %, so both can be true.",
        ),
        (
            measured(0.7, 100, (0.62, 0.78)),
            "The two halves of the labels differ: the interval of 70 % leaves out 80 %.",
        ),
        (measured(0.81, 100, (0.7, 0.9)), ""),
        (
            measured(0.93, 100, (0.86, 0.96)),
            "The goal needs less than this: with more labels, a threshold with fewer flags may meet it too.",
        ),
        (unmeasured(100, "too few"), ""),
    ],
)
def test_a_figure_apart_from_the_promise_says_how_both_can_be_true(share: Estimate, words: str) -> None:
    goal = Goal("recall", 0.8)
    sentence = below_words(goal, share) + beyond_words(goal, share)
    assert sentence.startswith(words)
    assert bool(sentence) == bool(words)

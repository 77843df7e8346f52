"""Thresholds and confident verdicts on RAGTruth, equal to the published examples in each digit."""

from dataclasses import replace

import numpy as np
import pytest

from estimates import value_and_ends
from judgeboard.flags.rules import sampling_number
from judgeboard.measure.scored_labels import JudgedScores, ScoredLabels, ScoredSample, flag_from
from judgeboard.measure.thresholds import (
    CHOSEN,
    Goal,
    advised_setting,
    confident_verdicts,
    replayed,
    threshold_result,
)
from judgeboard.settings.model import Cuts
from judgeboard.store.statements import TextColumn, record_of
from shared_answers import shared_answers

B, A1, A = "track_b_modernbert", "approach_1_modernbert", "track_a_deberta"
MEAN = f"{B} + {A1} + {A}"

pytestmark = pytest.mark.shared


@pytest.fixture
def answers(shared, monkeypatch):
    """The answers; halves are drawn by the ids of their sources, as in the published examples."""
    answers = shared_answers(shared / "data")
    sources = dict(zip(answers.groups.codes.tolist(), answers.source_ids, strict=True))

    def drawn(name, groups):
        return np.array(
            [sampling_number(name, "ragtruth", sources[group]) for group in groups.tolist()]
        )

    monkeypatch.setattr("judgeboard.measure.scored_labels.drawn", drawn)
    return answers


def sample(answers, judges, query_type="all"):
    """The sample of a judge, or of the mean of several ("a + b"); all answers are labelled."""
    names = judges.split(" + ")
    badness = np.round(np.mean([answers.badness[name] for name in names], axis=0), 9)
    n = len(badness)
    types, codes = np.unique(answers.query_types, return_inverse=True)
    judged_bad = badness > 0.5 if len(names) > 1 else answers.judged_bad[judges]
    everything = np.ones(n, dtype=np.bool_)
    judged = JudgedScores(
        np.arange(n),
        answers.groups.codes,
        badness,
        TextColumn(tuple(types.tolist()), codes),
        badness >= flag_from(0.5),
        ~everything,
        np.zeros(n, dtype=np.int64),
    )
    labels = record_of(
        ScoredLabels,
        judged,
        judged_bad=judged_bad,
        bad=answers.bad,
        weights=everything.astype(np.float64),
        by_lot=everything,
        lots=np.zeros(n),
    )
    inside = answers.of_type(None if query_type == "all" else query_type)
    counts = np.array([n])
    return ScoredSample(judges, labels.at(inside), judged.at(inside), Cuts(0.5), {}, counts, counts)


def four_digits(*estimates):
    return tuple(round(each.value, 4) for each in estimates)


# Judge, agreement: threshold, wrong of n labels above it, upper bound | agreement and share of the
# other half.
CONFIDENT = [
    (B, 0.80, 0.669558, 92, 588, 0.1938, 0.8535, 0.9364),
    (B, 0.85, 0.959319, 39, 393, 0.1391, 0.9009, 0.6421),
    (B, 0.90, 0.979273, 20, 333, 0.0968, 0.9079, 0.5375),
    (A1, 0.80, 0.687615, 81, 533, 0.1938, 0.8439, 0.8246),
    (A1, 0.85, 0.879252, 36, 362, 0.1443, 0.8977, 0.5530),
    (A1, 0.90, 0.961305, 9, 191, 0.0991, 0.9535, 0.2433),
    (A, 0.80, 0.783152, 76, 493, 0.1985, 0.8635, 0.7666),
    (A, 0.85, 0.905841, 35, 352, 0.1456, 0.9021, 0.5488),
    (A, 0.90, 0.966521, 10, 216, 0.0947, 0.9378, 0.3409),
    (MEAN, 0.80, 0.535569, 101, 617, 0.1999, 0.8530, 0.9717),
    (MEAN, 0.85, 0.720048, 55, 489, 0.1485, 0.9048, 0.7723),
    (MEAN, 0.90, 0.842313, 23, 383, 0.0931, 0.9359, 0.6181),
    (MEAN, 0.95, 0.981415, 0, 106, 0.0405, 0.9896, 0.1358),
]


@pytest.mark.parametrize(
    ("judges", "agreement", "threshold", "wrong", "n", "bound", "agreed", "share"), CONFIDENT
)
def test_verdicts_that_need_no_review(
    answers, judges, agreement, threshold, wrong, n, bound, agreed, share
):
    result = confident_verdicts(sample(answers, judges), agreement)
    tested = result.figure("tested_wrong")
    assert result.figure("confidence").value == pytest.approx(threshold, abs=1e-6)
    assert (tested.value, tested.n) == (wrong, n)
    names = ("tested_wrong_bound", "agreement", "share")
    assert four_digits(*map(result.figure, names)) == (bound, agreed, share)


def test_one_judge_is_never_sure_enough_for_95_percent(answers):
    result = confident_verdicts(sample(answers, B), 0.95)
    assert (result.headline.code, result.headline.values["n"]) == ("confidence_not_shown", 637)


def chosen_at(result):
    names = ("flagged", "recall", "precision")
    return four_digits(*(result.figure(each, CHOSEN) for each in names))


# Judge, query type: bad labels, design effect, threshold | flagged, recall, precision | threshold
# 0.5.
RECALL = [
    (B, "all", 228, 1.2813, 0.042798, (0.5587, 0.8830, 0.5924), (0.3508, 0.7623, 0.8145)),
    (B, "Data2txt", 132, 1.0, 0.339410, (0.6706, 0.9080, 0.8757), (0.6429, 0.9080, 0.9136)),
    (B, "QA", 46, 1.4324, 0.006579, (0.6465, 0.9318, 0.2950), (0.2279, 0.7045, 0.6327)),
    (B, "Summary", 50, 1.1298, 0.006700, (0.6375, 0.7759, 0.2941), (0.1542, 0.3966, 0.6216)),
]


@pytest.mark.parametrize(
    ("judge", "query_type", "bad", "effect", "threshold", "figures", "in_force"), RECALL
)
def test_thresholds_for_a_recall_of_80_percent(
    answers, judge, query_type, bad, effect, threshold, figures, in_force
):
    judged = sample(answers, judge, query_type)
    (chosen,) = threshold_result(judged, Goal("recall", 0.8))
    other = replayed(replace(judged, labels=judged.labels.at(~judged.labels.choosing)), 0.5)
    design_effect = chosen.figure("design_effect", CHOSEN)
    assert chosen.about.counts["choosing_bad"] == design_effect.n == bad
    assert four_digits(design_effect) == (effect,)
    assert chosen.figure("tested_badness", CHOSEN).value == pytest.approx(threshold, abs=1e-6)
    assert chosen_at(chosen) == figures
    assert four_digits(other.flagged, other.recall, other.precision) == in_force


def test_a_threshold_for_recall_of_another_judge(answers):
    (chosen,) = threshold_result(sample(answers, A1), Goal("recall", 0.8))
    assert chosen.figure("tested_badness", CHOSEN).value == pytest.approx(0.244827, abs=1e-6)
    assert chosen_at(chosen) == (0.5431, 0.8717, 0.6016)


@pytest.mark.parametrize(
    ("query_type", "threshold", "figures"),
    [
        ("all", 0.802555, (0.2928, 0.6642, 0.8502)),
        ("Data2txt", 0.198663, (0.6984, 0.9264, 0.8580)),
        ("QA", None, ()),
        ("Summary", None, ()),
    ],
)
def test_thresholds_for_a_precision_of_80_percent(answers, query_type, threshold, figures):
    (chosen,) = threshold_result(sample(answers, B, query_type), Goal("precision", 0.8))
    if threshold is None:
        assert (chosen.headline.code, CHOSEN in chosen.slices) == ("threshold_few_labels", False)
        return
    assert chosen.figure("tested_badness", CHOSEN).value == pytest.approx(threshold, abs=1e-6)
    assert chosen_at(chosen) == figures


@pytest.mark.parametrize(
    ("query_type", "threshold", "change"),
    [(None, 0.017843, (0.0186, -0.0789, 0.0953)), ("QA", 0.288435, (-0.0356, -0.1287, 0.0255))],
)
def test_a_cost_of_five_reviews_is_not_shown_to_be_lower_anywhere(
    answers, query_type, threshold, change
):
    judged = sample(answers, B)
    result = threshold_result(judged, Goal("cost", 5), by_query_type=query_type is not None)
    (chosen,) = (each for each in result if each.about.where.get("query_type") == query_type)
    badness = judged.judged.of_type(query_type).badness
    setting = chosen.figure("low_groundedness", CHOSEN).value
    # The published badness has six decimals.
    assert np.array_equal(badness >= flag_from(setting), badness >= threshold - 1e-6)
    cost = chosen.figure("cost_change", CHOSEN)
    # The published change is that of the half that measures: 0.0184 and -0.0465. This one counts
    # the flags of all.
    assert tuple(round(each, 4) for each in value_and_ends(cost)) == change
    assert (chosen.headline.code, advised_setting(chosen)) == ("threshold_cost_not_shown", None)

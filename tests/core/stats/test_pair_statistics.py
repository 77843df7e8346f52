import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, f1_score, root_mean_squared_error

from estimates import value_and_ends, why_undefined
from judgeboard.stats.estimates import measured, too_few
from judgeboard.stats.intraclass import cronbach_alpha, intraclass_correlation
from judgeboard.stats.pair_statistics import pair_statistics
from judgeboard.stats.ratings import GROUNDEDNESS, LABEL, PREFERENCE, QUALITY
from rating_tables import ungrouped, verdicts_of

CATEGORIES = {
    *("agreement", "kappa", "alpha_nominal", "ac1", "mcc"),
    *("macro_precision", "macro_recall", "macro_f1"),
}
DETECTION = {
    *("sensitivity", "specificity", "precision", "f1"),
    *("auroc", "expected_calibration_error", "brier"),
}
NUMBERS = {
    *("alpha_ordinal", "alpha_interval", "pearson", "spearman", "kendall"),
    *("mean_absolute_difference", "rmse", "bias"),
}
STATISTICS = {
    "label": CATEGORIES | DETECTION,
    "quality": CATEGORIES | NUMBERS | {"at_most_one_apart", "weighted_kappa"},
    "groundedness": NUMBERS,
}


def labels(grounded):
    return np.where(grounded, "grounded", "hallucinated")


def made(n=200):
    rng = np.random.default_rng(0)
    people_quality = rng.integers(1, 5, n)
    quality = np.clip(people_quality + rng.integers(-1, 2, n), 1, 4)
    people_score, ids = rng.random(n).round(1), rng.integers(0, n // 3, n)
    score = np.clip(people_score + rng.normal(0, 0.2, n), 0, 1)
    label, people_label = labels(score > 0.5), labels(people_score > 0.4)
    return {
        "quality": pair_statistics(quality, people_quality, QUALITY, ids),
        "groundedness": pair_statistics(score, people_score, GROUNDEDNESS, ids),
        "label": pair_statistics(label, people_label, LABEL, ids, scores=score),
    }


@pytest.mark.parametrize("grade", STATISTICS)
def test_each_grade_has_its_statistics_and_says_of_the_others_that_it_has_not(grade):
    got = made()[grade]
    assert got.estimates.keys() == STATISTICS[grade]
    for estimate in got.estimates.values():
        assert estimate.low <= estimate.value <= estimate.high
        assert estimate.unit == "evidence group"
        assert estimate.method
    assert (got.confusion is None) == (grade == "groundedness")


@pytest.mark.parametrize("grade", STATISTICS)
@pytest.mark.parametrize("n", [0, 9])
def test_under_ten_pairs_is_too_few_but_keeps_its_n(grade, n):
    scale, value = {
        "label": (LABEL, "grounded"),
        "quality": (QUALITY, 2),
        "groundedness": (GROUNDEDNESS, 0.5),
    }[grade]
    values = np.full(n, value)
    got = pair_statistics(values, values, scale)
    assert got.n == n
    for name in STATISTICS[grade]:
        estimate = getattr(got, name)
        assert (*value_and_ends(estimate), estimate.n) == (None, None, None, n)
        assert estimate.reason == too_few(n)


def test_people_who_found_no_bad_answer_leave_agreement_standing():
    people, judge = labels(np.ones(60)), labels(np.arange(60) < 58)
    got = pair_statistics(judge, people, LABEL, scores=np.linspace(0, 1, 60))
    assert got.agreement.value == pytest.approx(58 / 60)
    assert 0.85 < got.agreement.low < got.agreement.value
    for without_bad in (got.sensitivity, got.auroc):
        assert "no bad answer" in why_undefined(without_bad)
    assert got.confusion.counts == ((0, 0), (2, 58))


def test_a_judge_that_calls_everything_bad_misses_nothing_and_has_no_kappa_worth():
    got = pair_statistics(labels(np.zeros(100)), labels(np.arange(100) < 60), LABEL)
    assert (got.sensitivity.value, got.specificity.value, got.kappa.value) == (1, 0, 0)
    assert "no score" in why_undefined(got.auroc)


def test_answers_without_a_score_are_left_out_of_the_auroc_alone():
    people = labels(np.arange(60) % 2 == 0)
    scores = np.where(np.arange(60) < 20, np.nan, np.linspace(0, 1, 60))
    got = pair_statistics(people, people, LABEL, scores=scores)
    assert (got.n, got.auroc.n) == (60, 40)


def test_missing_or_foreign_values_are_refused():
    for judge, people, scale, reason in (
        ([0.5, np.nan], [0.5, 0.5], GROUNDEDNESS, "missing or infinite"),
        (["a"], ["grounded"], LABEL, "declared"),
        ([1], [1, 2], QUALITY, "unequal length"),
    ):
        with pytest.raises(ValueError, match=reason):
            pair_statistics(np.array(judge), np.array(people), scale)


def test_the_same_rows_in_any_order_give_the_same_bytes(rng):
    people, judge, ids = rng.integers(1, 5, 300), rng.integers(1, 5, 300), rng.integers(0, 70, 300)
    every = np.arange(300)
    first, again, turned = (
        repr(pair_statistics(judge[order], people[order], QUALITY, ids[order]))
        for order in (every, every, rng.permutation(300))
    )
    assert first == again == turned


def test_a_number_that_is_none_never_reaches_a_page():
    with pytest.raises(ValueError, match="finite or undefined"):
        measured(float("nan"), 3)


def of_table(table):
    """Two raters by how often they gave each pair of labels."""
    people, judge = map(labels, verdicts_of(table))
    return pair_statistics(judge, people, LABEL)


def test_f1_of_the_bad_class_is_not_the_macro_f1():
    statistics = of_table([[7, 3], [2, 12]])
    assert statistics.f1.value == pytest.approx(2 * 7 / (2 * 7 + 3 + 2))
    assert of_table([[0, 0], [0, 12]]).f1.value is None
    judge, people = map(labels, np.random.default_rng(1).integers(0, 2, (2, 200)))
    expected = f1_score(people == "hallucinated", judge == "hallucinated")
    assert pair_statistics(judge, people, LABEL).f1.value == pytest.approx(expected)


def test_brier_and_rmse_are_those_of_scikit_learn():
    scores, people = np.random.default_rng(2).random((2, 150))
    grounded = people > 0.4
    of_labels = pair_statistics(labels(grounded), labels(grounded), LABEL, scores=scores)
    assert of_labels.brier.value == pytest.approx(brier_score_loss(grounded, scores))
    of_scores = pair_statistics(scores, people, GROUNDEDNESS)
    assert of_scores.rmse.value == pytest.approx(root_mean_squared_error(people, scores))
    for estimate in (of_labels.brier, of_scores.rmse):
        assert 0 <= estimate.low < estimate.value < estimate.high
    assert pair_statistics(scores, scores, GROUNDEDNESS).rmse.value == 0


def test_statistics_belong_to_their_scales():
    sides = np.array(PREFERENCE.categories)[np.arange(30) % 3]
    names = pair_statistics(sides, sides[::-1], PREFERENCE).estimates.keys()
    assert "kappa" in names
    assert not names & {"f1", "brier", "rmse", "pearson", "spearman"}


SHROUT_AND_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]],
    dtype=np.float64,
)
"""Six targets and four judges, of P. E. Shrout, J. L. Fleiss, "Intraclass correlations" (1979): .17 and .91."""


def test_intraclass_correlation_and_cronbachs_alpha_of_shrout_and_fleiss():
    icc, moved, alpha = (
        statistic(ratings, ungrouped(6))
        for statistic, ratings in (
            (intraclass_correlation, SHROUT_AND_FLEISS),
            (intraclass_correlation, SHROUT_AND_FLEISS * 3 + 100),
            (cronbach_alpha, SHROUT_AND_FLEISS),
        )
    )
    assert (icc.value, alpha.value) == pytest.approx((0.17, 0.91), abs=5e-3)
    for estimate in (icc, alpha):
        assert estimate.low < 0.91
        assert estimate.high > 0.17
    assert moved.value == pytest.approx(icc.value)


def test_repeats_that_never_differ_are_perfectly_reliable_and_equal_values_are_not_measured():
    same = np.repeat(np.arange(12.0)[:, None], 3, axis=1)
    groups = ungrouped(12)
    for statistic in (intraclass_correlation, cronbach_alpha):
        assert statistic(same, groups).value == 1
        assert statistic(np.ones((12, 3)), groups).value is None
        assert statistic(same[:1], ungrouped(1)).value is None
        gaps = same + np.random.default_rng(5).normal(0, 1, same.shape)
        gaps[0, 2] = np.nan
        assert [n for _, n in statistic(gaps, groups).left_out] == [1]


def test_the_interval_of_the_intraclass_correlation_covers_it():
    draws = np.random.default_rng(6)
    inside = 0
    for _ in range(200):
        items = draws.normal(0, 1, (60, 1)) + draws.normal(0, 1, (60, 3))
        estimate = intraclass_correlation(items, ungrouped(60))
        inside += estimate.low <= 0.5 <= estimate.high
    assert inside >= 182  # 95 % of 200, less two standard errors

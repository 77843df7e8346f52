import numpy as np
import pytest

from judgeboard.stats.estimates import measured
from judgeboard.stats.pair_statistics import pair_statistics
from judgeboard.stats.ratings import GROUNDEDNESS, LABEL, QUALITY

CATEGORIES = {"agreement", "kappa", "scott_pi", "alpha_nominal", "ac1", "mcc"} | {
    *("macro_precision", "macro_recall", "macro_f1")
}
DETECTION = {"sensitivity", "specificity", "precision", "f1", "auroc", "auprc", "expected_calibration_error", "brier"}
NUMBERS = {
    *("alpha_ordinal", "alpha_interval", "pearson", "spearman", "kendall", "pearson_within", "spearman_within"),
    *("mean_absolute_difference", "rmse", "bias", "lower_limit", "upper_limit"),
}
STATISTICS = {
    "label": CATEGORIES | DETECTION,
    "quality": CATEGORIES | NUMBERS | {"at_most_one_apart", "linear_kappa", "weighted_kappa", "ac2"},
    "groundedness": NUMBERS,
}


def made(n=200, seed=0):
    rng = np.random.default_rng(seed)
    people_quality = rng.integers(1, 5, n)
    quality = np.clip(people_quality + rng.integers(-1, 2, n), 1, 4)
    people_score, ids = rng.random(n).round(1), rng.integers(0, n // 3, n)
    score = np.clip(people_score + rng.normal(0, 0.2, n), 0, 1)
    labels = np.where(people_score > 0.4, "grounded", "hallucinated"), np.where(score > 0.5, "grounded", "hallucinated")
    return {
        "quality": pair_statistics(quality, people_quality, QUALITY, ids),
        "groundedness": pair_statistics(score, people_score, GROUNDEDNESS, ids),
        "label": pair_statistics(labels[1], labels[0], LABEL, ids, scores=score),
    }


@pytest.mark.parametrize("grade", STATISTICS)
def test_each_grade_has_its_statistics_and_says_of_the_others_that_it_has_not(grade):
    got = made()[grade]
    assert got.estimates.keys() == STATISTICS[grade]
    for estimate in got.estimates.values():
        assert estimate.low <= estimate.value <= estimate.high
        assert estimate.unit == got.unit == "evidence group"
        assert estimate.method
    assert (got.confusion is None) == (grade == "groundedness")


def test_quality_says_which_weights():
    assert made()["quality"].weighted_kappa.method.startswith("quadratic weights")


@pytest.mark.parametrize("grade", STATISTICS)
@pytest.mark.parametrize("n", [0, 9])
def test_under_ten_pairs_is_too_few_but_keeps_its_n(grade, n):
    scale = {"label": LABEL, "quality": QUALITY, "groundedness": GROUNDEDNESS}[grade]
    values = {"label": np.array(["grounded"] * n), "quality": np.full(n, 2), "groundedness": np.full(n, 0.5)}[grade]
    got = pair_statistics(values, values, scale)
    assert got.n == n
    for name in STATISTICS[grade]:
        estimate = getattr(got, name)
        assert (estimate.value, estimate.low, estimate.high, estimate.n) == (None, None, None, n)
        assert estimate.reason == f"too few (n = {n}, at least 10 needed)"


def test_people_who_found_no_bad_answer_leave_agreement_standing():
    people = np.array(["grounded"] * 60)
    judge = np.array(["grounded"] * 58 + ["hallucinated"] * 2)
    got = pair_statistics(judge, people, LABEL, scores=np.linspace(0, 1, 60))
    assert got.agreement.value == pytest.approx(58 / 60)
    assert 0.85 < got.agreement.low < got.agreement.value
    assert got.sensitivity.reason == "people found no bad answer here"
    assert got.auroc.reason == "people found no bad answer here"
    assert got.confusion.counts == ((0, 0), (2, 58))


def test_a_judge_that_calls_everything_bad_misses_nothing_and_has_no_kappa_worth():
    people = np.array(["grounded"] * 60 + ["hallucinated"] * 40)
    got = pair_statistics(np.array(["hallucinated"] * 100), people, LABEL)
    assert got.sensitivity.value == 1
    assert got.specificity.value == 0
    assert got.kappa.value == 0
    assert got.auroc.reason == "the judge gives no score"


def test_answers_without_a_score_are_left_out_of_the_auroc_alone():
    people = np.array(["grounded", "hallucinated"] * 30)
    scores = np.where(np.arange(60) < 20, np.nan, np.linspace(0, 1, 60))
    got = pair_statistics(people, people, LABEL, scores=scores)
    assert (got.n, got.auroc.n) == (60, 40)


def test_missing_or_foreign_values_are_refused():
    with pytest.raises(ValueError, match="missing or infinite"):
        pair_statistics(np.array([0.5, np.nan]), np.array([0.5, 0.5]), GROUNDEDNESS)
    with pytest.raises(ValueError, match="none of the declared"):
        pair_statistics(np.array(["a"]), np.array(["grounded"]), LABEL)
    with pytest.raises(ValueError, match="unequal length"):
        pair_statistics(np.array([1]), np.array([1, 2]), QUALITY)


def test_the_same_rows_in_any_order_give_the_same_bytes():
    rng = np.random.default_rng(1)
    people, judge, ids = rng.integers(1, 5, 300), rng.integers(1, 5, 300), rng.integers(0, 70, 300)
    order = rng.permutation(300)
    first = pair_statistics(judge, people, QUALITY, ids)
    assert repr(first) == repr(pair_statistics(judge[order], people[order], QUALITY, ids[order]))
    assert repr(first) == repr(pair_statistics(judge, people, QUALITY, ids))


def test_a_number_that_is_none_never_reaches_a_page():
    with pytest.raises(ValueError, match="finite or undefined"):
        measured(float("nan"), 3)

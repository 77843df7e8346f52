import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from estimates import left_out, why_no_interval, why_undefined
from judgeboard.stats.alternative_annotator import (
    EPSILONS,
    alternative_annotator_test,
    alternative_annotator_tests_by_slice,
)
from judgeboard.stats.arrays import grouping
from judgeboard.stats.ratings import GROUNDEDNESS, Ratings, Scale

LABELS = Scale("preference", ("a", "b", "tie"))


def people(values, scale=LABELS, groups=None):
    names = tuple(f"person {number}" for number in range(values.shape[1]))
    return Ratings(values, names, scale, grouping(groups, len(values)))


def compared(judge, values, epsilon=0.2, **options):
    return alternative_annotator_test(judge, people(values), epsilon, **options)


def made(n=120, raters=3, seed=0, missing=0.2, right=0.85):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)

    def said(how_often):
        return np.where(rng.random(n) < how_often, truth, rng.integers(0, 3, n)).astype(float)

    values = np.stack([said(right) for _ in range(raters)], axis=1)
    values[rng.random(values.shape) < missing] = np.nan
    judge = said(0.9)
    judge[rng.random(n) < 0.1] = np.nan
    return judge, values


def by_the_book(judge, values, epsilon, kind):
    """Each person left out in turn, item by item, with the tests of SciPy and statsmodels."""
    from scipy import stats
    from statsmodels.stats.multitest import multipletests

    advantages, p = [], []
    for person in range(values.shape[1]):
        judge_wins, person_wins = [], []
        for item in range(len(judge)):
            others = np.delete(values[item], person)
            others = others[~np.isnan(others)]
            sides = judge[item], values[item, person]
            if np.isnan(sides).any() or not len(others):
                continue
            if kind == "label":
                of_judge, of_person = (np.mean(others == side) for side in sides)
            else:
                of_judge, of_person = (
                    -np.sqrt(np.mean((others - side) ** 2)).round(12) for side in sides
                )
            judge_wins.append(of_judge >= of_person)
            person_wins.append(of_person >= of_judge)
        apart = np.array(person_wins, dtype=float) - np.array(judge_wins, dtype=float)
        advantages.append(np.mean(judge_wins))
        p.append(stats.ttest_1samp(apart, epsilon, alternative="less").pvalue)
    return np.mean(multipletests(p, method="fdr_by")[0]), np.mean(advantages), p


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 0.2, 0.3]))
@example(2128, 0.1)
@settings(max_examples=15)
def test_labels_are_tested_as_the_paper_says(seed, epsilon):
    judge, values = made(seed=seed)
    got = compared(judge, values, epsilon)
    omega, rho, p = by_the_book(judge, values, epsilon, "label")
    assert (got.omega.value, got.rho.value) == pytest.approx((omega, rho))
    assert [each.p for each in got.people] == pytest.approx(p, rel=1e-6)
    assert got.passed == (omega >= 0.5)
    if got.rho.low is None:  # the judge wins on every item: nothing varies
        assert got.rho.value == 1
        assert why_no_interval(got.rho).startswith("no interval")
    else:
        assert got.rho.low < got.rho.value < got.rho.high


@given(st.integers(0, 10_000))
@settings(max_examples=15)
def test_scores_are_held_against_the_root_of_their_squared_distance(seed):
    rng = np.random.default_rng(seed)
    truth = rng.random(90)
    values = np.clip(truth[:, None] + rng.normal(0, 0.2, (90, 4)), 0, 1).round(1)
    judge = np.clip(truth + rng.normal(0, 0.15, 90), 0, 1).round(1)
    got = alternative_annotator_test(judge, people(values, GROUNDEDNESS), 0.1)
    omega, rho, p = by_the_book(judge, values, 0.1, "score")
    assert (got.omega.value, got.rho.value) == pytest.approx((omega, rho))
    assert [each.p for each in got.people] == pytest.approx(p, rel=1e-6)


def test_items_with_one_person_and_without_a_verdict_are_left_out_and_counted():
    judge, values = made(missing=0, n=60)
    values[:7, 1:] = np.nan
    judge[:] = values[:, 0]
    judge[10:14] = np.nan
    got = compared(judge, values)
    assert (got.n, left_out(got)) == (60 - 7 - 4, [7, 4])


def test_a_person_with_few_items_is_skipped_and_listed_or_tested_by_ranks():
    judge, values = made(n=100, missing=0)
    judge[:] = values[:, 0]
    values[29:, 2] = np.nan
    skipped = compared(judge, values)
    *_, last = skipped.people
    assert [(each.n, each.test) for each in skipped.people] == [(100, "t"), (100, "t"), (29, None)]
    assert (last.p, skipped.omega.n, left_out(skipped)) == (None, 2, [1])
    ranked = compared(judge, values, small="wilcoxon")
    *_, last = ranked.people
    assert (last.test, ranked.omega.n) == ("Wilcoxon", 3)
    assert 0 < last.p < 1


def test_nobody_to_test_is_undefined_not_zero():
    few, nothing = compared(*made(n=20, missing=0)), compared(np.full(40, np.nan), np.ones((40, 2)))
    assert (few.rho.value, few.passed) == (None, None)
    assert why_undefined(few.omega)
    assert why_undefined(nothing.omega) != few.omega.reason


@pytest.mark.parametrize(("epsilon", "p"), [(0.0, 1.0), (0.1, 0.0)])
def test_differences_that_are_all_the_same_decide_by_themselves(epsilon, p):
    got = compared(np.ones(40), np.ones((40, 3)), epsilon)
    assert {each.p for each in got.people} == {p}
    assert got.omega.value == (1.0 if p == 0 else 0.0)


def test_slices_share_one_correction():
    judge, values = made(n=600, missing=0, right=0.9)
    slices = np.repeat(["qa", "sql", "chat"], 200)
    by_slice = alternative_annotator_tests_by_slice(judge, people(values), slices, 0.1)
    assert set(by_slice) == {"qa", "sql", "chat"}
    from statsmodels.stats.multitest import multipletests

    tests = [test for name in by_slice for test in by_slice[name].people]
    expected = multipletests([test.p for test in tests], method="fdr_by")[0]
    assert [test.rejected for test in tests] == expected.tolist()
    assert {part.tests for part in by_slice.values()} == {9}
    alone = compared(judge[:200], values[:200], 0.1)
    assert [test.p for test in alone.people] == [test.p for test in by_slice["qa"].people]


@pytest.mark.parametrize("clusters", [None, 70])
def test_the_interval_of_rho_is_that_of_resampling_whole_groups(
    clusters, rng, agrees_with_plain_bootstrap
):
    judge, values = made(n=250, missing=0.25, right=0.7)
    groups = np.arange(250) if clusters is None else rng.integers(0, clusters, 250)

    def plain(judge, values):
        return compared(judge, values, 0.1).rho.value

    got = alternative_annotator_test(judge, people(values, groups=groups), 0.1).rho
    used = ~np.isnan(judge) & ((~np.isnan(values)).sum(axis=1) > 1)
    agrees_with_plain_bootstrap(
        got, plain, (judge[used], values[used]), groups[used], resamples=300, extra=0.01
    )


def test_epsilon_is_a_share():
    with pytest.raises(ValueError, match="epsilon"):
        compared(*made(), 1.5)
    assert EPSILONS == {"experts": 0.2, "skilled": 0.15, "crowd": 0.1}

"""The gate on the results of a suite, and the comparison of two runs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.domain import DimensionScore
from judgeboard.methods.suites.gate import compare, gate
from judgeboard.methods.suites.queries import CheckOutcome, StoredCase
from result_fields import check_fields

WEIGHTS = {"accuracy": 1.0, "tone": 1.0}


def case(key, score, *, passed=None, **dimensions):
    scores = dimensions or {"accuracy": score, "tone": score}
    checks = () if passed is None else (CheckOutcome("regex", "x", passed),)
    scored = {name: DimensionScore(name, value, "1-5") for name, value in scores.items()}
    return StoredCase(key, str(key), key, "q", "a", score, None, None, checks, scored)


def compared(before, after, threshold=3.5):
    return compare(before, after, run_id=1, weights=WEIGHTS, threshold=threshold)


def cases(*scores):
    """A case for each score, numbered from 0."""
    return [case(key, score) for key, score in enumerate(scores)]


def gated(n, unmeasured, average, baseline=None, **more):
    limits = {
        "failing_checks": 0,
        "threshold": 3.5,
        "max_unmeasured": 0.05,
        "max_drop": 0.05,
    } | more
    return gate(cases=n, unmeasured=unmeasured, average=average, baseline=baseline, **limits)


@pytest.mark.parametrize(
    ("n", "unmeasured", "average", "more", "code"),
    [
        (20, 0, 3.5, {}, 0),
        (20, 0, 3.4999, {}, 1),
        (20, 0, 3.5 - 1e-12, {}, 0),  # floats: a mean of 3.5 may miss it by a bit
        (20, 1, 5.0, {}, 0),
        (20, 2, 5.0, {}, 2),
        (20, 2, 1.0, {}, 2),  # before 1: what was not measured may be the good ones
        (20, 20, None, {}, 2),
        (3, 3, None, {"max_unmeasured": 1.0}, 2),
        (20, 0, 5.0, {"failing_checks": 1}, 1),
        (20, 2, 5.0, {"failing_checks": 20}, 2),
    ],
)
def test_the_share_without_a_score_goes_before_checks_and_the_average(
    n, unmeasured, average, more, code
):
    assert gated(n, unmeasured, average, **more).code == code


@pytest.mark.parametrize(("n", "code"), [(19, 2), (20, 1)])
def test_fewer_than_twenty_paired_cases_cannot_be_compared(n, code):
    comparison = compared(cases(*[5] * n), cases(*[4] * n))
    assert gated(n, 0, 4.0, comparison).code == code


def test_an_average_that_fell_alike_everywhere_is_a_regression_without_an_interval():
    comparison = compared(cases(*[5] * 20), cases(*[4] * 20))
    check_fields(comparison.mean_change, value=-1.0, low=None)
    assert "same value" in comparison.mean_change.reason
    assert comparison.average_fell


def test_a_change_within_its_interval_is_no_regression():
    comparison = compared(cases(*[4] * 30), cases(3, 3, 5, *[4] * 27), threshold=1.0)
    change = comparison.mean_change
    assert change.value < 0 < change.high
    assert "paired" in change.method
    assert gated(30, 0, 4.0, comparison).code == 0


def falling(passes_lost, passes_won=0, n=100):
    """As many cases change sides at the threshold; the average stays where it is."""
    rest = [4.0] * (n - passes_lost - passes_won)
    before = [4.0] * passes_lost + [3.0] * passes_won + rest + [1.0] * n
    after = [3.0] * passes_lost + [4.0] * passes_won + rest + [1.0 + passes_lost / n] * n
    return compared(cases(*before), cases(*after))


def test_a_pass_rate_that_fell_far_and_not_by_chance_is_a_regression():
    comparison = falling(12)
    assert not comparison.average_fell
    check_fields(comparison, only_before=12, only_after=0)
    assert comparison.pass_rate_change.value == -0.06
    assert comparison.p == pytest.approx(2 * 0.5**12)
    assert gated(200, 0, 4.0, comparison).code == 1
    # It fell by no more than is allowed.
    assert gated(200, 0, 4.0, comparison, max_drop=0.06).code == 0


def test_the_change_of_the_pass_rate_has_the_interval_of_resampled_cases():
    change = falling(40, passes_won=20).pass_rate_change
    check_fields(change, value=-0.1, n=200)
    assert -0.2 < change.low < -0.1 < change.high < 0
    assert change.method.startswith("paired; ")


def test_a_pass_rate_that_may_have_fallen_by_chance_is_no_regression():
    comparison = compared(cases(*[4.0] * 20), cases(*[3.4] * 5, *[4.2] * 15))
    assert (comparison.pass_rate_change.value, round(comparison.p, 4)) == (-0.25, 0.0625)
    assert not comparison.pass_rate_fell(0.05)


def test_without_discordant_cases_p_is_one():
    assert falling(0).p == 1.0


def test_scores_are_compared_on_the_dimensions_scored_in_both():
    before = [case(0, 3.0, accuracy=5, tone=1)]
    after = [case(0, 4.0, accuracy=4, tone=None)]
    comparison = compared(before, after)
    assert [(one.before, one.after) for one in comparison.cases] == [(5.0, 4.0)]
    check_fields(comparison, worse=1, better=0)
    nothing_shared = compared(
        [case(0, 4.0, accuracy=4, tone=None)], [case(0, 4.0, accuracy=None, tone=4)]
    )
    assert (nothing_shared.n, nothing_shared.mean_change.value) == (0, None)
    assert nothing_shared.pass_rate_change.value is None


def test_cases_without_a_score_in_one_of_the_runs_are_not_compared():
    comparison = compared(cases(4, None, 4), cases(None, 4, 5, 5))
    assert [one.key for one in comparison.cases] == ["2"]


def test_a_check_that_only_one_run_had_does_not_decide():
    comparison = compared([case(0, 5)], [case(0, 5, passed=False)])
    assert comparison.cases[0].passed_after
    comparison = compared([case(0, 5, passed=True)], [case(0, 5, passed=False)])
    check_fields(comparison, only_before=1, only_after=0)


LEVELS = st.one_of(st.none(), st.integers(1, 5))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(LEVELS, LEVELS), max_size=40))
def test_a_run_compared_with_itself_has_not_changed_and_the_two_ways_mirror(given_):
    one, other = (cases(*(pair[side] for pair in given_)) for side in (0, 1))
    same = compared(one, one)
    assert (same.mean_change.value or 0, same.worse, same.better, same.p) == (0, 0, 0, 1.0)
    there, back = compared(one, other), compared(other, one)
    check_fields(there, worse=back.better, better=back.worse, only_before=back.only_after)
    assert there.n == back.n == sum(None not in pair for pair in given_)

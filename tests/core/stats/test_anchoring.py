import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.arrays import grouping
from judgeboard.stats.proportions import anchoring


def responses(ids):
    return grouping(np.asarray(ids), len(ids), row="response", group="response")


def graded(seed, p, n=120, people=3):
    """Graders who each, with probability ``p``, take over what the judge said; on a response they are of one mind."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(n), people)
    judge = rng.random(n).round(2)[ids]
    blind = np.clip(judge + rng.normal(0, 0.25, n)[ids] + rng.normal(0, 0.1, n * people), 0, 1).round(2)
    moves = rng.random(n * people) < p
    return judge, blind, np.where(moves, judge, blind), ids


@given(st.integers(0, 1000), st.sampled_from([0.2, 0.5, 0.8]))
@settings(max_examples=20, deadline=None)
def test_it_is_the_slope_of_a_line_through_the_origin(seed, p):
    from statsmodels.api import OLS

    judge, blind, revealed, ids = graded(seed, p)
    got = anchoring(judge, blind, revealed, responses(ids))
    assert got.value == pytest.approx(OLS(revealed - blind, judge - blind).fit().params[0], abs=1e-9)


@pytest.mark.parametrize(("p", "n"), [(0.1, 40), (0.4, 120), (0.8, 40)])
def test_its_interval_holds_the_truth_in_nine_of_ten_seeds(p, n):
    found = []
    for seed in range(400):
        judge, blind, revealed, ids = graded(seed, p, n=n)
        found.append(anchoring(judge, blind, revealed, responses(ids)))
    assert sum(each.low <= p <= each.high for each in found) >= 360


def test_people_on_one_response_do_not_count_as_independent():
    judge, blind, revealed, ids = graded(1, 0.5, n=40)
    once = anchoring(judge, blind, revealed, responses(ids))
    again = anchoring(*(np.tile(each, 4) for each in (judge, blind, revealed)), responses(np.tile(ids, 4)))
    assert again.high - again.low == pytest.approx(once.high - once.low, rel=1e-6)
    assert (again.value, again.unit) == (once.value, "response")
    assert again.method == "jackknife on the logit, half a response added either way"


def test_the_interval_is_that_of_resampling_responses(agrees_with_plain_bootstrap):
    judge, blind, revealed, ids = graded(3, 0.3, n=150)
    got = anchoring(judge, blind, revealed, responses(ids))

    def plain(judge, blind, revealed):
        return anchoring(judge, blind, revealed, responses(np.arange(len(judge)))).value

    agrees_with_plain_bootstrap(got, plain, (judge, blind, revealed), ids, resamples=400, extra=0.02)


def test_where_nobody_differed_it_is_undefined():
    same = np.array([0.5, 0.1 + 0.2])
    got = anchoring(same, np.array([0.5, 0.3]), np.array([0.9, 0.3]), responses([1, 2]))
    assert (got.value, got.n, got.reason) == (None, 0, "nobody differed from the judge")
    nothing = anchoring(np.empty(0), np.empty(0), np.empty(0), responses(np.empty(0)))
    assert nothing.reason == "no grades before and after"


def test_rows_that_agreed_before_are_left_out_of_n():
    got = anchoring(
        np.array([1.0, 1.0, 0.5]), np.array([0.0, 0.5, 0.5]), np.array([1.0, 0.5, 0.5]), responses([1, 2, 3])
    )
    assert (got.value, got.n) == (0.8, 2)
    assert got.left_out == (("agreed with the judge before seeing it", 1),)


@pytest.mark.parametrize(("taken", "value"), [(0, 0.0), (1, 1.0)])
def test_all_or_nobody_moving_is_no_certainty(taken, value):
    judge, blind, _, ids = graded(1, 0.5, n=20)
    got = anchoring(judge, blind, judge if taken else blind, responses(ids))
    assert got.value == value
    assert (got.low, got.high)[taken] == value
    assert 0.1 < got.high - got.low < 0.6


def test_people_who_move_away_from_the_judge_or_beyond_it_are_outside_of_zero_to_one():
    judge, blind, _, ids = graded(2, 0.5, n=60)
    noise = np.random.default_rng(0).normal(0, 0.02, len(judge))
    for share in (-0.4, 1.3):
        got = anchoring(judge, blind, blind + share * (judge - blind) + noise, responses(ids))
        assert got.low < share < got.high
        assert got.high - got.low < 0.2


def test_one_response_has_no_interval():
    one = anchoring(np.ones(2), np.zeros(2), np.array([0.0, 1.0]), responses([5, 5]))
    assert (one.value, one.low, one.reason) == (0.5, None, "no interval: one response only")

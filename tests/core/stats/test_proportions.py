import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimates import almost, ends, left_out, value_and_ends, why_no_interval, why_undefined, width
from judgeboard.stats.arrays import grouping
from judgeboard.stats.intervals import share_intervals, wilson
from judgeboard.stats.proportions import anchoring, half_credit, share


@given(st.integers(1, 100_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@settings(max_examples=80)
def test_wilson_equals_scipy(counts):
    from scipy.stats import binomtest

    hits, n = counts
    expected = binomtest(hits, n).proportion_ci(method="wilson")
    (got,) = share_intervals([hits], [n])
    assert got.value == pytest.approx(hits / n, abs=1e-12)
    assert ends(got) == almost(ends(expected))


def test_points_without_answers_are_undefined_and_impossible_counts_refused():
    nothing, all_of_them = share_intervals([0, 4], [0, 4])
    assert why_undefined(nothing) == "no answers"
    assert (all_of_them.value, all_of_them.high, all_of_them.n) == (1, 1, 4)
    with pytest.raises(ValueError, match="hits"):
        share_intervals([5], [4])


def test_a_share_of_independent_rows_is_wilsons():
    got = share([True] * 30 + [False] * 10, np.arange(40))
    assert ends(got) == pytest.approx(np.array(wilson(0.75, 40)))
    assert (got.method, got.unit, got.n) == ("Wilson", "response", 40)


def test_a_share_of_clustered_rows_resamples_groups(agrees_with_plain_bootstrap, rng):
    ids = np.repeat(np.arange(60), 5)
    hits = rng.random(300) < rng.random(60)[ids]
    got = share(hits, ids)
    assert (got.value, got.unit) == (pytest.approx(hits.mean(), abs=1e-12), "evidence group")
    agrees_with_plain_bootstrap(got, np.mean, (hits,), ids)


def test_clustered_rows_that_all_hit_count_as_groups():
    got = share(np.ones(40, dtype=bool), np.repeat(np.arange(8), 5))
    assert (got.value, got.high) == (1, 1)
    assert got.low == pytest.approx(float(wilson(1.0, 8)[0]))


def test_no_rows_have_no_share():
    got = share([])
    assert (why_undefined(got), got.n) == ("no answers", 0)


def test_fourteen_examples_do_not_show_that_a_judge_is_right_in_nine_of_ten():
    assert [round(float(end), 3) for end in wilson(13 / 14, 14)] == [0.685, 0.987]


def test_without_halves_it_is_the_share_with_wilsons_interval():
    hits = np.array([1.0, 0, 1, 1])
    found = half_credit(hits)
    assert (value_and_ends(found), found.method) == (value_and_ends(share(hits)), "Wilson")


def test_halves_count_half_and_the_method_says_so():
    credit = half_credit(np.array([1.0, 0.5, 0.0, 0.5]))
    assert (credit.value, credit.n, credit.unit) == (0.5, 4, "pair")
    assert credit.method == "Wilson, ties half"


def test_nothing_is_undefined_and_other_scores_are_refused():
    assert half_credit(np.array([]), undefined="nobody was asked").reason == "nobody was asked"
    for score, reason in ((0.25, r"0\.5"), (np.nan, "missing or infinite")):
        with pytest.raises(ValueError, match=reason):
            half_credit(np.array([score]))


@settings(max_examples=50)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=50))
def test_the_interval_holds_the_mean_and_stays_on_the_scale(scores):
    credit = half_credit(np.array(scores))
    assert 0 <= credit.low <= credit.value + 1e-12
    assert credit.value - 1e-12 <= credit.high <= 1
    assert credit.low < credit.high


def moved(judge, blind, revealed, ids=None):
    """How far people moved towards the judge; each grade is on a response of its own, unless ``ids`` are given."""
    judge, blind, revealed = (np.asarray(each, dtype=float) for each in (judge, blind, revealed))
    ids = np.arange(len(judge)) if ids is None else np.asarray(ids)
    groups = grouping(ids, len(judge), row="response", group="response")
    return anchoring(judge, blind, revealed, groups)


def graded(seed, p, n=120, people=3):
    """Graders who each, with probability ``p``, take over what the judge said; on a response they are of one mind."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(n), people)
    judge = rng.random(n).round(2)[ids]
    noise = rng.normal(0, 0.25, n)[ids] + rng.normal(0, 0.1, n * people)
    blind = np.clip(judge + noise, 0, 1).round(2)
    moves = rng.random(n * people) < p
    return judge, blind, np.where(moves, judge, blind), ids


@given(st.integers(0, 1000), st.sampled_from([0.2, 0.5, 0.8]))
@settings(max_examples=20)
def test_it_is_the_slope_of_a_line_through_the_origin(seed, p):
    from statsmodels.api import OLS

    judge, blind, revealed, ids = graded(seed, p)
    slope = OLS(revealed - blind, judge - blind).fit().params[0]
    assert moved(judge, blind, revealed, ids).value == almost(slope)


@pytest.mark.parametrize(("p", "n"), [(0.1, 40), (0.4, 120), (0.8, 40)])
def test_its_interval_holds_the_truth_in_nine_of_ten_seeds(p, n):
    found = (moved(*graded(seed, p, n=n)) for seed in range(400))
    assert sum(each.low <= p <= each.high for each in found) >= 360


def test_the_interval_is_that_of_resampling_responses(agrees_with_plain_bootstrap):
    *grades, ids = graded(3, 0.3, n=150)

    def plain(*grades):
        return moved(*grades).value

    agrees_with_plain_bootstrap(moved(*grades, ids), plain, grades, ids, resamples=400, extra=0.02)


def test_where_nobody_differed_it_is_undefined():
    got = moved([0.5, 0.1 + 0.2], [0.5, 0.3], [0.9, 0.3])
    assert got.n == 0
    assert "differed" in why_undefined(got)
    assert why_undefined(moved([], [], [])) != got.reason


def test_rows_that_agreed_before_are_left_out_of_n():
    got = moved([1, 1, 0.5], [0, 0.5, 0.5], [1, 0.5, 0.5])
    assert (got.value, got.n, left_out(got)) == (0.8, 2, [1])


@pytest.mark.parametrize(("taken", "value"), [(0, 0.0), (1, 1.0)])
def test_all_or_nobody_moving_is_no_certainty(taken, value):
    judge, blind, _, ids = graded(1, 0.5, n=20)
    got = moved(judge, blind, judge if taken else blind, ids)
    assert got.value == ends(got)[taken] == value
    assert 0.1 < width(got) < 0.6


def test_people_who_move_away_from_the_judge_or_beyond_it_are_outside_of_zero_to_one():
    judge, blind, _, ids = graded(2, 0.5, n=60)
    noise = np.random.default_rng(0).normal(0, 0.02, len(judge))
    for expected in (-0.4, 1.3):
        got = moved(judge, blind, blind + expected * (judge - blind) + noise, ids)
        assert got.low < expected < got.high
        assert width(got) < 0.2


def test_one_response_has_no_interval():
    one = moved([1, 1], [0, 0], [0, 1], [5, 5])
    assert one.value == 0.5
    assert "one response" in why_no_interval(one)

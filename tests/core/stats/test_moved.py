import numpy as np
import pytest

from judgeboard.stats.means import moved, share_moved


def columns(periods):
    return [[function(values) for values in periods] for function in (len, sum, lambda v: sum(x * x for x in v))]


def weeks(means, n=25, seed=0):
    rng = np.random.default_rng(seed)
    return [list(np.clip(rng.normal(mean, 0.15, n), 0, 1)) for mean in means]


def test_a_drop_is_found_in_its_week_with_both_intervals():
    periods = weeks([0.75] * 8 + [0.55] * 4)
    got = moved(*columns(periods), bounds=(0, 1))
    assert got.period == 8
    assert got.after.value < got.before.value
    assert got.before.n == 200
    assert got.after.n == 100
    assert got.before.value == pytest.approx(np.mean(periods[:8]))
    assert got.after.high < got.before.low


def test_a_rise_is_one_too():
    got = moved(*columns(weeks([0.5] * 5 + [0.8] * 5)))
    assert got.period == 5
    assert got.after.value > got.before.value


def test_steady_weeks_did_not_move():
    moves = [moved(*columns(weeks([0.7] * 12, seed=seed))) for seed in range(200)]
    assert sum(move is not None for move in moves) <= 10


def test_empty_weeks_are_never_the_week_of_the_move():
    periods = weeks([0.8] * 6 + [0.5] * 6)
    periods[6] = []
    assert moved(*columns(periods)).period == 7


def test_a_side_of_few_answers_is_not_believed():
    periods = [[0.9, 0.8] * 20, [0.1, 0.2, 0.1]]
    assert moved(*columns(periods)) is None
    assert moved([], [], []) is None
    assert moved([40], [20], [11]) is None


def test_nine_answers_are_a_few_and_ten_are_not():
    before, after = [0.9, 0.8] * 20, [0.1, 0.2, 0.1]
    assert moved(*columns([before, after * 3])) is None
    assert moved(*columns([after * 3, before])) is None
    assert moved(*columns([before, [*after * 3, 0.1]])).period == 1


def test_intervals_that_overlap_are_no_move_even_where_the_difference_is_significant():
    before, after = [0.4, 0.6] * 30, [0.445, 0.645] * 30
    first, second = (np.array(values) for values in (before, after))
    from scipy.stats import ttest_ind

    assert ttest_ind(first, second, equal_var=False).pvalue < 0.02
    assert moved(*columns([before, after])) is None


def test_equal_values_on_both_sides_moved_without_intervals():
    got = moved(*columns([[1.0] * 20, [0.0] * 20]))
    assert (got.period, got.before.value, got.after.value, got.before.low) == (1, 1, 0, None)


def test_a_share_moves_by_wilsons_intervals():
    hits, n = [4, 5, 3, 20, 22, 18], [40] * 6
    got = share_moved(hits, n)
    assert got.period == 3
    assert got.after.value > got.before.value
    assert got.before.value == 12 / 120
    assert got.before.high < got.after.low
    assert got.after.method == "Wilson"
    assert share_moved([4, 5, 3, 5, 4, 4], n) is None
    assert share_moved([0] * 6, n) is None
    assert share_moved([0, 0, 0, 12, 12, 12], [12] * 6).period == 3

"""The detectors of changes: the worked numbers on recorded data, and what the detectors promise."""

import json
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimates import ends, value_and_ends, width
from judgeboard.stats.arrays import grouping
from judgeboard.stats.monitor import (
    Window,
    detect,
    difference_effect,
    found_changes,
    likeliest_start,
    mean_errors,
    rate_error,
    smallest_change,
)
from judgeboard.stats.rates import Stratum, rate

CASES = ("nothing_changed", "judge_swapped_in_week_4", "app_changed_in_week_4")
LIMIT = 104.0


@pytest.fixture(scope="module")
def expected(shared):
    return json.loads((shared / "reading" / "validity-expected.json").read_text())["e2_trend"]


def weeks(case):
    """Windows with the strata "judged good" and "judged bad"."""
    windows = []
    for row in case["rows"]:
        sizes = row["N"] - row["judged_bad"], row["judged_bad"]
        windows.append(Window(tuple(map(Stratum, sizes, row["n"], row["k"]))))
    return windows


def rates(of):
    return [(each.rate.value, rate_error(each.strata)) for each in of]


@pytest.mark.shared
@pytest.mark.parametrize("name", CASES)
def test_each_week_has_the_published_share_interval_and_error(expected, name):
    for each, row in zip(weeks(expected[name]), expected[name]["rows"], strict=True):
        got = (*value_and_ends(each.rate), rate_error(each.strata))
        assert got == pytest.approx((row["value"], row["low"], row["high"], row["se"]), abs=1e-6)


@pytest.mark.shared
@pytest.mark.parametrize("name", CASES)
def test_the_detector_has_the_published_distances_and_evidence(expected, name):
    case = expected[name]
    states = detect(rates(weeks(case)), "rose")
    assert [state.evidence for state in states] == pytest.approx(case["M"], abs=1e-3, rel=1e-3)
    assert states[0].z is None
    assert [state.z for state in states[1:]] == pytest.approx(case["z"][1:], abs=1e-4)
    alarmed = [(week, each.since) for week, each in enumerate(states) if each.evidence >= LIMIT]
    # The evidence was last at most 1 after the second week.
    assert alarmed == ([(7, 2)] if name == "app_changed_in_week_4" else [])


def test_a_week_whose_labels_or_values_are_all_equal_is_not_certain():
    for labelled, bad in ((5, 0), (5, 5), (100, 0)):
        assert rate_error([Stratum(100, labelled, bad)]) > 0
    assert (mean_errors([10, 20], [5.0, 10.0], [2.5, 5.0], (0, 1)) > 0).all()


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0.001, 1)), max_size=20),
    st.sampled_from([("rose", "fell"), ("fell", "rose")]),
)
def test_a_rise_is_a_fall_of_the_mirrored_rates(values, directions):
    one, other = directions
    mirrored = [(1 - value, error) for value, error in values]
    states = detect(values, one), detect(mirrored, other)
    first, second = ([math.log(state.evidence) for state in each] for each in states)
    assert first == pytest.approx(second, abs=1e-6)
    assert all(state.since <= place for place, state in enumerate(states[0]))


def test_a_change_is_dated_to_the_period_that_separates_the_rates_most():
    values = [0.2, 0.2, 0.2, 0.2, 0.3, 0.2, 0.5, 0.5, 0.5]
    rates = [(value, 0.08) for value in values]
    (change,) = found_changes({"rose": detect(rates, "rose")}, LIMIT)
    # Evidence began to grow by chance two periods before.
    assert change.start == 4
    assert likeliest_start(rates, change) == 6


def test_an_enormous_change_is_a_number():
    states = detect([(0.0, 1e-9), *[(1.0, 1e-9)] * 3], "rose")
    assert math.isfinite(states[-1].evidence)
    assert states[-1].since == 0


@pytest.mark.parametrize("n", [6, 12, 30])
def test_a_change_that_would_have_been_found_is_found_in_most_cases(n):
    rng = np.random.default_rng(n)
    found = 0
    for _ in range(400):
        values = rng.normal(0.3, 0.05, n)
        values[(n + 1) // 2 :] += smallest_change([0.05] * n, LIMIT)
        states = detect([(value, 0.05) for value in values], "rose")
        found += any(state.evidence >= LIMIT for state in states)
    assert found / 400 > 0.75


def test_the_smallest_change_shrinks_with_the_errors_and_needs_two_periods():
    assert smallest_change([], LIMIT) is smallest_change([0.1], LIMIT) is None
    wide, narrow = smallest_change([0.1] * 8, LIMIT), smallest_change([0.05] * 8, LIMIT)
    assert wide == pytest.approx(2 * narrow)
    assert smallest_change([0.1] * 8, LIMIT, largest=0.5) == wide
    # No possible change would be found.
    assert smallest_change([0.1] * 8, LIMIT, largest=0.2) is None


@pytest.mark.parametrize(("labels", "alarms"), [(10, 0.078), (20, 0.110), (40, 0.168)])
def test_boards_of_two_years_have_as_many_false_alarms_as_published(labels, alarms):
    rng = np.random.default_rng(labels)
    boards = (rates(_simulated(rng, labels, [0.367] * 104)) for _ in range(200))
    false = np.mean([_alarm(board, "rose", "fell") is not None for board in boards])
    assert false == pytest.approx(alarms, abs=3 * math.sqrt(alarms * (1 - alarms) / 200))


@pytest.mark.parametrize(
    ("labels", "share", "found", "median"),
    [(20, 0.494, 0.75, 8), (40, 0.494, 0.98, 5), (20, 0.557, 0.98, 5), (40, 0.557, 1.0, 3)],
)
def test_a_rise_after_twelve_weeks_is_found_as_soon_as_published(labels, share, found, median):
    rng = np.random.default_rng(labels)
    delays = []
    for _ in range(150):
        alarm = _alarm(rates(_simulated(rng, labels, [0.367] * 12 + [share] * 30)), "rose")
        delays.append(math.inf if alarm is None or alarm < 12 else alarm - 11)
    assert np.mean([delay <= 12 for delay in delays]) == pytest.approx(found, abs=0.1)
    assert np.median(delays) == pytest.approx(median, abs=1)


@pytest.mark.parametrize(
    ("labels", "wide", "held"), [(20, 0.34, 0.969), (40, 0.24, 0.953), (80, 0.18, 0.962)]
)
def test_a_week_has_an_interval_of_the_published_width(labels, wide, held):
    simulated = _simulated(np.random.default_rng(labels), labels, [0.367] * 400)
    low, high = np.array([ends(week.rate) for week in simulated]).T
    assert np.mean(high - low) == pytest.approx(wide, abs=0.01)
    assert np.mean((low <= 0.367) & (high >= 0.367)) == pytest.approx(held, abs=0.03)


def _simulated(rng, labels, shares):
    """Weeks of 300 answers, of which some are labelled; the judge has recall 0.73 and specificity 0.9."""
    bad, drawn, judged = np.array(shares), labels / 300, (1 - 0.8954, 0.7282)
    kinds = [
        (bad if is_bad else 1 - bad)
        * (drawn if is_drawn else 1 - drawn)
        * (judged[is_bad] if is_judged else 1 - judged[is_bad])
        for is_judged, is_drawn, is_bad in product((0, 1), repeat=3)
    ]
    weeks = []
    for week in rng.multinomial(300, np.transpose(kinds)).reshape(-1, 2, 2, 2).tolist():
        strata = tuple(
            Stratum(sum(map(sum, of)), sum(of_drawn), of_drawn[1])
            for of in week
            for of_drawn in of[1:]
        )
        if all(stratum.labelled for stratum in strata):
            weeks.append(Window(strata))
    return weeks


def _seems_to_change(values, effect=1.0):
    """Whether the means of weeks raise an alarm; ``values`` has a row for each week."""
    n, sums, squares = [len(values[0])] * len(values), values.sum(axis=1), np.square(values)
    errors = mean_errors(n, sums, squares.sum(axis=1), (0, 1), effect)
    rates = zip(values.mean(axis=1).tolist(), errors.tolist(), strict=True)
    return _alarm(list(rates), "rose", "fell") is not None


def _alarm(series, *directions):
    found = found_changes({direction: detect(series, direction) for direction in directions}, LIMIT)
    return min((each.seen for each in found), default=None)


@pytest.mark.parametrize("recurring", [False, True])
@pytest.mark.parametrize(("change", "least", "most"), [(0.0, 0.0, 0.05), (-0.1, 0.9, 1.0)])
def test_means_of_answers_in_groups_seem_to_change_only_if_they_do(
    recurring, change, least, most, rng
):
    """Twelve weeks of 102 answers, six on each evidence; the evidence is new in each week, or recurs in all."""
    weeks, groups = np.repeat(np.arange(12), 102), np.arange(1224) // 6
    known = grouping(groups % 17 if recurring else groups, 1224)
    alarms = 0
    for _ in range(200):
        of_groups = rng.normal(0.7, 0.05, (1 if recurring else 12, 17, 1))
        levels = of_groups + rng.normal(0, 0.05, (12, 17, 6))
        values = np.clip(levels, 0, 1).reshape(12, -1)
        values[6:] += change
        apart = (values - values.mean(axis=1, keepdims=True)).ravel() / 102
        effect = difference_effect(apart, weeks, known, np.full(12, 102.0))
        alarms += _seems_to_change(values, effect)
    assert least <= alarms / 200 <= most


@pytest.mark.parametrize("answers", [1, 2])
def test_means_of_one_or_two_answers_a_week_seem_to_change_only_if_they_do(answers, rng):
    alarms = [_seems_to_change(rng.beta(2, 1, (26, answers))) for _ in range(400)]
    assert np.mean(alarms) <= 0.05


def test_the_variance_of_a_change_counts_groups_within_a_period_and_those_that_both_share(rng):
    of_groups = np.repeat(rng.normal(0, 1, 40), 5) + rng.normal(0, 0.1, 200)
    two, same = np.repeat([0, 1], 200), np.tile(np.arange(200) // 5, 2)
    influences = np.concatenate([of_groups, of_groups + rng.normal(0, 0.1, 200)])
    alone, within, shared = (
        difference_effect(influences, two, grouping(groups, 400), np.ones(2))
        for groups in (np.arange(400), same + 40 * two, same)
    )
    assert alone == pytest.approx(1)
    assert within == pytest.approx(5, rel=0.05)
    # What recurs cancels out.
    assert shared == 1


def test_the_judges_error_is_its_share_minus_the_corrected_share():
    strata = [Stratum(60, 20, 5), Stratum(40, 20, 15)]
    error = rate(strata, judged_bad=[0.0, 1.0])
    share = Window(tuple(strata)).rate
    assert error.value == pytest.approx(0.4 - share.value)
    # The verdicts explain a part.
    assert width(error) < width(share)
    assert rate([Stratum(10, 0, 0)], judged_bad=[0.0]).value is None

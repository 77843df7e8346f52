"""Changes between windows and the detectors: the worked numbers on recorded data, and what the detectors promise."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeboard.stats.monitor import Window, detect, rate_error, smallest_change, window_change
from judgeboard.stats.rates import Stratum

CASES = ("nothing_changed", "judge_swapped_in_week_4", "app_changed_in_week_4")
LIMIT = 104.0


@pytest.fixture(scope="module")
def expected(shared: Path) -> dict[str, Any]:
    return json.loads((shared / "reading" / "validity-expected.json").read_text())["e2_trend"]


def window(answers: int, judged_bad: int, labelled: list[int], bad: list[int], design_effect: float = 1.0) -> Window:
    """A window with the strata "judged good" and "judged bad"."""
    sizes = answers - judged_bad, judged_bad
    return Window(tuple(map(Stratum, sizes, labelled, bad)), design_effect)


def weeks(case: dict[str, Any]) -> list[Window]:
    return [window(row["N"], row["judged_bad"], row["n"], row["k"]) for row in case["rows"]]


def rates(of: list[Window]) -> list[tuple[float, float]]:
    return [(each.rate.value or 0.0, each.error) for each in of]


@pytest.mark.shared
@pytest.mark.parametrize("name", CASES)
def test_each_week_has_the_published_share_interval_and_error(expected: dict[str, Any], name: str) -> None:
    for each, row in zip(weeks(expected[name]), expected[name]["rows"], strict=True):
        share = each.rate
        assert (share.value, share.low, share.high) == pytest.approx((row["value"], row["low"], row["high"]), abs=1e-6)
        assert each.error == pytest.approx(row["se"], abs=1e-6)


@pytest.mark.shared
@pytest.mark.parametrize("name", CASES)
def test_the_detector_has_the_published_distances_and_evidence(expected: dict[str, Any], name: str) -> None:
    case = expected[name]
    states = detect(rates(weeks(case)), "rose")
    assert [state.evidence for state in states] == pytest.approx(case["M"], abs=1e-3, rel=1e-3)
    assert states[0].z is None
    assert [state.z for state in states[1:]] == pytest.approx(case["z"][1:], abs=1e-4)
    alarmed = [week for week, state in enumerate(states) if state.evidence >= LIMIT]
    assert alarmed == ([7] if name == "app_changed_in_week_4" else [])
    if alarmed:
        assert states[7].since + 1 == 3, "the week after the evidence was last at most 1"


@pytest.mark.shared
@pytest.mark.parametrize("name", CASES)
def test_two_windows_have_the_published_change(expected: dict[str, Any], name: str) -> None:
    case = expected[name]
    before, after = (
        (counts[0], counts[1], counts[3], counts[2]) for counts in (case["before"]["counts"], case["after"]["counts"])
    )
    got, wanted = window_change(window(*before), window(*after)), case["corrected_change"]
    change = got.change
    assert (change.value, change.low, change.high) == pytest.approx(
        (wanted["value"], wanted["low"], wanted["high"]), abs=1e-6
    )
    assert got.p == pytest.approx(wanted["p"], abs=1e-6)


def test_windows_without_a_label_in_a_stratum_have_no_change_but_a_reason() -> None:
    whole = window(100, 30, [10, 5], [1, 4])
    got = window_change(whole, window(100, 30, [10, 0], [1, 0]))
    assert got.change.value is None
    assert got.change.reason
    assert (got.p, got.seen) == (None, None)
    assert window_change(Window(()), whole).change.value is None


def test_a_week_whose_labels_are_all_equal_is_not_certain() -> None:
    assert rate_error([Stratum(100, 5, 0)]) > 0
    assert rate_error([Stratum(100, 5, 5)]) > 0
    assert rate_error([Stratum(100, 100, 0)]) > 0


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0.001, 1)), max_size=20),
    st.sampled_from([("rose", "fell"), ("fell", "rose")]),
)
def test_a_rise_is_a_fall_of_the_mirrored_rates(values: list[tuple[float, float]], directions: Any) -> None:
    one, other = directions
    mirrored = [(1 - value, error) for value, error in values]
    first, second = detect(values, one), detect(mirrored, other)
    assert [math.log(state.evidence) for state in first] == pytest.approx(
        [math.log(state.evidence) for state in second], abs=1e-6
    )
    assert all(state.evidence > 0 and state.since <= place for place, state in enumerate(first))


def test_an_enormous_change_is_a_number() -> None:
    states = detect([(0.0, 1e-9), *[(1.0, 1e-9)] * 3], "rose")
    assert math.isfinite(states[-1].evidence)
    assert states[-1].since == 0


def test_while_nothing_changes_few_boards_have_an_alarm_in_two_years() -> None:
    rng = np.random.default_rng(4)
    alarms = 0
    for _ in range(300):
        series = [(value, 0.1) for value in rng.normal(0.3, 0.1, 104)]
        alarms += any(state.evidence >= LIMIT for direction in ("rose", "fell") for state in detect(series, direction))
    assert alarms / 300 < 0.3


@pytest.mark.parametrize("n", [6, 12, 30])
def test_a_change_that_would_have_been_seen_is_found_in_most_cases(n: int) -> None:
    rng = np.random.default_rng(n)
    seen = smallest_change([0.05] * n, LIMIT)
    assert seen is not None
    middle, found = (n + 1) // 2, 0
    for _ in range(400):
        values = rng.normal(0.3, 0.05, n)
        values[middle:] += seen
        found += any(state.evidence >= LIMIT for state in detect([(value, 0.05) for value in values], "rose"))
    assert found / 400 > 0.75


def test_the_smallest_change_shrinks_with_the_errors_and_needs_two_periods() -> None:
    assert smallest_change([], LIMIT) is smallest_change([0.1], LIMIT) is None
    wide, narrow = smallest_change([0.1] * 8, LIMIT), smallest_change([0.05] * 8, LIMIT)
    assert wide == pytest.approx(2 * (narrow or 0))

"""Seconds per item leave out the time in which nobody was there, and keep that of long texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeboard.reviews.checks import LONGEST_LIMIT, SHORTEST_LIMIT, active_seconds, longest_pause


def test_a_coffee_costs_a_short_item_a_minute() -> None:
    assert active_seconds([12.0, 900.0, 3.0]) == 12 + 60 + 3


def test_reading_a_long_context_is_no_absence() -> None:
    limit = longest_pause(3_000)
    assert limit == 200
    assert active_seconds([150.0], limit) == 150


def test_a_pause_counts_a_minute_at_least_and_five_at_most() -> None:
    assert (longest_pause(0), longest_pause(10**7)) == (SHORTEST_LIMIT, LONGEST_LIMIT)


def test_nothing_is_no_time_and_time_does_not_run_back() -> None:
    assert active_seconds([]) == 0
    with pytest.raises(ValueError, match="from 0"):
        active_seconds([-1.0])


@given(st.lists(st.floats(0, 10_000), max_size=30), st.floats(0, 50_000))
def test_it_is_never_more_than_passed_nor_more_than_the_limit_a_pause(pauses: list[float], limit: float) -> None:
    counted = active_seconds(pauses, limit)
    assert 0 <= counted <= sum(pauses) + 1e-6
    assert counted <= limit * len(pauses) + 1e-6

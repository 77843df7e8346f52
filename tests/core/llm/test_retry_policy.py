"""Waits before a call is made again."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.llm.provider import RetryPolicy, asked_wait_s

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Fri, 20 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 20 Nov 2026 11:00:00 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "-1"}, None),
    ],
)
def test_what_the_endpoint_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_wait_s(headers, NOW) == seconds


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 1000), st.none() | st.floats(0, 1e6), st.floats(0, 1))
def test_no_wait_is_negative_or_longer_than_the_longest(failures: int, asked: float | None, chance: float) -> None:
    assert 0 <= RetryPolicy().wait_s(failures, asked, chance) <= RetryPolicy().longest_wait_s


def test_waits_grow_and_spread() -> None:
    policy = RetryPolicy(first_wait_s=1)
    assert [policy.wait_s(n, None, 1.0) for n in (1, 2, 3, 4)] == [1, 2, 4, 8]
    assert policy.wait_s(3, None, 0.0) == 2

"""Recorded ratings are found for an attempt by the id of its answer, whatever its prompt is called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeboard.methods.refine import attempt_id, attempt_replies


@given(st.text(), st.integers(0, 10**9), st.integers(1, 50))
def test_the_recorded_reply_of_a_prompt_is_that_of_the_attempt(prompt_id: str, run_id: int, number: int) -> None:
    replies = {prompt_id: [f"reply {place}" for place in range(1, 51)]}
    assert attempt_replies(replies, attempt_id(prompt_id, run_id, number)) == [f"reply {number}"]


def test_ids_that_are_stored_stay_what_they_are() -> None:
    assert attempt_id("a", 12, 3) == "a~refine-12-3"


def test_an_attempt_at_an_attempt_belongs_to_that_attempt() -> None:
    assert attempt_replies({"a~refine-1-2": ["1", "2", "3", "4"]}, "a~refine-1-2~refine-3-4") == ["4"]


@pytest.mark.parametrize("text", ["", "a", "a~refine-1", "a~refine-1-", "a~refine-1-2x", "a~reflect-1"])
def test_another_id_has_the_replies_recorded_for_it(text: str) -> None:
    assert attempt_replies({text: ["own"]}, text) == ["own"]
    assert attempt_replies({"a": ["one", "two"]}, f"{text}?") == ()

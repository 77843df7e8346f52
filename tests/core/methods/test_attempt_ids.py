"""The id of an attempt is read as it was made, whatever its prompt is called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeboard.methods.refine import AttemptId


@given(st.text(), st.integers(0, 10**9), st.integers(1, 10**4))
def test_an_id_is_read_as_it_was_made(prompt_id: str, run_id: int, number: int) -> None:
    attempt = AttemptId(prompt_id, run_id, number)
    assert AttemptId.read(str(attempt)) == attempt


def test_ids_that_are_stored_stay_what_they_are() -> None:
    assert str(AttemptId("a", 12, 3)) == "a~refine-12-3"


def test_an_attempt_at_an_attempt_belongs_to_that_attempt() -> None:
    assert AttemptId.read("a~refine-1-2~refine-3-4") == AttemptId("a~refine-1-2", 3, 4)


@pytest.mark.parametrize("text", ["", "a", "a~refine-1", "a~refine-1-", "a~refine-1-2x", "a~reflect-1"])
def test_another_id_names_no_attempt(text: str) -> None:
    assert AttemptId.read(text) is None

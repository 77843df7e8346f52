"""Recorded ratings are found by the attempt, else by its prompt."""

import pytest

from judgeboard.methods.refine import attempt_replies

REPLIES = {"a": ["first", "second"], "a~refine-7-1": ["its own", "repaired"], "line\nbreak": ["x"]}


@pytest.mark.parametrize(
    ("subject", "found"),
    [
        ("a~refine-1-1", ["first"]),
        ("a~refine-1-2", ["second"]),
        ("a~refine-1-3", []),
        ("a~refine-7-1", ["its own", "repaired"]),
        ("a~refine-7-2", ["second"]),
        ("a", ["first", "second"]),
        ("b~refine-1-1", []),
        ("b", []),
        ("line\nbreak~refine-1-1", ["x"]),
    ],
)
def test_a_line_of_a_prompt_is_for_an_attempt_and_an_attempt_may_have_its_own(subject: str, found: list[str]) -> None:
    assert list(attempt_replies(REPLIES, subject)) == found

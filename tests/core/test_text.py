"""Text that both engines can hold."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.domain import Feedback, FeedbackKind, Grade
from judgeboard.errors import BadInput
from judgeboard.reviews.queues import QueueRules
from judgeboard.text import storable, unstorable

ANY_TEXT = st.text(st.characters(exclude_categories=[]) | st.just("\x00"))


@settings(max_examples=60, deadline=None)
@given(ANY_TEXT)
def test_what_was_made_storable_is_storable_and_as_long(text: str) -> None:
    changed, replaced = storable(text)
    assert unstorable(changed) is None
    assert changed.encode().decode() == changed
    assert len(changed) == len(text)
    assert replaced == (unstorable(text) is not None)


@pytest.mark.parametrize(
    "make",
    [
        lambda number: Grade(groundedness=number),
        lambda number: Grade(quality=number),
        lambda number: Feedback(FeedbackKind.STARS, number),
        lambda number: QueueRules("q", sampling_rate=number),
    ],
)
def test_an_integer_that_no_float_can_hold_is_refused_like_any_other(make: Callable[[int], object]) -> None:
    with pytest.raises((ValueError, BadInput), match=r"1\.00e\+5000"):
        make(10**5000)


def test_the_character_is_named() -> None:
    assert unstorable("ab\x00") == "NUL at character 3"
    assert unstorable("\udc00") == "lone surrogate U+DC00 at character 1"
    assert unstorable("plain 🧗 text") is None

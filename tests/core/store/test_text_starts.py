"""A list shows the start of a text; one that is cut says so."""

import pytest

from judgeboard.domain import Response
from judgeboard.store.engine import Store
from judgeboard.store.responses import answer_starts
from judgeboard.store.storing import store_responses


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("a" * 300, "a" * 300),
        ("a" * 301, f"{'a' * 299}…"),
        (f"{'ä' * 297}  more words", f"{'ä' * 297}…"),
        ("short", "short"),
    ],
)
def test_a_cut_text_ends_with_an_ellipsis(store: Store, question: str, start: str) -> None:
    with store.writing() as connection:
        (stored,) = store_responses(connection, [Response("log", "a1", question, "an answer")]).new
    with store.reading() as connection:
        assert answer_starts(connection, [stored])[stored].question == start

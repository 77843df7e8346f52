"""A page that has nothing yet says first what it is for, then what fills it."""

import pytest

from app_pages import OpenPage, texts


@pytest.mark.parametrize(
    ("page", "purpose", "command"),
    [
        ("suites", "A suite asks your assistant the same questions", "judgeboard suite run suite.yaml"),
        ("pairs", "Pairs show which of two answers", "judgeboard compare --a SOURCE --b SOURCE --model NAME"),
        ("self_reference", "Self-reference shows whether a judge", "judgeboard ssr make-pairs --questions FILE"),
        ("audits", "In an audit, a stronger judge", "judgeboard audit --supreme-model MODEL"),
    ],
)
def test_an_empty_page_says_what_it_is_for_before_its_commands(
    open_page: OpenPage, page: str, purpose: str, command: str
) -> None:
    (said,) = texts(open_page(page), "jb-empty")
    assert said.startswith(purpose)
    assert said.index(".") < said.index(command)

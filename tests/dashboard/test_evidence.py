"""Untrusted text reaches the page escaped, by one way only."""

import html
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard_dashboard.evidence import Html, as_label, join, show, size, tag

SOURCES = sorted((Path(__file__).parents[2] / "dashboard" / "judgeboard_dashboard").rglob("*.py"))
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=1>', "&amp;", "'", "</div>", "\u202eabc", "\x00", "<!--"]


@given(st.text())
@settings(max_examples=100)
def test_a_text_comes_back_exactly_from_the_markup(text: str) -> None:
    markup = tag("div", text)
    assert html.unescape(markup.removeprefix("<div>").removesuffix("</div>")) == text
    assert "<" not in markup[5:-6]


@given(st.sampled_from(HOSTILE) | st.text())
@settings(max_examples=100)
def test_an_attribute_cannot_be_left(value: str) -> None:
    markup = tag("span", title=value)
    inside = re.fullmatch(r'<span title="([^"<>]*)"></span>', markup, flags=re.DOTALL)
    assert inside is not None
    assert html.unescape(inside[1]) == value


def test_built_markup_is_not_escaped_again() -> None:
    assert tag("div", tag("b", "<"), "<") == "<div><b>&lt;</b>&lt;</div>"


def test_what_joins_markup_to_text_by_hand_is_escaped() -> None:
    forged = tag("b", "x") + "<script>"
    assert not isinstance(forged, Html)
    assert "<script>" not in join([forged])


def test_a_plain_text_cannot_be_shown() -> None:
    with pytest.raises(TypeError):
        show("<b>hello</b>")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("length", "words"),
    [(0, "0 characters"), (1, "1 character"), (387, "387 characters"), (50_000, "50 kB"), (1_200_000, "1.2 MB")],
)
def test_sizes_are_said_as_people_say_them(length: int, words: str) -> None:
    assert size(length) == words


def test_a_label_keeps_no_markdown() -> None:
    assert as_label("a_b *c* :red[d]\n# e") == r"a\_b \*c\* \:red\[d\] \# e"


def test_only_two_files_send_html_and_none_sends_markdown() -> None:
    sending = {path.name for path in SOURCES if re.search(r"\bst\.html\(", path.read_text(encoding="utf-8"))}
    assert sending == {"evidence.py", "theme.py"}
    for path in SOURCES:
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"\bst\.(markdown|write|latex|json|toast)\(|unsafe_allow_html", source), path.name

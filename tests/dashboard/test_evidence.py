"""Untrusted text reaches the page escaped, by one way only."""

import html
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.string_util import clean_text

from app_pages import plain
from judgeboard.domain import Response
from judgeboard.store.items import Item
from judgeboard_dashboard.evidence import (
    MOST_WORDS,
    Html,
    as_label,
    beginning,
    both_sides,
    formatted,
    join,
    show,
    size,
    tag,
    word_difference,
)
from judgeboard_dashboard.review.texts import passage_list
from page_rows import HOSTILE, as_read

SOURCES = sorted((Path(__file__).parents[2] / "dashboard" / "judgeboard_dashboard").rglob("*.py"))
HOSTILE_VALUES = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=1>',
    "&amp;",
    "'",
    "</div>",
    "\u202eabc",
    "\x00",
    "<!--",
]


@given(st.text())
@settings(max_examples=100)
def test_a_text_comes_back_exactly_from_the_markup(text):
    markup = tag("div", text)
    assert html.unescape(markup.removeprefix("<div>").removesuffix("</div>")) == as_read(text)
    assert "<" not in markup[5:-6]


@given(
    st.lists(
        st.sampled_from(["a", " ", "\t", "\n", "\r", "  \n", "&#10;", "<b>", *HOSTILE_VALUES])
    ).map("".join)
)
@settings(max_examples=200)
def test_a_text_comes_back_exactly_from_what_streamlit_sends(text):
    sent = clean_text(tag("div", text))  # it dedents and strips
    assert html.unescape(sent.removeprefix("<div>").removesuffix("</div>")) == as_read(text)


@given(st.sampled_from(HOSTILE_VALUES) | st.text())
@settings(max_examples=100)
def test_an_attribute_cannot_be_left(value):
    markup = tag("span", title=value)
    inside = re.fullmatch(r'<span title="([^"<>]*)"></span>', markup, flags=re.DOTALL)
    assert html.unescape(inside[1]) == as_read(value)


def test_built_markup_is_not_escaped_again():
    assert tag("div", tag("b", "<"), "<") == "<div><b>&lt;</b>&lt;</div>"


def test_what_joins_markup_to_text_by_hand_is_escaped():
    forged = tag("b", "x") + "<script>"
    assert not isinstance(forged, Html)
    assert "<script>" not in join([forged])


def test_a_plain_text_cannot_be_shown():
    with pytest.raises(TypeError):
        show("<b>hello</b>")


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (0, "0 characters"),
        (1, "1 character"),
        (387, "387 characters"),
        (50_000, "50 kB"),
        (1_200_000, "1.2 MB"),
    ],
)
def test_sizes_are_said_as_people_say_them(length, words):
    assert size(length) == words


def test_a_label_keeps_no_markdown():
    marks = "_*:[]#"
    assert as_label("\n".join(marks)) == " ".join(f"\\{mark}" for mark in marks)


def test_only_two_files_send_html_and_none_sends_markdown():
    sending = {
        path.name
        for path in SOURCES
        if re.search(r"\bst\.html\(", path.read_text(encoding="utf-8"))
    }
    assert sending == {"evidence.py", "theme.py"}
    for path in SOURCES:
        source = path.read_text(encoding="utf-8")
        assert not re.search(
            r"\bst\.(markdown|write|latex|json|toast)\(|unsafe_allow_html", source
        ), path.name


TEXT = """# Ropes
A **thin** rope & `8.9 mm`:

1. first
2. second

| rope | mm |
|---|---|
| A | 9 |

```python
print("<b>")
```
"""
ALLOWED = r"</?(?:div|p|b|ul|ol|li|blockquote|table|thead|tbody|tr|th|td|em|strong|del|pre|code)>|<hr>|<br>"


def test_markup_becomes_elements():
    shown = formatted(TEXT)
    assert shown is not None
    for part in (
        "<b>Ropes</b>",
        "<p>A <strong>thin</strong> rope &amp; <code>8.9 mm</code>:</p>",
        "<ol><li>first</li><li>second</li></ol>",
        "<tr><th>rope</th><th>mm</th></tr>",
        "<pre>print(&quot;&lt;b&gt;&quot;)&#10;</pre>",
    ):
        assert part in shown


@pytest.mark.parametrize(
    "code",
    [
        "SELECT count(*) AS a, sum(count(*)) FROM t GROUP BY b",
        "The query is count(*) AS a, sum(count(*)).",
        "def f(*args, **kwargs):\n    return __name__ * 2 * 3",
        "a = b*c*d;",
        "for (i = 0; i < n; i++) { x *= y; }",
        "self.__init__() calls __new__",
        '{"grade": "6b", "bolts": [1, 2]}',
        "[1, 2]",
    ],
)
def test_code_is_never_formatted(code):
    assert formatted(code) is None
    assert formatted(f"# Title\n\n{code}") is None
    # A fence shows it as it is stored.
    assert formatted(f"# Title\n\n```\n{code}\n```") is not None
    assert code in plain(formatted(f"# Title\n\n```\n{code}\n```") or "")


def test_a_text_that_is_too_long_says_how_much_is_left():
    assert plain(beginning("abc", 3)) == "abc"
    cut = plain(beginning("abcdef", 4))
    assert cut.startswith("abcd2 ")
    assert "judgeboard export" in cut


@pytest.mark.parametrize(
    "text",
    [
        "Two sentences. Nothing else.",
        "One paragraph.\n\nAnother & more <here>.\n    indented",
        "{not json",
        "[x]: http://evil.example/",
        "a line\n---- is not" + "x" * 60_000,
    ],
)
def test_plain_text_stays_as_it_is(text):
    assert formatted(text) is None


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_make_no_other_element(name):
    for text in (
        HOSTILE[name],
        f"# x\n{HOSTILE[name]}\n- [a](javascript:alert(1)) <http://evil.example> ![i](http://e/i)",
    ):
        check(text)


@given(st.text(alphabet="#*_`|<>[]()!&-\n 1.ab~{}\":'/\\", max_size=200))
def test_no_text_makes_another_element(text):
    check(text)


def check(text):
    shown = formatted(text)
    if shown is None:
        return
    inside = shown.removeprefix('<div class="jb-formatted">')
    assert "<" not in re.sub(ALLOWED, "", inside)
    assert shown.count("<p>") == shown.count("</p>")


@given(st.text(max_size=80), st.text(max_size=80))
@settings(max_examples=60, deadline=None)
def test_the_difference_holds_both_texts_whole(old, new):
    pieces = word_difference(old, new)
    assert pieces is not None
    assert "".join(words for element, words in pieces if element != "ins") == old
    assert "".join(words for element, words in pieces if element != "del") == new


def test_of_two_columns_one_marks_what_went_and_the_other_what_came():
    old, new = both_sides("one two", "one three")
    assert [tag("del", "two") in each for each in (old, new)] == [True, False]
    assert [tag("ins", "three") in each for each in (old, new)] == [False, True]


def test_texts_of_any_length_are_not_compared():
    assert word_difference("a " * (MOST_WORDS + 1), "b") is None


def test_every_passage_has_a_link():
    response = Response("log", "a", "q", "a", ("one", "two"))
    item = Item(1, response, None, None, (), (), (), ())
    passages = passage_list(item, (), whole=True, view="whole")
    assert re.findall('href="#(p.)"', passages) == re.findall('id="(p.)"', passages) == ["p1", "p2"]

"""Markdown, tables, code and JSON are shown by a few elements without attributes; the rest stays text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app_pages import plain
from judgeboard_dashboard.formatted import formatted
from page_rows import HOSTILE

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


def test_markup_becomes_elements() -> None:
    shown = formatted(TEXT)
    assert shown is not None
    for part in (
        "<b>Ropes</b>",
        "<p>A <strong>thin</strong> rope &amp; <code>8.9 mm</code>:</p>",
        "<ol><li>first</li><li>second</li></ol>",
        "<tr><th>rope</th><th>mm</th></tr>",
        "<pre>print(&quot;&lt;b&gt;&quot;)\n</pre>",
    ):
        assert part in shown


def test_json_is_indented() -> None:
    shown = formatted('{"grade": "6b", "bolts": [1, 2]}')
    assert shown is not None
    assert plain(shown) == '{\n  "grade": "6b",\n  "bolts": [\n    1,\n    2\n  ]\n}'


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
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert formatted(text) is None


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_make_no_other_element(name: str) -> None:
    for text in (
        HOSTILE[name],
        f"# x\n{HOSTILE[name]}\n- [a](javascript:alert(1)) <http://evil.example> ![i](http://e/i)",
    ):
        check(text)


@given(st.text(alphabet="#*_`|<>[]()!&-\n 1.ab~{}\":'/\\", max_size=200))
def test_no_text_makes_another_element(text: str) -> None:
    check(text)


def check(text: str) -> None:
    shown = formatted(text)
    if shown is None:
        return
    inside = shown.removeprefix('<div class="jb-formatted">')
    assert "<" not in re.sub(ALLOWED, "", inside)
    assert shown.count("<p>") == shown.count("</p>")

"""Renders untrusted text. Only this module escapes text and sends it to the browser as HTML.

Texts from logs, models and people are untrusted. They reach a page only as children of `tag`, which escapes them.
`show` accepts only markup that `tag` built. Streamlit's markdown would render maths, links and remote images, so it
gets such texts only through `as_label`.
"""

import html
import re
from collections.abc import Iterable
from typing import Literal

import streamlit as st

# Elements without content; all others get a closing tag.
_VOID = frozenset({"br", "hr"})
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&@/])")


class Html(str):
    """Markup from `tag` or `join`, with all texts escaped."""

    __slots__ = ()


def tag(name: str, *children: str | None, **attributes: str | None) -> Html:
    """Return an element. Texts among the children are escaped; children and attributes that are None are skipped.

    ``name`` must be a constant in our code. The attribute ``cls`` becomes class, ``data_n`` becomes data-n.
    """
    opened = "".join(
        f' {"class" if key == "cls" else key.rstrip("_").replace("_", "-")}="{html.escape(value, quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{opened}>")
    return Html(f"<{name}{opened}>{join(children)}</{name}>")


def join(children: Iterable[str | None]) -> Html:
    """Return texts and elements as one piece of markup, with the texts escaped."""
    return Html("".join(child if isinstance(child, Html) else escaped(child) for child in children if child))


def escaped(text: str) -> Html:
    """Return a text as markup; the browser shows exactly the text."""
    return Html(html.escape(text, quote=True))


def show(markup: Html, *, width: Literal["stretch", "content"] = "stretch") -> None:
    """Show markup on the page; raises TypeError for a plain text, which must be wrapped in `tag`."""
    if not isinstance(markup, Html):
        raise TypeError("only markup built by evidence.tag may be shown")
    if markup:
        st.html(markup, width=width)


def as_label(text: str) -> str:
    """Return a text for labels that Streamlit renders as markdown (metric, chip, button), with markdown escaped.

    Choices of a selectbox or multiselect are plain text: do not use it there.
    """
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def size(characters: int) -> str:
    """Return a number of characters in words: "387 characters", "50 kB", "1.2 MB"."""
    if characters < 10_000:
        return "1 character" if characters == 1 else f"{characters:,} characters"
    if characters < 1_000_000:
        return f"{round(characters / 1000)} kB"
    return f"{characters / 1_000_000:.1f} MB"

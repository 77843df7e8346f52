"""Renders untrusted text: the one place that escapes, the one place that sends HTML to the browser.

Everything a log, a model or a person wrote is hostile. It reaches a page only as a child of `tag`, which escapes it,
and `show` accepts nothing but what `tag` built. Streamlit's own markdown is never given such text: it renders maths,
colours, links and remote images, and so changes the evidence.
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
    """Markup that `tag` or `join` built, every text in it escaped."""

    __slots__ = ()


def tag(name: str, *children: str | None, **attributes: str | None) -> Html:
    """Return an element; a child that is not `Html` is text and is escaped, None is left out.

    Args:
        name: The element's name, a constant of our code.
        children: Texts and elements, in order.
        attributes: ``cls`` stands for class, ``data_n`` for data-n; None leaves the attribute out.
    """
    opened = "".join(
        f' {_attribute_name(key)}="{html.escape(value, quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{opened}>")
    return Html(f"<{name}{opened}>{join(children)}</{name}>")


def join(children: Iterable[str | None]) -> Html:
    """Return texts and elements one after the other, texts escaped."""
    return Html("".join(child if isinstance(child, Html) else escaped(child) for child in children if child))


def escaped(text: str) -> Html:
    """Return a text that the browser shows exactly as it is."""
    return Html(html.escape(text, quote=True))


def show(markup: Html, *, width: Literal["stretch", "content"] = "stretch") -> None:
    """Send built markup to the page; nothing for nothing.

    Raises:
        TypeError: a plain text was given; wrap it in `tag`.
    """
    if not isinstance(markup, Html):
        raise TypeError("only markup built by evidence.tag may be shown")
    if markup:
        st.html(markup, width=width)


def as_label(text: str) -> str:
    """Return a text for a place that Streamlit renders as markdown (metric, chip, button), with its marks defused.

    The choices of a selectbox or a multiselect are plain text: there the defusing itself would be read.
    """
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def size(characters: int) -> str:
    """Return a length as people say it: "387 characters", "50 kB", "1.2 MB"."""
    if characters < 10_000:
        return "1 character" if characters == 1 else f"{characters:,} characters"
    if characters < 1_000_000:
        return f"{round(characters / 1000)} kB"
    return f"{characters / 1_000_000:.1f} MB"


def _attribute_name(key: str) -> str:
    return "class" if key == "cls" else key.rstrip("_").replace("_", "-")

"""Turns sentences of the core into what a page shows: its numbers bold, its commands as code, all else as text."""

import re

from judgeboard_dashboard.evidence import Html, join, show, tag

_COMMAND = re.compile(r"`([^`]+)`")
# Numbers outside brackets: an interval is read second. "1 in 4" is one thing, so is "79 %". A digit in a name, as in
# gpt-4 or llama-3.1-8b, is none.
_NUMBER = re.compile(
    r"(?<![\w.,\[])(?<![^\W\d][-/])(\d+ in \d+|\d(?:[\d,]*\d)?(?:\.\d+)?(?: %)?)"
    r"(?![\w.,]*\d)(?![-/]?[^\W\d])(?![^\[\]]*\])"
)


def sentence(text: str, *, lead: str = "") -> None:
    """Show the sentence over a page, ``lead`` in bold before it; where there is a lead, only it is bold."""
    body = [commands(text)] if lead else [bold_numbers(text)]
    show(tag("div", tag("b", lead) if lead else None, " " if lead else None, *body, cls="jb-say jb-wide"))


def heading(text: str) -> None:
    """Show the heading of a part of a page; any text, shown as it is."""
    show(tag("div", text, cls="jb-part"))


def caption(*texts: str | None) -> None:
    """Show the small line under a chart or table."""
    said = " ".join(text for text in texts if text)
    show(tag("div", commands(said), cls="jb-cap jb-under"))


def note(text: str, *, lead: str) -> None:
    """Show a thing to know beside the figures, with the amber bar."""
    show(tag("div", tag("b", lead), " ", commands(text), cls="jb-note"))


def instead(text: str) -> None:
    """Show a sentence in the place of a chart that cannot be drawn."""
    show(tag("div", tag("span", commands(text)), cls="jb-instead"))


def empty(*texts: str) -> None:
    """Show what a page says when it has nothing, one line each."""
    show(tag("div", *(tag("div", commands(text)) for text in texts), cls="jb-empty"))


def commands(text: str) -> Html:
    """Return a sentence of the core with its commands, in backquotes, as code; all else is text."""
    parts = _COMMAND.split(text)
    return join(tag("span", part, cls="jb-code") if place % 2 else part for place, part in enumerate(parts))


def bold_numbers(text: str) -> Html:
    """Return a sentence with its numbers bold; one that names a command has none."""
    if "`" in text:
        return commands(text)
    parts = _NUMBER.split(text)
    return join(_bold(part) if place % 2 else part for place, part in enumerate(parts))


def _bold(number: str) -> Html:
    """A number; "79 %" and "1 in 4" are never broken over two lines."""
    return tag("b", number, cls="jb-whole" if " " in number else None)

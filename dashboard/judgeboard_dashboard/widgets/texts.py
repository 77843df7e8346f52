"""Sentences, headings, captions, numbers, times and names on all pages, and the confirmation of a change."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from difflib import unified_diff

import streamlit as st

from judgeboard.domain import Preference
from judgeboard.measure.notes import Note
from judgeboard.settings.model import DEFAULT_DATABASE
from judgeboard.stats.estimates import two_decimals
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import database_url
from judgeboard.store.open_flags import ORDERS
from judgeboard.text import counted, with_db
from judgeboard_dashboard.evidence import Html, join, show_div, tag
from judgeboard_dashboard.session import sees_database


def duration(seconds: float) -> str:
    """Return "6 s", "1 min 38 s", "2 h 5 min"; below a second "under 1 s"."""
    if seconds < 1:
        return "under 1 s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    minutes = whole % 3600 // 60
    return f"{whole // 3600} h" + (f" {minutes} min" if minutes else "")


WHY_DIFFERS = {
    "missed_support": "Judge missed support",
    "fluent_text": "Fooled by fluent text",
    "refusal": "Refusal scored wrongly",
    "partial_support": "Partial support",
    "rubric_unclear": "Rubric unclear",
    "person": "Our mistake",
    "other": "Other",
}
SORTS = {name: order.words for name, order in ORDERS.items()}
UNKNOWN = "–"
WORST_HELP = (
    "Most doubtful first: the highest severity first. The rule of the flag and its score set the severity (1 to 0). "
    "Flags of the same severity: the oldest question first."
)
RULES_HELP = "The rules that flagged the answer, the worst flag first. +2: two more rules."
count = counted


def rule_words(rule: str) -> str:
    """Return the name of a rule in words."""
    return rule.replace("_", " ")


def capital(text: str) -> str:
    """Return a text with an upper-case first letter."""
    return text[:1].upper() + text[1:]


def stored_words(preference: Preference | None) -> str | None:
    """Return A, B or tie; None for no preference."""
    return (
        None
        if preference is None
        else {Preference.A: "A", Preference.B: "B", Preference.TIE: "tie"}[preference]
    )


def rules_words(rules: Iterable[str], longest: int | None = None) -> str:
    """Return rules in words, each once: "Low groundedness · feedback gap".

    In a text of more than ``longest`` characters, the last rules are counted: "Low groundedness +2".
    """
    names = [*dict.fromkeys(map(rule_words, rules))]
    for number in range(len(names), 0, -1):
        more = f" +{len(names) - number}" if number < len(names) else ""
        text = capital(" · ".join(names[:number])) + more
        if longest is None or len(text) <= longest:
            break
    return text if names else ""


def score(value: float | None) -> str:
    """Return a groundedness with two decimals; "–" for None."""
    return UNKNOWN if value is None else two_decimals(value)


def short(value: float) -> str:
    """Return a grade without trailing zeros: 0.5, 0.35, 1."""
    return f"{value:.4g}"


def clock(moment: datetime) -> str:
    """Return the time of day in UTC: "09:41"."""
    return f"{moment.astimezone(UTC):%H:%M}"


def day(moment: datetime | date) -> str:
    """Return a day: "12 Mar", with the year unless the day is in this year."""
    date_ = moment.astimezone(UTC).date() if isinstance(moment, datetime) else moment
    this_year = date_.year == utc_now().year
    return f"{date_.day} {date_:%b}" if this_year else f"{date_.day} {date_:%b %Y}"


def when(moment: datetime) -> str:
    """Return a time in UTC: "12 Mar 09:41"."""
    return f"{day(moment)} {clock(moment)}"


def when_known(moment: datetime | None) -> str | None:
    """Return a time in UTC for a cell, None without one."""
    return None if moment is None else when(moment)


def ago(moment: datetime) -> str:
    """Return how many days ago a time was: "today", "yesterday", "3 days"; after two weeks the date."""
    days = (utc_now().date() - moment.astimezone(UTC).date()).days
    if days in {0, 1}:
        return ("today", "yesterday")[days]
    return f"{days} days" if 0 < days < 15 else day(moment)


_COMMAND = re.compile(r"`([^`]+)`")
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
# Numbers outside the brackets of intervals. "1 in 4" and "79 %" are one number each. Digits in
# names such as gpt-4 and in dates do not count.
_NUMBER = re.compile(
    rf"(?<!{_MONTH} )(?!\d+ {_MONTH}\b)"
    r"(?<![\w.,\[])(?<![^\W\d][-/])(\d+ in \d+|[-+]?\d(?:[\d,]*\d)?(?:\.\d+)?(?: %)?)"
    r"(?![\w.,]*\d)(?![-/]?[^\W\d])(?![^\[\]]*\])"
)


def sentence(text: str, *, lead: str = "") -> None:
    """Show the sentence at the top of a page, if any. The ``lead`` is bold; without a lead, numbers are bold."""
    if not (text or lead):
        return
    body = numbers(text, "span" if lead else "b")
    show_div("jb-say jb-wide", tag("b", lead) if lead else None, " " if lead else None, body)


def heading(text: str) -> None:
    """Show the heading of a part of a page."""
    show_div("jb-part", text)


def caption(*texts: str | Note | None) -> None:
    """Show small text under a chart or table; None is skipped."""
    words = (each.text if isinstance(each, Note) else each for each in texts)
    show_div("jb-cap jb-under", commands(" ".join(filter(None, words))))


def note(text: str, *, lead: str) -> None:
    """Show a warning with the ``lead`` in bold."""
    show_div("jb-note", tag("b", lead), " ", commands(text))


def instead(text: str) -> None:
    """Show a sentence in place of a chart."""
    show_div("jb-instead", tag("span", commands(text)))


def empty(*texts: str) -> None:
    """Show the texts of an empty page, one per line."""
    show_div("jb-empty", *(tag("div", commands(text)) for text in texts))


def commands(text: str) -> Html:
    """Return a sentence as markup. Commands in backquotes become code, with ``--db`` if needed (`with_database`)."""
    parts = _COMMAND.split(text)
    return join(
        tag("span", with_database(part), cls="jb-code") if place % 2 else part
        for place, part in enumerate(parts)
    )


def with_database(command: str) -> str:
    """Return a command with the database in use, unless that is the default database (`with_db`).

    Only admins see the address of the database.
    """
    url = database_url()
    if url == database_url(DEFAULT_DATABASE) or not sees_database():
        return command
    return with_db(
        command, url.database if url.get_backend_name() == "sqlite" else url.render_as_string()
    )


def numbers(text: str, element: str = "b") -> Html:
    """Return a sentence whose numbers are elements, by default bold. Not in a sentence with a command."""
    if "`" in text:
        return commands(text)
    parts = _NUMBER.split(text)
    return join(
        # jb-whole keeps "79 %" and "1 in 4" on one line
        tag(element, part, cls="jb-whole" if " " in part else None) if place % 2 else part
        for place, part in enumerate(parts)
    )


def command_block(command: str) -> None:
    """Show a command, or several commands, one on each line."""
    st.code(with_database(command).replace(" && ", "\n"), language=None, wrap_lines=True)


def show_difference(old: str | None, new: str | None) -> None:
    """Show the lines in which two prompts differ, each with two equal lines before and after."""
    lines = list(unified_diff((old or "").splitlines(), (new or "").splitlines(), n=2, lineterm=""))
    if lines:
        st.code("\n".join(lines[2:]), language="diff", wrap_lines=True)
    else:
        caption("Both prompts are equal." if old or new else "Neither has a prompt.")


def confirm(place: str, words: str, next_step: str = "") -> None:
    """Keep ``words`` about a change that was just stored; `confirmation` of this place shows the words in the next run.

    The words are shown unchanged, since the words may have names. Commands in the ``next_step``
    become code.
    """
    st.session_state[f"confirmed_{place}"] = (words, next_step)


def is_confirmed(place: str) -> bool:
    """Return whether something was just stored, and `confirmation` has not shown the words yet."""
    return f"confirmed_{place}" in st.session_state


def confirmation(place: str) -> None:
    """Show once what was just stored, if anything was."""
    if is_confirmed(place):
        words, next_step = st.session_state.pop(f"confirmed_{place}")
        show_div("jb-say", words, " ", commands(next_step), role="status")

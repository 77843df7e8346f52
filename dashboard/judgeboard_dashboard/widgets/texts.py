"""Sentences, headings, captions, numbers, times and names as every page writes them."""

import re
from datetime import UTC, date, datetime

from judgeboard.stats.estimates import two_decimals
from judgeboard.store.open_flags import ORDERS
from judgeboard.store.overview import WorkState, work_state
from judgeboard_dashboard.evidence import Html, join, show, tag
from judgeboard_dashboard.session import reading

UNKNOWN_AMOUNT = "unknown"


def money(micro: int | None) -> str:
    """Return millionths of a dollar as "$ 4.07", "$ 0.056", "$ 0"; None is "unknown", never 0."""
    if micro is None:
        return UNKNOWN_AMOUNT
    dollars = micro / 1_000_000
    if dollars == 0:
        return "$ 0"
    if dollars >= 0.1:
        return f"$ {dollars:,.2f}"
    return f"$ {dollars:.2g}" if dollars >= 0.0001 else f"$ {dollars:.6f}"


def duration(seconds: float) -> str:
    """Return "6 s", "1 min 38 s", "2 h 5 min"; below a second "under 1 s"."""
    if seconds < 1:
        return "under 1 s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return _two(whole // 60, "min", whole % 60, "s")
    return _two(whole // 3600, "h", whole % 3600 // 60, "min")


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large} {large_unit} {small} {small_unit}" if small else f"{large} {large_unit}"


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


def rule_words(rule: str) -> str:
    """Return a rule as people say it."""
    return rule.replace("_", " ")


def capital(text: str) -> str:
    """Return a text with its first letter in upper case and the others as they are."""
    return text[:1].upper() + text[1:]


def shortened(text: str, longest: int = 200) -> str:
    """Return the start of a text that was too long, with an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return "1 answer", "2,912 answers"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def score(value: float | None) -> str:
    """Return a groundedness with two digits, "–" where there is none."""
    return UNKNOWN if value is None else two_decimals(value)


def short(value: float) -> str:
    """Return a grade as it was given: 0.5, 0.35, 1."""
    return f"{value:.4g}"


def clock(moment: datetime) -> str:
    """Return the time of day in UTC: "09:41"."""
    return f"{moment.astimezone(UTC):%H:%M}"


def day(moment: datetime | date) -> str:
    """Return a day: "12 Mar", with the year where it is not this one."""
    shown = moment.astimezone(UTC).date() if isinstance(moment, datetime) else moment
    this_year = shown.year == datetime.now(UTC).year
    return f"{shown.day} {shown:%b}" if this_year else f"{shown.day} {shown:%b %Y}"


def when(moment: datetime) -> str:
    """Return a moment of the log or of the desk: "12 Mar 09:41"."""
    return f"{day(moment)} {clock(moment)}"


def ago(moment: datetime, now: datetime) -> str:
    """Return how long ago in days: "today", "yesterday", "3 days", later the date."""
    days = (now.astimezone(UTC).date() - moment.astimezone(UTC).date()).days
    if days in {0, 1}:
        return ("today", "yesterday")[days]
    return f"{days} days" if 0 < days < 15 else day(moment)


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


def nothing_waits() -> None:
    """Say why the queue is empty: nothing imported, nothing judged, or all done."""
    now = datetime.now(UTC)
    with reading() as connection:
        state = work_state(connection, now)
    show(tag("div", *_lines(state, now), cls="jb-empty"))


def command(text: str) -> Html:
    """Return a command to type, as code."""
    return tag("span", text, cls="jb-code")


def _lines(state: WorkState, now: datetime) -> list[Html]:
    if not state.responses:
        return [
            tag("div", "No answers yet. Import a log: ", command("judgeboard import FILE")),
            tag("div", "Or try the sample: ", command("judgeboard demo")),
        ]
    if not state.any_judged:
        said = f"{count(state.responses, 'answer')}, none judged."
        return [tag("div", said), tag("div", "Judge them: ", command("judgeboard judge --judge lexical"))]
    last = state.last_flag_at
    since = ""
    if last is not None:
        today = last.astimezone(UTC).date() == now.date()
        since = f" The last flag came {'at' if today else 'on'} {clock(last) if today else day(last)}."
    return [
        tag("div", f"Nothing waits. {state.decided_today:,} decided today.{since}"),
        tag("div", f"{count(state.responses, 'answer')} in this database."),
    ]

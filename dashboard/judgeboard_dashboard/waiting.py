"""What a list says when nothing is in it, with the next thing to do."""

from datetime import UTC, datetime

from judgeboard.store.desk.desk_state import DeskState, desk_state
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.session import reading
from judgeboard_dashboard.words import clock, count, day


def nothing_waits() -> None:
    """Say why the queue is empty: nothing imported, nothing judged, or all done."""
    now = datetime.now(UTC)
    with reading() as connection:
        state = desk_state(connection, now)
    show(tag("div", *_lines(state, now), cls="jb-empty"))


def command(text: str) -> Html:
    """Return a command to type, as code."""
    return tag("span", text, cls="jb-code")


def _lines(state: DeskState, now: datetime) -> list[Html]:
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

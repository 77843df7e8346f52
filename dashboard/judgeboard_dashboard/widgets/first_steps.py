"""The first steps of an empty database; for an empty page the purpose and the next step."""

from datetime import UTC
from typing import NamedTuple

import streamlit as st

from judgeboard.domain import Action
from judgeboard.formats.files import format_titles
from judgeboard.store.clock import utc_now
from judgeboard.store.overview import any_judged, count_decided, count_log, last_flag_at
from judgeboard.store.responses import last_response_id
from judgeboard_dashboard.gate import permitted, refusal
from judgeboard_dashboard.review.queues import EVERY
from judgeboard_dashboard.session import button, open_rows, reading, stacking_columns
from judgeboard_dashboard.widgets.navigation import Rows
from judgeboard_dashboard.widgets.texts import (
    caption,
    clock,
    command_block,
    count,
    day,
    empty,
    heading,
)


class Step(NamedTuple):
    """A step of a new database: the button, the page of the step, and the permission for the step."""

    button: str
    icon: str
    rows: Rows
    action: Action


IMPORT = Step("Import a log", ":material/upload_file:", Rows("sources", {}), Action.IMPORT)
CONNECT = Step(
    "Connect an assistant",
    ":material/sensors:",
    Rows("sources", {"part": "Receive"}),
    Action.SEE_MANAGED,
)
JUDGE = Step(
    "Judge answers", ":material/gavel:", Rows("rejudge", {"rows": "plain"}), Action.REJUDGE_MANY
)
NO_ANSWERS = "No answers yet."


def first_steps() -> bool:
    """Show the three ways to fill an empty database, or that no answer is judged; return whether one was shown."""
    step = next_step()
    if step is not IMPORT:
        if step is not None:
            empty_page("No answer is judged yet.")
        return step is not None
    heading("First steps")
    sample, log, assistant = stacking_columns("first_steps", 3)
    with sample:
        empty("Sample data", "To look around first, in a terminal:")
        command_block("judgeboard quickstart")
    with log:
        empty("A log", f"Questions and answers in a file: {format_titles()}.")
        step_button(IMPORT)
    with assistant:
        empty("An assistant", "Its traces arrive as it answers.")
        step_button(CONNECT)
    return True


def next_step() -> Step | None:
    """Return the step that gives data to pages, None if answers are judged."""
    with reading() as connection:
        if not last_response_id(connection):
            return IMPORT
        return None if any_judged(connection) else JUDGE


def step_button(step: Step) -> None:
    """Show the button of a step, or who may take the step."""
    if (reason := refusal(step.action)) is not None:
        caption(reason)
    elif button(step.button, key=f"step_{step.button}", type="primary", icon=step.icon):
        open_rows(step.rows.page, **dict(step.rows.query))


def empty_page(*texts: str, command: str | None = None) -> None:
    """Show the purpose of an empty page, and the next step: import, judge, or else the ``command``."""
    step = next_step()
    if step is IMPORT:
        texts = (
            *(text for text in texts if "`" not in text),
            NO_ANSWERS,
        )  # the commands of such texts need answers first
    empty(*dict.fromkeys(texts))
    if step is not None:
        step_button(step)
    elif command is not None:
        caption("Next, in a terminal:")
        command_block(command)


def before_import() -> bool:
    """Return whether no answer is stored; if so, show the empty page."""
    is_new = next_step() is IMPORT
    if is_new:
        empty_page()
    return is_new


def no_open_flags() -> None:
    """Show why there are no open flags: nothing imported, nothing judged, or all decided."""
    today = utc_now().date()
    with reading() as connection:
        responses, is_judged = count_log(connection), any_judged(connection)
        decided_today, last = count_decided(connection, today), last_flag_at(connection)
    answers = count(responses, "answer")
    if not responses:
        empty_page()
    elif not is_judged:
        empty_page(
            f"{answers}, none judged.", "Or in a terminal: `judgeboard judge --judge lexical`"
        )
    else:
        since = ""
        if last is not None:
            is_today = last.astimezone(UTC).date() == today
            since = f" Last flag: {'today, ' + clock(last) if is_today else day(last)}."
        more = "To grade more of them, create a queue of answers, flagged or not."
        empty(
            f"No open flags. Decided today: {decided_today:,}.{since}",
            f"{answers} in this database. {more}",
        )
        if permitted(Action.MAKE_QUEUES) and st.button(
            "New queue", key="queue_of_all", icon=":material/add:"
        ):
            st.session_state["nq_subject"] = EVERY
            open_rows("queues", new="1")

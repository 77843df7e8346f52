"""The view Events: who did what, newest first."""

import json

from judgeboard.domain import Action
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.responses import external_ids
from judgeboard.store.tables import Event
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.session import page, reading
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import empty, when

MOST_EVENTS = 1_000


def events() -> None:
    """Show the latest events, newest first."""
    demand(Action.SEE_MANAGED)
    with reading() as connection:
        latest = latest_events(connection, EventFilter(), limit=MOST_EVENTS)
        answers = external_ids(connection, {each.response_id or 0 for each in latest})
    if not latest:
        empty("No events yet.")
        return
    older = f"The latest {MOST_EVENTS:,} events. For older ones: `judgeboard db events`"
    columns: Columns[Event] = {
        Column("When", width=115): lambda event: when(event.at),
        Column("Who", width=200): lambda event: event.actor,
        Column("What", width=190): lambda event: event.kind.replace("_", " "),
        Column("Answer", width=170): lambda event: answers.get(event.response_id or 0),
        Column("Details", width=480): lambda event: " · ".join(
            f"{name.replace('_', ' ')} {_detail(value)}"
            for name, value in event.details.items()
            if value is not None and value not in ({}, [])
        ),
        Column("Event", "integer", width=75): lambda event: event.id,
    }
    table(Table.of(latest, columns), key="events", most=20, under=(older,))


def _detail(value: object) -> str:
    if isinstance(value, list) and not any(isinstance(each, (list, dict)) for each in value):
        return ", ".join(map(_detail, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


with page(answers=False):
    events()

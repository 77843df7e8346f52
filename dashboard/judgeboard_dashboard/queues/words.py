"""How queues are said: how far one is, what it is short of, who did what."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.domain import QueueState
from judgeboard.queues import QueueProgress
from judgeboard_dashboard.tables import frame
from judgeboard_dashboard.words import count, when

LIST_COLUMNS: dict[str, Any] = {
    "Queue": st.column_config.TextColumn(width=210),
    "Finished": st.column_config.ProgressColumn(
        width=120, min_value=0, max_value=1, format="percent", color="primary", help="Settled or adjudicated"
    ),
    "You": st.column_config.NumberColumn(width=55, format="localized", help="What you did"),
    "Waiting": st.column_config.NumberColumn(width=75, format="localized"),
    "Held": st.column_config.NumberColumn(width=60, format="localized", help="Somebody has them on the screen"),
    "Split": st.column_config.NumberColumn(width=60, format="localized", help="Reviewers differ: a lead decides"),
    "Items": st.column_config.NumberColumn(width=65, format="localized"),
    "Reviews": st.column_config.TextColumn(width=95, help="Given of needed"),
    "Given to": st.column_config.TextColumn(width=150),
    "How": st.column_config.TextColumn(width=480),
}
_LIST_KINDS = {
    "Queue": "str",
    "Finished": "Float64",
    "You": "Int64",
    "Waiting": "Int64",
    "Held": "Int64",
    "Split": "Int64",
    "Items": "Int64",
    "Reviews": "str",
    "Given to": "str",
    "How": "str",
}
PEOPLE_COLUMNS: dict[str, Any] = {
    "Person": st.column_config.TextColumn(width=200),
    "Done": st.column_config.NumberColumn(width=65, format="localized"),
    "Unsure": st.column_config.NumberColumn(width=70, format="localized"),
    "Skipped": st.column_config.NumberColumn(width=75, format="localized"),
    "Holds": st.column_config.NumberColumn(width=65, format="localized"),
    "Seconds": st.column_config.NumberColumn(width=90, format="%.0f", help="Per item, the median, absences left out"),
    "Last": st.column_config.TextColumn(width=115),
}
_PEOPLE_KINDS = {
    "Person": "str",
    "Done": "Int64",
    "Unsure": "Int64",
    "Skipped": "Int64",
    "Holds": "Int64",
    "Seconds": "Float64",
    "Last": "str",
}


def list_table(queues: Sequence[QueueProgress], reviewer_id: int | None) -> pd.DataFrame:
    """Return one row a queue."""
    return frame(_LIST_KINDS, (_line(one, reviewer_id) for one in queues))


def people_table(one: QueueProgress) -> pd.DataFrame:
    """Return one row for each person who has a queue or did something in it."""
    return frame(
        _PEOPLE_KINDS,
        (
            (
                person.reviewer.name,
                person.done,
                person.unsure,
                person.skipped,
                person.holds,
                person.median_seconds,
                None if person.last is None else when(person.last),
            )
            for person in one.people
        ),
    )


def how_far(one: QueueProgress) -> str:
    """Return the sentence about a queue."""
    noun = "pair" if one.queue.subject == "pairs" else "answer"
    if one.queue.state is QueueState.CLOSED:
        return f"Closed: {one.finished:,} of {count(one.items, noun)} finished, {count(one.reviews, 'review')} given."
    parts = [f"{one.waiting:,} of {count(one.items, noun)} wait" + ("s" if one.waiting == 1 else "")]
    if one.held:
        parts.append(f"{one.held:,} held by somebody")
    if one.split:
        parts.append(f"{one.split:,} split")
    return f"{', '.join(parts)}, {one.finished:,} finished."


def short_of(one: QueueProgress) -> str | None:
    """Return what the random sample lacks, None where it lacks nothing."""
    if not one.short:
        return None
    return (
        f"{count(one.sampled, 'answer')} in the random sample. {one.short:,} more "
        f"{'was' if one.short == 1 else 'were'} requested, but no random-sample flags are left for these query types, "
        "sources and days."
    )


def _line(one: QueueProgress, reviewer_id: int | None) -> tuple[Any, ...]:
    mine = next((person for person in one.people if person.reviewer.id == reviewer_id), None)
    return (
        one.queue.name if one.queue.state is QueueState.OPEN else f"{one.queue.name} (closed)",
        one.finished * 100 // one.items / 100 if one.items else None,  # whole per cent; 100 once all are
        0 if mine is None else mine.done,
        one.waiting,
        one.held,
        one.split,
        one.items,
        f"{one.reviews:,} / {one.reviews_needed:,}",
        ", ".join(person.name for person in one.given_to) or "everybody",
        " · ".join(one.rules),
    )

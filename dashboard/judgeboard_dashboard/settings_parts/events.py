"""Who did what, newest first, fifty a page, narrowed by kind, person, answer and time."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pandas as pd
import streamlit as st

from judgeboard.people import Action
from judgeboard.store.events import EventFilter, StoredEvent, event_actors, event_kinds, event_page, latest_events
from judgeboard_dashboard.address import Query
from judgeboard_dashboard.evidence import as_label
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.paging import PAGE_SIZE, place_in, turning_foot
from judgeboard_dashboard.saying import empty, sentence
from judgeboard_dashboard.session import reading
from judgeboard_dashboard.tables import frame, height
from judgeboard_dashboard.words import count, when

PAGE = "events"
MOST_EXPORTED = 100_000
SINCE = {"day": ("the last day", 1), "week": ("the last 7 days", 7), "month": ("the last 30 days", 30)}
COLUMNS = {"When": "str", "Who": "str", "What": "str", "Answer": "str", "Details": "str", "Event": "Int64"}
WORDS = {
    "decide": "decided a flag",
    "keep_draft": "came too late to a flag",
    "grade": "graded",
    "undo": "took a review back",
    "prefer": "preferred an answer",
    "make_queue": "made a queue",
    "close_queue": "closed a queue",
    "assign_queue": "gave a queue to people",
    "decide_item": "reviewed an item of a queue",
    "skip": "put an item aside",
    "reveal": "looked at the judge after a blind review",
    "answer_reveal": "kept or changed a grade after the judge was shown",
    "adjudicate": "decided where reviewers differed",
    "export_bundle": "gave a part of a queue out as a file",
    "merge_bundle": "brought a part of a queue back",
    "select_attempt": "selected an attempt",
    "deselect_attempt": "deselected an attempt",
    "forget": "had an answer forgotten",
    "first_seen": "came for the first time",
    "sign_in": "signed in",
    "refused": "was refused",
    "add_person": "added a person",
    "change_role": "changed a role",
    "remove_person": "removed a person",
    "set_setting": "changed a setting",
    "apply_rules": "applied the rules",
    "retire_version": "retired a judge version",
    "restore_version": "took a judge version back",
    "start_import": "began an import",
    "finish_import": "finished an import",
    "start_run": "began a run",
    "resume_run": "went on with a run",
    "finish_run": "ended a run",
    "job_requested": "asked for a job",
    "job_began": "had a job begin",
    "job_cancelled": "cancelled a job",
    "job_failed": "had a job fail",
    "start_worker": "began to take jobs",
    "stop_worker": "takes no more jobs",
    "make_control_answers": "made control answers",
    "make_pairs": "made pairs",
    "combine": "combined verdicts",
    "audit_recorded": "compared verdicts",
}


def events() -> None:
    """Show the list."""
    demand(Action.READ_EVENTS)
    now = datetime.now(UTC)
    with reading() as connection:
        given, query = _filters(event_kinds(connection), event_actors(connection), now)
        place = place_in(PAGE, query)
        found = event_page(connection, given, after=place.after, before=place.before, limit=PAGE_SIZE)
    if not found.lines:
        empty("No event matches." if given != EventFilter() else "Nothing was done here yet.")
        return
    sentence(f"{count(found.total, 'event')}, newest first.")
    rows = _frame(found.lines)
    st.dataframe(
        rows,
        key=f"events_table_{found.lines[0].id}",
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(rows)),
        column_config={
            "When": st.column_config.TextColumn(width=115),
            "Who": st.column_config.TextColumn(width=200),
            "What": st.column_config.TextColumn(width=190),
            "Answer": st.column_config.TextColumn(width=170),
            "Details": st.column_config.TextColumn(width=480),
            "Event": st.column_config.NumberColumn(width=75, format="%d"),
        },
    )
    turning_foot(PAGE, found, "event", lambda: _export(given), query=query)


def event_words(kind: str) -> str:
    """Return what somebody did, as a page says it."""
    return WORDS.get(kind, kind.replace("_", " "))


def _filters(kinds: tuple[str, ...], actors: tuple[str, ...], now: datetime) -> tuple[EventFilter, Query]:
    with st.container(key="filters_events", horizontal=True, vertical_alignment="bottom", gap="small"):
        kind = _select("What", kinds, "kind", "Everything", event_words)
        actor = _select("Who", actors, "actor", "Everybody", as_label)
        since = _select("Since", tuple(SINCE), "since", "The beginning", lambda name: SINCE[name][0].capitalize())
        named = st.text_input("Answer", key="answer", bind="query-params", placeholder="Id", width=190)
    from_ = None if since is None else now - timedelta(days=SINCE[since][1])
    fields = {"kind": kind, "actor": actor, "since": since, "answer": named.strip()}
    query = {name: [value] for name, value in fields.items() if value}
    return EventFilter(kind, actor, named.strip() or None, from_), query


def _select(
    label: str, options: tuple[str, ...], key: str, placeholder: str, words: Callable[[str], str]
) -> str | None:
    chosen: str | None = st.selectbox(
        label,
        options,
        index=None,
        key=key,
        bind="query-params",
        placeholder=placeholder,
        format_func=words,
        width=210,
    )
    return chosen


def _frame(events: tuple[StoredEvent, ...]) -> pd.DataFrame:
    return frame(
        COLUMNS,
        (
            (when(event.at), event.actor, event_words(event.kind), event.response, _details(event), event.id)
            for event in events
        ),
    )


def _details(event: StoredEvent) -> str:
    return " · ".join(
        f"{name.replace('_', ' ')} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in event.details.items()
        if value is not None
    )


def _export(given: EventFilter) -> pd.DataFrame:
    columns = {"id": "Int64", "at": "str", "actor": "str", "kind": "str", "response": "str", "details": "str"}
    with reading() as connection:
        found = latest_events(connection, given, limit=MOST_EXPORTED)
    return frame(
        columns,
        (
            (event.id, event.at.isoformat(), event.actor, event.kind, event.response, json.dumps(event.details))
            for event in found
        ),
    )

"""The page Runs: all runs and imports, with their counts and failures."""

from datetime import UTC, datetime

import streamlit as st

from judgeboard.domain import RunState
from judgeboard.runs.jobs import open_jobs
from judgeboard.store.runs import last_verdicts, list_runs, run_counts
from judgeboard.store.storing import list_batches
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.session import page, reading, store
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import Rows, follow, open_button
from judgeboard_dashboard.widgets.runs import RunLine, imports_table, problems, run_rows, run_table
from judgeboard_dashboard.widgets.tables import csv_button
from judgeboard_dashboard.widgets.texts import count

PAGE_SIZE = 50
_BEFORE = "runs_before"


def runs() -> None:
    """Show the runs, newest first, and the failures of the selected one."""
    follow("runs", own=())
    lines = _lines(st.session_state.get(_BEFORE))
    with reading() as connection:
        batches = list_batches(connection)
    if not lines:
        empty_page("runs", "No runs yet. Each run of a judge is listed here, with its calls, failures and cost.")
        imports_table(batches)
        return
    _open_jobs()
    now = datetime.now(UTC)
    counts = (
        "In every row: asked = ok + unparsable + refused + error. “Not reached” counts selected answers without a call."
    )
    show(tag("div", counts, cls="jb-say"))
    chosen = run_table(lines, now)
    _foot(lines, now)
    with st.container(key="stack_runs"):
        left, right = st.columns([1.04, 1], gap="medium")
    with left:
        problems(chosen, now)
    with right:
        imports_table(batches)


def _lines(before: int | None, limit: int = PAGE_SIZE) -> list[RunLine]:
    with reading() as connection:
        stored_runs = list_runs(connection, before_id=before, limit=limit)
        counts = run_counts(connection, [run.id for run in stored_runs])
        heard = last_verdicts(connection, [run.id for run in stored_runs if run.state is RunState.RUNNING])
    return [RunLine(run, counts[run.id], heard.get(run.id)) for run in stored_runs]


def _open_jobs() -> None:
    for job in open_jobs(store()):
        with st.container(key=f"going_{job.id}", horizontal=True, vertical_alignment="center", gap="small"):
            progress = (
                f" · {job.asked:,} of {job.selected:,} judged" if job.run_id else f" · {count(job.selected, 'answer')}"
            )
            show(tag("div", tag("b", f"A job is {job.state}"), f" · {job.actor}{progress}", cls="jb-note jb-line"))
            open_button("Open job", Rows("rejudge", {"job": job.id}), key=f"watch_{job.id}", type="tertiary")


def _foot(lines: list[RunLine], now: datetime) -> None:
    with st.container(key="runs_foot", horizontal=True, vertical_alignment="center", gap="small"):
        show(tag("div", f"Runs {lines[-1].run.id}–{lines[0].run.id}", cls="jb-cap jb-line"))
        csv_button(lambda: run_rows(_lines(None, 100_000), now), "runs", key="runs_csv")
        if st.session_state.get(_BEFORE) is not None:
            st.button("Newest", key="runs_newest", type="tertiary", on_click=_turn, args=(None,), wrap=False)
        if len(lines) == PAGE_SIZE:
            st.button(
                "Earlier", key="runs_earlier", type="tertiary", on_click=_turn, args=(lines[-1].run.id,), wrap=False
            )


def _turn(before: int | None) -> None:
    st.session_state[_BEFORE] = before


with page("Runs"):
    runs()

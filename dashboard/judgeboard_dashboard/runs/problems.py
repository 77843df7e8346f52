"""What went wrong in a run, grouped, with the ways to look at it and to ask again."""

from collections.abc import Sequence
from datetime import datetime

import streamlit as st

from judgeboard.errors import JudgeboardError
from judgeboard.filters import RowFilter
from judgeboard.jobs import estimate_calls, judge_spec, request_rejudge
from judgeboard.people import Action
from judgeboard.store.judgments.judge_versions import get_version
from judgeboard.store.runs.run_problems import RunProblem, run_problems
from judgeboard_dashboard.errors import problem
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.picking import Rows, item, pick_rows, responses, row_clicked
from judgeboard_dashboard.runs.run_table import RunLine, why_words
from judgeboard_dashboard.saying import caption, heading
from judgeboard_dashboard.session import ask_reviewer, reading, seen, store
from judgeboard_dashboard.tables import csv_button, frame, height
from judgeboard_dashboard.words import count

COLUMNS = {"Status": "str", "Reason": "str", "Steps": "Int64", "Example": "str"}
OF_ANSWERS = ("judge", "rejudge")
NOT_OK = ("error", "refused", "unparsable")


def problems(line: RunLine, now: datetime) -> None:
    """Show the reasons of a run and what can be done about them."""
    run = line.run
    why = why_words(line, now)
    state = f"It is {run.state.value}: {why.rstrip('.')}." if why else None
    if not line.failed:
        heading(f"Run {run.id}: {'no ask went wrong' if state else 'nothing went wrong'}")
        caption(state, asked_words(line))
        _ways(line)
        return
    heading(f"Run {run.id}: what went wrong, {line.failed:,} of {line.counts.asked:,}")
    if state:
        caption(state)
    with reading() as connection:
        found = run_problems(connection, run.id)
    _table(run.id, found)
    _ways(line)


def asked_words(line: RunLine) -> str:
    """Say what a run without failures asked; only runs over the log ask once an answer."""
    asked = line.counts.asked
    if not asked:
        return "It has not asked anything."
    if line.run.kind == "import":
        return f"{count(asked, 'verdict')} imported, all usable."
    if line.run.kind in OF_ANSWERS:
        return f"{count(asked, 'answer')} asked, all with a usable verdict."
    several = " A case can take several: its answer and each judgment of it." if line.run.kind == "suite" else ""
    return f"{count(asked, 'ask')}, all with a usable reply.{several}"


def _table(run_id: int, found: Sequence[RunProblem]) -> None:
    table = frame(COLUMNS, ((each.status, _reason(each), each.steps, each.example) for each in found))
    key = f"problems_{run_id}_{len(found)}"
    st.dataframe(
        table,
        key=key,
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(table), most=8),
        selection_mode="single-cell",
        on_select=row_clicked(key, [_rows_of(each) for each in found]),
        column_config={
            "Status": st.column_config.TextColumn(width=95),
            "Reason": st.column_config.TextColumn(width=395),
            "Steps": st.column_config.NumberColumn(width=75, format="localized"),
            "Example": st.column_config.TextColumn(width=125, help="Opens the answer or the pair"),
        },
    )
    csv_button(table, f"run-{run_id}-problems", key="problems_csv")


def _rows_of(each: RunProblem) -> Rows:
    if each.response_id is not None:
        return item(each.response_id)
    return Rows("runs", {}) if each.pair_id is None else Rows("pairs", {"pair": str(each.pair_id)})


def _reason(each: RunProblem) -> str:
    return " ".join(each.reason.split()) if each.reason else "no reason was given"


def _ways(line: RunLine) -> None:
    """Buttons: ask the failed again, open them, see what changed."""
    run = line.run
    if run.version_id is None:
        return
    with st.container(key="run_ways", horizontal=True, gap="small", vertical_alignment="center"):
        if line.failed:
            _retry(line, run.version_id)
            failed = RowFilter(judge_version=run.version_id, statuses=NOT_OK)
            _open("Open those without a verdict", responses(failed), "run_open")
        if run.kind == "rejudge" and line.counts.ok:
            _open("See what changed", Rows("rejudge", {"run": str(run.id)}), "run_changes")


def _retry(line: RunLine, version_id: int) -> None:
    """Ask again what this judge version has no usable verdict on; what was mended meanwhile is not asked."""
    if not permitted(Action.REJUDGE_MANY):
        show(tag("div", f"{Action.REJUDGE_MANY.words} is for leads and admins.", cls="jb-cap"), width="content")
        return
    where = line.run.selection.where if line.run.selection else RowFilter()
    try:
        with reading() as connection:
            spec = judge_spec(connection, get_version(connection, version_id))
        if spec is None:
            show(tag("div", "This judge version cannot be asked again from here.", cls="jb-cap"), width="content")
            return
        estimate = estimate_calls(seen(), judge=spec, where=where, mode="failed")
    except JudgeboardError as error:
        problem(str(error))
        return
    if not estimate.calls:
        show(tag("div", "All of them have a usable verdict by now.", cls="jb-cap"), width="content")
        return
    reviewer = ask_reviewer("It stands beside the job.")
    if reviewer is None:
        return
    pressed = st.button(
        f"Retry the {estimate.calls:,}", key="run_retry", type="primary", icon=":material/restart_alt:", wrap=False
    )
    if pressed:
        try:
            job_id = request_rejudge(
                store(), judge=spec, where=where, mode="failed", estimate=estimate.as_dict(), actor=reviewer
            )
        except JudgeboardError as error:
            problem(f"Not asked: {error}.")
            return
        pick_rows(Rows("rejudge", {"job": job_id}))
        st.rerun()


def _open(label: str, rows: Rows, key: str) -> None:
    st.button(label, key=key, on_click=pick_rows, args=(rows,), wrap=False)

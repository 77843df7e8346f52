"""The parts of the Runs page: the tables of runs and imports, and what went wrong in a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pandas as pd
import streamlit as st

from judgeboard.domain import RunState
from judgeboard.errors import JudgeboardError
from judgeboard.people.permissions import Action
from judgeboard.runs.jobs import estimate_calls, judge_spec, request_rejudge
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import get_version
from judgeboard.store.run_steps import RunProblem, run_problems
from judgeboard.store.runs import Counts, StoredRun
from judgeboard.store.storing import ImportBatch
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.session import ask_reviewer, problem, reading, seen, store
from judgeboard_dashboard.widgets.navigation import Rows, item, pick_rows, responses, row_clicked
from judgeboard_dashboard.widgets.tables import csv_button, frame, height
from judgeboard_dashboard.widgets.texts import caption, count, duration, heading, money, when

SILENT = timedelta(minutes=2)
RUN_COLUMNS = {
    "Run": "Int64",
    "Kind": "str",
    "Judge version": "str",
    "State": "str",
    "Asked": "Int64",
    "ok": "Int64",
    "unparsable": "Int64",
    "refused": "Int64",
    "error": "Int64",
    "not reached": "Int64",
    "Selected": "Int64",
    "Usable": "Float64",
    "Cost": "str",
    "Took": "str",
    "By": "str",
    "Why": "str",
}


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run with its counts; ``heard_at`` is when its latest verdict came."""

    run: StoredRun
    counts: Counts
    heard_at: datetime | None

    @property
    def failed(self) -> int:
        """Asks without a usable verdict."""
        return self.counts.asked - self.counts.ok

    @property
    def not_reached(self) -> int | None:
        """What was selected and not asked; None for an import, which selects nothing."""
        return None if self.run.selected is None else max(0, self.run.selected - self.counts.asked)

    @property
    def cost_micro(self) -> int | None:
        """What all asks cost; None as soon as one is unknown."""
        if not self.counts.asked or self.counts.unpriced:
            return None
        return self.counts.cost_micro or 0


def run_table(lines: Sequence[RunLine], now: datetime) -> RunLine:
    """Show the table and return the chosen run; the first one is chosen by itself."""
    table = run_frame(lines, now)
    event = st.dataframe(
        table,
        key=f"runs_{lines[0].run.id}_{len(lines)}",
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(table), most=10),
        selection_mode="single-row-required",
        on_select="rerun",
        # State and all that adds up stand within 800 px; why one stopped is said under the table too.
        column_config={
            "Run": st.column_config.NumberColumn(width=45),
            "Kind": st.column_config.TextColumn(width=66),
            "Judge version": st.column_config.TextColumn(width=120),
            "State": st.column_config.TextColumn(width=85),
            "Asked": st.column_config.NumberColumn(width=60, format="localized"),
            "ok": st.column_config.NumberColumn(width=60, format="localized"),
            "unparsable": st.column_config.NumberColumn(width=82, format="localized"),
            "refused": st.column_config.NumberColumn(width=62, format="localized"),
            "error": st.column_config.NumberColumn(width=52, format="localized"),
            "not reached": st.column_config.NumberColumn(width=85, format="localized"),
            "Selected": st.column_config.NumberColumn(width=75, format="localized"),
            "Usable": st.column_config.ProgressColumn(
                width=105, min_value=0, max_value=100, format="%.1f %%", color="primary", help="ok of asked"
            ),
            "Cost": st.column_config.TextColumn(width=75, alignment="right"),
            "Took": st.column_config.TextColumn(width=90),
            "By": st.column_config.TextColumn(width=85),
            "Why": st.column_config.TextColumn(width=205, help="Why it stopped, or how long it has said nothing"),
        },
    )
    rows = event.selection.rows
    return lines[rows[0] if rows and rows[0] < len(lines) else 0]


def run_frame(lines: Sequence[RunLine], now: datetime) -> pd.DataFrame:
    """Return runs as a table."""
    return frame(RUN_COLUMNS, (_run_cells(line, now) for line in lines))


def _run_cells(line: RunLine, now: datetime) -> tuple[object, ...]:
    run, counts = line.run, line.counts
    return (
        run.id,
        run.kind,
        run.version_title,
        run.state.value,
        counts.asked,
        counts.ok,
        counts.unparsable,
        counts.refused,
        counts.error,
        line.not_reached,
        run.selected,
        100 * counts.ok / counts.asked if counts.asked else None,
        money(line.cost_micro),
        took_words(line, now),
        run.actor,
        why_words(line, now),
    )


def why_words(line: RunLine, now: datetime) -> str | None:
    """Return why a run is in its state; one that says nothing for long may have lost its process."""
    run = line.run
    if run.state is RunState.RUNNING:
        silent = now - (line.heard_at or run.started_at)
        return f"silent for {duration(silent.total_seconds())}" if silent > SILENT else None
    return None if run.state is RunState.DONE else run.why_stopped or None


def took_words(line: RunLine, now: datetime) -> str:
    """Return how long a run took; of one that never said its end, until its last verdict."""
    run = line.run
    end = run.finished_at or line.heard_at or now.astimezone(UTC)
    return duration(max(0.0, (end - run.started_at).total_seconds()))


PROBLEM_COLUMNS = {"Status": "str", "Reason": "str", "Steps": "Int64", "Example": "str"}
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
    table = frame(PROBLEM_COLUMNS, ((each.status, _reason(each), each.steps, each.example) for each in found))
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


IMPORT_COLUMNS = {
    "File": "str",
    "In": "Int64",
    "Rejected": "Int64",
    "Conflicts": "Int64",
    "Kind": "str",
    "At": "str",
    "By": "str",
}


def imports_table(batches: Sequence[ImportBatch]) -> None:
    """Show imports, newest first."""
    heading("Imports")
    if not batches:
        caption("Nothing was imported yet: `judgeboard import FILE`")
        return
    table = imports_frame(batches)
    st.dataframe(
        table,
        key=f"imports_{batches[0].id}",
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(table), most=8),
        column_config={
            "File": st.column_config.TextColumn(width=178),
            "In": st.column_config.NumberColumn(width=62, format="localized"),
            "Rejected": st.column_config.NumberColumn(width=72, format="localized"),
            "Conflicts": st.column_config.NumberColumn(width=75, format="localized"),
            "Kind": st.column_config.TextColumn(width=82),
            "At": st.column_config.TextColumn(width=110),
            "By": st.column_config.TextColumn(width=78),
        },
    )
    with st.container(key="imports_foot", horizontal=True, vertical_alignment="center", gap="small"):
        caption(where_rejected(batches))
        csv_button(table, "imports", key="imports_csv")


def imports_frame(batches: Sequence[ImportBatch]) -> pd.DataFrame:
    """Return imports as a table; one that broke off has no counts."""
    return frame(IMPORT_COLUMNS, (_import_cells(batch) for batch in batches))


def where_rejected(batches: Sequence[ImportBatch]) -> str:
    """Say where the rejected rows are, and of imports that broke off how to complete them."""
    said = []
    if any((batch.counts or {}).get("rejected") for batch in batches):
        said.append("Rejected rows of a command stand beside their file, as FILE.rejected.jsonl.")
    if any(batch.finished_at is None for batch in batches):
        said.append("Without counts: it broke off. The same import again completes it.")
    return " ".join(said)


def _import_cells(batch: ImportBatch) -> tuple[object, ...]:
    counts = batch.counts or {}
    return (
        batch.file,
        counts.get("new"),
        counts.get("rejected"),
        counts.get("conflicts"),
        batch.kind,
        when(batch.at),
        batch.actor,
    )

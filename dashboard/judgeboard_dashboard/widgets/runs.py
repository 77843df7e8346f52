"""The parts of the Runs page: runs, imports, and the failed calls of a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import streamlit as st

from judgeboard.domain import RunState
from judgeboard.errors import JudgeboardError
from judgeboard.people.permissions import Action, role_of, why_not
from judgeboard.reports.output import Column, Table
from judgeboard.runs.jobs import estimate_calls, judge_spec, request_rejudge
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import get_version
from judgeboard.store.run_steps import RunProblem, run_problems
from judgeboard.store.runs import Counts, StoredRun
from judgeboard.store.storing import ImportBatch
from judgeboard.text import money
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.session import ask_reviewer, problem, reading, seen, signed_in, store
from judgeboard_dashboard.widgets.navigation import Rows, item, open_button, pick_rows, responses
from judgeboard_dashboard.widgets.tables import choose_row, one_line, table
from judgeboard_dashboard.widgets.texts import caption, count, duration, heading, when

SILENT = timedelta(minutes=2)  # after which the process of a run may be gone
# The columns up to the state, and the counts that add up, fit into 800 px.
RUN_COLUMNS = (
    Column("Run", "integer", width=45),
    Column("Kind", width=66),
    Column("Judge version", width=120),
    Column("State", width=85),
    Column("Asked", "count", width=60),
    Column("ok", "count", width=60),
    Column("unparsable", "count", width=82),
    Column("refused", "count", width=62),
    Column("error", "count", width=52),
    Column("not reached", "count", width=85),
    Column("Selected", "count", width=75),
    Column("Usable", "number"),
    Column("Cost", width=75, right=True),
    Column("Took", width=90),
    Column("By", width=85),
    Column("Why", width=205, help="Why the run stopped, or how long it has stored no result"),
)


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run with its counts; ``heard_at`` is the time of its latest verdict."""

    run: StoredRun
    counts: Counts
    heard_at: datetime | None

    @property
    def failed(self) -> int:
        """Calls without a usable verdict."""
        return self.counts.asked - self.counts.ok

    @property
    def not_reached(self) -> int | None:
        """Selected answers that were not asked about; None for an import."""
        return None if self.run.selected is None else max(0, self.run.selected - self.counts.asked)


def run_table(lines: Sequence[RunLine], now: datetime) -> RunLine:
    """Show the runs and return the selected one; at first the newest."""
    usable = st.column_config.ProgressColumn(
        width=105, min_value=0, max_value=100, format="%.1f %%", color="primary", help="ok as a share of asked"
    )
    key = f"runs_{lines[0].run.id}_{len(lines)}"
    return lines[choose_row(run_rows(lines, now), key=key, most=10, columns={"Usable": usable})]


def run_rows(lines: Sequence[RunLine], now: datetime) -> Table:
    """Return runs as a table; ``Usable`` in percent."""
    return Table(RUN_COLUMNS, tuple(_run_cells(line, now) for line in lines))


def _run_cells(line: RunLine, now: datetime) -> tuple[object, ...]:
    run, counts = line.run, line.counts
    return (
        *(run.id, run.kind, run.version_title, run.state.value),
        *(counts.asked, counts.ok, counts.unparsable, counts.refused, counts.error, line.not_reached, run.selected),
        100 * counts.ok / counts.asked if counts.asked else None,
        *(money(line.counts.total_cost_micro), took_words(line, now), run.actor, why_words(line, now)),
    )


def why_words(line: RunLine, now: datetime) -> str | None:
    """Return why a run is in its state, or for how long a running one has stored nothing."""
    run = line.run
    if run.state is RunState.RUNNING:
        silent = now - (line.heard_at or run.started_at)
        return f"no verdict for {duration(silent.total_seconds())}" if silent > SILENT else None
    return None if run.state is RunState.DONE else run.why_stopped or None


def took_words(line: RunLine, now: datetime) -> str:
    """Return how long a run took; without an end, until its last verdict."""
    run = line.run
    end = run.finished_at or line.heard_at or now.astimezone(UTC)
    return duration(max(0.0, (end - run.started_at).total_seconds()))


PROBLEM_COLUMNS = (
    Column("Status", width=95),
    Column("Reason", width=395),
    Column("Steps", "count", width=75),
    Column("Example", width=125, help="Opens the answer or the pair"),
)
OF_ANSWERS = ("judge", "rejudge")
NOT_OK = ("error", "refused", "unparsable")


def problems(line: RunLine, now: datetime) -> None:
    """Show why calls of a run failed, and what to do."""
    run = line.run
    why = why_words(line, now)
    state = f"This run is {run.state.value}: {why.rstrip('.')}." if why else None
    if line.failed:
        heading(f"Run {run.id}: {line.failed:,} of {line.counts.asked:,} failed")
        if state:
            caption(state)
        with reading() as connection:
            _problem_table(run.id, run_problems(connection, run.id))
    else:
        heading(f"Run {run.id}: no failures")
        caption(state, asked_words(line))
    if run.version_id is not None:
        _buttons(line, run.version_id)


def asked_words(line: RunLine) -> str:
    """Return what a run without failures did; only runs over the log make one call per answer."""
    asked = line.counts.asked
    if not asked:
        return "No calls yet."
    if line.run.kind == "import":
        return f"{count(asked, 'verdict')} imported, all usable."
    if line.run.kind in OF_ANSWERS:
        return f"{count(asked, 'answer')} judged, all with a usable verdict."
    several = " A case can take several calls: its answer and each judgment." if line.run.kind == "suite" else ""
    return f"{count(asked, 'call')}, all with a usable reply.{several}"


def _problem_table(run_id: int, problems: Sequence[RunProblem]) -> None:
    rows = tuple((each.status, one_line(each.reason) or "no reason", each.steps, each.example) for each in problems)
    key = f"problems_{run_id}_{len(problems)}"
    targets = [_example_rows(each) for each in problems]
    table(Table(PROBLEM_COLUMNS, rows), targets, key=key, name=f"run_{run_id}_problems", most=8)


def _example_rows(run_problem: RunProblem) -> Rows:
    if run_problem.response_id is not None:
        return item(run_problem.response_id)
    return Rows("runs", {}) if run_problem.pair_id is None else Rows("pairs", {"pair": str(run_problem.pair_id)})


def _buttons(line: RunLine, version_id: int) -> None:
    """Show the buttons: retry the failed calls, open their answers, see what changed."""
    with st.container(key="run_ways", horizontal=True, gap="small", vertical_alignment="center"):
        if line.failed:
            reason = _retry(line, version_id)
            if reason is not None:
                show(tag("div", reason, cls="jb-cap"), width="content")
            failed = RowFilter(judge_version=version_id, statuses=NOT_OK)
            open_button("Open answers without a verdict", responses(failed), key="run_open")
        if line.run.kind == "rejudge" and line.counts.ok:
            open_button("Show changes", Rows("rejudge", {"run": str(line.run.id)}), key="run_changes")


def _retry(line: RunLine, version_id: int) -> str | None:
    """Show the button that judges again all answers on which this version has no usable verdict, or return why not."""
    if not permitted(Action.REJUDGE_MANY):
        return why_not(Action.REJUDGE_MANY, role_of(signed_in()))
    where = line.run.selection.where if line.run.selection else RowFilter()
    try:
        with reading() as connection:
            spec = judge_spec(connection, get_version(connection, version_id))
        if spec is None:
            return "This judge version cannot be used from this page."
        estimate = estimate_calls(seen(), judge=spec, where=where, mode="failed")
    except JudgeboardError as error:
        problem(str(error))
        return None
    if not estimate.calls:
        return "All of these answers have a usable verdict now."
    reviewer = ask_reviewer("Your name is stored with the job.")
    if reviewer is not None and st.button(
        f"Retry {count(estimate.calls, 'call')}",
        key="run_retry",
        type="primary",
        icon=":material/restart_alt:",
        wrap=False,
    ):
        try:
            job_id = request_rejudge(store(), judge=spec, where=where, mode="failed", estimate=estimate, actor=reviewer)
        except JudgeboardError as error:
            problem(f"The job was not started: {error}.")
            return None
        pick_rows(Rows("rejudge", {"job": job_id}))
        st.rerun()
    return None


IMPORT_COLUMNS = (
    Column("File", width=178),
    Column("Stored", "count", width=62),
    Column("Rejected", "count", width=72),
    Column("Differing", "count", width=75, help="Rejected: another row is stored under the same id"),
    Column("Kind", width=82),
    Column("At", width=110),
    Column("By", width=78),
)


def imports_table(batches: Sequence[ImportBatch]) -> None:
    """Show imports, newest first."""
    heading("Imports")
    if not batches:
        caption("No imports yet. Import a file: `judgeboard import FILE`")
        return
    table(
        import_rows(batches), key=f"imports_{batches[0].id}", name="imports", under=(where_rejected(batches),), most=8
    )


def import_rows(batches: Sequence[ImportBatch]) -> Table:
    """Return imports as a table; an interrupted import has no counts."""
    rows = []
    for batch in batches:
        counts = batch.counts or {}
        numbers = (counts.get(name) for name in ("new", "rejected", "conflicts"))
        rows.append((batch.file, *numbers, batch.kind, when(batch.at), batch.actor))
    return Table(IMPORT_COLUMNS, tuple(rows))


def where_rejected(batches: Sequence[ImportBatch]) -> str:
    """Return where the rejected rows are, and how to complete interrupted imports."""
    sentences = []
    if any((batch.counts or {}).get("rejected") for batch in batches):
        sentences.append("The command writes rejected rows to FILE.rejected.jsonl, in the folder of the file.")
    if any(batch.finished_at is None for batch in batches):
        sentences.append("An import without counts was interrupted. To complete it, run the same import again.")
    return " ".join(sentences)

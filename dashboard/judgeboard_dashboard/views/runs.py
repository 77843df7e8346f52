"""The page Runs: all runs and imports, with their counts and failures, and what their calls cost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

import streamlit as st

from judgeboard.domain import Action, RunState
from judgeboard.errors import JudgeboardError
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.health.failures import DAYS, unstarted_jobs
from judgeboard.measure import notes
from judgeboard.people.permissions import role_of, why_not
from judgeboard.reports.costs import costs, costs_notes, costs_table
from judgeboard.runs.jobs import estimate_calls, judge_spec, open_jobs
from judgeboard.store.clock import utc_now
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import get_version
from judgeboard.store.run_steps import RunProblem, run_problems
from judgeboard.store.runs import Counts, StoredRun, last_verdicts, list_runs, run_counts
from judgeboard.store.storing import list_batches
from judgeboard.store.tables import ImportBatch
from judgeboard.text import money
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.session import page, problem, reading, seen, signed_in, stacking_columns, store
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.long_work import SILENT
from judgeboard_dashboard.widgets.navigation import Rows, follow, item, open_button, responses
from judgeboard_dashboard.widgets.rejudge_form import job_button
from judgeboard_dashboard.widgets.tables import choose_row, csv_button, one_line, table
from judgeboard_dashboard.widgets.texts import caption, count, duration, heading, note, sentence, when

PAGE_SIZE = 50
MOST_UNSTARTED = 3
OF_ANSWERS = ("judge", "rejudge", "anchors")
NOT_OK = ("error", "refused", "unparsable")
_BEFORE = "runs_before"


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run with its counts at the time ``now``; ``heard_at`` is the time of its latest verdict."""

    run: StoredRun
    counts: Counts
    heard_at: datetime | None
    now: datetime

    @property
    def failed(self) -> int:
        """Calls without a usable verdict."""
        return self.counts.asked - self.counts.ok

    @property
    def not_reached(self) -> int | None:
        """Selected answers that were not asked about; None for an import."""
        return None if self.run.selected is None else max(0, self.run.selected - self.counts.asked)

    @property
    def can_continue(self) -> bool:
        """Whether a job would go on with it: not with the run of a rule, which has no last answer, nor with a limit."""
        selection = self.run.selection
        if self.run.state is not RunState.STOPPED or selection is None:
            return False
        return selection.up_to > 0 and selection.limit is None

    @property
    def took(self) -> str:
        """The duration of the run. If it has no end, the duration until its last verdict."""
        end = self.run.finished_at or self.heard_at or self.now
        return duration(max(0.0, (end - self.run.started_at).total_seconds()))

    @property
    def why(self) -> str | None:
        """Why the run stopped, or how long it has stored no verdict if it is running."""
        if self.run.state is RunState.RUNNING:
            silent = self.now - (self.heard_at or self.run.started_at)
            return f"no verdict for {duration(silent.total_seconds())}" if silent > SILENT else None
        return None if self.run.state is RunState.DONE else self.run.why_stopped or None


# The columns up to the state, and the counts that add up, fit into 800 px.
RUN_COLUMNS: Columns[RunLine] = {
    Column("Run", "integer", width=45): lambda line: line.run.id,
    Column("Kind", width=66): lambda line: line.run.kind,
    Column("Judge version", width=120): lambda line: line.run.version_title,
    Column("State", width=85): lambda line: line.run.state.value,
    Column("Asked", "count", width=60): lambda line: line.counts.asked,
    Column("ok", "count", width=60): lambda line: line.counts.ok,
    Column("unparsable", "count", width=82): lambda line: line.counts.unparsable,
    Column("refused", "count", width=62): lambda line: line.counts.refused,
    Column("error", "count", width=52): lambda line: line.counts.error,
    Column("not reached", "count", width=85): lambda line: line.not_reached,
    Column("Selected", "count", width=75): lambda line: line.run.selected,
    Column("Usable", "number", width=105): lambda line: (
        100 * line.counts.ok / line.counts.asked if line.counts.asked else None
    ),
    Column("Cost", width=75, right=True): lambda line: money(line.counts.total_cost_micro),
    Column("Took", width=90): lambda line: line.took,
    Column("By", width=85): lambda line: line.run.actor,
    Column(
        "Why",
        width=205,
        help="Why the run ended early, or how long it has stored no result. Select the run to read all of it.",
    ): lambda line: line.why,
}
PROBLEM_COLUMNS: Columns[RunProblem] = {
    Column("Status", width=95): lambda failed: failed.status,
    Column("Reason", width=395): lambda failed: one_line(failed.reason) or "no reason",
    Column("Steps", "count", width=75): lambda failed: failed.steps,
    Column("Example", width=125, help="Opens the answer or the pair"): lambda failed: failed.example,
}


def _rows(result: str) -> Callable[[ImportBatch], int | None]:
    """Return the function that counts an import's rows with a result. An import that is not finished has no counts."""
    return lambda batch: (batch.counts or {}).get(result)


IMPORT_COLUMNS: Columns[ImportBatch] = {
    Column("File", width=120): lambda batch: batch.file,
    Column("Stored", "count", width=62): _rows("new"),
    Column("Rejected", "count", width=68): _rows("rejected"),
    Column("Other content", "count", width=98, help="Rejected: another row is stored under the same id"): _rows(
        "conflicts"
    ),
    Column("Kind", width=75): lambda batch: batch.kind,
    Column("At", width=95): lambda batch: when(batch.at),
    Column("By", width=60): lambda batch: batch.actor,
    Column("Undone", width=92): lambda batch: None if batch.undone_at is None else when(batch.undone_at),
}


def runs() -> None:
    """Show the runs, newest first, and the failures of the selected one."""
    follow("runs", own=())
    lines = _lines(st.session_state.get(_BEFORE))
    with reading() as connection:
        batches = list_batches(connection)
    _unstarted(lines)
    if not lines:
        empty_page("runs", "No runs yet. Each run of a judge is listed here, with its calls, failures and cost.")
        _imports(batches)
        return
    _open_jobs()
    counts = (
        "In every row: asked = ok + unparsable + refused + error. “Not reached” counts selected answers without a call."
    )
    show(tag("div", counts, cls="jb-say"))
    usable = st.column_config.ProgressColumn(
        width=105, min_value=0, max_value=100, format="%.1f %%", color="primary", help="ok as a share of asked"
    )
    key = f"runs_{lines[0].run.id}_{len(lines)}"
    chosen = lines[choose_row(Table.of(lines, RUN_COLUMNS), key=key, most=10, columns={"Usable": usable})]
    _foot(lines)
    left, right = stacking_columns("runs", [1.04, 1])
    with left:
        _problems(chosen)
    with right:
        _imports(batches)
    _cost()


def _lines(before: int | None, limit: int = PAGE_SIZE) -> list[RunLine]:
    now = utc_now()
    with reading() as connection:
        stored_runs = list_runs(connection, before_id=before, limit=limit)
        counts = run_counts(connection, [run.id for run in stored_runs])
        heard = last_verdicts(connection, [run.id for run in stored_runs if run.state is RunState.RUNNING])
    return [RunLine(run, counts[run.id], heard.get(run.id), now) for run in stored_runs]


def _open_jobs() -> None:
    for job in open_jobs(store()):
        with st.container(key=f"going_{job.id}", horizontal=True, vertical_alignment="center", gap="small"):
            progress = (
                f" · {job.asked:,} of {job.selected:,} judged" if job.run_id else f" · {count(job.selected, 'answer')}"
            )
            show(tag("div", tag("b", f"A job is {job.state}"), f" · {job.actor}{progress}", cls="jb-note jb-line"))
            open_button("Open job", Rows("rejudge", {"job": job.id}), key=f"watch_{job.id}", type="tertiary")


def _unstarted(lines: list[RunLine]) -> None:
    """Show the newest jobs that could not start since the newest run began: they have no run."""
    if st.session_state.get(_BEFORE) is not None:  # earlier runs
        return
    since = lines[0].run.started_at if lines else utc_now() - timedelta(days=DAYS)
    with reading() as connection:
        unstarted = list(islice(unstarted_jobs(connection, since), MOST_UNSTARTED))
    for failure in unstarted:
        with st.container(
            key=f"unstarted_{failure.subject}", horizontal=True, vertical_alignment="center", gap="small"
        ):
            note(failure.words, lead=failure.lead)
            open_button(
                "Open job", Rows("rejudge", {"job": failure.subject}), key=f"see_{failure.subject}", type="tertiary"
            )


def _foot(lines: list[RunLine]) -> None:
    with st.container(key="runs_foot", horizontal=True, vertical_alignment="center", gap="small"):
        show(tag("div", f"Runs {lines[-1].run.id}–{lines[0].run.id}", cls="jb-cap jb-line"))
        csv_button(lambda: Table.of(_lines(None, 100_000), RUN_COLUMNS), "runs", key="runs_csv")
        if st.session_state.get(_BEFORE) is not None:
            st.button("Newest", key="runs_newest", type="tertiary", on_click=_turn, args=(None,), wrap=False)
        if len(lines) == PAGE_SIZE:
            st.button(
                "Earlier", key="runs_earlier", type="tertiary", on_click=_turn, args=(lines[-1].run.id,), wrap=False
            )


def _turn(before: int | None) -> None:
    st.session_state[_BEFORE] = before


def _problems(line: RunLine) -> None:
    run = line.run
    ended_early = run.state in {RunState.STOPPED, RunState.INTERRUPTED}
    failures = f"{line.failed:,} of {line.counts.asked:,} failed" if line.failed else None
    heading(f"Run {run.id}: {failures or (run.state.value if ended_early else 'no failures')}")
    if line.why:  # the column Why has no room for a whole sentence, and none at all in a narrow window
        note(f"{line.why.rstrip('.')}.", lead=f"This run is {run.state.value}:")
    if line.failed:
        with reading() as connection:
            problems = run_problems(connection, run.id)
        targets = [_example_rows(each) for each in problems]
        key, name = f"problems_{run.id}_{len(problems)}", f"run_{run.id}_problems"
        table(Table.of(problems, PROBLEM_COLUMNS), targets, key=key, name=name, most=8)
    else:
        caption(asked_note(line))
    if run.version_id is not None:
        _buttons(line, run.version_id)


def asked_note(line: RunLine) -> notes.Note:
    """Describe the calls of a run without failures. Only runs over the log make one call per answer."""
    asked, kind = line.counts.asked, line.run.kind
    if not asked:
        return notes.note("not_called")
    code = "verdicts_imported" if kind == "import" else "answers_judged" if kind in OF_ANSWERS else "calls_usable"
    return notes.note("suite_calls" if kind == "suite" else code, n=asked)


def _example_rows(run_problem: RunProblem) -> Rows:
    if run_problem.response_id is not None:
        return item(run_problem.response_id)
    return Rows("runs", {}) if run_problem.pair_id is None else Rows("pairs", {"pair": str(run_problem.pair_id)})


def _buttons(line: RunLine, version_id: int) -> None:
    with st.container(key="run_ways", horizontal=True, gap="small", vertical_alignment="center"):
        if line.failed and line.run.kind != "anchors":  # the next run judges all anchors again
            _job_button(line, version_id, "failed", "Retry", key="run_retry")
            failed = RowFilter(judge_version=version_id, statuses=NOT_OK)
            open_button("Open answers without a verdict", responses(failed), key="run_open")
        elif line.can_continue and line.run.selection is not None:
            _job_button(line, version_id, line.run.selection.mode, "Try again with", key="run_again")
        if line.run.kind == "rejudge" and line.counts.ok:
            open_button("Show changes", Rows("rejudge", {"run": str(line.run.id)}), key="run_changes")


def _job_button(line: RunLine, version_id: int, mode: str, label: str, *, key: str) -> None:
    """Show the button that asks this version again about answers of a run, or why it is missing."""
    reason = _why_no_job(line, version_id, mode, label, key)
    if reason is not None:
        show(tag("div", reason, cls="jb-cap"), width="content")


def _why_no_job(line: RunLine, version_id: int, mode: str, label: str, key: str) -> str | None:
    if not permitted(Action.REJUDGE_MANY):
        return why_not(Action.REJUDGE_MANY, role_of(signed_in()))
    where = line.run.selection.where if line.run.selection else RowFilter()
    try:
        with reading() as connection:
            spec = judge_spec(connection, get_version(connection, version_id))
        if spec is None:
            return "This judge version cannot be used from this page."
        estimate = estimate_calls(seen(), judge=spec, where=where, mode=mode)
    except JudgeboardError as error:
        problem(str(error))
        return None
    if not estimate.calls:
        return "All of these answers have a usable verdict now."
    calls = count(estimate.calls, "call")
    job_button(f"{label} {calls}", estimate, key=key, spec=spec, where=where, mode=mode)
    return None


def _cost() -> None:
    """Show what the calls of the last quarter cost, by purpose and judge version."""
    heading("Cost")
    with reading() as connection:
        shown = costs(connection, utc_now())
    sentence(notes.paragraph(costs_notes(shown)))
    if shown.lines:
        under = ("A week begins on Monday, UTC. All calls of a run count in the week in which the run started.",)
        table(
            costs_table([shown.total, *shown.lines]), key=f"costs_{len(shown.lines)}", name="costs", under=under, most=8
        )


def _imports(batches: Sequence[ImportBatch]) -> None:
    """Show imports, newest first. Explain where rejected rows are and how to complete interrupted imports."""
    heading("Imports")
    if not batches:
        caption("No imports yet. Import a file: `judgeboard import FILE`")
        return
    rejected = any((batch.counts or {}).get("rejected") for batch in batches)
    unfinished = any(batch.finished_at is None for batch in batches)
    under = (
        "The command writes rejected rows to FILE.rejected.jsonl, in the folder of the file." if rejected else None,
        "An import without counts is not finished. If it was interrupted, run the same import again."
        if unfinished
        else None,
    )
    rows, key = Table.of(batches, IMPORT_COLUMNS), f"imports_{batches[0].id}"
    table(rows, key=key, name="imports", under=under, most=8)


with page():
    runs()

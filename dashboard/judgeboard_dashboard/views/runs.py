"""The page Runs: the latest runs with counts and failures, and the cost of calls."""

from dataclasses import dataclass
from datetime import datetime

from judgeboard.domain import Action, RunState
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.measure import notes
from judgeboard.reports.costs import costs, costs_notes, costs_table
from judgeboard.runs.jobs import recent_jobs
from judgeboard.store.clock import utc_now
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import get_version, version_titles
from judgeboard.store.run_steps import RunProblem, run_problems
from judgeboard.store.runs import (
    Counts,
    last_verdicts,
    list_runs,
    run_counts,
    selection_of,
)
from judgeboard.store.tables import Run
from judgeboard.text import money
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.session import in_row, page, read, reading, seen
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.long_work import SILENT
from judgeboard_dashboard.widgets.navigation import Rows, follow, item, open_button, responses
from judgeboard_dashboard.widgets.rejudge_form import judge_in_job, state_words
from judgeboard_dashboard.widgets.tables import choose_row, foot, one_line, table
from judgeboard_dashboard.widgets.texts import count, duration, heading, note, sentence

MOST = 50
NOT_OK = ("error", "refused", "unparsable")


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run with counts at the time ``now``; ``heard_at`` is the time of the latest verdict."""

    run: Run
    judge: str | None
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
        """Whether a job can continue the run.

        The run of a rule, which has no last answer, and a run with a limit cannot be continued.
        """
        selection = selection_of(self.run)
        if self.run.state is not RunState.STOPPED or selection is None:
            return False
        return selection.up_to > 0 and selection.limit is None

    @property
    def took(self) -> str:
        """The duration of the run; without an end, the duration until the last verdict."""
        end = self.run.finished_at or self.heard_at or self.now
        return duration(max(0.0, (end - self.run.started_at).total_seconds()))

    @property
    def why(self) -> str | None:
        """Why the run stopped, or for how long a running run has stored no verdict."""
        if self.run.state is RunState.RUNNING:
            silent = self.now - (self.heard_at or self.run.started_at)
            return f"no verdict for {duration(silent.total_seconds())}" if silent > SILENT else None
        return None if self.run.state is RunState.DONE else self.run.why_stopped or None


# The columns up to the state, and the counts that add up, fit into 800 px.
RUN_COLUMNS: Columns[RunLine] = {
    Column("Run", "integer", width=45): lambda line: line.run.id,
    Column("Kind", width=66): lambda line: line.run.kind,
    Column("Judge version", width=120): lambda line: line.judge,
    Column("State", width=85): lambda line: line.run.state.value,
    Column("Asked", "count", width=60): lambda line: line.counts.asked,
    Column("Ok", "count", width=60): lambda line: line.counts.ok,
    Column("Unparsable", "count", width=82): lambda line: line.counts.unparsable,
    Column("Refused", "count", width=62): lambda line: line.counts.refused,
    Column("Error", "count", width=52): lambda line: line.counts.error,
    Column("Not reached", "count", width=85): lambda line: line.not_reached,
    Column("Selected", "count", width=75): lambda line: line.run.selected,
    Column("Usable", "share", width=105, help="ok as a share of asked", bar=True): lambda line: (
        line.counts.ok / line.counts.asked if line.counts.asked else None
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
COUNTS = "Asked = ok + unparsable + refused + error. “Not reached” counts selected answers without a call."
PROBLEM_COLUMNS: Columns[RunProblem] = {
    Column("Status", width=95): lambda failed: failed.status,
    Column("Reason", width=395): lambda failed: one_line(failed.reason) or "no reason",
    Column("Steps", "count", width=75): lambda failed: failed.steps,
    Column("Example", width=125, help="Opens the answer or the pair"): lambda failed: (
        failed.example
    ),
}


def runs() -> None:
    """Show the jobs without a result, the latest runs, the failures of one run, and the cost of calls."""
    follow("runs", own=())
    lines = _lines(MOST)
    # The jobs that have not ended, and jobs that could not start since the newest run began.
    newest_start = max((line.run.started_at for line in lines), default=None)
    for job in recent_jobs(seen()):
        has_failed = (
            job.state == "failed"
            and job.run_id is None
            and (newest_start is None or job.created_at > newest_start)
        )
        if has_failed or not job.finished:
            with in_row(f"job_{job.id}"):
                note(state_words(job), lead=f"Job of {job.actor}: {count(job.selected, 'answer')}.")
                open_button(
                    "Open job",
                    Rows("rejudge", {"job": job.id}),
                    key=f"watch_{job.id}",
                    type="tertiary",
                )
    if not lines:
        empty_page(
            "No runs yet. Each run of a judge is listed here, with its calls, failures and cost."
        )
        return
    key = f"runs_{lines[0].run.id}_{len(lines)}"
    selected_line = lines[choose_row(Table.of(lines, RUN_COLUMNS), key=key, most=10)]
    newest = f"The latest {MOST}; the CSV file has all." if len(lines) == MOST else None
    foot(lambda: Table.of(_lines(100_000), RUN_COLUMNS), "runs", COUNTS, newest)
    _problems(selected_line)
    # Show what the calls of the last quarter cost, by purpose and judge version.
    heading("Cost")
    cost_figures = read(costs, utc_now())
    sentence(notes.paragraph(costs_notes(cost_figures)))
    if cost_figures.lines:
        under = (
            "A week begins on Monday, UTC. All calls of a run count in the week in which the run started.",
        )
        table(
            costs_table([cost_figures.total, *cost_figures.lines]),
            key=f"costs_{len(cost_figures.lines)}",
            name="costs",
            under=under,
            most=8,
        )


def _lines(limit: int) -> list[RunLine]:
    now = utc_now()
    with reading() as connection:
        stored_runs = list_runs(connection, limit=limit)
        counts = run_counts(connection, [run.id for run in stored_runs])
        titles = version_titles(connection)
        heard = last_verdicts(
            connection, [run.id for run in stored_runs if run.state is RunState.RUNNING]
        )
    return [
        RunLine(run, titles.get(run.judge_version_id or 0), counts[run.id], heard.get(run.id), now)
        for run in stored_runs
    ]


def _problems(line: RunLine) -> None:
    run = line.run
    ended_early = run.state in {RunState.STOPPED, RunState.INTERRUPTED}
    failed_words = f"{line.failed:,} of {line.counts.asked:,} failed" if line.failed else None
    heading(f"Run {run.id}: {failed_words or (run.state.value if ended_early else 'no failures')}")
    if (
        line.why
    ):  # the column Why has no room for a whole sentence, and none at all in a narrow window
        note(f"{line.why.rstrip('.')}.", lead=f"This run is {run.state.value}:")
    problems = read(run_problems, run.id) if line.failed else []
    if problems:
        targets = [
            item(each.response_id)
            if each.response_id is not None
            else (Rows("pairs", {"pair": str(each.pair_id)}) if each.pair_id else Rows("runs", {}))
            for each in problems
        ]
        key, name = f"problems_{run.id}_{len(problems)}", f"run_{run.id}_problems"
        table(Table.of(problems, PROBLEM_COLUMNS), targets, key=key, name=name, most=8)
    if run.judge_version_id is None:
        return
    # Buttons open answers of the run, or judge them again with its judge version.
    version_id, selection = run.judge_version_id, selection_of(run)
    if run.kind == "rejudge" and line.counts.ok:
        open_button("Show changes", Rows("verdicts", {"run": str(run.id)}), key="run_changes")
    # Not for a run about sampled questions: these are no answers of the log.
    if line.failed and any(each.response_id is not None for each in problems):
        failures = RowFilter(judge_version=version_id, statuses=NOT_OK)
        open_button("Open answers without a verdict", responses(failures), key="run_open")
    if selection is None or run.kind == "anchors" or not permitted(Action.REJUDGE_MANY):
        return
    if line.failed or line.can_continue:
        version = read(get_version, version_id)
        mode = "failed" if line.failed else selection.mode
        command = "judgeboard judge --rejudge failed"
        judge_in_job(
            version,
            selection.where,
            mode,
            key="run",
            verb="Retry",
            noun="answer",
            command=command,
        )


with page():
    runs()

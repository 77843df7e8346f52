"""The page Suites: the scores of a candidate's answers per run, and the comparison with a baseline."""

from collections.abc import Sequence

import streamlit as st

from judgeboard.domain import Estimate, RunState
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.measure.notes import paragraph
from judgeboard.methods.suites.gate import ComparedCase
from judgeboard.methods.suites.results import (
    CaseResult,
    SuiteRun,
    baseline_notes,
    findings,
    list_results,
    suite_result,
)
from judgeboard.stats.estimates import interval, two_decimals
from judgeboard.text import shortened
from judgeboard_dashboard.session import in_row, page, seen, stacking_columns
from judgeboard_dashboard.widgets.filters import choose
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import Rows, follow, item
from judgeboard_dashboard.widgets.tables import one_line, table
from judgeboard_dashboard.widgets.texts import caption, heading, sentence, when


def _interval(mean: Estimate) -> str | None:
    """Return the interval, or the reason why there is no value."""
    return mean.reason if mean.value is None else interval(mean)


def _question(case: CaseResult) -> str:
    return shortened(one_line(case.query) or f"case {case.case}")


def _weakest(case: CaseResult) -> tuple[str, str]:
    failed_check = next((check for check in case.checks if not check.passed), None)
    if failed_check is not None:
        return f"check {failed_check.kind}", shortened(failed_check.message or "failed")
    values = [
        (each.value, name) for name, each in case.dimensions.items() if each.value is not None
    ]
    if not values:
        return "", ""
    score, name = min(values, key=lambda pair: pair[0])
    return f"{name} {score:g}", shortened(case.dimensions[name].reasoning or "")


RUN_COLUMNS: Columns[SuiteRun] = {
    Column("Run", "integer", width=50): lambda run: run.run,
    Column("When", width=105): lambda run: when(run.at),
    Column("Candidate", width=208): lambda run: run.candidate,
    Column("Judge", width=110): lambda run: run.judge,
    Column("Average", "number", width=70): lambda run: run.average_score.value,
    Column("95 % CI", width=85): lambda run: _interval(run.average_score),
    Column("Measured", "count", width=75): lambda run: run.measured,
    Column("Cases", "count", width=57): lambda run: run.total_cases,
}
DIMENSION_COLUMNS: Columns[tuple[str, Estimate]] = {
    Column("Dimension"): lambda mean: mean[0],
    Column("Average", right=True): lambda mean: (
        None if mean[1].value is None else two_decimals(mean[1].value)
    ),
    Column("95 % CI"): lambda mean: _interval(mean[1]),
    Column("Cases", "count", width=60): lambda mean: mean[1].n,
}
FAILURE_COLUMNS: Columns[CaseResult] = {
    Column("Score", "number", width=70): lambda case: case.score,
    Column("Question", width=330): _question,
    Column("Weakest", width=110): lambda case: _weakest(case)[0],
    Column("Why", width=420): lambda case: _weakest(case)[1],
}
UNMEASURED_COLUMNS: Columns[CaseResult] = {
    Column("Question", width=330): _question,
    Column("Why"): lambda case: shortened(case.reason or ""),
}
FIELDS = ("suite", "run", "baseline")
NO_BASELINE = "No baseline"
PURPOSE = (
    "A suite asks your assistant the same questions after each change, and judges the answers."
)
RUN = "judgeboard suite run suite.yaml --candidate model:NAME --model JUDGE"
FORMAT = "The format of a suite file: `judgeboard suite run --help`"


def suites() -> None:
    """Show the runs of a suite, and one run in full."""
    follow("suites", own=FIELDS)
    everything = list_results(seen())
    if not everything:
        empty_page(PURPOSE, "No suite runs yet.", FORMAT, command=RUN)
        return
    with in_row("filters_suites", align="bottom"):
        suite = choose(
            "Suite", {run.suite: run.suite for run in everything}, key="suite", width=240
        )
        runs = [run for run in everything if run.suite == suite]
        run_id = choose("Run", {_title(run.run): run.run for run in runs}, key="run", width=130)
        finished_ids = [run.run for run in runs if run.state is RunState.DONE]
        earlier, later = (
            [run for run in finished_ids if run < run_id],
            [run for run in finished_ids if run > run_id],
        )
        baselines: dict[str, int | None] = {_title(run): run for run in (*earlier, *later)}
        baseline = choose(
            "Compare with", {**baselines, NO_BASELINE: None}, key="baseline", width=160
        )
    result = suite_result(seen(), run_id, baseline=baseline)
    sentence(paragraph(findings(result)))
    caption(f"{result.candidate}, judged by {result.judge}, {when(result.at)}.")
    left, right = stacking_columns("suites", [1.6, 1])
    with left:
        heading("All runs")
        table(
            Table.of(runs, RUN_COLUMNS),
            [Rows("suites", {"suite": run.suite, "run": _title(run.run)}) for run in runs],
            key="suite_runs",
            under=("Click a row to open the run.",),
            most=8,
        )
    with right:
        heading("By dimension")
        dimensions = Table.of(result.dimensions.items(), DIMENSION_COLUMNS)
        table(
            dimensions,
            key="suite_dimensions",
            under=("Mean score (1 to 5) over the cases with a score.",),
        )
    heading(_numbered("Cases that do not pass", result.failures))
    if result.failures:
        under = "Lowest score first. Click a row to open the answer."
        _cases(result.failures, FAILURE_COLUMNS, "suite_failures", under)
    else:
        caption("None." if result.measured else "No case was measured.")
    if result.without_score:
        heading(_numbered("Cases without a score", result.without_score))
        under = "They do not count for the average or the pass rate."
        _cases(result.without_score, UNMEASURED_COLUMNS, "suite_unmeasured", under)
    if result.baseline is not None:
        heading(f"Compared with run {baseline}")
        caption(*baseline_notes(result.baseline), *result.baseline.caveats)
        if result.baseline.cases:
            cases = {case.key: case for case in result.cases}
            changes = sorted(result.baseline.cases, key=lambda change: change.change)
            columns: Columns[ComparedCase] = {
                Column("Change", "number", width=70): lambda change: change.change,
                Column("Before", "number", width=70): lambda change: change.before,
                Column("Now", "number", width=70): lambda change: change.after,
                Column("Question", width=520): lambda change: _question(cases[change.key]),
            }
            table(
                Table.of(changes, columns),
                _case_rows([cases[change.key] for change in changes]),
                key="suite_changes",
                under=("Largest drop first. Only dimensions that both runs have are compared.",),
                columns={"Change": st.column_config.NumberColumn(format="%+.2f", width=70)},
                most=8,
            )


def _title(run_id: int) -> str:
    return f"Run {run_id}"


def _case_rows(cases: Sequence[CaseResult]) -> list[Rows | None]:
    return [None if case.response is None else item(case.response) for case in cases]


def _numbered(title: str, cases: Sequence[CaseResult]) -> str:
    return f"{title}, {len(cases):,}" if cases else title


def _cases(cases: Sequence[CaseResult], columns: Columns[CaseResult], key: str, under: str) -> None:
    table(Table.of(cases, columns), _case_rows(cases), key=key, under=(under,), most=8)


with page():
    suites()

"""The page Suites: the scores of a candidate's answers per run, and the comparison with a baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from judgeboard.domain import Estimate, RunState
from judgeboard.methods.suite_file import Baseline
from judgeboard.methods.suite_results import (
    CaseResult,
    SuiteResult,
    SuiteRun,
    baseline_sentence,
    list_results,
    result_sentence,
    score_words,
    suite_result,
)
from judgeboard.reports.tables import Column, Table
from judgeboard.stats.estimates import interval
from judgeboard_dashboard.session import page, seen
from judgeboard_dashboard.widgets.charts.intervals import HEIGHT, RunPoint, suite_runs_chart
from judgeboard_dashboard.widgets.navigation import Rows, follow, item
from judgeboard_dashboard.widgets.tables import figure, one_line, table
from judgeboard_dashboard.widgets.texts import caption, count, day, empty, heading, sentence, shortened, when

QUESTION = Column("Question", width=330)
CHANGE = {"Change": st.column_config.NumberColumn(format="%+.2f", width=80)}


def runs_table(runs: Sequence[SuiteRun]) -> Table:
    """Return the runs of a suite."""
    columns = (
        Column("Run", "integer", width=50),
        Column("When", width=105),
        Column("State", width=85),
        Column("Candidate", width=130),
        Column("Judge", width=85),
        Column("Average", "number", width=70),
        Column("95 %", width=95),
        Column("Measured", "count", width=75),
        Column("Cases", "count", width=57),
    )
    rows = (
        (
            *(suite_run.run, when(suite_run.at), suite_run.state.value, suite_run.candidate, suite_run.judge),
            *(suite_run.average_score.value, _interval(suite_run.average_score)),
            *(suite_run.measured, suite_run.total_cases),
        )
        for suite_run in runs
    )
    return Table(columns, tuple(rows))


def dimensions_table(dimensions: Mapping[str, Estimate]) -> Table:
    """Return the mean of each dimension."""
    columns = (Column("Dimension"), Column("Average", "number"), Column("95 %"), Column("Cases", "count", width=60))
    rows = ((name, mean.value, _interval(mean), mean.n) for name, mean in dimensions.items())
    return Table(columns, tuple(rows))


def _interval(mean: Estimate) -> str | None:
    """Return the interval, or the reason where there is no value."""
    return mean.reason if mean.value is None else interval(mean)


def failures_table(failures: Sequence[CaseResult]) -> Table:
    """Return the cases that do not pass: the question, the weakest dimension, and the judge's reason."""
    columns = (Column("Score", "number", width=70), QUESTION, Column("Weakest", width=110), Column("Why", width=420))
    return Table(columns, tuple((case.score, _question(case), *_weakest(case)) for case in failures))


def unmeasured_table(cases: Sequence[CaseResult]) -> Table:
    """Return the cases without a score, with the reason."""
    rows = ((_question(case), shortened(case.reason or "")) for case in cases)
    return Table((QUESTION, Column("Why")), tuple(rows))


def changes_table(result: SuiteResult, baseline: Baseline) -> tuple[Table, list[int | None]]:
    """Return the cases of both runs, the largest drop first, and the response of each row."""
    by_key = {case.key: case for case in result.cases}
    ordered = sorted(baseline.cases, key=lambda change: change.change)
    columns = (Column("Change", "number"), *(Column(name, "number", width=70) for name in ("Before", "Now")), QUESTION)
    rows = ((case.change, case.before, case.after, _question(by_key[case.key])) for case in ordered)
    return Table(columns, tuple(rows)), [by_key[case.key].response for case in ordered]


def _question(case: CaseResult) -> str:
    return shortened(one_line(case.query) or f"case {case.case}")


def _weakest(case: CaseResult) -> tuple[str, str]:
    failed = next((check for check in case.checks if not check.passed), None)
    if failed is not None:
        return f"check {failed.kind}", shortened(failed.message or "failed")
    scored = [(given.score, name) for name, given in case.dimensions.items() if given.score is not None]
    if not scored:
        return "", ""
    score, name = min(scored, key=lambda pair: pair[0])
    return f"{name} {score:g}", shortened(case.dimensions[name].reasoning or "")


FIELDS = ("suite", "run", "baseline", "tables")
NO_BASELINE = "No baseline"
NO_SUITE = (
    "A suite shows whether a change made your assistant better or worse: it asks and judges the same questions again.",
    "No suite runs yet. To run one: `judgeboard suite run suite.yaml --candidate model:NAME --model JUDGE`",
    "The format of a suite file: `judgeboard suite run --help`",
)
MOST_DRAWN = 30


@dataclass(frozen=True, slots=True)
class Filters:
    """The choices in the filter row: a suite's runs (newest first), one of them, and the baseline."""

    runs: Sequence[SuiteRun]
    run_id: int
    baseline: int | None
    as_tables: bool


def suites() -> None:
    """Show one run of a suite, and the others."""
    follow("suites", own=FIELDS)
    everything = list_results(seen())
    if not everything:
        empty(*NO_SUITE)
        return
    filters = _filters(everything)
    result = suite_result(seen(), filters.run_id, baseline=filters.baseline)
    sentence(result_sentence(result))
    caption(f"{result.candidate}, judged by {result.judge}, {when(result.at)}.")
    with st.container(key="stack_suites"):
        left, right = st.columns([1.6, 1], gap="medium")
    with left:
        _trend(filters)
    with right:
        _dimensions(result)
    _failures(result)
    _unmeasured(result)
    _comparison(filters, result)
    _runs(filters)


def _filters(everything: Sequence[SuiteRun]) -> Filters:
    with st.container(key="filters_suites", horizontal=True, vertical_alignment="bottom", gap="small"):
        names = list(dict.fromkeys(one.suite for one in everything))
        name = st.selectbox("Suite", names, key="suite", bind="query-params", width=240)
        runs = [one for one in everything if one.suite == (name or names[0])]
        titles = {_title(one.run): one for one in runs}
        chosen = titles.get(
            st.selectbox("Run", list(titles), key="run", bind="query-params", width=130) or "", runs[0]
        ).run
        earlier = [one for one in runs if one.run < chosen and one.state is RunState.DONE]
        later = [one for one in runs if one.run > chosen and one.state is RunState.DONE]
        baselines = {_title(one.run): one.run for one in (*earlier, *later)}
        against = st.selectbox(
            "Compare with", [*baselines, NO_BASELINE], key="baseline", bind="query-params", width=160
        )
        st.space("stretch")
        as_tables = st.toggle("Tables", key="tables", bind="query-params", width="content")
    return Filters(runs, chosen, baselines.get(against or ""), as_tables)


def _title(run_id: int) -> str:
    return f"Run {run_id}"


def _this_page(one: SuiteRun) -> Rows:
    return Rows("suites", {"suite": one.suite, "run": _title(one.run)})


def _trend(filters: Filters) -> None:
    heading("Average score per run")
    drawn = list(reversed(filters.runs[:MOST_DRAWN]))
    points = [RunPoint(one.run, day(one.at), _tip(one), one.average_score, one.threshold) for one in drawn]
    more = len(filters.runs) - len(drawn)
    figure(
        lambda: suite_runs_chart(points, filters.run_id),
        HEIGHT,
        runs_table(drawn),
        [_this_page(one) for one in drawn],
        key="suite_trend",
        says=f"Average score (1 to 5) of {count(len(drawn), 'run')}, with 95 % interval",
        as_table=filters.as_tables,
        under=(
            "Short lines show the threshold of each run. Click a run to open it.",
            f"The newest {len(drawn)} of {len(filters.runs)} runs." if more else None,
        ),
    )


def _tip(one: SuiteRun) -> str:
    value = score_words(one.average_score.value)
    return f"run {one.run}, {one.candidate}, {when(one.at)}: {value} on {one.measured} cases"


def _dimensions(result: SuiteResult) -> None:
    heading("By dimension")
    rows = dimensions_table(result.dimensions)
    table(
        rows,
        [None] * len(rows.rows),
        key="suite_dimensions",
        under=("Mean score (1 to 5) over the cases with a score.",),
    )


def _failures(result: SuiteResult) -> None:
    failures = result.failures
    heading(f"Cases that do not pass, {len(failures):,}" if failures else "Cases that do not pass")
    if not failures:
        caption("None." if result.measured else "No case was measured.")
        return
    table(
        failures_table(failures),
        [None if one.response is None else item(one.response) for one in failures],
        key="suite_failures",
        under=("Lowest score first. Click a row to open the answer.",),
        most=8,
    )


def _unmeasured(result: SuiteResult) -> None:
    cases = result.without_score
    if not cases:
        return
    heading(f"Cases without a score, {len(cases):,}")
    table(
        unmeasured_table(cases),
        [None if one.response is None else item(one.response) for one in cases],
        key="suite_unmeasured",
        under=("They do not count for the average or the pass rate.",),
        most=6,
    )


def _comparison(filters: Filters, result: SuiteResult) -> None:
    if result.baseline is None:
        return
    heading(f"Compared with run {filters.baseline}")
    caption(baseline_sentence(result.baseline), *result.baseline.caveats)
    if not result.baseline.cases:
        return
    rows, responses = changes_table(result, result.baseline)
    table(
        rows,
        [None if one is None else item(one) for one in responses],
        key="suite_changes",
        under=("Largest drop first, on the dimensions of both runs.",),
        columns=CHANGE,
        most=8,
    )


def _runs(filters: Filters) -> None:
    if filters.as_tables:  # the trend is shown as this table
        return
    heading("All runs")
    table(
        runs_table(filters.runs),
        [_this_page(one) for one in filters.runs],
        key="suite_runs",
        under=("Click a row to open the run.",),
        most=8,
    )


with page("Suites"):
    suites()

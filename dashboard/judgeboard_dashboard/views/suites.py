"""The page Suites: the scores of a candidate's answers per run, and the comparison with a baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
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
from judgeboard_dashboard.session import page, seen
from judgeboard_dashboard.widgets.charts.intervals import HEIGHT, RunPoint, suite_runs_chart
from judgeboard_dashboard.widgets.navigation import Rows, follow, item
from judgeboard_dashboard.widgets.tables import figure, frame, interval_words, table, value_words
from judgeboard_dashboard.widgets.texts import caption, count, day, empty, heading, sentence, shortened, when

SCORE = st.column_config.NumberColumn(format="%.2f", width=70)
RUN_COLUMNS: dict[str, Any] = {
    "Run": st.column_config.NumberColumn(width=50),
    "When": st.column_config.TextColumn(width=105),
    "State": st.column_config.TextColumn(width=85),
    "Candidate": st.column_config.TextColumn(width=130),
    "Judge": st.column_config.TextColumn(width=85),
    "Average": SCORE,
    "95 %": st.column_config.TextColumn(width=95),
    "Measured": st.column_config.NumberColumn(format="localized", width=75),
    "Cases": st.column_config.NumberColumn(format="localized", width=57),
}
FAILURE_COLUMNS: dict[str, Any] = {
    "Score": SCORE,
    "Question": st.column_config.TextColumn(width=330),
    "Weakest": st.column_config.TextColumn(width=110),
    "Why": st.column_config.TextColumn(width=420),
}
CHANGE_COLUMNS: dict[str, Any] = {
    "Change": st.column_config.NumberColumn(format="%+.2f", width=80),
    "Before": SCORE,
    "Now": SCORE,
    "Question": st.column_config.TextColumn(width=330),
}


def runs_table(runs: Sequence[SuiteRun]) -> pd.DataFrame:
    """Return the runs of a suite."""
    columns = dict.fromkeys(RUN_COLUMNS, "str")
    columns |= {"Run": "Int64", "Average": "Float64", "Measured": "Int64", "Cases": "Int64"}
    return frame(
        columns,
        (
            (
                one.run,
                when(one.at),
                one.state.value,
                one.candidate,
                one.judge,
                one.average_score.value,
                interval_words(one.average_score, share=False),
                one.measured,
                one.total_cases,
            )
            for one in runs
        ),
    )


def dimensions_table(dimensions: Mapping[str, Estimate]) -> pd.DataFrame:
    """Return the mean of each dimension."""
    return frame(
        {"Dimension": "str", "Average": "str", "95 %": "str", "Cases": "Int64"},
        (
            (
                name,
                value_words(mean, share=False),
                interval_words(mean, share=False),
                mean.n,
            )
            for name, mean in dimensions.items()
        ),
    )


def failures_table(failures: Sequence[CaseResult]) -> pd.DataFrame:
    """Return the cases that do not pass: the question, the weakest dimension, and the judge's reason."""
    return frame(
        {"Score": "Float64", "Question": "str", "Weakest": "str", "Why": "str"},
        ((one.score, _question(one), *_weakest(one)) for one in failures),
    )


def unmeasured_table(cases: Sequence[CaseResult]) -> pd.DataFrame:
    """Return the cases without a score, with the reason."""
    return frame({"Question": "str", "Why": "str"}, ((_question(one), shortened(one.reason or "")) for one in cases))


def changes_table(result: SuiteResult, baseline: Baseline) -> tuple[pd.DataFrame, list[int | None]]:
    """Return the cases of both runs, the largest drop first, and the response of each row."""
    by_key = {case.key: case for case in result.cases}
    ordered = sorted(baseline.cases, key=lambda one: one.change)
    rows = frame(
        {"Change": "Float64", "Before": "Float64", "Now": "Float64", "Question": "str"},
        ((one.change, one.before, one.after, _question(by_key[one.key])) for one in ordered),
    )
    return rows, [by_key[one.key].response for one in ordered]


def _question(case: CaseResult) -> str:
    return shortened(" ".join((case.query or f"case {case.case}").split()))


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
    "A suite asks your assistant the same questions after each change, and judges the answers.",
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
        columns=RUN_COLUMNS,
    )


def _tip(one: SuiteRun) -> str:
    value = score_words(one.average_score.value)
    return f"run {one.run}, {one.candidate}, {when(one.at)}: {value} on {one.measured} cases"


def _dimensions(result: SuiteResult) -> None:
    heading("By dimension")
    rows = dimensions_table(result.dimensions)
    table(
        rows,
        [None] * len(rows),
        key="suite_dimensions",
        under=("Mean score (1 to 5) over the cases with a score.",),
        columns={"Cases": st.column_config.NumberColumn(format="localized", width=60)},
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
        columns=FAILURE_COLUMNS,
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
        columns={"Question": st.column_config.TextColumn(width=330)},
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
        columns=CHANGE_COLUMNS,
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
        columns=RUN_COLUMNS,
        most=8,
    )


with page("Suites"):
    suites()

"""The tables of the Suites page: runs, dimensions, failures, cases against the baseline."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.domain import Estimate
from judgeboard.methods.suite_gate import Baseline
from judgeboard.methods.suite_results import CaseResult, SuiteResult, SuiteRun
from judgeboard_dashboard.estimates import interval_words, value_words
from judgeboard_dashboard.tables import frame
from judgeboard_dashboard.words import shortened, when

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
    """Return the runs of a suite, as given."""
    columns = dict.fromkeys(
        ("Run", "When", "State", "Candidate", "Judge", "Average", "95 %", "Measured", "Cases"), "str"
    )
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
    """Return the cases that do not pass: what was asked, the weakest dimension, and what the judge said of it."""
    return frame(
        {"Score": "Float64", "Question": "str", "Weakest": "str", "Why": "str"},
        ((one.score, _question(one), *_weakest(one)) for one in failures),
    )


def unmeasured_table(cases: Sequence[CaseResult]) -> pd.DataFrame:
    """Return the cases without a score, with the reason."""
    return frame({"Question": "str", "Why": "str"}, ((_question(one), shortened(one.reason or "")) for one in cases))


def changes_table(result: SuiteResult, baseline: Baseline) -> tuple[pd.DataFrame, list[int | None]]:
    """Return the cases of both runs, the greatest fall first, and the response that each line leads to."""
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

"""The jobs that were asked for lately, each a way to what it changed."""

from collections.abc import Sequence

import streamlit as st

from judgeboard.jobs import JobProgress
from judgeboard_dashboard.amounts import money
from judgeboard_dashboard.picking import Rows, row_clicked
from judgeboard_dashboard.rejudge.rows import job_words
from judgeboard_dashboard.saying import heading
from judgeboard_dashboard.tables import csv_button, frame, height
from judgeboard_dashboard.words import when

COLUMNS = {
    "Run": "Int64",
    "Asked": "str",
    "By": "str",
    "Judge": "str",
    "Rows": "str",
    "State": "str",
    "Answers": "Int64",
    "Usable": "Int64",
    "Cost": "str",
}


def earlier_jobs(jobs: Sequence[JobProgress]) -> None:
    """Show them, newest first; a click opens one."""
    if not jobs:
        return
    heading("Earlier jobs")
    table = frame(COLUMNS, (_cells(job) for job in jobs))
    key = f"jobs_{jobs[0].id}_{len(jobs)}"
    st.dataframe(
        table,
        key=key,
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(table), most=6),
        selection_mode="single-cell",
        on_select=row_clicked(key, [Rows("rejudge", {"job": job.id}) for job in jobs]),
        column_config={
            "Run": st.column_config.NumberColumn(width=55),
            "Asked": st.column_config.TextColumn(width=110),
            "By": st.column_config.TextColumn(width=90),
            "Judge": st.column_config.TextColumn(width=120),
            "Rows": st.column_config.TextColumn(width=190),
            "State": st.column_config.TextColumn(width=130),
            "Answers": st.column_config.NumberColumn(width=75),
            "Usable": st.column_config.NumberColumn(width=70),
            "Cost": st.column_config.TextColumn(width=80, alignment="right"),
        },
    )
    csv_button(table, "jobs", key="jobs_csv")


def _cells(job: JobProgress) -> tuple[object, ...]:
    return (
        job.run_id,
        when(job.created_at),
        job.actor,
        job.judge_title or job.judge.get("name") or job.judge["kind"],
        job_words(job.where, job.mode),
        f"{job.state}: {job.why}" if job.why and job.state != "cancelled" else job.state,
        job.selected,
        job.ok,
        money(job.cost_micro),
    )

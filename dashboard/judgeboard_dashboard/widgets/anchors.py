"""The anchors on the page Judges: whether a judge version drifts, and a button to judge the anchors again."""

import streamlit as st

from judgeboard.agreement.anchors import AnchorReport, ChangedAnchor, anchor_report, stored_anchors
from judgeboard.errors import JudgeboardError, NotFound
from judgeboard.people.permissions import Action
from judgeboard.reports.output import Column, Columns, Table
from judgeboard.runs.jobs import estimate_calls, judge_spec, open_jobs
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.runs import AskMode
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.session import problem, reading, seen, store
from judgeboard_dashboard.widgets.navigation import Rows, item, open_button
from judgeboard_dashboard.widgets.rejudge_form import job_button
from judgeboard_dashboard.widgets.rejudge_form import lead as estimate_words
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import capital, caption, count, heading, note, when

COLUMNS: Columns[ChangedAnchor] = {
    Column("Answer", width=150): lambda changed: changed.external_id,
    Column("Question", width=230): lambda changed: changed.question,
    Column("Now", width=65): lambda changed: changed.now,
    Column("People", width=65): lambda changed: changed.people,
}


def anchors_section(version: StoredVersion) -> None:
    """Show the drift of a judge version on the anchors, and the button to judge them again."""
    heading("Anchors")
    try:
        with reading() as connection:
            anchors = stored_anchors(connection).response_ids
    except NotFound as error:
        caption("Anchors are answers that a judge judges again and again, to show whether it drifts.")
        caption(capital(str(error)))
        return
    try:
        with reading() as connection:
            _report(anchor_report(connection, judge_version=version.id))
    except NotFound:
        caption(f"{version.title} has no usable verdict on the {count(len(anchors), 'anchor')} yet.")
    if permitted(Action.REJUDGE_MANY):
        _judge_again(version, RowFilter(response_ids=anchors))


def _report(report: AnchorReport) -> None:
    if report.drift:
        lead, colon, rest = report.sentence.partition(": ")
        note(rest, lead=f"{lead}{colon}")
    else:
        caption(report.sentence)
    for comparison in report.comparisons:
        caption(*comparison.sentences)
    if not report.changed:
        caption(f"Run {report.run}, {when(report.at)}.", *report.warnings)
        return
    table(
        Table.of(report.changed, COLUMNS),
        [item(changed.response_id) for changed in report.changed],
        key=f"anchors_{report.run}",
        name="anchors",
        under=(f"Verdicts that changed since the first judging, by run {report.run}.", *report.warnings),
        most=6,
    )


def _judge_again(version: StoredVersion, where: RowFilter) -> None:
    job = next((each for each in open_jobs(store()) if each.mode == AskMode.ANCHORS), None)
    if job is not None:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            caption(f"A job is {job.state}: {job.asked:,} of {count(job.selected, 'anchor')} judged.")
            open_button("Open job", Rows("rejudge", {"job": job.id}), key="anchors_job", type="tertiary")
        return
    try:
        with reading() as connection:
            spec = judge_spec(connection, version)
        if spec is None:
            caption("This judge version can judge the anchors only in a terminal: `judgeboard anchors judge --help`")
            return
        estimate = estimate_calls(seen(), judge=spec, where=where, mode=AskMode.ANCHORS)
    except JudgeboardError as error:
        problem(str(error))
        return
    caption(estimate_words(estimate))
    job_button("Judge the anchors again", estimate, key="anchors_judge", spec=spec, where=where, mode=AskMode.ANCHORS)

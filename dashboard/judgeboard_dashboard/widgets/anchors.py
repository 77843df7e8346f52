"""The section of anchors on the page Judges."""

from judgeboard.domain import Action
from judgeboard.errors import NotFound
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.methods.anchors.report import (
    ChangedAnchor,
    anchor_report,
    stored_anchors,
)
from judgeboard.registry.judge_kinds import asks_model
from judgeboard.store.filters import RowFilter
from judgeboard.store.runs import AskMode
from judgeboard.store.tables import StoredVersion
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.session import read
from judgeboard_dashboard.widgets.navigation import item
from judgeboard_dashboard.widgets.rejudge_form import judge_in_job
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import capital, caption, count, heading, note, when

ANCHOR_COLUMNS: Columns[ChangedAnchor] = {
    Column("Answer", width=150): lambda changed: changed.external_id,
    Column("Question", width=230): lambda changed: changed.question,
    Column("Now", width=65): lambda changed: changed.now,
    Column("People", width=65): lambda changed: changed.people,
}


def anchors_section(version: StoredVersion) -> None:
    """Show the drift of a judge version on the anchors, and the button to judge the anchors again."""
    if not asks_model(version.kind):
        return
    heading("Anchors")
    try:
        anchors = read(stored_anchors)
    except NotFound as error:
        caption(
            "Anchors are a fixed set of answers. A judge that judges them repeatedly shows whether it drifts."
        )
        caption(capital(str(error)))
        return
    try:
        report = read(anchor_report, judge_version=version.id)
    except NotFound:
        caption(
            f"{version.title} has no usable verdict on the {count(len(anchors), 'anchor')} yet."
        )
    else:
        if report.drift:
            note("", lead=report.headline.text)
        else:
            caption(report.headline)
        caption(f"Run {report.run}, {when(report.at)}.", *report.caveats)
        changes = report.table()
        if changes.rows:
            table(changes, key=f"drift_{report.run}")
        if report.changed:
            table(
                Table.of(report.changed, ANCHOR_COLUMNS),
                [item(anchor.response_id) for anchor in report.changed],
                key=f"anchors_{report.run}",
                name="anchors",
                under=("Verdicts that changed since the first judging.",),
                most=6,
            )
    if permitted(Action.REJUDGE_MANY):
        judge_in_job(
            version,
            RowFilter(response_ids=anchors),
            AskMode.ANCHORS,
            key="anchors",
            verb="Judge",
            noun="anchor",
            command="judgeboard test anchors judge --help",
        )

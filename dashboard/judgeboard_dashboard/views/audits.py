"""The page Audits: how well a supreme judge finds another judge's wrong verdicts, with lists of the verdicts."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from judgeboard.formats.output import Column, Columns, Table
from judgeboard.methods.audits.report import (
    ACCUSED,
    CAUGHT,
    MISSED,
    RIGHTLY_UNMARKED,
    AuditedAnswer,
    AuditReport,
    DoneAudit,
    audit_caveats,
    audit_report,
    done_audits,
    rates_table,
)
from judgeboard.store.verdict_pairs import JudgedText, judged_texts
from judgeboard_dashboard.session import page, reading, stacking_columns
from judgeboard_dashboard.theme import palette
from judgeboard_dashboard.widgets.charts.grid import Axes, Cell, grid, heat_step
from judgeboard_dashboard.widgets.filters import choose, switch, table_switch
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import Rows, follow, item
from judgeboard_dashboard.widgets.tables import figure, one_line, table
from judgeboard_dashboard.widgets.texts import caption, count, heading, sentence

EXAMPLE = (
    "The verdict is | Marked wrong | Not marked",
    "wrong | 41 caught | 9 missed",
    "right | 6 accused | 144 rightly not marked",
)
PURPOSE = "In an audit, a stronger judge (the supreme judge) reviews another judge's verdicts and marks the wrong ones."
AUDIT = "judgeboard test audit NAME --model MODEL"
RECORDED = "To compare two stored judges: `judgeboard test audit B --recorded --by A`"
MOST = 500
FIELDS = ("audited", "supreme", "list", "table")
LISTS = ("Caught", "Missed", "Accused")
MEANINGS = {
    "Caught": "The verdict is wrong according to people, and the supreme judge marked it.",
    "Missed": "The verdict is wrong according to people, but the supreme judge did not mark it.",
    "Accused": "The verdict is right according to people, but the supreme judge marked it as wrong.",
}
AUDIT_HEIGHT = 230
Line = tuple[AuditedAnswer, JudgedText | None]  # the text is None if a newer judgment exists
# The labels and the id are visible at a width of 800 px; the texts follow.
COLUMNS: Columns[Line] = {
    Column("Judge", width=105): lambda line: line[0].judge,
    Column("People", width=105): lambda line: line[0].people,
    Column("Id", width=120): lambda line: line[0].external_id,
    Column("Type", width=100): lambda line: line[1] and line[1].query_type,
    Column("Question", width=330): lambda line: one_line(line[1].question if line[1] else ""),
    Column("Answer", width=380): lambda line: one_line(line[1].answer if line[1] else ""),
}
FILE_COLUMNS: Columns[Line] = {
    Column("source"): lambda line: line[0].source,
    Column("external_id"): lambda line: line[0].external_id,
    Column("query_type"): lambda line: line[1] and line[1].query_type,
    Column("question"): lambda line: line[1] and line[1].question,
    Column("answer"): lambda line: line[1] and line[1].answer,
    Column("judge"): lambda line: line[0].judge,
    Column("people"): lambda line: line[0].people,
    Column("reasoning"): lambda line: line[1] and line[1].reasoning,
}


def audits() -> None:
    """Show one audit: four counts, three rates and the answers of the selected list."""
    follow("audits", own=FIELDS)
    with reading() as connection:
        done = done_audits(connection)
        if not done:
            empty_page("audits", PURPOSE, "No audit yet.", command=AUDIT, others=(RECORDED,), example=EXAMPLE)
            return
        with st.container(key="filters_audits", horizontal=True, vertical_alignment="bottom", gap="small"):
            of_judge: dict[str, dict[str, DoneAudit]] = {}
            for each in done:
                of_judge.setdefault(each.audited.title, {}).setdefault(each.supreme.title, each)
            of_this = choose("Audited judge", of_judge, key="audited", width=240)
            audit = choose("Supreme judge", of_this, key="supreme", width=240)
            st.space("stretch")
            table_switch()
        report = audit_report(connection, *audit, reviewed_only=True)
        sentence(report.sentence)
        caption(*audit_caveats(connection, audit, report))
        if report.headline.code == "audit_unusable":
            return
        left, right = stacking_columns("audits", [1, 1.1])
        with left:
            heading("Marks and people's grades")
            _counts(report)
        with right:
            heading("Reliability of the marks")
            _rates(report)
        # No counts in the names: the names are part of the address.
        chosen = switch("Answers", {name: name for name in LISTS}, key="list")
        answers = {"Caught": report.caught, "Missed": report.missed, "Accused": report.accused}[chosen]
        texts = judged_texts(connection, audit.audited.id, [answer.response_id for answer in answers[:MOST]])
        listed = [(answer, texts.get(answer.response_id)) for answer in answers[:MOST]]
    _list(chosen, listed, total=len(answers))


def audit_chart(report: AuditReport) -> Any:
    """Return the counts of an audit, people in the rows. Marks: caught, missed, accused, rightly not marked."""
    colours = palette()
    cells = []
    for kind, word in {CAUGHT: "caught", MISSED: "missed", ACCUSED: "accused", RIGHTLY_UNMARKED: "not marked"}.items():
        row, _, column = kind.partition(", ")
        verdicts = report.figure("n", kind).value or 0
        of_row = sum(each.value or 0 for each in report.rows if (each.slice or "").startswith(row))
        ground, ink = heat_step(verdicts / of_row, colours) if of_row else (colours.quiet[1], colours.muted)
        tip = f"{verdicts:,.0f} verdicts that are {row} by people's grades, {column}"
        cells.append(Cell(row, column, f"{verdicts:,.0f}", word, ground, ink, tip))
    return grid(cells, Axes("The verdict is", ("wrong", "right"), "Supreme judge", ("marked wrong", "not marked")))


def _counts(report: AuditReport) -> None:
    listed = dict(zip(("audited", "supreme"), report.about.judges, strict=True))
    figure(
        lambda: audit_chart(report),
        AUDIT_HEIGHT,
        report.table("n"),
        [*(Rows("audits", listed | {"list": name}) for name in LISTS), None],
        key="audit_counts",
        says=report.sentence,
        under=("Click a cell to list its answers.",),
    )


def _rates(report: AuditReport) -> None:
    marked, flags = (report.about.counts[name] for name in ("marked", "flags_raised"))
    table(
        rates_table(report),
        key="audit_rates",
        under=(
            "Intervals: 95 % CI.",
            f"{count(flags, 'flag')} on marked verdicts for people to review." if marked else None,
        ),
    )


def _list(name: str, listed: Sequence[Line], *, total: int) -> None:
    if not listed:
        caption(f"No answers in this list. {MEANINGS[name]}")
        return
    first = f"The first {len(listed):,} of " if len(listed) < total else ""
    shown = f"{first}{count(total, 'answer')}."
    table(
        Table.of(listed, COLUMNS),
        [item(answer.response_id) for answer, _ in listed],
        key=f"audit_{name.lower()}",
        under=(MEANINGS[name], shown, "Click a row to open the answer."),
        csv=Table.of(listed, FILE_COLUMNS),
    )


with page():
    audits()

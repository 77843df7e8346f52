"""The answers on which a judge version and people differ, worst first, with the texts of both."""

import secrets
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from judgeboard.domain import GRADE_TEXTS, NOTES, Label, Stage, WhyDiffers
from judgeboard.errors import JudgeboardError
from judgeboard.formats.output import Column, Columns, Format, Table
from judgeboard.measure.cells import Cell, cell_names
from judgeboard.measure.choice import GradeName
from judgeboard.measure.disagreement import (
    Disagreement,
    DisagreementPage,
    disagreement_page,
    missed_modes,
)
from judgeboard.measure.ratings import PairSource
from judgeboard.measure.result import Row
from judgeboard.reviews.changes import explain_difference
from judgeboard.store.tables import StoredVersion
from judgeboard.text import shortened
from judgeboard_dashboard.evidence import Html, show_div, tag
from judgeboard_dashboard.session import (
    current_query,
    current_reviewer,
    in_row,
    reading,
    stacking_columns,
    store,
)
from judgeboard_dashboard.widgets.filters import chip
from judgeboard_dashboard.widgets.navigation import Rows, cell_rows, go, item, open_button
from judgeboard_dashboard.widgets.tables import choose_row, foot, one_line, table
from judgeboard_dashboard.widgets.texts import (
    UNKNOWN,
    WHY_DIFFERS,
    capital,
    caption,
    count,
    heading,
    score,
)

CELL = "cell"
EXPORT_MOST = 20_000
SEEN = 8
LONGEST = 4_000  # characters of one text; the item page shows the whole text
Place = tuple[int, int]  # the indices (people, judge) of a cell of the matrix


def _notes(name: str, line: Disagreement) -> str | None:
    """Return the notes of this sort (`NOTES`), each text after the author's name."""
    texts = ((each.reviewer, each.grade.notes.get(name)) for each in line.person_reviews)
    return " | ".join(f"{reviewer}: {text}" for reviewer, text in texts if text) or None


FILE_COLUMNS: Columns[Disagreement] = {
    Column("source"): lambda line: line.judged.source,
    Column("external_id"): lambda line: line.judged.external_id,
    Column("query_type"): lambda line: line.judged.query_type,
    Column("question"): lambda line: line.judged.question,
    Column("answer"): lambda line: line.judged.answer,
    Column("judge"): lambda line: str(line.judge),
    Column("people"): lambda line: str(line.people),
    Column("difference", "number"): lambda line: line.difference,
    Column("reasoning"): lambda line: line.judged.reasoning,
    **{Column(f"{name}s"): partial(_notes, name) for name in NOTES},
}
MISSED_COLUMNS: Columns[Row] = {
    Column("Failure mode", width=220): lambda row: row.slice,
    Column("Bad answers", "count", width=100): lambda row: row.n,
    Column("Missed by the judge", "count", width=140): lambda row: round((row.value or 0) * row.n),
    Column("Share missed", "share estimate", width=260): lambda row: row.estimate,
}
_REFUSED = "why_refused"


def cell_in_address(grade: GradeName) -> Place | None:
    """Return the cell in the address, which has the form "grade:people:judge"."""
    cell_grade, *names = st.query_params.get(CELL, "").split(":")
    all_names = cell_names(grade)
    if cell_grade != grade or len(names) != 2 or not set(names) <= set(all_names):
        return None
    return all_names.index(names[0]), all_names.index(names[1])


def this_page_with(grade: GradeName, people: str, judge: str) -> Rows:
    """Return this page with a cell chosen."""
    return Rows("agreement", {**current_query(), CELL: f"{grade}:{people}:{judge}"})


def list_differing(
    page: DisagreementPage, of_all: Cell, version: StoredVersion, place: Place | None
) -> None:
    """List the answers on which judge and people differ, or the answers of a cell, and show both texts of one answer.

    ``of_all`` is the cell of all compared answers.
    """
    if place is not None:
        people, judge = (page.picture.axis[each] for each in place)
        from_ = "from " if of_all.grade == "groundedness" else ""
        with in_row("chips_cell", gap="xsmall"):
            label = f"People {from_}{people}, judge {from_}{judge}: {page.total:,}"
            chip(label, partial(go, cell=None), key="chosen_cell")
            rows = cell_rows(replace(of_all, people=people, judge=judge))
            open_button(
                "Open in Answers", rows, key="open_cell", type="tertiary", icon=":material/list:"
            )
    if not page.rows:
        caption(page.headline, "No such answer.")
        return
    left, right = stacking_columns("differing", [1.35, 1])
    with left:
        key = f"differing_{of_all.grade}_{page.rows[0].judged.response_id}_{len(page.rows)}"
        difference_column = st.column_config.NumberColumn(
            format="%+.2f" if of_all.grade == "groundedness" else "%+d",
            width=85,
            help="Judge minus people",
        )
        formats: dict[GradeName, Format] = {
            "label": "text",
            "groundedness": "number",
            "quality": "integer",
        }
        grade: dict[str, Any] = {
            "format": formats[of_all.grade],
            "width": 95 if of_all.grade == "label" else 65,
        }
        columns: Columns[Disagreement] = {
            Column("Question", width=190): lambda line: one_line(line.judged.question or ""),
            Column("Answer", width=200): lambda line: one_line(line.judged.answer or ""),
            Column("Type", width=80): lambda line: line.judged.query_type,
            Column("Judge", **grade): lambda line: line.judge,
            Column("People", **grade): lambda line: line.people,
            Column("Difference", "number", width=85): lambda line: line.difference,
        }
        place_in_list = choose_row(
            Table.of(page.rows, columns),
            key=key,
            most=SEEN,
            columns={"Difference": difference_column},
        )
        part = f"{len(page.rows):,} of " if len(page.rows) < page.total else ""
        words = f"Worst first, {part}{count(page.total, 'answer')}."
        foot(partial(_export, of_all, place), "differing", words, page.headline.text)
    with right:
        _two_texts(page.rows[place_in_list], version.title, of_all.grade)


def missed_table(of_all: Cell, version: StoredVersion) -> None:
    """Show which sorts of mistakes the judge does not notice. A click on a row opens the answers."""
    with reading() as connection:
        modes = missed_modes(PairSource(connection, of_all.counted), version.id)
    if not modes.rows:
        return
    heading("What the judge misses")
    cell = replace(
        of_all, grade="label", people=Label.HALLUCINATED.value, judge=Label.GROUNDED.value
    )
    table(
        Table.of(modes.rows, MISSED_COLUMNS),
        [cell_rows(cell, failure_mode=str(row.slice)) if row.value else None for row in modes.rows],
        key="missed_modes",
        under=(
            "Of the labelled answers alone.",
            f"Bad: people label the answer hallucinated. Missed: {version.title} labels it grounded.",
            modes.sentence,
            "Click a row to open the missed answers.",
            "Intervals: 95 % CI.",
        ),
        most=8,
    )


def _store_reason(key: str, response_id: int, judgment_id: int) -> None:
    try:
        reviewer = current_reviewer()  # now: the person may have signed out in another tab
        if reviewer is None:
            return
        explain_difference(
            store(),
            response_id=response_id,
            reviewer=reviewer,
            why=st.session_state[key],
            judgment_id=judgment_id,
            request_key=f"why:{secrets.token_urlsafe(12)}",
        )
    except JudgeboardError as error:
        st.session_state[_REFUSED] = f"Not saved: {error}"


def _two_texts(line: Disagreement, judge: str, grade: GradeName) -> None:
    people: list[Html | None] = [] if line.person_reviews else [side_head("People", line.people)]
    for review in line.person_reviews:
        why = None if review.grade.why_differs is None else WHY_DIFFERS[review.grade.why_differs]
        others = {
            GRADE_TEXTS[name].label: text
            for name, text in review.grade.notes.items()
            if name != "note"
        }
        people += [
            side_head(review.reviewer, getattr(review.grade, grade)),
            tag("div", why, cls="jb-cap" if why else None),
            shortened_text(review.grade.note, "No note."),
            *(shortened_text(capital(f"{label}: {text}"), "") for label, text in others.items()),
        ]
    reasoning = shortened_text(line.judged.reasoning, "No reasoning is stored.")
    with st.container(border=True, key="two_texts"):
        show_div("jb-two", tag("div", side_head(judge, line.judge), reasoning), tag("div", *people))
        # A person who graded the answer can choose why judge and people differ; a click stores the reason.
        reviewer = current_reviewer()
        own = next(
            (
                review
                for review in line.person_reviews
                if reviewer and review.reviewer_id == reviewer.id
            ),
            None,
        )
        if own is not None and own.stage == Stage.BLIND:
            caption(
                "You graded this answer blind. Give your reason in its queue, after you have seen the judge."
            )
        elif own is not None:
            key = f"why_differs_{line.judged.response_id}_{own.at.timestamp()}_{own.grade.why_differs}"
            st.pills(
                "Why they differ",
                list(WhyDiffers),
                format_func=lambda reason: WHY_DIFFERS[reason.value],
                default=own.grade.why_differs,
                key=key,
                on_change=_store_reason,
                args=(key, line.judged.response_id, line.judged.judgment_id),
            )
            if refusal := st.session_state.pop(_REFUSED, None):
                caption(refusal)
        answer = shortened(line.judged.answer or UNKNOWN, LONGEST)
        show_div("jb-cap jb-start", tag("b", "Answer "), answer)
        open_button(
            "Open item",
            item(line.judged.response_id),
            key="open_item",
            icon=":material/open_in_full:",
        )


def side_head(name: str, value: str | float | None) -> Html:
    """Return the head of one of two texts: whose text, with the grade."""
    words = score(value) if isinstance(value, float) else value
    return tag("div", name if words is None else f"{name}, {words}", cls="jb-label")


def shortened_text(text: str | None, none: str) -> Html:
    """Return the start of a text, or ``none`` without a text."""
    return (
        tag("div", shortened(text, LONGEST), cls="jb-reason")
        if text
        else tag("div", none, cls="jb-mut")
    )


def _export(of_all: Cell, place: Place | None) -> Table:
    with reading() as connection:
        source = PairSource(connection, of_all.counted)
        lines = disagreement_page(
            source, of_all.first, of_all.grade, cell=place, limit=EXPORT_MOST
        ).rows
    return Table.of(lines, FILE_COLUMNS)

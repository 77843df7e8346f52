"""The parts of the disagreement page: charts, the table, both texts of an answer, and why people differ."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from judgeboard.agreement.answer_pairs import GradeName
from judgeboard.agreement.cells import Cell
from judgeboard.agreement.disagreement import Disagreement, DisagreementPage
from judgeboard.agreement.notes import compared_with
from judgeboard.domain import Stage, WhyDiffers
from judgeboard.errors import JudgeboardError
from judgeboard.reports.output import Column, Format, Table
from judgeboard.reviews.changes import explain_difference
from judgeboard.stats.confusion import Confusion
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.verdict_pairs import WhyCounts
from judgeboard.text import shortened
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.session import current_reviewer, store
from judgeboard_dashboard.widgets.charts import grid, scores
from judgeboard_dashboard.widgets.charts.frame import SELECTION, fin
from judgeboard_dashboard.widgets.navigation import cell_rows, clickable_chart, item, mark_in, open_button
from judgeboard_dashboard.widgets.tables import choose_row, csv_button, one_line, table
from judgeboard_dashboard.widgets.texts import UNKNOWN, WHY_DIFFERS, caption, count, heading, score

TENTHS = "0.4 means 0.4 to 0.5."
Choose = Callable[[GradeName, tuple[int, int] | None], None]


def picture(
    page: DisagreementPage,
    *,
    reviewer_id: int | None,
    implied_labels: bool,
    cell: tuple[int, int] | None,
    as_table: bool,
    choose: Choose,
) -> None:
    """Show the pairs; a click on a cell calls ``choose`` with the grade and the cell, a point opens its answer."""
    names = page.picture.axis
    scored = page.grade == "groundedness"
    every = [(people, judge) for people in range(len(names)) for judge in range(len(names))]
    places = grid.heat_places(page.picture) if scored else every
    whose = None if reviewer_id is not None else f"People: {compared_with('gold', page.grade)}."
    if as_table:
        every_pair = Cell(
            page.grade,
            page.version.id if page.version else 0,
            reviewer_id=reviewer_id,
            implied_labels=implied_labels,
        )
        targets = [cell_rows(replace(every_pair, people=names[people], judge=names[judge])) for people, judge in places]
        under = (TENTHS if scored else None, "Click a row to open its answers.", whose)
        table(picture_table(page, places), targets, key="disagreement_picture", under=under, most=12)
        return
    if not scored:
        chart = grid.confusion_chart(Confusion(names, page.picture.counts), chosen=cell)
        _cells(page, chart, 300 if page.grade == "label" else 380, places, cell, choose)
        caption("Number of answers. Click a cell to filter the table.", whose)
        return
    if page.points:
        clickable_chart(
            scores.scatter_chart([(float(each.people), float(each.judge)) for each in page.points], page.gap),
            scores.SCATTER_HEIGHT,
            [item(each.response_id) for each in page.points],
            key="scatter",
            says=f"{len(page.points)} answers as points, people across, the judge upwards",
        )
        points = f"One point per answer. Orange: {page.gap:g} or more apart. Click a point to open its answer."
        caption(points, whose)
        return
    _cells(page, grid.heat_chart(page.picture, page.gap, chosen=cell), grid.HEAT_HEIGHT, places, cell, choose)
    caption(
        f"Answers per tenth. {grid.outlined_words(page.picture, page.gap)}",
        "Below the diagonal the judge is harsher than people.",
        "Click a cell to filter the table.",
        whose,
    )


def picture_table(page: DisagreementPage, places: Sequence[tuple[int, int]]) -> Table:
    """Return the cells at ``places`` as rows; labels need no column for how many differ."""
    shown = page.picture
    apart = Column(f"{page.gap:g} or more apart", "count")
    rows = (
        (shown.axis[people], shown.axis[judge], shown.counts[people][judge], shown.apart[people][judge])
        for people, judge in places
    )
    cells = Table((Column("People"), Column("Judge"), Column("Answers", "count"), apart), tuple(rows))
    return cells.without({apart.title}) if page.grade == "label" else cells


def _cells(
    page: DisagreementPage,
    chart: Any,
    tall: int,
    places: list[tuple[int, int]],
    cell: tuple[int, int] | None,
    choose: Choose,
) -> None:
    # A key of its own for each choice: the chart then forgets its selection when the chip takes it away.
    key = f"pairs_{page.grade}_{cell}"

    def clicked() -> None:
        mark = mark_in(key)
        if mark is not None:
            choose(page.grade, places[mark])

    st.altair_chart(
        fin(chart, tall),
        theme=None,
        width="stretch",
        key=key,
        on_select=clicked,
        selection_mode=SELECTION,
        alt=f"{page.pairs} answers by what people and the judge gave",
    )


_REFUSED = "why_refused"


def why_pills(line: Disagreement, reviewer: Reviewer | None) -> None:
    """Show the possible reasons if ``reviewer`` graded the answer; a click stores one."""
    own = next((review for review in line.person_reviews if reviewer and review.reviewer_id == reviewer.id), None)
    if own is None:
        return
    if own.stage == Stage.BLIND:
        caption("You graded this answer blind. Give your reason in its queue, after you have seen the judge.")
        return
    key = f"why_differs_{line.judged.response_id}_{own.at.timestamp()}_{own.why_differs}"
    st.pills(
        "Why they differ",
        list(WhyDiffers),
        format_func=lambda reason: WHY_DIFFERS[reason.value],
        default=None if own.why_differs is None else WhyDiffers(own.why_differs),
        key=key,
        on_change=_store_reason,
        args=(key, line.judged.response_id, line.judged.judgment_id, reviewer),
    )
    if refused := st.session_state.pop(_REFUSED, None):
        caption(refused)


def why_table(counts: Sequence[WhyCounts]) -> None:
    """Show the number of answers with each reason, one row per judge version."""
    if not counts:
        return
    heading("Why people differ from the judge")
    columns = (Column("Judge version"), *(Column(name, "count") for name in ("Answers", *WHY_DIFFERS.values())))
    rows = ((each.title, each.answers, *(each.reasons[WhyDiffers(why)] for why in WHY_DIFFERS)) for each in counts)
    under = ("Answers with this reason, by the judge version whose verdict the person saw.",)
    table(Table(columns, tuple(rows)), key="why_they_differ", under=under, most=8)


def _store_reason(key: str, response_id: int, judgment_id: int, reviewer: Reviewer) -> None:
    try:
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


LONGEST = 4_000  # characters of one text; the item page shows all of it


def two_texts(line: Disagreement, judge: str, grade: GradeName) -> None:
    """Show the texts of judge and people on one answer, and the button that opens it."""
    people: list[Html | None] = [] if line.person_reviews else [_head("People", line.people), _text(None, "")]
    for review in line.person_reviews:
        why = None if review.why_differs is None else WHY_DIFFERS[review.why_differs]
        people += [
            _head(review.reviewer, getattr(review, grade)),
            tag("div", why, cls="jb-cap" if why else None),
            _text(review.note, "No note."),
        ]
    reasoning = _text(line.judged.reasoning, "No reasoning is stored.")
    with st.container(border=True, key="two_texts"):
        show(tag("div", tag("div", _head(judge, line.judge), reasoning), tag("div", *people), cls="jb-two"))
        why_pills(line, current_reviewer())
        answer = shortened(line.judged.answer or UNKNOWN, LONGEST)
        show(tag("div", tag("b", "Answer "), answer, cls="jb-cap jb-start"))
        open_button("Open item", item(line.judged.response_id), key="open_item", icon=":material/open_in_full:")


def _head(name: str, value: str | float | None) -> Html:
    words = score(value) if isinstance(value, float) else value
    return tag("div", name if words is None else f"{name}, {words}", cls="jb-label")


def _text(text: str | None, none: str) -> Html:
    return tag("div", shortened(text, LONGEST), cls="jb-reason") if text else tag("div", none, cls="jb-mut")


SIZE = 100
SEEN = 8


def disagreement_table(page: DisagreementPage, export: Callable[[], Table]) -> Disagreement | None:
    """Show the answers and return the selected one, None without any; ``export`` makes the table of the file."""
    if not page.rows:
        caption("No such answer.")
        return None
    key = f"disagreement_{page.grade}_{page.rows[0].judged.response_id}_{len(page.rows)}"
    signed = st.column_config.NumberColumn(
        format="%+.2f" if page.grade == "groundedness" else "%+d", width=85, help="Judge minus people"
    )
    place = choose_row(_table(page.rows, page.grade), key=key, most=SEEN, columns={"Difference": signed})
    with st.container(key="foot_disagreement", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        shown = f"{len(page.rows):,} of " if len(page.rows) < page.total else ""
        caption(f"Worst first, {shown}{count(page.total, 'answer')}.")
        csv_button(export, "disagreement", key="disagreement_csv")
    return page.rows[place]


def export_table(lines: Sequence[Disagreement]) -> Table:
    """Return the answers with ids, grades, reasoning and notes."""
    names = ("source", "external_id", "query_type", "question", "answer")
    grades = (Column("judge"), Column("people"), Column("difference", "number"))
    rows = (
        (
            *(getattr(line.judged, name) for name in names),
            *(str(line.judge), str(line.people), line.difference, line.judged.reasoning),
            " | ".join(f"{each.reviewer}: {each.note}" for each in line.person_reviews if each.note) or None,
        )
        for line in lines
    )
    return Table((*map(Column, names), *grades, Column("reasoning"), Column("notes")), tuple(rows))


def _table(lines: Sequence[Disagreement], grade: GradeName) -> Table:
    formats: dict[GradeName, Format] = {"label": "text", "groundedness": "number", "quality": "integer"}
    width = 95 if grade == "label" else 65
    columns = (
        *(Column("Question", width=190), Column("Answer", width=215), Column("Type", width=80)),
        *(Column(side, formats[grade], width=width) for side in ("Judge", "People")),
    )
    rows = (
        (
            *(one_line(text or "") for text in (line.judged.question, line.judged.answer)),
            *(line.judged.query_type, line.judge, line.people, line.difference),
        )
        for line in lines
    )
    return Table((*columns, Column("Difference", "number")), tuple(rows))

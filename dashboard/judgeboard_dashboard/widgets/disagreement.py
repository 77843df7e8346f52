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
from judgeboard.reports.tables import Column, Format, Table
from judgeboard.reviews.changes import explain_difference
from judgeboard.stats.confusion import Confusion
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.verdict_pairs import PersonReview, WhyCounts
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.session import current_reviewer, store
from judgeboard_dashboard.widgets.charts import grid, scores
from judgeboard_dashboard.widgets.charts.frame import SELECTION, fin
from judgeboard_dashboard.widgets.navigation import cell_rows, clickable_chart, item, mark_in, pick_rows
from judgeboard_dashboard.widgets.tables import choose_row, csv_button, one_line, table
from judgeboard_dashboard.widgets.texts import UNKNOWN, WHY_DIFFERS, caption, count, heading, score

TENTHS = "0.4 means 0.4 to 0.5."
Choose = Callable[[GradeName, tuple[int, int] | None], None]


def picture(
    found: DisagreementPage,
    reviewer_id: int | None,
    *,
    cell: tuple[int, int] | None,
    as_table: bool,
    choose: Choose,
) -> None:
    """Show the pairs; a click on a cell calls ``choose`` with the grade and the cell, a point opens its answer."""
    names = found.picture.axis
    if found.grade == "groundedness":
        places = grid.heat_places(found.picture)
    else:
        places = [(people, judge) for people in range(len(names)) for judge in range(len(names))]
    if as_table:
        version = Cell(found.grade, found.version.id if found.version else 0, reviewer_id=reviewer_id)
        targets = [cell_rows(replace(version, people=names[people], judge=names[judge])) for people, judge in places]
        tenths = TENTHS if found.grade == "groundedness" else None
        under = (tenths, "Click a row to open its answers.", _people(found, reviewer_id))
        table(picture_table(found, places), targets, key="disagreement_picture", under=under, most=12)
        return
    if found.points and found.grade == "groundedness":
        clickable_chart(
            scores.scatter_chart([(float(each.people), float(each.judge)) for each in found.points], found.gap),
            scores.SCATTER_HEIGHT,
            [item(each.response_id) for each in found.points],
            key="scatter",
            says=f"{len(found.points)} answers as points, people across, the judge upwards",
        )
    else:
        _cells(found, places, cell, choose)
    caption(*_under(found, reviewer_id))


def picture_table(found: DisagreementPage, places: Sequence[tuple[int, int]]) -> Table:
    """Return the cells at ``places`` as rows; labels need no column for how many differ."""
    shown = found.picture
    columns: tuple[Column, ...] = (Column("People"), Column("Judge"), Column("Answers", "count"))
    if found.grade != "label":
        columns = (*columns, Column(f"{found.gap:g} or more apart", "count"))
    rows = (
        (shown.axis[people], shown.axis[judge], shown.counts[people][judge], shown.apart[people][judge])
        for people, judge in places
    )
    return Table(columns, tuple(row[: len(columns)] for row in rows))


def _cells(
    found: DisagreementPage, places: list[tuple[int, int]], cell: tuple[int, int] | None, choose: Choose
) -> None:
    if found.grade == "groundedness":
        chart, tall = grid.heat_chart(found.picture, found.gap, chosen=cell), grid.HEAT_HEIGHT
    else:
        chart = grid.confusion_chart(Confusion(found.picture.axis, found.picture.counts), chosen=cell)
        tall = 300 if found.grade == "label" else 380
    # A key of its own for each choice: the chart then forgets its selection when the chip takes it away.
    key = f"pairs_{found.grade}_{cell}"

    def clicked() -> None:
        mark = mark_in(key)
        if mark is not None:
            choose(found.grade, places[mark])

    st.altair_chart(
        fin(chart, tall),
        theme=None,
        width="stretch",
        key=key,
        on_select=clicked,
        selection_mode=SELECTION,
        alt=f"{found.pairs} answers by what people and the judge gave",
    )


def _under(found: DisagreementPage, reviewer_id: int | None) -> list[str | None]:
    people = _people(found, reviewer_id)
    if found.grade != "groundedness":
        return ["Number of answers. Click a cell to filter the table.", people]
    if found.points:
        return [
            f"One point per answer. Orange: difference of {found.gap:g} or more. Click a point to open its answer.",
            people,
        ]
    return [
        f"Answers per tenth. {grid.outlined_words(found.picture, found.gap)}",
        "Below the diagonal the judge is harsher than people.",
        "Click a cell to filter the table.",
        people,
    ]


def _people(found: DisagreementPage, reviewer_id: int | None) -> str | None:
    return None if reviewer_id is not None else f"People: {compared_with('gold', found.grade)}."


_REFUSED = "why_refused"


def why_pills(line: Disagreement, reviewer: Reviewer | None) -> None:
    """Show the possible reasons if ``reviewer`` graded the answer; a click stores one."""
    own = (
        None
        if reviewer is None
        else next((review for review in line.person_reviews if review.reviewer_id == reviewer.id), None)
    )
    if own is None or reviewer is None:
        return
    if own.stage == Stage.BLIND:
        caption("You graded this answer blind. Give your reason in its queue, after you have seen the judge.")
        return
    key = f"why_differs_{line.said.response_id}_{own.at.timestamp()}_{own.why_differs}"
    st.pills(
        "Why they differ",
        list(WhyDiffers),
        format_func=lambda reason: WHY_DIFFERS[reason.value],
        default=None if own.why_differs is None else WhyDiffers(own.why_differs),
        key=key,
        on_change=_chosen,
        args=(key, line.said.response_id, line.said.judgment_id, reviewer),
    )
    refused = st.session_state.pop(_REFUSED, None)
    if refused:
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


def _chosen(key: str, response_id: int, judgment_id: int, reviewer: Reviewer) -> None:
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
    with st.container(border=True, key="two_texts"):
        show(
            tag(
                "div",
                tag(
                    "div",
                    _head(f"{judge}, {value_words(line.judge)}"),
                    _text(line.said.reasoning, "No reasoning is stored."),
                ),
                tag("div", *_people_texts(line, grade)),
                cls="jb-two",
            )
        )
        why_pills(line, current_reviewer())
        show(tag("div", tag("b", "Answer "), _cut(line.said.answer or UNKNOWN), cls="jb-cap jb-start"))
        st.button(
            "Open item",
            key="open_item",
            icon=":material/open_in_full:",
            on_click=pick_rows,
            args=(item(line.said.response_id),),
            wrap=False,
        )


def value_words(value: str | float) -> str:
    """Return a label or a quality unchanged, a score with two digits."""
    return score(value) if isinstance(value, float) else str(value)


def _people_texts(line: Disagreement, grade: GradeName) -> list[Html]:
    if not line.person_reviews:
        return [_head(f"People, {value_words(line.people)}"), _text(None, "")]
    parts: list[Html] = []
    for each in line.person_reviews:
        given = _given(each, grade)
        why = None if each.why_differs is None else WHY_DIFFERS[each.why_differs]
        parts += [
            _head(f"{each.reviewer}, {given}" if given else each.reviewer),
            tag("div", why, cls="jb-cap") if why else tag("div"),
            _text(each.note, "No note."),
        ]
    return parts


def _given(said: PersonReview, grade: GradeName) -> str | None:
    value = {"label": said.label, "groundedness": said.groundedness, "quality": said.quality}[grade]
    return None if value is None else value_words(value)


def _head(text: str) -> Html:
    return tag("div", text, cls="jb-label")


def _text(text: str | None, none: str) -> Html:
    return tag("div", _cut(text), cls="jb-reason") if text else tag("div", none, cls="jb-mut")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


SIZE = 100
SEEN = 8


def disagreement_table(found: DisagreementPage, export: Callable[[], Table]) -> Disagreement | None:
    """Show the answers and return the selected one, None without any; ``export`` makes the table of the file."""
    if not found.rows:
        caption("No such answer.")
        return None
    key = f"disagreement_{found.grade}_{found.rows[0].said.response_id}_{len(found.rows)}"
    signed = st.column_config.NumberColumn(
        format="%+.2f" if found.grade == "groundedness" else "%+d", width=85, help="Judge minus people"
    )
    place = choose_row(_table(found.rows, found.grade), key=key, most=SEEN, columns={"Difference": signed})
    with st.container(key="foot_disagreement", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        shown = f"{len(found.rows):,} of " if len(found.rows) < found.total else ""
        caption(f"Worst first, {shown}{count(found.total, 'answer')}.")
        csv_button(export, "disagreement", key="disagreement_csv")
    return found.rows[place]


def export_table(lines: Sequence[Disagreement]) -> Table:
    """Return the answers with ids, grades, reasoning and notes."""
    names = ("source", "external_id", "query_type", "question", "answer", "judge", "people")
    columns = (*map(Column, names), Column("difference", "number"), Column("reasoning"), Column("notes"))
    return Table(columns, tuple(map(_export_line, lines)))


def _table(lines: Sequence[Disagreement], grade: GradeName) -> Table:
    formats: dict[GradeName, Format] = {"label": "text", "groundedness": "number", "quality": "integer"}
    width = 95 if grade == "label" else 65
    columns = (
        *(Column("Question", width=190), Column("Answer", width=215), Column("Type", width=80)),
        *(Column(side, formats[grade], width=width) for side in ("Judge", "People")),
    )
    rows = (
        (
            *(one_line(text or "") for text in (line.said.question, line.said.answer)),
            *(line.said.query_type, line.judge, line.people, line.difference),
        )
        for line in lines
    )
    return Table((*columns, Column("Difference", "number")), tuple(rows))


def _export_line(line: Disagreement) -> tuple[Any, ...]:
    said = line.said
    notes = " | ".join(f"{each.reviewer}: {each.note}" for each in line.person_reviews if each.note)
    return (
        said.source,
        said.external_id,
        said.query_type,
        said.question,
        said.answer,
        str(line.judge),
        str(line.people),
        line.difference,
        said.reasoning,
        notes or None,
    )

"""The parts of the disagreement page: pictures, the table, both texts of an answer, why they differ."""

import secrets
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from judgeboard.agreement.answer_pairs import GradeName
from judgeboard.agreement.cells import PairCell
from judgeboard.agreement.disagreement import Disagreement, DisagreementPage
from judgeboard.agreement.notes import WHAT_PEOPLE_GAVE
from judgeboard.domain import Stage, WhyDiffers
from judgeboard.errors import JudgeboardError
from judgeboard.reports.tables import Column, Format, Table
from judgeboard.reviews.changes import say_why
from judgeboard.stats.confusion import Confusion
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.verdict_pairs import PersonReview, WhyCounts
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.session import current_reviewer, store
from judgeboard_dashboard.widgets.charts import grid, scores
from judgeboard_dashboard.widgets.charts.frame import SELECTION, fin
from judgeboard_dashboard.widgets.navigation import cell_rows, clickable_chart, item, mark_in, pick_rows
from judgeboard_dashboard.widgets.tables import ROW_HEIGHT, csv_button, height, one_line, table, table_frame
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
    """Show the pairs; a click on a cell calls ``choose`` with it, a point opens its answer.

    Args:
        found: The page.
        reviewer_id: Whose grades count, None for everybody's together.
        cell: The cell that is chosen already.
        as_table: Whether to show the numbers instead.
        choose: Called with the grade and the cell.
    """
    names = found.picture.axis
    if found.grade == "groundedness":
        places = grid.heat_places(found.picture)
    else:
        places = [(people, judge) for people in range(len(names)) for judge in range(len(names))]
    if as_table:
        rows = picture_table(found, places)
        version = found.version.id if found.version else 0
        targets = [
            cell_rows(PairCell(version, found.grade, names[people], names[judge], reviewer_id=reviewer_id))
            for people, judge in places
        ]
        tenths = TENTHS if found.grade == "groundedness" else None
        under = (tenths, "Click a line to open its answers.", _people(found, reviewer_id))
        table(rows, targets, key="disagreement_picture", under=under, most=12)
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
    """Return the cells at ``places`` as rows; of labels those that differ need no column of their own."""
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
        return ["Answers. Click a cell to filter the table.", people]
    if found.points:
        return [f"One point an answer; orange: {found.gap:g} or more apart. Click a point to open its answer.", people]
    return [
        f"Answers per tenth. {grid.outlined_words(found.picture, found.gap)}",
        "Below the diagonal the judge was harsher than people.",
        "Click a cell to filter the table.",
        people,
    ]


def _people(found: DisagreementPage, reviewer_id: int | None) -> str | None:
    return None if reviewer_id is not None else f"{WHAT_PEOPLE_GAVE[found.grade]}."


_REFUSED = "why_refused"


def why_pills(line: Disagreement, reviewer: Reviewer | None) -> None:
    """Show the reasons to choose from, where the person at this browser graded the answer; a press stores it."""
    if reviewer is None:
        return
    own = next((review for review in line.person_reviews if review.reviewer_id == reviewer.id), None)
    if own is None:
        return
    if own.stage == Stage.BLIND:
        caption("You graded this before you saw the judge: why you differ is said in its queue.")
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


def why_words(said: PersonReview) -> str | None:
    """Return the reason that somebody gave, None where they gave none."""
    return None if said.why_differs is None else WHY_DIFFERS[said.why_differs]


def why_table(counts: Sequence[WhyCounts]) -> None:
    """Show on how many answers each reason was given, one line a judge version; nothing where none was."""
    if not counts:
        return
    heading("Why people say they differ, by judge version")
    columns = (Column("Judge version"), *(Column(name, "count") for name in ("Answers", *WHY_DIFFERS.values())))
    rows = ((each.title, each.answers, *(each.reasons[WhyDiffers(why)] for why in WHY_DIFFERS)) for each in counts)
    under = ("Answers on which somebody gave the reason, for the version whose verdict they saw.",)
    table(Table(columns, tuple(rows)), [None] * len(counts), key="why_they_differ", under=under, most=8)


def _chosen(key: str, response_id: int, judgment_id: int, reviewer: Reviewer) -> None:
    try:
        say_why(
            store(),
            response_id=response_id,
            reviewer=reviewer,
            why=st.session_state[key],
            judgment_id=judgment_id,
            request_key=f"why:{secrets.token_urlsafe(12)}",
        )
    except JudgeboardError as error:
        st.session_state[_REFUSED] = f"Not saved: {error}"


LONGEST = 4_000  # characters of one text; the item page has all of it


def two_texts(line: Disagreement, judge: str, grade: GradeName) -> None:
    """Show both sides of one answer, and the button that opens it.

    Args:
        line: The answer.
        judge: The judge version's title.
        grade: Which grade they differ on.
    """
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
    """Return a label or a quality as it is, a score with two digits."""
    return score(value) if isinstance(value, float) else str(value)


def _people_texts(line: Disagreement, grade: GradeName) -> list[Html]:
    if not line.person_reviews:
        return [_head(f"People, {value_words(line.people)}"), _text(None, "")]
    parts: list[Html] = []
    for each in line.person_reviews:
        given = _given(each, grade)
        why = why_words(each)
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
    """Show the worst lines and return the chosen one, None where there is none.

    Args:
        found: The page.
        export: Makes the table of all lines for the file.
    """
    if not found.rows:
        caption("No such answer.")
        return None
    rows = _table(found.rows, found.grade)
    key = f"disagreement_{found.grade}_{found.rows[0].said.response_id}_{len(found.rows)}"
    wide = {"Question": 190, "Answer": 215, "Type": 80}
    state = st.dataframe(
        table_frame(rows),
        key=key,
        hide_index=True,
        placeholder="",
        row_height=ROW_HEIGHT,
        height=height(len(found.rows), most=SEEN),
        selection_mode="single-row-required",
        on_select="rerun",
        column_config={
            **{title: st.column_config.TextColumn(width=width) for title, width in wide.items()},
            "Judge": _value(found.grade),
            "People": _value(found.grade),
            "Difference": st.column_config.NumberColumn(
                format="%+.2f" if found.grade == "groundedness" else "%+d", width=85, help="Judge minus people"
            ),
        },
    )
    with st.container(key="foot_disagreement", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        shown = f"{len(found.rows):,} of " if len(found.rows) < found.total else ""
        caption(f"Worst first, {shown}{count(found.total, 'answer')}.")
        csv_button(export, "disagreement", key="disagreement_csv")
    chosen: Sequence[int] = state.selection.rows
    return found.rows[chosen[0]] if chosen and chosen[0] < len(found.rows) else found.rows[0]


def export_table(lines: Sequence[Disagreement]) -> Table:
    """Return the lines with ids and what both sides said."""
    names = ("source", "external_id", "query_type", "question", "answer", "judge", "people")
    columns = (*map(Column, names), Column("difference", "number"), Column("reasoning"), Column("notes"))
    return Table(columns, tuple(map(_export_line, lines)))


def _table(lines: Sequence[Disagreement], grade: GradeName) -> Table:
    value: Format = "text" if grade == "label" else "number"
    columns = (*map(Column, ("Question", "Answer", "Type")), Column("Judge", value), Column("People", value))
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


def _value(grade: GradeName) -> Any:
    if grade == "label":
        return st.column_config.TextColumn(width=95)
    return st.column_config.NumberColumn(format="%.2f" if grade == "groundedness" else "%d", width=65)

"""The page Disagreement: answers on which judge and people differ, worst first, with the texts of both."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from judgeboard.domain import GRADE_TEXTS, NOTES, Label, Stage, WhyDiffers
from judgeboard.errors import JudgeboardError
from judgeboard.formats.output import Column, Columns, Format, Table
from judgeboard.measure.agreement_notes import compared_with
from judgeboard.measure.cells import Cell, cell_names
from judgeboard.measure.choice import CountedGrades, GradeName
from judgeboard.measure.disagreement import Direction, Disagreement, DisagreementPage, MissedMode, disagreement_page
from judgeboard.measure.ratings import PairSource
from judgeboard.reviews.changes import explain_difference
from judgeboard.stats.confusion import Confusion
from judgeboard.store.filters import METADATA
from judgeboard.store.metadata import metadata_fields
from judgeboard.store.reviewers import Reviewer, graders_by_name
from judgeboard.store.verdict_pairs import WhyCounts, why_counts
from judgeboard.text import shortened
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.session import current_reviewer, page, reading, stacking_columns, store
from judgeboard_dashboard.widgets.charts import SELECTION, framed, grid, scores
from judgeboard_dashboard.widgets.filters import (
    chip,
    choose,
    grade_field,
    implied_field,
    people_field,
    table_switch,
    version_field,
)
from judgeboard_dashboard.widgets.first_steps import STEPS, empty_page
from judgeboard_dashboard.widgets.navigation import cell_rows, clickable_chart, follow, item, mark_in, open_button
from judgeboard_dashboard.widgets.tables import choose_row, foot, one_line, table
from judgeboard_dashboard.widgets.texts import UNKNOWN, WHY_DIFFERS, capital, caption, count, heading, score, sentence

DIRECTIONS: dict[str, Direction | None] = {"Both": None, "Judge too kind": "too_kind", "Judge too harsh": "too_harsh"}
CELL = "cell"
FIELDS = ("version", "grade", "people", "types", "having", "direction", "table", "implied", CELL)
EXPORT_MOST = 20_000
SIZE = 100
SEEN = 8
LONGEST = 4_000  # characters of one text; the item page shows all of it


def _notes(name: str, line: Disagreement) -> str | None:
    """Return what people wrote of this sort (`NOTES`), each text after its author."""
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
MISSED_COLUMNS: Columns[MissedMode] = {
    Column("Failure mode", width=220): lambda each: each.mode,
    Column("Bad answers", "count", width=100): lambda each: each.bad,
    Column("Missed by the judge", "count", width=140): lambda each: each.missed,
    Column("Share missed", "share estimate", width=260): lambda each: each.share,
}
_REFUSED = "why_refused"


def disagreement() -> None:
    """Show a chart of all rating pairs, a table of the worst ones, and both texts of the selected row."""
    follow("disagreement", own=FIELDS)
    counted, asked, figures, as_table = _load()
    if figures.version is None or figures.pairs == 0:
        empty_page("disagreement", figures.headline.text, among=STEPS)
        return
    sentence(figures.headline.text)
    left, right = stacking_columns("disagreement", [1, 1.35])
    with left:
        _picture(figures, asked["cell"], counted, as_table=as_table)
    with right:
        _cell_chip(asked["cell"], figures)
        chosen = _table(figures, asked, counted)
        if chosen is not None:
            _two_texts(chosen, figures.version.title, figures.grade)
    _missed_table(figures, asked, counted)
    with reading() as connection:
        _why_table(why_counts(connection))


def _missed_table(page: DisagreementPage, asked: Mapping[str, Any], counted: CountedGrades) -> None:
    """Show which sorts of mistakes the judge does not notice. A click on a row opens the answers."""
    if not page.missed.modes or page.version is None:
        return
    heading("What the judge misses")
    cell = Cell(
        "label",
        page.version.id,
        counted=counted,
        people=Label.HALLUCINATED.value,
        judge=Label.GROUNDED.value,
    )
    more = {"query_type": list(asked["query_types"])} if asked["query_types"] else {}
    field_and_value = asked["metadata"]
    if field_and_value is not None:
        more[f"{METADATA}{field_and_value[0]}"] = [field_and_value[1]]
    table(
        Table.of(page.missed.modes, MISSED_COLUMNS),
        [cell_rows(cell, **more, failure_mode=each.mode) if each.missed else None for each in page.missed.modes],
        key="missed_modes",
        under=(
            "Of the labelled answers alone.",
            f"Bad: people label the answer hallucinated. Missed: {page.version.title} labels it grounded.",
            f"{page.missed.untagged:,} of {count(page.missed.bad, 'bad answer')} have no failure mode."
            if page.missed.untagged
            else None,
            "Click a row to open the missed answers." if any(each.missed for each in page.missed.modes) else None,
            "Intervals: 95 % CI.",
        ),
        most=8,
    )


def _load() -> tuple[CountedGrades, dict[str, Any], DisagreementPage, bool]:
    """Show the filter row; return whose grades count, what else selects answers, the page, and if a table is shown."""
    with reading() as connection:
        fields = metadata_fields(connection)
        with st.container(key="filters_disagreement", horizontal=True, vertical_alignment="bottom", gap="small"):
            place = st.container(width=170)
            types_place = st.container(width=130)
            people_place = st.container(width=255)
            grade = grade_field("groundedness")
            implied_labels = implied_field(disabled=grade != "label")
            with people_place:
                reviewer_id = people_field(graders_by_name(connection), grade)
            counted = CountedGrades(reviewer_id, implied_labels=implied_labels)
            source = PairSource(connection, counted)
            with types_place:
                types = st.multiselect(
                    "Query type",
                    source.query_types,
                    placeholder="All types",
                    key="types",
                    bind="query-params",
                )
            values = {f"{each.field} = {value}": (each.field, value) for each in fields for value in each.values}
            having = st.selectbox(
                "Metadata",
                list(values),
                index=None,
                placeholder="Any",
                key="having",
                bind="query-params",
                width=130,
                disabled=not values,
            )
            direction = choose("Direction", DIRECTIONS, key="direction", width=140)
            as_table = table_switch()
        version = version_field(place, source.versions(grade))
        pairs: dict[str, Any] = {
            "version_id": version.id if version else None,
            "grade": grade,
            "query_types": tuple(types),
            "metadata": values.get(having or ""),
            "direction": direction,
            "cell": _cell(grade),
        }
        return counted, pairs, disagreement_page(source, limit=SIZE, **pairs), as_table


def _cell(grade: GradeName) -> tuple[int, int] | None:
    """Return the indices (people, judge) of the cell in the address, which has the form "grade:people:judge"."""
    cell_grade, *names = st.query_params.get(CELL, "").split(":")
    known = cell_names(grade)
    if cell_grade != grade or len(names) != 2 or not set(names) <= set(known):
        return None
    return known.index(names[0]), known.index(names[1])


def _choose(grade: GradeName, cell: tuple[int, int] | None) -> None:
    if cell is None:
        st.query_params.pop(CELL, None)
        return
    names = cell_names(grade)
    st.query_params[CELL] = f"{grade}:{names[cell[0]]}:{names[cell[1]]}"


def _cell_chip(cell: tuple[int, int] | None, figures: DisagreementPage) -> None:
    if cell is None:
        return
    people, judge = (cell_names(figures.grade)[place] for place in cell)
    from_ = "from " if figures.grade == "groundedness" else ""
    with st.container(key="chips_disagreement", horizontal=True, gap="xsmall"):
        label = f"People {from_}{people}, judge {from_}{judge}: {figures.total:,}"
        chip(label, _choose, figures.grade, None, key="disagreement_cell")


def _picture(page: DisagreementPage, cell: tuple[int, int] | None, counted: CountedGrades, *, as_table: bool) -> None:
    """Show the rating pairs. A click on a cell filters the table; a click on a point opens its answer."""
    names = page.picture.axis
    scored = page.grade == "groundedness"
    every = [(row, column) for row in range(len(names)) for column in range(len(names))]
    places = grid.heat_places(page.picture) if scored else every
    people = None if counted.reviewer_id is not None else f"People: {compared_with('gold', page.grade)}."
    if as_table:
        every_pair = Cell(page.grade, page.version.id if page.version else 0, counted=counted)
        targets = [cell_rows(replace(every_pair, people=names[row], judge=names[column])) for row, column in places]
        under = (grid.TENTHS if scored else None, "Click a row to open its answers.", people)
        table(grid.picture_table(page, places), targets, key="disagreement_picture", under=under, most=12)
        return
    if not scored:
        chart = grid.confusion_chart(Confusion(names, page.picture.counts), chosen=cell)
        _cells(page, chart, 300 if page.grade == "label" else 380, places, cell)
        caption("Number of answers. Click a cell to filter the table.", people)
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
        caption(points, people)
        return
    _cells(page, grid.heat_chart(page.picture, page.gap, chosen=cell), grid.HEAT_HEIGHT, places, cell)
    caption(
        f"Each cell shows its number of answers. {grid.outlined_words(page.gap)}",
        "Scores are grouped by tenths: 0.9 includes 1.0.",
        "Below the diagonal the judge is harsher than people.",
        "Click a cell to filter the table.",
        people,
    )


def _cells(
    page: DisagreementPage, chart: Any, tall: int, places: list[tuple[int, int]], cell: tuple[int, int] | None
) -> None:
    # Each choice has its own key. When the chip removes the choice, the chart therefore forgets its selection.
    key = f"pairs_{page.grade}_{cell}"

    def clicked() -> None:
        mark = mark_in(key)
        if mark is not None:
            _choose(page.grade, places[mark])

    st.altair_chart(
        framed(chart, tall),
        theme=None,
        width="stretch",
        height=tall,
        key=key,
        on_select=clicked,
        selection_mode=SELECTION,
        alt=f"{page.pairs} answers by the grades of people and the judge",
    )


def _why_pills(line: Disagreement, reviewer: Reviewer | None) -> None:
    """Show the possible reasons if ``reviewer`` graded the answer; a click stores one."""
    own = next((review for review in line.person_reviews if reviewer and review.reviewer_id == reviewer.id), None)
    if own is None:
        return
    if own.stage == Stage.BLIND:
        caption("You graded this answer blind. Give your reason in its queue, after you have seen the judge.")
        return
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
    if refused := st.session_state.pop(_REFUSED, None):
        caption(refused)


def _why_table(counts: Sequence[WhyCounts]) -> None:
    if not counts:
        return
    heading("Why people differ from the judge")
    columns = (Column("Judge version"), *(Column(name, "count") for name in ("Answers", *WHY_DIFFERS.values())))
    rows = ((each.title, each.answers, *(each.reasons[WhyDiffers(why)] for why in WHY_DIFFERS)) for each in counts)
    under = ("Answers with this reason, by the judge version whose verdict the person saw.",)
    table(Table(columns, tuple(rows)), key="why_they_differ", under=under, most=8)


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
    people: list[Html | None] = [] if line.person_reviews else [_head("People", line.people), _text(None, "")]
    for review in line.person_reviews:
        why = None if review.grade.why_differs is None else WHY_DIFFERS[review.grade.why_differs]
        others = {GRADE_TEXTS[name].label: text for name, text in review.grade.notes.items() if name != "note"}
        people += [
            _head(review.reviewer, getattr(review.grade, grade)),
            tag("div", why, cls="jb-cap" if why else None),
            _text(review.grade.note, "No note."),
            *(_text(capital(f"{label}: {text}"), "") for label, text in others.items()),
        ]
    reasoning = _text(line.judged.reasoning, "No reasoning is stored.")
    with st.container(border=True, key="two_texts"):
        show(tag("div", tag("div", _head(judge, line.judge), reasoning), tag("div", *people), cls="jb-two"))
        _why_pills(line, current_reviewer())
        answer = shortened(line.judged.answer or UNKNOWN, LONGEST)
        show(tag("div", tag("b", "Answer "), answer, cls="jb-cap jb-start"))
        open_button("Open item", item(line.judged.response_id), key="open_item", icon=":material/open_in_full:")


def _head(name: str, value: str | float | None) -> Html:
    words = score(value) if isinstance(value, float) else value
    return tag("div", name if words is None else f"{name}, {words}", cls="jb-label")


def _text(text: str | None, none: str) -> Html:
    return tag("div", shortened(text, LONGEST), cls="jb-reason") if text else tag("div", none, cls="jb-mut")


def _table(page: DisagreementPage, asked: Mapping[str, Any], counted: CountedGrades) -> Disagreement | None:
    """Show the answers and return the selected answer, None if there are none."""
    if not page.rows:
        caption("No such answer.")
        return None
    key = f"disagreement_{page.grade}_{page.rows[0].judged.response_id}_{len(page.rows)}"
    signed = st.column_config.NumberColumn(
        format="%+.2f" if page.grade == "groundedness" else "%+d", width=85, help="Judge minus people"
    )
    formats: dict[GradeName, Format] = {"label": "text", "groundedness": "number", "quality": "integer"}
    grade: dict[str, Any] = {"format": formats[page.grade], "width": 95 if page.grade == "label" else 65}
    columns: Columns[Disagreement] = {
        Column("Question", width=190): lambda line: one_line(line.judged.question or ""),
        Column("Answer", width=215): lambda line: one_line(line.judged.answer or ""),
        Column("Type", width=80): lambda line: line.judged.query_type,
        Column("Judge", **grade): lambda line: line.judge,
        Column("People", **grade): lambda line: line.people,
        Column("Difference", "number"): lambda line: line.difference,
    }
    place = choose_row(Table.of(page.rows, columns), key=key, most=SEEN, columns={"Difference": signed})
    shown = f"{len(page.rows):,} of " if len(page.rows) < page.total else ""
    foot(lambda: _export(asked, counted), "disagreement", f"Worst first, {shown}{count(page.total, 'answer')}.")
    return page.rows[place]


def _export(asked: Mapping[str, Any], counted: CountedGrades) -> Table:
    with reading() as connection:
        lines = disagreement_page(PairSource(connection, counted), limit=EXPORT_MOST, **asked).rows
    return Table.of(lines, FILE_COLUMNS)


with page():
    disagreement()

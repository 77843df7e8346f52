"""The page Judges: the health checks of one judge version, and the sections of methods."""

from functools import partial

import streamlit as st

from judgeboard.formats.output import Column, Columns, Table
from judgeboard.health.record import Check, KeptRecords, State
from judgeboard.health.report import (
    EMPTY,
    HealthPage,
    by_maker,
    check_title,
    figure_words,
    health_notes,
    health_page,
    judges_in_use,
)
from judgeboard.measure.notes import paragraph
from judgeboard.registry.methods import load_object, registrations
from judgeboard.store.filters import RowFilter
from judgeboard.store.health import record_mark
from judgeboard.store.responses import AnswerStart
from judgeboard_dashboard.evidence import show_div, tag
from judgeboard_dashboard.session import in_row, page, read_all, reading, stacking_columns, store
from judgeboard_dashboard.widgets.charts.scores import LEVELS_HEIGHT, levels_chart
from judgeboard_dashboard.widgets.filters import table_switch, version_field
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import Rows, follow, item, responses
from judgeboard_dashboard.widgets.tables import figure, table
from judgeboard_dashboard.widgets.texts import (
    caption,
    command_block,
    commands,
    heading,
    sentence,
)

FIELDS = ("version", "score", "tables", "supreme", "list")
GROUPS = {
    "Warnings": State.WARNING,
    "Not conclusive": State.NOT_CONCLUSIVE,
    "No fault found": State.OK,
    "Does not apply": None,
    "Not measured": State.NOT_MEASURED,
}
MARKS = {State.WARNING: "jb-check jb-warns", State.OK: "jb-check jb-sound"}
COLUMNS: Columns[tuple[Check, AnswerStart]] = {
    Column("Check", width=220): lambda line: check_title(line[0]),
    Column("Question", width=320): lambda line: line[1].question,
}


def judges() -> None:
    """Show the checks of a judge version, the scores, and example answers of faults."""
    follow("judges", own=FIELDS)
    mark = read_all(record_mark)
    with reading() as connection:
        versions = judges_in_use(connection)
        if not versions:
            empty_page(*EMPTY)
            return
        with in_row("filters_judges", align="bottom"):
            place = st.container(width=260)
            st.space("stretch")
            table_switch()
        version = version_field(place, versions) or versions[0]
        kept = partial(_kept_records(store().shown_url).read, mark)
        health = health_page(connection, version, kept)
    sentence(paragraph(health_notes(health.report)))
    left, right = stacking_columns("judges", [1.35, 1])
    with left:
        _checks(health)
    with right:
        _scores(health)
        for section in (place for each in registrations() for place in each.judge_sections):
            load_object(section)(version)
        if health.answers:
            heading("Answers with these faults")
            table(
                Table.of(health.answers, COLUMNS),
                [item(answer.response_id) for _, answer in health.answers],
                key="judge_answers",
                under=("Click a row to open the answer.",),
                most=10,
            )
    for section in (place for each in registrations() for place in each.wide_judge_sections):
        load_object(section)(version)


@st.cache_resource(show_spinner=False)
def _kept_records(database: str) -> KeptRecords:  # noqa: ARG001 - the key
    """Return the cache of a database (by the address without the password), for all sessions of the server."""
    return KeptRecords()


def _checks(health: HealthPage) -> None:
    for title, state in GROUPS.items():
        checks = health.report.idle if state is None else health.report.in_state(state)
        if not checks:
            continue
        heading(f"{title}, {len(checks)}")
        by_method = by_maker(checks) if state is State.NOT_MEASURED else {}
        with st.container(key=f"checks_{state.value if state else 'idle'}"):
            for check in checks:
                maker = next(
                    (place for place, of_method in by_method.items() if check in of_method), None
                )
                command = maker is None
                figure_ = figure_words(check)
                head = tag(
                    "div",
                    tag("b", check_title(check)),
                    tag("span", figure_, cls="jb-figure") if figure_ else None,
                    cls="jb-check-head",
                )
                show_div(
                    MARKS.get(check.state, "jb-check") if check.applies else "jb-check",
                    head,
                    tag("div", commands(check.sentence), cls="jb-said"),
                )
                if command and check.command and check.state is not State.OK:
                    command_block(check.command)
                if maker is not None and check is by_method[maker][-1]:
                    load_object(maker)(health, by_method[maker])


def _scores(health: HealthPage) -> None:
    heading("Use of the scale")
    if not health.levels:
        caption("No logged answer has a score.")
        return
    names = list(health.levels)
    name = names[0]
    if len(names) > 1:
        name = st.selectbox("Score", names, key="score", bind="query-params", width=240) or name
    levels = health.levels[name]
    rows = Table(
        (Column("Level"), Column("Answers", "count")),
        tuple(zip(levels.names, levels.counts.tolist(), strict=True)),
    )
    targets: list[Rows | None] = []
    for place, n in enumerate(levels.counts.tolist()):
        where = None
        if n and name == "quality":
            where = RowFilter(
                judge_version=health.record.version.id, min_quality=place + 1, max_quality=place + 1
            )
        elif n and name == "groundedness":
            # Scores are rounded to tenths: for example, 0.25 to just under 0.35 counts as 0.3.
            low, high = max(place / 10 - 0.05, 0), min(place / 10 + 0.04999, 1)
            where = RowFilter(
                judge_version=health.record.version.id,
                min_score=round(low, 5),
                max_score=round(high, 5),
            )
        targets.append(None if where is None else responses(where))
    figure(
        lambda: levels_chart(levels, name),
        LEVELS_HEIGHT,
        rows,
        targets,
        key=f"levels_{health.record.version.id}_{names.index(name)}",
        says=f"Number of answers per level of {name} by {health.record.version.title}",
        chart_only=("Click a level to list its answers.",)
        if name in {"groundedness", "quality"}
        else (),
    )


with page():
    judges()

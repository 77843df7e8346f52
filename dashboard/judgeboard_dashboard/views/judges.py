"""Judges: one judge version's own faults, as far as what is stored shows them."""

from functools import cache
from typing import Any

import streamlit as st

from judgeboard.errors import NotFound
from judgeboard.health.reading import KeptRecords
from judgeboard.health.record import Check, LevelCounts, State
from judgeboard.health.report import (
    EMPTY,
    HealthPage,
    check_title,
    figure_words,
    health_page,
    health_sentence,
    judges_in_use,
    needing_control_answers,
)
from judgeboard.judges.kinds import OFFLINE
from judgeboard.methods.jury import JuryReport
from judgeboard.methods.repeats import RepeatsReport, version_report
from judgeboard.reports.tables import Column, Table
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import StoredVersion
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.session import page, reading, store
from judgeboard_dashboard.widgets.charts.scores import LEVELS_HEIGHT, levels_chart
from judgeboard_dashboard.widgets.combined_judges import combined_panel
from judgeboard_dashboard.widgets.filters import version_field
from judgeboard_dashboard.widgets.navigation import Rows, follow, item, responses
from judgeboard_dashboard.widgets.tables import figure, table
from judgeboard_dashboard.widgets.texts import caption, commands, empty, heading, sentence

FIELDS = ("version", "score", "table")
GROUPS = {State.WARNING: "Warnings", State.OK: "Nothing found", State.NOT_MEASURED: "Not measured"}
MARKS = {State.WARNING: "jb-check jb-warns", State.OK: "jb-check jb-sound", State.NOT_MEASURED: "jb-check"}
COLUMNS = {
    "Check": st.column_config.TextColumn(width=140),
    "Answer": st.column_config.TextColumn(width=170),
    "Question": st.column_config.TextColumn(width=260),
}


def judges() -> None:
    """Show the checks of a judge version, its scores, and answers that show what is warned of."""
    follow("judges", own=FIELDS)
    with reading() as connection:
        versions = judges_in_use(connection)
        if not versions:
            empty(*EMPTY)
            return
        with st.container(key="filters_judges", horizontal=True, vertical_alignment="bottom", gap="small"):
            place = st.container(width=260)
            st.space("stretch")
            as_table = st.toggle("Table", key="table", bind="query-params", width="content")
        version = version_field(place, versions) or versions[0]
        found = health_page(connection, version, _kept_records(store().shown_url))
        combined = _combined(connection, version)
    sentence(health_sentence(found.report))
    with st.container(key="stack_judges"):
        left, right = st.columns([1.35, 1], gap="medium")
    with left:
        _checks(found)
    with right:
        _scores(found, as_table=as_table)
        if found.record.version.kind not in OFFLINE:  # it says the same every time
            combined_panel(combined)
        _answers(found)


@cache
def _kept_records(_database: str) -> KeptRecords:
    """What was read of the judges of a database (its address without the password), for all sessions of the server."""
    return KeptRecords()


def _combined(connection: Any, version: StoredVersion) -> JuryReport | RepeatsReport | str:
    try:
        return version_report(connection, version)
    except NotFound as nothing:
        return str(nothing)


def _checks(found: HealthPage) -> None:
    groups: list[tuple[str, State | None]] = [(title, state) for state, title in GROUPS.items()]
    groups.insert(2, ("Does not apply", None))  # between what is sound and what is still to be measured
    for title, state in groups:
        checks = found.report.idle if state is None else found.report.in_state(state)
        if not checks:
            continue
        heading(f"{title}, {len(checks)}")
        made = needing_control_answers(checks) if state is State.NOT_MEASURED else ()
        with st.container(key=f"checks_{state.value if state else 'idle'}"):
            for check in checks:
                _check(check, command=check not in made)
                if made and check is made[-1]:
                    caption("For all of these controls:" if len(made) > 1 else None)
                    st.code(found.control_answers_command(made), language=None, wrap_lines=True)


def _check(check: Check, *, command: bool) -> None:
    figure_ = figure_words(check)
    head = tag(
        "div",
        tag("b", check_title(check)),
        tag("span", figure_, cls="jb-figure") if figure_ else None,
        cls="jb-check-head",
    )
    show(
        tag(
            "div",
            head,
            tag("div", commands(check.sentence), cls="jb-said"),
            cls=MARKS[check.state] if check.applies else "jb-check",
        )
    )
    if command and check.command and check.state is not State.OK:
        st.code(check.command, language=None, wrap_lines=True)


def _scores(found: HealthPage, *, as_table: bool) -> None:
    heading("How it uses its scale")
    if not found.levels:
        caption("It has scored no answer of the log.")
        return
    names = list(found.levels)
    name = names[0]
    if len(names) > 1:
        name = st.selectbox("Score", names, key="score", bind="query-params", width=240) or name
    levels = found.levels[name]
    rows = Table(
        (Column("Level"), Column("Answers", "count")), tuple(zip(levels.names, levels.counts.tolist(), strict=True))
    )
    figure(
        lambda: levels_chart(levels, name),
        LEVELS_HEIGHT,
        rows,
        _targets(found.record.version.id, name, levels),
        key=f"levels_{found.record.version.id}_{names.index(name)}",
        says=f"How often {found.record.version.title} gave each level of {name}",
        as_table=as_table,
        under=("Click a level to see its answers.",) if name in {"groundedness", "quality"} else (),
    )


def _targets(version_id: int, name: str, levels: LevelCounts) -> list[Rows | None]:
    """Where each level leads: the answers that got it."""
    targets: list[Rows | None] = []
    for place, n in enumerate(levels.counts.tolist()):
        where = None
        if n and name == "quality":
            where = RowFilter(judge_version=version_id, min_quality=place + 1, max_quality=place + 1)
        elif n and name == "groundedness":
            # A tenth reaches from half a step below it to just under half a step above.
            low, high = max(place / 10 - 0.05, 0), min(place / 10 + 0.04999, 1)
            where = RowFilter(judge_version=version_id, min_score=round(low, 5), max_score=round(high, 5))
        targets.append(None if where is None else responses(where))
    return targets


def _answers(found: HealthPage) -> None:
    if not found.answers:
        return
    heading("Answers that show it")
    rows = Table(
        tuple(map(Column, COLUMNS)),
        tuple((check_title(each.check), each.answer.external_id, each.answer.question) for each in found.answers),
    )
    table(
        rows,
        [item(each.answer.response_id) for each in found.answers],
        key="judge_answers",
        under=("The id of a control begins with that of its original.", "Click a line to read the answer."),
        columns=COLUMNS,
        most=10,
    )


with page("Judges"):
    judges()

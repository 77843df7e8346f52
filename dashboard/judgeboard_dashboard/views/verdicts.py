"""The view Compare: old and new verdicts on the same answers, of two judge versions or of a run and before."""

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from judgeboard.errors import BadInput
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.measure.agreement import agreement_of
from judgeboard.measure.choice import AgreementChoice
from judgeboard.measure.samples import judging_version
from judgeboard.measure.verdict_changes import (
    Compared,
    Comparison,
    ComparisonPage,
    Direction,
    comparison_page,
)
from judgeboard.measure.versus import compare_versions
from judgeboard.store.judge_versions import version_titles
from judgeboard.store.listing import LinePage
from judgeboard.store.runs import get_run, run_counts
from judgeboard.store.verdict_pairs import (
    JudgedText,
    VerdictPair,
    pairs_of_run,
    pairs_of_versions,
    versions_with_verdicts,
)
from judgeboard.store.verdicts import count_verdicts
from judgeboard_dashboard.evidence import show_div, tag
from judgeboard_dashboard.session import in_row, page, read, reading
from judgeboard_dashboard.widgets.differing import shortened_text, side_head
from judgeboard_dashboard.widgets.filters import Query, chip, choose
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import follow, go, item, number_in_address, open_button
from judgeboard_dashboard.widgets.tables import (
    PAGE_SIZE,
    choose_row,
    current_page,
    show_rows,
    turning_foot,
)
from judgeboard_dashboard.widgets.texts import UNKNOWN, caption, score, sentence

PAGE = "verdicts"
PURPOSE = "This page compares the verdicts of two judge versions on the same answers, once two versions judged them."
MAX_AT_ONCE = 5_000  # verdicts; to compare more, the user must press a button
ALL = "all"
DIRECTIONS: Mapping[str, str] = {
    ALL: "All",
    Direction.TOWARDS.value: "Towards people",
    Direction.AWAY.value: "Away from people",
}
Pairs = Callable[..., list[VerdictPair]]

_PEOPLE = {"good": "grounded", "bad": "hallucinated"}
_DIRECTIONS = {"towards": "towards people", "away": "away from people"}


COUNT_COLUMNS: Columns[Comparison] = {
    Column("Verdicts", "count"): lambda both: both.compared,
    Column("From bad to good", "count"): lambda both: both.now_good,
    Column("From good to bad", "count"): lambda both: both.now_bad,
    Column("Graded by people", "count"): lambda both: both.graded,
    Column("Old right", "count"): lambda both: both.old_right,
    Column("New right", "count"): lambda both: both.new_right,
}


def verdicts() -> None:
    """Show which of two judge versions is right more often, and both verdicts; or the verdicts of a run."""
    follow(PAGE, own=("old", "new", "run"))
    run_id = number_in_address("run", "run")
    if run_id is not None:
        # Compare the verdicts of a run with the earlier verdicts of the same judge.
        with reading() as connection:
            run = get_run(connection, run_id)
            usable = run_counts(connection, [run.id])[run.id].ok
            title = version_titles(connection).get(run.judge_version_id or 0)
        label = f"Run {run.id} of {title}, compared with earlier verdicts"
        chip(label, partial(go, run=None, new=title), key="chosen_run")
        if _requested(usable):
            _changes(lambda connection: pairs_of_run(connection, run_id), {"run": [str(run_id)]})
        return
    # Compare the verdicts of two judge versions on the same answers.
    with reading() as connection:
        version_by_title = {
            version.title: version for version in versions_with_verdicts(connection)
        }
        newest = judging_version(connection)
    if len(version_by_title) < 2:
        empty_page(PURPOSE, command="judgeboard judge --judge NAME")
        return
    first = newest or list(version_by_title.values())[-1]
    with in_row("filters_verdicts", align="bottom"):
        old_place = st.container(width=230)
        new = choose("New verdicts", {first.title: first, **version_by_title}, key="new", width=230)
    others = [version for version in version_by_title.values() if version.id != new.id]
    of_same_name = [version for version in others if version.name == new.name]
    first = (of_same_name or others)[-1]
    with old_place:
        old = choose(
            "Old verdicts", {first.title: first, **{each.title: each for each in others}}, key="old"
        )
    if not _requested(read(count_verdicts, old.id)):
        return
    with reading() as connection:
        try:
            contrast = compare_versions(connection, old.id, new.id)
        except BadInput:  # answers are hidden from this person
            contrast = None
        alike = agreement_of(connection, AgreementChoice("judges", (old.id, new.id), grade="label"))
    if contrast is not None:
        sentence(contrast.sentence)
        caption(*contrast.next)
    caption(alike.sentence)
    _changes(
        lambda connection: pairs_of_versions(connection, old.id, new.id),
        {"versions": [str(old.id), str(new.id)]},
    )


def _requested(usable: int) -> bool:
    """Return whether to compare: a comparison reads all verdicts, so many are compared only after a press."""
    key = f"compare_{sorted(st.query_params.items())}"
    if usable > MAX_AT_ONCE and not st.session_state.get(key):
        st.session_state[key] = st.button(f"Compare {usable:,} verdicts", key=f"{key}_button")
    return usable <= MAX_AT_ONCE or bool(st.session_state[key])


def _changes(pairs_of: Pairs, query: Query) -> None:
    """Show the changed verdicts first, with the texts of the selected change; ``query`` names the comparison."""
    name = "_".join(value for values in query.values() for value in values)
    switch = f"changes_direction_{name}"
    chosen_direction: str = st.session_state.get(switch) or ALL
    direction = None if chosen_direction == ALL else Direction(chosen_direction)
    query = {**query, "direction": [chosen_direction]}
    turned = current_page("changes", query)
    offset = int(turned.after or turned.before or 0)

    def page_at(offset: int = 0, limit: int | None = None) -> ComparisonPage:
        with reading() as connection:
            return comparison_page(
                connection, pairs_of(connection), direction=direction, offset=offset, limit=limit
            )

    page = page_at(offset, PAGE_SIZE)
    if not page.comparison.rows:
        sentence("No answer has both an old and a new verdict.")
        return
    show_rows(Table.of([page.comparison], COUNT_COLUMNS), key=f"changes_counts_{name}")
    if page.comparison.graded:
        st.segmented_control(
            "Verdicts",
            list(DIRECTIONS),
            format_func=DIRECTIONS.__getitem__,
            default=ALL,
            required=True,
            key=switch,
            help="Towards people: the new verdict is on the side of people, and the old one was not.",
        )
    if not page.total:
        caption(f"No verdict moved {DIRECTIONS[chosen_direction].lower()}.")
        return
    place = choose_row(
        _change_table(page),
        key=f"changes_{name}_{chosen_direction}_{offset}",
        most=8,
        columns={"Change": st.column_config.NumberColumn(format="%+.2f", width=75)},
    )
    later, earlier = offset + PAGE_SIZE, offset - PAGE_SIZE
    turning_foot(
        "changes",
        LinePage(
            page.shown,
            page.total,
            offset + 1,
            str(later) if later < page.total else None,
            str(earlier) if offset else None,
        ),
        "verdict",
        lambda: _change_table(page_at()),
        query=query,
        more=" · changes between good and bad first",
    )
    change = page.shown[place]
    if {change.pair.old.judgment_id, change.pair.new.judgment_id} <= page.texts.keys():
        _two_verdicts(change, page.texts)


def _two_verdicts(change: Compared, texts: Mapping[int, JudgedText]) -> None:
    sides = []
    for name, verdict in (("Old", change.pair.old), ("New", change.pair.new)):
        words = f"{name} · {verdict.version_title}"
        grades = [
            f"groundedness {score(verdict.groundedness)}",
            f"quality {verdict.quality or UNKNOWN}",
        ]
        sides.append(
            tag(
                "div",
                side_head(words, " · ".join([*grades, verdict.label] if verdict.label else grades)),
                shortened_text(texts[verdict.judgment_id].reasoning, "No reasoning is stored."),
            )
        )
    with st.container(border=True, key="two_texts"):
        show_div("jb-two", *sides)
        open_button(
            "Open item",
            item(change.pair.response_id),
            key="open_item",
            icon=":material/open_in_full:",
        )


def _change_table(page: ComparisonPage) -> Table:
    """Return the verdicts of a page, one row per answer."""

    def text_of(row: Compared, name: str) -> str | None:
        return getattr(page.texts.get(row.pair.new.judgment_id), name, None)

    def question_of(row: Compared) -> str | None:
        question = text_of(row, "question")
        return None if question is None else " ".join(question.split())

    columns: Columns[Compared] = {
        Column("Question", width=250): question_of,
        Column("Old", "number", width=60, help="Groundedness of the old verdict"): lambda row: (
            row.pair.old.groundedness
        ),
        Column("New", "number", width=60, help="Groundedness of the new verdict"): lambda row: (
            row.pair.new.groundedness
        ),
        Column("Change", "number"): lambda row: row.change,
        Column(
            "Flip", width=85, help="New verdict, if it differs between good and bad"
        ): lambda row: f"now {row.flip}" if row.flip else None,
        Column(
            "Direction", width=130, help="Whether a changed verdict moved to the side of people"
        ): lambda row: _DIRECTIONS[row.direction] if row.direction else None,
        Column("Old quality", "integer", width=90): lambda row: row.pair.old.quality,
        Column("New quality", "integer", width=95): lambda row: row.pair.new.quality,
        Column("People", width=100): lambda row: _PEOPLE[row.people] if row.people else None,
        Column("Id", width=125): lambda row: text_of(row, "external_id"),
    }
    return Table.of(page.shown, columns)


with page():
    verdicts()

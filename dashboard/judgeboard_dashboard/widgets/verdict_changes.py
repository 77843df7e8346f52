"""The list of old and new verdicts on the same answers, for a run and for two judge versions."""

from collections.abc import Callable, Mapping

import streamlit as st

from judgeboard.formats.output import Table
from judgeboard.measure.verdict_changes import Compared, ComparisonPage, Direction, comparison_page
from judgeboard.reports.verdict_changes import COUNTS, change_table
from judgeboard.store.listing import LinePage
from judgeboard.store.verdict_pairs import OneVerdict, PairTexts, VerdictPair
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.session import reading
from judgeboard_dashboard.widgets.filters import Query
from judgeboard_dashboard.widgets.navigation import item, open_button
from judgeboard_dashboard.widgets.tables import PAGE_SIZE, choose_row, current_page, show_rows, turning_foot
from judgeboard_dashboard.widgets.texts import UNKNOWN, caption, score

MAX_AT_ONCE = 5_000  # verdicts; to compare more, the user must press a button
ALL = "all"
DIRECTIONS: Mapping[str, str] = {
    ALL: "All",
    Direction.TOWARDS.value: "Towards people",
    Direction.AWAY.value: "Away from people",
}


def requested(key: str, verdicts: int, beside: str) -> bool:
    """Return whether to compare: a comparison reads all verdicts, so many are compared only after a press."""
    key = f"compare_{key}"
    if verdicts > MAX_AT_ONCE and not st.session_state.get(key):
        st.session_state[key] = st.button(f"Compare {verdicts:,} verdicts {beside}", key=f"{key}_button")
    return verdicts <= MAX_AT_ONCE or bool(st.session_state[key])


def show_changes(
    pairs_of: Callable[..., list[VerdictPair]], query: Query, titles: Mapping[int, str], *, file: str
) -> ComparisonPage:
    """Show the changed verdicts first, with the texts of the selected one; return what was shown.

    ``pairs_of`` returns the verdicts to compare for a connection. ``query`` names the comparison, ``titles`` the judge
    versions by id. Nothing is shown if there is no verdict.
    """
    name = "_".join(value for values in query.values() for value in values)
    switch = f"changes_direction_{name}"
    chosen_direction: str = st.session_state.get(switch) or ALL
    direction = None if chosen_direction == ALL else Direction(chosen_direction)
    query = {**query, "direction": [chosen_direction]}
    turned = current_page("changes", query)
    offset = int(turned.after or turned.before or 0)

    def read(offset: int = 0, limit: int | None = None) -> ComparisonPage:
        with reading() as connection:
            return comparison_page(connection, pairs_of(connection), direction=direction, offset=offset, limit=limit)

    page = read(offset, PAGE_SIZE)
    if not page.comparison.rows:
        return page
    show_rows(Table.of([page.comparison], COUNTS), key=f"changes_counts_{name}")
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
        return page
    chosen = choose_row(
        change_table(page),
        key=f"changes_{name}_{chosen_direction}_{offset}",
        most=8,
        columns={"Change": st.column_config.NumberColumn(format="%+.2f", width=75)},
    )
    turning_foot(
        "changes",
        LinePage(
            page.shown,
            page.total,
            offset + 1,
            str(offset + PAGE_SIZE) if offset + PAGE_SIZE < page.total else None,
            str(offset - PAGE_SIZE) if offset else None,
        ),
        "verdict",
        lambda: change_table(read()),
        query=query,
        more=" · changes between good and bad first",
        file=file,
    )
    change = page.shown[chosen]
    texts = page.texts.get(change.pair.response_id)
    if texts is not None:
        _two_verdicts(change, texts, titles)
    return page


def _two_verdicts(change: Compared, texts: PairTexts, titles: Mapping[int, str]) -> None:
    with st.container(border=True, key="changes_row"):
        show(
            tag(
                "div",
                _verdict("Old", change.pair.old, texts.old_reasoning, titles),
                _verdict("New", change.pair.new, texts.new_reasoning, titles),
                cls="jb-beside",
            )
        )
        open_button(
            "Open item",
            item(change.pair.response_id),
            key="changes_open",
            type="tertiary",
            icon=":material/open_in_new:",
        )


def _verdict(name: str, verdict: OneVerdict, reasoning: str | None, titles: Mapping[int, str]) -> Html:
    grades = [f"groundedness {score(verdict.groundedness)}", f"quality {verdict.quality or UNKNOWN}"]
    if verdict.label:
        grades.append(str(verdict.label))
    title = titles.get(verdict.version_id, f"version {verdict.version_id}")
    return tag(
        "div",
        tag("div", f"{name} · {title}", tag("span", " · ".join(grades)), cls="jb-label"),
        tag("div", reasoning or "No reasoning.", cls="jb-reason" if reasoning else "jb-mut"),
        cls="jb-side",
    )

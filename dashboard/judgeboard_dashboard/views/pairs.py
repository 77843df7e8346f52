"""Pairs: which of two answers a judge finds better in both orders, and a person without seeing the judge."""

from dataclasses import replace

import streamlit as st

from judgeboard.methods.pair_report import ALL, ComparedPairs, Listed, outcome_words
from judgeboard.store.comparisons import pair_heads, versions_that_compared
from judgeboard.store.judge_versions import StoredVersion
from judgeboard_dashboard.review.pairs import (
    LIST_FIELDS,
    LISTED,
    PAGE,
    PAIR_FIELDS,
    HeldPairs,
    Place,
    held_pairs,
    one_pair,
    pair_desk,
    place_in_address,
)
from judgeboard_dashboard.session import current_reviewer, page, reading
from judgeboard_dashboard.widgets.navigation import follow, pick_rows
from judgeboard_dashboard.widgets.pair_tables import GROUP_COLUMNS, LINE_COLUMNS, groups_file, groups_table, lines_table
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import caption, count, empty, heading, sentence

MOST_LINES = 1_000
NO_PAIRS = (
    "Pairs show which of two answers is better: a judge is asked in both orders, people choose before they see that.",
    "No pairs yet. From the answers of two sources: `judgeboard compare --a SOURCE --b SOURCE --model NAME`",
    "Or recorded ones: `judgeboard import --kind pairs FILE`",
)


def pairs() -> None:
    """Show one pair where the address names one, else the list."""
    follow(PAGE, own=(*LIST_FIELDS, *PAIR_FIELDS))
    place = place_in_address()
    if place is None:
        _list()
    else:
        one_pair(place)


def _list() -> None:
    reviewer = current_reviewer()
    pair_desk().walk = None  # what is opened next is a list of its own
    with reading() as connection:
        versions = versions_that_compared(connection)
    with st.container(key="filters_pairs", horizontal=True, vertical_alignment="bottom", gap="small"):
        version = _version_field(versions)
        held = held_pairs(version, None if reviewer is None else reviewer.id)
        found = held.found
        aspect, listed, types = _fields(found)
    total, lines = len(found.lines(aspect)), found.lines(aspect, listed, types)
    with reading() as connection:
        heads = pair_heads(connection, [line.pair_id for line in lines[:MOST_LINES]])
    if not total:
        empty(*NO_PAIRS)
        return
    _figures(held, aspect, total)
    number = None if version is None else version.id
    places = [Place(line.pair_id, number, aspect, listed, types) for line in lines]
    with st.container(key="pair_list_head", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        heading(f"{LISTED[listed]}: {len(places):,} of {count(total, 'pair')}")
        _start([place for place, line in zip(places, lines, strict=True) if not line.mine])
    if not places:
        caption("No such pair.")
        return
    more = f"The first {MOST_LINES:,} of {len(places):,}. " if len(places) > MOST_LINES else ""
    table(
        lines_table(lines[:MOST_LINES], heads),
        [replace(place, verdict_seen=True).rows() for place in places[:MOST_LINES]],
        key="pairs_list",
        under=(f"{more}Click a line to read the pair with the judge's verdict, and to overrule it.",),
        columns=LINE_COLUMNS,
    )


def _figures(held: HeldPairs, aspect: str, total: int) -> None:
    found, groups = held.found, held.groups
    if found.version is None:
        sentence(f"{count(total, 'pair')}, and no judge compared them yet.")
        return
    group = next(each for each in groups if (each.slice, each.aspect) == (ALL, aspect))
    sentence(f"{outcome_words(group)}.", lead=f"{found.version.title}, {aspect}.")
    table(
        groups_table(groups),
        [None] * len(groups),
        key="pair_figures",
        under=(
            _what_counts(one_order=group.one_order),
            "Intervals: 95 %, by pair.",
            "The file says how many each figure is of, and why one is missing.",
        ),
        columns=GROUP_COLUMNS,
        csv=groups_file(groups),
        most=8,
    )


def _what_counts(*, one_order: bool) -> str:
    if one_order:
        return "Each pair was asked in one order only: its verdict is that order's, and shows no pull of the first."
    return "A verdict counts where both orders agree."


def _start(waiting: list[Place]) -> None:
    st.button(
        "Judge them yourself",
        key="judge_pairs",
        icon=":material/play_arrow:",
        type="primary",
        disabled=not waiting,
        on_click=pick_rows,
        args=(waiting[0].rows() if waiting else None,),
        wrap=False,
        help="One after the other, without seeing who wrote them or what the judge said",
    )


def _version_field(versions: list[StoredVersion]) -> StoredVersion | None:
    titles = {version.title: version for version in versions}
    chosen = st.selectbox(
        "Judge version",
        list(titles),
        key="version",
        bind="query-params",
        placeholder="No judge version",
        disabled=not titles,
        width=230,
    )
    return titles.get(chosen or "")


def _fields(found: ComparedPairs) -> tuple[str, Listed, tuple[str, ...]]:
    aspect = found.known_aspect(None)
    if len(found.aspects) > 1:
        aspect = st.selectbox("Aspect", found.aspects, key="aspect", bind="query-params", width=200)
    words = st.selectbox("Pairs", list(LISTED.values()), key="list", bind="query-params", width=200)
    listed = next((each for each, said in LISTED.items() if said == words), Listed.ALL)
    types = st.multiselect(
        "Query type",
        found.query_types,
        placeholder="All types",
        key="types",
        bind="query-params",
        width=240,
    )
    return aspect, listed, tuple(types)


with page("Pairs"):
    pairs()

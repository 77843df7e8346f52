"""The Pairs page: judgments and preferences on pairs of answers, and the review of one pair."""

from dataclasses import replace

import streamlit as st

from judgeboard.methods.pair_report import ALL, ComparedPairs, Listed, outcome_words
from judgeboard.store.comparisons import pair_heads, versions_that_compared
from judgeboard_dashboard.review.drafts import review_session
from judgeboard_dashboard.review.pairs import (
    LIST_FIELDS,
    LISTED,
    PAGE,
    PAIR_FIELDS,
    PairAddress,
    PairList,
    one_pair,
    pair_in_address,
    pair_list,
)
from judgeboard_dashboard.session import current_reviewer, page, reading
from judgeboard_dashboard.widgets.filters import choose, version_field
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import follow, start_button
from judgeboard_dashboard.widgets.pair_tables import groups_file, groups_table, lines_table
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import caption, count, heading, sentence

MOST_LINES = 1_000
PURPOSE = "Pairs show which of two answers is better. A judge is asked in both orders. People do not see its verdict."
COMPARE = "judgeboard compare --a SOURCE --b SOURCE --model NAME"
IMPORT = "To import recorded pairs: `judgeboard import --kind pairs FILE`"


def pairs() -> None:
    """Show one pair where the address names one, else the list."""
    follow(PAGE, own=(*LIST_FIELDS, *PAIR_FIELDS))
    address = pair_in_address()
    if address is None:
        _list()
    else:
        one_pair(address)


def _list() -> None:
    reviewer = current_reviewer()
    review_session().leave_pairs()
    with reading() as connection:
        versions = versions_that_compared(connection)
    with st.container(key="filters_pairs", horizontal=True, vertical_alignment="bottom", gap="small"):
        version = version_field(st.container(width=230), versions)
        pairs = pair_list(version, None if reviewer is None else reviewer.id)
        aspect, listed, types = _fields(pairs.compared)
    total, lines = len(pairs.compared.lines(aspect)), pairs.compared.lines(aspect, listed, types)
    with reading() as connection:
        heads = pair_heads(connection, [line.pair_id for line in lines[:MOST_LINES]])
    if not total:
        empty_page("pairs", PURPOSE, "No pairs yet.", command=COMPARE, others=(IMPORT,))
        return
    _figures(pairs, aspect, total)
    number = None if version is None else version.id
    addresses = [PairAddress(line.pair_id, number, aspect, listed, types) for line in lines]
    with st.container(key="pair_list_head", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        heading(f"{LISTED[listed]}: {len(addresses):,} of {count(total, 'pair')}")
        open_pairs = [address for address, line in zip(addresses, lines, strict=True) if not line.mine]
        start_button(
            "Judge them yourself",
            open_pairs[0].rows() if open_pairs else None,
            key="judge_pairs",
            shortcut=None,
            disabled=not open_pairs,
            help="One after the other, without seeing the models or the judge's verdict",
        )
    if not addresses:
        caption("No pair matches.")
        return
    more = f"The first {MOST_LINES:,} of {len(addresses):,}. " if len(addresses) > MOST_LINES else ""
    table(
        lines_table(lines[:MOST_LINES], heads),
        [replace(address, verdict_seen=True).rows() for address in addresses[:MOST_LINES]],
        key="pairs_list",
        under=(f"{more}Click a line to see the pair with the judge's verdict and to overrule it.",),
    )


def _figures(pairs: PairList, aspect: str, total: int) -> None:
    version, groups = pairs.compared.version, pairs.groups
    if version is None:
        sentence(f"{count(total, 'pair')}. No judge has compared them yet.")
        return
    group = next(group for group in groups if (group.slice, group.aspect) == (ALL, aspect))
    sentence(f"{outcome_words(group)}.", lead=f"{version.title}, {aspect}.")
    table(
        groups_table(groups),
        key="pair_figures",
        under=(
            "Each pair was asked in one order only. That verdict counts, and position bias cannot be measured."
            if group.one_order
            else "A verdict counts if both orders agree.",
            "Intervals: 95 % CI, by pair.",
            "The CSV file also has the number of pairs for each figure, and the reason if a figure is missing.",
        ),
        csv=groups_file(groups),
        most=8,
    )


def _fields(compared: ComparedPairs) -> tuple[str, Listed, tuple[str, ...]]:
    aspect = compared.known_aspect(None)
    if len(compared.aspects) > 1:
        aspect = st.selectbox("Aspect", compared.aspects, key="aspect", bind="query-params", width=200)
    listed = choose("Pairs", {name: listed for listed, name in LISTED.items()}, key="list", width=200)
    types = st.multiselect(
        "Query type",
        compared.query_types,
        placeholder="All types",
        key="types",
        bind="query-params",
        width=240,
    )
    return aspect, listed, tuple(types)


with page("Pairs"):
    pairs()

"""The tables of the Pairs page."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.domain import Estimate
from judgeboard.methods.pair_report import ALL, PairGroup, PairLine, figures_of
from judgeboard.store.comparisons import PairHead
from judgeboard_dashboard.review.pairs import people_words, stored_words, verdict_words
from judgeboard_dashboard.widgets.tables import both_words, file_of, frame

# As the sentence over the table says them.
NAMES_BOTH, TIE_IN_ONE = "Names both", "Tie in one order"
# Slice, pairs and the four shares stand beside each other at 800 px; the counts follow to the right.
GROUP_COLUMNS: dict[str, Any] = {
    "Slice": st.column_config.TextColumn(width=195),
    "Aspect": st.column_config.TextColumn(width=165),
    "Pairs": st.column_config.NumberColumn(format="localized", width=55),
    "Same in both orders": st.column_config.TextColumn(width=128, help="Of the pairs with a verdict in both orders"),
    "Names the first": st.column_config.TextColumn(
        width=105, help="Of single verdicts but ties; 50 % is no pull of the first place"
    ),
    "Right by gold": st.column_config.TextColumn(width=128, help="The mean of the two orders"),
    "Right if consistent": st.column_config.TextColumn(
        width=128, help="Right by gold among the pairs with one verdict in both orders; the others are left out"
    ),
    "As people": st.column_config.TextColumn(width=125, help="As the majority of people"),
    "A better": st.column_config.NumberColumn(format="localized", width=70),
    "B better": st.column_config.NumberColumn(format="localized", width=70),
    "Tie": st.column_config.NumberColumn(format="localized", width=50),
    NAMES_BOTH: st.column_config.NumberColumn(
        format="localized", width=92, help="Pairs of which each order names another answer (flips)"
    ),
    TIE_IN_ONE: st.column_config.NumberColumn(
        format="localized", width=112, help="Pairs that are a tie in one order only"
    ),
    "Unmeasured": st.column_config.NumberColumn(format="localized", width=95),
}
_COUNTS = ("Pairs", "A better", "B better", "Tie", NAMES_BOTH, TIE_IN_ONE, "Unmeasured")
_OF_TWO_ORDERS = ("Same in both orders", "Names the first", "Right if consistent", NAMES_BOTH, TIE_IN_ONE)
_OF_GOLD = ("Right by gold", "Right if consistent")
NOT_MEASURED = "–"
LINE_COLUMNS: dict[str, Any] = {
    "A first": st.column_config.TextColumn(width=60, help="What the judge said when answer A was shown first"),
    "B first": st.column_config.TextColumn(width=60, help="What it said when answer B was shown first"),
    "Judge": st.column_config.TextColumn(width=95),
    "Gold": st.column_config.TextColumn(width=55),
    "People": st.column_config.TextColumn(width=75),
    "Overruled": st.column_config.TextColumn(width=82),
    "Question": st.column_config.TextColumn(width=300),
    "Type": st.column_config.TextColumn(width=185),
    "Answer A by": st.column_config.TextColumn(width=120),
    "Answer B by": st.column_config.TextColumn(width=120),
    "Pair": st.column_config.TextColumn(width=170),
}


def groups_table(groups: Sequence[PairGroup]) -> pd.DataFrame:
    """Return the figures as shown: with their interval, and with their n where it is not that of the measured pairs.

    Columns that say the same of all groups are left out: one slice, one aspect, no gold, nothing of people, and what
    a judge that was asked in one order cannot show.
    """
    columns = {name: "Int64" if name in _COUNTS else "str" for name in GROUP_COLUMNS}
    rows = frame(columns, map(_group_line, groups))
    aspects = {group.aspect for group in groups}
    left_out = {
        ("Slice",): len(aspects) > 1 and all(group.slice == ALL for group in groups),
        ("Aspect",): len(aspects) == 1,
        ("As people",): all(group.people.value is None for group in groups),
        _OF_GOLD: all(group.accuracy_orders_mean.value is None for group in groups),
        _OF_TWO_ORDERS: all(group.one_order for group in groups),
    }
    return rows.drop(columns=list({name for names, away in left_out.items() if away for name in names}))


def groups_file(groups: Sequence[PairGroup]) -> pd.DataFrame:
    """Return the statistics as plain numbers, a row each."""
    names = {"Slice": "str", "Aspect": "str", "Statistic": "str"}
    return file_of(
        names,
        (((group.slice, group.aspect, name), each) for group in groups for name, each in figures_of(group)),
    )


def lines_table(lines: Sequence[PairLine], heads: Mapping[int, PairHead]) -> pd.DataFrame:
    """Return the pairs as shown; columns in which nothing is said are left out."""
    rows = frame(dict.fromkeys(LINE_COLUMNS, "str"), (_line(line, heads[line.pair_id]) for line in lines))
    return rows.dropna(axis="columns", how="all")


def _group_line(group: PairGroup) -> tuple[Any, ...]:
    counts = group.counts
    measured = counts.pairs - counts.unmeasured
    return (
        "All pairs" if group.slice == ALL else group.slice,
        group.aspect,
        counts.pairs,
        _share(group.self_consistency, measured),
        _share(group.first_position, group.first_position.n),
        *(_share(each, measured) for each in (group.accuracy_orders_mean, group.accuracy_consistent, group.people)),
        *(counts.wins_a, counts.wins_b, counts.ties, counts.flips, counts.tie_win, counts.unmeasured),
    )


def _share(estimate: Estimate, expected: int) -> str:
    if estimate.value is None:
        return NOT_MEASURED
    words = both_words(estimate, share=True)
    return words if estimate.n == expected else f"{words}, n {estimate.n:,}"


def _line(line: PairLine, head: PairHead) -> tuple[Any, ...]:
    return (
        stored_words(line.ab),
        stored_words(line.ba),
        verdict_words(line),
        stored_words(line.gold),
        people_words(line),
        stored_words(line.overruled),
        " ".join((head.question or "").split()),
        line.query_type,
        head.model_a,
        head.model_b,
        head.external_id,
    )

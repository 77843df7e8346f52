"""The tables of the page Pairs."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.domain import Estimate
from judgeboard.methods.pair_report import ALL, PairGroup, PairLine, figures_of
from judgeboard.store.comparisons import PairHead
from judgeboard_dashboard.review.pairs import people_words, stored_words, verdict_words
from judgeboard_dashboard.widgets.tables import both_words, file_of, frame

PREFERS_BOTH, TIE_IN_ONE = "Prefers A and B", "Tie in one order"
# Slice, pairs and the four shares are visible at a width of 800 px; the counts follow.
GROUP_COLUMNS: dict[str, Any] = {
    "Slice": st.column_config.TextColumn(width=195),
    "Aspect": st.column_config.TextColumn(width=165),
    "Pairs": st.column_config.NumberColumn(format="localized", width=55),
    "Same in both orders": st.column_config.TextColumn(
        width=128, help="Share of pairs with the same preference in both orders"
    ),
    "Prefers first": st.column_config.TextColumn(width=105, help="Ties excluded. 50 % means no position bias."),
    "Accuracy": st.column_config.TextColumn(width=128, help="Agreement with gold, mean of both orders"),
    "If consistent": st.column_config.TextColumn(
        width=128, help="Accuracy on the pairs with the same preference in both orders"
    ),
    "With people": st.column_config.TextColumn(width=125, help="Agreement with the majority of people"),
    "A better": st.column_config.NumberColumn(format="localized", width=70),
    "B better": st.column_config.NumberColumn(format="localized", width=70),
    "Tie": st.column_config.NumberColumn(format="localized", width=50),
    PREFERS_BOTH: st.column_config.NumberColumn(
        format="localized", width=110, help="Number of pairs with A in one order and B in the other (flips)"
    ),
    TIE_IN_ONE: st.column_config.NumberColumn(
        format="localized", width=112, help="Number of pairs with a tie in one order only"
    ),
    "No verdict": st.column_config.NumberColumn(format="localized", width=95),
}
_COUNTS = ("Pairs", "A better", "B better", "Tie", PREFERS_BOTH, TIE_IN_ONE, "No verdict")
_OF_TWO_ORDERS = ("Same in both orders", "Prefers first", "If consistent", PREFERS_BOTH, TIE_IN_ONE)
_OF_GOLD = ("Accuracy", "If consistent")
NOT_MEASURED = "–"
LINE_COLUMNS: dict[str, Any] = {
    "A first": st.column_config.TextColumn(width=60, help="The judge's preference when answer A was shown first"),
    "B first": st.column_config.TextColumn(width=60, help="The judge's preference when answer B was shown first"),
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
    """Return the figures with their intervals, and with n if it differs from the number of measured pairs.

    Columns without information are left out: a single slice or aspect, no gold, no people, or figures of two orders
    for a judge that was asked in one.
    """
    columns = {name: "Int64" if name in _COUNTS else "str" for name in GROUP_COLUMNS}
    rows = frame(columns, map(_group_line, groups))
    aspects = {group.aspect for group in groups}
    left_out = {
        ("Slice",): len(aspects) > 1 and all(group.slice == ALL for group in groups),
        ("Aspect",): len(aspects) == 1,
        ("With people",): all(group.people.value is None for group in groups),
        _OF_GOLD: all(group.accuracy_orders_mean.value is None for group in groups),
        _OF_TWO_ORDERS: all(group.one_order for group in groups),
    }
    return rows.drop(columns=list({name for names, away in left_out.items() if away for name in names}))


def groups_file(groups: Sequence[PairGroup]) -> pd.DataFrame:
    """Return the statistics as plain numbers, one per row."""
    names = {"Slice": "str", "Aspect": "str", "Statistic": "str"}
    return file_of(
        names,
        (((group.slice, group.aspect, name), each) for group in groups for name, each in figures_of(group)),
    )


def lines_table(lines: Sequence[PairLine], heads: Mapping[int, PairHead]) -> pd.DataFrame:
    """Return the pairs; empty columns are left out."""
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

"""The tables of the page of pairs: figures by slice and aspect, and the pairs line by line."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.domain import Estimate
from judgeboard.pairs.page import PairLine
from judgeboard.pairs.report import ALL, PairGroup
from judgeboard.pairs.words import figures_of
from judgeboard.store.pairs.compared_pairs import PairHead
from judgeboard_dashboard.estimates import both_words, file_of
from judgeboard_dashboard.pairs.words import people_words, stored_words, verdict_words
from judgeboard_dashboard.tables import frame

# Slice, pairs and the four shares stand beside each other at 800 px; the counts follow to the right.
GROUP_COLUMNS: dict[str, Any] = {
    "Slice": st.column_config.TextColumn(width=195),
    "Aspect": st.column_config.TextColumn(width=120),
    "Pairs": st.column_config.NumberColumn(format="localized", width=55),
    "Same in both orders": st.column_config.TextColumn(width=128, help="Of the pairs with a verdict in both orders"),
    "Names the first": st.column_config.TextColumn(
        width=105, help="Of single verdicts but ties; 50 % is no pull of the first place"
    ),
    "Right by gold": st.column_config.TextColumn(width=128, help="The mean of the two orders"),
    "Consistent and right": st.column_config.TextColumn(width=140, help="Of the verdicts that are consistent"),
    "As people": st.column_config.TextColumn(width=125, help="As the majority of people"),
    "A better": st.column_config.NumberColumn(format="localized", width=70),
    "B better": st.column_config.NumberColumn(format="localized", width=70),
    "Tie": st.column_config.NumberColumn(format="localized", width=50),
    "Flips": st.column_config.NumberColumn(
        format="localized", width=55, help="Pairs of which each order names another answer"
    ),
    "Tie once": st.column_config.NumberColumn(
        format="localized", width=72, help="Pairs that are a tie in one order only"
    ),
    "Unmeasured": st.column_config.NumberColumn(format="localized", width=95),
}
_COUNTS = ("Pairs", "A better", "B better", "Tie", "Flips", "Tie once", "Unmeasured")
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

    The aspect is left out where there is one, people where none of them said anything.
    """
    columns = {name: "Int64" if name in _COUNTS else "str" for name in GROUP_COLUMNS}
    rows = frame(columns, map(_group_line, groups))
    said_once = {
        "Aspect": len({group.aspect for group in groups}) == 1,
        "As people": all(group.people.value is None for group in groups),
    }
    return rows.drop(columns=[name for name, left_out in said_once.items() if left_out])


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

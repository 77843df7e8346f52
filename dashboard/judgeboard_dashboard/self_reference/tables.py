"""The tables of the page of self-reference."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.domain import Estimate
from judgeboard.self_reference.page import ListedItem
from judgeboard.self_reference.result import SelfReferenceReport
from judgeboard.self_reference.words import CONDITION_WORDS, noun
from judgeboard.stats.words import percent_words
from judgeboard.store.pairs.compared_pairs import PairHead
from judgeboard_dashboard.estimates import file_of
from judgeboard_dashboard.self_reference.place import listed_words
from judgeboard_dashboard.tables import frame
from judgeboard_dashboard.words import capital

COUNT = st.column_config.NumberColumn(format="localized", width=70)
SHARE = st.column_config.TextColumn(width=105)
RIGHT_WHERE_ON = "Right where on"
SCORES = {1.0: "right", 0.5: "split", 0.0: "wrong", None: None}
FIGURE_COLUMNS: dict[str, Any] = {
    "Pairs": COUNT,
    "Right": COUNT,
    "Questions": COUNT,
    "Category": st.column_config.TextColumn(width=130),
    "Slice": st.column_config.TextColumn(width=190),
    **dict.fromkeys(
        ("All", "A no reference", "B always", "C selective", "Gate on", "Gate off", "Share right"),
        SHARE,
    ),
    RIGHT_WHERE_ON: st.column_config.TextColumn(
        width=118, help="How often its own answer is right where the gate is on: only there it is shown"
    ),
}
# The four shares with pairs and splits fit beside each other at 1440 px.
CONDITION_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("Condition", "All", "Gate on", "Gate off"), st.column_config.TextColumn(width=102)),
    "Pairs": st.column_config.NumberColumn(format="localized", width=55),
    "Splits": st.column_config.NumberColumn(format="localized", width=55, help="The two orders contradict: half"),
}
ITEM_COLUMNS: dict[str, Any] = {
    "Question": st.column_config.TextColumn(width=215),
    "Category": st.column_config.TextColumn(width=90),
    "Agree": st.column_config.TextColumn(width=60),
    "Own answer": st.column_config.TextColumn(width=90),
    "Own right": st.column_config.TextColumn(width=75, help="Whether its own answer is the correct one"),
    **{
        f"Cond. {name}": st.column_config.TextColumn(width=62, help=f"Condition {words}: which answer it prefers")
        for name, words in CONDITION_WORDS.items()
    },
}


def conditions_table(report: SelfReferenceReport) -> pd.DataFrame:
    """Return what the conditions come to, also where the gate is on and off, and what was left out."""
    columns = {"Condition": "str", "All": "str", "Pairs": "Int64", "Splits": "Int64", "Gate on": "str"}
    return frame(
        {**columns, "Gate off": "str", "Unmeasured": "Int64"},
        (
            (
                CONDITION_WORDS[name],
                _words(scores.accuracy),
                scores.accuracy.n,
                scores.splits,
                *(_words(each) for each in (scores.on, scores.off)),
                scores.unmeasured,
            )
            for name, scores in report.conditions.items()
        ),
    )


def levels_table(report: SelfReferenceReport) -> pd.DataFrame:
    """Return how often the majority is right by how many tries agree, fewest first."""
    return frame(
        {"Agree": "str", "Questions": "Int64", "Right": "Int64", "Share right": "str"},
        (
            (f"{level.agree} of {report.k}", level.n, level.right, _words(level.share))
            for level in reversed(report.calibration)
        ),
    )


def sweep_table(report: SelfReferenceReport) -> pd.DataFrame:
    """Return what C comes to at every gate, the lowest first."""
    return frame(
        {"Gate from": "str", "C selective": "str", "Gate on": "str", RIGHT_WHERE_ON: "str"},
        (
            (
                f"{point.agree} of {report.k}",
                *(_words(each) for each in (point.scores.accuracy, point.gate.on_rate, point.gate.precision)),
            )
            for point in report.sweep
        ),
    )


def slices_table(report: SelfReferenceReport) -> pd.DataFrame:
    """Return the four slices with what both conditions make of them."""
    rows = frame(
        {"Slice": "str", _items_title(report): "Int64", "A no reference": "str", "B always": "str"},
        (
            (
                listed_words(each.gate_on, each.majority_right),
                each.n,
                _words(each.without),
                _words(each.always),
            )
            for each in report.slices
        ),
    )
    return _said(rows)


def categories_table(report: SelfReferenceReport) -> pd.DataFrame:
    """Return the figures of each category at this gate."""
    columns = {"Category": "str", _items_title(report): "Int64", "Gate on": "str", RIGHT_WHERE_ON: "str"}
    rows = frame(
        {**columns, "A no reference": "str", "B always": "str", "C selective": "str"},
        (
            (
                each.category,
                each.n,
                *(
                    _words(one)
                    for one in (each.gate.on_rate, each.gate.precision, each.without, each.always, each.selective)
                ),
            )
            for each in report.categories
        ),
    )
    return _said(rows)


def categories_file(report: SelfReferenceReport) -> pd.DataFrame:
    """Return the same as plain numbers."""
    rows: list[tuple[tuple[str, str], Estimate]] = []
    for each in report.categories:
        named = {
            "gate on": each.gate.on_rate,
            "right where on": each.gate.precision,
            "A": each.without,
            "B": each.always,
            "C": each.selective,
        }
        rows += [((each.category, name), estimate) for name, estimate in named.items()]
    return file_of({"Category": "str", "Figure": "str"}, rows)


def items_table(items: Sequence[ListedItem], heads: Mapping[int, PairHead], k: int) -> pd.DataFrame:
    """Return the items in lines; conditions that nobody was asked in are left out."""
    columns = {"Question": "str", "Category": "str", "Agree": "str", "Own answer": "str", "Own right": "str"}
    correct = {True: "yes", False: "no", None: None}
    rows = frame(
        {**columns, **{f"Cond. {name}": "str" for name in CONDITION_WORDS}},
        (
            (
                _question(heads.get(item.pair_id)),
                item.category,
                f"{item.agree} of {k}",
                item.answer or "no answer",
                correct[item.right],
                *(SCORES[score] for score in (item.without, item.always, item.selective)),
            )
            for item in items
        ),
    )
    return _said(rows)


def _said(rows: pd.DataFrame) -> pd.DataFrame:
    conditions = (*CONDITION_WORDS.values(), *(f"Cond. {name}" for name in CONDITION_WORDS))
    return rows.drop(columns=[name for name in rows.columns if name in conditions and rows[name].isna().all()])


def _items_title(report: SelfReferenceReport) -> str:
    return f"{capital(noun(report))}s"


def _words(estimate: Estimate) -> str | None:
    """A share with its interval; an empty cell where it is unmeasured, which the sentence above the page explains."""
    return None if estimate.value is None else percent_words(estimate)


def _question(head: PairHead | None) -> str | None:
    return None if head is None or head.question is None else " ".join(head.question.split())

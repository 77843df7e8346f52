"""The table of what waits: rules down, query types across; every number opens its flags in the queue."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard_dashboard.picking import Rows, cell_clicked, queue
from judgeboard_dashboard.saying import caption
from judgeboard_dashboard.tables import ROW_HEIGHT, csv_button, frame, height
from judgeboard_dashboard.words import capital, rule_words

MOST_TYPES = 6
KEY = "what_waits"
_RULE, _ALL = "rule", "all"


def waiting_table(counts: Sequence[tuple[str, str, int]]) -> None:
    """Show the table of (rule, query type, open flags)."""
    if not counts:
        caption("Nothing waits.")
        return
    rules, types = lines_of(counts), types_of(counts)
    rows = rows_of(counts)
    most = max(total for _, total in rules)
    st.dataframe(
        rows,
        key=KEY,
        hide_index=True,
        placeholder="",
        row_height=ROW_HEIGHT,
        height=height(len(rows)),
        selection_mode="single-cell",
        on_select=cell_clicked(KEY, [_RULE, *rows.columns[1:]], _targets(rules, types)),
        column_config={
            _RULE: st.column_config.TextColumn("Rule", width=140),
            # Query types are texts of the log: as names of columns two of them, or one of ours, could collide.
            **{
                f"type_{place}": st.column_config.NumberColumn(name or " ", format="localized")
                for place, name in enumerate(types)
            },
            _ALL: st.column_config.ProgressColumn("All types", min_value=0, max_value=most, format="%d", width=150),
        },
    )
    left_out = len({query_type for _, query_type, _ in counts}) - len(types)
    with st.container(key="foot_waits", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        caption(
            "Click a number to open those flags in the queue.",
            f"{left_out} more query types are counted in the last column." if left_out else None,
        )
        csv_button(_file(counts), "what-waits", key="waits_csv")


def lines_of(counts: Sequence[tuple[str, str, int]]) -> list[tuple[str, int]]:
    """Return (rule, open flags) of every rule, the most first."""
    totals: dict[str, int] = {}
    for rule, _, waiting in counts:
        totals[rule] = totals.get(rule, 0) + waiting
    return sorted(totals.items(), key=lambda line: (-line[1], line[0]))


def types_of(counts: Sequence[tuple[str, str, int]]) -> list[str]:
    """Return the six query types with most open flags, the most first."""
    totals: dict[str, int] = {}
    for _, query_type, waiting in counts:
        totals[query_type] = totals.get(query_type, 0) + waiting
    return sorted(totals, key=lambda name: (-totals[name], name))[:MOST_TYPES]


def rows_of(counts: Sequence[tuple[str, str, int]]) -> pd.DataFrame:
    """Return one line per rule; an empty cell where nothing waits."""
    known = {(rule, query_type): waiting for rule, query_type, waiting in counts}
    types = types_of(counts)
    columns = {_RULE: "str", **{f"type_{place}": "Int64" for place in range(len(types))}, _ALL: "Int64"}
    lines: list[tuple[Any, ...]] = [
        (capital(rule_words(rule)), *(known.get((rule, name)) for name in types), total)
        for rule, total in lines_of(counts)
    ]
    return frame(columns, lines)


def _targets(rules: Sequence[tuple[str, int]], types: Sequence[str]) -> list[dict[str, Rows]]:
    return [
        {
            _RULE: queue(rule=rule),
            _ALL: queue(rule=rule),
            **{f"type_{place}": queue(rule=rule, query_type=name) for place, name in enumerate(types)},
        }
        for rule, _ in rules
    ]


def _file(counts: Sequence[tuple[str, str, int]]) -> pd.DataFrame:
    return frame({"rule": "str", "query_type": "str", "open_flags": "Int64"}, counts)

"""The table of imports: which file, how many rows came in, how many did not."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from judgeboard.store.responses.import_batches import ImportBatch
from judgeboard_dashboard.saying import caption, heading
from judgeboard_dashboard.tables import csv_button, frame, height
from judgeboard_dashboard.words import when

COLUMNS = {
    "File": "str",
    "In": "Int64",
    "Rejected": "Int64",
    "Conflicts": "Int64",
    "Kind": "str",
    "At": "str",
    "By": "str",
}


def imports_table(batches: Sequence[ImportBatch]) -> None:
    """Show imports, newest first."""
    heading("Imports")
    if not batches:
        caption("Nothing was imported yet: `judgeboard import FILE`")
        return
    table = imports_frame(batches)
    st.dataframe(
        table,
        key=f"imports_{batches[0].id}",
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(table), most=8),
        column_config={
            "File": st.column_config.TextColumn(width=178),
            "In": st.column_config.NumberColumn(width=62, format="localized"),
            "Rejected": st.column_config.NumberColumn(width=72, format="localized"),
            "Conflicts": st.column_config.NumberColumn(width=75, format="localized"),
            "Kind": st.column_config.TextColumn(width=82),
            "At": st.column_config.TextColumn(width=110),
            "By": st.column_config.TextColumn(width=78),
        },
    )
    with st.container(key="imports_foot", horizontal=True, vertical_alignment="center", gap="small"):
        caption(where_rejected(batches))
        csv_button(table, "imports", key="imports_csv")


def imports_frame(batches: Sequence[ImportBatch]) -> pd.DataFrame:
    """Return imports as a table; one that broke off has no counts."""
    return frame(COLUMNS, (_cells(batch) for batch in batches))


def where_rejected(batches: Sequence[ImportBatch]) -> str:
    """Say where the rejected rows are, and of imports that broke off how to complete them."""
    said = []
    if any((batch.counts or {}).get("rejected") for batch in batches):
        said.append("Rejected rows of a command stand beside their file, as FILE.rejected.jsonl.")
    if any(batch.finished_at is None for batch in batches):
        said.append("Without counts: it broke off. The same import again completes it.")
    return " ".join(said)


def _cells(batch: ImportBatch) -> tuple[object, ...]:
    counts = batch.counts or {}
    return (
        batch.file,
        counts.get("new"),
        counts.get("rejected"),
        counts.get("conflicts"),
        batch.kind,
        when(batch.at),
        batch.actor,
    )

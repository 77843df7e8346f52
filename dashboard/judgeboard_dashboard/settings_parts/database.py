"""The database in use and what the environment sets, secrets masked."""

from pathlib import Path

import streamlit as st

from judgeboard.llm.endpoint import PROVIDERS
from judgeboard.settings import ConfigLine, config_lines, load_settings
from judgeboard.store.engine import Store
from judgeboard.store.figures.counts import StoreCounts
from judgeboard.store.migrations import HEAD
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.saying import caption, heading
from judgeboard_dashboard.tables import csv_button, frame, height
from judgeboard_dashboard.words import count

MEGABYTE = 1_000_000
DATABASE_VARIABLE = "JUDGEBOARD_DB"


def database(store: Store, counts: StoreCounts) -> None:
    """Show which database this is, and every variable that can be set."""
    heading("Database in use")
    engine = "SQLite" if store.is_sqlite else "PostgreSQL"
    show(tag("div", tag("span", store.shown_url, cls="jb-code"), cls="jb-address"))
    said = [engine, f"schema {HEAD}", count(counts.responses, "answer"), count(counts.open_flags, "open flag")]
    size = _size(store)
    caption(" · ".join([*said, size] if size else said))
    heading("Environment")
    table = frame(
        {"Variable": "str", "Value": "str"},
        ((line.variable, _value(line)) for line in config_lines(load_settings(), PROVIDERS)),
    )
    st.dataframe(
        table,
        key="environment",
        hide_index=True,
        placeholder="not set",
        row_height=36,
        height=height(len(table), most=6),
    )
    csv_button(table, "environment", key="environment_csv")


def _value(line: ConfigLine) -> str | None:
    """The server keeps the address that it was given with --db under this name: nobody needs to have set it."""
    if line.variable == DATABASE_VARIABLE:
        return "the database above"
    return line.value if line.is_set else None


def _size(store: Store) -> str | None:
    if not store.is_sqlite:
        return None
    path = Path(str(store.engine.url.database))
    return f"{path.stat().st_size / MEGABYTE:,.1f} MB" if path.exists() else None

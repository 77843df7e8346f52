"""The table of runs: what each was asked, what became of it, what it cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pandas as pd
import streamlit as st

from judgeboard.domain import RunState
from judgeboard.store.runs.runs import Counts, StoredRun
from judgeboard_dashboard.amounts import duration, money
from judgeboard_dashboard.tables import frame, height

SILENT = timedelta(minutes=2)
COLUMNS = {
    "Run": "Int64",
    "Kind": "str",
    "Judge version": "str",
    "State": "str",
    "Asked": "Int64",
    "ok": "Int64",
    "unparsable": "Int64",
    "refused": "Int64",
    "error": "Int64",
    "not reached": "Int64",
    "Selected": "Int64",
    "Usable": "Float64",
    "Cost": "str",
    "Took": "str",
    "By": "str",
    "Why": "str",
}


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run with its counts; ``heard_at`` is when its latest verdict came."""

    run: StoredRun
    counts: Counts
    heard_at: datetime | None

    @property
    def failed(self) -> int:
        """Asks without a usable verdict."""
        return self.counts.asked - self.counts.ok

    @property
    def not_reached(self) -> int | None:
        """What was selected and not asked; None for an import, which selects nothing."""
        return None if self.run.selected is None else max(0, self.run.selected - self.counts.asked)

    @property
    def cost_micro(self) -> int | None:
        """What all asks cost; None as soon as one is unknown."""
        if not self.counts.asked or self.counts.unpriced:
            return None
        return self.counts.cost_micro or 0


def run_table(lines: Sequence[RunLine], now: datetime) -> RunLine:
    """Show the table and return the chosen run; the first one is chosen by itself."""
    table = run_frame(lines, now)
    event = st.dataframe(
        table,
        key=f"runs_{lines[0].run.id}_{len(lines)}",
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(table), most=10),
        selection_mode="single-row-required",
        on_select="rerun",
        # State and all that adds up stand within 800 px; why one stopped is said under the table too.
        column_config={
            "Run": st.column_config.NumberColumn(width=45),
            "Kind": st.column_config.TextColumn(width=66),
            "Judge version": st.column_config.TextColumn(width=120),
            "State": st.column_config.TextColumn(width=85),
            "Asked": st.column_config.NumberColumn(width=60, format="localized"),
            "ok": st.column_config.NumberColumn(width=60, format="localized"),
            "unparsable": st.column_config.NumberColumn(width=82, format="localized"),
            "refused": st.column_config.NumberColumn(width=62, format="localized"),
            "error": st.column_config.NumberColumn(width=52, format="localized"),
            "not reached": st.column_config.NumberColumn(width=85, format="localized"),
            "Selected": st.column_config.NumberColumn(width=75, format="localized"),
            "Usable": st.column_config.ProgressColumn(
                width=105, min_value=0, max_value=100, format="%.1f %%", color="primary", help="ok of asked"
            ),
            "Cost": st.column_config.TextColumn(width=75, alignment="right"),
            "Took": st.column_config.TextColumn(width=90),
            "By": st.column_config.TextColumn(width=85),
            "Why": st.column_config.TextColumn(width=205, help="Why it stopped, or how long it has said nothing"),
        },
    )
    rows = event.selection.rows
    return lines[rows[0] if rows and rows[0] < len(lines) else 0]


def run_frame(lines: Sequence[RunLine], now: datetime) -> pd.DataFrame:
    """Return runs as a table."""
    return frame(COLUMNS, (_cells(line, now) for line in lines))


def _cells(line: RunLine, now: datetime) -> tuple[object, ...]:
    run, counts = line.run, line.counts
    return (
        run.id,
        run.kind,
        run.version_title,
        run.state.value,
        counts.asked,
        counts.ok,
        counts.unparsable,
        counts.refused,
        counts.error,
        line.not_reached,
        run.selected,
        100 * counts.ok / counts.asked if counts.asked else None,
        money(line.cost_micro),
        took_words(line, now),
        run.actor,
        why_words(line, now),
    )


def why_words(line: RunLine, now: datetime) -> str | None:
    """Return why a run is in its state; one that says nothing for long may have lost its process."""
    run = line.run
    if run.state is RunState.RUNNING:
        silent = now - (line.heard_at or run.started_at)
        return f"silent for {duration(silent.total_seconds())}" if silent > SILENT else None
    return None if run.state is RunState.DONE else run.why_stopped or None


def took_words(line: RunLine, now: datetime) -> str:
    """Return how long a run took; of one that never said its end, until its last verdict."""
    run = line.run
    end = run.finished_at or line.heard_at or now.astimezone(UTC)
    return duration(max(0.0, (end - run.started_at).total_seconds()))

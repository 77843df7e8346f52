"""The two signals: how often the primary judge and the user say the same, and how often one stands alone."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, literal_column, select

from judgeboard.filters import RowFilter
from judgeboard.store.filters.filter_sql import RESPONSE
from judgeboard.store.filters.filter_verdicts import of_judge
from judgeboard.store.filters.judge_sides import CURRENT, is_low
from judgeboard.store.filters.user_sides import FEEDBACK, feedback_sides, is_latest, quality_sides
from judgeboard.store.row_filter import by_index
from judgeboard.store.settings_table import thresholds
from judgeboard.store.sql.literal_conditions import LOGGED

# Ranges of an index; "not log" would read every row.
_NOT_LOGGED: ColumnElement[bool] = literal_column("(response.kind < 'log' OR response.kind > 'log')")


def quadrant(connection: Connection) -> dict[tuple[str, str], int]:
    """Return how many logged answers there are by (judge side, user side); cells that hold none are left out.

    The judge is low, high or none (no usable verdict), the user down, middle, up or none (no feedback): each cell
    counts what `RowFilter(judge_side=…, user=…)` selects.
    """
    counts = _judged(connection)
    left = _answers(connection) - sum(counts.values())
    if left > 0:
        # What users said of the answers without a verdict is all they said but what stands beside a verdict.
        for user, said in _said(connection).items():
            beside = sum(counts.get((judge, user), 0) for judge in ("low", "high"))
            counts["none", user] = said - beside
            left -= said - beside
        counts["none", "none"] = left
    return {cell: n for cell, n in counts.items() if n}


def _judged(connection: Connection) -> dict[tuple[str, str], int]:
    # One pass with a counter a side is several times faster than grouping by an expression.
    sides = quality_sides(CURRENT.c.user_quality)
    counters: list[Any] = [func.count().filter(said).label(side) for side, said in sides.items()]
    asked: Select[Any] = select(*counters)
    query = by_index(asked.where(*of_judge(connection, RowFilter())), CURRENT, "ix_current_judgment_score")
    every = connection.execute(query).one()
    low = connection.execute(query.where(is_low(thresholds(connection)))).one()
    counts = {("low", side): n for side, n in zip(sides, low, strict=True)}
    return counts | {("high", side): n - counts["low", side] for side, n in zip(sides, every, strict=True)}


def _answers(connection: Connection) -> int:
    query = select(func.count()).select_from(RESPONSE).where(LOGGED)
    return int(connection.execute(by_index(query, RESPONSE, "ix_response_share")).scalar_one())


def _said(connection: Connection) -> dict[str, int]:
    """How many logged answers the users' latest word puts on each side."""
    made = select(RESPONSE.c.id).where(_NOT_LOGGED)
    counters = [func.count().filter(on_side).label(side) for side, on_side in feedback_sides().items()]
    query = select(*counters).where(is_latest(), FEEDBACK.c.response_id.not_in(made))
    return dict(connection.execute(query).one()._asdict())

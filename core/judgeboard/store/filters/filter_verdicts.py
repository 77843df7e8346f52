"""The shared filter as conditions on current verdicts: what one judge says, with what the user says beside it."""

from sqlalchemy import ColumnElement, Connection, select

from judgeboard.filters import RowFilter
from judgeboard.store.filters.filter_columns import on_days, one_of, within
from judgeboard.store.filters.judge_sides import CURRENT, is_low
from judgeboard.store.filters.user_sides import quality_sides
from judgeboard.store.settings_table import primary_judge, thresholds
from judgeboard.store.sql.literal_conditions import CURRENT_OF_NAME, CURRENT_OF_VERSION


def asks_verdict(where: RowFilter) -> bool:
    """Whether a usable verdict decides: a score, its absence or a side is asked for, or a judge by itself.

    Beside a status the judge only says whose judgment is meant.
    """
    scores = (where.min_score, where.max_score, where.min_quality, where.max_quality, where.unscored)
    if any(value is not None for value in scores):
        return True
    if where.judge_side is not None:
        return where.judge_side != "none"
    return not where.statuses and (where.judge is not None or where.judge_version is not None)


def of_judge(connection: Connection, where: RowFilter) -> list[ColumnElement[bool]]:
    """Return the conditions of the current verdicts of the version or judge that is meant, else the primary judge."""
    kinds = CURRENT.c.response_kind.in_(where.kinds)
    if where.judge_version is not None:
        return [kinds if where.kinds else CURRENT_OF_VERSION, CURRENT.c.judge_version_id == where.judge_version]
    current = [CURRENT.c.is_current, kinds] if where.kinds else [CURRENT_OF_NAME]
    return [*current, CURRENT.c.judge_name == (where.judge or primary_judge(connection))]


def verdict_conditions(connection: Connection, where: RowFilter) -> list[ColumnElement[bool]]:
    """Return what the filter asks of a current verdict.

    Query type, source and day of the answer and the user's latest word stand beside each verdict: asked there too,
    they keep what is found small.
    """
    conditions = of_judge(connection, where)
    conditions += one_of((where.query_types, CURRENT.c.query_type), (where.sources, CURRENT.c.source))
    conditions += on_days(where, CURRENT.c.asked_day)
    conditions += within(where, CURRENT.c.groundedness, CURRENT.c.quality)
    if where.unscored is not None:
        conditions.append(CURRENT.c[where.unscored].is_(None))
    if where.judge_side in {"low", "high"}:
        low = is_low(thresholds(connection))
        conditions.append(low if where.judge_side == "low" else ~low)
    if where.user is not None:
        conditions.append(quality_sides(CURRENT.c.user_quality)[where.user])
    return conditions


def unjudged(connection: Connection, where: RowFilter, response_id: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that this judge has no usable verdict on a response."""
    return response_id.not_in(select(CURRENT.c.response_id).where(*of_judge(connection, where)))

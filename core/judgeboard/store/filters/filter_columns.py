"""Parts of the shared filter as conditions on whatever columns hold them."""

from sqlalchemy import ColumnElement

from judgeboard.filters import RowFilter


def one_of(*given: tuple[tuple[str, ...], ColumnElement[str | None]]) -> list[ColumnElement[bool]]:
    """Return the conditions that columns hold one of their values, where any are given."""
    return [column.in_(values) for values, column in given if values]


def on_days(where: RowFilter, day: ColumnElement[int | None]) -> list[ColumnElement[bool]]:
    """Return the filter's days as conditions on this column; what has no time is on no day."""
    conditions: list[ColumnElement[bool]] = []
    if where.day_from is not None:
        conditions.append(day >= where.day_from)
    if where.day_to is not None:
        conditions.append(day <= where.day_to)
    if where.no_time:
        conditions.append(day.is_(None))
    return conditions


def within(
    where: RowFilter, groundedness: ColumnElement[float | None], quality: ColumnElement[int | None]
) -> list[ColumnElement[bool]]:
    """Return the filter's ranges of scores as conditions on these columns; what has no score is outside."""
    conditions: list[ColumnElement[bool]] = []
    for low, high, score in (
        (where.min_score, where.max_score, groundedness),
        (where.min_quality, where.max_quality, quality),
    ):
        if low is not None:
            conditions.append(score >= low)
        if high is not None:
            conditions.append(score <= high)
    return conditions

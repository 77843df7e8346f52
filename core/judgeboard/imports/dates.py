"""Dates with the year last, such as 03/04/2026: which number is the day, and the date with the year first."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class DateOrder(StrEnum):
    """The order of day and month in dates with the year last."""

    DAY_FIRST = "day-first"
    MONTH_FIRST = "month-first"


_YEAR_LAST = re.compile(
    r"\s*(\d{1,2})([./-])(\d{1,2})\2(\d{4})"
    r"(?:[ ,T]+(\d{1,2}):(\d{2})(?::(\d{2})(\.\d{1,6})?)?\s*(?:([AaPp])\.?[Mm]\.?)?)?"
    r"\s*(Z|UTC|[+-]\d{2}:?\d{2})?\s*",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class DatesOfColumn:
    """What a column shows of the order of day and month.

    ``example`` is the date that decides the ``order``. If none does, it is the first date with the year last.
    """

    column: str
    example: str
    order: DateOrder | None


def dates_of(column: str, values: Iterable[Any]) -> DatesOfColumn | None:
    """Return what the dates of a column show; None if no value is a date with the year last.

    The first date that is possible in one order only decides: 31/02/2026 is no date and shows nothing.
    """
    undecided: DatesOfColumn | None = None
    for value in values:
        orders = orders_of(value)
        if orders is not None and len(orders) == 1:
            return DatesOfColumn(column, value.strip(), orders[0])
        if orders:
            undecided = undecided or DatesOfColumn(column, value.strip(), None)
    return undecided


def orders_of(value: Any) -> list[DateOrder] | None:
    """Return the orders in which a date with the year last is possible; None if the value has another form.

    Dates with dots, such as 03.04.2026, have the day first everywhere.
    """
    match = _YEAR_LAST.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    orders = [DateOrder.DAY_FIRST] if match[2] == "." else [*DateOrder]
    return [order for order in orders if _is_possible(with_year_first(value, order))]


def _is_possible(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def with_year_first(value: Any, order: DateOrder | None) -> Any:
    """Return a date with the year last as ISO 8601, "2026-04-03T09:30:00"; any other value is unchanged."""
    match = _YEAR_LAST.fullmatch(value) if order is not None and isinstance(value, str) else None
    if match is None:
        return value
    one, _, two, year, hour, minute, second, fraction, half, zone = match.groups()
    day, month = (one, two) if order is DateOrder.DAY_FIRST else (two, one)
    date = f"{year}-{int(month):02}-{int(day):02}"
    if hour is None:
        return date
    hours = int(hour) if half is None else int(hour) % 12 + (12 if half in "pP" else 0)
    time = f"{hours:02}:{minute}:{second or '00'}{fraction or ''}"
    return f"{date}T{time}{'Z' if zone == 'UTC' else zone or ''}"

"""Dates with the year last, such as 03/04/2026: which number is the day, and the date with the year first."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
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

    The first date that is possible in one order only decides: 31/02/2026 does not exist and shows nothing.
    """
    undecided: DatesOfColumn | None = None
    for value in values:
        orders = orders_of(value)
        if len(orders) == 1:
            return DatesOfColumn(column, value.strip(), orders[0])
        if orders:
            undecided = undecided or DatesOfColumn(column, value.strip(), None)
    return undecided


def orders_of(value: Any) -> list[DateOrder]:
    """Return the orders in which the day of a date with the year last exists; none for a value of another form.

    Dates with dots, such as 03.04.2026, have the day first everywhere.
    """
    match = _matched(value)
    if match is None:
        return []
    orders = [DateOrder.DAY_FIRST] if match[2] == "." else [*DateOrder]
    return [order for order in orders if _exists(_day_of(match, order))]


def is_impossible_date(value: Any) -> bool:
    """Whether a value is a date with the year last that does not exist, such as 31/02/2026."""
    return _matched(value) is not None and not orders_of(value)


def _matched(value: Any) -> re.Match[str] | None:
    return _YEAR_LAST.fullmatch(value) if isinstance(value, str) else None


def _day_of(match: re.Match[str], order: DateOrder) -> str:
    day, month = (match[1], match[3]) if order is DateOrder.DAY_FIRST else (match[3], match[1])
    return f"{match[4]}-{int(month):02}-{int(day):02}"


def _exists(day: str) -> bool:
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return True


def with_year_first(value: Any, order: DateOrder | None) -> Any:
    """Return a date with the year last as ISO 8601, "2026-04-03T09:30:00"; any other value is unchanged."""
    match = _matched(value)
    if match is None or order is None:
        return value
    day = _day_of(match, order)
    hour, minute, second, fraction, half, zone = match.groups()[4:]
    if hour is None:
        return day
    hours = int(hour) if half is None else int(hour) % 12 + (12 if half in "pP" else 0)
    time = f"{hours:02}:{minute}:{second or '00'}{fraction or ''}"
    return f"{day}T{time}{'Z' if zone == 'UTC' else zone or ''}"

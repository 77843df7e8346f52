"""Dates with the year last, such as 03/04/2026: which number is the day, and the date with the year first."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
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
    """Return what the dates of a column show; None if no value has the year last.

    The first date with a number above 12 decides. Dates with dots, such as 03.04.2026, have the day first everywhere.
    """
    undecided: DatesOfColumn | None = None
    for value in values:
        match = _YEAR_LAST.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            continue
        one, two = int(match[1]), int(match[3])
        if match[2] == "." or one > 12 >= two:
            return DatesOfColumn(column, value.strip(), DateOrder.DAY_FIRST)
        if two > 12 >= one:
            return DatesOfColumn(column, value.strip(), DateOrder.MONTH_FIRST)
        undecided = undecided or DatesOfColumn(column, value.strip(), None)
    return undecided


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

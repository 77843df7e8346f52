"""Times as people and spreadsheets write them: which number is the day, months by name, and named time zones."""

import re
import warnings
from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from judgeboard.text import as_utc


class DateOrder(StrEnum):
    """The order of day and month in dates with the year last."""

    DAY_FIRST = "day-first"
    MONTH_FIRST = "month-first"


_YEAR_LAST = re.compile(r"\s*(\d{1,2})([./-])(\d{1,2})\2(\d{4})\b", re.ASCII)
_MONTH_BY_NAME = re.compile(r"(?=.*\b\d{4}\b).*[A-Za-z]{3}", re.DOTALL)
# Hours from UTC. CST and IST are left out: each names several zones.
_ZONES = {
    "UTC": 0,
    "GMT": 0,
    "Z": 0,
    "WET": 0,
    "WEST": 1,
    "BST": 1,
    "CET": 1,
    "CEST": 2,
    "MEZ": 1,
    "MESZ": 2,
    "EET": 2,
}
_ZONES |= {
    "EEST": 3,
    "MSK": 3,
    "JST": 9,
    "EST": -5,
    "EDT": -4,
    "CDT": -5,
    "MST": -7,
    "MDT": -6,
    "PST": -8,
    "PDT": -7,
}
_SECONDS = {zone: hours * 3600 for zone, hours in _ZONES.items()}


@dataclass(frozen=True, slots=True)
class DatesOfColumn:
    """The order of day and month that a column shows.

    ``example`` is the date that decides the ``order``; if no date decides, the first date with the
    year last.
    """

    column: str
    example: str
    order: DateOrder | None


def dates_of(column: str, values: Iterable[Any]) -> DatesOfColumn | None:
    """Return the order that the dates of a column show; None if no value is a date with the year last.

    The first date that is possible in only one order decides. 31/02/2026 does not exist and shows
    nothing.
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
    match = _YEAR_LAST.match(value) if isinstance(value, str) else None
    if match is None:
        return []
    first, second, year = int(match[1]), int(match[3]), int(match[4])
    days = {DateOrder.DAY_FIRST: (second, first)}
    if match[2] != ".":
        days[DateOrder.MONTH_FIRST] = (first, second)
    return [
        order
        for order, (month, day) in days.items()
        if year and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]
    ]


def read_time(value: Any, order: DateOrder | None) -> datetime:
    """Return a time in UTC. ``order`` is the order of day and month in dates with the year last, if the file shows one.

    Raises ValueError, with a message for the user, if ``value`` is not a time.
    """
    try:
        return as_utc(value)
    except ValueError:
        orders = orders_of(value)
        if orders and order not in (None, *orders):
            raise ValueError(
                f"{value!r} is not a {order} date, as the others of this file are"
            ) from None
        order = orders[0] if len(orders) == 1 else order
        by_name = (
            isinstance(value, str) and not _YEAR_LAST.match(value) and _MONTH_BY_NAME.match(value)
        )
        if not (by_name or (orders and order)):
            raise
    # A time needs a day, a month, a year and a known zone. What the text leaves out comes from the
    # default: then the two times differ.
    from dateutil import parser  # few files need it

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # for an unknown zone
            day_first = order is DateOrder.DAY_FIRST
            moments = {
                parser.parse(value, default=default, dayfirst=day_first, tzinfos=_SECONDS)
                for default in (datetime(2000, 1, 1), datetime(2001, 2, 2))  # noqa: DTZ001 - the text may have a zone
            }
    except (ValueError, OverflowError, Warning):
        moments = set()
    if len(moments) != 1:
        raise ValueError(f"{value[:60]!r} is not a time")
    return as_utc(moments.pop())

"""Reads a filter out of a page's address and writes it back: ``?rule=low_groundedness&query_type=QA&max_score=0.3``.

The names are those of ``--where``; every page that filters understands all of them, whichever it has a field for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta

from judgeboard.errors import BadInput
from judgeboard.filters import WHERE_FIELDS, RowFilter, from_dict, parse_where

Query = dict[str, list[str]]

_VERSION = "judge_version"
FIELDS: tuple[str, ...] = (*WHERE_FIELDS, _VERSION)
_MANY = {
    "query_type": "query_types",
    "source": "sources",
    "model": "models",
    "id": "ids",
    "rule": "rules",
    "state": "states",
    "status": "statuses",
}
_DAYS = {"from": "day_from", "to": "day_to"}


def filter_in(query: Mapping[str, Sequence[str]]) -> tuple[RowFilter, list[str]]:
    """Return the filter of an address and the parts of it that cannot be used, which are left out.

    An address is typed and shortened by people: one bad part does not hide the page, it is named.
    """
    given = [(field, value) for field in FIELDS for value in query.get(field, ()) if value]
    good: list[tuple[str, str]] = []
    ignored: list[str] = []
    for field, value in given:
        try:
            _parsed([*good, (field, value)])
            good.append((field, value))
        except BadInput:
            ignored.append(f"{field}={value}")
    return _parsed(good), ignored


def query_of(given: RowFilter) -> Query:
    """Return the filter as an address carries it; `filter_in` reads the same filter back.

    Inner ids (``response_ids``) are not written: an address is for people and lasts.
    """
    query: Query = {}
    for field in FIELDS:
        values = _values(given, field)
        if values:
            query[field] = values
    return query


def without(given: RowFilter, field: str) -> RowFilter:
    """Return the filter without one of its fields, named as in an address."""
    return from_dict({name: value for name, value in given.as_dict().items() if name != _name(field)})


def only(given: RowFilter, *fields: str) -> RowFilter:
    """Return what these fields of the filter say, named as in an address."""
    names = {_name(field) for field in fields}
    return from_dict({name: value for name, value in given.as_dict().items() if name in names})


def as_date(day: int | None) -> date | None:
    """Return a day that counts from 1970-01-01 as a date."""
    return None if day is None else date(1970, 1, 1) + timedelta(days=day)


def _parsed(pairs: Sequence[tuple[str, str]]) -> RowFilter:
    plain = parse_where([f"{field}={value}" for field, value in pairs if field != _VERSION])
    versions = {value for field, value in pairs if field == _VERSION}
    if not versions:
        return plain
    if len(versions) > 1 or not next(iter(versions)).isdecimal():
        raise BadInput("judge_version is the number of one judge version")
    return replace(plain, judge_version=int(versions.pop()))


def _name(field: str) -> str:
    if field == "time":
        return "no_time"
    return _MANY.get(field) or _DAYS.get(field) or field


def _values(given: RowFilter, field: str) -> list[str]:
    value = getattr(given, _name(field))
    if value is None or value == () or (field == "time" and not value):
        return []
    if field == "time":
        return ["none"]
    if field == "graded":
        return ["yes" if value else "no"]
    if field in _DAYS:
        return [str(as_date(value))]
    if field in _MANY:
        return list(value)
    return [f"{value:g}" if isinstance(value, float) else str(value)]

"""What the filters of the Responses page can name: query types, sources and generator models that occur."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, func, select

from judgeboard.store.filters.filter_sql import RESPONSE
from judgeboard.store.judgments.judge_versions import list_versions
from judgeboard.store.sql.literal_conditions import LOGGED

_MOST = 200  # choices that a field offers


@dataclass(frozen=True, slots=True)
class ResponseFacets:
    """What occurs in the log, sorted, at most 200 of each; ``judges`` are names."""

    query_types: tuple[str, ...]
    sources: tuple[str, ...]
    models: tuple[str, ...]
    judges: tuple[str, ...]


def response_facets(connection: Connection) -> ResponseFacets:
    """Return what answers can be filtered by: one seek in an index per value, however long the log is."""
    return ResponseFacets(
        query_types=_values(connection, RESPONSE.c.query_type, LOGGED),
        sources=_logged(connection, RESPONSE.c.source),
        models=_logged(connection, RESPONSE.c.generator_model),
        judges=tuple(sorted({version.name for version in list_versions(connection)})),
    )


def _values(connection: Connection, column: ColumnElement[str], *conditions: ColumnElement[bool]) -> tuple[str, ...]:
    """The next greater value, again and again: DISTINCT would walk the whole index."""
    found: list[str] = []
    while len(found) < _MOST:
        further = [column > found[-1]] if found else []
        value = connection.execute(select(func.min(column)).where(*conditions, *further)).scalar()
        if value is None:
            break
        found.append(value)
    return tuple(sorted(found))


def _logged(connection: Connection, column: ColumnElement[str]) -> tuple[str, ...]:
    """The values that a logged answer has; those of made answers alone, as of a suite, are no filter of the log."""
    return tuple(
        value
        for value in _values(connection, column)
        if connection.execute(select(RESPONSE.c.id).where(column == value, LOGGED).limit(1)).scalar() is not None
    )

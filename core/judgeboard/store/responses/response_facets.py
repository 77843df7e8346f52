"""What the filters of the Responses page can name: query types, sources and generator models that occur."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, select

from judgeboard.store.filters.filter_sql import RESPONSE
from judgeboard.store.judgments.judge_versions import list_versions
from judgeboard.store.listing import occurring_values
from judgeboard.store.sql.literal_conditions import LOGGED


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
        query_types=occurring_values(connection, RESPONSE.c.query_type, LOGGED),
        sources=_logged(connection, RESPONSE.c.source),
        models=_logged(connection, RESPONSE.c.generator_model),
        judges=tuple(sorted({version.name for version in list_versions(connection)})),
    )


def _logged(connection: Connection, column: ColumnElement[str]) -> tuple[str, ...]:
    """The values that a logged answer has; those of made answers alone, as of a suite, are no filter of the log."""
    return tuple(
        value
        for value in occurring_values(connection, column)
        if connection.execute(select(RESPONSE.c.id).where(column == value, LOGGED).limit(1)).scalar() is not None
    )

"""Whether values that a queue is asked for occur in the database at all."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, select

from judgeboard.store.pairs.pair_items import PAIR
from judgeboard.store.reviews.dimensions import OF_JUDGES, OF_PEOPLE
from judgeboard.store.schema.tables import FLAG, RESPONSE
from judgeboard.store.sql.literal_conditions import LOGGED


def rules_without_flags(connection: Connection, rules: Collection[str]) -> list[str]:
    """Return the rules that never flagged anything."""
    return [rule for rule in rules if not _any(connection, FLAG.c.rule == rule)]


def types_without_rows(connection: Connection, query_types: Collection[str], *, of_pairs: bool) -> list[str]:
    """Return the query types that no answer of the log, or no pair, has."""
    column, kept = (PAIR.c.query_type, ()) if of_pairs else (RESPONSE.c.query_type, (LOGGED,))
    return [one for one in query_types if not _any(connection, column == one, *kept)]


def sources_without_rows(connection: Connection, sources: Collection[str], *, of_pairs: bool) -> list[str]:
    """Return the sources that no answer of the log, or no pair, has."""
    column, kept = (PAIR.c.source, ()) if of_pairs else (RESPONSE.c.source, (LOGGED,))
    return [one for one in sources if not _any(connection, column == one, *kept)]


def dimensions_without_scores(connection: Connection, dimensions: Collection[str]) -> list[str]:
    """Return the dimensions of a rubric on which neither a judge nor a person scored anything."""
    return [
        one
        for one in dimensions
        if not _any(connection, OF_JUDGES.c.dimension == one) and not _any(connection, OF_PEOPLE.c.dimension == one)
    ]


def any_pairs(connection: Connection) -> bool:
    """Whether there is a pair with two answers."""
    return _any(connection, PAIR.c.response_a_id.is_not(None), PAIR.c.response_b_id.is_not(None))


def _any(connection: Connection, *conditions: Any) -> bool:
    return connection.execute(select(1).where(*conditions).limit(1)).first() is not None

"""Finds responses by the ids that other files call them."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, select

from judgeboard.store.schema.tables import RESPONSE


class NamedResponse(NamedTuple):
    """A response that answers to an outside id."""

    id: int
    source: str


def responses_named(connection: Connection, external_ids: Collection[str]) -> dict[str, list[NamedResponse]]:
    """Return, for each outside id that is stored, the responses of every source that have it, by source."""
    found: dict[str, list[NamedResponse]] = {}
    query = select(RESPONSE.c.external_id, RESPONSE.c.id, RESPONSE.c.source)
    rows = connection.execute(query.where(RESPONSE.c.external_id.in_(external_ids)).order_by(RESPONSE.c.id))
    for external_id, response_id, source in rows:
        found.setdefault(external_id, []).append(NamedResponse(response_id, source))
    return found

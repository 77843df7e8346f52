"""What tells a response from the stored one of its id: a conflict is only of use where its fields are named."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, Row, select

from judgeboard.domain import Response
from judgeboard.store.schema.tables import ResponseRow
from judgeboard.store.sql.batches import batches
from judgeboard.times import iso_z

RESPONSE = ResponseRow.__table__

_COLUMNS = (
    *("source", "external_id", "kind", "query_type", "query", "passages", "answer", "generator_model"),
    *("generator_cost", "messages", "reference", "asked_at", "extra"),
)


def find_contents(connection: Connection, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], Row[Any]]:
    """Return what is stored under these sources and ids; a forgotten response has no content left."""
    found: dict[tuple[str, str], Row[Any]] = {}
    columns = [RESPONSE.c[name] for name in _COLUMNS]
    for part in batches(sorted(set(keys))):
        query = select(*columns).where(
            RESPONSE.c.source.in_({source for source, _ in part}),
            RESPONSE.c.external_id.in_({external_id for _, external_id in part}),
            RESPONSE.c.query.is_not(None),
        )
        found |= {(row.source, row.external_id): row for row in connection.execute(query)}
    return found


def differing(response: Response, stored: Row[Any]) -> list[str]:
    """Return the fields, by the names that a file's columns are mapped to, in which the two differ."""
    pairs = {
        "query": (response.query, stored.query),
        "answer": (response.answer, stored.answer),
        "context": (_listed(response.passages), _listed(stored.passages)),
        "query_type": (response.query_type, stored.query_type),
        "generator_model": (response.generator_model, stored.generator_model),
        "generator_cost": (_micro(response.generator_cost), _micro(stored.generator_cost)),
        "messages": (_listed(response.messages), _listed(stored.messages)),
        "reference": (response.reference, stored.reference),
        "asked_at": (_moment(response.asked_at), _moment(stored.asked_at)),
        "metadata": (response.metadata or {}, stored.extra or {}),
        "kind": (response.kind.value, stored.kind),
    }
    return [name for name, (one, other) in pairs.items() if one != other]


def _listed(values: Any) -> Any:
    return None if values is None else list(values)


def _micro(cost: Any) -> int | None:
    return None if cost is None else round(float(cost) * 1_000_000)


def _moment(at: Any) -> str | None:
    return None if at is None else iso_z(at)

"""Rows of responses and feedback: found by (source, external id), inserted where they are new."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, bindparam, insert, select

from judgeboard.content_hash import evidence_group
from judgeboard.domain import Feedback, Response, ResponseKind
from judgeboard.store.schema.tables import FEEDBACK, RESPONSE
from judgeboard.store.sql.batches import batches
from judgeboard.store.sql.insertion import insert_or_skip
from judgeboard.times import as_utc, utc_day

_BY_KEY = select(RESPONSE.c.source, RESPONSE.c.external_id, RESPONSE.c.id, RESPONSE.c.content_hash).where(
    RESPONSE.c.source.in_(bindparam("sources", expanding=True)),
    RESPONSE.c.external_id.in_(bindparam("external_ids", expanding=True)),
)


class Known(NamedTuple):
    """A stored response as an import meets it again."""

    id: int
    content_hash: str


def key_of(response: Response) -> tuple[str, str]:
    """Return what names a response for ever: its source and its external id."""
    return response.source, response.external_id


def find_responses(connection: Connection, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], Known]:
    """Return those of the keys that are stored, at most 1,000 keys in one statement."""
    # Not (source, external_id) IN (...): SQLite reads the whole index for that.
    parts = {"sources": list({source for source, _ in keys}), "external_ids": list({each for _, each in keys})}
    wanted = set(keys)
    return {
        (source, external_id): Known(id_, hash_)
        for source, external_id, id_, hash_ in connection.execute(_BY_KEY, parts)
        if (source, external_id) in wanted
    }


def find_contents(connection: Connection, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], Response]:
    """Return what is stored under these sources and ids; a forgotten response has no content left."""
    found: dict[tuple[str, str], Response] = {}
    for part in batches(sorted(set(keys))):
        query = select(RESPONSE).where(
            RESPONSE.c.source.in_({source for source, _ in part}),
            RESPONSE.c.external_id.in_({external_id for _, external_id in part}),
            RESPONSE.c.query.is_not(None),
        )
        found |= {(row.source, row.external_id): response_of(row) for row in connection.execute(query)}
    return found


def insert_responses(
    connection: Connection, hashed: Mapping[tuple[str, str], tuple[Response, str]], batch_id: int | None, now: datetime
) -> dict[tuple[str, str], int]:
    """Insert responses with their content hashes; return the ids of those that no other process had stored."""
    statement = insert_or_skip(connection, RESPONSE, "source", "external_id")
    inserted = connection.execute(
        statement.returning(RESPONSE.c.source, RESPONSE.c.external_id, RESPONSE.c.id),
        [_response_row(response, hash_, batch_id, now) for response, hash_ in hashed.values()],
    )
    return {(source, external_id): id_ for source, external_id, id_ in inserted}


def insert_feedback(
    connection: Connection,
    given: Mapping[int, Iterable[Feedback]],
    known_ids: Collection[int],
    batch_id: int | None,
    now: datetime,
) -> list[int]:
    """Append the feedback that is not stored yet, equal meaning kind, value, user and time.

    ``known_ids`` are the responses that may have some already. Returns the response id of every row added, in order.
    """
    stored: set[tuple[Any, ...]] = set()
    if known_ids:
        columns = (FEEDBACK.c[name] for name in ("response_id", "kind", "value", "user", "at"))
        rows = connection.execute(select(*columns).where(FEEDBACK.c.response_id.in_(known_ids)))
        stored = {(response_id, *said) for response_id, *said in rows}
    added: list[dict[str, Any]] = []
    for response_id, feedbacks in given.items():
        for feedback in feedbacks:
            at = None if feedback.at is None else as_utc(feedback.at)
            one = (response_id, feedback.kind.value, float(feedback.value), feedback.user, at)
            if one not in stored:
                stored.add(one)
                names = ("response_id", "kind", "value", "user", "at")
                added.append(dict(zip(names, one, strict=True)) | {"import_batch_id": batch_id, "imported_at": now})
    if added:
        connection.execute(insert(FEEDBACK), added)
    return [row["response_id"] for row in added]


def _response_row(response: Response, hash_: str, batch_id: int | None, now: datetime) -> dict[str, Any]:
    asked_at = None if response.asked_at is None else as_utc(response.asked_at)
    return {
        "kind": response.kind.value,
        "derived_from": response.derived_from,
        "source": response.source,
        "external_id": response.external_id,
        "query_type": response.query_type,
        "query": response.query,
        "passages": None if response.passages is None else list(response.passages),
        "answer": response.answer,
        "generator_model": response.generator_model,
        "generator_cost": response.generator_cost,
        "messages": None if response.messages is None else list(response.messages),
        "reference": response.reference,
        "asked_at": asked_at,
        "asked_day": None if asked_at is None else utc_day(asked_at),
        "extra": response.metadata,
        "content_hash": hash_,
        "evidence_group": evidence_group(response.query, response.passages),
        "import_batch_id": batch_id,
        "imported_at": now,
    }


def response_of(row: Row[Any]) -> Response:
    """Return the response of a row; feedback has a table of its own."""
    return Response(
        source=row.source,
        external_id=row.external_id,
        query=row.query,
        answer=row.answer,
        passages=None if row.passages is None else tuple(row.passages),
        query_type=row.query_type,
        generator_model=row.generator_model,
        generator_cost=row.generator_cost,
        messages=None if row.messages is None else tuple(row.messages),
        reference=row.reference,
        asked_at=row.asked_at,
        metadata=row.extra,
        kind=ResponseKind(row.kind),
        derived_from=row.derived_from,
    )

"""Logged answers of one source with what two answers are paired by."""

from typing import NamedTuple

from sqlalchemy import Connection, select

from judgeboard.domain import ResponseKind
from judgeboard.store.schema.tables import RESPONSE

_response = RESPONSE.c


class LogAnswer(NamedTuple):
    """A logged answer: equal ``evidence_group`` means equal query and passages."""

    id: int
    external_id: str
    query: str
    query_type: str
    reference: str | None
    evidence_group: int
    has_passages: bool


def log_answers(connection: Connection, source: str) -> list[LogAnswer]:
    """Return the answers of a source by id; forgotten ones are left out."""
    query = (
        select(
            _response.id,
            _response.external_id,
            _response.query,
            _response.query_type,
            _response.reference,
            _response.evidence_group,
            _response.passages.is_not(None),
        )
        .where(
            _response.source == source,
            _response.kind == ResponseKind.LOG.value,
            _response.query.is_not(None),
            _response.answer.is_not(None),
        )
        .order_by(_response.id)
    )
    return [LogAnswer._make(row) for row in connection.execute(query)]

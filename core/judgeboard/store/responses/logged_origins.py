"""Logged answers as something to make another answer from."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from judgeboard.domain import JudgeInput
from judgeboard.store.filters.filter_sets import listed
from judgeboard.store.responses.response_rows import RESPONSE


@dataclass(frozen=True, slots=True)
class Origin:
    """What an answer is made from; ``messages`` None were not logged, ``item.response_id`` 0 is no logged answer."""

    item: JudgeInput
    source: str
    messages: tuple[dict[str, Any], ...] | None = None

    @property
    def root_response_id(self) -> int | None:
        """The logged answer, None where there is none."""
        return self.item.response_id or None


def read_origins(connection: Connection, response_ids: Sequence[int]) -> dict[int, Origin]:
    """Return logged answers by id; a forgotten one is left out."""
    names = ("id", "source", "external_id", "query", "answer", "passages", "query_type", "reference", "messages")
    rows = connection.execute(select(*(RESPONSE.c[name] for name in names)).where(RESPONSE.c.id.in_(response_ids)))
    return {
        row.id: Origin(
            item=JudgeInput(
                response_id=row.id,
                query=row.query,
                answer=row.answer,
                passages=None if row.passages is None else tuple(row.passages),
                query_type=row.query_type,
                reference=row.reference,
                external_id=row.external_id,
            ),
            source=row.source,
            messages=tuple(row.messages) if row.messages else None,
        )
        for row in rows
        if row.query is not None and row.answer is not None
    }


def external_ids(connection: Connection, response_ids: Collection[int]) -> dict[int, str]:
    """Return the outside ids of responses by their inner ones."""
    query = select(RESPONSE.c.id, RESPONSE.c.external_id)
    rows = connection.execute(query.where(RESPONSE.c.id.in_(listed(connection, tuple(response_ids)))))
    return {row.id: row.external_id for row in rows}

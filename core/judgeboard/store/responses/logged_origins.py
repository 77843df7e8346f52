"""Logged answers as something to make another answer from."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, select

from judgeboard.domain import JudgeInput
from judgeboard.store.judgments.judge_inputs import INPUT_COLUMNS, RESPONSE, input_of
from judgeboard.store.sql.batches import listed


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
    query: Select[Any] = select(*INPUT_COLUMNS, RESPONSE.c.source, RESPONSE.c.messages)
    rows = connection.execute(query.where(RESPONSE.c.id.in_(response_ids)))
    return {
        row.id: Origin(input_of(row), row.source, tuple(row.messages) if row.messages else None)
        for row in rows
        if row.query is not None and row.answer is not None
    }


def external_ids(connection: Connection, response_ids: Collection[int]) -> dict[int, str]:
    """Return the outside ids of responses by their inner ones."""
    query = select(RESPONSE.c.id, RESPONSE.c.external_id)
    rows = connection.execute(query.where(RESPONSE.c.id.in_(listed(connection, tuple(response_ids)))))
    return {row.id: row.external_id for row in rows}

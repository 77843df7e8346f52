"""What a list shows of answers that it knows by id: outside id, kind, the start of the question."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, select

from judgeboard.store.responses.text_starts import QUESTION
from judgeboard.store.schema.tables import RESPONSE


@dataclass(frozen=True, slots=True)
class AnswerStart:
    """An answer in one line; the question is None once forgotten."""

    response_id: int
    external_id: str
    kind: str
    question: str | None


def answer_starts(connection: Connection, ids: Collection[int]) -> dict[int, AnswerStart]:
    """Return these answers by id; at most 1,000 at once."""
    query = select(RESPONSE.c.id, RESPONSE.c.external_id, RESPONSE.c.kind, QUESTION)
    rows = connection.execute(query.where(RESPONSE.c.id.in_(ids)))
    return {row[0]: AnswerStart(*row) for row in rows}

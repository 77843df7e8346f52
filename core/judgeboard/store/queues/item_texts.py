"""What there is to read of a queue item: its texts alone, nothing that anybody or any judge said of them."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, select

from judgeboard.store.row_filter import with_hidden_rows
from judgeboard.store.schema.tables import RESPONSE
from judgeboard.store.sql.batches import batches


@dataclass(frozen=True, slots=True)
class AnswerText:
    """An answer as it is read; texts are None once forgotten, ``passages`` also where the log carried none."""

    response_id: int
    external_id: str
    query_type: str
    question: str | None
    passages: tuple[str, ...] | None
    answer: str | None


def answer_texts(connection: Connection, response_ids: Collection[int]) -> dict[int, AnswerText]:
    """Return the texts of these answers by id."""
    columns = ("id", "external_id", "query_type", "query", "passages", "answer")
    query = select(*(RESPONSE.c[name] for name in columns))
    found = {}
    for some in batches(sorted(set(response_ids))):
        for id_, external_id, query_type, question, passages, answer in connection.execute(
            with_hidden_rows(query.where(RESPONSE.c.id.in_(some)))
        ):
            read = None if passages is None else tuple(passages)
            found[id_] = AnswerText(id_, external_id, query_type, question, read, answer)
    return found

"""Text search in questions, answers and outside ids: any substring of three characters or more, whatever its case."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, column, literal_column, or_, select, table

from judgeboard.store.schema.tables import RESPONSE

_INDEX = table("response_search", column("rowid"))
_MATCHED: ColumnElement[str] = literal_column("response_search")  # FTS5 matches the index as a whole by its name

SHORTEST = 3  # characters that the trigram index can find


def text_condition(connection: Connection, response_id: ColumnElement[int], words: str) -> ColumnElement[bool]:
    """Return the condition that the response of ``response_id`` contains ``words``.

    Under three characters no index helps, and reading every text would take seconds on a large log: then only outside
    ids that start with the words are found.
    """
    if len(words) < SHORTEST:
        found = RESPONSE.c.external_id.startswith(words, autoescape=True)
    elif connection.dialect.name == "sqlite":
        return response_id.in_(_indexed(words))
    else:
        found = contains(words)
    return found if response_id is RESPONSE.c.id else response_id.in_(select(RESPONSE.c.id).where(found))


def few_matches(connection: Connection, words: str, most: int) -> tuple[int, ...] | None:
    """Return the responses that contain ``words`` where they are at most ``most``, None where the index cannot tell.

    PostgreSQL plans by its statistics and needs no such question.
    """
    if connection.dialect.name != "sqlite" or len(words) < SHORTEST:
        return None
    found = tuple(connection.execute(_indexed(words).limit(most + 1)).scalars())
    return None if len(found) > most else found


def contains(words: str) -> ColumnElement[bool]:
    """Return the condition that a row of response contains ``words``, read from the row itself."""
    return or_(*(RESPONSE.c[name].icontains(words, autoescape=True) for name in ("query", "answer", "external_id")))


def _indexed(words: str) -> Select[Any]:
    """The ids that FTS5 finds; one phrase of its language, in which only the quote is special inside quotes."""
    quoted = words.replace('"', '""')
    return select(_INDEX.c.rowid).where(_MATCHED.op("MATCH")(f'"{quoted}"'))

"""Facts that depend on the texts of an answer alone, stored with the answer for figures of all answers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, literal_column, select

from judgeboard.judges.evidence_alignment import is_right_refusal
from judgeboard.judges.words import only_declines
from judgeboard.stats.arrays import IntArray
from judgeboard.store.statements import AT_ONCE, read_columns, upsert
from judgeboard.store.tables import ANSWER_FACT, RESPONSE

RULE_VERSION = 1
"""The version of the rules behind the facts. If a rule changes, raise this number: all facts are computed again."""


def store_facts(
    connection: Connection,
    texts: Sequence[tuple[int, str | None, str | None, Sequence[str] | None]],
) -> None:
    """Store the facts of answers, given by id, query, answer and passages, in place of earlier facts.

    The facts of a forgotten answer, whose texts are None, are NULL.
    """
    rows: list[dict[str, Any]] = [
        {
            "response_id": response_id,
            "rule_version": RULE_VERSION,
            "is_right_refusal": None
            if answer is None
            else is_right_refusal(query or "", answer, passages),
            "length": None if answer is None else len(answer),
        }
        for response_id, query, answer, passages in texts
    ]
    if rows:
        connection.execute(upsert(connection, ANSWER_FACT, "response_id"), rows)


def are_current(connection: Connection) -> bool:
    """Return whether each answer has the facts of these rules.

    The newest answer tells: facts are computed by ascending id, and no program works before the
    end.
    """
    newest = select(RESPONSE.c.id, ANSWER_FACT.c.rule_version).outerjoin(ANSWER_FACT)
    row = connection.execute(newest.order_by(RESPONSE.c.id.desc()).limit(1)).first()
    return row is None or row.rule_version == RULE_VERSION


def refresh_facts(connection: Connection, after: int) -> list[int]:
    """Compute the facts of the next 1,000 answers without facts of these rules; return the ids, ascending.

    Only answers with ids above ``after`` are read.
    """
    current = select(ANSWER_FACT.c.response_id).where(
        ANSWER_FACT.c.response_id == RESPONSE.c.id, ANSWER_FACT.c.rule_version == RULE_VERSION
    )
    query = select(RESPONSE.c.id, RESPONSE.c.query, RESPONSE.c.answer).where(
        RESPONSE.c.id > after, ~current.exists()
    )
    answers = connection.execute(query.order_by(RESPONSE.c.id).limit(AT_ONCE)).all()
    # Only refusals need the passages, which are the longest texts.
    declining = [row.id for row in answers if row.answer is not None and only_declines(row.answer)]
    rows = connection.execute(
        select(RESPONSE.c.id, RESPONSE.c.passages).where(RESPONSE.c.id.in_(declining))
    )
    passages = {row.id: row.passages for row in rows}
    store_facts(connection, [(*row, passages.get(row.id)) for row in answers])
    return [row.id for row in answers]


def right_refusals(connection: Connection) -> IntArray:
    """Return the ids, ascending, of answers that refuse for a good reason.

    Such an answer only declines, and no passage fits the question (`is_right_refusal`).
    """
    # The text of the partial index: for another text, SQLite does not use the index.
    query = select(ANSWER_FACT.c.response_id).where(literal_column("answer_fact.is_right_refusal"))
    return np.sort(read_columns(connection, query)[0])

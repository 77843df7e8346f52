"""Reads responses as a judge is shown them."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from judgeboard.domain import JudgeInput
from judgeboard.store.schema.tables import RESPONSE

INPUT_COLUMNS = tuple(
    RESPONSE.c[name] for name in ("id", "query", "answer", "passages", "query_type", "reference", "external_id")
)


def judge_inputs(connection: Connection, response_ids: Sequence[int]) -> dict[int, JudgeInput]:
    """Return the inputs by response id; a forgotten response is left out, since nothing of it can be judged."""
    rows = connection.execute(select(*INPUT_COLUMNS).where(RESPONSE.c.id.in_(response_ids)))
    return {row.id: input_of(row) for row in rows if row.query is not None and row.answer is not None}


def input_of(row: Row[Any]) -> JudgeInput:
    """Return the input of a row of ``INPUT_COLUMNS``."""
    return JudgeInput(
        response_id=row.id,
        query=row.query,
        answer=row.answer,
        passages=None if row.passages is None else tuple(row.passages),
        query_type=row.query_type,
        reference=row.reference,
        external_id=row.external_id,
    )

"""Reads responses as a judge is shown them."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from judgeboard.domain import JudgeInput
from judgeboard.store.schema.tables import ResponseRow

_response = ResponseRow.__table__.c


def judge_inputs(connection: Connection, response_ids: Sequence[int]) -> dict[int, JudgeInput]:
    """Return the inputs by response id; a forgotten response is left out, since nothing of it can be judged."""
    rows = connection.execute(
        select(
            _response.id,
            _response.query,
            _response.answer,
            _response.passages,
            _response.query_type,
            _response.reference,
            _response.external_id,
        ).where(_response.id.in_(response_ids))
    )
    return {
        row.id: JudgeInput(
            response_id=row.id,
            query=row.query,
            answer=row.answer,
            passages=None if row.passages is None else tuple(row.passages),
            query_type=row.query_type,
            reference=row.reference,
            external_id=row.external_id,
        )
        for row in rows
        if row.query is not None and row.answer is not None
    }

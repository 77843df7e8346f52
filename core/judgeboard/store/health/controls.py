"""Controls in the store: which answers can be made into some, which were, with their originals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, select

from judgeboard.domain import Response, ResponseKind
from judgeboard.filters import RowFilter
from judgeboard.stats.arrays import IntArray
from judgeboard.store.filters.filter_sql import response_conditions
from judgeboard.store.schema.tables import RESPONSE
from judgeboard.store.sql.column_arrays import read_columns

_MARK = "#control-"
# In the metadata of a control whose answer is another's: the id of that one.
ANSWER_OF = "answer_of"


def control_id(original: str, kind: str, seed: int) -> str:
    """Return the outside id of a control: that of its original, its kind and the seed of the choice."""
    return f"{original}{_MARK}{kind}-{seed}"


def control_kind(external_id: str) -> str | None:
    """Return the kind of the control with this outside id, None where it is none of ours.

    The id outlives forgetting, which blanks the metadata.
    """
    _, found, rest = external_id.rpartition(_MARK)
    return rest.rpartition("-")[0] if found else None


@dataclass(frozen=True, slots=True)
class StoredControl:
    """A control and the answer that it was made from."""

    response_id: int
    original_id: int
    external_id: str

    @property
    def kind(self) -> str | None:
        """Its kind, None where another program stored it."""
        return control_kind(self.external_id)


def list_controls(connection: Connection) -> list[StoredControl]:
    """Return all controls, in the order in which they were made."""
    query = select(RESPONSE.c.id, RESPONSE.c.derived_from, RESPONSE.c.external_id).where(
        RESPONSE.c.kind == ResponseKind.CONTROL.value, RESPONSE.c.derived_from.is_not(None)
    )
    return [StoredControl(*row) for row in connection.execute(query.order_by(RESPONSE.c.id))]


def answers_to_change(connection: Connection, where: RowFilter) -> tuple[IntArray, IntArray]:
    """Return ids and evidence groups of the answers that controls can be made of, in the order of their ids."""
    conditions = [*response_conditions(connection, where), RESPONSE.c.answer.is_not(None)]
    query = select(RESPONSE.c.id, RESPONSE.c.evidence_group).where(*conditions).order_by(RESPONSE.c.id)
    ids, groups = read_columns(connection, query)
    return np.asarray(ids), np.asarray(groups)


@dataclass(frozen=True, slots=True)
class Original:
    """A logged answer with its id."""

    response_id: int
    response: Response


def read_originals(connection: Connection, ids: Sequence[int]) -> list[Original]:
    """Return these answers in the order of ``ids``; forgotten ones are left out. At most 1,000 at once."""
    found = {
        row.id: Original(
            row.id,
            Response(
                source=row.source,
                external_id=row.external_id,
                query=row.query,
                answer=row.answer,
                passages=None if row.passages is None else tuple(row.passages),
                query_type=row.query_type,
                generator_model=row.generator_model,
                reference=row.reference,
                asked_at=row.asked_at,
            ),
        )
        for row in connection.execute(select(RESPONSE).where(RESPONSE.c.id.in_(ids)))
        if row.query is not None and row.answer is not None
    }
    return [found[id_] for id_ in ids if id_ in found]

"""Which attempt people want to stand: rows that replace each other, and those that stand."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, exists, insert, select

from judgeboard.store.refining.refinement_rows import GENERATION, REFINEMENT
from judgeboard.store.schema.method_tables import StandingAttemptRow
from judgeboard.store.schema.tables import ReviewerRow, RunRow

STANDING = StandingAttemptRow.__table__
REVIEWER = ReviewerRow.__table__
RUN = RunRow.__table__


@dataclass(frozen=True, slots=True)
class StandingAttempt:
    """A person's word on which attempt should stand; ``number`` 0 is the answer that was there before."""

    id: int
    run_id: int
    subject: str
    number: int
    reviewer_id: int
    reviewer: str
    withdrawn: bool
    at: datetime


_ROWS: Select[Any] = select(
    *(STANDING.c[name] for name in ("id", "run_id", "subject", "number", "reviewer_id")),
    REVIEWER.c.name.label("reviewer"),
    STANDING.c.withdrawn,
    STANDING.c.at,
).join(REVIEWER, REVIEWER.c.id == STANDING.c.reviewer_id)


def standing_attempts(connection: Connection, run_ids: Sequence[int]) -> list[StandingAttempt]:
    """Return what stands in these runs, newest first: neither replaced nor taken back."""
    later = STANDING.alias()
    replaced = exists().where(later.c.replaces == STANDING.c.id)
    query = _ROWS.where(STANDING.c.run_id.in_(run_ids), STANDING.c.withdrawn.is_(False), ~replaced)
    return [_said(row) for row in connection.execute(query.order_by(STANDING.c.id.desc()))]


def standing_by_key(connection: Connection, request_key: str) -> StandingAttempt | None:
    """Return what a request wrote, None where it wrote none."""
    row = connection.execute(_ROWS.where(STANDING.c.request_key == request_key)).one_or_none()
    return None if row is None else _said(row)


def lock_attempts(connection: Connection, run_id: int, subject: str) -> dict[int, int | None] | None:
    """Hold a run and return the numbers of a subject's attempts that gave an answer, with its response.

    Number 0, the logged answer that they began with, is there where they began with one. None: no such attempts.
    """
    connection.execute(select(RUN.c.id).where(RUN.c.id == run_id).with_for_update(key_share=True))
    made = select(GENERATION.c.number, GENERATION.c.response_id).where(
        GENERATION.c.run_id == run_id, GENERATION.c.subject == subject
    )
    found = {row.number: row.response_id for row in connection.execute(made)}
    if not found:
        return None
    roots = select(REFINEMENT.c.root_response_id).where(REFINEMENT.c.run_id == run_id, REFINEMENT.c.subject == subject)
    root = connection.execute(roots.limit(1)).scalar()
    answered: dict[int, int | None] = {number: id_ for number, id_ in found.items() if id_ is not None}
    return answered if root is None else {0: root} | answered


def insert_standing(
    connection: Connection,
    *,
    run_id: int,
    subject: str,
    number: int,
    reviewer_id: int,
    withdrawn: bool,
    replaces: int | None,
    request_key: str,
    at: datetime,
) -> int:
    """Store what a person said and return its id."""
    row = {
        "run_id": run_id,
        "subject": subject,
        "number": number,
        "reviewer_id": reviewer_id,
        "withdrawn": withdrawn,
        "replaces": replaces,
        "request_key": request_key,
        "at": at,
    }
    return int(connection.execute(insert(STANDING).returning(STANDING.c.id), row).scalar_one())


def _said(row: Row[Any]) -> StandingAttempt:
    return StandingAttempt(**dict(zip(row._fields, row, strict=True)))

"""How far the desk is when nothing waits: what is stored, what is judged, what was decided today."""

from dataclasses import dataclass
from datetime import UTC, datetime, time

from sqlalchemy import Connection, func, select

from judgeboard.domain import Decision, ResponseKind
from judgeboard.store.reviews.standing import standing
from judgeboard.store.schema.tables import FLAG, JUDGMENT, RESPONSE, REVIEW


@dataclass(frozen=True, slots=True)
class DeskState:
    """What an empty list says; ``responses`` counts logged answers, ``decided_today`` decisions since 0:00 UTC."""

    responses: int
    any_judged: bool
    decided_today: int
    last_flag_at: datetime | None


def desk_state(connection: Connection, now: datetime) -> DeskState:
    """Return how far the desk is; meant for when nothing waits, since it counts every answer."""
    today = datetime.combine(now.astimezone(UTC).date(), time(), UTC)
    decided = (Decision.CONFIRM.value, Decision.DISMISS.value)
    return DeskState(
        responses=connection.execute(
            select(func.count()).select_from(RESPONSE).where(RESPONSE.c.kind == ResponseKind.LOG.value)
        ).scalar_one(),
        any_judged=connection.execute(select(JUDGMENT.c.id).limit(1)).first() is not None,
        decided_today=connection.execute(
            select(func.count())
            .select_from(REVIEW)
            .where(REVIEW.c.at >= today, REVIEW.c.decision.in_(decided), standing())
        ).scalar_one(),
        last_flag_at=connection.execute(select(FLAG.c.created_at).order_by(FLAG.c.id.desc()).limit(1)).scalar(),
    )

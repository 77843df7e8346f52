"""Stores alarms and their acknowledgements."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select

from judgeboard.store.statements import columns_of, insert_or_skip, record_of
from judgeboard.store.tables import ALARM, ALARM_ACKNOWLEDGEMENT


@dataclass(frozen=True, slots=True)
class Alarm:
    """A change that a detector found: ``measure`` rose or fell (``direction``) for a query type.

    The change is dated to the period that starts on ``from_day``; the detector raised the alarm in the period that
    starts on ``seen_day`` (days since 1970-01-01, UTC). ``rate_before`` and ``rate_after`` are the rates before and
    since the change when the alarm was stored. With the measure ``model_changed``, ``direction`` names the judge
    version and both models, and the rates are shares of judgments by the new model. If the model changed again while
    such an alarm is open, ``later_model`` is the model since ``later_day``. The acknowledgement is None until a lead
    acknowledges the alarm.
    """

    id: int
    measure: str
    direction: str
    query_type: str
    judge_version_id: int | None
    from_day: int
    seen_day: int
    evidence: float
    evidence_limit: float
    rate_before: float
    rate_after: float
    by: str
    at: datetime
    acknowledged_by: str | None = None
    acknowledged_at: datetime | None = None
    note: str | None = None
    later_model: str | None = None
    later_day: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether nobody has acknowledged it."""
        return self.acknowledged_at is None


def list_alarms(connection: Connection) -> list[Alarm]:
    """Return all alarms, the newest first."""
    seen = ALARM_ACKNOWLEDGEMENT.c
    columns = (seen.by.label("acknowledged_by"), seen.at.label("acknowledged_at"), seen.note)
    query = (
        select(*columns_of(Alarm, ALARM), *columns)
        .select_from(ALARM.outerjoin(ALARM_ACKNOWLEDGEMENT, seen.alarm_id == ALARM.c.id))
        .order_by(ALARM.c.id.desc())
    )
    return [record_of(Alarm, row) for row in connection.execute(query)]


def insert_alarm(connection: Connection, row: Mapping[str, Any]) -> int | None:
    """Store an alarm and return its id; None if it is stored already."""
    statement = insert_or_skip(connection, ALARM).returning(ALARM.c.id)
    return connection.execute(statement, dict(row)).scalar()


def insert_acknowledgement(connection: Connection, row: Mapping[str, Any]) -> None:
    """Store the acknowledgement of an alarm."""
    connection.execute(insert(ALARM_ACKNOWLEDGEMENT), dict(row))

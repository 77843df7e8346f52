"""Verdicts on anchors, which are stored apart from judgments, and the models that providers reported for both."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, func, select, union_all

from judgeboard.domain import Verdict
from judgeboard.store.judgments import step_values
from judgeboard.store.statements import insert_or_skip
from judgeboard.store.tables import ANCHOR_JUDGMENT, JUDGMENT


def insert_anchor_judgments(
    connection: Connection,
    version_id: int,
    run_id: int,
    verdicts: Mapping[int, Verdict],
    now: datetime,
) -> None:
    """Store a run's verdicts on anchors, by response id; verdicts that are stored already do not change."""
    rows = [
        {
            "response_id": response_id,
            "judge_version_id": version_id,
            "ask": 0,
            **{name: getattr(verdict, name) for name in ("groundedness", "quality", "label")},
            **step_values(verdict, run_id, now),
        }
        for response_id, verdict in verdicts.items()
    ]
    connection.execute(insert_or_skip(connection, ANCHOR_JUDGMENT, "run_id", "response_id"), rows)


class ReportedModel(NamedTuple):
    """A model name that a provider reported for a judge version: the first and last time, and how many judgments."""

    judge_version_id: int
    model: str
    first_at: datetime
    last_at: datetime
    judgments: int


def reported_models(
    connection: Connection,
    version_id: int | None = None,
    *,
    after: datetime | None = None,
    until: datetime | None = None,
) -> list[ReportedModel]:
    """Return the model names that providers reported, of each judge version in the order of the first judgments.

    Only the judgments of a version (default: all), made ``after`` and ``until`` a time, count.
    """
    parts = []
    for each in (JUDGMENT.c, ANCHOR_JUDGMENT.c):
        times = (
            func.min(each.created_at).label("first_at"),
            func.max(each.created_at).label("last_at"),
        )
        part = select(
            each.judge_version_id, each.model_reported, *times, func.count().label("judgments")
        )
        part = part.where(each.model_reported.is_not(None))
        if version_id is not None:
            part = part.where(each.judge_version_id == version_id)
        if after is not None:
            part = part.where(each.created_at > after)
        if until is not None:
            part = part.where(each.created_at <= until)
        parts.append(part.group_by(each.judge_version_id, each.model_reported))
    version, model, first_at, last_at, judgments = union_all(*parts).subquery().c
    first = func.min(first_at).label("first_at")
    query = select(version, model, first, func.max(last_at), func.sum(judgments)).group_by(
        version, model
    )
    rows = connection.execute(query.order_by(version, first))
    return [ReportedModel(*row[:-1], int(row[-1])) for row in rows]

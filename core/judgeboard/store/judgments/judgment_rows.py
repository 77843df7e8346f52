"""Rows of judgments: inserted once per (response, judge version, ask, repeat)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, exists, insert, select

from judgeboard.domain import Verdict
from judgeboard.storable_text import storable_or_none
from judgeboard.store.judgments.verdict_json import claims_json
from judgeboard.store.runs.step_rows import step_columns
from judgeboard.store.schema.tables import JUDGMENT, JUDGMENT_SCORE
from judgeboard.store.sql.insertion import insert_or_skip

SCORE = JUDGMENT_SCORE
_ONE_ASK = ("response_id", "judge_version_id", "ask", "repeat")


@dataclass(frozen=True, slots=True)
class LandedVerdict:
    """A verdict on its way into the store: of which response, which asking of it (0 first), which repeat of that."""

    response_id: int
    ask: int
    repeat: int
    verdict: Verdict


def insert_judgments(
    connection: Connection, version_id: int, run_id: int | None, items: Sequence[LandedVerdict], now: datetime
) -> int:
    """Insert the judgments that are not stored yet, with their scores; return how many came in."""
    statement = insert_or_skip(connection, JUDGMENT, *_ONE_ASK)
    rows = [_row(version_id, run_id, item, now) for item in items]
    came_in = connection.execute(statement, rows, execution_options={"preserve_rowcount": True}).rowcount
    scored = [item for item in items if item.verdict.scores]
    if came_in and scored:
        _insert_scores(connection, version_id, scored)
    return came_in


def _insert_scores(connection: Connection, version_id: int, items: Sequence[LandedVerdict]) -> None:
    """Insert the scores of judgments that have none yet: those of a judgment come in with it or never."""
    named = select(JUDGMENT.c.response_id, JUDGMENT.c.ask, JUDGMENT.c.repeat, JUDGMENT.c.id).where(
        JUDGMENT.c.judge_version_id == version_id,
        JUDGMENT.c.response_id.in_({item.response_id for item in items}),
        ~exists().where(SCORE.c.judgment_id == JUDGMENT.c.id),
    )
    ids = {(response_id, ask, repeat): id_ for response_id, ask, repeat, id_ in connection.execute(named)}
    rows = [
        {
            "judgment_id": ids[key],
            "dimension": score.dimension,
            "value": score.value,
            "scale": score.scale,
            "reasoning": storable_or_none(score.reasoning),
        }
        for item in items
        if (key := (item.response_id, item.ask, item.repeat)) in ids
        for score in item.verdict.scores
    ]
    if rows:
        connection.execute(insert(SCORE), rows)


def _row(version_id: int, run_id: int | None, item: LandedVerdict, now: datetime) -> dict[str, Any]:
    verdict = item.verdict
    return {
        "response_id": item.response_id,
        "judge_version_id": version_id,
        "ask": item.ask,
        "repeat": item.repeat,
        "groundedness": verdict.groundedness,
        "quality": verdict.quality,
        "label": None if verdict.label is None else verdict.label.value,
        "reasoning": storable_or_none(verdict.reasoning),
        "claims": claims_json(verdict.claims),
        **step_columns(verdict, run_id, now),
    }

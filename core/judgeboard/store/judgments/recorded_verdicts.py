"""Compares verdicts of an import with those that are stored."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, select

from judgeboard.domain import Verdict
from judgeboard.store.schema.tables import JUDGMENT, JUDGMENT_SCORE, RESPONSE

SCORE = JUDGMENT_SCORE


class StoredVerdict(NamedTuple):
    """What a stored judgment says; the texts of a ``forgotten`` one are blank, whatever they were."""

    status: str
    label: str | None
    groundedness: float | None
    quality: int | None
    reasoning: str | None
    raw: str | None
    forgotten: bool
    scores: dict[str, float | None]


def first_verdicts(connection: Connection, version_id: int, response_ids: Collection[int]) -> dict[int, StoredVerdict]:
    """Return the first judgment (ask 0, repeat 0) of a version on each of these responses, by response id."""
    query = (
        select(
            JUDGMENT.c.response_id,
            JUDGMENT.c.status,
            JUDGMENT.c.label,
            JUDGMENT.c.groundedness,
            JUDGMENT.c.quality,
            JUDGMENT.c.reasoning,
            JUDGMENT.c.raw,
            RESPONSE.c.answer.is_(None).label("forgotten"),
        )
        .join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id)
        .where(
            JUDGMENT.c.judge_version_id == version_id,
            JUDGMENT.c.response_id.in_(response_ids),
            JUDGMENT.c.ask == 0,
            JUDGMENT.c.repeat == 0,
        )
    )
    scores = recorded_scores(connection, version_id, response_ids)
    return {
        row.response_id: StoredVerdict(
            status=row.status,
            label=row.label,
            groundedness=row.groundedness,
            quality=row.quality,
            reasoning=row.reasoning,
            raw=row.raw,
            forgotten=row.forgotten,
            scores=scores[row.response_id, 0],
        )
        for row in connection.execute(query)
    }


def recorded_scores(
    connection: Connection, version_id: int, response_ids: Collection[int]
) -> dict[tuple[int, int], dict[str, float | None]]:
    """Return the scores by dimension of a version's first asks, by (response id, repeat); empty for one without."""
    query = (
        select(JUDGMENT.c.response_id, JUDGMENT.c.repeat, SCORE.c.dimension, SCORE.c.value)
        .join(SCORE, SCORE.c.judgment_id == JUDGMENT.c.id, isouter=True)
        .where(
            JUDGMENT.c.judge_version_id == version_id,
            JUDGMENT.c.response_id.in_(response_ids),
            JUDGMENT.c.ask == 0,
        )
    )
    found: dict[tuple[int, int], dict[str, float | None]] = {}
    for response_id, repeat, dimension, value in connection.execute(query):
        scores = found.setdefault((response_id, repeat), {})
        if dimension is not None:
            scores[dimension] = value
    return found


def says_the_same(stored: StoredVerdict, verdict: Verdict) -> bool:
    """Whether a stored judgment holds this verdict, as far as it is not forgotten."""
    said = stored[:4] == (verdict.status, verdict.label, verdict.groundedness, verdict.quality)
    same = said and stored.scores == {score.dimension: score.value for score in verdict.scores}
    return same and (stored.forgotten or (stored.reasoning, stored.raw) == (verdict.reasoning, verdict.raw))

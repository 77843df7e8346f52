"""The verdicts that a combined one is made of: of several judge versions, or of one judge version's repeats."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, select

from judgeboard.domain import DimensionScore, Label, Status, Verdict
from judgeboard.filters import RowFilter
from judgeboard.store.filters.filter_sql import response_conditions
from judgeboard.store.schema.tables import JUDGMENT, JUDGMENT_SCORE, RESPONSE

SCORE = JUDGMENT_SCORE


class StoredOpinion(NamedTuple):
    """A judgment as a member's opinion, without its own reasoning."""

    judgment_id: int
    ask: int
    verdict: Verdict


@dataclass(slots=True)
class Judged:
    """A logged answer with its opinions: by judge version (`by_version`), or by repeat (`by_repeat`)."""

    response_id: int
    evidence_group: int
    opinions: dict[int, StoredOpinion] = field(default_factory=dict)


_COLUMNS = (
    JUDGMENT.c.id,
    JUDGMENT.c.response_id,
    RESPONSE.c.evidence_group,
    JUDGMENT.c.judge_version_id,
    JUDGMENT.c.ask,
    JUDGMENT.c.repeat,
    JUDGMENT.c.status,
    JUDGMENT.c.groundedness,
    JUDGMENT.c.quality,
    JUDGMENT.c.label,
)


def by_version(connection: Connection, version_ids: Sequence[int], where: RowFilter | None = None) -> dict[int, Judged]:
    """Return each logged answer that some of these versions judged, with each one's current verdict, by response.

    Where a version has no usable one its latest stands, as what it is; repeats beyond the first do not count.
    """
    query = _query(connection, version_ids, where or RowFilter()).where(JUDGMENT.c.repeat == 0)
    judged: dict[int, Judged] = {}
    for row, verdict in _read(connection, query, version_ids):
        one = judged.setdefault(row.response_id, Judged(row.response_id, row.evidence_group))
        known = one.opinions.get(row.judge_version_id)
        if known is None or verdict.status is Status.OK or known.verdict.status is not Status.OK:
            one.opinions[row.judge_version_id] = StoredOpinion(row.id, row.ask, verdict)
    return judged


def by_repeat(connection: Connection, version_id: int, where: RowFilter | None = None) -> dict[int, Judged]:
    """Return each answer that a version was asked again about, with each repeat of its first ask, by response.

    Without ``where`` answers of every kind count: repeats recorded elsewhere are of answers that no log holds.
    """
    first_ask = (JUDGMENT.c.judge_version_id == version_id, JUDGMENT.c.ask == 0)
    again = select(JUDGMENT.c.response_id).where(*first_ask, JUDGMENT.c.repeat > 0)
    # Most versions were never asked twice: theirs may be a million judgments, of which none is read here.
    if connection.execute(again.limit(1)).first() is None:
        return {}
    query = _query(connection, [version_id], where).where(JUDGMENT.c.ask == 0, JUDGMENT.c.response_id.in_(again))
    judged: dict[int, Judged] = {}
    for row, verdict in _read(connection, query, [version_id]):
        one = judged.setdefault(row.response_id, Judged(row.response_id, row.evidence_group))
        one.opinions[row.repeat] = StoredOpinion(row.id, row.ask, verdict)
    return judged


class LatestCombined(NamedTuple):
    """What was last stored of a combined version on an answer."""

    ask: int
    status: str
    reasoning: str | None
    error: str | None


def latest_combined(connection: Connection, version_id: int) -> dict[int, LatestCombined]:
    """Return what a combined version last said of each answer, by response."""
    columns = (JUDGMENT.c.response_id, JUDGMENT.c.ask, JUDGMENT.c.status, JUDGMENT.c.reasoning, JUDGMENT.c.error)
    query = select(*columns).where(JUDGMENT.c.judge_version_id == version_id).order_by(JUDGMENT.c.id)
    return {row[0]: LatestCombined(*row[1:]) for row in connection.execute(query)}


def _query(connection: Connection, version_ids: Sequence[int], where: RowFilter | None) -> Select[Any]:
    return (
        select(*_COLUMNS)
        .join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id)
        .where(
            JUDGMENT.c.judge_version_id.in_(version_ids),
            RESPONSE.c.answer.is_not(None),
            *([] if where is None else response_conditions(connection, where)),
        )
        .order_by(JUDGMENT.c.id)
    )


def _read(connection: Connection, query: Select[Any], version_ids: Sequence[int]) -> Iterable[tuple[Any, Verdict]]:
    scores: dict[int, list[DimensionScore]] = {}
    scored = (
        select(SCORE.c.judgment_id, SCORE.c.dimension, SCORE.c.value, SCORE.c.scale)
        .join(JUDGMENT, JUDGMENT.c.id == SCORE.c.judgment_id)
        .where(JUDGMENT.c.judge_version_id.in_(version_ids))
        .order_by(SCORE.c.id)
    )
    for judgment_id, dimension, value, scale in connection.execute(scored):
        scores.setdefault(judgment_id, []).append(DimensionScore(dimension, value, scale))
    for row in connection.execute(query):
        yield (
            row,
            Verdict(
                Status(row.status),
                groundedness=row.groundedness,
                quality=row.quality,
                label=None if row.label is None else Label(row.label),
                scores=tuple(scores.get(row.id, ())),
            ),
        )

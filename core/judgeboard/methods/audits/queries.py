"""Reads what an audit needs: judgments, reviews by supreme judges, and flags."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, case, exists, func, select, true

from judgeboard.domain import FlagState, ResponseKind, Status, Verdict
from judgeboard.flags.rules import SUPREME_DISAGREES
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.judgments import dimension_scores
from judgeboard.store.statements import CURRENT_OF_VERSION, record_of, rows_with
from judgeboard.store.tables import CURRENT, FLAG, JUDGMENT, JUDGMENT_REVIEW, RESPONSE


class AuditedJudgment(NamedTuple):
    """A current judgment of the audited version; sampling depends on ``source`` and ``external_id``."""

    response_id: int
    judgment_id: int
    source: str
    external_id: str
    query_type: str


class LatestReview(NamedTuple):
    """The latest review of a judgment, with the sampling rate; ``correct`` is None if the review is not usable."""

    judgment_id: int
    ask: int
    run_id: int | None
    status: str
    correct: bool | None
    inclusion_probability: float

    @property
    def usable(self) -> bool:
        """Whether the review has a usable result."""
        return self.status == Status.OK


_OF_RESPONSE = RESPONSE.c.source, RESPONSE.c.external_id, RESPONSE.c.query_type


def audited_judgments(
    connection: Connection, version_id: int, where: RowFilter
) -> list[AuditedJudgment]:
    """Return a version's current judgments, ordered by response, without forgotten answers.

    Without kinds in ``where``, the judgments are of logged answers.
    """
    query = (
        select(CURRENT.c.response_id, CURRENT.c.judgment_id, *_OF_RESPONSE)
        .join(RESPONSE, RESPONSE.c.id == CURRENT.c.response_id)
        .where(
            true() if where.kinds else CURRENT_OF_VERSION,
            CURRENT.c.judge_version_id == version_id,
            RESPONSE.c.answer.is_not(None),
            *response_conditions(connection, where),
        )
        .order_by(CURRENT.c.response_id)
    )
    return [AuditedJudgment._make(row) for row in connection.execute(query)]


def measures_given(connection: Connection, version_id: int) -> frozenset[str]:
    """Return the measures (groundedness, quality, label) that occur in a version's usable verdicts."""
    counts = select(
        *(func.count(JUDGMENT.c[name]).label(name) for name in ("groundedness", "quality", "label"))
    )
    usable = counts.where(
        JUDGMENT.c.judge_version_id == version_id, JUDGMENT.c.status == Status.OK.value
    )
    return frozenset(name for name, n in connection.execute(usable).one()._asdict().items() if n)


def reviewed_judgments(
    connection: Connection, judgment_ids: Collection[int]
) -> list[AuditedJudgment]:
    """Return the judgments of logged answers that are current for a version, ordered by response."""
    is_current = exists().where(
        CURRENT.c.judge_version_id == JUDGMENT.c.judge_version_id,
        CURRENT.c.response_id == JUDGMENT.c.response_id,
        CURRENT.c.judgment_id == JUDGMENT.c.id,
    )
    query = (
        select(JUDGMENT.c.response_id, JUDGMENT.c.id, *_OF_RESPONSE)
        .join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id)
        .where(
            RESPONSE.c.kind == ResponseKind.LOG.value, RESPONSE.c.answer.is_not(None), is_current
        )
    )
    return sorted(
        AuditedJudgment._make(row)
        for row in rows_with(connection, query, JUDGMENT.c.id, judgment_ids)
    )


def latest_reviews(
    connection: Connection,
    supreme_id: int,
    audited_id: int,
    judgment_ids: Collection[int] | None = None,
) -> dict[int, LatestReview]:
    """Return a supreme version's latest review of each judgment of the audited version, by judgment id."""
    columns = (JUDGMENT_REVIEW.c[name] for name in LatestReview._fields)
    query = (
        select(*columns)
        .join(JUDGMENT, JUDGMENT.c.id == JUDGMENT_REVIEW.c.judgment_id)
        .where(
            JUDGMENT_REVIEW.c.judge_version_id == supreme_id,
            JUDGMENT.c.judge_version_id == audited_id,
        )
        .order_by(JUDGMENT_REVIEW.c.id)
    )
    rows = rows_with(connection, query, JUDGMENT_REVIEW.c.judgment_id, judgment_ids)
    return {row.judgment_id: LatestReview._make(row) for row in rows}


def audits_done(connection: Connection) -> list[tuple[int, int]]:
    """Return the (audited, supreme) version ids with reviews: with a usable review first, then the latest."""
    # One lookup per review, because a join would read all judgments.
    columns = JUDGMENT_REVIEW.c
    audited_version = (
        select(JUDGMENT.c.judge_version_id)
        .where(JUDGMENT.c.id == columns.judgment_id)
        .scalar_subquery()
    )
    usable = case((columns.correct.is_not(None), 1), else_=0).label("usable")
    reviews = (
        select(audited_version.label("audited"), columns.judge_version_id, columns.id, usable)
        .subquery()
        .c
    )
    versions = (reviews.audited, reviews.judge_version_id)
    query = select(*versions, func.max(reviews.usable), func.max(reviews.id)).group_by(*versions)
    rows = sorted(connection.execute(query), key=lambda row: (-row[2], -row[3]))
    return [(audited, supreme) for audited, supreme, _, _ in rows]


def verdicts_of(connection: Connection, judgment_ids: Collection[int]) -> dict[int, Verdict]:
    """Return the verdicts of usable judgments with scores and reasoning, by id."""
    scores = dimension_scores(connection, list(judgment_ids))
    columns = ("id", "status", "groundedness", "quality", "label", "reasoning")
    query = select(*(JUDGMENT.c[name] for name in columns)).where(
        JUDGMENT.c.id.in_(judgment_ids), JUDGMENT.c.status == Status.OK.value
    )
    return {
        row.id: record_of(Verdict, row, scores=tuple(scores.get(row.id, ())))
        for row in connection.execute(query)
    }


def count_flagged(connection: Connection, fingerprint: str, response_ids: Collection[int]) -> int:
    """Return how many of these responses have a supreme_disagrees flag for this version that is not superseded."""
    key = f"{SUPREME_DISAGREES}:{fingerprint}"
    query = select(FLAG.c.response_id).where(
        FLAG.c.raise_key == key, FLAG.c.state != FlagState.SUPERSEDED.value
    )
    of_rule = query.where(FLAG.c.rule == SUPREME_DISAGREES)
    return len(set(connection.scalars(of_rule)) & set(response_ids))

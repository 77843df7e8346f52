"""Reviews of judgments by supreme judges: which judgments there are to review, and what was stored of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, case, exists, func, select

from judgeboard.domain import DimensionScore, FlagState, Label, ResponseKind, Status, StepRecord, Verdict
from judgeboard.flags import supreme_disagrees
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.flags import keep_flags
from judgeboard.store.judgments import read_responses, read_said, step_columns
from judgeboard.store.method_tables import JUDGMENT_REVIEW
from judgeboard.store.settings import rules_in_force
from judgeboard.store.statements import CURRENT_OF_VERSION, batches, insert_or_skip
from judgeboard.store.tables import CURRENT, FLAG, JUDGMENT, JUDGMENT_SCORE, RESPONSE

REVIEWED = JUDGMENT_REVIEW
SCORE = JUDGMENT_SCORE


class AuditedJudgment(NamedTuple):
    """A current judgment of the audited version, with what a sample is drawn by."""

    response_id: int
    judgment_id: int
    source: str
    external_id: str


class LatestReview(NamedTuple):
    """What a supreme version last said of a judgment; ``correct`` is None where it said nothing usable.

    ``inclusion_probability`` is the share of the draw in which that was asked, whatever was drawn since.
    """

    judgment_id: int
    ask: int
    run_id: int | None
    status: str
    correct: bool | None
    inclusion_probability: float

    @property
    def usable(self) -> bool:
        """Whether it said anything usable."""
        return self.status == Status.OK


@dataclass(frozen=True, slots=True)
class NewMark:
    """A review on its way into the store; ``probability`` is the share of the draw that it was asked in.

    It stays what it was when a later, larger sample holds the judgment too.
    """

    audited: AuditedJudgment
    ask: int
    correct: bool | None
    record: StepRecord
    probability: float = 1.0


def audited_judgments(connection: Connection, version_id: int, where: RowFilter) -> list[AuditedJudgment]:
    """Return the current judgments of a version on the log, by response; forgotten answers are left out."""
    query = (
        select(CURRENT.c.response_id, CURRENT.c.judgment_id, RESPONSE.c.source, RESPONSE.c.external_id)
        .join(RESPONSE, RESPONSE.c.id == CURRENT.c.response_id)
        .where(
            CURRENT_OF_VERSION,
            CURRENT.c.judge_version_id == version_id,
            RESPONSE.c.answer.is_not(None),
            *response_conditions(connection, where),
        )
        .order_by(CURRENT.c.response_id)
    )
    return [AuditedJudgment._make(row) for row in connection.execute(query)]


def measures_given(connection: Connection, version_id: int) -> frozenset[str]:
    """Return which of groundedness, quality and label any usable verdict of a version has."""
    names = ("groundedness", "quality", "label")
    counts = select(*(func.count(JUDGMENT.c[name]).label(name) for name in names))
    of_version = JUDGMENT.c.judge_version_id == version_id
    row = connection.execute(counts.where(of_version, JUDGMENT.c.status == Status.OK.value)).one()
    return frozenset(name for name in names if getattr(row, name))


def reviewed_judgments(connection: Connection, judgment_ids: Collection[int]) -> list[AuditedJudgment]:
    """Return those of the judgments that are current ones of their version on the log, by response.

    What is read grows with the judgments named, not with the log.
    """
    is_current = exists().where(
        CURRENT.c.judge_version_id == JUDGMENT.c.judge_version_id,
        CURRENT.c.response_id == JUDGMENT.c.response_id,
        CURRENT.c.judgment_id == JUDGMENT.c.id,
    )
    query = (
        select(JUDGMENT.c.response_id, JUDGMENT.c.id, RESPONSE.c.source, RESPONSE.c.external_id)
        .join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id)
        .where(RESPONSE.c.kind == ResponseKind.LOG.value, RESPONSE.c.answer.is_not(None), is_current)
    )
    ids = sorted(judgment_ids)
    found: list[AuditedJudgment] = []
    for some in batches(ids):
        chunk = query.where(JUDGMENT.c.id.in_(some))
        found += [AuditedJudgment._make(row) for row in connection.execute(chunk)]
    return sorted(found)


def latest_reviews(
    connection: Connection, supreme_id: int, audited_id: int, judgment_ids: Collection[int] | None = None
) -> dict[int, LatestReview]:
    """Return what a supreme version last said of each judgment of the audited version, by judgment id.

    ``judgment_ids`` limits it to a few of them.
    """
    columns = (REVIEWED.c[name] for name in LatestReview._fields)
    query = (
        select(*columns)
        .join(JUDGMENT, JUDGMENT.c.id == REVIEWED.c.judgment_id)
        .where(REVIEWED.c.judge_version_id == supreme_id, JUDGMENT.c.judge_version_id == audited_id)
        .order_by(REVIEWED.c.id)
    )
    if judgment_ids is not None:
        query = query.where(REVIEWED.c.judgment_id.in_(judgment_ids))
    return {row.judgment_id: LatestReview._make(row) for row in connection.execute(query)}


def audits_done(connection: Connection) -> list[tuple[int, int]]:
    """Return the pairs of audited and supreme version ids that there are reviews of, the latest first.

    Those of which no review gave anything usable come after the others.
    """
    # Looked up review by review: a join would walk all judgments instead.
    of_judgment = select(JUDGMENT.c.judge_version_id).where(JUDGMENT.c.id == REVIEWED.c.judgment_id).scalar_subquery()
    usable = case((REVIEWED.c.correct.is_not(None), 1), else_=0).label("usable")
    each = select(of_judgment.label("audited"), REVIEWED.c.judge_version_id, REVIEWED.c.id, usable).subquery()
    query = select(each.c.audited, each.c.judge_version_id, func.max(each.c.usable), func.max(each.c.id)).group_by(
        each.c.audited, each.c.judge_version_id
    )
    rows = sorted(connection.execute(query), key=lambda row: (-row[2], -row[3]))
    return [(audited, supreme) for audited, supreme, _, _ in rows]


def verdicts_of(connection: Connection, judgment_ids: Collection[int]) -> dict[int, Verdict]:
    """Return the verdicts of usable judgments as they were given, their scores and reasoning included, by id."""
    scores: dict[int, list[DimensionScore]] = {}
    scored = select(SCORE.c.judgment_id, SCORE.c.dimension, SCORE.c.value, SCORE.c.scale, SCORE.c.reasoning)
    for row in connection.execute(scored.where(SCORE.c.judgment_id.in_(judgment_ids)).order_by(SCORE.c.id)):
        scores.setdefault(row[0], []).append(DimensionScore(*row[1:]))
    columns = ("id", "groundedness", "quality", "label", "reasoning")
    judged = select(*(JUDGMENT.c[name] for name in columns)).where(
        JUDGMENT.c.id.in_(judgment_ids), JUDGMENT.c.status == Status.OK.value
    )
    return {
        row.id: Verdict(
            Status.OK,
            groundedness=row.groundedness,
            quality=row.quality,
            label=None if row.label is None else Label(row.label),
            reasoning=row.reasoning,
            scores=tuple(scores.get(row.id, ())),
        )
        for row in connection.execute(judged)
    }


def store_marks(
    connection: Connection, supreme_id: int, run_id: int | None, marks: Sequence[NewMark], now: datetime | None = None
) -> int:
    """Store what a supreme judge said of judgments; return how many reviews came in.

    One that is stored already (same judgment, version, ask) counts as done. The flags of a supreme judge's
    disagreement follow in the same transaction.

    Raises:
        NotFound: A response is not stored.
    """
    now = now or datetime.now(UTC)
    came_in = 0
    statement = insert_or_skip(connection, REVIEWED, "judgment_id", "judge_version_id", "ask")
    for batch in batches(marks):
        responses = read_responses(connection, {mark.audited.response_id for mark in batch}, lock=True)
        rows = [_row(supreme_id, run_id, mark, now) for mark in batch]
        came_in += connection.execute(statement, rows, execution_options={"preserve_rowcount": True}).rowcount
        said = read_said(connection, responses)
        keep_flags(connection, said, (supreme_disagrees.RULE,), rules_in_force(connection), now)
    return came_in


def flags_on(connection: Connection, fingerprint: str, response_ids: Collection[int]) -> int:
    """Return how many of these have a flag, not superseded, that any judge calls this version's verdict wrong."""
    key = f"{supreme_disagrees.NAME}:{fingerprint}"
    query = select(FLAG.c.response_id).where(FLAG.c.raise_key == key, FLAG.c.state != FlagState.SUPERSEDED.value)
    of_rule = query.where(FLAG.c.rule == supreme_disagrees.NAME)
    return len(set(connection.execute(of_rule).scalars()) & set(response_ids))


def _row(supreme_id: int, run_id: int | None, mark: NewMark, now: datetime) -> dict[str, Any]:
    return {
        "judgment_id": mark.audited.judgment_id,
        "judge_version_id": supreme_id,
        "ask": mark.ask,
        "correct": mark.correct,
        "inclusion_probability": mark.probability,
        **step_columns(mark.record, run_id, now),
    }


def count_verdicts(connection: Connection, version_id: int) -> int:
    """Return how many current verdicts a version has on answers of the log, those on forgotten ones included.

    Read from an index alone: which answers are forgotten stands only in their own rows.
    """
    mine = select(func.count()).select_from(CURRENT).where(CURRENT_OF_VERSION, CURRENT.c.judge_version_id == version_id)
    return connection.execute(mine).scalar_one()

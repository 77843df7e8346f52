"""One answer with all that was said of it: what the item page shows."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select

from judgeboard.domain import FlagState
from judgeboard.errors import NotFound
from judgeboard.flags.why import why
from judgeboard.store.judgments.judge_versions import version_title
from judgeboard.store.judgments.verdict_json import claims_from
from judgeboard.store.responses.item_parts import ItemFeedback, ItemFlag, ItemJudgment, ItemReview
from judgeboard.store.responses.user_words import feedback_words
from judgeboard.store.reviews.standing import REVIEW, standing
from judgeboard.store.schema.tables import (
    CurrentJudgmentRow,
    EventRow,
    FlagRow,
    JudgeVersionRow,
    JudgmentRow,
    ResponseRow,
    ReviewerRow,
    ReviewScoreRow,
    UserFeedbackRow,
)
from judgeboard.store.settings_table import primary_judge

__all__ = ["Item", "ItemFeedback", "ItemFlag", "ItemJudgment", "ItemReview", "load_item", "response_of_flag"]

RESPONSE = ResponseRow.__table__
FEEDBACK = UserFeedbackRow.__table__
JUDGMENT = JudgmentRow.__table__
VERSION = JudgeVersionRow.__table__
CURRENT = CurrentJudgmentRow.__table__
FLAG = FlagRow.__table__
REVIEWER = ReviewerRow.__table__
EVENT = EventRow.__table__
SCORE = ReviewScoreRow.__table__


@dataclass(frozen=True, slots=True)
class Item:
    """An answer and what was said of it, newest first; texts are None once forgotten, at ``forgotten_at``.

    ``currents`` holds each judge's current verdict, the primary judge's first (if it has a usable one), the others by
    name.
    """

    response_id: int
    kind: str
    source: str
    external_id: str
    query_type: str
    query: str | None
    answer: str | None
    passages: tuple[str, ...] | None
    reference: str | None
    generator_model: str | None
    extra: dict[str, Any]
    asked_at: datetime | None
    imported_at: datetime
    forgotten_at: datetime | None
    primary_judge: str | None
    feedback: tuple[ItemFeedback, ...]
    judgments: tuple[ItemJudgment, ...]
    currents: tuple[ItemJudgment, ...]
    flags: tuple[ItemFlag, ...]
    reviews: tuple[ItemReview, ...]

    @property
    def flag(self) -> ItemFlag | None:
        """The worst flag that waits, None where none does."""
        waiting = [flag for flag in self.flags if flag.state == FlagState.OPEN]
        return max(waiting, key=lambda flag: (flag.severity, -flag.id), default=None)


def response_of_flag(connection: Connection, flag_id: int) -> int:
    """Return the response that a flag is on.

    Raises:
        NotFound: No such flag.
    """
    found = connection.execute(select(FLAG.c.response_id).where(FLAG.c.id == flag_id)).scalar_one_or_none()
    if found is None:
        raise NotFound(f"No flag with this id: {flag_id}")
    return int(found)


def load_item(connection: Connection, response_id: int) -> Item:
    """Return an answer with all that was said of it, in eight statements whatever its history.

    Raises:
        NotFound: No such response.
    """
    row = connection.execute(select(RESPONSE).where(RESPONSE.c.id == response_id)).one_or_none()
    if row is None:
        raise NotFound(f"No answer with this id: {response_id}")
    primary = primary_judge(connection)
    judgments = _judgments(connection, response_id)
    return Item(
        response_id=row.id,
        kind=row.kind,
        source=row.source,
        external_id=row.external_id,
        query_type=row.query_type,
        query=row.query,
        answer=row.answer,
        passages=None if row.passages is None else tuple(row.passages),
        reference=row.reference,
        generator_model=row.generator_model,
        extra=row.extra,
        asked_at=row.asked_at,
        imported_at=row.imported_at,
        forgotten_at=_forgotten_at(connection, response_id),
        primary_judge=primary,
        feedback=_feedback(connection, response_id),
        judgments=judgments,
        currents=_currents(connection, response_id, judgments, primary),
        flags=_flags(connection, response_id),
        reviews=_reviews(connection, response_id),
    )


def _forgotten_at(connection: Connection, response_id: int) -> datetime | None:
    query = select(EVENT.c.at).where(EVENT.c.response_id == response_id, EVENT.c.kind == "forget")
    return connection.execute(query.order_by(EVENT.c.id).limit(1)).scalar_one_or_none()


def _feedback(connection: Connection, response_id: int) -> tuple[ItemFeedback, ...]:
    query = select(FEEDBACK).where(FEEDBACK.c.response_id == response_id).order_by(FEEDBACK.c.id.desc())
    return tuple(
        ItemFeedback(row.kind, row.value, feedback_words(row.kind, row.value), row.user, row.at)
        for row in connection.execute(query)
    )


_JUDGMENTS: Select[Any] = (
    select(
        *(JUDGMENT.c[name] for name in ItemJudgment.__dataclass_fields__ if name in JUDGMENT.c),
        VERSION.c.kind.label("judge_kind"),
        VERSION.c.name.label("judge_name"),
        VERSION.c.number,
        VERSION.c.model,
    )
    .join(VERSION, VERSION.c.id == JUDGMENT.c.judge_version_id)
    .order_by(JUDGMENT.c.id.desc())
)


def _judgments(connection: Connection, response_id: int) -> tuple[ItemJudgment, ...]:
    return tuple(_judgment(row) for row in connection.execute(_JUDGMENTS.where(JUDGMENT.c.response_id == response_id)))


def _judgment(row: Row[Any]) -> ItemJudgment:
    values = dict(zip(row._fields, row, strict=True))
    title = version_title(values["judge_name"], values.pop("number"))
    return ItemJudgment(**values | {"claims": claims_from(row.claims), "version_title": title})


def _currents(
    connection: Connection, response_id: int, judgments: tuple[ItemJudgment, ...], primary: str | None
) -> tuple[ItemJudgment, ...]:
    query = select(CURRENT.c.judgment_id).where(CURRENT.c.response_id == response_id, CURRENT.c.is_current.is_(True))
    ids = set(connection.execute(query).scalars())
    found = [judgment for judgment in judgments if judgment.id in ids]
    return tuple(sorted(found, key=lambda judgment: (judgment.judge_name != primary, judgment.judge_name)))


def _flags(connection: Connection, response_id: int) -> tuple[ItemFlag, ...]:
    query = select(FLAG).where(FLAG.c.response_id == response_id).order_by(FLAG.c.id.desc())
    return tuple(
        ItemFlag(
            id=row.id,
            rule=row.rule,
            state=row.state,
            why=why(row.rule, row.details, row.params),
            severity=row.severity,
            judgment_id=row.judgment_id,
            decided_before_id=row.decided_before_id,
            created_at=row.created_at,
        )
        for row in connection.execute(query)
    )


_REVIEWS: Select[Any] = (
    select(
        *(REVIEW.c[name] for name in ItemReview.__dataclass_fields__ if name in REVIEW.c),
        REVIEWER.c.name.label("reviewer"),
        REVIEWER.c.origin,
        standing().label("stands"),
        select(func.count()).where(SCORE.c.review_id == REVIEW.c.id).scalar_subquery().label("scored"),
    )
    .join(REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id)
    .order_by(REVIEW.c.id.desc())
)


def _reviews(connection: Connection, response_id: int) -> tuple[ItemReview, ...]:
    found = []
    for row in connection.execute(_REVIEWS.where(REVIEW.c.response_id == response_id)):
        values = dict(zip(row._fields, row, strict=True))
        spans = None if row.spans is None else tuple(row.spans)
        found.append(ItemReview(**values | {"spans": spans, "stands": bool(row.stands)}))
    return tuple(found)

"""The reviews of queue items that stand, and what their authors had seen."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, and_, func, select

from judgeboard.domain import Stage
from judgeboard.pair_records import OVERALL
from judgeboard.store.queues.leases import LEASE, seen_since
from judgeboard.store.reviews.reviewers import REVIEWER
from judgeboard.store.reviews.reviews import PREFERENCE_SCORE, SCORE, StoredReview, review_by_id
from judgeboard.store.reviews.standing import REVIEW, standing


@dataclass(frozen=True, slots=True)
class QueueReview:
    """One person's standing review of an item; ``decision`` is a preference where the item is a pair."""

    id: int
    reviewer_id: int
    reviewer: str
    stage: Stage | None
    decision: str | None
    label: str | None
    groundedness: float | None
    quality: int | None
    scores: dict[str, float]
    note: str | None
    seconds: float | None
    at: datetime


def reviews_on(connection: Connection, item_id: int) -> list[QueueReview]:
    """Return the standing reviews of an item, the oldest first."""
    return reviews_on_items(connection, [item_id])[item_id]


def reviews_on_items(connection: Connection, item_ids: Collection[int]) -> dict[int, list[QueueReview]]:
    """Return the standing reviews of each of at most 1,000 items, the oldest first."""
    names = ("id", "reviewer_id", "stage", "label", "groundedness", "quality", "note", "seconds", "at")
    query = (
        select(
            REVIEW.c.queue_item_id,
            *(REVIEW.c[name] for name in names),
            func.coalesce(REVIEW.c.decision, PREFERENCE_SCORE.c.preference).label("decision"),
            REVIEWER.c.name.label("reviewer"),
        )
        .join(REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id)
        .join(
            PREFERENCE_SCORE,
            and_(PREFERENCE_SCORE.c.review_id == REVIEW.c.id, PREFERENCE_SCORE.c.aspect == OVERALL),
            isouter=True,
        )
        .where(REVIEW.c.queue_item_id.in_(item_ids), standing())
        .order_by(REVIEW.c.id)
    )
    rows = connection.execute(query).mappings().all()
    scores = _scores(connection, [row["id"] for row in rows])
    reviews: dict[int, list[QueueReview]] = {item_id: [] for item_id in item_ids}
    for row in rows:
        stage = None if row["stage"] is None else Stage(row["stage"])
        values = dict(row) | {"stage": stage, "scores": scores.get(row["id"], {})}
        reviews[values.pop("queue_item_id")].append(QueueReview(**values))
    return reviews


def has_seen(connection: Connection, reviewer_id: int, response_id: int, what: str) -> bool:
    """Whether a person had ever seen the judge's (or other people's) words on an answer, as far as is stored.

    It is stored with what they say of it, and where the rest was revealed to them after a blind review.
    """
    own = and_(REVIEW.c.response_id == response_id, REVIEW.c.reviewer_id == reviewer_id)
    said = connection.execute(select(REVIEW.c.seen).where(own, REVIEW.c.seen.is_not(None))).scalars()
    if any(what in seen for seen in said):
        return True
    revealed = select(REVIEW.c.id).join(LEASE, LEASE.c.review_id == REVIEW.c.id).where(own)
    return any(what in (seen_since(connection, id_) or ()) for id_ in connection.execute(revealed).scalars().all())


def revealed_review(connection: Connection, item_id: int, reviewer_id: int) -> StoredReview | None:
    """Return what a person said of an item after the reveal and still stands."""
    query = select(REVIEW.c.id).where(
        REVIEW.c.queue_item_id == item_id,
        REVIEW.c.reviewer_id == reviewer_id,
        REVIEW.c.stage == Stage.REVEALED.value,
        standing(),
    )
    found = connection.execute(query).scalar_one_or_none()
    return None if found is None else review_by_id(connection, found)


def _scores(connection: Connection, review_ids: Collection[int]) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    if not review_ids:
        return found
    query = select(SCORE.c.review_id, SCORE.c.dimension, SCORE.c.value).where(
        SCORE.c.review_id.in_(review_ids), SCORE.c.value.is_not(None)
    )
    for review_id, dimension, value in connection.execute(query):
        found.setdefault(review_id, {})[dimension] = value
    return found

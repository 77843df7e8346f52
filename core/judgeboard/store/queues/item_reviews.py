"""What was said of a queue item: its reviews or preferences that stand."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, select

from judgeboard.domain import Stage
from judgeboard.store.pairs.preferences import PREFERENCE, standing_preference
from judgeboard.store.pairs.preferences import SCORE as PREFERENCE_SCORE
from judgeboard.store.queues.leases import LEASE, seen_since
from judgeboard.store.reviews.reviewers import REVIEWER
from judgeboard.store.reviews.reviews import StoredReview, review_by_id
from judgeboard.store.reviews.standing import REVIEW, standing
from judgeboard.store.schema.tables import ReviewScoreRow

SCORE = ReviewScoreRow.__table__


@dataclass(frozen=True, slots=True)
class ItemWord:
    """One person's standing word on an item; ``decision`` is a preference where the item is a pair."""

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


def words_on(connection: Connection, item_id: int, *, pair: bool = False) -> list[ItemWord]:
    """Return what stands on an item, the first said first."""
    return words_on_items(connection, [item_id], pair=pair)[item_id]


def words_on_items(
    connection: Connection, item_ids: Collection[int], *, pair: bool = False
) -> dict[int, list[ItemWord]]:
    """Return what stands on each of at most 1,000 items, the first said first."""
    found: dict[int, list[ItemWord]] = {item_id: [] for item_id in item_ids}
    for item_id, word in _of_pairs(connection, item_ids) if pair else _of_answers(connection, item_ids):
        found[item_id].append(word)
    return found


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


def _of_answers(connection: Connection, item_ids: Collection[int]) -> list[tuple[int, ItemWord]]:
    names = (
        "queue_item_id",
        "id",
        "reviewer_id",
        "stage",
        "decision",
        "label",
        "groundedness",
        "quality",
        "note",
        "seconds",
        "at",
    )
    query = (
        select(*(REVIEW.c[name] for name in names), REVIEWER.c.name.label("reviewer"))
        .join(REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id)
        .where(REVIEW.c.queue_item_id.in_(item_ids), standing())
        .order_by(REVIEW.c.id)
    )
    rows = connection.execute(query).all()
    scores = _scores(connection, [row.id for row in rows])
    return [(row.queue_item_id, _word(row, scores.get(row.id, {}))) for row in rows]


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


def _of_pairs(connection: Connection, item_ids: Collection[int]) -> list[tuple[int, ItemWord]]:
    names = ("queue_item_id", "id", "reviewer_id", "stage", "note", "seconds", "at")
    query = (
        select(
            *(PREFERENCE.c[name] for name in names),
            REVIEWER.c.name.label("reviewer"),
            PREFERENCE_SCORE.c.preference.label("decision"),
        )
        .join(REVIEWER, REVIEWER.c.id == PREFERENCE.c.reviewer_id)
        .join(PREFERENCE_SCORE, PREFERENCE_SCORE.c.preference_id == PREFERENCE.c.id)
        .where(PREFERENCE.c.queue_item_id.in_(item_ids), standing_preference())
        .order_by(PREFERENCE.c.id)
    )
    return [(row.queue_item_id, _word(row, {})) for row in connection.execute(query)]


def _word(row: Any, scores: dict[str, float]) -> ItemWord:
    return ItemWord(
        id=row.id,
        reviewer_id=row.reviewer_id,
        reviewer=row.reviewer,
        stage=None if row.stage is None else Stage(row.stage),
        decision=row.decision,
        label=getattr(row, "label", None),
        groundedness=getattr(row, "groundedness", None),
        quality=getattr(row, "quality", None),
        scores=scores,
        note=row.note,
        seconds=row.seconds,
        at=row.at,
    )

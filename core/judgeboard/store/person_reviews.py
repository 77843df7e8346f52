"""A person's latest reviews in queues, and the reviews with which each is compared."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import ColumnElement, Connection, literal_column, select

from judgeboard.domain import Stage
from judgeboard.store.queue_items import QueueReview, reviews_on_items
from judgeboard.store.reviews import is_current
from judgeboard.store.row_filter import by_index
from judgeboard.store.statements import AT_ONCE, batches, columns_of, record_of, rows_with
from judgeboard.store.tables import LEASE, QUEUE, QUEUE_ITEM, REVIEW

# As in the index, which SQLite uses only for equal text.
IS_GOLD: ColumnElement[bool] = literal_column("review.stage = 'adjudication'")
LATEST = 1_000
"""The latest reviews of a person that are read."""


@dataclass(frozen=True, slots=True)
class GivenReview:
    """A person's review, given before they saw the judge if that was hidden; the item is None outside queues.

    ``repeat_for`` is the person if the item is a repeat or a test item (``test``). Those of ``training`` queues are
    announced.
    """

    id: int
    response_id: int | None
    queue_item_id: int | None
    queue_id: int | None
    repeat_for: int | None
    test: bool | None
    training: bool | None
    decision: str | None
    seconds: float | None
    at: datetime


@dataclass(frozen=True, slots=True)
class ComparedReviews:
    """A review with those that it is compared with; ``own`` is the same review as `reviews_on_items` reads it.

    ``gold`` is the adjudication by somebody else, ``first`` the person's earlier review of a repeated item; None if
    there is none. ``others`` are by other people on the same item.
    """

    review: GivenReview
    own: QueueReview
    gold: QueueReview | None = None
    first: QueueReview | None = None
    others: tuple[QueueReview, ...] = ()


def given_reviews(connection: Connection, reviewer_id: int) -> list[GivenReview]:
    """Return a person's latest current reviews, the newest first, without adjudications and reviews after a reveal."""
    later = (Stage.REVEALED.value, Stage.ADJUDICATION.value)
    conditions = (
        REVIEW.c.reviewer_id == reviewer_id,
        REVIEW.c.stage.is_(None) | REVIEW.c.stage.not_in(later),
        REVIEW.c.import_batch_id.is_(None),
        is_current(),
    )
    query = (
        select(*columns_of(GivenReview, REVIEW, QUEUE_ITEM, QUEUE))
        .outerjoin(QUEUE_ITEM, QUEUE_ITEM.c.id == REVIEW.c.queue_item_id)
        .outerjoin(QUEUE, QUEUE.c.id == QUEUE_ITEM.c.queue_id)
        .where(*conditions)
        .order_by(REVIEW.c.id.desc())
        .limit(LATEST)
    )
    rows = connection.execute(by_index(query, REVIEW, "ix_review_reviewer"))
    return [record_of(GivenReview, row) for row in rows]


def reviews_by_day(connection: Connection, reviewer_id: int, since: datetime) -> Counter[date]:
    """Return how many reviews a person gave on each day (UTC); of two on one item only the first counts."""
    query = select(REVIEW.c.at).where(
        REVIEW.c.reviewer_id == reviewer_id,
        REVIEW.c.at >= since,
        REVIEW.c.stage.is_distinct_from(Stage.REVEALED.value),
        is_current(),
    )
    return Counter(at.date() for at in connection.execute(query).scalars())


def reviewers_in_queues(connection: Connection) -> list[int]:
    """Return everybody who ever leased an item of a queue."""
    return list(connection.execute(select(LEASE.c.reviewer_id).where(LEASE.c.reviewer_id > 0).distinct()).scalars())


def compared_reviews(
    connection: Connection, reviewer_id: int, reviews: Collection[GivenReview]
) -> list[ComparedReviews]:
    """Return those of a person's reviews that were given in queues, with the reviews to compare them with."""
    in_queues = [review for review in reviews if review.queue_item_id is not None]
    again = [review for review in in_queues if review.repeat_for is not None]
    gold_items = gold_items_of(connection, {review.response_id or 0 for review in again if review.test})
    first_items = _first_items(connection, [review for review in again if not review.test])
    items = {review.queue_item_id or 0 for review in in_queues} | {*gold_items.values(), *first_items.values()}
    on_items = {
        item: of_item
        for batch in batches(sorted(items), AT_ONCE)
        for item, of_item in reviews_on_items(connection, batch).items()
    }
    compared = []
    for review in in_queues:
        on_item = on_items[review.queue_item_id or 0]
        own = next((each for each in on_item if each.id == review.id), None)
        if own is None:
            continue
        gold_item = gold_items.get(review.response_id or 0) if review.test else review.queue_item_id
        gold = _gold(on_items.get(gold_item or 0, []))
        of_first = on_items.get(first_items.get(review.id, 0), [])
        compared.append(
            ComparedReviews(
                review,
                own,
                gold=None if gold is None or gold.reviewer_id == reviewer_id else gold,
                first=next((each for each in of_first if each.reviewer_id == reviewer_id and _before(each)), None),
                others=tuple(each for each in on_item if each.reviewer_id != reviewer_id and _before(each)),
            )
        )
    return compared


def gold_items_of(connection: Connection, response_ids: Collection[int]) -> dict[int, int]:
    """Return the item in which each of these answers was adjudicated last, by answer."""
    query = select(REVIEW.c.response_id, REVIEW.c.queue_item_id).where(IS_GOLD, is_current())
    rows = rows_with(connection, query.order_by(REVIEW.c.id), REVIEW.c.response_id, response_ids)
    return {row.response_id: row.queue_item_id for row in rows}


def gold_review(connection: Connection, response_id: int) -> QueueReview | None:
    """Return the gold label of an answer: the adjudication that was made last."""
    item = gold_items_of(connection, [response_id]).get(response_id)
    return None if item is None else _gold(reviews_on_items(connection, [item])[item])


def _first_items(connection: Connection, repeats: Collection[GivenReview]) -> Mapping[int, int]:
    """Return the item that each of these reviews of repeats repeats, by review."""
    query = select(QUEUE_ITEM.c.response_id, QUEUE_ITEM.c.queue_id, QUEUE_ITEM.c.id).where(
        QUEUE_ITEM.c.repeat_for.is_(None)
    )
    rows = rows_with(connection, query, QUEUE_ITEM.c.response_id, {review.response_id or 0 for review in repeats})
    items = {(row.response_id, row.queue_id): row.id for row in rows}
    return {review.id: items.get((review.response_id or 0, review.queue_id or 0), 0) for review in repeats}


def _gold(reviews: Collection[QueueReview]) -> QueueReview | None:
    return next((review for review in reviews if review.stage is Stage.ADJUDICATION), None)


def _before(review: QueueReview) -> bool:
    return review.stage not in {Stage.REVEALED, Stage.ADJUDICATION}

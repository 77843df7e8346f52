"""One person's reviews: drafts, the list, a whole review, and the latest reviews with reviews for comparison.

A person has one draft per answer or pair. The draft is deleted when the review is stored. The
subject of a draft is the id of an answer, or minus the id of a pair.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from judgeboard.domain import Stage
from judgeboard.registry.masks import masked
from judgeboard.store.listing import KeyedList, LinePage, Order
from judgeboard.store.queue_items import reviews_on_items
from judgeboard.store.responses import ANSWER, QUESTION, text_start
from judgeboard.store.reviews import (
    DecidedFlag,
    Review,
    find_review,
    find_reviews,
    flags_decided,
    has_grade,
    is_current,
)
from judgeboard.store.sql_compiler import by_index
from judgeboard.store.statements import any_row, batches, record_of, rows_of, rows_with
from judgeboard.store.tables import (
    DRAFT,
    LEASE,
    PAIR,
    QUEUE,
    QUEUE_ITEM,
    RESPONSE,
    REVIEW,
    QueueItem,
)

NEWEST = Order(
    "reviewed", "newest first", REVIEW.c.id, REVIEW.c.id, "ix_review_reviewer", descending=True
)
# SQLite uses the index only if this text equals the index's condition.
IS_GOLD: ColumnElement[bool] = literal_column("review.stage = 'adjudication'")
LATEST = 1_000
"""The number of latest reviews of a person that are read."""


@dataclass(frozen=True, slots=True)
class OwnReview:
    """A review in the list; ``flags`` are the decided flags, ``queue`` is the name of the queue.

    A review of a pair has no preferences if the decision was refused and only the note was stored.
    ``revealed`` is the review that the same person gave after the reveal.
    """

    review: Review
    external_id: str
    query_type: str | None
    question: str | None
    answer: str | None
    flags: tuple[DecidedFlag, ...]
    queue: str | None
    revealed: Review | None

    @property
    def final(self) -> bool:
        """Whether the review can no longer be edited: a blind review or an adjudication."""
        return self.review.stage in {Stage.BLIND, Stage.ADJUDICATION}


def read_draft(connection: Connection, reviewer_id: int, subject: int) -> dict[str, Any] | None:
    """Return the content of a person's draft, or None."""
    query = select(DRAFT.c.content).where(
        DRAFT.c.reviewer_id == reviewer_id, _about(DRAFT.c, [subject])
    )
    return connection.scalar(query)


def save_draft(
    connection: Connection, reviewer_id: int, subject: int, content: Mapping[str, Any], at: datetime
) -> None:
    """Replace a person's draft. An empty draft is deleted; a draft older than the latest review is not stored."""
    delete_drafts(connection, reviewer_id, [subject])
    later = _about(REVIEW.c, [subject]), REVIEW.c.reviewer_id == reviewer_id, REVIEW.c.at >= at
    if not content or any_row(connection, *later):
        return
    row = {"reviewer_id": reviewer_id, "response_id" if subject > 0 else "pair_id": abs(subject)}
    connection.execute(insert(DRAFT), row | {"content": masked(dict(content)), "at": at})


def move_drafts(connection: Connection, from_id: int, to_id: int) -> None:
    """Give a person's drafts to another person, except on answers and pairs on which that person has a draft."""
    others = DRAFT.alias("theirs")
    has_draft = exists().where(
        others.c.reviewer_id == to_id,
        or_(others.c.response_id == DRAFT.c.response_id, others.c.pair_id == DRAFT.c.pair_id),
    )
    connection.execute(
        update(DRAFT).where(DRAFT.c.reviewer_id == from_id, ~has_draft).values(reviewer_id=to_id)
    )


def delete_drafts(connection: Connection, reviewer_id: int, subjects: Collection[int]) -> None:
    """Delete a person's drafts on at most 1,000 answers, or as many pairs."""
    connection.execute(
        delete(DRAFT).where(DRAFT.c.reviewer_id == reviewer_id, _about(DRAFT.c, subjects))
    )


def _about(columns: Any, subjects: Collection[int]) -> ColumnElement[bool]:
    """Return the condition that a row is about one of these subjects: all are answers, or all are pairs."""
    condition: ColumnElement[bool] = (
        columns.pair_id if min(subjects, default=1) < 0 else columns.response_id
    ).in_([abs(subject) for subject in subjects])
    return condition


def has_pair_reviews(connection: Connection, reviewer_id: int) -> bool:
    """Return whether a person ever reviewed a pair."""
    return any_row(connection, REVIEW.c.reviewer_id == reviewer_id, REVIEW.c.pair_id.is_not(None))


def own_reviews_page(
    connection: Connection,
    reviewer_id: int,
    *,
    pairs: bool = False,
    after: str | None = None,
    before: str | None = None,
    limit: int = 50,
) -> LinePage[OwnReview]:
    """Return a page (`KeyedList.page`) of a person's current reviews of answers, or of ``pairs``, the newest first.

    A review after a reveal is left out, because the blind review before the reveal counts.
    """
    of = REVIEW.c.pair_id if pairs else REVIEW.c.response_id
    is_revealed = REVIEW.c.stage.is_not_distinct_from(Stage.REVEALED.value)
    conditions = [REVIEW.c.reviewer_id == reviewer_id, of.is_not(None), is_current(), ~is_revealed]
    review_list = KeyedList(connection, REVIEW, NEWEST, own=conditions, count_index=NEWEST.index)
    return review_list.page(after, before, limit, partial(_lines, connection, reviewer_id))


def latest_graded_review(
    connection: Connection, response_id: int, reviewer_id: int
) -> Review | None:
    """Return a person's newest current review of an answer with a grade, or None."""
    conditions = (
        REVIEW.c.response_id == response_id,
        REVIEW.c.reviewer_id == reviewer_id,
        is_current(),
        has_grade(),
    )
    review_id = connection.scalar(select(func.max(REVIEW.c.id)).where(*conditions))
    return None if review_id is None else find_review(connection, review_id)


def _lines(
    connection: Connection, reviewer_id: int, review_ids: Sequence[int]
) -> tuple[OwnReview, ...]:
    reviews = {
        review.id: review for review in find_reviews(connection, REVIEW.c.id.in_(review_ids))
    }
    revealed_reviews = {
        review.queue_item_id: review
        for review in find_reviews(
            connection,
            REVIEW.c.queue_item_id.in_({review.queue_item_id for review in reviews.values()}),
            REVIEW.c.reviewer_id == reviewer_id,
            REVIEW.c.stage == Stage.REVEALED.value,
            is_current(),
        )
    }
    query = (
        select(
            REVIEW.c.id,
            func.coalesce(RESPONSE.c.external_id, PAIR.c.external_id).label("external_id"),
            func.coalesce(RESPONSE.c.query_type, PAIR.c.query_type).label("query_type"),
            func.coalesce(QUESTION, text_start(PAIR.c.question)).label("question"),
            ANSWER,
            QUEUE.c.name.label("queue"),
        )
        .outerjoin(RESPONSE, RESPONSE.c.id == REVIEW.c.response_id)
        .outerjoin(PAIR, PAIR.c.id == REVIEW.c.pair_id)
        .outerjoin(QUEUE_ITEM, QUEUE_ITEM.c.id == REVIEW.c.queue_item_id)
        .outerjoin(QUEUE, QUEUE.c.id == QUEUE_ITEM.c.queue_id)
        .where(REVIEW.c.id.in_(review_ids))
    )
    flags = flags_decided(connection, review_ids)
    by_id = {
        row.id: record_of(
            OwnReview,
            row,
            review=reviews[row.id],
            flags=tuple(flags.get(row.id, ())),
            revealed=revealed_reviews.get(reviews[row.id].queue_item_id),
        )
        for row in connection.execute(query)
    }
    return tuple(by_id[review_id] for review_id in review_ids)


@dataclass(frozen=True, slots=True)
class ComparedReview:
    """A person's review (from before the reveal if the judge was hidden), with other reviews for comparison.

    ``item`` is None outside queues. The test items of ``training`` queues are announced. ``gold``
    is the adjudication by somebody else, ``first`` the person's earlier review of a repeated item;
    None if there is none. ``others`` are by other people on the same item.
    """

    review: Review
    item: QueueItem | None = None
    training: bool = False
    gold: Review | None = None
    first: Review | None = None
    others: tuple[Review, ...] = ()


def reviewers_in_queues(connection: Connection) -> list[int]:
    """Return everybody who ever leased an item of a queue."""
    return list(
        connection.scalars(select(LEASE.c.reviewer_id).where(LEASE.c.reviewer_id > 0).distinct())
    )


def compared_reviews(connection: Connection, reviewer_id: int) -> list[ComparedReview]:
    """Return a person's latest current reviews, the newest first, each with other reviews for comparison.

    Adjudications, reviews after a reveal and imported reviews are left out.
    """
    own_current = (
        REVIEW.c.reviewer_id == reviewer_id,
        REVIEW.c.stage.is_(None)
        | REVIEW.c.stage.not_in((Stage.REVEALED.value, Stage.ADJUDICATION.value)),
        REVIEW.c.import_batch_id.is_(None),
        is_current(),
    )
    latest = select(REVIEW.c.id).where(*own_current).order_by(REVIEW.c.id.desc()).limit(LATEST)
    ids = list(connection.scalars(by_index(latest, REVIEW, "ix_review_reviewer")))
    reviews = find_reviews(connection, REVIEW.c.id.in_(ids))[::-1]
    of_reviews = QUEUE_ITEM.c.id.in_({review.queue_item_id for review in reviews})
    items = {item.id: item for item in rows_of(connection, select(QueueItem).where(of_reviews))}
    training_ids = set(connection.scalars(select(QUEUE.c.id).where(QUEUE.c.training)))
    # The items whose reviews are compared: the items of the reviews and of the gold labels, and the
    # first items of repeats.
    tests = {item.response_id or 0 for item in items.values() if item.test}
    gold_items = gold_items_of(connection, tests)
    repeats = [item for item in items.values() if item.repeat_for is not None and not item.test]
    originals = select(QUEUE_ITEM.c.response_id, QUEUE_ITEM.c.queue_id, QUEUE_ITEM.c.id)
    rows = rows_with(
        connection,
        originals.where(QUEUE_ITEM.c.repeat_for.is_(None)),
        QUEUE_ITEM.c.response_id,
        {item.response_id or 0 for item in repeats},
    )
    original_ids = {(row.response_id, row.queue_id): row.id for row in rows}
    first_items = {
        item.id: original_ids.get((item.response_id, item.queue_id), 0) for item in repeats
    }
    on_items = {
        item_id: of_item
        for batch in batches(sorted({*items, *gold_items.values(), *first_items.values()}))
        for item_id, of_item in reviews_on_items(connection, batch).items()
    }
    results = []
    for review in reviews:
        item = items.get(review.queue_item_id or 0)
        if item is None:
            results.append(ComparedReview(review))
            continue
        gold_item = gold_items.get(item.response_id or 0) if item.test else item.id
        gold = _gold(on_items.get(gold_item or 0, []))
        of_first = on_items.get(first_items.get(item.id, 0), [])
        own_reviews = (
            each for each in of_first if each.reviewer_id == reviewer_id and _before(each)
        )
        others = (
            each for each in on_items[item.id] if each.reviewer_id != reviewer_id and _before(each)
        )
        results.append(
            ComparedReview(
                review,
                item,
                training=item.queue_id in training_ids,
                gold=None if gold is None or gold.reviewer_id == reviewer_id else gold,
                first=next(own_reviews, None),
                others=tuple(others),
            )
        )
    return results


def gold_items_of(connection: Connection, response_ids: Collection[int]) -> dict[int, int]:
    """Return the item in which each of these answers was adjudicated last, by answer."""
    query = select(REVIEW.c.response_id, REVIEW.c.queue_item_id).where(IS_GOLD, is_current())
    rows = rows_with(connection, query.order_by(REVIEW.c.id), REVIEW.c.response_id, response_ids)
    return {row.response_id: row.queue_item_id for row in rows}


def gold_review(connection: Connection, response_id: int) -> Review | None:
    """Return the gold label of an answer: the adjudication that was made last."""
    item = gold_items_of(connection, [response_id]).get(response_id)
    return None if item is None else _gold(reviews_on_items(connection, [item])[item])


def _gold(reviews: Collection[Review]) -> Review | None:
    return next((review for review in reviews if review.stage is Stage.ADJUDICATION), None)


def _before(review: Review) -> bool:
    return review.stage not in {Stage.REVEALED, Stage.ADJUDICATION}

"""One person's reviews: drafts, the list, a whole review, and the reviews to compare the latest ones with.

A person has one draft per answer or pair, which is deleted when the review is stored. The subject
of a draft is the id of an answer, or minus the id of a pair.
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

from judgeboard.domain import GRADE_TEXTS, Preference, Stage, with_fields
from judgeboard.store.listing import KeyedList, LinePage, Order
from judgeboard.store.queue_items import reviews_on_items
from judgeboard.store.responses import ANSWER, QUESTION, text_start
from judgeboard.store.reviews import (
    DecidedFlag,
    Review,
    find_review,
    flags_decided,
    has_grade,
    is_current,
)
from judgeboard.store.sql_compiler import by_index
from judgeboard.store.statements import AT_ONCE, any_row, batches, columns_of, record_of, rows_with
from judgeboard.store.tables import (
    DRAFT,
    LEASE,
    PAIR,
    PREFERENCE_SCORE,
    QUEUE,
    QUEUE_ITEM,
    RESPONSE,
    REVIEW,
)

NEWEST = Order(
    "reviewed", "newest first", REVIEW.c.id, REVIEW.c.id, "ix_review_reviewer", descending=True
)
# SQLite uses the index only if this text equals the index's condition.
IS_GOLD: ColumnElement[bool] = literal_column("review.stage = 'adjudication'")
LATEST = 1_000
"""The latest reviews of a person that are read."""


@dataclass(frozen=True, slots=True)
@with_fields(GRADE_TEXTS, str | None, None)
class OwnReview:
    """A review in the list; ``flags`` are the flags that it decides, ``queue`` is the name of its queue.

    ``preferences`` on a pair are by aspect and name the stored answers. A review has no preferences
    if its decision was refused and only its note was stored. ``revealed_id`` is the review that its
    author gave after the reveal, and ``revealed`` is the decision of that review. Each text of a
    grade has a field too (`GRADE_TEXTS`).
    """

    review_id: int
    response_id: int | None
    pair_id: int | None
    external_id: str
    query_type: str | None
    question: str | None
    answer: str | None
    flags: tuple[DecidedFlag, ...]
    queue: str | None
    revealed_id: int | None
    revealed: str | None
    stage: str | None
    decision: str | None
    label: str | None
    label_implied: bool
    groundedness: float | None
    quality: int | None
    seconds: float | None
    preferences: dict[str, Preference]
    at: datetime

    @property
    def final(self) -> bool:
        """Whether it can no longer be edited, because it is a blind review or an adjudication."""
        return self.stage in {Stage.BLIND, Stage.ADJUDICATION}


def read_draft(connection: Connection, reviewer_id: int, subject: int) -> dict[str, Any] | None:
    """Return the content of a person's draft, or None."""
    query = select(DRAFT.c.content).where(
        DRAFT.c.reviewer_id == reviewer_id, _about(DRAFT.c, [subject])
    )
    return connection.execute(query).scalar_one_or_none()


def save_draft(
    connection: Connection, reviewer_id: int, subject: int, content: Mapping[str, Any], at: datetime
) -> None:
    """Replace a person's draft. An empty draft is deleted; a draft older than their latest review is not stored."""
    delete_drafts(connection, reviewer_id, [subject])
    later = _about(REVIEW.c, [subject]), REVIEW.c.reviewer_id == reviewer_id, REVIEW.c.at >= at
    if not content or any_row(connection, *later):
        return
    row = {"reviewer_id": reviewer_id, "response_id" if subject > 0 else "pair_id": abs(subject)}
    connection.execute(insert(DRAFT), row | {"content": dict(content), "at": at})


def move_drafts(connection: Connection, from_id: int, to_id: int) -> None:
    """Give a person's drafts to another person, except on answers and pairs on which that person has a draft."""
    theirs = DRAFT.alias("theirs")
    there = exists().where(
        theirs.c.reviewer_id == to_id,
        or_(theirs.c.response_id == DRAFT.c.response_id, theirs.c.pair_id == DRAFT.c.pair_id),
    )
    connection.execute(
        update(DRAFT).where(DRAFT.c.reviewer_id == from_id, ~there).values(reviewer_id=to_id)
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

    A review after a reveal is left out, because the blind review before it counts.
    """
    of = REVIEW.c.pair_id if pairs else REVIEW.c.response_id
    revealed = REVIEW.c.stage.is_not_distinct_from(Stage.REVEALED.value)
    own = [REVIEW.c.reviewer_id == reviewer_id, of.is_not(None), is_current(), ~revealed]
    listed = KeyedList(connection, REVIEW, NEWEST, own=own, count_index=NEWEST.index)
    return listed.page(after, before, limit, partial(_lines, connection))


def latest_graded_review(
    connection: Connection, response_id: int, reviewer_id: int
) -> Review | None:
    """Return a person's newest current review of an answer with a grade, or None."""
    own = (
        REVIEW.c.response_id == response_id,
        REVIEW.c.reviewer_id == reviewer_id,
        is_current(),
        has_grade(),
    )
    review_id = connection.execute(select(func.max(REVIEW.c.id)).where(*own)).scalar()
    return None if review_id is None else find_review(connection, review_id)


_REVEALED = REVIEW.alias("revealed")


def _revealed(column: str) -> ColumnElement[Any]:
    """A column of the author's current review of the same item after the reveal."""
    of_item = (
        _REVEALED.c.queue_item_id == REVIEW.c.queue_item_id,
        _REVEALED.c.reviewer_id == REVIEW.c.reviewer_id,
    )
    query = select(_REVEALED.c[column]).where(
        *of_item, _REVEALED.c.stage == Stage.REVEALED.value, is_current(_REVEALED)
    )
    return query.limit(1).scalar_subquery()


def _lines(connection: Connection, review_ids: Sequence[int]) -> tuple[OwnReview, ...]:
    query = (
        select(
            REVIEW.c.id.label("review_id"),
            func.coalesce(RESPONSE.c.external_id, PAIR.c.external_id).label("external_id"),
            func.coalesce(RESPONSE.c.query_type, PAIR.c.query_type).label("query_type"),
            func.coalesce(QUESTION, text_start(PAIR.c.question)).label("question"),
            ANSWER,
            QUEUE.c.name.label("queue"),
            _revealed("id").label("revealed_id"),
            _revealed("decision").label("revealed"),
            *columns_of(OwnReview, REVIEW),
        )
        .outerjoin(RESPONSE, RESPONSE.c.id == REVIEW.c.response_id)
        .outerjoin(PAIR, PAIR.c.id == REVIEW.c.pair_id)
        .outerjoin(QUEUE_ITEM, QUEUE_ITEM.c.id == REVIEW.c.queue_item_id)
        .outerjoin(QUEUE, QUEUE.c.id == QUEUE_ITEM.c.queue_id)
        .where(REVIEW.c.id.in_(review_ids))
    )
    preferences: dict[int, dict[str, Preference]] = {}
    sides = PREFERENCE_SCORE.c.review_id.in_(review_ids), PREFERENCE_SCORE.c.preference.is_not(None)
    for score in connection.execute(
        select(PREFERENCE_SCORE).where(*sides).order_by(PREFERENCE_SCORE.c.id)
    ):
        preferences.setdefault(score.review_id, {})[score.aspect] = score.preference
    flags = flags_decided(connection, review_ids)
    by_id = {
        row.review_id: record_of(
            OwnReview,
            row,
            flags=tuple(flags.get(row.review_id, ())),
            preferences=preferences.get(row.review_id, {}),
        )
        for row in connection.execute(query)
    }
    return tuple(by_id[review_id] for review_id in review_ids)


@dataclass(frozen=True, slots=True)
class GivenReview:
    """A person's review, from before the reveal if the judge was hidden; ``queue_item_id`` is None outside queues.

    ``repeat_for`` is the person if the item is a repeat or a test item (``test``). The test items
    of ``training`` queues are announced.
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
    """A review with the reviews to compare it with; ``own`` is the same review as `reviews_on_items` returns it.

    ``gold`` is the adjudication by somebody else, ``first`` the person's earlier review of a
    repeated item; None if there is none. ``others`` are by other people on the same item.
    """

    review: GivenReview
    own: Review
    gold: Review | None = None
    first: Review | None = None
    others: tuple[Review, ...] = ()


def given_reviews(connection: Connection, reviewer_id: int) -> list[GivenReview]:
    """Return a person's latest current reviews, the newest first, without adjudications and reviews after a reveal."""
    first = REVIEW.c.stage.is_(None) | REVIEW.c.stage.not_in(
        (Stage.REVEALED.value, Stage.ADJUDICATION.value)
    )
    query = (
        select(*columns_of(GivenReview, REVIEW, QUEUE_ITEM, QUEUE))
        .outerjoin(QUEUE_ITEM, QUEUE_ITEM.c.id == REVIEW.c.queue_item_id)
        .outerjoin(QUEUE, QUEUE.c.id == QUEUE_ITEM.c.queue_id)
        .where(
            REVIEW.c.reviewer_id == reviewer_id,
            first,
            REVIEW.c.import_batch_id.is_(None),
            is_current(),
        )
        .order_by(REVIEW.c.id.desc())
        .limit(LATEST)
    )
    rows = connection.execute(by_index(query, REVIEW, "ix_review_reviewer"))
    return [record_of(GivenReview, row) for row in rows]


def reviewers_in_queues(connection: Connection) -> list[int]:
    """Return everybody who ever leased an item of a queue."""
    return list(
        connection.execute(
            select(LEASE.c.reviewer_id).where(LEASE.c.reviewer_id > 0).distinct()
        ).scalars()
    )


def compared_reviews(
    connection: Connection, reviewer_id: int, reviews: Collection[GivenReview]
) -> list[ComparedReviews]:
    """Return the reviews that a person gave in queues, each with the reviews to compare it with."""
    in_queues = [review for review in reviews if review.queue_item_id is not None]
    again = [review for review in in_queues if review.repeat_for is not None]
    gold_items = gold_items_of(
        connection, {review.response_id or 0 for review in again if review.test}
    )
    first_items = _first_items(connection, [review for review in again if not review.test])
    items = {review.queue_item_id or 0 for review in in_queues} | {
        *gold_items.values(),
        *first_items.values(),
    }
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
                first=next(
                    (
                        each
                        for each in of_first
                        if each.reviewer_id == reviewer_id and _before(each)
                    ),
                    None,
                ),
                others=tuple(
                    each for each in on_item if each.reviewer_id != reviewer_id and _before(each)
                ),
            )
        )
    return compared


def gold_items_of(connection: Connection, response_ids: Collection[int]) -> dict[int, int]:
    """Return the item in which each of these answers was adjudicated last, by answer."""
    query = select(REVIEW.c.response_id, REVIEW.c.queue_item_id).where(IS_GOLD, is_current())
    rows = rows_with(connection, query.order_by(REVIEW.c.id), REVIEW.c.response_id, response_ids)
    return {row.response_id: row.queue_item_id for row in rows}


def gold_review(connection: Connection, response_id: int) -> Review | None:
    """Return the gold label of an answer: the adjudication that was made last."""
    item = gold_items_of(connection, [response_id]).get(response_id)
    return None if item is None else _gold(reviews_on_items(connection, [item])[item])


def _first_items(connection: Connection, repeats: Collection[GivenReview]) -> Mapping[int, int]:
    """Return the original item of each reviewed repeat, by the id of the review."""
    query = select(QUEUE_ITEM.c.response_id, QUEUE_ITEM.c.queue_id, QUEUE_ITEM.c.id).where(
        QUEUE_ITEM.c.repeat_for.is_(None)
    )
    rows = rows_with(
        connection, query, QUEUE_ITEM.c.response_id, {review.response_id or 0 for review in repeats}
    )
    items = {(row.response_id, row.queue_id): row.id for row in rows}
    return {
        review.id: items.get((review.response_id or 0, review.queue_id or 0), 0)
        for review in repeats
    }


def _gold(reviews: Collection[Review]) -> Review | None:
    return next((review for review in reviews if review.stage is Stage.ADJUDICATION), None)


def _before(review: Review) -> bool:
    return review.stage not in {Stage.REVEALED, Stage.ADJUDICATION}

"""Queue items with flags and current reviews, and what reviewers saw before the review."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import (
    Connection,
    Row,
    and_,
    delete,
    exists,
    insert,
    literal,
    select,
    update,
)

from judgeboard.domain import (
    Decision,
    FlagState,
    ItemState,
    QueueState,
    Stage,
)
from judgeboard.errors import NotFound
from judgeboard.store.leases import JUDGE, PEOPLE, fit_leases, insert_leases, seen_since
from judgeboard.store.responses import WHOLE_QUESTION
from judgeboard.store.reviews import (
    STATE_AFTER,
    Review,
    find_review,
    find_reviews,
    is_current,
    set_flag_states,
)
from judgeboard.store.sql_compiler import by_index, with_hidden_rows
from judgeboard.store.statements import (
    any_row,
    batches,
    columns_of,
    first_row,
    insert_or_skip,
    record_of,
    rows_of,
    rows_with,
)
from judgeboard.store.tables import (
    FLAG,
    LEASE,
    QUEUE,
    QUEUE_ASSIGNMENT,
    QUEUE_ITEM,
    QUEUE_ITEM_FLAG,
    RESPONSE,
    REVIEW,
    REVIEW_FLAG,
    QueueItem,
)

UNFINISHED = (ItemState.OPEN.value, ItemState.CONFLICT.value)


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item to store, with the covered flags."""

    position: float
    reviews_needed: int = 1
    response_id: int | None = None
    pair_id: int | None = None
    flag_ids: tuple[int, ...] = ()
    sampled: bool = False
    stratum: int | None = None
    repeat_for: int | None = None
    test: bool = False
    bulk: str | None = None


_FLAGS_OF_ITEMS = select(QUEUE_ITEM_FLAG.c.flag_id).join(
    QUEUE_ITEM, QUEUE_ITEM.c.id == QUEUE_ITEM_FLAG.c.queue_item_id
)
_NEW = tuple(column.name for column in columns_of(NewItem, QUEUE_ITEM))


def insert_items(
    connection: Connection, queue_id: int, items: Sequence[NewItem], now: datetime
) -> list[int]:
    """Store items of different subjects, with flags and a lease per needed review; return the ids in order."""
    ids: list[int] = []
    for batch in batches(items):
        rows = [
            {name: getattr(item, name) for name in _NEW}
            | {"queue_id": queue_id, "state": ItemState.OPEN, "joined_at": now}
            for item in batch
        ]
        # Ids are matched by subject, because SQLite needs one statement per row to return ids in
        # the order of the parameters.
        statement = insert(QUEUE_ITEM).returning(
            QUEUE_ITEM.c.response_id, QUEUE_ITEM.c.pair_id, QUEUE_ITEM.c.id
        )
        id_of = {
            (response_id, pair_id): id_
            for response_id, pair_id, id_ in connection.execute(statement, rows)
        }
        batch_ids = [id_of[item.response_id, item.pair_id] for item in batch]
        insert_leases(
            connection, [row | {"id": id_} for id_, row in zip(batch_ids, rows, strict=True)]
        )
        link_flags(
            connection, {id_: item.flag_ids for id_, item in zip(batch_ids, batch, strict=True)}
        )
        ids += batch_ids
    return ids


def link_flags(connection: Connection, flags: dict[int, tuple[int, ...]]) -> None:
    """Link more flags to items, by item id."""
    rows = [{"queue_item_id": item, "flag_id": flag} for item, ids in flags.items() for flag in ids]
    if rows:
        connection.execute(
            insert_or_skip(connection, QUEUE_ITEM_FLAG, "queue_item_id", "flag_id"), rows
        )


def flags_of(connection: Connection, item_ids: Collection[int]) -> dict[int, set[int]]:
    """Return the flags of each of these items."""
    flags: dict[int, set[int]] = {id_: set() for id_ in item_ids}
    query = select(QUEUE_ITEM_FLAG).where(QUEUE_ITEM_FLAG.c.queue_item_id.in_(item_ids))
    for row in connection.execute(query):
        flags[row.queue_item_id].add(row.flag_id)
    return flags


def flags_to_decide(connection: Connection, item: QueueItem) -> tuple[int, ...]:
    """Return the flags that a review of an item decides: the item's flags, and all other open flags of the answer."""
    of_item = select(QUEUE_ITEM_FLAG.c.flag_id).where(QUEUE_ITEM_FLAG.c.queue_item_id == item.id)
    is_open = FLAG.c.response_id == item.response_id, FLAG.c.state == FlagState.OPEN.value
    others = select(FLAG.c.id).where(*is_open, literal(item.repeat_for is None))
    return tuple(sorted(connection.scalars(of_item.union(others))))


def flags_decided_at(connection: Connection, item_id: int) -> list[int]:
    """Return the flags that the reviews of an item decide: the item's flags, and other flags in the reviews."""
    covered_flags = select(REVIEW_FLAG.c.flag_id).join(
        REVIEW, REVIEW.c.id == REVIEW_FLAG.c.review_id
    )
    query = select(QUEUE_ITEM_FLAG.c.flag_id).where(QUEUE_ITEM_FLAG.c.queue_item_id == item_id)
    return sorted(
        connection.scalars(query.union(covered_flags.where(REVIEW.c.queue_item_id == item_id)))
    )


def decided_flags_in(connection: Connection, queue_id: int) -> list[int]:
    """Return the flags of a queue's unfinished items whose answer has a decision, in the order of locks (by answer)."""
    is_decided = exists().where(
        REVIEW.c.response_id == QUEUE_ITEM.c.response_id, REVIEW.c.decision.is_not(None)
    )
    query = _FLAGS_OF_ITEMS.where(
        QUEUE_ITEM.c.queue_id == queue_id, QUEUE_ITEM.c.state.in_(UNFINISHED), is_decided
    )
    in_order = query.order_by(QUEUE_ITEM.c.response_id, QUEUE_ITEM_FLAG.c.flag_id)
    return list(connection.scalars(in_order))


def item_by_id(connection: Connection, item_id: int, *, lock: bool = False) -> QueueItem:
    """Return an item. Raises NotFound. Lock an item only after the response or pair, as judgments do."""
    query = select(QueueItem).where(QUEUE_ITEM.c.id == item_id)
    item = first_row(connection, query.with_for_update() if lock else query)
    if item is None:
        raise NotFound(f"no queue item {item_id}")
    return item


def unfinished_items(
    connection: Connection, queue_id: int, response_ids: Collection[int]
) -> dict[int, QueueItem]:
    """Return, by answer, the unfinished item in a queue, otherwise the unreviewed item that left last."""
    is_reviewed = exists().where(LEASE.c.queue_item_id == QUEUE_ITEM.c.id, LEASE.c.done.is_(True))
    items = (
        select(QueueItem)
        .where(
            QUEUE_ITEM.c.queue_id == queue_id,
            QUEUE_ITEM.c.response_id.in_(response_ids),
            QUEUE_ITEM.c.repeat_for.is_(None),
            QUEUE_ITEM.c.state.in_(UNFINISHED)
            | ((QUEUE_ITEM.c.state == ItemState.LEFT.value) & ~is_reviewed),
        )
        .order_by(QUEUE_ITEM.c.state.in_(UNFINISHED), QUEUE_ITEM.c.id)
    )
    query = by_index(
        items, QUEUE_ITEM, "ix_queue_item_of_response"
    )  # otherwise SQLite reads all unfinished items
    return {item.response_id: item for item in rows_of(connection, query)}


def finished_flags(
    connection: Connection, queue_id: int, response_ids: Collection[int]
) -> set[int]:
    """Return the flags of finished items of these answers in a queue."""
    flags = _FLAGS_OF_ITEMS.where(
        QUEUE_ITEM.c.queue_id == queue_id,
        QUEUE_ITEM.c.response_id.in_(response_ids),
        QUEUE_ITEM.c.state.in_((ItemState.AGREED.value, ItemState.ADJUDICATED.value)),
    )
    query = by_index(
        flags, QUEUE_ITEM, "ix_queue_item_of_response"
    )  # otherwise SQLite reads all finished items
    return set(connection.scalars(query))


def touched_items(connection: Connection, item_ids: Collection[int], now: datetime) -> set[int]:
    """Return which of these items somebody leases or has reviewed."""
    leased_or_done = LEASE.c.done.is_(True) | (LEASE.c.until > now)
    query = select(LEASE.c.queue_item_id).where(LEASE.c.queue_item_id.in_(item_ids), leased_or_done)
    return set(connection.scalars(query))


def set_item_state(
    connection: Connection, item: QueueItem, state: ItemState, now: datetime, *, leases: int = 0
) -> None:
    """Store the state of an item, and keep ``leases`` unused leases, one per review that is still needed."""
    if state is not item.state:
        connection.execute(
            update(QUEUE_ITEM).where(QUEUE_ITEM.c.id == item.id).values(state=state.value)
        )
    fit_leases(connection, item.model_dump(), leases, now)


def items_of_bulk(connection: Connection, bulk: str) -> list[int]:
    """Return the open items that a bulk action added."""
    conditions = QUEUE_ITEM.c.bulk == bulk, QUEUE_ITEM.c.state == ItemState.OPEN.value
    return list(
        connection.scalars(select(QUEUE_ITEM.c.id).where(*conditions).order_by(QUEUE_ITEM.c.id))
    )


def remove_items(connection: Connection, item_ids: Collection[int], now: datetime) -> int:
    """Remove items (at most 1,000) that are neither leased nor reviewed; return how many were removed."""
    ids = set(item_ids) - touched_items(connection, item_ids, now)
    connection.execute(
        update(QUEUE_ITEM).where(QUEUE_ITEM.c.id.in_(ids)).values(state=ItemState.LEFT.value)
    )
    connection.execute(delete(LEASE).where(LEASE.c.queue_item_id.in_(ids)))
    close_flags(
        connection,
        [flag_id for of_item in flags_of(connection, ids).values() for flag_id in of_item],
    )
    return len(ids)


def unfinished_beside(connection: Connection, item: QueueItem) -> bool:
    """Return whether the queue has another unfinished item of the same answer or pair; always False for a repeat."""
    if item.repeat_for is not None:
        return False
    return any_row(
        connection,
        QUEUE_ITEM.c.queue_id == item.queue_id,
        QUEUE_ITEM.c.id != item.id,
        QUEUE_ITEM.c.response_id.is_not_distinct_from(item.response_id),
        QUEUE_ITEM.c.pair_id.is_not_distinct_from(item.pair_id),
        QUEUE_ITEM.c.repeat_for.is_(None),
        QUEUE_ITEM.c.state.in_(UNFINISHED),
    )


def holding_items(
    connection: Connection, flag_ids: Collection[int]
) -> Sequence[Row[str, int, int]]:
    """Return (queue, item, reviews needed) of unfinished items in open queues that keep any of these flags open."""
    query = (
        select(QUEUE.c.name, QUEUE_ITEM.c.id, QUEUE_ITEM.c.reviews_needed)
        .join(QUEUE_ITEM, QUEUE_ITEM.c.queue_id == QUEUE.c.id)
        .join(QUEUE_ITEM_FLAG, QUEUE_ITEM_FLAG.c.queue_item_id == QUEUE_ITEM.c.id)
        .where(
            QUEUE_ITEM_FLAG.c.flag_id.in_(flag_ids),
            QUEUE.c.state == QueueState.OPEN.value,
            QUEUE_ITEM.c.state.in_(UNFINISHED),
        )
        .order_by(QUEUE.c.name)
        .distinct()
    )
    return connection.execute(query).all()


def reviewed_in_queues(
    connection: Connection, response_ids: Collection[int], reviewer_id: int
) -> dict[int, str]:
    """Return, by answer, the name of an open queue in which a person has reviewed the answer's unfinished item."""
    query = (
        select(QUEUE_ITEM.c.response_id, QUEUE.c.name)
        .join(QUEUE_ITEM, QUEUE_ITEM.c.queue_id == QUEUE.c.id)
        .join(LEASE, LEASE.c.queue_item_id == QUEUE_ITEM.c.id)
        .where(
            QUEUE_ITEM.c.response_id.in_(response_ids),
            QUEUE_ITEM.c.repeat_for.is_(None),
            QUEUE_ITEM.c.state.in_(UNFINISHED),
            QUEUE.c.state == QueueState.OPEN.value,
            LEASE.c.reviewer_id == reviewer_id,
            LEASE.c.done.is_(True),
        )
    )
    return {row.response_id: row.name for row in connection.execute(query)}


def held_flags(connection: Connection, flag_ids: Collection[int]) -> set[int]:
    """Return which of these flags an unfinished item of an open queue keeps open."""
    query = _FLAGS_OF_ITEMS.join(QUEUE, QUEUE.c.id == QUEUE_ITEM.c.queue_id)
    query = query.where(QUEUE.c.state == QueueState.OPEN.value, QUEUE_ITEM.c.state.in_(UNFINISHED))
    return {
        row.flag_id for row in rows_with(connection, query, QUEUE_ITEM_FLAG.c.flag_id, flag_ids)
    }


def decided_states(connection: Connection, flag_ids: Collection[int]) -> dict[int, FlagState]:
    """Return the state of each of these flags after the reviews, without flags that are not decided yet.

    A flag is not decided while a queue needs more reviews. Otherwise the latest of the following
    counts: a decision outside queues, the decision on which the reviews of an item agree, an
    adjudication. A review after the reveal does not count.
    """
    is_finished = exists().where(
        QUEUE_ITEM.c.id == REVIEW.c.queue_item_id,
        QUEUE_ITEM.c.repeat_for.is_(None),
        QUEUE_ITEM.c.state.in_((ItemState.AGREED.value, ItemState.ADJUDICATED.value)),
        (QUEUE_ITEM.c.state == ItemState.AGREED.value)
        | (REVIEW.c.stage == Stage.ADJUDICATION.value),
    )
    covers = exists().where(
        REVIEW_FLAG.c.review_id == REVIEW.c.id, REVIEW_FLAG.c.flag_id == FLAG.c.id
    )
    of_item = exists().where(
        QUEUE_ITEM_FLAG.c.queue_item_id == REVIEW.c.queue_item_id,
        QUEUE_ITEM_FLAG.c.flag_id == FLAG.c.id,
    )
    query = (
        select(FLAG.c.id, REVIEW.c.decision)
        .join(REVIEW, REVIEW.c.response_id == FLAG.c.response_id)
        .where(
            REVIEW.c.decision.in_(tuple(STATE_AFTER)),
            REVIEW.c.stage.is_distinct_from(Stage.REVEALED.value),
            covers | of_item,
            REVIEW.c.queue_item_id.is_(None) | is_finished,
            is_current(),
        )
        .order_by(REVIEW.c.id)
    )
    undecided_ids = set(flag_ids) - held_flags(connection, flag_ids)
    return {
        id_: STATE_AFTER[decision]
        for id_, decision in rows_with(connection, query, FLAG.c.id, undecided_ids)
    }


def close_flags(connection: Connection, flag_ids: Collection[int]) -> None:
    """Close the open flags that are decided and that no queue keeps open any more."""
    query = select(FLAG.c.id).where(FLAG.c.id.in_(flag_ids), FLAG.c.state == FlagState.OPEN.value)
    set_flag_states(connection, decided_states(connection, connection.scalars(query).all()))


def reviews_on(connection: Connection, item_id: int) -> list[Review]:
    """Return the current reviews of an item, the oldest first."""
    return reviews_on_items(connection, [item_id])[item_id]


def reviews_on_items(connection: Connection, item_ids: Collection[int]) -> dict[int, list[Review]]:
    """Return the current reviews of each of at most 1,000 items, the oldest first."""
    reviews: dict[int, list[Review]] = {item_id: [] for item_id in item_ids}
    for review in find_reviews(connection, REVIEW.c.queue_item_id.in_(item_ids), is_current()):
        reviews[review.queue_item_id or 0].append(review)
    return reviews


def has_seen(connection: Connection, reviewer_id: int, response_id: int, what: str) -> bool:
    """Return whether stored reviews and reveals show that a person saw the judge, or other reviews, on an answer."""
    is_own = and_(REVIEW.c.response_id == response_id, REVIEW.c.reviewer_id == reviewer_id)
    seen = connection.scalars(select(REVIEW.c.seen).where(is_own, REVIEW.c.seen.is_not(None)))
    if any(what in parts for parts in seen):
        return True
    revealed_ids = select(REVIEW.c.id).join(LEASE, LEASE.c.review_id == REVIEW.c.id).where(is_own)
    return any(
        what in (seen_since(connection, id_) or ())
        for id_ in connection.scalars(revealed_ids).all()
    )


def revealed_review(connection: Connection, item_id: int, reviewer_id: int) -> Review | None:
    """Return the current review of an item that a person gave after the reveal."""
    query = select(REVIEW.c.id).where(
        REVIEW.c.queue_item_id == item_id,
        REVIEW.c.reviewer_id == reviewer_id,
        REVIEW.c.stage == Stage.REVEALED.value,
        is_current(),
    )
    review_id = connection.scalar(query)
    return None if review_id is None else find_review(connection, review_id)


_HIDES = {JUDGE: QUEUE.c.blind_judge, PEOPLE: QUEUE.c.blind_people}


def had_all_reviews(connection: Connection, item: QueueItem, reviewer_id: int) -> bool:
    """Return whether an open item once had all reviews, so that nothing was hidden until a review was withdrawn."""
    columns = (REVIEW.c.id, REVIEW.c.reviewer_id, REVIEW.c.decision, REVIEW.c.replaces)
    query = select(*columns).where(
        REVIEW.c.queue_item_id == item.id, REVIEW.c.reviewer_id != reviewer_id
    )
    current_reviewers: dict[int, int] = {}
    for row in connection.execute(query.order_by(REVIEW.c.id)):
        if (
            row.decision == Decision.WITHDRAWN.value
            and len(set(current_reviewers.values())) >= item.reviews_needed
        ):
            return True
        current_reviewers.pop(row.replaces, None)
        if row.decision != Decision.WITHDRAWN.value:
            current_reviewers[row.id] = row.reviewer_id
    return False


def leased_where_visible(
    connection: Connection, item: QueueItem, reviewer_id: int, what: str, taken_at: datetime
) -> bool:
    """Return whether a person leased the same answer in a queue that shows ``what``, before this queue hid ``what``.

    A queue that is assigned to the person hides ``what`` when the item joins. Other queues hide
    ``what`` when the person leases the item (``taken_at``).
    """
    access = exists().where(
        QUEUE_ASSIGNMENT.c.queue_id == item.queue_id, QUEUE_ASSIGNMENT.c.reviewer_id == reviewer_id
    )
    joined_at = connection.scalar(
        select(QUEUE_ITEM.c.joined_at).where(QUEUE_ITEM.c.id == item.id, access)
    )
    in_sight = (
        select(QUEUE_ITEM.c.id)
        .join(QUEUE, QUEUE.c.id == QUEUE_ITEM.c.queue_id)
        .where(
            QUEUE_ITEM.c.response_id == item.response_id,
            QUEUE_ITEM.c.id != item.id,
            _HIDES[what].is_(False),
        )
    )
    # Reads the few items of this answer, not all that the reviewer ever leased.
    conditions = LEASE.c.queue_item_id.in_(in_sight), LEASE.c.taken_at <= (joined_at or taken_at)
    return any_row(connection, LEASE.c.reviewer_id == reviewer_id, *conditions)


@dataclass(frozen=True, slots=True)
class AnswerText:
    """The texts of an answer; None if forgotten. ``passages`` is also None if the log has none."""

    response_id: int
    external_id: str
    query_type: str
    question: str | None
    passages: tuple[str, ...] | None
    answer: str | None


def answer_texts(connection: Connection, response_ids: Collection[int]) -> dict[int, AnswerText]:
    """Return the texts of these answers by id."""
    query = select(
        RESPONSE.c.id.label("response_id"), WHOLE_QUESTION, *columns_of(AnswerText, RESPONSE)
    )
    rows = rows_with(connection, with_hidden_rows(query), RESPONSE.c.id, response_ids)
    return {row.response_id: record_of(AnswerText, row) for row in rows}

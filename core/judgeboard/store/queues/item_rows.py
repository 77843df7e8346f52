"""Items of queues as stored: inserted with their flags and places, locked, brought to another state."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, exists, insert, select, update

from judgeboard.domain import ItemState
from judgeboard.errors import NotFound
from judgeboard.store.queues.leases import LEASE, fit_leases, insert_leases, move_leases
from judgeboard.store.reviews.standing import REVIEW
from judgeboard.store.row_filter import by_index
from judgeboard.store.schema.queue_tables import QUEUE_ITEM, QUEUE_ITEM_FLAG
from judgeboard.store.sql.batches import batches
from judgeboard.store.sql.insertion import insert_or_skip

ITEM = QUEUE_ITEM
LINK = QUEUE_ITEM_FLAG

UNFINISHED = (ItemState.OPEN.value, ItemState.SPLIT.value)


@dataclass(frozen=True, slots=True)
class QueueItem:
    """An answer (or a pair) in a queue, as stored."""

    id: int
    queue_id: int
    response_id: int | None
    pair_id: int | None
    reviews_needed: int
    position: float
    sampled: bool
    again_for: int | None
    state: ItemState


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item to be stored, with the flags it stands for."""

    position: float
    reviews_needed: int = 1
    response_id: int | None = None
    pair_id: int | None = None
    flag_ids: tuple[int, ...] = ()
    sampled: bool = False
    again_for: int | None = None


_COLUMNS = tuple(ITEM.c[name] for name in QueueItem.__dataclass_fields__)


def insert_items(connection: Connection, queue_id: int, items: Sequence[NewItem], now: datetime) -> list[int]:
    """Store items with their flags and a place for each review they need; return their ids in order."""
    ids: list[int] = []
    for some in batches(items):
        rows = [
            {
                "queue_id": queue_id,
                "response_id": item.response_id,
                "pair_id": item.pair_id,
                "reviews_needed": item.reviews_needed,
                "position": item.position,
                "sampled": item.sampled,
                "again_for": item.again_for,
                "state": ItemState.OPEN.value,
                "joined_at": now,
            }
            for item in some
        ]
        returning = insert(ITEM).returning(ITEM.c.id, sort_by_parameter_order=True)
        stored = list(connection.execute(returning, rows).scalars())
        insert_leases(connection, [row | {"id": id_} for id_, row in zip(stored, rows, strict=True)])
        link_flags(connection, {id_: item.flag_ids for id_, item in zip(stored, some, strict=True)})
        ids += stored
    return ids


def link_flags(connection: Connection, flags: dict[int, tuple[int, ...]]) -> None:
    """Let items (by id) stand for flags, as well as for those they stood for."""
    rows = [{"queue_item_id": item, "flag_id": flag} for item, ids in flags.items() for flag in ids]
    if rows:
        connection.execute(insert_or_skip(connection, LINK, "queue_item_id", "flag_id"), rows)


def unlink_flags(connection: Connection, item_id: int, flag_ids: Collection[int]) -> None:
    """Let an item stand for these flags no more."""
    connection.execute(delete(LINK).where(LINK.c.queue_item_id == item_id, LINK.c.flag_id.in_(flag_ids)))


def flags_of(connection: Connection, item_ids: Collection[int]) -> dict[int, set[int]]:
    """Return the flags that each of these items stands for."""
    found: dict[int, set[int]] = {id_: set() for id_ in item_ids}
    for item_id, flag_id in connection.execute(
        select(LINK.c.queue_item_id, LINK.c.flag_id).where(LINK.c.queue_item_id.in_(item_ids))
    ):
        found[item_id].add(flag_id)
    return found


def decided_flags_in(connection: Connection, queue_id: int) -> list[int]:
    """Return the flags that waiting items of a queue stand for and somebody decided all the same, answer by answer.

    Answers are locked in the order of their ids wherever several are.
    """
    decided = exists().where(REVIEW.c.response_id == ITEM.c.response_id, REVIEW.c.decision.is_not(None))
    query = (
        select(LINK.c.flag_id)
        .join(ITEM, ITEM.c.id == LINK.c.queue_item_id)
        .where(ITEM.c.queue_id == queue_id, ITEM.c.state.in_(UNFINISHED), decided)
        .order_by(ITEM.c.response_id, LINK.c.flag_id)
    )
    return list(connection.execute(query).scalars())


def lock_item(connection: Connection, item_id: int) -> QueueItem:
    """Read an item and hold it; its response or pair comes first, as where judgments land.

    Raises:
        NotFound: No such item.
    """
    row = connection.execute(select(*_COLUMNS).where(ITEM.c.id == item_id).with_for_update()).one_or_none()
    if row is None:
        raise NotFound(f"no queue item {item_id}")
    return _item(row)


def item_by_id(connection: Connection, item_id: int) -> QueueItem:
    """Return an item.

    Raises:
        NotFound: No such item.
    """
    row = connection.execute(select(*_COLUMNS).where(ITEM.c.id == item_id)).one_or_none()
    if row is None:
        raise NotFound(f"no queue item {item_id}")
    return _item(row)


def unfinished_items(connection: Connection, queue_id: int, response_ids: Collection[int]) -> dict[int, QueueItem]:
    """Return the items of these answers in a queue that wait, else those that left last, by answer."""
    waiting = (
        select(*_COLUMNS)
        .where(
            ITEM.c.queue_id == queue_id,
            ITEM.c.response_id.in_(response_ids),
            ITEM.c.again_for.is_(None),
            ITEM.c.state.in_((*UNFINISHED, ItemState.LEFT.value)),
        )
        .order_by(ITEM.c.state.in_(UNFINISHED), ITEM.c.id)
    )
    query = by_index(waiting, ITEM, "ix_queue_item_of_response")  # by itself SQLite reads all that wait
    return {row.response_id: _item(row) for row in connection.execute(query)}


def waiting_items_on(connection: Connection, subject: ColumnElement[bool]) -> list[QueueItem]:
    """Return the items on these answers or pairs that wait, in any queue, served again or not."""
    query = select(*_COLUMNS).where(subject, ITEM.c.state.in_(UNFINISHED)).order_by(ITEM.c.id)
    return [_item(row) for row in connection.execute(query)]


def finished_flags(connection: Connection, queue_id: int, response_ids: Collection[int]) -> set[int]:
    """Return the flags for which these answers were in a queue and are done there."""
    done = (
        select(LINK.c.flag_id)
        .join(ITEM, ITEM.c.id == LINK.c.queue_item_id)
        .where(
            ITEM.c.queue_id == queue_id,
            ITEM.c.response_id.in_(response_ids),
            ITEM.c.state.in_((ItemState.SETTLED.value, ItemState.ADJUDICATED.value)),
        )
    )
    query = by_index(done, ITEM, "ix_queue_item_of_response")  # by itself SQLite reads all that is done
    return set(connection.execute(query).scalars())


def touched_items(connection: Connection, item_ids: Collection[int], now: datetime) -> set[int]:
    """Return those of these items that somebody holds or reviewed."""
    held = LEASE.c.done.is_(True) | (LEASE.c.until > now)
    query = select(LEASE.c.queue_item_id).where(LEASE.c.queue_item_id.in_(item_ids), held)
    return set(connection.execute(query).scalars())


def set_item_state(
    connection: Connection, item: QueueItem, state: ItemState, now: datetime, *, places: int = 0
) -> None:
    """Store what has become of an item, and bring its unused places to as many as it still needs reviews."""
    if state is not item.state:
        connection.execute(update(ITEM).where(ITEM.c.id == item.id).values(state=state.value))
    fit_leases(connection, asdict(item), places, now)


def move_item(connection: Connection, item_id: int, position: float) -> None:
    """Put an item elsewhere in the order."""
    connection.execute(update(ITEM).where(ITEM.c.id == item_id).values(position=position))
    move_leases(connection, item_id, position)


def unfinished_beside(connection: Connection, item: QueueItem) -> bool:
    """Whether the same answer or pair waits in the same queue as another item; not beside what is served again."""
    if item.again_for is not None:
        return False
    other = exists().where(
        ITEM.c.queue_id == item.queue_id,
        ITEM.c.id != item.id,
        ITEM.c.response_id.is_not_distinct_from(item.response_id),
        ITEM.c.pair_id.is_not_distinct_from(item.pair_id),
        ITEM.c.again_for.is_(None),
        ITEM.c.state.in_(UNFINISHED),
    )
    return bool(connection.execute(select(other)).scalar())


def _item(row: Row[Any]) -> QueueItem:
    values = dict(zip(row._fields, row, strict=True))
    return QueueItem(**values | {"state": ItemState(values["state"])})

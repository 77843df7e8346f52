"""Leases of queue items: who has leased what until when, and what was shown meanwhile."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, func, insert, or_, select, update

from judgeboard.store.statements import columns_of
from judgeboard.store.tables import LEASE, QUEUE, SKIP

UNUSED = LEASE.alias("unused")

OFFLINE = "offline-"  # begins the token of a lease that somebody has in a bundle

JUDGE, PEOPLE = "judge", "people"  # what a review can have seen


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease as stored: free, of ``reviewer_id`` until ``until``, or used by them (``done``)."""

    id: int
    queue_id: int
    queue_item_id: int
    slot: int
    reviewer_id: int | None
    token: str | None
    taken_at: datetime | None
    until: datetime | None
    done: bool
    review_id: int | None
    revealed_at: datetime | None


_COLUMNS = columns_of(Lease, LEASE)


def insert_leases(connection: Connection, items: Iterable[Mapping[str, Any]]) -> None:
    """Store the leases of new items: id, queue_id, reviews_needed, position and repeat_for are read of each."""
    rows = [_new_lease(item, slot) for item in items for slot in range(item["reviews_needed"])]
    if rows:
        connection.execute(insert(LEASE), rows)


def fit_leases(connection: Connection, item: Mapping[str, Any], wanted: int, now: datetime) -> None:
    """Bring the unused leases of an item to ``wanted``; a lease that a reviewer has is the last to go."""
    leases = leases_at(connection, item["id"])
    unused = [lease for lease in leases if not lease.done]
    active = [lease for lease in unused if lease.until is not None and lease.until > now]
    free = [lease for lease in unused if lease not in active]
    spare = len(unused) - wanted
    if spare > 0:
        removed = [lease.id for lease in [*reversed(free), *reversed(active)][:spare]]
        connection.execute(delete(LEASE).where(LEASE.c.id.in_(removed)))
    first = max((lease.slot for lease in leases), default=-1) + 1
    rows = [_new_lease(item, slot) for slot in range(first, first - spare)]
    if rows:
        connection.execute(insert(LEASE), rows)


def active_leases(connection: Connection, reviewer_id: int, now: datetime, queue_id: int | None = None) -> list[Lease]:
    """Return the leases that a reviewer has at this moment, the first taken first."""
    query = select(*_COLUMNS).where(LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(False), LEASE.c.until > now)
    if queue_id is not None:
        query = query.where(LEASE.c.queue_id == queue_id)
    return [Lease(*row) for row in connection.execute(query.order_by(LEASE.c.taken_at, LEASE.c.id))]


def lease_by_token(connection: Connection, token: str, *, lock: bool = False) -> Lease | None:
    """Return the lease of a token, None where it is somebody else's by now or gone."""
    query = select(*_COLUMNS).where(LEASE.c.token == token)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    return None if row is None else Lease(*row)


def lease_of(connection: Connection, item_id: int, reviewer_id: int) -> Lease | None:
    """Return the lease of an item that a reviewer has, had last or used."""
    query = select(*_COLUMNS).where(LEASE.c.queue_item_id == item_id, LEASE.c.reviewer_id == reviewer_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else Lease(*row)


def leases_at(connection: Connection, item_id: int) -> list[Lease]:
    """Return every lease of an item, by slot."""
    query = select(*_COLUMNS).where(LEASE.c.queue_item_id == item_id).order_by(LEASE.c.slot)
    return [Lease(*row) for row in connection.execute(query)]


def renew_lease(connection: Connection, token: str, reviewer_id: int, until: datetime) -> bool:
    """Extend a lease, with the same token; False where it is not the reviewer's any more."""
    mine = and_(LEASE.c.token == token, LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(False))
    return connection.execute(update(LEASE).where(mine).values(until=until)).rowcount > 0


def release_lease(connection: Connection, lease_id: int) -> None:
    """Release a lease, whatever had been done under it."""
    empty = dict.fromkeys(("reviewer_id", "token", "taken_at", "until", "review_id", "revealed_at"))
    connection.execute(update(LEASE).where(LEASE.c.id == lease_id).values(**empty, done=False))


def reopen_lease(connection: Connection, review_id: int, until: datetime) -> None:
    """Lease an item again to whoever gave a review of it, since that is taken back."""
    # What came back in a file and is taken back is served at a page from here on.
    token = func.replace(LEASE.c.token, OFFLINE, "undone-")
    free = {"done": False, "review_id": None, "until": until, "token": token}
    connection.execute(update(LEASE).where(LEASE.c.review_id == review_id).values(**free))


def seen_since(connection: Connection, review_id: int) -> tuple[str, ...] | None:
    """Return what was revealed to the author of a blind review after it, None where nothing was."""
    query = (
        select(QUEUE.c.blind_judge, QUEUE.c.blind_people)
        .join(LEASE, LEASE.c.queue_id == QUEUE.c.id)
        .where(LEASE.c.review_id == review_id, LEASE.c.revealed_at.is_not(None))
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    return tuple(what for what, hidden in ((JUDGE, row.blind_judge), (PEOPLE, row.blind_people)) if hidden)


def use_lease(connection: Connection, lease_id: int, review_id: int) -> None:
    """Note the review that was given under a lease; nobody takes it again."""
    connection.execute(update(LEASE).where(LEASE.c.id == lease_id).values(done=True, review_id=review_id))


def note_reveal(connection: Connection, lease_id: int, now: datetime) -> None:
    """Note that the reviewer who used a lease has been shown what was hidden; the first time counts."""
    first = and_(LEASE.c.id == lease_id, LEASE.c.revealed_at.is_(None))
    connection.execute(update(LEASE).where(first).values(revealed_at=now))


def move_leases(connection: Connection, item_id: int, position: float) -> None:
    """Bring the leases of an item to its position in the queue."""
    connection.execute(update(LEASE).where(LEASE.c.queue_item_id == item_id).values(position=position))


def _new_lease(item: Mapping[str, Any], slot: int) -> dict[str, Any]:
    return {
        "queue_id": item["queue_id"],
        "queue_item_id": item["id"],
        "slot": slot,
        "position": item["position"],
        "repeat_for": item["repeat_for"],
        "done": False,
    }


def assign_lease(
    connection: Connection, which: ColumnElement[bool], reviewer_id: int, token: str, *, now: datetime, until: datetime
) -> Lease | None:
    """Lease the one row that ``which`` names to a reviewer, whoever had it before; None where there is none."""
    taking = (
        update(LEASE)
        .where(which)
        .values(reviewer_id=reviewer_id, token=token, taken_at=now, until=until)
        .returning(*_COLUMNS)
    )
    row = connection.execute(taking).one_or_none()
    return None if row is None else Lease(*row)


@dataclass(frozen=True, slots=True)
class Skipped:
    """An item put aside by a person."""

    item_id: int
    reviewer_id: int
    reason: str | None
    at: datetime


def insert_skip(connection: Connection, item_id: int, reviewer_id: int, reason: str | None, now: datetime) -> None:
    """Note that somebody put an item aside."""
    row = {"queue_item_id": item_id, "reviewer_id": reviewer_id, "reason": reason, "at": now}
    connection.execute(insert(SKIP), row)


def skips_of(connection: Connection, item_id: int) -> list[Skipped]:
    """Return who put an item aside, the first first."""
    query = select(SKIP.c.queue_item_id, SKIP.c.reviewer_id, SKIP.c.reason, SKIP.c.at)
    rows = connection.execute(query.where(SKIP.c.queue_item_id == item_id).order_by(SKIP.c.id))
    return [Skipped(*row) for row in rows]


def own_progress(connection: Connection, queue_id: int, reviewer_id: int, now: datetime) -> tuple[int, int]:
    """Return the items that a person did in a queue, and those that are left for them at this moment.

    Left are the items with an unused lease that nobody else has, without those that the person did or skipped. All
    unused leases are read: a page asks once, when somebody begins.
    """
    mine = exists().where(
        LEASE.c.queue_item_id == UNUSED.c.queue_item_id, LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(True)
    )
    skipped = exists().where(SKIP.c.queue_item_id == UNUSED.c.queue_item_id, SKIP.c.reviewer_id == reviewer_id)
    done = select(func.count()).where(
        LEASE.c.queue_id == queue_id, LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(True)
    )
    left = select(func.count(UNUSED.c.queue_item_id.distinct())).where(
        UNUSED.c.queue_id == queue_id,
        UNUSED.c.done.is_(False),
        or_(UNUSED.c.until.is_(None), UNUSED.c.until <= now, UNUSED.c.reviewer_id == reviewer_id),
        or_(UNUSED.c.repeat_for.is_(None), UNUSED.c.repeat_for == reviewer_id),
        ~mine,
        ~skipped,
    )
    return connection.execute(done).scalar_one(), connection.execute(left).scalar_one()

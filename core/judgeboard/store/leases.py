"""Leases of queue items, what was revealed to reviewers, and skipped items."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    case,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from judgeboard.domain import ItemState
from judgeboard.errors import BadInput
from judgeboard.store.statements import count_rows, first_row, record_of, rows_of
from judgeboard.store.tables import LEASE, QUEUE, QUEUE_ITEM, SKIP, TAKEN_LEASE, Lease, Skip
from judgeboard.text import unstorable

UNUSED = LEASE.alias("unused")

OFFLINE = "offline-"  # prefix of the token of a lease in a bundle

HIGHEST_ID = 2**63 - 1

JUDGE, PEOPLE = "judge", "people"  # what a reviewer may have seen


def insert_leases(connection: Connection, items: Iterable[Mapping[str, Any]]) -> None:
    """Store the leases of new items, which have id, queue_id, reviews_needed, position and repeat_for."""
    rows = [_new_lease(item, slot) for item in items for slot in range(item["reviews_needed"])]
    if rows:
        connection.execute(insert(LEASE), rows)


def fit_leases(
    connection: Connection, item: Mapping[str, Any], lease_count: int, now: datetime
) -> None:
    """Add or remove unused leases of an item until there are ``lease_count``; free leases are removed first."""
    leases = leases_at(connection, item["id"])
    unused = [lease for lease in leases if not lease.done]
    active = [lease for lease in unused if lease.until is not None and lease.until > now]
    free = [lease for lease in unused if lease not in active]
    spare = len(unused) - lease_count
    if spare > 0:
        spare_ids = [lease.id for lease in [*reversed(free), *reversed(active)][:spare]]
        connection.execute(delete(LEASE).where(LEASE.c.id.in_(spare_ids)))
    first = max((lease.slot for lease in leases), default=-1) + 1
    rows = [_new_lease(item, slot) for slot in range(first, first - spare)]
    if rows:
        connection.execute(insert(LEASE), rows)


def active_leases(
    connection: Connection, reviewer_id: int, now: datetime, queue_id: int | None = None
) -> list[Lease]:
    """Return the leases that a reviewer has now, the oldest first."""
    query = select(Lease).where(
        LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(False), LEASE.c.until > now
    )
    if queue_id is not None:
        query = query.where(LEASE.c.queue_id == queue_id)
    return rows_of(connection, query.order_by(LEASE.c.taken_at, LEASE.c.id))


def find_lease(connection: Connection, item_id: int, reviewer_id: int) -> Lease | None:
    """Return a reviewer's lease of an item (at most one), which may have ended or been used, or None."""
    return first_row(
        connection,
        select(Lease).where(LEASE.c.queue_item_id == item_id, LEASE.c.reviewer_id == reviewer_id),
    )


def own_lease(
    connection: Connection, token: str, reviewer_id: int, *, lock: bool = False
) -> Lease | None:
    """Return this reviewer's lease with a token; the lease may have ended or been used.

    Returns None for every other token: leasing an item again changes the token. Raises BadInput if
    the text is not a token.
    """
    item_id, secret = split_token(token)
    query = select(Lease).where(
        LEASE.c.token == secret,
        LEASE.c.queue_item_id == item_id,
        LEASE.c.reviewer_id == reviewer_id,
    )
    return first_row(connection, query.with_for_update() if lock else query)


def split_token(token: str) -> tuple[int, str]:
    """Return the item id and the secret of a token; raise `BadInput` if the text is not a token."""
    item, dot, secret = token.partition(".")
    is_id = item.isdecimal() and len(item) <= len(str(HIGHEST_ID)) and int(item) <= HIGHEST_ID
    if not dot or not is_id or not secret or unstorable(secret):
        raise BadInput("this is not a token of an item: lease the item again")
    return int(item), secret


def lease_taken_at(
    connection: Connection, item_id: int, reviewer_id: int, token: str
) -> datetime | None:
    """Return when a person took a lease of an item with this token, also an ended lease; None if never."""
    query = select(func.max(TAKEN_LEASE.c.at)).where(
        TAKEN_LEASE.c.queue_item_id == item_id,
        TAKEN_LEASE.c.reviewer_id == reviewer_id,
        TAKEN_LEASE.c.token == token,
    )
    taken_at: datetime | None = connection.scalar(query)
    return taken_at


def leases_at(connection: Connection, item_id: int) -> list[Lease]:
    """Return every lease of an item, by slot."""
    return rows_of(
        connection, select(Lease).where(LEASE.c.queue_item_id == item_id).order_by(LEASE.c.slot)
    )


def renew_lease(connection: Connection, token: str, reviewer_id: int, until: datetime) -> bool:
    """Extend a lease with the same token; return False if the reviewer no longer has the lease."""
    mine = and_(LEASE.c.token == token, LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(False))
    return connection.execute(update(LEASE).where(mine).values(until=until)).rowcount > 0


def release_lease(connection: Connection, lease_id: int) -> None:
    """Release a lease, also after a review."""
    empty = dict.fromkeys(("reviewer_id", "token", "taken_at", "until", "review_id", "revealed_at"))
    connection.execute(update(LEASE).where(LEASE.c.id == lease_id).values(**empty, done=False))


def reopen_lease(connection: Connection, review_id: int, until: datetime) -> None:
    """Lease an item again to the author of a review that is being withdrawn."""
    # A withdrawn review from a bundle is given again on the page, so the lease no longer belongs to
    # the bundle.
    token = func.replace(LEASE.c.token, OFFLINE, "undone-")
    again = update(LEASE).values(done=False, review_id=None, until=until, token=token)
    connection.execute(again.where(LEASE.c.review_id == review_id))


def seen_since(connection: Connection, review_id: int) -> tuple[str, ...] | None:
    """Return what was revealed to the author of a blind review after the review; None if nothing was revealed."""
    query = (
        select(QUEUE.c.blind_judge, QUEUE.c.blind_people)
        .join(LEASE, LEASE.c.queue_id == QUEUE.c.id)
        .where(LEASE.c.review_id == review_id, LEASE.c.revealed_at.is_not(None))
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    return tuple(
        part
        for part, is_hidden in ((JUDGE, row.blind_judge), (PEOPLE, row.blind_people))
        if is_hidden
    )


def use_lease(connection: Connection, lease_id: int, review_id: int) -> None:
    """Store the review of a lease; nobody can take this lease again."""
    connection.execute(
        update(LEASE).where(LEASE.c.id == lease_id).values(done=True, review_id=review_id)
    )


def note_reveal(connection: Connection, lease_id: int, now: datetime) -> None:
    """Store when the hidden parts were revealed to the reviewer of a lease; later reveals do not change the time."""
    first = and_(LEASE.c.id == lease_id, LEASE.c.revealed_at.is_(None))
    connection.execute(update(LEASE).where(first).values(revealed_at=now))


def _new_lease(item: Mapping[str, Any], slot: int) -> dict[str, Any]:
    of_item = {name: item[name] for name in ("queue_id", "position", "repeat_for")}
    return of_item | {"queue_item_id": item["id"], "slot": slot}


def assign_lease(
    connection: Connection,
    which: ColumnElement[bool],
    reviewer_id: int,
    token: str,
    *,
    now: datetime,
    until: datetime,
) -> Lease | None:
    """Assign a lease to a reviewer, also another reviewer's lease. None if ``which`` selects no lease."""
    statement = (
        update(LEASE)
        .where(which)
        .values(reviewer_id=reviewer_id, token=token, taken_at=now, until=until)
        .returning(LEASE)
    )
    row = connection.execute(statement).one_or_none()
    return None if row is None else record_of(Lease, row)


CANNOT_BE_JUDGED = "cannot be judged"
"""The reason of a skip that declines the item: no further reviews are needed."""

NOT_UNDONE: ColumnElement[bool] = SKIP.c.undone_at.is_(None)
"""The condition that a skip counts."""


def insert_skip(
    connection: Connection, item_id: int, reviewer_id: int, reason: str | None, now: datetime
) -> None:
    """Store that somebody skipped an item."""
    row = {"queue_item_id": item_id, "reviewer_id": reviewer_id, "reason": reason, "at": now}
    connection.execute(insert(SKIP), row)


def withdraw_skips(connection: Connection, item_id: int, reviewer_id: int, now: datetime) -> bool:
    """Withdraw a person's skips of an item; return False if there are none."""
    own = SKIP.c.queue_item_id == item_id, SKIP.c.reviewer_id == reviewer_id, NOT_UNDONE
    return connection.execute(update(SKIP).where(*own).values(undone_at=now)).rowcount > 0


def skipped_by(
    item_id: ColumnElement[int], reviewer_id: int, *conditions: ColumnElement[bool]
) -> ColumnElement[bool]:
    """Return the condition that a person skipped an item; the skip is not undone and meets the ``conditions``."""
    return exists().where(
        SKIP.c.queue_item_id == item_id, SKIP.c.reviewer_id == reviewer_id, NOT_UNDONE, *conditions
    )


def skips_of(connection: Connection, item_id: int) -> list[Skip]:
    """Return the skips of an item that were not undone, the earliest first."""
    query = select(Skip).where(SKIP.c.queue_item_id == item_id, NOT_UNDONE)
    return rows_of(connection, query.order_by(SKIP.c.id))


def own_progress(
    connection: Connection,
    queue_id: int,
    reviewer_id: int,
    now: datetime,
    *,
    most: int | None = None,
) -> tuple[int, int]:
    """Return how many items a person did in a queue, and how many are left for the person now, up to ``most``.

    An item is left if there is an unused lease of the item that nobody else has, and the person
    neither reviewed nor skipped the item. Without ``most``, this function reads all unused leases:
    call the function once, when somebody begins.
    """
    is_own = LEASE.c.queue_id == queue_id, LEASE.c.reviewer_id == reviewer_id
    done_count = count_rows(connection, LEASE, *is_own, LEASE.c.done.is_(True))
    items_left = _unused_for(queue_id, reviewer_id).where(is_available(reviewer_id, now))
    return done_count, count_rows(connection, items_left.distinct().limit(most).subquery())


def count_with_others(
    connection: Connection, queue_id: int, reviewer_id: int, now: datetime
) -> int:
    """Return how many items this person may get only if other people release leases."""
    item_id = UNUSED.c.queue_item_id
    items = _unused_for(queue_id, reviewer_id).group_by(item_id)
    items = items.having(func.count(case((is_available(reviewer_id, now), 1))) == 0)
    return count_rows(connection, items.subquery())


def skipped_items(
    connection: Connection, queue_id: int, reviewer_id: int, now: datetime
) -> list[int]:
    """Return the ids of the items that a person skipped in a queue and could review now, the earliest skip first."""
    query = (
        select(SKIP.c.queue_item_id)
        .join(UNUSED, UNUSED.c.queue_item_id == SKIP.c.queue_item_id)
        .where(SKIP.c.reviewer_id == reviewer_id, NOT_UNDONE)
        .where(_unreviewed(queue_id, reviewer_id), is_available(reviewer_id, now))
        .group_by(SKIP.c.queue_item_id)
        .order_by(func.min(SKIP.c.id))
    )
    return list(connection.scalars(query))


def _unused_for(queue_id: int, reviewer_id: int) -> Select[tuple[int]]:
    """Select the items of the unused leases of a queue that a person neither reviewed nor skipped."""
    item_id = UNUSED.c.queue_item_id
    return select(item_id).where(
        _unreviewed(queue_id, reviewer_id), ~skipped_by(item_id, reviewer_id)
    )


def _unreviewed(queue_id: int, reviewer_id: int) -> ColumnElement[bool]:
    """Return the condition for unused leases of a queue whose items a person may review and has not reviewed."""
    return and_(
        UNUSED.c.queue_id == queue_id,
        UNUSED.c.done.is_(False),
        is_for(reviewer_id),
        ~reviewed_by(UNUSED.c.queue_item_id, reviewer_id),
    )


def is_for(reviewer_id: int) -> ColumnElement[bool]:
    """Return the condition for unused leases that are not of a repeat for somebody else."""
    return or_(UNUSED.c.repeat_for.is_(None), UNUSED.c.repeat_for == reviewer_id)


def is_available(reviewer_id: int, now: datetime) -> ColumnElement[bool]:
    """Return the condition for unused leases that nobody else has now."""
    return or_(UNUSED.c.until.is_(None), UNUSED.c.until <= now, UNUSED.c.reviewer_id == reviewer_id)


def reviewed_by(item_id: ColumnElement[int] | int, reviewer_id: int) -> ColumnElement[bool]:
    """Return the condition that a person used a lease of an item for a review."""
    return exists().where(
        LEASE.c.queue_item_id == item_id, LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(True)
    )


def is_declined(connection: Connection, item_id: int) -> bool:
    """Return whether anybody skipped an item because the item cannot be judged."""
    return any(skip.reason == CANNOT_BE_JUDGED for skip in skips_of(connection, item_id))


def count_declined(connection: Connection, queue_id: int) -> int:
    """Return how many items of a queue ended because somebody declined the item, without adjudicated items."""
    has_decline = exists().where(
        SKIP.c.queue_item_id == QUEUE_ITEM.c.id, SKIP.c.reason == CANNOT_BE_JUDGED, NOT_UNDONE
    )
    return count_rows(
        connection,
        QUEUE_ITEM,
        QUEUE_ITEM.c.queue_id == queue_id,
        QUEUE_ITEM.c.repeat_for.is_(None),
        QUEUE_ITEM.c.state == ItemState.AGREED.value,
        has_decline,
    )


def count_items_for(connection: Connection, queue_id: int, reviewer_id: int) -> tuple[int, int]:
    """Return the number of items of a queue for one person, and of the items that the person reviewed.

    Repeats and test items of other people are left out.
    """
    is_reviewed = reviewed_by(QUEUE_ITEM.c.id, reviewer_id)
    query = select(func.count(), func.count(case((is_reviewed, 1)))).where(
        QUEUE_ITEM.c.queue_id == queue_id,
        QUEUE_ITEM.c.state != ItemState.LEFT.value,
        or_(QUEUE_ITEM.c.repeat_for.is_(None), QUEUE_ITEM.c.repeat_for == reviewer_id),
    )
    items, reviewed_items = connection.execute(query).one()
    return items, reviewed_items

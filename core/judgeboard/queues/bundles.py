"""Gives a slice of a queue to one person as a file, to be reviewed without the database."""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import Connection

from judgeboard.errors import BadInput
from judgeboard.people import Action, Actor, actor_name, allowed, require
from judgeboard.queues.bundle_file import BundleHead, write_bundle
from judgeboard.queues.item_texts import item_texts
from judgeboard.queues.taking import Held, held_item, open_queue
from judgeboard.queues.trying import tried
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.queues.handing_out import take_lease
from judgeboard.store.queues.item_rows import item_by_id
from judgeboard.store.queues.leases import OFFLINE
from judgeboard.store.queues.queue_rows import Queue, queue_named
from judgeboard.store.reviews.reviewers import Reviewer
from judgeboard.times import iso_z

MOST_ITEMS = 1_000
LONGEST_HOLD = timedelta(days=60)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was written: its id, how many items it holds, until when (UTC) they are its reviewer's."""

    bundle: str
    queue: str
    reviewer: Reviewer
    items: int
    until: datetime
    file: Path


def export_bundle(
    store: Store,
    queue: str,
    reviewer: Reviewer,
    file: str | Path,
    *,
    items: int,
    by: Actor,
    hold: timedelta = timedelta(days=7),
    now: datetime | None = None,
) -> Bundle:
    """Write the next items of a queue to a file for somebody who reviews them without the database.

    The items are that person's until ``hold`` is over, as if they held each at a page; then others may take what has
    not come back (`merge_bundle`). The file holds the guidelines, the texts and empty fields; nothing that a judge or
    a person said, whether the queue is blind or not.

    Args:
        store: The open database.
        queue: The name of the queue.
        reviewer: Who reviews them.
        file: Where to; a file that is there is not overwritten, somebody may have filled it in.
        items: At most so many, 1 to 1,000.
        by: Who writes it: the reviewer, or a lead.
        hold: For how long, up to 60 days.
        now: The present by default.

    Raises:
        NotAllowed: It is somebody else's and ``by`` is no lead, or the reviewer may not review.
        NotFound: No such queue.
        BadInput: The queue is closed, given to others or has nothing left for them, they take from it at a page in
            this moment, or the file cannot be written.
    """
    at, path = now or datetime.now(UTC), Path(file)
    if not 1 <= items <= MOST_ITEMS:
        raise BadInput(f"a bundle holds 1 to {MOST_ITEMS:,} items, not {items:,}")
    if not timedelta(0) < hold <= LONGEST_HOLD:
        raise BadInput(f"a bundle is held for up to {LONGEST_HOLD.days} days")
    if path.exists():
        raise BadInput(f"{path} is there already: somebody may have filled it in; name another file")
    return tried(lambda: _exported(store, queue, reviewer, path, items, by, at, hold), reviewer)


def _exported(
    store: Store, queue: str, reviewer: Reviewer, path: Path, items: int, by: Actor, now: datetime, hold: timedelta
) -> Bundle:
    own = isinstance(by, Reviewer) and by.id == reviewer.id
    with allowed(store, by, Action.REVIEW if own else Action.ASSIGN) as connection:
        require(connection, reviewer, Action.REVIEW)
        found = open_queue(connection, queue_named(connection, queue), reviewer)
        bundle, until = secrets.token_hex(8), now + hold
        taken = _take(connection, found, reviewer, bundle, items, now, until)
        if not taken:
            raise BadInput(f"{found.name} has nothing left for {reviewer.name}")
        texts = item_texts(connection, taken, reviewer.id)
        details = {"bundle": bundle, "queue": found.name, "reviewer": reviewer.id, "items": len(taken)}
        record_event(connection, "export_bundle", actor_name(by), details=details, now=now)
        head = BundleHead(bundle, found.name, found.subject, reviewer.origin, reviewer.name, len(taken))
        # Last, within the transaction: where the file cannot be written nothing is held.
        write_bundle(path, head, iso_z(until), found.guidelines, zip(taken, texts, strict=True))
    return Bundle(bundle, found.name, reviewer, len(taken), until, path)


def _take(
    connection: Connection, queue: Queue, reviewer: Reviewer, bundle: str, items: int, now: datetime, until: datetime
) -> list[Held]:
    taken: list[Held] = []
    while len(taken) < items:
        token = f"{OFFLINE}{bundle}-{secrets.token_hex(8)}"
        lease = take_lease(connection, queue.id, reviewer.id, token, now=now, until=until)
        if lease is None:
            break
        taken.append(held_item(lease, item_by_id(connection, lease.queue_item_id), queue))
    return taken

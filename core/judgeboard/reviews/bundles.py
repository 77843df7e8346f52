"""Offline bundles: items of a queue exported to a file, and the reviews in it merged."""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import Connection

from judgeboard.domain import Decision, Grade, Preference
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.people.permissions import Action, Actor, actor_name, allowed, check_allowed, require
from judgeboard.reviews.bundle_file import BundleHead, BundleLine, read_bundle, text_values, write_bundle
from judgeboard.reviews.leases import LeasedItem, leased_item, open_queue, split_token, tried
from judgeboard.reviews.queue_decisions import decide_item
from judgeboard.reviews.shown import ItemText, PairText, item_texts, stored_side
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.leases import OFFLINE, lease_of
from judgeboard.store.next_items import take_lease
from judgeboard.store.queue_items import QueueReview, item_by_id, reviews_on
from judgeboard.store.queues import Queue, queue_named
from judgeboard.store.reviewers import Reviewer, find_reviewer
from judgeboard.store.reviews import review_by_key
from judgeboard.text import iso_z

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
) -> list[LeasedItem]:
    taken: list[LeasedItem] = []
    while len(taken) < items:
        token = f"{OFFLINE}{bundle}-{secrets.token_hex(8)}"
        lease = take_lease(connection, queue.id, reviewer.id, token, now=now, until=until)
        if lease is None:
            break
        taken.append(leased_item(lease, item_by_id(connection, lease.queue_item_id), queue))
    return taken


CHANGED = "the texts in the file are not those that are stored: they were changed in the file, or forgotten here"
OTHERWISE = "this was merged before with other words: change what is stored, not the file"
ELSEWHERE = "its reviewer decided this item at a page meanwhile"
TAKEN = "its reviewer took this item at a page meanwhile: it waits for them there"
TAKEN_BACK = "what was merged of this line was taken back or changed since: it is said anew at a page, not in the file"
NO_ITEM = "there is no such item"


@dataclass(frozen=True, slots=True)
class Conflict:
    """A line that was not merged, and why; ``kept``: its words are stored all the same, as ones that decide nothing."""

    line: int
    item_id: int
    reason: str
    kept: bool


@dataclass(frozen=True, slots=True)
class MergedBundle:
    """What came of a bundle's lines: stored now, stored before, not filled in, in conflict."""

    bundle: str
    queue: str
    reviewer: str
    merged: int
    already: int
    unfilled: int
    conflicts: tuple[Conflict, ...]


def merge_bundle(store: Store, file: str | Path, *, by: Actor, now: datetime | None = None) -> MergedBundle:
    """Store what was filled in in a bundle as its reviewer's words.

    The whole file is checked before anything is stored. Each line is stored or refused by itself; what was stored
    before stays as it is, so that the same file may be merged again, also with more lines filled in.

    A conflict is an item that somebody else has by now, or that was settled or left meanwhile, texts that are not the
    stored ones, or a line that was merged before and now has other words, or whose words were taken back or changed
    since. In the first cases grade and note are kept as a
    review without a decision (of a pair: the note).

    Args:
        store: The open database.
        file: The bundle; ``-`` is standard input.
        by: Who merges: the reviewer, or a lead.
        now: When it was said; the present by default.

    Raises:
        NotAllowed: It is somebody else's and ``by`` is no lead, or the reviewer may not review.
        NotFound: No such queue or reviewer here: it is another database's bundle.
        BadInput: It is no bundle, or a line cannot be used; the message names file, line and field.
    """
    at = now or datetime.now(UTC)
    head, lines = read_bundle(file)
    with store.reading() as connection:
        queue_named(connection, head.queue)
        reviewer = find_reviewer(connection, head.origin, head.reviewer)
    if reviewer is None:
        raise NotFound(f"nobody here is {head.reviewer} ({head.origin}): it is another database's bundle")
    own = isinstance(by, Reviewer) and by.id == reviewer.id
    check_allowed(store, by, Action.REVIEW if own else Action.ASSIGN)
    merged, already, conflicts = 0, 0, list[Conflict]()
    filled = [one for one in lines if one.filled]
    for one in filled:
        came = _merge(store, head, one, reviewer, at)
        if isinstance(came, Conflict):
            conflicts.append(came)
        elif came:
            already += 1
        else:
            merged += 1
    with store.writing() as connection:
        counts = {"merged": merged, "already": already, "conflicts": len(conflicts)}
        details = {"bundle": head.bundle, "queue": head.queue, "reviewer": reviewer.id} | counts
        record_event(connection, "merge_bundle", actor_name(by), details=details, now=at)
    unfilled = len(lines) - len(filled)
    return MergedBundle(head.bundle, head.queue, reviewer.name, merged, already, unfilled, tuple(conflicts))


def _merge(store: Store, head: BundleHead, one: BundleLine, reviewer: Reviewer, now: datetime) -> Conflict | bool:
    """Store one line; return whether it was stored before, or what stands in its way."""
    key = f"bundle:{head.bundle}:{one.item_id}"
    try:
        with store.reading() as connection:
            item = item_by_id(connection, one.item_id)
            (text,) = item_texts(connection, [item], reviewer.id)
            known = review_by_key(connection, key)
            stored = None if known is None else known.id
            words = reviews_on(connection, item.id) if stored is not None else []
    except NotFound:
        return Conflict(one.line, one.item_id, NO_ITEM, kept=False)
    if stored is not None:
        standing = next((word for word in words if word.id == stored), None)
        if standing is None:
            return Conflict(one.line, one.item_id, TAKEN_BACK, kept=False)
        return _says_the_same(one, standing, text) or Conflict(one.line, one.item_id, OTHERWISE, kept=False)
    if text_values(text) != dict(one.texts):
        return Conflict(one.line, one.item_id, CHANGED, kept=False)
    try:
        return _decide(store, one, text, reviewer, key, now)
    except DecisionRefused as refused:
        kept = one.grade != Grade() if one.side is None else one.grade.note is not None
        with store.reading() as connection:
            own = lease_of(connection, one.item_id, reviewer.id)
        reason = str(refused)
        if own is not None and own.token not in {None, split_token(one.token)[1]}:
            reason = ELSEWHERE if own.done else TAKEN
        return Conflict(one.line, one.item_id, reason, kept=kept)


def _decide(store: Store, one: BundleLine, text: ItemText, reviewer: Reviewer, key: str, now: datetime) -> bool:
    decision: Decision | Preference | None = one.decision
    if isinstance(text, PairText) and one.side is not None:
        decision = stored_side(one.side, text.shown)
    return decide_item(
        store,
        one.token,
        reviewer=reviewer,
        decision=decision,
        grade=one.grade,
        seconds=one.seconds,
        request_key=key,
        now=now,
    ).repeated


def _says_the_same(one: BundleLine, word: QueueReview, text: ItemText) -> bool:
    if isinstance(text, PairText):
        said = None if one.side is None else stored_side(one.side, text.shown)
        return (said, one.grade.note) == (word.decision, word.note)
    given = one.grade
    scores = {score.dimension: score.value for score in given.scores}
    return (one.decision, given.label, given.groundedness, given.quality, given.note, scores) == (
        word.decision,
        word.label,
        word.groundedness,
        word.quality,
        word.note,
        word.scores,
    )

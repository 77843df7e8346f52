"""Offline bundles: export items of a queue to a file, and store the reviews that were filled in there."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from judgeboard.domain import GRADE_TEXTS, Action, Decision, Preference
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.formats.label_schema import LabelSchema
from judgeboard.people.permissions import Actor, actor_name, allowed, check_allowed, require
from judgeboard.reviews.bundle_file import (
    BundleHead,
    BundleLine,
    read_bundle,
    text_values,
    write_bundle,
)
from judgeboard.reviews.decisions import note_key
from judgeboard.reviews.leases import LeasedItem, check_may_take, leased_item, tried
from judgeboard.reviews.queues import schema_of_queue
from judgeboard.reviews.shown import PairText, item_texts, stored_side
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.leases import OFFLINE, find_lease, split_token
from judgeboard.store.next_items import take_lease
from judgeboard.store.queue_items import item_by_id, reviews_on
from judgeboard.store.queues import queue_named
from judgeboard.store.reviewers import find_reviewer
from judgeboard.store.reviews import find_review
from judgeboard.store.tables import Reviewer
from judgeboard.text import iso_z

MOST_ITEMS = 1_000
LONGEST_LEASE = timedelta(days=60)

CHANGED = "the texts in the file differ from the stored ones: they were changed in the file, or forgotten here"
OTHER_CONTENT = (
    "this line was stored before with other content: edit the stored review, not the file"
)
ELSEWHERE = "its reviewer has decided this item on a page since the export"
TAKEN = "its reviewer has leased this item on a page since the export: decide it there"
WITHDRAWN = (
    "the stored review of this line was withdrawn or edited since: review the item on a page"
)
NO_ITEM = "there is no such item"


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was written: id, number of items, and the end (UTC) of the leases."""

    bundle: str
    queue: str
    reviewer: str
    items: int
    until: datetime
    file: str


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A line with a refused review; ``kept`` means that the note is stored."""

    line: int
    item: int
    reason: str
    kept: bool


@dataclass(frozen=True, slots=True)
class MergedBundle:
    """How many lines of a bundle were stored now (``merged``), stored before (``already``), and not filled in."""

    bundle: str
    queue: str
    reviewer: str
    merged: int
    already: int
    unfilled: int
    refused: tuple[RefusedLine, ...]


def export_bundle(
    store: Store,
    queue: str,
    reviewer: Reviewer,
    file: str | Path,
    *,
    items: int,
    by: Actor,
    lease: timedelta = timedelta(days=7),
    now: datetime | None = None,
) -> Bundle:
    """Write the next items of a queue to a file for a reviewer without access to the database.

    Up to ``items`` items (1 to 1,000) are leased to the reviewer for the time ``lease`` (up to 60
    days). After that, others may take items that were not merged (`merge_bundle`). The file has the
    guidelines, the texts and empty fields, but no judgments and no reviews, even if the queue is
    not blind. An existing file is not overwritten.

    Raises:
        NotAllowed: ``by`` is neither the reviewer nor a lead, or the reviewer may not review.
        BadInput: The queue is closed, is assigned to others, or has no items left for the reviewer.
            Also raised if another session of the reviewer is taking items, or if the file cannot be
            written.
    """
    at, path = now or utc_now(), Path(file)
    if not 1 <= items <= MOST_ITEMS:
        raise BadInput(f"a bundle has 1 to {MOST_ITEMS:,} items, not {items:,}")
    if not timedelta(0) < lease <= LONGEST_LEASE:
        raise BadInput(f"the items of a bundle are leased for up to {LONGEST_LEASE.days} days")
    if path.exists():
        raise BadInput(f"{path} exists already and may be filled in: name another file")
    until = at + lease

    def write() -> Bundle:
        is_own = isinstance(by, Reviewer) and by.id == reviewer.id
        with allowed(store, by, Action.REVIEW if is_own else Action.ASSIGN) as connection:
            require(connection, reviewer, Action.REVIEW)
            open_queue = check_may_take(connection, queue_named(connection, queue), reviewer)
            bundle = secrets.token_hex(8)
            leased: list[LeasedItem] = []
            while len(leased) < items:
                token = f"{OFFLINE}{bundle}-{secrets.token_hex(8)}"
                lease = take_lease(
                    connection, open_queue.id, reviewer.id, token, now=at, until=until
                )
                if lease is None:
                    break
                leased.append(
                    leased_item(lease, item_by_id(connection, lease.queue_item_id), open_queue)
                )
            if not leased:
                raise BadInput(f"{open_queue.name} has nothing left for {reviewer.name}")
            texts = item_texts(connection, leased, reviewer.id)
            details = {
                "bundle": bundle,
                "queue": open_queue.name,
                "reviewer": reviewer.id,
                "items": len(leased),
            }
            record_event(connection, "export_bundle", actor_name(by), details=details, now=at)
            head = BundleHead(
                bundle,
                open_queue.name,
                open_queue.subject,
                reviewer.origin,
                reviewer.name,
                len(leased),
            )
            # The file is written at the end of the transaction: if this fails, nothing is leased.
            schema = schema_of_queue(connection, open_queue)
            write_bundle(
                path, head, iso_z(until), open_queue, schema, zip(leased, texts, strict=True)
            )
        return Bundle(bundle, open_queue.name, reviewer.name, len(leased), until, str(path))

    return tried(write, reviewer)


def merge_bundle(
    store: Store, file: str | Path, *, by: Actor, now: datetime | None = None
) -> MergedBundle:
    """Store the reviews that were filled in in a bundle; ``-`` as ``file`` is standard input.

    The whole file is checked before anything is stored. Then each line is stored or refused
    separately. Lines that were stored before stay as they are, so the same file may be merged again
    with more lines filled in.

    A line is refused if it lacks a grade or a field that the queue requires, or if a span is
    outside the text. A line is refused if the item left the queue, was decided, or was reviewed or
    leased by somebody else since the export. A line is also refused if the texts differ from the
    stored texts, or if the line was stored before and the line or the review has changed since. If
    the decision is refused, only the note is stored.

    Raises:
        NotAllowed: ``by`` is neither the reviewer nor a lead, or the reviewer may not review.
        NotFound: The queue or the reviewer is not in this database.
        BadInput: The file is not a bundle, or a line cannot be used. The message names file, line
            and field.
    """
    at = now or utc_now()

    def schema_of(head: BundleHead) -> LabelSchema | None:
        with store.reading() as connection:
            return schema_of_queue(connection, queue_named(connection, head.queue))

    head, lines = read_bundle(file, schema_of)
    with store.reading() as connection:
        reviewer = find_reviewer(connection, head.origin, head.reviewer)
    if reviewer is None:
        raise NotFound(
            f"this database has no reviewer {head.reviewer} ({head.origin}): the bundle comes from another database"
        )
    is_own = isinstance(by, Reviewer) and by.id == reviewer.id
    check_allowed(store, by, Action.REVIEW if is_own else Action.ASSIGN)
    filled_lines = [line for line in lines if line.filled]
    results = [_merge(store, head, line, reviewer, at) for line in filled_lines]
    refused = tuple(result for result in results if isinstance(result, RefusedLine))
    already = results.count(True)
    merged_count = len(results) - already - len(refused)
    with store.writing() as connection:
        counts = {"merged": merged_count, "already": already, "refused": len(refused)}
        details = {"bundle": head.bundle, "queue": head.queue, "reviewer": reviewer.id} | counts
        record_event(connection, "merge_bundle", actor_name(by), details=details, now=at)
    unfilled = len(lines) - len(filled_lines)
    return MergedBundle(
        head.bundle, head.queue, reviewer.name, merged_count, already, unfilled, refused
    )


def _merge(
    store: Store, head: BundleHead, line: BundleLine, reviewer: Reviewer, now: datetime
) -> RefusedLine | bool:
    def refused(reason: str, *, has_note: bool = False) -> RefusedLine:
        return RefusedLine(line.line, line.item_id, reason, has_note)

    key = f"bundle:{head.bundle}:{line.item_id}"
    try:
        with store.reading() as connection:
            item = item_by_id(connection, line.item_id)
            (text,) = item_texts(connection, [item], reviewer.id)
            stored_review = find_review(connection, request_key=key)
            reviews = reviews_on(connection, item.id) if stored_review is not None else []
    except NotFound:
        return refused(NO_ITEM)
    decision: Decision | Preference | None = line.decision
    if isinstance(text, PairText) and line.side is not None:
        decision = stored_side(line.side, text.shown)
    if stored_review is not None:
        current = next((review for review in reviews if review.id == stored_review.id), None)
        if current is None:
            return refused(WITHDRAWN)
        # Stored before: the content must be the same.
        grade, earlier = line.grade, current.grade
        if isinstance(text, PairText):
            is_same = (decision, grade.notes) == (current.choice, earlier.notes)
        else:
            names = ("label", "groundedness", "quality", "by_dimension", "choices", "texts")
            is_same = (
                all(
                    getattr(grade, name) == getattr(earlier, name)
                    for name in (*names, *GRADE_TEXTS)
                )
                and (grade.spans or ()) == (earlier.spans or ())
                and decision == current.decision
            )
        return True if is_same else refused(OTHER_CONTENT)
    if text_values(text) != dict(line.texts):
        return refused(CHANGED)
    try:
        submission = Submission(
            reviewer=reviewer,
            request_key=key,
            token=line.token,
            decision=decision,
            grade=line.grade,
            seconds=line.seconds,
            at=now,
        )
        return submit(store, submission).repeated
    except (DecisionRefused, BadInput) as error:
        with store.reading() as connection:
            is_note_kept = find_review(connection, request_key=note_key(key)) is not None
            own_lease = find_lease(connection, line.item_id, reviewer.id)
        reason = str(error)
        if own_lease is not None and own_lease.token not in {None, split_token(line.token)[1]}:
            reason = ELSEWHERE if own_lease.done else TAKEN
        return refused(reason, has_note=is_note_kept)

"""What the key for undo does: it withdraws a review or a skip, and shows the item again with its draft."""

from functools import partial

from judgeboard.errors import DecisionRefused
from judgeboard.reviews.changes import undo
from judgeboard.reviews.leases import take_item, undo_skip
from judgeboard.store.engine import Store
from judgeboard.store.reviewers import Reviewer
from judgeboard_dashboard.review.actions import conflict_rows, safely
from judgeboard_dashboard.review.drafts import Done, ReviewSession
from judgeboard_dashboard.review.leases import QueueSession, SkippedItem, read_item
from judgeboard_dashboard.widgets.navigation import flagged, item


def undo_review(
    store: Store, session: ReviewSession, reviewer: Reviewer | None, done: Done, *, queue: str | None = None
) -> None:
    """Undo a review outside queues, or an adjudication. Then go to its item and restore the draft.

    ``queue`` limits the conflicts that follow to one queue.
    """
    request_key = session.request_key(f"undo{done.review_id}")

    def act(known: Reviewer) -> None:
        if _undone(store, session, known, done.review_id, request_key):
            if done.item_id:
                session.say("Undone: this item is in conflict again.")
            session.put_draft(done.subject, done.draft.brought_back())
        for kept in (session.done, session.adjudicated):
            kept[:] = [other for other in kept if other.review_id != done.review_id]
        goal = item(done.subject) if done.flag_id is None else flagged(done.flag_id)
        session.goal = conflict_rows(queue, done.item_id) if done.item_id else goal

    safely(session, reviewer, act, request_key)


def undo_in_queue(store: Store, session: ReviewSession, work: QueueSession, done: Done | SkippedItem) -> None:
    """Undo the last review or skip in a queue. Lease its item again and show it with its draft."""
    if isinstance(done, SkippedItem):
        if done in work.undoable:
            safely(session, work.reviewer, partial(_undo_skip, store, session, work, done))
        return
    request_key = session.request_key(f"undo{done.review_id}")
    safely(session, work.reviewer, partial(_undo_review, store, session, work, done, request_key), request_key)


def _undo_review(
    store: Store, session: ReviewSession, work: QueueSession, done: Done, request_key: str, reviewer: Reviewer
) -> None:
    was_undone = _undone(store, session, reviewer, done.review_id, request_key)
    work.undoable.remove(done)
    lease = take_item(store, done.item_id, reviewer) if was_undone else None
    if lease is not None:
        session.put_draft(done.subject, done.draft.brought_back())
        work.put_first(read_item(store, lease, reviewer), done=True)


def _undo_skip(
    store: Store, session: ReviewSession, work: QueueSession, skipped: SkippedItem, reviewer: Reviewer
) -> None:
    name, subject = skipped.leased.name, skipped.leased.subject
    lease = undo_skip(store, skipped.leased.lease.item_id, reviewer)
    work.undoable.remove(skipped)
    if lease is None:
        session.say(f"Undone: your skip of {name} is withdrawn. Others review it now.")
        return
    session.say(f"Undone: {name} is yours again.")
    session.put_draft(subject, skipped.draft.brought_back())
    work.put_first(read_item(store, lease, reviewer), done=False)


def _undone(store: Store, session: ReviewSession, reviewer: Reviewer, review_id: int, request_key: str) -> bool:
    """Undo a review; the head line shows the result, or why it was refused."""
    try:
        session.say(undo(store, review_id=review_id, reviewer=reviewer, request_key=request_key))
    except DecisionRefused as refused:
        session.say(str(refused), refused=True)
    session.used_keys.add(request_key)
    return not session.refused

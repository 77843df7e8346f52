"""The key for undo: withdraws a review or a skip, and shows the item again with the draft."""

from functools import partial

from judgeboard.errors import DecisionRefused
from judgeboard.reviews.changes import undo
from judgeboard.reviews.leases import take_item, undo_skip, undo_skips
from judgeboard.store.engine import Store
from judgeboard.store.tables import Reviewer
from judgeboard.text import counted
from judgeboard_dashboard.review.actions import conflict_rows, safely
from judgeboard_dashboard.review.drafts import Draft, ReviewSession, UndoableReview
from judgeboard_dashboard.review.leases import QueueSession, ShownItem, read_item
from judgeboard_dashboard.widgets.navigation import flagged, item

OTHERS_REVIEW_SKIPPED = "Others review the items that you skipped."


def undo_review(
    store: Store,
    session: ReviewSession,
    reviewer: Reviewer | None,
    review: UndoableReview,
    *,
    queue: str | None = None,
) -> None:
    """Undo a review outside queues, or an adjudication. Then go to the item and restore the draft.

    ``queue`` limits the conflicts that follow to one queue.
    """
    request_key = session.request_key(f"undo{review.review_id}")

    def act(author: Reviewer) -> None:
        if _withdraw(store, session, author, review.review_id, request_key):
            if review.item_id:
                session.say("Undone: this item is in conflict again.")
            session.put_draft(review.subject, review.draft)
        for undoable in (session.done, session.adjudicated):
            undoable[:] = [other for other in undoable if other.review_id != review.review_id]
        answer = item(review.subject) if review.flag_id is None else flagged(review.flag_id)
        session.goal = conflict_rows(queue, review.item_id) if review.item_id else answer

    safely(session, reviewer, act, request_key)


def undo_in_queue(
    store: Store, session: ReviewSession, work: QueueSession, undoable: UndoableReview | ShownItem
) -> None:
    """Undo the last review or skip in a queue. Lease the item again and show the item with the draft."""

    def undo_skipped(item: ShownItem, reviewer: Reviewer) -> None:
        lease = undo_skip(store, item.lease.item_id, reviewer)
        work.undoable.remove(item)
        if lease is None:
            session.say(f"Undone: your skip of {item.name} is withdrawn. Others review it now.")
            return
        session.say(f"Undone: {item.name} is yours again.")
        session.put_draft(item.subject, item.skipped or Draft())
        work.put_first(read_item(store, lease, reviewer), is_done=False)

    def undo_reviewed(review: UndoableReview, reviewer: Reviewer) -> None:
        withdrawn = _withdraw(store, session, reviewer, review.review_id, request_key)
        work.undoable.remove(review)
        lease = take_item(store, review.item_id, reviewer) if withdrawn else None
        if lease is not None:
            session.put_draft(review.subject, review.draft)
            work.put_first(read_item(store, lease, reviewer), is_done=True)

    if isinstance(undoable, ShownItem):
        if undoable in work.undoable:
            safely(session, work.reviewer, partial(undo_skipped, undoable))
        return
    request_key = session.request_key(f"undo{undoable.review_id}")
    safely(session, work.reviewer, partial(undo_reviewed, undoable), request_key)


def review_skipped(store: Store, session: ReviewSession, work: QueueSession) -> None:
    """Undo this reviewer's skips of all items that still need a review, so that the queue shows these items again."""

    def act(reviewer: Reviewer) -> None:
        item_ids = undo_skips(store, work.queue, reviewer)
        words = (
            f"You get {counted(len(item_ids), 'skipped item')} again."
            if item_ids
            else OTHERS_REVIEW_SKIPPED
        )
        session.say(words)
        for skipped in [each for each in work.undoable if isinstance(each, ShownItem)]:
            if skipped.lease.item_id in item_ids:
                session.put_draft(skipped.subject, skipped.skipped or Draft())
                work.undoable.remove(skipped)

    safely(session, work.reviewer, act)


def _withdraw(
    store: Store, session: ReviewSession, reviewer: Reviewer, review_id: int, request_key: str
) -> bool:
    """Undo a review. Return whether the review was undone. The head line shows the result, or why the undo failed."""
    try:
        session.say(
            undo(store, review_id=review_id, reviewer=reviewer, request_key=request_key).text
        )
    except DecisionRefused as refused:
        session.say(str(refused), refused=True)
    session.used_keys.add(request_key)
    return not session.refused

"""Reviews of one's own undone or edited, and why one differs from the judge."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from sqlalchemy import Connection, select

from judgeboard.domain import Decision, FlagState, Grade, ItemState, Label, Stage, WhyDiffers
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.flags.rule import rounded
from judgeboard.people.permissions import Action, allowed
from judgeboard.reviews.checks import (
    NOTHING_GIVEN,
    check_not_forgotten,
    check_own,
    check_same,
    checked_grade,
    checked_judgment,
    checked_key,
    checked_seconds,
    is_empty,
)
from judgeboard.reviews.decisions import CANNOT_REOPEN, undone
from judgeboard.reviews.outcome import update_flag_state, update_item_state
from judgeboard.reviews.shown import in_view
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.leases import lease_of, reopen_lease, seen_since, use_lease
from judgeboard.store.own_reviews import WholeReview, whole_review
from judgeboard.store.queue_filling import follow_queues
from judgeboard.store.queue_items import item_by_id, revealed_review
from judgeboard.store.queues import queue_by_id
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.reviews import (
    STATE_AFTER,
    LockedFlag,
    LockedResponse,
    NewReview,
    StoredComment,
    StoredReview,
    comment_by_id,
    comment_by_key,
    has_grade,
    insert_comment,
    insert_review,
    is_current,
    lock_flag,
    lock_response,
    lock_reviewed,
    replacement_of_comment,
    review_by_key,
    reviewed_by_others,
)
from judgeboard.store.tables import REVIEW
from judgeboard.text import unstorable

UNDO_HOLDS = timedelta(minutes=10)  # how long an item taken back is its author's before others may take it


@dataclass(frozen=True, slots=True)
class Undone:
    """A review taken back; ``reopened`` when its flag is open again because of it, ``message`` tells its author.

    ``item_state`` is the state of the queue item that it was about, None outside queues.
    """

    response_id: int | None
    pair_id: int | None
    flag_id: int | None
    reopened: bool
    item_state: ItemState | None
    message: str


def undo(store: Store, *, review_id: int, reviewer: Reviewer, request_key: str, now: datetime | None = None) -> Undone:
    """Take back a review that stands; a flag that it decided is open again.

    Where a newer flag of the same rule is open on the answer, the old one is superseded by it instead, as an open
    one would have been. What the reviewer said before this review (unsure, an earlier grade) stays history: nothing
    of theirs stands after an undo, and the flag is back in their queue. In a named queue the item is theirs again, and
    what they said there after the judge was revealed goes too; that they have seen it is kept.

    Raises:
        DecisionRefused: It is somebody else's, or it does not stand any more.
        NotAllowed: No admin lets this person review.
        NotFound: No such review.
        BadInput: The request key cannot be used.
    """
    key, at = checked_key(request_key), now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        review, flag, response = lock_reviewed(connection, review_id)
        stored = review_by_key(connection, key)
        if stored is not None:
            check_same(stored, reviewer, same=stored.replaces == review_id)
            return _undone(review, response, None if flag is None else flag.state, _item_state(connection, review))
        check_own(connection, review, reviewer, "take it back")
        _withdraw_revealed(connection, review, key, at)
        seen = seen_since(connection, review.id)
        details = {"review": _withdraw(connection, review, key, at, seen), "undone": review_id, "flag": review.flag_id}
        if review.pair_id is not None:
            details = {"review": details["review"], "undone": review_id, "item": review.queue_item_id}
        record_event(connection, "undo", reviewer.name, response_id=review.response_id, details=details, now=at)
        return _undone(review, response, *_settle_undone(connection, review, flag, at))


def _settle_undone(
    connection: Connection, review: StoredReview, flag: LockedFlag | None, now: datetime
) -> tuple[FlagState | None, ItemState | None]:
    """Bring flag and item to the state that the other reviews make of them; return both."""
    item_state = None
    if review.queue_item_id is not None:
        reopen_lease(connection, review.id, until=now + UNDO_HOLDS)
        item_state = update_item_state(connection, review.queue_item_id, now).state
    if flag is None:
        return None, item_state
    state = update_flag_state(connection, lock_flag(connection, flag.id))
    follow_queues(connection, [flag.response.id], now)
    return state, item_state


def _item_state(connection: Connection, review: StoredReview) -> ItemState | None:
    return None if review.queue_item_id is None else item_by_id(connection, review.queue_item_id).state


def _withdraw(
    connection: Connection, review: StoredReview, key: str, at: datetime, seen: tuple[str, ...] | None = None
) -> int:
    withdrawal = NewReview(
        response_id=review.response_id,
        pair_id=review.pair_id,
        flag_id=review.flag_id,
        queue_item_id=review.queue_item_id,
        reviewer_id=review.reviewer_id,
        decision=Decision.WITHDRAWN,
        replaces=review.id,
        seen=seen,
        request_key=key,
        at=at,
    )
    return insert_review(connection, withdrawal)


def _withdraw_revealed(connection: Connection, review: StoredReview, key: str, at: datetime) -> None:
    """With a blind review goes what its author said after the reveal."""
    if review.queue_item_id is None or review.stage is not Stage.BLIND:
        return
    after = revealed_review(connection, review.queue_item_id, review.reviewer_id)
    if after is not None:
        _withdraw(connection, after, f"{key}:revealed", at)


def _undone(
    review: StoredReview, response: LockedResponse | None, state: FlagState | None, item_state: ItemState | None
) -> Undone:
    decided = review.decision in STATE_AFTER
    reopened = decided and state is FlagState.OPEN
    if response is None:
        message = f"Undone: pair {review.pair_id} is yours again."
    else:
        superseded = decided and state is FlagState.SUPERSEDED
        message = CANNOT_REOPEN if superseded else undone(review, response.external_id)
    return Undone(review.response_id, review.pair_id, review.flag_id, reopened, item_state, message)


@dataclass(frozen=True, slots=True)
class Edited:
    """The row that stands now, and what became of the flag (None without one)."""

    review_id: int
    response_id: int | None
    flag_id: int | None
    state: FlagState | None
    repeated: bool


def edit(
    store: Store,
    *,
    review_id: int,
    reviewer: Reviewer,
    decision: Decision | None,
    grade: Grade,
    judgment_seen_id: int | None = None,
    seconds: float | None = None,
    request_key: str,
    now: datetime | None = None,
) -> Edited:
    """Replace a review of one's own that stands; the flag and the queue item follow from what is said now.

    A word on a flag stays one (confirm, dismiss or unsure), a grade stays a grade. What was said in a named queue
    before the judge was seen is not changed afterwards: it can be undone while nobody has revealed it, and beside it
    stands what its author says after the reveal.

    Raises:
        DecisionRefused: It is somebody else's, does not stand any more, or was said blind (to the judge, or to others
            who have spoken since) or as the last word.
        NotAllowed: No admin lets this person review.
        NotFound: No such review.
        BadInput: The grade says nothing, or it, the judgment or the request key cannot be used.
    """
    key, spent, at = checked_key(request_key), checked_seconds(seconds), now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        review, flag, response = lock_reviewed(connection, review_id)
        stored = review_by_key(connection, key)
        if response is None:
            raise DecisionRefused("A review of a pair is not edited: undo it and review the pair again.")
        if stored is not None:
            check_same(stored, reviewer, same=stored.replaces == review_id)
            return Edited(stored.id, response.id, review.flag_id, None if flag is None else flag.state, repeated=True)
        check_own(connection, review, reviewer, "change it")
        _check_kind(review, decision)
        _check_unseen(connection, review)
        seen = checked_judgment(connection, judgment_seen_id, response)
        given = checked_grade(connection, grade, response, seen)
        if decision is None and is_empty(given):
            raise BadInput(NOTHING_GIVEN)
        new = NewReview(
            response_id=response.id,
            flag_id=review.flag_id,
            queue_item_id=review.queue_item_id,
            stage=review.stage,
            reviewer_id=reviewer.id,
            decision=decision,
            grade=given,
            judgment_seen_id=seen,
            seen=in_view(connection, response.id, reviewer.id, seen),
            seconds=spent,
            replaces=review_id,
            request_key=key,
            at=at,
        )
        new_id = insert_review(connection, new)
        details = {"review": new_id, "edited": review_id, "flag": review.flag_id, "decision": decision}
        record_event(connection, "edit", reviewer.name, response_id=response.id, details=details, now=at)
        return Edited(
            new_id, response.id, review.flag_id, _settle_edited(connection, review, new_id, flag, at), repeated=False
        )


def _check_kind(review: StoredReview, decision: Decision | None) -> None:
    if review.stage in {Stage.BLIND, Stage.ADJUDICATION}:
        said = "before you saw the judge" if review.stage is Stage.BLIND else "as the last word"
        raise DecisionRefused(f"What you said {said} stays as it was said: undo it, or say more in its queue.")
    if decision is Decision.WITHDRAWN:
        raise BadInput("a review is changed to confirm, dismiss or unsure; undo takes it back")
    if (decision is None) != (review.decision is None):
        raise BadInput("a word on a flag stays one, and a grade stays a grade")


def _check_unseen(connection: Connection, review: StoredReview) -> None:
    """Where people review blind to each other, who has read the others could edit a split away."""
    if review.queue_item_id is None:
        return
    queue = queue_by_id(connection, item_by_id(connection, review.queue_item_id).queue_id)
    if queue.blind_people and reviewed_by_others(connection, review.response_id or 0, review.reviewer_id):
        raise DecisionRefused("What you said before you saw the others stays as it was said: a lead settles a split.")


def _settle_edited(
    connection: Connection, review: StoredReview, new_id: int, flag: LockedFlag | None, now: datetime
) -> FlagState | None:
    if review.queue_item_id is not None:
        place = lease_of(connection, review.queue_item_id, review.reviewer_id)
        if place is not None and place.review_id == review.id:
            use_lease(connection, place.id, new_id)
        update_item_state(connection, review.queue_item_id, now)
    if flag is None:
        return None
    state = update_flag_state(connection, lock_flag(connection, flag.id))
    follow_queues(connection, [flag.response.id], now)
    return state


FROM_GROUNDEDNESS = 0.2
"""Two groundedness values this far apart differ: the scale that people grade on has steps of 0.2 to 0.3."""


class Judged(Protocol):
    """A judge's verdict as the item shows it; every part may be missing."""

    @property
    def groundedness(self) -> float | None: ...  # noqa: D102 - 0 to 1
    @property
    def quality(self) -> int | None: ...  # noqa: D102 - 1 to 4
    @property
    def label(self) -> str | None: ...  # noqa: D102 - a `Label`


def differs(grade: Grade, judged: Judged, low: float) -> bool:
    """Whether a grade and a verdict differ on anything that both give.

    Labels and qualities differ when they are not the same, groundedness from 0.2 on. A label on one side and only a
    groundedness on the other differ when the score is on the other side of ``low``, below which an answer is
    flagged.
    """
    if grade.quality is not None and judged.quality is not None and grade.quality != judged.quality:
        return True
    mine, theirs = grade.groundedness, judged.groundedness
    if mine is not None and theirs is not None and rounded(abs(mine - theirs)) >= FROM_GROUNDEDNESS:
        return True
    if grade.label is not None and judged.label is not None:
        return grade.label != judged.label
    if grade.label is not None and theirs is not None:
        return grade.label is not _side(theirs, low)
    if judged.label is not None and mine is not None:
        return _side(mine, low) != judged.label
    return False


def _side(groundedness: float, low: float) -> Label:
    return Label.HALLUCINATED if rounded(groundedness) < low else Label.GROUNDED


def explain_difference(
    store: Store,
    *,
    response_id: int,
    reviewer: Reviewer,
    why: WhyDiffers | None,
    judgment_id: int,
    request_key: str,
) -> Edited:
    """Say why one differs from a judgment, in place of one's own latest review with a grade; None takes it back.

    Raises:
        DecisionRefused: That review was said before its author saw the judge: why is said in its queue.
        NotAllowed: No admin lets this person review.
        BadInput: They have graded nothing here, or the judgment is not one of this answer.
    """
    with store.reading() as connection:
        own = own_graded(connection, response_id, reviewer.id)
    if own is None:
        raise BadInput("only who graded an answer can say why they differ from the judge on it")
    return edit(
        store,
        review_id=own.id,
        reviewer=reviewer,
        decision=own.decision,
        grade=replace(own.grade, why_differs=why),
        judgment_seen_id=judgment_id,
        seconds=own.seconds,
        request_key=request_key,
    )


def own_graded(connection: Connection, response_id: int, reviewer_id: int) -> WholeReview | None:
    """Return the latest review of a person that stands and grades an answer, None where there is none."""
    query = select(REVIEW.c.id).where(
        REVIEW.c.response_id == response_id, REVIEW.c.reviewer_id == reviewer_id, is_current(), has_grade()
    )
    found = connection.execute(query.order_by(REVIEW.c.id.desc()).limit(1)).scalar_one_or_none()
    return None if found is None else whole_review(connection, found)


LONGEST_COMMENT = 5_000


def comment(
    store: Store,
    *,
    response_id: int,
    reviewer: Reviewer,
    text: str,
    request_key: str,
    now: datetime | None = None,
) -> int:
    """Store a comment on an answer and return its id; the same request again returns it again.

    Raises:
        NotAllowed: No admin lets this person review.
        NotFound: No such response.
        DecisionRefused: It was forgotten.
        BadInput: The text is empty, longer than 5,000 characters or cannot be stored; the request key cannot be used.
    """
    said, key = _checked_text(text), checked_key(request_key)
    with allowed(store, reviewer, Action.REVIEW, response_id=response_id) as connection:
        check_not_forgotten(lock_response(connection, response_id))
        return _write(connection, "comment", response_id, reviewer, said, None, key, now)


def edit_comment(
    store: Store, *, comment_id: int, reviewer: Reviewer, text: str, request_key: str, now: datetime | None = None
) -> int:
    """Replace a comment of one's own by another row and return that row's id.

    Raises:
        DecisionRefused: It is somebody else's, or was edited or withdrawn already.
        NotAllowed: No admin lets this person review.
        NotFound: No such comment.
        BadInput: As for `comment`.
    """
    said, key = _checked_text(text), checked_key(request_key)
    with _own(store, comment_id, reviewer) as (connection, response_id):
        return _write(connection, "edit_comment", response_id, reviewer, said, comment_id, key, now)


def withdraw_comment(
    store: Store, *, comment_id: int, reviewer: Reviewer, request_key: str, now: datetime | None = None
) -> int:
    """Withdraw a comment of one's own by a row without a text, and return that row's id.

    Raises:
        DecisionRefused: It is somebody else's, or was edited or withdrawn already.
        NotAllowed: No admin lets this person review.
        NotFound: No such comment.
        BadInput: The request key cannot be used.
    """
    key = checked_key(request_key)
    with _own(store, comment_id, reviewer) as (connection, response_id):
        return _write(connection, "withdraw_comment", response_id, reviewer, None, comment_id, key, now)


def _checked_text(text: str) -> str:
    said = text.strip()
    if not said:
        raise BadInput("a comment needs a text")
    if len(said) > LONGEST_COMMENT:
        raise BadInput(f"a comment has at most {LONGEST_COMMENT:,} characters, not {len(said):,}")
    reason = unstorable(said)
    if reason is not None:
        raise BadInput(f"the comment cannot be stored: {reason}")
    return said


@contextmanager
def _own(store: Store, comment_id: int, reviewer: Reviewer) -> Iterator[tuple[Connection, int]]:
    """Open the transaction of a change to one's own comment; gives the answer it is on, locked."""
    with allowed(store, reviewer, Action.REVIEW) as connection:
        before = comment_by_id(connection, comment_id)
        if before is None or before.response_id is None:
            raise NotFound(f"no comment {comment_id} on an answer")
        lock_response(connection, before.response_id)
        if before.reviewer_id != reviewer.id:
            raise DecisionRefused(f"This is {before.by}'s comment: only {before.by} can edit it.")
        yield connection, before.response_id


def _write(
    connection: Connection,
    kind: str,
    response_id: int,
    reviewer: Reviewer,
    text: str | None,
    replaces: int | None,
    key: str,
    now: datetime | None,
) -> int:
    stored = comment_by_key(connection, key)
    if stored is not None:
        return _same(stored, response_id, reviewer, replaces)
    if replaces is not None:
        _check_stands(connection, replaces)
    at = now or datetime.now(UTC)
    comment_id = insert_comment(
        connection,
        response_id=response_id,
        reviewer_id=reviewer.id,
        text=text,
        replaces=replaces,
        request_key=key,
        at=at,
    )
    details = {"comment": comment_id} | ({} if replaces is None else {"replaces": replaces})
    record_event(connection, kind, reviewer.name, response_id=response_id, details=details, now=at)
    return comment_id


def _same(stored: StoredComment, response_id: int, reviewer: Reviewer, replaces: int | None) -> int:
    if (stored.response_id, stored.reviewer_id, stored.replaces) != (response_id, reviewer.id, replaces):
        raise BadInput("this request key belongs to another comment: every request needs its own")
    return stored.id


def _check_stands(connection: Connection, comment_id: int) -> None:
    row = comment_by_id(connection, comment_id)
    withdrawn = row is not None and row.text is None
    if withdrawn or replacement_of_comment(connection, comment_id) is not None:
        raise DecisionRefused("This comment was edited or withdrawn already.")

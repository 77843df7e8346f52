"""Submissions: decisions and grades on a flag, an answer, an item or a review, and how each becomes a review."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import (
    OVERALL,
    Action,
    AspectPreference,
    Decision,
    FlagState,
    Grade,
    ItemState,
    Preference,
    QueueState,
    Shown,
    Stage,
)
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.measure.notes import note, paragraph
from judgeboard.people.permissions import allowed
from judgeboard.reviews.checks import (
    LONGEST_LOOK,
    NOTHING,
    check_own,
    check_required,
    checked_key,
    stored_before,
)
from judgeboard.reviews.decisions import (
    LONGEST_ID,
    LONGEST_NAME,
    VERBS,
    checked_review,
    keep_note,
    keeping_earlier,
    replacing_earlier,
    store_review,
    with_implied,
)
from judgeboard.reviews.outcome import held_words, update_item_state, update_states
from judgeboard.reviews.shown import check_not_blind, order_for
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.hidden_rows import hidden_of
from judgeboard.store.leases import (
    JUDGE,
    PEOPLE,
    find_lease,
    lease_taken_at,
    leases_at,
    note_reveal,
    own_lease,
    split_token,
    use_lease,
)
from judgeboard.store.preferences import saw_hidden_parts
from judgeboard.store.queue_items import (
    flags_to_decide,
    had_all_reviews,
    has_seen,
    item_by_id,
    leased_where_visible,
    revealed_review,
    reviewed_in_queues,
)
from judgeboard.store.queues import queue_by_id
from judgeboard.store.reviews import (
    STATE_AFTER,
    Review,
    current_reviews,
    find_review,
    lock_flag,
    lock_flags,
    lock_response,
    lock_reviewed,
    lock_subject,
    open_flag_ids,
    reviewed_by_others,
)
from judgeboard.store.tables import Lease, Queue, QueueItem, Reviewer
from judgeboard.text import shortened

NOT_IN_CONFLICT = {
    ItemState.OPEN: "This item still needs reviews: there is nothing to adjudicate yet.",
    ItemState.AGREED: "The reviews of this item agree: there is nothing to adjudicate.",
    ItemState.ADJUDICATED: "This item is adjudicated already.",
    ItemState.LEFT: "This item left its queue.",
}
NO_LEASE = "You have not leased this item with this token: lease it in its queue."
NEWER_LEASE = "You have a newer lease of this item: decide it under that lease."
FREE = "Your lease of this item ended. Nobody else has leased it: lease it again."
LOST = "Your lease of this item ended, and somebody else has leased it."
DECIDED = "You decided this item already."


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """The decision and the grade of a person on one subject. `submit` stores them as a review.

    One field names the subject:

    ``flag_id``: an open flag. The decision closes this flag and all other open flags of the answer,
    or this flag ``alone``, unless a queue still needs reviews of the answer. Unsure leaves the
    flags open for others. The decision replaces earlier decisions of the person on any of the
    flags. What ``grade`` does not give stays as in the earlier decision, unless the person was
    shown all values of the earlier review, with the id ``changes``, and changed them.

    ``response_id``: an answer, flagged or not, that is graded without a decision. The grade
    replaces the person's earlier grade without a decision.

    ``token``: the lease of an item, an answer or a pair. In a queue that hides the judge, the
    review is *blind*, unless the author has seen the judge or could see the judge: the author
    leased the answer in a queue that shows the judge, or the item once had all reviews and was
    reopened. If the queue has implied labels, the decision implies a label.

    ``blind_review_id``: a blind review whose author has seen the judge since (`reveal`). The blind
    review is still the one that counts; a second grade after the reveal replaces the first. The
    ``grade`` also has the unchanged values.

    ``item_id``: an item in conflict. A lead adjudicates the item; the note of the ``grade`` is the
    reason and is required.

    ``changes`` alone: a current review of an answer, which the submission replaces. A decision
    stays a decision, and a grade stays a grade. The author of a blind review cannot change the
    review, but can undo the review, or add a review after the reveal.

    ``decision`` on an answer is confirm, dismiss or unsure, or None for a grade alone. On a pair,
    the decision is the preference between the stored answers (`stored_side` translates a side), and
    ``grade`` has only a note. ``judgment_seen_id`` is the judgment on the screen. The same
    ``request_key`` again stores nothing.
    """

    reviewer: Reviewer
    request_key: str
    decision: Decision | Preference | None = None
    grade: Grade = NOTHING
    judgment_seen_id: int | None = None
    seconds: float | None = None
    at: datetime = field(default_factory=utc_now)
    flag_id: int | None = None
    alone: bool = False
    response_id: int | None = None
    token: str | None = None
    blind_review_id: int | None = None
    item_id: int | None = None
    changes: int | None = None

    @property
    def review(self) -> Review:
        """The review before the check of the content, without a subject."""
        review = Review(
            reviewer_id=self.reviewer.id,
            request_key=self.request_key,
            at=self.at,
            grade=self.grade,
            judgment_seen_id=self.judgment_seen_id,
            seconds=self.seconds,
        )
        if isinstance(self.decision, Preference):
            return replace(review, preferences={OVERALL: AspectPreference(self.decision)})
        return replace(review, decision=self.decision)


@dataclass(frozen=True, slots=True)
class Submitted:
    """A stored review; ``repeated`` if the same request had stored it before.

    ``held`` is the reason why the flags stay open, None if no flag stays open (`held_words`).
    ``item_id`` and ``state`` are of the item that was leased. ``reveal`` is true if something was
    hidden from the reviewer and may be shown now (`reveal`).
    """

    review_id: int
    repeated: bool = False
    held: str | None = None
    item_id: int = 0
    state: ItemState | None = None
    reveal: bool = False


def submit(store: Store, submission: Submission) -> Submitted:
    """Store a submission as a review, and update the flags and the item that the review decides.

    Raises:
        DecisionRefused: The flag is closed, or the reviewer has reviewed the answer in a queue that
            needs more reviews, or the lease ended, or the queue is closed: of the review, only the
            note is stored. Or nothing is stored: the reviewer must review the answer blind in a
            queue, never had this lease, was not shown the judge yet, or the review to change is
            somebody else's, not current, blind, an adjudication or of a pair. Or the item is not in
            conflict (any more).
        MissingGrades: The queue requires a grade that is missing, and the decision is not unsure.
        BadInput: The grade, the judgment or the request key cannot be used, the review is empty, or
            the decision does not fit the subject.
    """
    checked_key(submission.request_key)
    if submission.seconds is not None and not 0 <= submission.seconds <= LONGEST_LOOK:
        raise BadInput(f"the time spent must be a number of seconds from 0 to {LONGEST_LOOK:,}")
    if submission.decision is Decision.WITHDRAWN:
        raise BadInput("a review confirms, dismisses or is unsure; to withdraw a review, undo it")
    action = Action.REVIEW if submission.item_id is None else Action.ADJUDICATE
    with allowed(store, submission.reviewer, action) as connection:
        result: Submitted | str
        if submission.token is not None:
            result = _review_leased(connection, submission, submission.token)
        elif submission.flag_id is not None:
            result = _decide_flag(connection, submission, submission.flag_id)
        elif submission.response_id is not None:
            result = _grade_answer(connection, submission, submission.response_id)
        elif submission.blind_review_id is not None:
            result = _grade_after_reveal(connection, submission, submission.blind_review_id)
        elif submission.item_id is not None:
            result = _adjudicate(connection, submission, submission.item_id)
        elif submission.changes is not None:
            result = _edit(connection, submission, submission.changes)
        else:
            raise BadInput("a submission names a flag, an answer, a lease, an item or a review")
    if isinstance(result, str):
        raise DecisionRefused(result)  # raised after the commit, so that the note is kept
    return result


def reveal(
    store: Store, review_id: int, *, reviewer: Reviewer, now: datetime | None = None
) -> None:
    """Record the first time that the author of a blind review is shown the hidden parts.

    Raises DecisionRefused if the review is not the reviewer's own current blind review, or the
    judge must stay hidden (`_may_reveal`).
    """
    at = now or utc_now()
    with allowed(store, reviewer, Action.REVIEW) as connection:
        review = _blind_review(connection, review_id, reviewer)
        item = item_by_id(connection, review.queue_item_id or 0)
        queue = queue_by_id(connection, item.queue_id)
        if not queue.reveal:
            raise DecisionRefused("This queue never shows the judge.")
        if not _may_reveal(connection, queue, item, reviewer):
            raise DecisionRefused(
                "You must also review this item blind in another queue. The judge is shown after that."
            )
        lease = find_lease(connection, item.id, reviewer.id)
        if lease is None or lease.review_id != review_id:
            raise DecisionRefused("This review was withdrawn.")
        if lease.revealed_at is None:
            note_reveal(connection, lease.id, at)
            details = {"review": review_id, "item": item.id}
            record_event(
                connection,
                "reveal",
                reviewer.name,
                response_id=review.response_id,
                details=details,
                now=at,
            )


def _decide_flag(connection: Connection, submission: Submission, flag_id: int) -> Submitted | str:
    reviewer, decision = submission.reviewer, submission.decision
    if not isinstance(decision, Decision):
        raise BadInput("a decision on a flag is confirm, dismiss or unsure")
    flag, response = lock_flag(connection, flag_id)
    stored_review = stored_before(
        connection,
        submission.request_key,
        reviewer,
        lambda review: flag_id in review.flag_ids and review.decision is decision,
    )
    if stored_review is not None:
        open_flags = (
            held_words(connection, {flag_id: flag.state}) if decision in STATE_AFTER else None
        )
        return Submitted(stored_review.id, repeated=True, held=open_flags)
    check_not_blind(connection, reviewer, response.id, None, response.external_id)
    review = checked_review(connection, response, submission.review)
    in_queue = reviewed_in_queues(connection, [response.id], reviewer.id).get(response.id)
    # Refuse a closed flag and a second vote beside the review in a queue; keep the note.
    if flag.state is not FlagState.OPEN or in_queue is not None:
        if flag.state is FlagState.OPEN:
            refusal = note("in_queue_counts", queue=str(in_queue))
        else:
            # Why the flag is not open: "ragtruth-12260: confirmed by Jon, 1 Mar 09:41 UTC.".
            answer = shortened(response.external_id, LONGEST_ID)
            decisions = current_reviews(
                connection, [response.id], flag_ids=[flag.id], decisions=tuple(STATE_AFTER)
            )
            if not decisions or decisions[0].decision is None:
                refusal = note("flag_replaced", answer=answer)
            else:
                by = (
                    "you"
                    if decisions[0].reviewer_id == review.reviewer_id
                    else shortened(decisions[0].reviewer, LONGEST_NAME)
                )
                verb = f"{VERBS[decisions[0].decision]} by {by}"
                at = decisions[0].at.astimezone(UTC)
                when = f"{at.day} {at:%b %H:%M} UTC"
                refusal = note("flag_decided", answer=answer, decided=verb, when=when)
        return paragraph((refusal, *keep_note(connection, review, reviewer, {"flag": flag.id})))
    # Replace the earlier decisions on these flags.
    flag_ids = (flag.id,) if submission.alone else open_flag_ids(connection, response.id)
    review = replacing_earlier(
        connection, replace(review, flag_ids=flag_ids), alone=submission.alone
    )
    if review.replaces != submission.changes:
        earlier = None if review.replaces is None else find_review(connection, review.replaces)
        review = keeping_earlier(review, earlier)
    details = {"flags": review.flag_ids, "decision": decision}
    review_id = store_review(connection, "decide", review, reviewer, details)
    flags = lock_flags(connection, [response.id], review.flag_ids)
    states, _ = update_states(connection, None, flags, submission.at)
    return Submitted(
        review_id, held=held_words(connection, states) if decision in STATE_AFTER else None
    )


def _grade_answer(connection: Connection, submission: Submission, response_id: int) -> Submitted:
    reviewer = submission.reviewer
    if submission.decision is not None:
        raise BadInput("a decision needs the flag or the lease that it decides")
    response = lock_response(connection, response_id)
    stored_review = stored_before(
        connection,
        submission.request_key,
        reviewer,
        lambda review: (review.response_id, review.flag_ids) == (response_id, ()),
    )
    if stored_review is not None:
        return Submitted(stored_review.id, repeated=True)
    check_not_blind(connection, reviewer, response.id, None, response.external_id)
    review = checked_review(connection, response, submission.review)
    # Replace the reviewer's earlier grade without a decision, except for bulk tags.
    own_reviews = current_reviews(
        connection, [response_id], flag_ids=(), decisions=(None,), reviewer_id=reviewer.id
    )
    # The note of a refused decision may be newer than the grade.
    grades = [each for each in own_reviews if each.grade != each.grade.only_notes()]
    replaces = next((each.id for each in (*grades, *own_reviews) if each.bulk is None), None)
    review = replace(review, replaces=replaces)
    return Submitted(store_review(connection, "grade", review, reviewer, {}))


def _review_leased(connection: Connection, submission: Submission, token: str) -> Submitted | str:
    reviewer, decision = submission.reviewer, submission.decision
    item_id, secret = split_token(token)
    # Lock the answer or the pair, the item and the lease, in this order.
    item = item_by_id(connection, item_id)
    response = lock_subject(connection, item.response_id, item.pair_id)
    item = item_by_id(connection, item_id, lock=True)
    lease = own_lease(connection, token, reviewer.id, lock=True)
    taken_at = (
        lease_taken_at(connection, item_id, reviewer.id, secret)
        if lease is None
        else lease.taken_at
    )
    if lease is None and taken_at is None:
        raise DecisionRefused(NO_LEASE)
    _check_decision(item, decision)
    queue = queue_by_id(connection, item.queue_id)
    # Read after locking: the same request may be running at the same time.
    stored_review = stored_before(
        connection,
        submission.request_key,
        reviewer,
        lambda review: review.queue_item_id == item_id and review.choice == decision,
    )
    if stored_review is not None:
        reveals = stored_review.stage is Stage.BLIND and _may_reveal(
            connection, queue, item, reviewer
        )
        return Submitted(
            stored_review.id, repeated=True, item_id=item_id, state=item.state, reveal=reveals
        )
    # The review is blind if the author saw nothing of the judge, also not after the lease ended.
    refusal = _refusal(connection, lease, item, queue, reviewer, submission.at)
    seen_parts = _seen(connection, queue, item, reviewer, taken_at or submission.at)
    if refusal is not None:
        # After the end of a lease, the reviewer may have looked at all that is not hidden now.
        hidden = hidden_of(
            connection, reviewer.id, response_id=item.response_id, pair_id=item.pair_id
        )
        parts = ((JUDGE, hidden.judge), (PEOPLE, hidden.people))
        seen_parts = tuple(
            sorted({*seen_parts, *(what for what, is_hidden in parts if not is_hidden)})
        )
    blind = queue.blind_judge and JUDGE not in seen_parts
    grade = submission.grade
    if queue.implied_labels:
        grade = with_implied(grade, decision)
    review = replace(
        _review_of_item(connection, submission, item),
        grade=grade,
        judgment_seen_id=None if blind else submission.judgment_seen_id,
        stage=Stage.BLIND if blind else None,
        seen=seen_parts,
        label_schema_id=queue.label_schema_id,
    )
    review = checked_review(connection, response, review)
    details = _details(item, queue, review)
    if lease is None or refusal is not None:
        outside = replace(review, queue_item_id=None, flag_ids=())
        notes = keep_note(connection, outside, reviewer, details | {"decision": None})
        return " ".join((refusal or LOST, *(each.text for each in notes)))
    check_required(queue, decision, grade)
    review = replacing_earlier(connection, review)
    review_id = store_review(connection, "decide_item", review, reviewer, details)
    use_lease(connection, lease.id, review_id)
    state = update_item_state(connection, item.id, submission.at)
    reveals = blind and _may_reveal(connection, queue, item, reviewer)
    return Submitted(review_id, item_id=item.id, state=state, reveal=reveals)


def _grade_after_reveal(
    connection: Connection, submission: Submission, blind_review_id: int
) -> Submitted:
    reviewer = submission.reviewer
    blind = _blind_review(connection, blind_review_id, reviewer)
    item = item_by_id(connection, blind.queue_item_id or 0)
    _check_decision(item, submission.decision)
    response = lock_subject(connection, item.response_id, item.pair_id)
    stored_review = stored_before(
        connection,
        submission.request_key,
        reviewer,
        lambda review: (review.stage, review.queue_item_id) == (Stage.REVEALED, item.id),
    )
    if stored_review is not None:
        return Submitted(stored_review.id, repeated=True)
    lease = find_lease(connection, item.id, reviewer.id)
    if lease is None or lease.review_id != blind_review_id or lease.revealed_at is None:
        raise DecisionRefused("The judge has not been shown on this answer.")
    earlier = revealed_review(connection, item.id, reviewer.id)
    review = replace(
        submission.review,
        flag_ids=blind.flag_ids,
        queue_item_id=item.id,
        stage=Stage.REVEALED,
        seen=(JUDGE,),
        label_schema_id=blind.label_schema_id,
        replaces=None if earlier is None else earlier.id,
    )
    review = checked_review(connection, response, review)
    details = {"blind": blind_review_id, "item": item.id}
    return Submitted(store_review(connection, "answer_reveal", review, reviewer, details))


def _adjudicate(connection: Connection, submission: Submission, item_id: int) -> Submitted:
    lead = submission.reviewer
    item = item_by_id(connection, item_id)
    _check_decision(item, submission.decision)
    if submission.decision in {Decision.UNSURE, None}:
        raise BadInput("an adjudication confirms or dismisses")
    response = lock_subject(connection, item.response_id, item.pair_id)
    item = item_by_id(connection, item_id, lock=True)
    stored_review = stored_before(
        connection,
        submission.request_key,
        lead,
        lambda review: (review.stage, review.queue_item_id) == (Stage.ADJUDICATION, item_id),
    )
    if stored_review is not None:
        return Submitted(stored_review.id, repeated=True)
    if item.state is not ItemState.CONFLICT:
        raise DecisionRefused(NOT_IN_CONFLICT[item.state])
    queue = queue_by_id(connection, item.queue_id)
    name = "this pair" if response is None else response.external_id
    check_not_blind(connection, lead, item.response_id, item.pair_id, name)
    review = replace(
        _review_of_item(connection, submission, item),
        stage=Stage.ADJUDICATION,
        seen=(JUDGE, PEOPLE),
        shown=None if item.pair_id is None else Shown.AB,
        label_schema_id=queue.label_schema_id,
    )
    review = checked_review(connection, response, review)
    if review.grade.note is None:
        raise BadInput("an adjudication needs a reason: give one as its note")
    details = _details(item, queue, review)
    review_id = store_review(connection, "adjudicate", review, lead, details)
    update_item_state(connection, item_id, submission.at)
    return Submitted(review_id)


def _edit(connection: Connection, submission: Submission, review_id: int) -> Submitted:
    reviewer, decision = submission.reviewer, submission.decision
    review, flags, response = lock_reviewed(connection, review_id)
    if response is None:
        raise DecisionRefused(
            "A review of a pair cannot be edited: undo it and review the pair again."
        )
    stored_review = stored_before(
        connection,
        submission.request_key,
        reviewer,
        lambda review: review.replaces == review_id,
    )
    if stored_review is not None:
        return Submitted(stored_review.id, repeated=True)
    check_own(connection, review, reviewer, "edit it")
    if review.stage is Stage.BLIND:
        raise DecisionRefused(
            "A blind review cannot be edited: undo it, or add a review after the reveal."
        )
    if review.stage is Stage.ADJUDICATION:
        raise DecisionRefused("An adjudication cannot be edited: undo it and adjudicate again.")
    if isinstance(decision, Preference) or (decision is None) != (review.decision is None):
        raise BadInput("a decision cannot become a grade, and a grade cannot become a decision")
    item_id = review.queue_item_id
    if item_id is not None:
        # In a queue that is blind to other people, a person who has read the other reviews since
        # could edit a conflict away.
        queue = queue_by_id(connection, item_by_id(connection, item_id).queue_id)
        if queue.blind_people and reviewed_by_others(
            connection, [review.response_id or 0], review.reviewer_id
        ):
            raise DecisionRefused(
                "Others have reviewed this item since: your blind review cannot be edited any more."
            )
        if review.stage is None:  # after a reveal, the blind review has the required grades
            check_required(queue, decision, submission.grade)
    new = replace(
        submission.review,
        flag_ids=review.flag_ids,
        queue_item_id=item_id,
        stage=review.stage,
        replaces=review_id,
        label_schema_id=review.label_schema_id,
    )
    new = checked_review(connection, response, new)
    details = {"edited": review_id, "flags": review.flag_ids, "decision": decision}
    new_id = store_review(connection, "edit", new, reviewer, details)
    if item_id is not None:
        lease = find_lease(connection, item_id, reviewer.id)
        if lease is not None and lease.review_id == review_id:
            use_lease(connection, lease.id, new_id)
    update_states(connection, item_id, flags, submission.at)
    return Submitted(new_id)


def _may_reveal(connection: Connection, queue: Queue, item: QueueItem, reviewer: Reviewer) -> bool:
    """Whether the author of a blind review may see the judge now: this queue reveals it, and no queue hides it."""
    hidden = hidden_of(connection, reviewer.id, response_id=item.response_id, pair_id=item.pair_id)
    return queue.reveal and not hidden.judge


def _review_of_item(connection: Connection, submission: Submission, item: QueueItem) -> Review:
    if item.pair_id is None:
        flag_ids = flags_to_decide(connection, item)
        return replace(submission.review, queue_item_id=item.id, flag_ids=flag_ids)
    order = order_for(item.pair_id, submission.reviewer.id)
    return replace(submission.review, queue_item_id=item.id, pair_id=item.pair_id, shown=order)


def _check_decision(item: QueueItem, decision: Decision | Preference | None) -> None:
    if item.pair_id is not None and not isinstance(decision, Preference):
        raise BadInput(f"item {item.id} is a pair: choose the better answer")
    if item.pair_id is None and isinstance(decision, Preference):
        raise BadInput(f"item {item.id} is an answer: its decision is confirm, dismiss or unsure")


def _blind_review(connection: Connection, review_id: int, reviewer: Reviewer) -> Review:
    review = find_review(connection, review_id)
    if review is None or review.reviewer_id != reviewer.id or review.stage is not Stage.BLIND:
        raise DecisionRefused("The judge is revealed only after your own blind review.")
    return review


def _seen(
    connection: Connection, queue: Queue, item: QueueItem, reviewer: Reviewer, taken_at: datetime
) -> tuple[str, ...]:
    if item.pair_id is not None:
        return (JUDGE, PEOPLE) if saw_hidden_parts(connection, item.pair_id, reviewer.id) else ()
    hides = {
        JUDGE: queue.blind_judge,
        PEOPLE: queue.blind_people or item.repeat_for is not None,
    }
    return tuple(
        what
        for what, is_hidden in hides.items()
        if not is_hidden
        or has_seen(connection, reviewer.id, item.response_id or 0, what)
        or had_all_reviews(connection, item, reviewer.id)
        or leased_where_visible(connection, item, reviewer.id, what, taken_at)
    )


def _refusal(
    connection: Connection,
    lease: Lease | None,
    item: QueueItem,
    queue: Queue,
    reviewer: Reviewer,
    now: datetime,
) -> str | None:
    """Return why a review cannot be stored under ``lease`` (None: the lease ended); None if storing is possible."""
    if queue.state is QueueState.CLOSED:
        return "The queue has been closed since then."
    if item.state is ItemState.LEFT:
        return "This item has left its queue since then."
    if lease is not None:
        return DECIDED if lease.done else None
    newer_lease = find_lease(connection, item.id, reviewer.id)
    if newer_lease is not None:
        return DECIDED if newer_lease.done else NEWER_LEASE
    leases = leases_at(connection, item.id)
    free = any(not each.done and (each.until is None or each.until <= now) for each in leases)
    return FREE if free and item.repeat_for in {None, reviewer.id} else LOST


def _details(item: QueueItem, queue: Queue, review: Review) -> dict[str, Any]:
    what = {"decision": review.decision} if item.pair_id is None else {"pair": item.pair_id}
    return {"queue": queue.name, "item": item.id, **what}

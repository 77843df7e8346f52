"""Reviews outside any queue: a flag decided once, an answer graded, a preference on a pair."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import Connection

from judgeboard.domain import OVERALL, AspectPreference, Decision, FlagState, Grade, Preference, Shown
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.judges.pairwise import checked_aspects
from judgeboard.people.permissions import Action, allowed
from judgeboard.reviews.checks import (
    NOTHING_GIVEN,
    check_same,
    checked_grade,
    checked_judgment,
    checked_key,
    checked_note,
    checked_seconds,
    is_empty,
)
from judgeboard.reviews.outcome import update_flag_state
from judgeboard.reviews.shown import check_not_blind, in_view
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.leases import JUDGE, PEOPLE
from judgeboard.store.preferences import comparison_is_of, own_preferences, saw_hidden_parts
from judgeboard.store.queue_filling import follow_queues
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.reviews import (
    STATE_AFTER,
    LockedFlag,
    NewReview,
    StoredReview,
    insert_review,
    latest_review,
    lock_flag,
    lock_response,
    lock_subject,
    preferences_of,
    review_by_key,
)

CANNOT_REOPEN = "Cannot reopen: a newer flag is open on this answer."
LONGEST_NAME, LONGEST_ID = 24, 40  # characters of a name and an id that a sentence of one line has room for
_VERBS = {Decision.CONFIRM: "confirmed", Decision.DISMISS: "dismissed"}


def decided_by(first: StoredReview, external_id: str, reviewer_id: int, now: datetime) -> str:
    """Say who decided a flag, and when: "Jon confirmed ragtruth-12260 at 09:41 UTC."."""
    who = "You" if first.reviewer_id == reviewer_id else _short(first.by, LONGEST_NAME)
    done = "decided" if first.decision is None else _VERBS[first.decision]
    return f"{who} {done} {_short(external_id, LONGEST_ID)} {_when(first.at, now)}."


def superseded(external_id: str) -> str:
    """Say that no person was first but a newer verdict."""
    return f"A newer verdict replaced this flag on {_short(external_id, LONGEST_ID)}."


def kept(grade: Grade) -> str:
    """Say what of a refused press was stored."""
    return f" Your {'grade' if grade.note is None else 'note'} is kept with it."


def undone(review: StoredReview, external_id: str) -> str:
    """Say what was taken back, and that nothing said before it stands again."""
    external_id = _short(external_id, LONGEST_ID)
    if review.decision in _VERBS:
        return f"Undone: {external_id} is open again."
    if review.decision is Decision.UNSURE:
        return f"Undone: {external_id} is in your queue again."
    earlier = " The one before it is in the history." if review.replaces is not None else ""
    return f"Undone: your grade of {external_id} is taken back.{earlier}"


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def _when(at: datetime, now: datetime) -> str:
    at, now = at.astimezone(UTC), now.astimezone(UTC)
    day = "" if at.date() == now.date() else f"on {at.day} {at:%B} "
    year = f"{at.year} " if at.year != now.year else ""
    return f"{day}{year}at {at:%H:%M} UTC"


NOTHING = Grade()


@dataclass(frozen=True, slots=True)
class Decided:
    """A stored decision and what it made of the flag; ``repeated`` when the same request had stored it before."""

    review_id: int
    flag_id: int
    state: FlagState
    repeated: bool


@dataclass(frozen=True, slots=True)
class Preferred:
    """A stored preference; ``repeated`` when the same request had stored it before."""

    review_id: int
    repeated: bool


def decide(
    store: Store,
    *,
    flag_id: int,
    reviewer: Reviewer,
    decision: Decision,
    grade: Grade = NOTHING,
    judgment_seen_id: int | None = None,
    seconds: float | None = None,
    request_key: str,
    now: datetime | None = None,
) -> Decided:
    """Store a reviewer's decision on an open flag, with the grade given beside it.

    Confirm and dismiss close the flag, unless a queue still needs reviews of the answer: then the decision is stored
    and the flag stays open. Unsure leaves it open for others; a later decision of the same reviewer
    replaces it. A newer judgment than ``judgment_seen_id`` does not refuse the decision while the flag is open: the
    flag's reason is what was decided, and what was seen is stored with it.

    Raises:
        DecisionRefused: The flag is no longer open; the message names who or what was first. A grade or a note that
            came with the refused decision is kept as a review without one. Or the reviewer is to review the answer
            blind in a queue: it is decided there.
        NotAllowed: No admin lets this person review.
        NotFound: No such flag.
        BadInput: The grade, the judgment or the request key cannot be used.
    """
    if decision is Decision.WITHDRAWN:
        raise BadInput("a flag is confirmed, dismissed or unsure; undo takes a review back")
    key, spent, at = checked_key(request_key), checked_seconds(seconds), now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        flag = lock_flag(connection, flag_id)
        stored = review_by_key(connection, key)
        if stored is not None:
            check_same(stored, reviewer, same=stored.flag_id == flag_id and stored.decision is decision)
            return Decided(stored.id, flag_id, flag.state, repeated=True)
        check_not_blind(connection, reviewer, flag.response.id, None, flag.response.external_id)
        judgment = checked_judgment(connection, judgment_seen_id, flag.response)
        review = NewReview(
            response_id=flag.response.id,
            flag_id=flag.id,
            reviewer_id=reviewer.id,
            decision=decision,
            grade=checked_grade(connection, grade, flag.response, judgment),
            judgment_seen_id=judgment,
            seen=in_view(connection, flag.response.id, reviewer.id, judgment),
            seconds=spent,
            request_key=key,
            at=at,
        )
        if flag.state is FlagState.OPEN:
            return _store(connection, review, flag, reviewer)
        refusal = _refusal(connection, flag, review) + _keep_draft(connection, review, reviewer)
    raise DecisionRefused(refusal)  # after the commit: the draft stays


def grade(
    store: Store,
    *,
    response_id: int,
    reviewer: Reviewer,
    grade: Grade,
    judgment_seen_id: int | None = None,
    seconds: float | None = None,
    request_key: str,
    now: datetime | None = None,
) -> int:
    """Store a grade of an answer, flagged or not, without deciding anything; return the review's id.

    It replaces the grade that the same reviewer gave this answer in this way before.

    Raises:
        DecisionRefused: The reviewer is to review the answer blind in a queue: it is graded there.
        NotAllowed: No admin lets this person review.
        NotFound: No such response.
        BadInput: Nothing is given, or the grade, the judgment or the request key cannot be used.
    """
    key, spent, at = checked_key(request_key), checked_seconds(seconds), now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        response = lock_response(connection, response_id)
        stored = review_by_key(connection, key)
        if stored is not None:
            check_same(stored, reviewer, same=(stored.response_id, stored.flag_id) == (response_id, None))
            return stored.id
        check_not_blind(connection, reviewer, response.id, None, response.external_id)
        judgment = checked_judgment(connection, judgment_seen_id, response)
        given = checked_grade(connection, grade, response, judgment)
        if is_empty(given):
            raise BadInput(NOTHING_GIVEN)
        review = NewReview(
            response_id=response_id,
            reviewer_id=reviewer.id,
            grade=given,
            judgment_seen_id=judgment,
            seen=in_view(connection, response_id, reviewer.id, judgment),
            seconds=spent,
            request_key=key,
            at=at,
        )
        before = _own(connection, review, None)
        review_id = insert_review(connection, replace(review, replaces=None if before is None else before.id))
        record_event(connection, "grade", reviewer.name, response_id=response_id, details={"review": review_id}, now=at)
        return review_id


def prefer(
    store: Store,
    *,
    pair_id: int,
    reviewer: Reviewer,
    preference: Preference,
    shown: Shown,
    request_key: str,
    aspect: str = OVERALL,
    comparison_seen_id: int | None = None,
    revealed: bool = False,
    note: str | None = None,
    seconds: float | None = None,
    now: datetime | None = None,
) -> Preferred:
    """Store which answer of a pair a person prefers.

    The first review of a pair by a person is blind, unless something was in view already; it reveals gold, models,
    other people and the judge to them, so that every later one, on whatever aspect, is not. A blind preference is
    never replaced; one that is not replaces the one before it on its aspect. Agreement with people counts a person's
    blind preference on an aspect, and where there is none the latest other one (`votes_by_pair`).

    Args:
        store: Where the pair is.
        pair_id: The pair.
        reviewer: The person.
        preference: In terms of the stored answers, whatever the order shown.
        shown: Which stored answer stood first.
        request_key: Unique to this request; the same key again stores nothing.
        aspect: What the answers were compared in.
        comparison_seen_id: The judge's verdict that was in view; None where none was.
        revealed: Anything else that is hidden from a blind reviewer was in view.
        note: Why.
        seconds: How long the person looked.
        now: When; the present by default.

    Raises:
        DecisionRefused: The person is to review the pair blind in a queue and has not: it is decided there.
        NotAllowed: No admin lets this person review.
        NotFound: No such pair.
        BadInput: The comparison is of another pair, the key of another request, or a value cannot be stored.
    """
    key, spent, at = checked_key(request_key), checked_seconds(seconds), now or datetime.now(UTC)
    (aspect,) = checked_aspects((aspect,))
    text = checked_note(note)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        lock_subject(connection, None, pair_id)
        stored = review_by_key(connection, key)
        if stored is not None:
            same = stored.pair_id == pair_id and preferences_of(connection, stored.id) == {aspect: preference}
            check_same(stored, reviewer, same=same)
            return Preferred(stored.id, repeated=True)
        if comparison_seen_id is not None and not comparison_is_of(connection, comparison_seen_id, pair_id):
            raise BadInput(f"comparison {comparison_seen_id} is not one of pair {pair_id}")
        check_not_blind(connection, reviewer, None, pair_id)
        blind = comparison_seen_id is None and not revealed and not saw_hidden_parts(connection, pair_id, reviewer.id)
        own = own_preferences(connection, pair_id, reviewer.id, aspect)
        before = [] if blind else [each for each in own if not each.blind and each.queue_item_id is None]
        review = NewReview(
            pair_id=pair_id,
            reviewer_id=reviewer.id,
            preferences={aspect: AspectPreference(preference)},
            shown=shown,
            comparison_seen_id=comparison_seen_id,
            seen=() if blind else (JUDGE, PEOPLE),
            grade=Grade(note=text),
            seconds=spent,
            replaces=before[-1].review_id if before else None,
            request_key=key,
            at=at,
        )
        review_id = insert_review(connection, review)
        details = {"review": review_id, "pair": pair_id, "preference": preference.value}
        record_event(connection, "prefer", reviewer.name, details=details, now=at)
        return Preferred(review_id, repeated=False)


def _store(connection: Connection, review: NewReview, flag: LockedFlag, reviewer: Reviewer) -> Decided:
    before = _own(connection, review, Decision.UNSURE, *STATE_AFTER)
    review_id = insert_review(connection, replace(review, replaces=None if before is None else before.id))
    state = update_flag_state(connection, flag)
    follow_queues(connection, [flag.response.id], review.at)
    details = {"review": review_id, "flag": flag.id, "decision": review.decision}
    record_event(connection, "decide", reviewer.name, response_id=review.response_id, details=details, now=review.at)
    return Decided(review_id, flag.id, state, repeated=False)


def _refusal(connection: Connection, flag: LockedFlag, review: NewReview) -> str:
    first = latest_review(connection, flag.response.id, flag_id=flag.id, decisions=tuple(STATE_AFTER))
    if first is None:
        return superseded(flag.response.external_id)
    return decided_by(first, flag.response.external_id, review.reviewer_id, review.at)


def _keep_draft(connection: Connection, refused: NewReview, reviewer: Reviewer) -> str:
    """Store what came with a refused decision, in place of what an earlier refused request left there."""
    if is_empty(refused.grade):
        return ""
    draft_key = f"{refused.request_key}:kept"
    if review_by_key(connection, draft_key) is None:
        before = _own(connection, refused, None)
        draft = replace(refused, decision=None, request_key=draft_key, replaces=None if before is None else before.id)
        details = {"review": insert_review(connection, draft), "flag": refused.flag_id}
        record_event(
            connection, "keep_draft", reviewer.name, response_id=refused.response_id, details=details, now=refused.at
        )
    return kept(refused.grade)


def _own(connection: Connection, review: NewReview, *decisions: Decision | None) -> StoredReview | None:
    """The standing review of the same reviewer and flag, outside any queue, with one of these decisions."""
    return latest_review(
        connection,
        review.response_id,
        flag_id=review.flag_id,
        decisions=decisions,
        reviewer_id=review.reviewer_id,
    )

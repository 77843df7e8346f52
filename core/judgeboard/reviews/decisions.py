"""Reviews outside queues: decisions on flags, grades of answers. Also how reviews are stored."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import (
    Action,
    Decision,
    Grade,
    Label,
    Preference,
    Stage,
)
from judgeboard.errors import BadInput, Contradiction
from judgeboard.flags.rules import LOW_GROUNDEDNESS
from judgeboard.measure.notes import Note, note
from judgeboard.people.permissions import allowed
from judgeboard.reviews.checks import (
    NOTHING,
    checked_fields,
    checked_grade,
    checked_judgment,
)
from judgeboard.reviews.shown import in_view
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.own_reviews import delete_drafts
from judgeboard.store.reviewers import change_reviewer, implied_labels_of
from judgeboard.store.reviews import (
    STATE_AFTER,
    LockedResponse,
    Review,
    current_reviews,
    find_review,
    insert_review,
    insert_reviews,
    lock_flags,
)
from judgeboard.store.settings import thresholds
from judgeboard.store.tables import Reviewer

LONGEST_NAME, LONGEST_ID = (
    24,
    40,
)  # characters; longer names and ids are shortened to keep sentences on one line
IMPLIED = {Decision.CONFIRM: Label.HALLUCINATED, Decision.DISMISS: Label.GROUNDED}
"""The label that a decision implies."""
VERBS = {Decision.CONFIRM: "confirmed", Decision.DISMISS: "dismissed"}


def implying_rules(connection: Connection, reviewer_id: int) -> tuple[tuple[str, ...], bool]:
    """Return the rules on which a person's decisions imply a label, and whether to ask the person first.

    The setting ``implied_labels`` names the rules. The default is low groundedness, unless the
    person has said no.
    """
    rules = thresholds(connection).implied_labels
    if rules is not None:
        return rules, False
    consent = implied_labels_of(connection, reviewer_id)
    return () if consent is False else (LOW_GROUNDEDNESS,), consent is None


def remember_implied(store: Store, reviewer: Reviewer, *, implied: bool) -> None:
    """Store a person's answer to the question whether the person's decisions imply labels."""
    with allowed(store, reviewer, Action.REVIEW) as connection:
        change_reviewer(connection, reviewer, implied_labels=implied)
        record_event(connection, "implied_labels", reviewer.name, details={"implied": implied})


def labelled_decision(
    grade: Grade, rules: Collection[str], *, low_quality: float
) -> Decision | None:
    """Return the decision that the label of a grade makes, None if there is no label or the decision stays open.

    *Hallucinated* confirms an answer without flags, or with a low-groundedness flag. *Grounded*
    dismisses an answer, unless the flags are of other rules or the grade has a quality up to
    ``low_quality``: the problem may be another one. ``rules`` are the rules of the flags that the
    reviewer sees.
    """
    if grade.label is Label.HALLUCINATED and (not rules or LOW_GROUNDEDNESS in rules):
        return Decision.CONFIRM
    is_low = grade.quality is not None and grade.quality <= low_quality
    if grade.label is Label.GROUNDED and {LOW_GROUNDEDNESS}.issuperset(rules) and not is_low:
        return Decision.DISMISS
    return None


def with_implied(grade: Grade, decision: Decision | Preference | None) -> Grade:
    """Return a grade with the label that the decision implies, unless the grade has a label."""
    label = (
        IMPLIED.get(decision) if isinstance(decision, Decision) and grade.label is None else None
    )
    return grade if label is None else replace(grade, label=label, label_implied=True)


def checked_review(
    connection: Connection, response: LockedResponse | None, review: Review
) -> Review:
    """Return a review of an answer (``response``) or of a pair (None) as stored, after a check of the content.

    Without ``seen``, `in_view` sets it as for a review outside queues.
    """
    judgment = (
        None
        if response is None
        else checked_judgment(connection, review.judgment_seen_id, response)
    )
    schema_id = review.label_schema_id
    grade = checked_grade(
        connection, review.grade, response, judgment, schema=schema_id is not None
    )
    final = None if review.stage is Stage.ADJUDICATION else review.decision
    grade = checked_fields(connection, schema_id, grade, response, final)
    if review.decision is None and not review.preferences and grade == NOTHING:
        raise BadInput(
            "nothing to save: give a decision, a label, a score, a note, a mark or a corrected answer"
        )
    seen_parts = review.seen
    if seen_parts is None and response is not None:
        seen_parts = in_view(connection, response.id, review.reviewer_id, judgment)
    response_id = None if response is None else response.id
    return replace(
        review, response_id=response_id, grade=grade, judgment_seen_id=judgment, seen=seen_parts
    )


def store_review(
    connection: Connection,
    kind: str,
    review: Review,
    reviewer: Reviewer,
    details: Mapping[str, Any],
) -> int:
    """Store a review with an event, which also has ``details``; delete the draft, return the id of the review.

    Raises Contradiction if the label contradicts the decision (`check_label`).
    """
    check_label(connection, review)
    review_id = insert_review(connection, review)
    delete_drafts(connection, review.reviewer_id, [review.response_id or -(review.pair_id or 0)])
    all_details = {"review": review_id, **details}
    record_event(
        connection,
        kind,
        reviewer.name,
        response_id=review.response_id,
        details=all_details,
        now=review.at,
    )
    return review_id


def note_key(request_key: str) -> str:
    """Return the request key of the review that keeps the note of a refused request."""
    return f"{request_key}:kept"


def check_label(connection: Connection, review: Review) -> None:
    """Raise Contradiction if the label of a review contradicts the decision.

    *Hallucinated* contradicts the dismissal of a low-groundedness flag, or of an answer without
    flags. *Grounded* contradicts the confirmation of low-groundedness flags alone: with other
    flags, the problem may be another one. A blind review is checked as if the answer had no flags,
    because the refusal would reveal the flags.
    """
    label, decision = review.grade.label, review.decision
    implied = None if decision is None else IMPLIED.get(decision)
    if label is None or implied is None or label is implied:
        return
    flag_ids = () if review.stage is Stage.BLIND else review.flag_ids
    rules = {flag.rule for flag in lock_flags(connection, [review.response_id or 0], flag_ids)}
    if label is Label.HALLUCINATED and (not rules or LOW_GROUNDEDNESS in rules):
        raise Contradiction(
            "You marked the answer hallucinated, but your decision says that it has no problem."
        )
    if label is Label.GROUNDED and rules == {LOW_GROUNDEDNESS}:
        raise Contradiction("You marked the answer grounded, but you confirm that it is not.")


def keep_note(
    connection: Connection, refused: Review, reviewer: Reviewer, details: Mapping[str, Any]
) -> list[Note]:
    """Store the note of a refused decision as a review without decision and grade; return notes about both.

    A refused grade counts in no figure, so the grade is not stored. The draft of the author is
    kept.
    """
    grade, notes = refused.grade, refused.grade.only_notes()
    if grade.label_implied:
        grade = replace(grade, label=None, label_implied=False)
    dropped = [] if grade == notes else [note("grade_dropped")]
    if notes == NOTHING:
        return dropped
    key = note_key(refused.request_key)
    if find_review(connection, request_key=key) is None:
        note_review = replace(refused, decision=None, preferences={}, grade=notes, request_key=key)
        all_details = {"review": insert_review(connection, note_review), **details}
        record_event(
            connection,
            "keep_draft",
            reviewer.name,
            response_id=note_review.response_id,
            details=all_details,
            now=note_review.at,
        )
    return [*dropped, note("note_kept")]


def replacing_earlier(connection: Connection, review: Review, *, alone: bool = False) -> Review:
    """Let a decision replace the reviewer's earlier decisions outside queues on any of the flags, so that one counts.

    The decision also decides all flags of these decisions. A decision on a flag ``alone`` replaces
    no decision on several flags.
    """
    if not review.flag_ids:
        return review
    earlier = own_decisions(
        connection, review.reviewer_id, {review.response_id or 0: review.flag_ids}
    )
    if alone:
        earlier = [each for each in earlier if each.flag_ids == review.flag_ids]
    replacing, withdrawals = replaced_by(review, earlier)
    insert_reviews(connection, withdrawals)
    return replacing


def keeping_earlier(review: Review, replaced_review: Review | None) -> Review:
    """Let a review keep the values of the replaced review, where the new review gives none.

    A label that a person gave takes precedence over an implied label of the new decision.
    """
    if replaced_review is None:
        return review
    grade, earlier = review.grade, replaced_review.grade
    values = {
        each.name: getattr(grade, each.name) or getattr(earlier, each.name)
        for each in fields(Grade)
    }
    for name in ("groundedness", "quality"):  # 0 is a grade too
        score = getattr(grade, name)
        values[name] = getattr(earlier, name) if score is None else score
    label_grade = grade if grade.label is not None and not grade.label_implied else earlier
    if label_grade.label is None or label_grade.label_implied:
        label_grade = grade
    values |= {"label": label_grade.label, "label_implied": label_grade.label_implied}
    return replace(review, grade=Grade(**values))


def own_decisions(
    connection: Connection, reviewer_id: int, flag_ids: Mapping[int, Collection[int]]
) -> list[Review]:
    """Return a reviewer's current decisions outside queues on flags (ids by answer), the latest first."""
    return current_reviews(
        connection,
        flag_ids,
        flag_ids=[flag_id for of_answer in flag_ids.values() for flag_id in of_answer],
        decisions=(Decision.UNSURE, *STATE_AFTER),
        reviewer_id=reviewer_id,
    )


def replaced_by(review: Review, earlier: Sequence[Review]) -> tuple[Review, list[Review]]:
    """Let a decision replace the first of ``earlier`` and decide all flags; return decision and withdrawals."""
    if not earlier:
        return review, []
    withdrawals = [
        withdrawal(older, f"{review.request_key}:replaced{number}", review.at)
        for number, older in enumerate(earlier[1:])
    ]
    flag_ids = {flag_id for each in earlier for flag_id in each.flag_ids}.union(review.flag_ids)
    return replace(review, replaces=earlier[0].id, flag_ids=tuple(sorted(flag_ids))), withdrawals


def withdrawal(
    review: Review, key: str, at: datetime, seen_parts: tuple[str, ...] | None = None
) -> Review:
    """Return the row that withdraws a review."""
    return Review(
        response_id=review.response_id,
        pair_id=review.pair_id,
        flag_ids=review.flag_ids,
        queue_item_id=review.queue_item_id,
        reviewer_id=review.reviewer_id,
        decision=Decision.WITHDRAWN,
        replaces=review.id,
        seen=seen_parts,
        request_key=key,
        at=at,
    )

"""Attempts at an answer as a person sees them, and which of them people select."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection

from judgeboard.domain import Status, StepRecord
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.methods.refine import RefineRule
from judgeboard.methods.reflect import Outcome
from judgeboard.people.permissions import Action, allowed
from judgeboard.reviews.checks import checked_key
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.refinements import (
    REFLECT,
    AttemptsKey,
    OriginalAnswer,
    SelectedAttempt,
    StoredAttempt,
    attempts_with,
    insert_selected,
    lock_attempts,
    read_original,
    selected_attempts,
    selected_by_key,
    stored_attempts,
)
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.runs import StoredRun, get_run

MOST_RUNS = 20


@dataclass(frozen=True, slots=True)
class ShownAttempt:
    """One attempt; number 0 is the answer that they began with.

    ``answer`` is None where the attempt gave none (``note`` says why) or it is forgotten. ``cost_micro`` is in
    millionths, of the answer and its judgment together; None is unknown.
    """

    number: int
    response_id: int | None
    answer: str | None
    rating: int | None
    groundedness: float | None
    quality: int | None
    reasoning: str | None
    feedback: str | None
    cost_micro: int | None
    note: str | None
    kept: bool

    @property
    def name(self) -> str:
        """What people call it."""
        return f"attempt {self.number}" if self.number else "the original"


@dataclass(frozen=True, slots=True)
class AttemptSequence:
    """The attempts of one run at one answer, in their order, with the selections of people (newest first).

    ``passed`` is whether the last attempt got the rating that the run asked for; None for reflection, which asks none.
    """

    run_id: int
    subject: str
    method: str
    judge: str
    at: datetime
    attempts: tuple[ShownAttempt, ...]
    passed: bool | None
    selected: tuple[SelectedAttempt, ...]

    @property
    def made(self) -> int:
        """How many attempts were made, the original left out."""
        return sum(one.number > 0 for one in self.attempts)

    @property
    def cost_micro(self) -> int | None:
        """What all of them cost in this run, in millionths; None as soon as one is unknown."""
        costs = [one.cost_micro for one in self.attempts if one.number > 0]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    def selected_by(self, reviewer_id: int) -> int | None:
        """Return the number of the attempt that a person has selected, None where they have selected none."""
        return next((one.number for one in self.selected if one.reviewer_id == reviewer_id), None)


def attempt_sequences(connection: Connection, response_id: int) -> tuple[AttemptSequence, ...]:
    """Return all attempts that began with an answer or made it, the newest run's first, of the last twenty runs."""
    found = attempts_with(connection, response_id, limit=MOST_RUNS)
    if not found:
        return ()
    people = selected_attempts(connection, [key.run_id for key in found])
    return tuple(_sequence(connection, key, people) for key in found)


def _sequence(connection: Connection, key: AttemptsKey, people: Sequence[SelectedAttempt]) -> AttemptSequence:
    run = get_run(connection, key.run_id)
    stored = stored_attempts(connection, key.run_id, [key.subject]).get(key.subject, [])
    last = next((one for one in reversed(stored) if one.root_response_id is not None), None)
    original = None
    if last is not None and last.root_response_id is not None:
        original = read_original(connection, last.root_response_id, last.judgment_before_id)
    rule = None if key.method == REFLECT else _rule(run)
    kept = _kept(rule, stored)
    attempts = [_attempt(one, kept=one.number == kept) for one in stored]
    if original is not None:
        attempts.insert(0, _original(original, kept=kept == 0))
    return AttemptSequence(
        run_id=run.id,
        subject=key.subject,
        method=key.method,
        judge=run.version_title or "",
        at=run.started_at,
        attempts=tuple(attempts),
        passed=None if rule is None or not stored else rule.succeeds(stored[-1].rating),
        selected=tuple(one for one in people if (one.run_id, one.subject) == (key.run_id, key.subject)),
    )


def _rule(run: StoredRun) -> RefineRule:
    """The rule that a run of self-refine was started with; what it does not say is the default."""
    given = run.question.get("rule", {})
    return RefineRule(**{name: given[name] for name in ("success_rating", "max_repeats", "keep") if name in given})


def _kept(rule: RefineRule | None, stored: Sequence[StoredAttempt]) -> int | None:
    """Which attempt the method gave out: self-refine by its rule, reflection the better grounded."""
    if rule is None:
        return 1 if any(one.outcome == Outcome.KEPT_NEW for one in stored) else 0
    return rule.kept_number([(one.number, one.rating) for one in stored if one.response_id is not None])


def _original(original: OriginalAnswer, *, kept: bool) -> ShownAttempt:
    return ShownAttempt(
        number=0,
        response_id=original.response_id,
        answer=original.answer,
        rating=None,
        groundedness=original.groundedness,
        quality=original.quality,
        reasoning=original.reasoning,
        feedback=None,
        cost_micro=None if original.judging is None else original.judging.cost_micro,
        note=None,
        kept=kept,
    )


def _attempt(stored: StoredAttempt, *, kept: bool) -> ShownAttempt:
    return ShownAttempt(
        number=stored.number,
        response_id=stored.response_id,
        answer=stored.answer,
        rating=stored.rating,
        groundedness=stored.groundedness,
        quality=stored.quality if stored.rating is None else None,
        reasoning=stored.evaluation,
        feedback=stored.feedback,
        cost_micro=_sum(stored.answering, stored.judging),
        note=_note(stored),
        kept=kept,
    )


def _sum(answering: StepRecord, judging: StepRecord | None) -> int | None:
    costs = [step.cost_micro for step in (answering, judging) if step is not None]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def _note(stored: StoredAttempt) -> str | None:
    """Why there is no answer, or no usable judgment of it."""
    if stored.outcome == Outcome.IDENTICAL:
        return "The same text came back; it was not judged."
    if stored.response_id is None:
        return f"No answer: {stored.answering.error or stored.answering.status.value}"
    if stored.judging is None:
        return "Not judged yet."
    if stored.judging.status is not Status.OK:
        return f"No usable judgment: {stored.judging.error or stored.judging.status.value}"
    return None


def select_attempt(
    store: Store,
    *,
    run_id: int,
    subject: str,
    number: int,
    reviewer: Reviewer,
    request_key: str,
    now: datetime | None = None,
) -> int:
    """Store that a person selects an attempt and return the row's id; it replaces what the same person selected before.

    Args:
        store: The open database.
        run_id: The run that made the attempts.
        subject: What they are attempts at, as the run names it.
        number: The attempt; 0 is the logged answer that they began with.
        reviewer: Who selects.
        request_key: Of the press, so that it is stored once.
        now: When; the present by default.

    Raises:
        NotAllowed: No admin lets this person review.
        NotFound: No such attempt, or it gave no answer.
        BadInput: The request key cannot be used.
    """
    return _store_selection(store, run_id, subject, number, reviewer, request_key, now)


def deselect_attempt(
    store: Store, *, run_id: int, subject: str, reviewer: Reviewer, request_key: str, now: datetime | None = None
) -> int:
    """Store that a person withdraws their selection and return the row's id.

    Raises:
        DecisionRefused: This person has selected no attempt.
        NotAllowed: No admin lets this person review.
        NotFound: No such attempts.
        BadInput: The request key cannot be used.
    """
    return _store_selection(store, run_id, subject, None, reviewer, request_key, now)


def selected_attempt(store: Store, run_id: int, subject: str, reviewer: Reviewer) -> int | None:
    """Return the number of the attempt that a person has selected, None where they have selected none."""
    with store.reading() as connection:
        own = _own_selection(connection, run_id, subject, reviewer)
    return None if own is None else own.number


def _store_selection(
    store: Store,
    run_id: int,
    subject: str,
    number: int | None,
    reviewer: Reviewer,
    request_key: str,
    now: datetime | None,
) -> int:
    """Store a selection, or its withdrawal where ``number`` is None."""
    key, at = checked_key(request_key), now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        attempts = lock_attempts(connection, run_id, subject)
        if attempts is None or (number is not None and number not in attempts):
            named = f"at {subject}" if number is None else f"{number} with an answer"
            raise NotFound(f"no attempt {named} in run {run_id}")
        stored = selected_by_key(connection, key)
        if stored is not None:
            if (stored.reviewer_id, stored.run_id, stored.subject) != (reviewer.id, run_id, subject):
                raise BadInput("this request key belongs to another press: every press needs its own")
            return stored.id
        before = _own_selection(connection, run_id, subject, reviewer)
        if number is None and before is None:
            raise DecisionRefused("You have selected no attempt here: there is nothing to undo.")
        chosen = before.number if number is None and before is not None else number or 0
        row = SelectedAttempt(0, run_id, subject, chosen, reviewer.id, reviewer.name, withdrawn=number is None, at=at)
        row_id = insert_selected(connection, row, replaces=None if before is None else before.id, request_key=key)
        details = {"selected_attempt": row_id, "run": run_id}
        details |= {"number": chosen} if number is not None or before is None else {"undone": before.id}
        about = attempts.get(0) or next(iter(attempts.values()), None)
        event = "deselect_attempt" if number is None else "select_attempt"
        record_event(connection, event, reviewer.name, response_id=about, details=details, now=at)
        return row_id


def _own_selection(connection: Connection, run_id: int, subject: str, reviewer: Reviewer) -> SelectedAttempt | None:
    selected = selected_attempts(connection, [run_id])
    return next((one for one in selected if (one.subject, one.reviewer_id) == (subject, reviewer.id)), None)

"""Attempts at an answer as a person looks at them: one after the other, which was kept, which should stand."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from judgeboard.refining.attempts import RefineRule
from judgeboard.refining.reflection import Outcome
from judgeboard.store.refine_candidates import REFLECT
from judgeboard.store.refinements import (
    AttemptsKey,
    OriginalAnswer,
    SelectedAttempt,
    StoredAttempt,
    StoredStep,
    attempts_with,
    read_original,
    selected_attempts,
    stored_attempts,
)
from judgeboard.store.runs.runs import StoredRun, get_run

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
    """The attempts of one run at one answer, in their order, with what people say of them (newest first).

    ``passed`` is whether the last attempt got the rating that the run asked for; None of reflection, which asks none.
    """

    run_id: int
    subject: str
    method: str
    judge: str
    at: datetime
    attempts: tuple[ShownAttempt, ...]
    passed: bool | None
    standing: tuple[SelectedAttempt, ...]

    @property
    def made(self) -> int:
        """How many attempts were made, the original left out."""
        return sum(one.number > 0 for one in self.attempts)

    @property
    def cost_micro(self) -> int | None:
        """What all of them cost in this run, in millionths; None as soon as one is unknown."""
        costs = [one.cost_micro for one in self.attempts if one.number > 0]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    def stands_by(self, reviewer_id: int) -> int | None:
        """Return the number of the attempt that a person wants to stand, None where they said nothing."""
        return next((one.number for one in self.standing if one.reviewer_id == reviewer_id), None)


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
        standing=tuple(one for one in people if (one.run_id, one.subject) == (key.run_id, key.subject)),
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


def _original(said: OriginalAnswer, *, kept: bool) -> ShownAttempt:
    return ShownAttempt(
        number=0,
        response_id=said.response_id,
        answer=said.answer,
        rating=None,
        groundedness=said.groundedness,
        quality=said.quality,
        reasoning=said.reasoning,
        feedback=None,
        cost_micro=None if said.judging is None else said.judging.cost_micro,
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


def _sum(answering: StoredStep, judging: StoredStep | None) -> int | None:
    costs = [step.cost_micro for step in (answering, judging) if step is not None]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def _note(stored: StoredAttempt) -> str | None:
    """Why there is no answer, or no usable judgment of it."""
    if stored.outcome == Outcome.IDENTICAL:
        return "The same text came back; it was not judged."
    if stored.response_id is None:
        return f"No answer: {stored.answering.error or stored.answering.status}"
    if stored.judging is None:
        return "Not judged yet."
    if stored.judging.status != "ok":
        return f"No usable judgment: {stored.judging.error or stored.judging.status}"
    return None

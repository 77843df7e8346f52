"""Attempts at an answer in the form for pages, and the attempts that people select."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from judgeboard.domain import Action, Status
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.methods.refining import queries
from judgeboard.methods.refining.refine import RefineRule
from judgeboard.methods.refining.reflect import Outcome
from judgeboard.methods.refining.tables import SelectedAttempt
from judgeboard.people.permissions import allowed
from judgeboard.reviews.checks import checked_key
from judgeboard.runs.generation import total_cost
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.judge_versions import version_titles
from judgeboard.store.reviewers import reviewer_names
from judgeboard.store.runs import get_run
from judgeboard.store.statements import record_of
from judgeboard.store.tables import JUDGMENT, RESPONSE, Reviewer

MOST_RUNS = 20


@dataclass(frozen=True, slots=True)
class ShownAttempt:
    """One attempt; number 0 is the original answer.

    ``answer`` is None if there is no answer (``note`` has the reason) or the text is forgotten.
    ``cost_micro`` is the cost of answer and judgment. ``kept`` marks the attempt that the method
    selected.
    """

    number: int
    response_id: int | None
    answer: str | None
    groundedness: float | None
    quality: int | None
    reasoning: str | None
    cost_micro: int | None
    kept: bool
    rating: int | None = None
    feedback: str | None = None
    note: str | None = None

    @property
    def name(self) -> str:
        """The attempt's name on pages."""
        return f"attempt {self.number}" if self.number else "the original"


@dataclass(frozen=True, slots=True)
class AttemptSequence:
    """The attempts of one run at one answer, in order. ``passed`` is None for reflection.

    ``selected`` is newest first; ``people`` has the names of reviewers by id.
    """

    run_id: int
    subject: str
    method: str
    judge: str
    at: datetime
    attempts: tuple[ShownAttempt, ...]
    passed: bool | None
    selected: tuple[SelectedAttempt, ...]
    people: Mapping[int, str]

    @property
    def made(self) -> int:
        """The number of attempts without the original."""
        return sum(attempt.number > 0 for attempt in self.attempts)

    @property
    def cost_micro(self) -> int | None:
        """The cost of all attempts of this run in millionths; None if any is unknown."""
        return total_cost(attempt.cost_micro for attempt in self.attempts if attempt.number > 0)

    def selected_by(self, reviewer_id: int) -> int | None:
        """Return the number of the attempt that a person has selected; None if there is none."""
        return next(
            (
                selection.number
                for selection in self.selected
                if selection.reviewer_id == reviewer_id
            ),
            None,
        )


def attempt_sequences(connection: Connection, response_id: int) -> tuple[AttemptSequence, ...]:
    """Return the attempts that started from an answer or produced the answer, of the last 20 runs, newest first."""
    keys = queries.attempts_with(connection, response_id, limit=MOST_RUNS)
    selections = (
        queries.selected_attempts(connection, [run_id for run_id, *_ in keys]) if keys else []
    )
    return tuple(_sequence(connection, *key, selections) for key in keys)


def _sequence(
    connection: Connection,
    run_id: int,
    subject: str,
    method: str,
    selections: Sequence[SelectedAttempt],
) -> AttemptSequence:
    run = get_run(connection, run_id)
    stored_attempts = queries.stored_attempts(connection, run_id, [subject]).get(subject, [])
    rule = None
    selected_number: int | None = int(
        any(attempt.outcome == Outcome.KEPT_NEW for attempt in stored_attempts)
    )
    if method != queries.REFLECT:
        options = run.filter.get("rule", {})
        names = ("success_rating", "max_repeats", "keep")
        rule = RefineRule(**{name: options[name] for name in names if name in options})
        selected_number = rule.selected_number(
            [(attempt.number, attempt.rating) for attempt in stored_attempts if attempt.response_id]
        )
    attempts = [
        record_of(
            ShownAttempt,
            attempt,
            quality=attempt.quality if attempt.rating is None else None,
            reasoning=attempt.evaluation,
            cost_micro=total_cost(
                step.cost_micro for step in (attempt.answering, attempt.judging) if step is not None
            ),
            kept=attempt.number == selected_number,
            note=_note(attempt),
        )
        for attempt in stored_attempts
    ]
    last = next(
        (attempt for attempt in reversed(stored_attempts) if attempt.root_response_id is not None),
        None,
    )
    if last is not None:
        # The answer that the attempts started from, with the judgment if there is one.
        columns = ("groundedness", "quality", "reasoning", "cost_micro")
        query = (
            select(
                RESPONSE.c.id.label("response_id"),
                RESPONSE.c.answer,
                *(JUDGMENT.c[name] for name in columns),
            )
            .select_from(RESPONSE)
            .outerjoin(JUDGMENT, JUDGMENT.c.id == last.judgment_before_id)
            .where(RESPONSE.c.id == last.root_response_id)
        )
        original = (
            record_of(ShownAttempt, row, number=0, kept=selected_number == 0)
            for row in connection.execute(query)
        )
        attempts = [*original, *attempts]
    # A selection would reveal an attempt that is hidden from this reader.
    keys = {(run_id, subject, attempt.number) for attempt in attempts}
    return AttemptSequence(
        run_id=run.id,
        subject=subject,
        method=method,
        judge=version_titles(connection).get(run.judge_version_id or 0, ""),
        at=run.started_at,
        attempts=tuple(attempts),
        passed=None
        if rule is None or not stored_attempts
        else rule.succeeds(stored_attempts[-1].rating),
        selected=tuple(
            each for each in selections if (each.run_id, each.subject, each.number) in keys
        ),
        people=reviewer_names(connection) if selections else {},
    )


def _note(attempt: queries.StoredAttempt) -> str | None:
    if attempt.outcome == Outcome.IDENTICAL:
        return "The model returned the same text. It was not judged."
    if attempt.response_id is None:
        return f"No answer: {attempt.answering.error or attempt.answering.status.value}"
    if attempt.judging is None:
        return "Not judged yet."
    if attempt.judging.status is not Status.OK:
        return f"No usable judgment: {attempt.judging.error or attempt.judging.status.value}"
    return None


def select_attempt(
    store: Store,
    *,
    run_id: int,
    subject: str,
    number: int | None,
    reviewer: Reviewer,
    request_key: str,
    now: datetime | None = None,
) -> int:
    """Store that a person selects an attempt, instead of an earlier selection. Return the id of the row.

    Number 0 is the logged answer, None withdraws the selection. A repeated ``request_key`` stores
    nothing new. Raises NotAllowed, NotFound, BadInput or DecisionRefused.
    """
    key, at = checked_key(request_key), now or utc_now()
    with allowed(store, reviewer, Action.REVIEW) as connection:
        attempts = queries.lock_attempts(connection, run_id, subject)
        if attempts is None or (number is not None and number not in attempts):
            words = f"at {subject}" if number is None else f"{number} with an answer"
            raise NotFound(f"no attempt {words} in run {run_id}")
        stored_selection = queries.selected_by_key(connection, key)
        if stored_selection is not None:
            if (
                stored_selection.reviewer_id,
                stored_selection.run_id,
                stored_selection.subject,
            ) != (
                reviewer.id,
                run_id,
                subject,
            ):
                raise BadInput(
                    "this request key belongs to another request: each request needs its own key"
                )
            return stored_selection.id
        before = _own_selection(connection, run_id, subject, reviewer)
        if number is not None:
            selected_number, change = number, {"number": number}
        elif before is not None:
            selected_number, change = before.number, {"undone": before.id}
        else:
            raise DecisionRefused(
                "You have not selected an attempt here. There is nothing to undo."
            )
        row = SelectedAttempt(
            run_id=run_id,
            reviewer_id=reviewer.id,
            subject=subject,
            request_key=key,
            number=selected_number,
            withdrawn=number is None,
            replaces=None if before is None else before.id,
            at=at,
        )
        row_id = queries.insert_selected(connection, row)
        details = {"selected_attempt": row_id, "run": run_id} | change
        about = attempts.get(0) or next(iter(attempts.values()), None)
        event = "deselect_attempt" if number is None else "select_attempt"
        record_event(connection, event, reviewer.name, response_id=about, details=details, now=at)
        return row_id


def selected_attempt(store: Store, run_id: int, subject: str, reviewer: Reviewer) -> int | None:
    """Return the number of the attempt that a person has selected; None if there is none."""
    with store.reading() as connection:
        selection = _own_selection(connection, run_id, subject, reviewer)
    return None if selection is None else selection.number


def _own_selection(
    connection: Connection, run_id: int, subject: str, reviewer: Reviewer
) -> SelectedAttempt | None:
    selections = queries.selected_attempts(connection, [run_id])
    return next(
        (each for each in selections if (each.subject, each.reviewer_id) == (subject, reviewer.id)),
        None,
    )

"""Stores the reviews of judgments by supreme judges, of audits and of files: a signal that raises flags."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from judgeboard.domain import StepRecord
from judgeboard.flags.rules import RULES, SUPREME_DISAGREES
from judgeboard.store.clock import utc_now
from judgeboard.store.flags import update_flags
from judgeboard.store.judgments import read_responses, read_states, step_values
from judgeboard.store.settings import rules_in_force
from judgeboard.store.statements import batches, insert_or_skip, rows_with
from judgeboard.store.tables import JUDGMENT_REVIEW


@dataclass(frozen=True, slots=True)
class NewJudgmentReview:
    """A review to store; ``probability`` is the sampling rate with which the judgment was selected."""

    response_id: int
    judgment_id: int
    ask: int
    correct: bool | None
    record: StepRecord
    probability: float = 1.0
    reasoning: str | None = None


def recorded_reviews(
    connection: Connection, judgment_ids: Collection[int]
) -> dict[tuple[int, int, int], tuple[str, bool | None]]:
    """Return the status and the result of reviews of these judgments, by supreme version's id, judgment id and ask."""
    columns = (
        JUDGMENT_REVIEW.c[name]
        for name in ("judge_version_id", "judgment_id", "ask", "status", "correct")
    )
    rows = rows_with(connection, select(*columns), JUDGMENT_REVIEW.c.judgment_id, judgment_ids)
    return {
        (version, judgment, ask): (status, correct)
        for version, judgment, ask, status, correct in rows
    }


def store_judgment_reviews(
    connection: Connection,
    supreme_id: int,
    run_id: int | None,
    reviews: Sequence[NewJudgmentReview],
    now: datetime | None = None,
) -> int:
    """Store reviews, raise flags, and return the number of new reviews.

    A review that is already stored (same judgment, version and ask) does not change. Raises
    NotFound if a response is not stored.
    """
    now = now or utc_now()
    new_count = 0
    statement = insert_or_skip(
        connection, JUDGMENT_REVIEW, "judgment_id", "judge_version_id", "ask"
    )
    for batch in batches(reviews):
        responses = read_responses(connection, {review.response_id for review in batch}, lock=True)
        rows = [
            {
                "judgment_id": review.judgment_id,
                "judge_version_id": supreme_id,
                "ask": review.ask,
                "correct": review.correct,
                "reasoning": review.reasoning,
                "inclusion_probability": review.probability,
                **step_values(review.record, run_id, now),
            }
            for review in batch
        ]
        new_count += connection.execute(
            statement, rows, execution_options={"preserve_rowcount": True}
        ).rowcount
        states = read_states(connection, responses)
        update_flags(
            connection, states, (RULES[SUPREME_DISAGREES],), rules_in_force(connection), now
        )
    return new_count

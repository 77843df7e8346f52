"""The tables of attempts at better answers."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Index, UniqueConstraint

from judgeboard.store.clock import utc_now
from judgeboard.store.columns import BigId, Stored, Utc, column, table_of


class Refinement(
    Stored,
    table=True,
    keeps_run=True,
    of_responses="OLD.root_response_id, OLD.response_id",
    began_with="root_response_id",
):
    """The result of one attempt at a better answer: its judgment and the outcome.

    `root_response_id` is NULL if the attempts started from a prompt.
    """

    run_id: int = column(BigId, refers="run")
    method: str
    subject: str
    outcome: str
    number: int
    root_response_id: int | None = column(BigId, refers="response", reads=True)
    response_id: int | None = column(BigId, refers="response", default=None)
    judgment_id: int | None = column(BigId, refers="judgment", default=None)
    judgment_before_id: int | None = column(BigId, refers="judgment", default=None)
    rating: int | None = None
    feedback: str | None = column(default=None, forgotten=True)
    created_at: datetime = column(Utc, default_factory=utc_now)

    __table_args__ = (
        UniqueConstraint("run_id", "subject", "number"),
        CheckConstraint("method IN ('reflect', 'refine')", name="method"),
        Index("ix_refinement_root", "root_response_id"),
        Index("ix_refinement_response", "response_id"),
    )


REFINEMENT = table_of(Refinement)


class SelectedAttempt(Stored, table=True, has_hidden_rows=False):
    """The attempt that a person selected, 0 for the original answer; undo is a row too."""

    run_id: int = column(BigId, refers="run")
    reviewer_id: int = column(BigId, refers="reviewer")
    subject: str
    request_key: str = column(exported=False)
    number: int
    withdrawn: bool = column(default=False)
    replaces: int | None = column(BigId, refers="selected_attempt", default=None)
    at: datetime = column(Utc)

    __table_args__ = (
        UniqueConstraint("request_key"),
        UniqueConstraint("replaces"),
        Index("ix_selected_attempt_run", "run_id", "subject"),
    )


SELECTED_ATTEMPT = table_of(SelectedAttempt)

"""The tables of suites."""

from datetime import datetime

from sqlalchemy import Index, UniqueConstraint

from judgeboard.store.clock import utc_now
from judgeboard.store.columns import BigId, JsonData, JsonValue, Stored, Utc, column, table_of


class SuiteRun(Stored, table=True, has_hidden_rows=False, keeps_run=True):
    """A suite as it was run: its cases, candidate and gate; the run row has the state and the end."""

    run_id: int = column(BigId, refers="run")
    judge_version_id: int = column(BigId, refers="judge_version")
    name: str
    spec_hash: str
    candidate: str
    spec: JsonData = column(JsonValue, default_factory=dict)
    created_at: datetime = column(Utc)

    __table_args__ = (
        UniqueConstraint("run_id"),
        Index("ix_suite_run_name", "name", "id"),
    )


SUITE_RUN = table_of(SuiteRun)


class SuiteCase(Stored, table=True):
    """The result of one case of a suite run: the candidate's answer, its judgment and its programmatic checks."""

    suite_run_id: int = column(BigId, refers="suite_run")
    position: int
    case_key: str = column(comment="Hash of the case, equal in every run.")
    response_id: int | None = column(BigId, refers="response", default=None)
    judgment_id: int | None = column(BigId, refers="judgment", default=None)
    checks: JsonData | None = column(JsonValue, default=None)
    score: float | None = None
    reason: str | None = column(default=None, comment="Why the score is not available.")
    created_at: datetime = column(Utc, default_factory=utc_now)

    __table_args__ = (
        UniqueConstraint("suite_run_id", "position"),
        Index("ix_suite_case_response", "response_id"),
    )


SUITE_CASE = table_of(SuiteCase)

"""What stands on the item page beside the answer: feedback, judgments, flags, reviews."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from judgeboard.domain import Claim, ClaimMark


@dataclass(frozen=True, slots=True)
class ItemFeedback:
    """What the user said: ``value`` on its scale, ``words`` as "thumbs down" or "2 stars"."""

    kind: str
    value: float
    words: str
    user: str | None
    at: datetime | None


@dataclass(frozen=True, slots=True)
class ItemJudgment:
    """A judgment with the title of its judge version ("rag v3"); ``raw`` is what the model answered."""

    id: int
    judge_version_id: int
    judge_kind: str
    judge_name: str
    version_title: str
    model: str | None
    run_id: int | None
    ask: int
    repeat: int
    status: str
    groundedness: float | None
    quality: int | None
    label: str | None
    reasoning: str | None
    claims: tuple[Claim, ...] | None
    raw: str | None
    error: str | None
    model_reported: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_micro: int | None
    latency_ms: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ItemFlag:
    """A flag with its reason in one sentence; ``decided_before_id`` names a flag of the same rule decided earlier."""

    id: int
    rule: str
    state: str
    why: str
    severity: float
    judgment_id: int | None
    decided_before_id: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ItemReview:
    """A review with its reviewer's name; one that does not stand was replaced, or withdraws another."""

    id: int
    flag_id: int | None
    reviewer_id: int
    reviewer: str
    origin: str
    stage: str | None
    decision: str | None
    label: str | None
    groundedness: float | None
    quality: int | None
    spans: tuple[dict[str, Any], ...] | None
    note: str | None
    corrected_answer: str | None
    seconds: float | None
    judgment_seen_id: int | None
    replaces: int | None
    stands: bool
    at: datetime
    scored: int = 0  # dimensions of a rubric
    claim_marks: tuple[ClaimMark, ...] = ()
    why_differs: str | None = None

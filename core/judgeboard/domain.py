"""The value types of Judgeboard: frozen, validated on construction, without I/O."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Role(StrEnum):
    """A person's role; each role includes the permissions of the one before it. ``none`` is a removed person."""

    NONE = "none"
    VIEWER = "viewer"
    REVIEWER = "reviewer"
    LEAD = "lead"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """0 to 4, from ``none`` to ``admin``."""
        return list(Role).index(self)


ROLES = tuple(role for role in Role if role is not Role.NONE)
"""The roles that an admin gives to people."""


class Stage(StrEnum):
    """When a review was given: before its author saw the judge, after, or as the last word on a split."""

    BLIND = "blind"
    REVEALED = "revealed"
    ADJUDICATION = "adjudication"


class WhyDiffers(StrEnum):
    """Why a person and the judge differ on an answer, in the person's opinion."""

    MISSED_SUPPORT = "missed_support"
    FLUENT_TEXT = "fluent_text"
    REFUSAL = "refusal"
    PARTIAL_SUPPORT = "partial_support"
    RUBRIC_UNCLEAR = "rubric_unclear"
    PERSON = "person"
    OTHER = "other"


class QueueState(StrEnum):
    """A closed queue hands out nothing, and its open items hold no flag open."""

    OPEN = "open"
    CLOSED = "closed"


class QueueOrder(StrEnum):
    """Which item of a queue comes first; all but ``oldest`` and ``random`` are made from judges' scores."""

    SEVERITY = "severity"
    OLDEST = "oldest"
    DISAGREEMENT = "disagreement"
    INSTABILITY = "instability"
    RANDOM = "random"


class ItemState(StrEnum):
    """Where a queue item is: ``left`` stopped matching before anybody reviewed it."""

    OPEN = "open"
    SETTLED = "settled"
    SPLIT = "split"
    ADJUDICATED = "adjudicated"
    LEFT = "left"


class ResponseKind(StrEnum):
    """Where a response comes from; pages and statistics read ``log`` unless they say otherwise."""

    LOG = "log"
    CONTROL = "control"
    REGENERATED = "regenerated"
    CANDIDATE = "candidate"
    PAIR_SIDE = "pair_side"


class Status(StrEnum):
    """What became of one request to a judge; only ``ok`` carries a verdict."""

    OK = "ok"
    UNPARSABLE = "unparsable"
    REFUSED = "refused"
    ERROR = "error"


class Label(StrEnum):
    """A two-valued verdict, stored as it was given and never derived on write."""

    GROUNDED = "grounded"
    HALLUCINATED = "hallucinated"


class ClaimStatus(StrEnum):
    """What a judge says of one statement inside an answer."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"


class FeedbackKind(StrEnum):
    """The scale on which a user spoke: thumbs (1 up, 0 down) or stars (1 to 5)."""

    THUMBS = "thumbs"
    STARS = "stars"


class FlagState(StrEnum):
    """Derived from reviews and from newer judgments or feedback."""

    OPEN = "open"
    CONFIRMED = "confirmed"
    DISMISSED = "dismissed"
    SUPERSEDED = "superseded"


class Decision(StrEnum):
    """What a reviewer said of a flag; ``withdrawn`` takes an earlier review back."""

    CONFIRM = "confirm"
    DISMISS = "dismiss"
    UNSURE = "unsure"
    WITHDRAWN = "withdrawn"


class RunState(StrEnum):
    """``running`` without a live owner can be resumed."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"


class Preference(StrEnum):
    """Which of two answers is better, in terms of the stored answers, whatever the order shown."""

    A = "a"
    B = "b"
    TIE = "tie"


class Shown(StrEnum):
    """The order in which a pair was shown: the stored answer A first, or B."""

    AB = "ab"
    BA = "ba"


def checked_groundedness(value: float | None) -> float | None:
    """Return a groundedness in 0..1 (or None, unmeasured); raise ValueError otherwise. ``True`` is not 1."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"groundedness must be a number from 0 to 1, not {value!r}")
    if not 0 <= value <= 1:
        raise ValueError(f"groundedness {value:g} is {'above 1' if value > 1 else 'below 0'}")
    return float(value)


def checked_quality(value: int | None) -> int | None:
    """Return a quality in 1..4 (or None, unmeasured); raise ValueError otherwise. ``3.0`` is not a quality."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"quality must be an integer from 1 to 4, not {value!r}")
    if not 1 <= value <= 4:
        raise ValueError(f"quality {value} is {'above 4' if value > 4 else 'below 1'}")
    return value


@dataclass(frozen=True, slots=True)
class Feedback:
    """What the user of the assistant said: ``value`` is 0 or 1 for thumbs, 1 to 5 for stars; ``at`` is UTC."""

    kind: FeedbackKind
    value: float
    user: str | None = None
    at: datetime | None = None

    def __post_init__(self) -> None:
        low, high = (0, 1) if self.kind is FeedbackKind.THUMBS else (1, 5)
        if isinstance(self.value, bool) or not math.isfinite(self.value) or not low <= self.value <= high:
            raise ValueError(f"{self.kind} feedback must lie from {low} to {high}, not {self.value!r}")
        if self.kind is FeedbackKind.THUMBS and self.value not in {0, 1}:
            raise ValueError(f"thumbs feedback is 0 (down) or 1 (up), not {self.value!r}")

    @property
    def quality(self) -> float:
        """The same on the quality scale: thumbs up 4, down 1; stars 1 + (stars - 1) * 0.75."""
        if self.kind is FeedbackKind.THUMBS:
            return 4.0 if self.value == 1 else 1.0
        return 1 + (self.value - 1) * 0.75


@dataclass(frozen=True, slots=True)
class Response:
    """A logged answer with its query and passages, before it is stored.

    ``passages`` None means that the log did not carry them; an empty tuple means that nothing was retrieved.
    ``derived_from`` is the stored response that a made answer (any ``kind`` but log) was made from.
    """

    source: str
    external_id: str
    query: str
    answer: str
    passages: tuple[str, ...] | None = None
    query_type: str = "unspecified"
    generator_model: str | None = None
    generator_cost: float | None = None
    messages: tuple[dict[str, Any], ...] | None = None
    reference: str | None = None
    asked_at: datetime | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    kind: ResponseKind = ResponseKind.LOG
    feedback: tuple[Feedback, ...] = ()
    derived_from: int | None = None


@dataclass(frozen=True, slots=True)
class JudgeInput:
    """What a judge is shown of a stored response."""

    response_id: int
    query: str
    answer: str
    passages: tuple[str, ...] | None
    query_type: str = "unspecified"
    reference: str | None = None
    external_id: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of the answer as a judge saw it; quotes are verbatim or marked as not found.

    ``passage`` counts from 1. ``answer_start``/``answer_end`` are offsets into the stored answer, None where the
    quote was not found there; ``passage_start``/``passage_end`` likewise into that passage.
    """

    text: str
    status: ClaimStatus
    answer_quote: str | None = None
    passage: int | None = None
    passage_quote: str | None = None
    answer_start: int | None = None
    answer_end: int | None = None
    passage_start: int | None = None
    passage_end: int | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call to a model: why it was made, what came of it, its raw text, tokens and duration."""

    why: str  # first | retry | repair | format | parameter
    status: str  # ok | http_<code> | timeout | connection | unparsable | refused | truncated | raised
    raw: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_ms: int | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class StepRecord:
    """The account of one step, a request to a model with its repair: what came of it, as it came, what it took.

    ``raw`` is the model's last text; ``cost_micro`` is in millionths of the price file's currency; None is unknown.
    """

    status: Status
    raw: str | None = None
    model_reported: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_micro: int | None = None
    latency_ms: int | None = None
    attempts: tuple[Attempt, ...] = ()
    reply_format: str | None = None
    dropped_parameters: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class DimensionScore:
    """A judge's score on a dimension of its own; ``value`` None is not scored, ``scale`` reads like "1-5"."""

    dimension: str
    value: float | None
    scale: str
    reasoning: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one request to a judge gave: a usable verdict (status ok) or the reason why there is none.

    ``cost_micro`` is in millionths of the price file's currency; None is unknown, never 0.
    """

    status: Status
    groundedness: float | None = None
    quality: int | None = None
    label: Label | None = None
    reasoning: str | None = None
    claims: tuple[Claim, ...] | None = None
    raw: str | None = None
    model_reported: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_micro: int | None = None
    latency_ms: int | None = None
    attempts: tuple[Attempt, ...] = ()
    reply_format: str | None = None
    dropped_parameters: tuple[str, ...] = ()
    error: str | None = None
    scores: tuple[DimensionScore, ...] = ()

    @classmethod
    def of(cls, record: StepRecord, **said: Any) -> "Verdict":
        """Return the verdict of a step: its account, and what was ``said`` (the other fields) where it is usable."""
        account = {name: getattr(record, name) for name in StepRecord.__dataclass_fields__}
        return cls(**account, **said)

    def __post_init__(self) -> None:
        checked_groundedness(self.groundedness)
        checked_quality(self.quality)
        if self.status is not Status.OK and any(score.value is not None for score in self.scores):
            raise ValueError(f"a judgment that is {self.status} carries no score")
        if self.status is not Status.OK and (self.groundedness, self.quality, self.label) != (None, None, None):
            raise ValueError(f"a judgment that is {self.status} carries no verdict")


@dataclass(frozen=True, slots=True)
class JudgeVersion:
    """A judge exactly as it judged: content-addressed by ``fingerprint`` (store.judgments.judge_versions), immutable.

    ``kind`` is the kind of judge (rag, lexical, replay, …); ``name`` is what people call it and what *current* and
    *primary* go by; ``params`` holds everything that changes a verdict (temperature, maximum output, domain, …).
    """

    name: str
    kind: str
    model: str | None = None
    params: dict[str, Any] = field(default_factory=dict)
    prompt: str | None = None
    scale: str = "groundedness 0-1, quality 1-4"


@dataclass(frozen=True, slots=True)
class ClaimMark:
    """What a person says of one statement of an answer: of a judge's claim, or of a sentence.

    ``start``/``end`` are offsets into the stored answer, None where a judge's quote does not stand there. A mark on a
    claim names the judgment and the claim's ``number`` in it, from 1; one on a sentence names neither.
    """

    status: ClaimStatus
    text: str = ""
    start: int | None = None
    end: int | None = None
    judgment_id: int | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Grade:
    """What a person gives an answer; every part may be missing.

    ``scores`` are on the dimensions of a rubric, ``claim_marks`` on single statements; ``why_differs`` is why the
    person thinks otherwise than the judge whose verdict they saw.
    """

    label: Label | None = None
    groundedness: float | None = None
    quality: int | None = None
    spans: tuple[dict[str, Any], ...] | None = None
    note: str | None = None
    corrected_answer: str | None = None
    scores: tuple[DimensionScore, ...] = ()
    claim_marks: tuple[ClaimMark, ...] = ()
    why_differs: WhyDiffers | None = None

    def __post_init__(self) -> None:
        checked_groundedness(self.groundedness)
        checked_quality(self.quality)


@dataclass(frozen=True, slots=True)
class ImportedGrade:
    """A person's grade from a file, still naming its response by the outside id; ``scores`` are on their own scales."""

    response_id: str
    annotator: str
    grade: Grade
    source: str | None = None
    at: datetime | None = None
    scores: tuple[DimensionScore, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportedVerdict:
    """A verdict recorded elsewhere, still naming its response by the outside id."""

    response_id: str
    judge: str
    verdict: Verdict
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row of a file that cannot come in: where it stands, which field, why, and the row itself."""

    line: int
    field: str | None
    reason: str
    row: Any
    conflict: bool = False


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic with its interval: ``value`` None is undefined, and ``reason`` says why.

    ``n`` counts the responses (or rows) it rests on, ``method`` names the interval, ``unit`` what was resampled,
    ``level`` how often such intervals hold the truth. ``left_out`` says what was not counted, as (why, how many).
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    method: str | None = None
    unit: str | None = None
    reason: str | None = None
    level: float = 0.95
    left_out: tuple[tuple[str, int], ...] = ()


OVERALL = "overall"
"""The aspect of a preference that names none."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to one question, before they are stored; without answers it is a question that was sampled.

    ``response_a``/``response_b`` are outside ids of logged responses that the answers were taken from. ``sides`` are
    the ids of two stored responses where these are themselves the answers: no copies are stored then.
    """

    source: str
    external_id: str
    question: str
    answer_a: str | None = None
    answer_b: str | None = None
    query_type: str = "unspecified"
    options: tuple[str, ...] | None = None
    reference: str | None = None
    model_a: str | None = None
    model_b: str | None = None
    response_a: str | None = None
    response_b: str | None = None
    gold: Preference | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    sides: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if (self.answer_a is None) != (self.answer_b is None):
            raise ValueError("a pair has two answers, or none where only samples were recorded")


@dataclass(frozen=True, slots=True)
class AspectPreference:
    """What a person says of a pair on one aspect: a side, a grade on a scale (above 0: B is better), or both."""

    preference: Preference | None = None
    value: float | None = None
    scale: str | None = None

    def __post_init__(self) -> None:
        if self.preference is None and self.value is None:
            raise ValueError("no preference: name a side, a tie or a grade")
        if (self.value is None) != (self.scale is None):
            raise ValueError("a grade needs its scale")


@dataclass(frozen=True, slots=True)
class GivenPreference:
    """A person's preference from a file: what they said by aspect, in which order the answers were ``shown``."""

    annotator: str
    aspects: Mapping[str, AspectPreference]
    shown: Shown | None = None
    note: str | None = None
    at: datetime | None = None


RECORDED = "replay"
"""Verdicts that came in by an import."""
JURY = "jury"
"""One verdict made of several judges' ones."""
REPEATS = "repeats"
"""One verdict made of several by the same judge."""
AUDIT = "audit"
"""A supreme judge's: it judges the judgments of another."""

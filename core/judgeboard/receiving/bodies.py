"""The JSON bodies of requests, as `/api/docs` and OpenAPI describe them: the fields, their types, and an example.

Answers, judgments and feedback are read by the importers, which also know other names of the fields. A test compares
the fields and types here with what the importers take.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from judgeboard.traces.sdk_requests import RequestBody

Name = str | int
"""An id or a name."""
Time = str | float
"""A time in ISO 8601, or seconds since 1970."""
Thumbs = Literal["up", "down", -1, 0, 1] | bool
"""A user's thumbs: 1 and True are up, -1, 0 and False are down."""


class SentAnswer(RequestBody):
    """An answer with its question. Fields that are not listed are kept in its metadata; the reply names them."""

    example: ClassVar[Mapping[str, Any]] = {
        "external_id": "answer-1",
        "source": "shop",
        "query": "At what temperature does nylon melt?",
        "answer": "Nylon melts at about 250 °C.",
        "context": ["Slings. Nylon melts at about 250 °C."],
        "generator_model": "gpt-4o-mini",
    }

    external_id: Name | None = Field(
        None, description="Id of the answer at your side, also `id` (default: from the content)."
    )
    source: Name | None = Field(None, description="Name of the assistant (default: that of the key, or `default`).")
    query: str = Field(description="The question, also `question`, `input` or `prompt`.")
    answer: str = Field(description="The answer, also `response` or `output`.")
    context: list[str | dict[str, Any]] | dict[str, Any] | str | None = Field(
        None, description="The retrieved passages, also `passages` or `contexts`: texts, or objects with a `text`."
    )
    query_type: Name | None = Field(None, description="Type of the question, to compare slices.")
    generator_model: Name | None = Field(None, description="The model that answered, also `model`.")
    generator_cost: float | None = Field(None, ge=0, description="Cost of the answer, in your currency.")
    messages: list[dict[str, Any]] | None = Field(None, description="Earlier messages, each with `role` and `content`.")
    reference: str | list[str] | None = Field(None, description="The right answer, also `ground_truth`.")
    asked_at: Time | None = Field(None, description="Time of the question in ISO 8601, also `timestamp`.")
    metadata: dict[str, Any] | None = Field(None, description="What else is known.")
    thumbs: Thumbs | None = Field(None, description="Feedback of the user.")
    stars: float | None = Field(None, ge=1, le=5, description="Feedback of the user, 1 to 5 stars.")
    feedback: list[dict[str, Any]] | dict[str, Any] | str | float | bool | None = Field(
        None, description='Feedback of users: `{"thumbs": "up", "user": "ann"}` or a list.'
    )


class SentJudgment(RequestBody):
    """A judge's verdict on a stored answer: groundedness, quality, a label or scores, or a status without a verdict.

    Another verdict of the same judge version on the answer is a newer one. The reply names fields that are not listed;
    they are not stored.
    """

    example: ClassVar[Mapping[str, Any]] = {
        "external_id": "answer-1",
        "source": "shop",
        "judge": "my judge",
        "judge_version": "2026-10",
        "judge_model": "gpt-4o",
        "groundedness": 0.4,
        "quality": 2,
        "reasoning": "The passages name another temperature.",
    }

    external_id: Name = Field(description="Id of the answer, also `response_id`, `trace_id` or `id`.")
    source: Name | None = Field(None, description="Source of the answer, if several sources have its id.")
    judge: Name = Field(description="Name of the judge. Each name has its own version numbers.")
    judge_version: Name | None = Field(None, description="Any text that names the version of the judge.")
    judge_model: Name | None = Field(None, description="The model of the judge, a part of its version.")
    groundedness: float | None = Field(None, ge=0, le=1, description="How far the passages support the answer.")
    quality: float | None = Field(None, description="1 (bad) to 4 (good), or a score on `scale`.")
    label: Literal["grounded", "hallucinated", 0, 1] | bool | None = Field(
        None, description="Also true and false, pass and fail …"
    )
    scores: dict[str, Any] | None = Field(
        None, description='Scores by name, on `scale`, or each with its own: `{"tone": {"value": 4, "scale": "1-5"}}`.'
    )
    scale: str | None = Field(
        None, description="Scale of `quality` and `scores`, such as 1-5. Without it, quality is 1-4."
    )
    reasoning: str | None = Field(None, description="Why the judge decided so.")
    claims: list[dict[str, Any]] | None = Field(
        None,
        description="Statements of the answer: `text`, `status` (supported, unsupported, contradicted), "
        "`answer_quote`, `passage` (from 1), `passage_quote`.",
    )
    raw: Any = Field(None, description="The reply of the judge's model.")
    status: Literal["ok", "unparsable", "refused", "error"] | None = Field(
        None, description="Why there is no verdict (default: ok)."
    )
    error: str | None = Field(None, description="The error, if there is no verdict.")


class SentFeedback(RequestBody):
    """Feedback of a user on the answer that one of ``response_id``, ``trace_id`` and ``span_id`` names.

    It may come before its answer.
    """

    example: ClassVar[Mapping[str, Any]] = {
        "response_id": "answer-1",
        "source": "shop",
        "thumbs": "down",
        "user": "ann",
    }

    response_id: Name | None = Field(None, description="Id of the answer.")
    trace_id: Name | None = Field(None, description="Id of the trace of the answer.")
    span_id: Name | None = Field(None, description="Id of a span of that trace.")
    source: Name | None = Field(None, description="Source of the answer (default: that of the key, or any).")
    thumbs: Thumbs | None = Field(None, description="Needed, unless there are `stars`.")
    stars: float | None = Field(None, ge=1, le=5)
    kind: Literal["thumbs", "stars"] | None = Field(None, description="Instead: the scale of `value`.")
    value: float | str | bool | None = None
    user: str | None = Field(None, description="Who gave the feedback.")
    at: Time | None = Field(None, description="Time in ISO 8601.")


_SPAN = {
    "traceId": "0af7651916cd43dd8448eb211c80319c",
    "spanId": "b7ad6b7169203331",
    "name": "answer",
    "startTimeUnixNano": "1780000000000000000",
    "endTimeUnixNano": "1780000001000000000",
    "attributes": [
        {"key": "question", "value": {"stringValue": "At what temperature does nylon melt?"}},
        {"key": "answer", "value": {"stringValue": "Nylon melts at about 250 °C."}},
    ],
}
_SCORE_RECORD = {
    "traceId": "0af7651916cd43dd8448eb211c80319c",
    "spanId": "b7ad6b7169203331",
    "timeUnixNano": "1780000002000000000",
    "eventName": "gen_ai.evaluation.result",
    "attributes": [
        {"key": "gen_ai.evaluation.name", "value": {"stringValue": "groundedness"}},
        {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 0.4}},
    ],
}
_SERVICE = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}


class SentSpans(RequestBody):
    """Spans in the JSON of OTLP. As protobuf, send them as application/x-protobuf."""

    example: ClassVar[Mapping[str, Any]] = {
        "resourceSpans": [{"resource": _SERVICE, "scopeSpans": [{"spans": [_SPAN]}]}]
    }

    resourceSpans: list[dict[str, Any]] = Field(  # noqa: N815 - the name in OTLP
        [], description="Resources, each with `scopeSpans` and their `spans`."
    )


class SentLogs(RequestBody):
    """Log records in the JSON of OTLP. As protobuf, send them as application/x-protobuf."""

    example: ClassVar[Mapping[str, Any]] = {
        "resourceLogs": [{"resource": _SERVICE, "scopeLogs": [{"logRecords": [_SCORE_RECORD]}]}]
    }

    resourceLogs: list[dict[str, Any]] = Field(  # noqa: N815 - the name in OTLP
        [], description="Resources, each with `scopeLogs` and their `logRecords`."
    )

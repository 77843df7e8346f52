"""Spans and log records of OpenTelemetry in plain Python values, and the part that a dialect reads from a span."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """An event of a span; ``at_ns`` is nanoseconds since 1970-01-01 UTC."""

    name: str
    at_ns: int
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Span:
    """One operation of a trace.

    Ids are lower-case hexadecimal texts (32 digits for the trace, 16 for spans). Times are
    nanoseconds since 1970-01-01 UTC. ``scope`` is the name of the instrumentation library.
    Attributes are texts, numbers, booleans, lists and dicts; JSON texts stay texts. ``error`` is
    the status message if the status is an error, else None. ``remote_parent`` is whether the parent
    belongs to another process, None if unknown.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    started_ns: int
    ended_ns: int
    scope: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    resource: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    error: str | None = None
    remote_parent: bool | None = None


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A log record of a span, with the ids and units of `Span`; ``event`` is the event name, or ""."""

    trace_id: str
    span_id: str
    event: str
    at_ns: int
    body: Any = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    resource: Mapping[str, Any] = field(default_factory=dict)


def exception_of(events: Iterable[SpanEvent]) -> str | None:
    """Return the message of the exception that a span recorded, if any."""
    messages = (
        each.attributes.get("exception.message") for each in events if each.name == "exception"
    )
    return next((text for text in messages if isinstance(text, str) and text.strip()), None)


class Operation(StrEnum):
    """The kind of work of a span."""

    APP = "app"  # the assistant as a whole, or a step of it
    MODEL = "model"  # a call of a language model
    RETRIEVAL = "retrieval"
    RERANKING = "reranking"  # orders retrieved passages, and may leave some out
    TOOL = "tool"
    CHECK = "check"  # a guardrail or an evaluation
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrieved passage. ``text`` is None if the trace has only the id."""

    text: str | None
    id: str | None = None
    score: float | None = None
    source: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


NOTHING: tuple[object, ...] = (None, (), {})
"""The values of a field that a dialect did not find."""


@dataclass(frozen=True, slots=True)
class Part:
    """The fields that a dialect reads from one span.

    ``question`` and ``answer`` are the texts of input and output; a question is the text of a user,
    or for a model call the last message of the user. ``messages`` are all messages of a model call,
    the answer excluded, as mappings with ``role`` and ``content``. ``passages`` is None if the span
    is not a retrieval or has no content. ``context`` has the passages in one text, as a variable of
    a prompt. ``cost`` is in the currency of the log. ``missing`` says how to get content that the
    instrumentation left out, else None.
    """

    dialect: str
    operation: Operation
    question: str | None = None
    answer: str | None = None
    messages: tuple[Mapping[str, Any], ...] = ()
    passages: tuple[Passage, ...] | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    session: str | None = None
    user: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    missing: str | None = None
    context: str | None = None

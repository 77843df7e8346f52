"""Spans and log records of OpenTelemetry, in plain Python values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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

    Ids are lower-case hexadecimal texts (32 digits for the trace, 16 for spans). Times are nanoseconds since 1970-01-01
    UTC. ``scope`` is the name of the instrumentation library. Attributes are texts, numbers, booleans, lists and dicts;
    JSON texts stay texts. ``error`` is the status message if the status is an error, else None. ``remote_parent`` is
    whether the parent is of another process, None if the sender does not say so.
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
    """A log record of a span, with the ids and units of `Span`; ``event`` is its event name, "" without one."""

    trace_id: str
    span_id: str
    event: str
    at_ns: int
    body: Any = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    resource: Mapping[str, Any] = field(default_factory=dict)


def exception_of(events: Iterable[SpanEvent]) -> str | None:
    """Return the message of the exception that a span recorded, if it did."""
    raised = (each.attributes.get("exception.message") for each in events if each.name == "exception")
    return next((text for text in raised if isinstance(text, str) and text.strip()), None)

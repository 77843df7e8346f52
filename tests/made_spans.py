"""Spans that a test makes, and what is read from one."""

from typing import Any

from judgeboard.traces.dialects import Dialect
from judgeboard.traces.spans import Part, Span


def made_span(attributes: dict[str, Any], **more: Any) -> Span:
    fields: dict[str, Any] = {
        "parent_id": None,
        "name": "step",
        "started_ns": 1,
        "ended_ns": 2,
        **more,
    }
    return Span("0" * 31 + "1", "0" * 15 + "1", attributes=attributes, **fields)


def part_of(read_span: Dialect, attributes: dict[str, Any], **more: Any) -> Part:
    part = read_span(made_span(attributes, **more), ())
    assert part is not None
    return part

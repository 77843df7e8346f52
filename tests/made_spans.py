"""Spans that a test makes, and what is read from one."""

from judgeboard.traces.spans import Span


def made_span(attributes, **more):
    fields = {
        "parent_id": None,
        "name": "step",
        "started_ns": 1,
        "ended_ns": 2,
        **more,
    }
    return Span("0" * 31 + "1", "0" * 15 + "1", attributes=attributes, **fields)


def part_of(read_span, attributes, **more):
    part = read_span(made_span(attributes, **more), ())
    assert part is not None
    return part

"""Reads spans by dialects: the conventions for attributes."""

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cache

from judgeboard.registry.tools import tools
from judgeboard.traces import plain_spans
from judgeboard.traces.spans import NOTHING, LogRecord, Operation, Part, Span

Dialect = Callable[[Span, Sequence[LogRecord]], Part | None]
"""Reads a span with its log records; None if the span does not follow the dialect."""


@cache
def known_dialects() -> tuple[Dialect, ...]:
    """Return the dialects of all tools in order of precedence.

    `plain_spans` comes last, and only if it may add something.
    """
    return tuple(tool.spans for tool in tools() if tool.spans is not None)


def read(span: Span, logs: Sequence[LogRecord]) -> Part | None:
    """Read a span in all dialects: the first part with content, with absent fields from the next parts."""
    parts = [part for dialect in known_dialects() if (part := dialect(span, logs)) is not None]
    first_part = next(filter(_has_content, parts), None)
    if (first_part is None or plain_spans.may_add(span, first_part)) and (
        part := plain_spans.read(span, logs)
    ) is not None:
        parts.append(part)
    if not parts:
        return None
    parts.sort(key=lambda part: not _has_content(part))  # stable: the precedence stays
    first = parts[0]
    for part in parts[1:]:
        gaps = {
            name: value
            for name in _FIELDS
            if getattr(first, name) in NOTHING and (value := getattr(part, name)) not in NOTHING
        }
        if first.tool_calls:  # a model that asked for a tool did not answer
            gaps.pop("answer", None)
        unsure = first.dialect == "plain" or (
            first.operation is Operation.OTHER and not _has_content(first)
        )
        if unsure and part.operation is not Operation.OTHER:
            gaps |= {"operation": part.operation, "dialect": part.dialect}
        first = replace(first, **gaps) if gaps else first
    return replace(first, missing=None) if first.missing and _has_content(first) else first


_FIELDS = tuple(field.name for field in fields(Part))


def _has_content(part: Part) -> bool:
    return bool(
        part.question
        or part.answer
        or part.passages is not None
        or part.messages
        or part.tool_calls
    )

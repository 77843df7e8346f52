"""Annotations and evaluations of OpenInference: results that are attributes of a span."""

from collections.abc import Sequence
from dataclasses import replace

from judgeboard.traces.spans import LogRecord, Span

LINKED = "judgeboard.linked_results"
"""The event of a log record with the results of a span that links to the target of the results."""
FORMS = (("annotations", "annotation"), ("evaluations", "evaluation"))
"""The names of a list of results, and of a single result."""
OF_ANSWER = ("", "trace.")
"""How the names of results on an answer begin."""
_KIND = "openinference.span.kind"


def with_linked(span: Span, links: Sequence[tuple[str, str]]) -> list[Span | LogRecord]:
    """Return a span. If an evaluator links to a target, return its results as a log record of the target too.

    ``links`` are ids of traces and spans. Such results come after the target has ended, often in a
    trace of their own.
    """
    if not links or span.attributes.get(_KIND, "EVALUATOR") != "EVALUATOR":
        return [span]
    starts = tuple(scope + several for scope in OF_ANSWER for several, _ in FORMS)
    below = tuple(f"{start}." for start in starts)
    results = {
        name: value
        for name, value in span.attributes.items()
        if name in starts or name.startswith(below)
    }
    if not results:
        return [span]
    other_attributes = {
        name: value for name, value in span.attributes.items() if name not in results
    }
    (trace_id, span_id), *_ = links
    record = LogRecord(
        trace_id, span_id, LINKED, span.ended_ns, attributes=results, resource=span.resource
    )
    return [replace(span, attributes=other_attributes), record]

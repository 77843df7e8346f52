"""Annotations and evaluations of OpenInference: results that are attributes of a span."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judgeboard.traces.attributes import first, first_scalar, nested, parsed, parsed_object
from judgeboard.traces.spans import LogRecord, Span

LINKED = "judgeboard.linked_results"
"""The event of a log record that has the results of a span that was linked to their target."""
_FORMS = (("annotations", "annotation"), ("evaluations", "evaluation"))
_OF_ANSWER = ("", "trace.")
_OF_SESSION = "session."
_KIND = "openinference.span.kind"


@dataclass(frozen=True, slots=True)
class Result:
    """One result. ``by`` is its identifier, None without one; ``human`` tells that a person gave it.

    A result ``of_session`` is about all traces of a session, and not about one answer.
    """

    name: str
    score: float | int | None = None
    label: str | None = None
    explanation: str | None = None
    by: str | None = None
    human: bool = False
    of_session: bool = False


def results_in(attributes: Mapping[str, Any]) -> Iterator[Result]:
    """Yield the results in the attributes of a span. Those without a name, or without score and label, are left out."""
    for scope in (*_OF_ANSWER, _OF_SESSION):
        for several, one in _FORMS:
            name = scope + several
            listed = parsed(attributes.get(name))
            entries = listed if isinstance(listed, list) else nested(attributes, name)
            for entry in entries:
                fields = parsed_object(
                    entry.get(one) if isinstance(entry, dict) and one in entry else entry
                )
                score = first(fields, ("score",))
                is_number = isinstance(score, int | float) and not isinstance(score, bool)
                result = Result(
                    name=first_scalar(fields, ("name",)) or "",
                    score=score if is_number else None,
                    label=first_scalar(fields, ("label",)),
                    explanation=first_scalar(fields, ("explanation",)),
                    by=first_scalar(fields, ("identifier",)),
                    human=first_scalar(fields, ("annotator_kind",)) == "HUMAN",
                    of_session=scope == _OF_SESSION,
                )
                if result.name and (result.label is not None or result.score is not None):
                    yield result


def with_linked(span: Span, links: Sequence[tuple[str, str]]) -> list[Span | LogRecord]:
    """Return a span, and its results as a log record of their target if it is an evaluator that names one by a link.

    ``links`` are ids of traces and spans. Such results come after the target has ended, often in a
    trace of their own.
    """
    if not links or span.attributes.get(_KIND, "EVALUATOR") != "EVALUATOR":
        return [span]
    starts = tuple(scope + several for scope in _OF_ANSWER for several, _ in _FORMS)
    below = tuple(f"{start}." for start in starts)
    linked = {
        name: value
        for name, value in span.attributes.items()
        if name in starts or name.startswith(below)
    }
    if not linked:
        return [span]
    own = {name: value for name, value in span.attributes.items() if name not in linked}
    (trace_id, span_id), *_ = links
    record = LogRecord(
        trace_id, span_id, LINKED, span.ended_ns, attributes=linked, resource=span.resource
    )
    return [replace(span, attributes=own), record]

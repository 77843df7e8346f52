"""Exports with a row per span or per trace. The spans of a trace become one answer, as for received traces."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import product
from operator import itemgetter
from typing import Any, TypeGuard

from judgeboard.formats.files import Row
from judgeboard.imports.exports.entry import Entries, Entry, grade_row, user_feedback, verdict_row
from judgeboard.imports.fields import fault_in
from judgeboard.imports.known_names import REFERENCE
from judgeboard.imports.values import spelled_number
from judgeboard.text import EPOCH, as_utc
from judgeboard.traces.annotations import FORMS, LINKED, OF_ANSWER
from judgeboard.traces.answers import answer_of
from judgeboard.traces.attributes import (
    as_text,
    first,
    first_scalar,
    nested,
    parsed,
    parsed_object,
    without_none,
)
from judgeboard.traces.spans import LogRecord, Span

EVENT, EVALUATION = "gen_ai.evaluation.result", "gen_ai.evaluation."
SENT_BY, OWN = "sent_by", "judgeboard"
"""The entry in the metadata of every score that Judgeboard sends; such scores are not read."""
BY, PUSHED = (
    "judgeboard.evaluator",
    "judgeboard.id",
)  # the second is in scores that `judgeboard push otlp` sends
_LABELS = frozenset({"grounded", "hallucinated"})
_OF_SESSION = "session."  # how the names of results on a session begin
_UNSPECIFIED = "unspecified"
_NANOSECONDS, _MICROSECONDS = 10**17, 10**14  # later than any time in the next smaller unit


@dataclass(slots=True)
class Score:
    """A score on a trace: a number, a text, or true or false. ``by`` is a judge, or a person if ``human``.

    ``scale`` is like "1-5"; None if unknown. A score ``of_session`` is not about one answer, and is
    not read. ``at_ns`` is the time of a record beside a trace, in nanoseconds since 1970; 0 if
    unknown.
    """

    name: str
    value: Any
    by: str
    human: bool = False
    reason: str | None = None
    error: str | None = None
    at: Any = None
    scale: str | None = None
    of_session: bool = False
    at_ns: int = 0


@dataclass(slots=True)
class Trace:
    """The spans, log records and scores of one trace; ``row`` is the first row.

    ``metadata`` is added to the metadata of the answer. ``reason`` says why there may be no answer,
    if the tool knows the reason better than the spans.
    """

    row: Row
    spans: list[Span]
    scores: list[Score] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    reason: str | None = None
    logs: list[LogRecord] = field(default_factory=list)


def each_trace(read: Callable[[Row], Iterable[Trace]]) -> Callable[[Iterable[Row]], Entries]:
    """Return a reader of files in which a row has whole traces."""

    def entries(rows: Iterable[Row]) -> Entries:
        for row in rows:
            read_any = False
            for trace in read(row):
                read_any = True
                yield row, entry_of(trace)
            if not read_any:
                yield row, Entry(None, reason="the trace has no spans")

    return entries


def each_span(read: Callable[[Row], Trace | None]) -> Callable[[Iterable[Row]], Entries]:
    """Return a reader of files in which a row has one span. Spans are kept in memory until the end of the file."""

    def entries(rows: Iterable[Row]) -> Entries:
        traces: dict[str, Trace] = {}
        for row in rows:
            fault = fault_in(row.values)
            trace = None if fault else read(row)
            if trace is None:
                yield (
                    row,
                    Entry(
                        None,
                        reason=": ".join(fault) if fault else "a span and its trace need an id",
                    ),
                )
                continue
            earlier = traces.setdefault(trace.spans[0].trace_id, trace)
            if earlier is not trace:
                earlier.spans += trace.spans
                earlier.scores += trace.scores
                earlier.metadata |= trace.metadata
        for trace in traces.values():
            yield trace.row, entry_of(trace)

    return entries


def each_score(
    read: Callable[[Mapping[str, Any]], tuple[str, Score] | str],
) -> Callable[[Iterable[Row]], Entries]:
    """Return a reader of files with one score per row: the id of the trace or span with the score, or why none.

    Scores are kept in memory until the end of the file, because all scores of a trace are one
    verdict or grade. Scores that Judgeboard sent are left out.
    """

    def entries(rows: Iterable[Row]) -> Entries:
        scores: dict[str, tuple[Row, list[Score]]] = {}
        for row in rows:
            fault = fault_in(row.values)
            result = ": ".join(fault) if fault else read(row.values)
            feedback_source = parsed_object(row.values.get("feedback_source"))
            if is_own(row.values.get("metadata")) or is_own(feedback_source.get("metadata")):
                continue
            if isinstance(result, str):
                yield row, Entry(None, reason=result)
            else:
                scores.setdefault(result[0], (row, []))[1].append(result[1])
        for id_, (row, of_answer) in scores.items():
            entry = scored(of_answer)
            yield row, replace(entry, answer={"external_id": id_, **(entry.answer or {})})

    return entries


def is_own(metadata: Any) -> bool:
    """Whether the metadata of a score, also as a JSON text, say that Judgeboard sent the score."""
    return parsed_object(metadata).get(SENT_BY) == OWN


def number_in(value: Any) -> Any:
    """Return the number in a text; None for an empty text; any other value unchanged."""
    if not isinstance(value, str):
        return value
    return spelled_number(value) if value.strip() else None


def entry_of(trace: Trace) -> Entry:
    """Return the answer of a trace with the verdicts, grades and feedback in its scores."""
    result = answer_of(trace.spans, trace.logs)
    if result.response is None:
        return Entry(None, reason=trace.reason or result.reason)
    # A response as a row of `ResponseImport`.
    response = result.response
    row: dict[str, Any] = {
        "external_id": response.external_id,
        "query": response.query,
        "answer": response.answer,
        "context": None if response.passages is None else list(response.passages),
        "query_type": response.query_type,
        "generator_model": response.generator_model,
        "generator_cost": response.generator_cost,
        "messages": None if response.messages is None else list(response.messages),
        "reference": response.reference,
        "asked_at": None if response.asked_at is None else response.asked_at.isoformat(),
        "metadata": response.metadata or None,
    }
    answer = without_none(row)
    if trace.metadata:
        answer["metadata"] = trace.metadata | answer.get("metadata", {})
        if answer["query_type"] == _UNSPECIFIED and isinstance(
            kind := trace.metadata.get("query_type"), str
        ):
            answer["query_type"] = kind
    beside = scored(trace.scores)
    return Entry(
        {**(beside.answer or {}), **answer},
        beside.verdicts,
        beside.grades,
        of_session=beside.of_session,
    )


def scored(scores: Iterable[Score]) -> Entry:
    """Return scores as feedback and reference of the answer, verdicts of judges, and grades of people."""
    answer: dict[str, Any] = {}
    judges: dict[str, list[Score]] = {}
    people: dict[str, list[Score]] = {}
    of_session = []
    for score in scores:
        if score.of_session:
            of_session.append(score.name)
            continue
        feedback = user_feedback(score.name, score.value, score.reason)
        if feedback is not None:
            answer.setdefault("feedback", []).append(feedback)
        elif (
            score.human
            and score.name in {*REFERENCE, "expected_response"}
            and isinstance(score.value, str)
        ):
            answer.setdefault("reference", score.value)
        else:
            (people if score.human else judges).setdefault(score.by, []).append(score)
    verdicts = [
        row
        for judge, own_scores in judges.items()
        for row in verdict_row(
            judge,
            {score.name: score.value for score in own_scores if score.value is not None},
            {score.name: score.reason for score in own_scores},
            next((score.error for score in own_scores if score.error), None),
            {score.name: score.scale for score in own_scores if score.scale is not None},
        )
    ]
    grades = [
        row
        for person, own_scores in people.items()
        for row in grade_row(
            person,
            {score.name: score.value for score in own_scores}
            | {"note": "\n".join(str(score.reason) for score in own_scores if score.reason)},
            next((score.at for score in reversed(own_scores) if score.at), None),
        )
    ]
    return Entry(answer, verdicts, grades, of_session=of_session)


def nanoseconds(value: Any) -> int:
    """Return a time in nanoseconds since 1970. The time is an ISO text, or a number in any usual unit; 0 for others."""
    if isinstance(value, int) and value > _MICROSECONDS:
        return value if value > _NANOSECONDS else value * 1000
    try:
        return (as_utc(value) - EPOCH) // timedelta(microseconds=1) * 1000
    except ValueError:
        return 0


def trace_metadata(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the metadata of a trace without the tool's own entries, which begin with ``prefix``."""
    return {
        name: value for name, value in parsed_object(values).items() if not name.startswith(prefix)
    }


# Results of evaluations in OpenTelemetry


def log_record(score: Score, trace_id: str, span_id: str, pushed: Any) -> LogRecord:
    """Return a score that came beside a trace as a log record of OpenTelemetry, which `scores_of` reads.

    ``pushed`` is the id of a score that Judgeboard sent; such scores are not read.
    """
    attributes = {
        EVALUATION + "name": score.name,
        EVALUATION + "score.value": score.value,
        EVALUATION + "explanation": score.reason,
        BY: score.by,
        PUSHED: pushed,
    }
    values = without_none(attributes)
    return LogRecord(trace_id, span_id, EVENT, nanoseconds(score.at), attributes=values)


def is_undated_score(record: Span | LogRecord) -> TypeGuard[LogRecord]:
    """Whether a record is a score without a time."""
    return (
        isinstance(record, LogRecord)
        and not record.at_ns
        and record.event.startswith((EVALUATION, LINKED))
    )


def scores_of(spans: Iterable[Span], logs: Iterable[LogRecord]) -> list[Score]:
    """Return the scores in log records, events and attributes of a trace: of each evaluator, the last of each name.

    Among scores with the same time, the last one received counts.
    """
    events = [
        (
            log.at_ns,
            log.event,
            ({**log.body, **log.attributes} if isinstance(log.body, dict) else log.attributes),
            log.resource,
        )
        for log in logs
    ]
    events += [
        (each.at_ns, each.name, each.attributes, span.resource)
        for span in spans
        for each in span.events
    ]
    events += [(span.ended_ns, LINKED, span.attributes, span.resource) for span in spans]
    scores: dict[tuple[str, str, bool], Score] = {}
    for at_ns, event, fields, resource in sorted(events, key=itemgetter(0)):
        service = as_text(resource.get("service.name"))
        read: list[Score] = []
        if event == LINKED:
            read = list(_annotations(fields, service or "OpenInference"))
        elif event.startswith(EVALUATION) and not fields.get(PUSHED):
            # Earlier versions have the name of a result in the name of the event.
            name = first_scalar(fields, (EVALUATION + "name",)) or event.removeprefix(EVALUATION)
            by = first_scalar(fields, (BY,)) or service or "OpenTelemetry"
            value = first(fields, (EVALUATION + "score.value", EVALUATION + "score"))
            label = first_scalar(fields, (EVALUATION + "score.label", EVALUATION + "label"))
            reason = first_scalar(fields, (EVALUATION + "explanation", EVALUATION + "reasoning"))
            if value is not None or label is not None:
                read.append(Score(name, label if value is None else value, by, reason=reason))
            if value is not None and label in _LABELS:
                read.append(Score("label", label, by))
        for score in read:
            scores[score.by, score.name, score.of_session] = replace(score, at_ns=at_ns)
    return list(scores.values())


def _annotations(attributes: Mapping[str, Any], service: str) -> Iterator[Score]:
    """Yield the annotations and evaluations of OpenInference that have a name, and a score or a label."""
    for scope, (several, single) in product((*OF_ANSWER, _OF_SESSION), FORMS):
        name = scope + several
        entries = parsed(attributes.get(name))
        for entry in entries if isinstance(entries, list) else nested(attributes, name):
            inside = isinstance(entry, dict) and single in entry
            fields = parsed_object(entry[single] if inside else entry)
            number, label = first(fields, ("score",)), first_scalar(fields, ("label",))
            if isinstance(number, bool) or not isinstance(number, int | float):
                number = None
            score = Score(
                name=first_scalar(fields, ("name",)) or "",
                value=label if number is None else number,
                by=first_scalar(fields, ("identifier",)) or service,
                human=first_scalar(fields, ("annotator_kind",)) == "HUMAN",
                reason=first_scalar(fields, ("explanation",)),
                of_session=scope == _OF_SESSION,
            )
            if not score.name or score.value is None:
                continue
            yield score
            if number is not None and label in _LABELS and not score.of_session:
                yield Score("label", label, score.by, score.human)

"""Results of evaluations, as OpenTelemetry has them: log records or events of spans."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from judgeboard.imports.exports.traced import Score
from judgeboard.traces.attributes import as_text, first, first_scalar
from judgeboard.traces.spans import LogRecord, Span

EVENT = "gen_ai.evaluation.result"
EVALUATION = "gen_ai.evaluation."
BY, PUSHED = "judgeboard.evaluator", "judgeboard.id"  # the second is on what `judgeboard push --to otlp` sends


def scores_of(spans: Iterable[Span], logs: Iterable[LogRecord]) -> list[Score]:
    """Return the scores in the log records and events of a trace: of each evaluator, the last one of each name."""
    events = [(log.at_ns, log.event, _fields(log), log.resource) for log in logs]
    events += [(each.at_ns, each.name, each.attributes, span.resource) for span in spans for each in span.events]
    scores: dict[tuple[str, str], Score] = {}
    for _, event, fields, resource in sorted(events, key=lambda each: (each[0], repr(each))):
        if event.startswith(EVALUATION) and not fields.get(PUSHED):
            for score in _scores(event, fields, resource):
                scores[score.by, score.name] = score
    return list(scores.values())


def _fields(log: LogRecord) -> Mapping[str, Any]:
    return {**log.body, **log.attributes} if isinstance(log.body, dict) else log.attributes


def _scores(event: str, fields: Mapping[str, Any], resource: Mapping[str, Any]) -> Iterator[Score]:
    """Yield the scores of a result. Earlier versions have the name in that of the event."""
    name = first_scalar(fields, (EVALUATION + "name",)) or event.removeprefix(EVALUATION)
    by = first_scalar(fields, (BY,)) or as_text(resource.get("service.name")) or "OpenTelemetry"
    value = first(fields, (EVALUATION + "score.value", EVALUATION + "score"))
    label = first_scalar(fields, (EVALUATION + "score.label", EVALUATION + "label"))
    reason = first_scalar(fields, (EVALUATION + "explanation", EVALUATION + "reasoning"))
    if value is not None or label is not None:
        yield Score(name, label if value is None else value, by, reason=reason)
    if value is not None and label in {"grounded", "hallucinated"}:
        yield Score("label", label, by)

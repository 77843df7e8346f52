"""Langfuse: exported observations and traces (JSON, JSON lines, CSV), and traces as its REST interface returns them."""

from collections.abc import Iterator, Mapping
from typing import Any

from judgeboard.formats.files import Row
from judgeboard.imports.exports.entry import as_object, from_json, named, objects, without_nothing
from judgeboard.imports.exports.traced import Score, Trace, each_score, each_span, each_trace, nanoseconds, number_in
from judgeboard.imports.fields import json_text
from judgeboard.traces.spans import Span

_OBSERVATION = frozenset(
    {
        *("id", "traceId", "traceName", "traceTags", "traceTimestamp", "type", "name", "startTime", "endTime"),
        *("completionStartTime", "environment", "version", "userId", "sessionId", "level", "statusMessage"),
        *("promptName", "promptId", "promptVersion", "modelId", "providedModelName", "internalModelId", "model"),
        *("modelParameters", "usageDetails", "costDetails", "totalCost", "input", "output", "metadata", "latency"),
        *("latencyMs", "timeToFirstToken", "timeToFirstTokenMs", "tags", "release", "parentObservationId", "comments"),
        *("projectId", "createdAt", "updatedAt", "usage", "unit", "scores", "bookmarked", "public", "timestamp"),
        *("inputCost", "outputCost", "inputPrice", "outputPrice", "totalPrice", "calculatedInputCost", "inputUsage"),
        *("calculatedOutputCost", "calculatedTotalCost", "promptTokens", "completionTokens", "totalTokens"),
        *("outputUsage", "totalUsage", "inputTokens", "outputTokens", "errorCount", "warningCount", "defaultCount"),
        *("debugCount", "observationCount", "observations", "htmlPath", "externalId", "providedUsageDetails"),
        *("providedCostDetails", "usagePricingTierId", "usagePricingTierName", "toolDefinitions", "toolCalls"),
        *("toolCallNames", "bookmarkedAt", "traceVersion", "isAppRoot"),
    }
)


@each_span
def read_observations(row: Row) -> Trace | None:
    """Return the trace of an observation, None if it has no id."""
    values = row.values
    if not values.get("traceId") or not values.get("id"):
        return None
    return Trace(row, [_span(values, str(values["traceId"]))], *_scores_and_others(values))


@each_trace
def read_traces(row: Row) -> Iterator[Trace]:
    """Yield the trace of a row, unless it has no id."""
    values = row.values
    if not values.get("id"):
        return
    trace_id = str(values["id"])
    root = {**values, "startTime": values.get("timestamp"), "type": "SPAN", "traceName": values.get("name")}
    # A trace has its own input and output, so it is the root of its observations.
    observations = [
        {**each, "parentObservationId": each.get("parentObservationId") or trace_id}
        for each in objects(values.get("observations"))
    ]
    spans = [_span(root, trace_id), *(_span(each, trace_id) for each in observations if each.get("id"))]
    yield Trace(row, spans, *_scores_and_others(values))


def _span(values: Mapping[str, Any], trace_id: str) -> Span:
    """Return an observation as the span that Langfuse's own libraries send."""
    started = nanoseconds(values.get("startTime"))
    ended = nanoseconds(values.get("endTime"))
    attributes = {
        "langfuse.observation.type": str(values.get("type") or "span").lower(),
        "langfuse.observation.input": _content(values.get("input")),
        "langfuse.observation.output": _content(values.get("output")),
        "langfuse.observation.model.name": named(values, ("provided_model_name", "model")),
        "langfuse.observation.usage_details": json_text(values.get("usageDetails") or values.get("usage")),
        "langfuse.observation.cost_details": _cost(values),
        "langfuse.trace.name": values.get("traceName"),
        "langfuse.trace.tags": from_json(values.get("tags") or values.get("traceTags")),
        "langfuse.environment": values.get("environment"),
        "langfuse.release": values.get("release"),
        "session.id": values.get("sessionId"),
        "user.id": values.get("userId"),
    }
    for name, value in as_object(values.get("metadata")).items():
        attributes[f"langfuse.trace.metadata.{name}"] = json_text(value)
    return Span(
        trace_id=trace_id,
        span_id=str(values["id"]),
        parent_id=str(values["parentObservationId"]) if values.get("parentObservationId") else None,
        name=str(values.get("name") or ""),
        started_ns=started,
        ended_ns=max(started, ended),
        scope="langfuse-sdk",
        attributes=without_nothing(attributes),
        error=str(values.get("statusMessage") or "error") if values.get("level") == "ERROR" else None,
    )


def _content(value: Any) -> str | None:
    """Return input or output as an attribute has it. A text in quotes, as some exports write texts, is unquoted."""
    inner = from_json(value)
    return json_text(inner if isinstance(inner, str) else value)


def _cost(values: Mapping[str, Any]) -> str | None:
    details = as_object(values.get("costDetails"))
    total = values.get("totalCost")
    return json_text(details or ({"total": total} if total not in (None, "") else None))


def _scores_and_others(values: Mapping[str, Any]) -> tuple[list[Score], dict[str, Any]]:
    """Return the scores of an export, and what else is in columns that are not Langfuse's own, as metadata.

    Scores are a list, an object, or columns with the name of the score. These columns have lists or follow all others.
    """
    last_known = max((place for place, name in enumerate(values) if name in _OBSERVATION), default=-1)
    columns: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for place, (name, value) in enumerate(values.items()):
        if name not in _OBSERVATION:
            is_score = place > last_known or isinstance(from_json(value), list)
            (columns if is_score else others)[name] = value
    columns |= values["scores"] if isinstance(values.get("scores"), dict) else {}
    scores = [score_of(each) for each in objects(values.get("scores")) if each.get("name")]
    for name, value in columns.items():
        whole = from_json(value)
        items = whole if isinstance(whole, list) else [whole]
        last = items[-1] if items else None
        if isinstance(last, str | int | float) and last != "":
            scores.append(Score(name, last, "Langfuse"))
    return scores, without_nothing(others)


@each_score
def read_scores(values: Mapping[str, Any]) -> tuple[str, Score] | str:
    """Return the id of the trace of a score, and the score."""
    trace_id = trace_of_score(values)
    if not trace_id or not values.get("name"):
        return "the score has no trace: scores of sessions and datasets are not stored"
    value = number_in(values.get("value"))
    return trace_id, score_of({**values, "value": number_in(values.get("stringValue")) if value is None else value})


def trace_of_score(score: Mapping[str, Any]) -> str | None:
    """Return the id of the trace of a score, as the versions of the REST interface have it."""
    subject = as_object(score.get("subject"))
    own = subject.get("id") if subject.get("kind") == "trace" else None
    trace_id = score.get("traceId") or subject.get("traceId") or own
    return None if trace_id is None else str(trace_id)


def score_of(score: Mapping[str, Any]) -> Score:
    """Return a score as its REST interface has it."""
    human = score.get("source") == "ANNOTATION"
    value = score.get("value")
    if score.get("dataType") == "CATEGORICAL" and score.get("stringValue") is not None:
        value = score["stringValue"]
    author = score.get("authorUserId") if human else None
    return Score(
        name=str(score["name"]),
        value=value,
        by=str(author or "Langfuse"),
        human=human,
        reason=score.get("comment"),
        at=score.get("timestamp"),
    )

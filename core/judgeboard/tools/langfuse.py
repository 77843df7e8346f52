"""Langfuse: observations, traces and scores from exports, the REST interface and spans; scores from SDKs."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

from pydantic import Field

from judgeboard.errors import BadInput
from judgeboard.formats.files import Row
from judgeboard.imports.exports.entry import from_json, named, objects, without_nothing
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.imports.exports.traced import (
    Score,
    Trace,
    each_score,
    each_span,
    each_trace,
    is_own,
    log_record,
    nanoseconds,
    number_in,
)
from judgeboard.imports.fields import fault_in, json_text
from judgeboard.store.filters import value_at
from judgeboard.store.statements import batches
from judgeboard.store.tools import PushItem
from judgeboard.text import iso_z
from judgeboard.tools.history import (
    History,
    JsonRow,
    Names,
    Page,
    QueryValue,
    Window,
    rows_of_pages,
    whole_traces,
)
from judgeboard.tools.target import (
    Access,
    Connection,
    Refused,
    Target,
    facts,
    needed_trace_id,
    span_id_of,
    stable_id,
    trace_id_of,
)
from judgeboard.tools.tool import Tool
from judgeboard.traces.attributes import (
    as_count,
    as_number,
    first,
    first_scalar,
    own_metadata,
    parsed_object,
    tags_in,
    under,
    without_none,
)
from judgeboard.traces.content import contents
from judgeboard.traces.sdk_requests import RequestBody, SdkRequest, json_in_body
from judgeboard.traces.spans import LogRecord, Operation, Part, Span

_OBSERVATION = "langfuse.observation."
_TRACE = "langfuse.trace."
_TYPES = {  # of observations
    "generation": Operation.MODEL,
    "retriever": Operation.RETRIEVAL,
    "tool": Operation.TOOL,
    "guardrail": Operation.CHECK,
    "evaluator": Operation.CHECK,
    "agent": Operation.APP,
    "chain": Operation.APP,
    "span": Operation.APP,
    "embedding": Operation.OTHER,
    "event": Operation.OTHER,
}
_SESSIONS = (
    "langfuse.session.id",
    "session.id",
    "gen_ai.conversation.id",
    _TRACE + "metadata.langfuse_session_id",
    _OBSERVATION + "metadata.langfuse_session_id",
    _TRACE + "metadata.session_id",
)
_USERS = (
    "langfuse.user.id",
    "user.id",
    _TRACE + "metadata.langfuse_user_id",
    _OBSERVATION + "metadata.langfuse_user_id",
    _TRACE + "metadata.user_id",
)
_TAGS = (
    _TRACE + "tags",
    "langfuse.tags",
    _TRACE + "metadata.langfuse_tags",
    _OBSERVATION + "metadata.langfuse_tags",
)
_OF_TRACE = {  # kept as metadata
    "environment": "langfuse.environment",
    "release": "langfuse.release",
    "version": "langfuse.version",
    "public": _TRACE + "public",
    "trace_name": _TRACE + "name",
}


# Exports of Langfuse: JSON, JSON lines and CSV, and traces as the REST interface returns them


_OWN_COLUMNS = frozenset(
    {
        "id",
        "traceId",
        "traceName",
        "traceTags",
        "traceTimestamp",
        "type",
        "name",
        "startTime",
        "endTime",
        "completionStartTime",
        "environment",
        "version",
        "userId",
        "sessionId",
        "level",
        "statusMessage",
        "promptName",
        "promptId",
        "promptVersion",
        "modelId",
        "providedModelName",
        "internalModelId",
        "model",
        "modelParameters",
        "usageDetails",
        "costDetails",
        "totalCost",
        "input",
        "output",
        "metadata",
        "latency",
        "latencyMs",
        "timeToFirstToken",
        "timeToFirstTokenMs",
        "tags",
        "release",
        "parentObservationId",
        "comments",
        "projectId",
        "createdAt",
        "updatedAt",
        "usage",
        "unit",
        "scores",
        "bookmarked",
        "public",
        "timestamp",
        "inputCost",
        "outputCost",
        "inputPrice",
        "outputPrice",
        "totalPrice",
        "calculatedInputCost",
        "inputUsage",
        "calculatedOutputCost",
        "calculatedTotalCost",
        "promptTokens",
        "completionTokens",
        "totalTokens",
        "outputUsage",
        "totalUsage",
        "inputTokens",
        "outputTokens",
        "errorCount",
        "warningCount",
        "defaultCount",
        "debugCount",
        "observationCount",
        "observations",
        "htmlPath",
        "externalId",
        "providedUsageDetails",
        "providedCostDetails",
        "usagePricingTierId",
        "usagePricingTierName",
        "toolDefinitions",
        "toolCalls",
        "toolCallNames",
        "bookmarkedAt",
        "traceVersion",
        "isAppRoot",
    }
)


@each_span
def read_observations(row: Row) -> Trace | None:
    """Return the trace of an observation, None without an id."""
    values = row.values
    if not values.get("traceId") or not values.get("id"):
        return None
    return Trace(row, [_span_of(values, str(values["traceId"]))], *_scores_and_others(values))


@each_trace
def read_traces(row: Row) -> Iterator[Trace]:
    """Yield the trace of a row that has an id."""
    values = row.values
    if not values.get("id"):
        return
    trace_id = str(values["id"])
    root = {
        **values,
        "startTime": values.get("timestamp"),
        "type": "SPAN",
        "traceName": values.get("name"),
    }
    # A trace has its own input and output, so the trace is the root of the observations.
    observations = [
        {**each, "parentObservationId": each.get("parentObservationId") or trace_id}
        for each in objects(values.get("observations"))
    ]
    spans = [
        _span_of(root, trace_id),
        *(_span_of(each, trace_id) for each in observations if each.get("id")),
    ]
    yield Trace(row, spans, *_scores_and_others(values))


def _span_of(values: Mapping[str, Any], trace_id: str) -> Span:
    """Return an observation as the span that Langfuse's own libraries send."""
    started_ns = nanoseconds(values.get("startTime"))
    ended_ns = nanoseconds(values.get("endTime"))
    details = parsed_object(values.get("costDetails"))
    total = values.get("totalCost")
    attributes = {
        _OBSERVATION + "type": str(values.get("type") or "span").lower(),
        _OBSERVATION + "input": _attribute_text(values.get("input")),
        _OBSERVATION + "output": _attribute_text(values.get("output")),
        _OBSERVATION + "model.name": named(values, ("provided_model_name", "model")),
        _OBSERVATION + "usage_details": json_text(
            values.get("usageDetails") or values.get("usage")
        ),
        _OBSERVATION + "cost_details": json_text(
            details or ({"total": total} if total not in (None, "") else None)
        ),
        _TRACE + "name": values.get("traceName"),
        _TRACE + "tags": from_json(values.get("tags") or values.get("traceTags")),
        _OF_TRACE["environment"]: values.get("environment"),
        _OF_TRACE["release"]: values.get("release"),
        "session.id": values.get("sessionId"),
        "user.id": values.get("userId"),
    }
    for name, value in parsed_object(values.get("metadata")).items():
        attributes[f"{_TRACE}metadata.{name}"] = json_text(value)
    return Span(
        trace_id=trace_id,
        span_id=str(values["id"]),
        parent_id=str(values["parentObservationId"]) if values.get("parentObservationId") else None,
        name=str(values.get("name") or ""),
        started_ns=started_ns,
        ended_ns=max(started_ns, ended_ns),
        scope="langfuse-sdk",
        attributes=without_nothing(attributes),
        error=str(values.get("statusMessage") or "error")
        if values.get("level") == "ERROR"
        else None,
    )


def _attribute_text(value: Any) -> str | None:
    """Return input or output as the text of an attribute. A text in quotes, as in some exports, is unquoted."""
    inner = from_json(value)
    return json_text(inner if isinstance(inner, str) else value)


def _scores_and_others(values: Mapping[str, Any]) -> tuple[list[Score], dict[str, Any]]:
    """Return the scores of an export, and the values of other columns that are not Langfuse's own, as metadata.

    Scores are a list, an object, or columns with the name of the score. Such columns have lists or
    follow all other columns.
    """
    last_known = max(
        (place for place, name in enumerate(values) if name in _OWN_COLUMNS), default=-1
    )
    columns: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for place, (name, value) in enumerate(values.items()):
        if name not in _OWN_COLUMNS:
            is_score = place > last_known or isinstance(from_json(value), list)
            (columns if is_score else others)[name] = value
    columns |= values["scores"] if isinstance(values.get("scores"), dict) else {}
    scores = [score_of(each) for each in objects(values.get("scores")) if each.get("name")]
    for name, value in columns.items():
        content = from_json(value)
        items = content if isinstance(content, list) else [content]
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
    return trace_id, score_of(
        {**values, "value": number_in(values.get("stringValue")) if value is None else value}
    )


def trace_of_score(score: Mapping[str, Any]) -> str | None:
    """Return the id of the trace of a score, in any version of the REST interface."""
    subject = parsed_object(score.get("subject"))
    subject_id = subject.get("id") if subject.get("kind") == "trace" else None
    trace_id = score.get("traceId") or subject.get("traceId") or subject_id
    return None if trace_id is None else str(trace_id)


def score_of(score: Mapping[str, Any]) -> Score:
    """Return a score of the REST interface."""
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


_OBSERVATIONS = Export(
    "Langfuse observations",
    "langfuse",
    (
        Keys(
            "id",
            "traceId",
            "type",
            "input",
            "output",
            holds=lambda row: str(row["type"]) in map(str.upper, _TYPES),
        ),
    ),
    read_observations,
    of_traces=True,
)
_TRACES = Export(
    "Langfuse traces",
    "langfuse",
    (
        Keys(
            "id",
            "name",
            "input",
            "output",
            "userId",
            "sessionId",
            ("observations", "observationCount", "bookmarked"),
            without=("traceId",),
            # Either the observations are a list, or the row has other columns of traces.
            holds=lambda row: (
                isinstance(row.get("observations"), list)
                or not {"observationCount", "bookmarked"}.isdisjoint(row)
            ),
        ),
    ),
    read_traces,
    of_traces=True,
)
_SCORES = Export(
    "Langfuse scores",
    "langfuse",
    (
        Keys("traceId", "name", "value", "source", "dataType", without=("input", "output")),
        Keys(
            "subject",
            "name",
            "value",
            "source",
            "dataType",
            without=("input", "output"),
            holds=lambda row: isinstance(row["subject"], dict),
        ),
    ),
    read_scores,
    of_traces=True,
    of_scores=True,
)


# Spans of Langfuse: observations, and Langfuse's attributes on spans of other libraries


def read_span(span: Span, logs: Sequence[LogRecord]) -> Part | None:  # noqa: ARG001 - the interface of all dialects
    """Read a span of Langfuse; None for a span of another dialect."""
    attributes = span.attributes
    if not any(name.startswith("langfuse.") for name in attributes):
        return None
    kind = attributes.get(_OBSERVATION + "type")
    if _OBSERVATION + "model.name" in attributes and kind in (None, "span"):
        operation = Operation.MODEL  # SDKs up to 3.3 had no other type
    elif kind is not None:
        operation = _TYPES.get(str(kind).lower(), Operation.OTHER)
    else:
        places = {each + name for each in (_OBSERVATION, _TRACE) for name in ("input", "output")}
        operation = Operation.OTHER if places.isdisjoint(attributes) else Operation.APP
    inputs, outputs = (attributes.get(_OBSERVATION + name) for name in ("input", "output"))
    if operation is Operation.APP:
        # The trace's own question and answer, if the application set them.
        inputs = first(attributes, (_TRACE + "input", _OBSERVATION + "input"))
        outputs = first(attributes, (_TRACE + "output", _OBSERVATION + "output"))
    # The tokens. The keys of providers are totals, which include the details. Langfuse's own keys
    # are parts of a total: ``input`` leaves out the tokens of ``input_cache_read``.
    usage = parsed_object(attributes.get(_OBSERVATION + "usage_details"))
    counts = {name: count for name, each in usage.items() if (count := as_count(each)) is not None}
    prompt_tokens = first(counts, ("prompt_tokens", "input_tokens", "promptTokens"))
    completion_tokens = first(counts, ("completion_tokens", "output_tokens", "completionTokens"))
    if prompt_tokens is None and completion_tokens is None:
        sums = {
            side: sum(count for name, count in counts.items() if name.startswith(side))
            for side in ("input", "output")
        }
        is_sum = counts.get("total", sum(sums.values())) == sum(sums.values())
        prompt_tokens, completion_tokens = (
            (sums if is_sum else counts)[side] if side in counts else None for side in sums
        )
    details = parsed_object(attributes.get(_OBSERVATION + "cost_details"))
    total = as_number(details.get("total"))
    parts = [number for each in details.values() if (number := as_number(each)) is not None]
    # The metadata of the trace and, on the root, of the observation.
    metadata: dict[str, Any] = {}
    prefixes = [_TRACE + "metadata", "langfuse.metadata"]
    if span.parent_id is None or attributes.get("langfuse.internal.is_app_root"):
        prefixes.insert(0, _OBSERVATION + "metadata")
    for prefix in prefixes:
        metadata |= parsed_object(attributes.get(prefix)) | under(attributes, prefix + ".")
    trace_values = {name: attributes[key] for name, key in _OF_TRACE.items() if key in attributes}
    return Part(
        "langfuse",
        operation,
        **contents(operation, inputs, outputs, span.name),
        model=first_scalar(attributes, (_OBSERVATION + "model.name",)),
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        cost=total if total is not None or not parts else sum(parts),
        session=first_scalar(attributes, _SESSIONS),
        user=first_scalar(attributes, _USERS),
        tags=tags_in(first(attributes, _TAGS)),
        metadata=own_metadata(metadata) | trace_values,
    )


# Sent to Langfuse: scores of traces and observations


def _access(address: str, environment: Mapping[str, str]) -> Access:
    public, secret = (
        environment.get(f"LANGFUSE_{name}_KEY", "").strip() for name in ("PUBLIC", "SECRET")
    )
    if not (public and secret):
        raise BadInput("no keys of Langfuse: set LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY")
    return Access(address, auth=(public, secret))


def _send(http: Connection, items: Sequence[PushItem]) -> None:
    for item in items:
        for score in item.scores:
            # Traces of older SDKs have ids of any form. Langfuse also stores scores of unknown
            # traces.
            trace_id = trace_id_of(item) or item.metadata.get("trace_id")
            if not trace_id and "langfuse" in f"{item.source} {item.metadata}".lower():
                trace_id = item.external_id
            body = {
                "id": str(stable_id(item, score.name)),  # a known id is overwritten
                "traceId": str(trace_id or needed_trace_id(item)),
                "observationId": span_id_of(item),
                "name": score.name,
                "value": score.value if score.label is None else score.label,
                "dataType": "NUMERIC" if score.label is None else "CATEGORICAL",
                "comment": score.reasoning or item.note,
                "metadata": facts(item),
                "environment": item.metadata.get("environment"),
                "timestamp": iso_z(item.at),
            }
            http.send(
                "POST",
                "/api/public/scores",
                without_none(body),
            )


LANGFUSE = Target(
    "langfuse",
    ("LANGFUSE_BASE_URL", "LANGFUSE_HOST"),
    _access,
    _send,
    default_address="https://cloud.langfuse.com",
)


# History of Langfuse: observations and scores. Servers of version 3 without these routes give whole
# traces instead


_OBSERVATIONS_OF_PAGE, _TRACES_OF_PAGE, _SCORES_OF_PAGE = 500, 50, 100
_FIELDS = "core,basic,time,io,metadata,model,usage,trace_context"
_NAMES = Names("traceId", "parentObservationId", "startTime", "endTime")
_CURSOR = ("meta", "cursor")  # where a reply has the position of the next page
_NOT_FOUND = 404
_OLD = "page "  # begins the positions of servers that give whole traces


class LangfuseHistory(History):
    """The project of the keys."""

    target = LANGFUSE

    def __init__(self, http: Connection, project: str | None) -> None:
        rows = objects(value_at(http.send("GET", "/api/public/projects"), ("data",)))
        super().__init__(
            http, project or (str(rows[0].get("name") or rows[0].get("id")) if rows else None)
        )

    def page(self, window: Window, position: str | None) -> Page:
        """Return the traces at a position, newest first; on older servers, oldest first."""
        if position is None or not position.startswith(_OLD):
            try:
                times = window.named("fromStartTime", "toStartTime")
                reply = self._observations(position, **times)
                traces, divided = whole_traces(objects(reply.get("data")), _NAMES)
                for trace_id in divided:
                    read = partial(self._observations, traceId=trace_id)
                    traces[trace_id] = rows_of_pages(read, "data", *_CURSOR)
                scores = self._scores(list(traces))
                for trace_id, rows in traces.items():
                    root = next(
                        (row for row in rows if not row.get("parentObservationId")), rows[0]
                    )
                    root["scores"] = scores.get(trace_id, [])
                return Page(_OBSERVATIONS, traces, value_at(reply, _CURSOR))
            except Refused as error:
                if error.status != _NOT_FOUND or position is not None:
                    raise
        return self._of_traces(window, int((position or f"{_OLD}1").removeprefix(_OLD)))

    def _observations(self, cursor: str | None, **query: QueryValue) -> Any:
        path = "/api/public/v2/observations"
        return self.get(path, fields=_FIELDS, limit=_OBSERVATIONS_OF_PAGE, cursor=cursor, **query)

    def _scores(self, trace_ids: list[str]) -> dict[str, list[JsonRow]]:
        scores: dict[str, list[JsonRow]] = {}
        for ids in batches(trace_ids, _TRACES_OF_PAGE):
            read = partial(self._scores_at, ",".join(ids))
            for score in rows_of_pages(read, "data", *_CURSOR):
                of_trace = trace_of_score(score)
                if of_trace and not is_own(score.get("metadata")):
                    scores.setdefault(of_trace, []).append(score)
        return scores

    def _scores_at(self, trace_ids: str, cursor: str | None) -> Any:
        fields = "details,subject,annotation"
        return self.get(
            "/api/public/v3/scores",
            traceId=trace_ids,
            fields=fields,
            limit=_SCORES_OF_PAGE,
            cursor=cursor,
        )

    def _of_traces(self, window: Window, number: int) -> Page:
        times = window.named("fromTimestamp", "toTimestamp")
        reply = self.get(
            "/api/public/traces",
            page=number,
            limit=_TRACES_OF_PAGE,
            orderBy="timestamp.asc",
            **times,
        )
        entries = objects(reply.get("data"))
        traces: dict[str, list[JsonRow]] = {}
        for each in entries:
            try:
                trace = self.get(f"/api/public/traces/{each['id']}")
            except (
                Refused
            ):  # without observations, an answer would have no passages: the trace is reported
                trace = {"id": each["id"]}
            scores = [
                score for score in objects(trace.get("scores")) if not is_own(score.get("metadata"))
            ]
            traces[str(each["id"])] = [trace | {"scores": scores}]
        return Page(
            _TRACES, traces, f"{_OLD}{number + 1}" if len(entries) == _TRACES_OF_PAGE else None
        )


# SDKs of Langfuse: scores, posted beside the spans


_TRACE_DIGITS = 32
_SCORE: dict[str, Any] = {
    "traceId": "0af7651916cd43dd8448eb211c80319c",
    "name": "groundedness",
    "value": 0.4,
}


class SentScore(RequestBody):
    """A score, as the SDKs of Langfuse send it.

    The score becomes a verdict or the feedback of the answer of the trace.
    """

    example: ClassVar[Mapping[str, Any]] = _SCORE

    traceId: str = Field(description="Id of the trace, 32 hexadecimal digits.")  # noqa: N815 - Langfuse's name
    name: str = Field(description="Name of the score.")
    value: float | str | bool | None = None
    observationId: str | None = Field(None, description="Id of a span of the trace.")  # noqa: N815
    dataType: Literal["NUMERIC", "BOOLEAN", "CATEGORICAL"] | None = None  # noqa: N815
    comment: str | None = Field(None, description="The reasoning.")
    id: str | None = Field(None, description="Id of the score, which the reply repeats.")
    timestamp: str | None = Field(None, description="Time in ISO 8601.")


class SentEvents(RequestBody):
    """A batch of events, as the SDKs of Langfuse send it. Events of the type `score-create` are read."""

    example: ClassVar[Mapping[str, Any]] = {
        "batch": [{"id": "event-1", "type": "score-create", "body": _SCORE}]
    }

    batch: list[dict[str, Any]] = Field(description="Events, each with `id`, `type` and `body`.")


def read_posted(body: bytes, _content_type: str) -> tuple[list[LogRecord], Any]:
    """Return the log records of the scores in a body, and the reply.

    The body is a score, a list, or a batch of events. Raises BadInput for other bodies.
    """
    content = json_in_body(body)
    if isinstance(content, dict) and isinstance(content.get("batch"), list):
        events = objects(content["batch"])
        scores = [
            parsed_object(event.get("body")) if event.get("type") == "score-create" else {}
            for event in events
        ]
        read = [_record(score) for score in scores]
        replies = [
            {"id": event.get("id"), "status": 400, "message": each}
            if isinstance(each, str)
            else {"id": event.get("id")}
            for event, each in zip(events, read, strict=True)
        ]
        reply: Any = {
            "successes": [each | {"status": 201} for each in replies if "message" not in each],
            "errors": [each for each in replies if "message" in each],
        }
    elif isinstance(content, list) and len(objects(content)) == len(content):
        read = [_record(score) for score in content]
        reply = [{"id": score.get("id")} for score in content]
    elif isinstance(content, dict):
        read = [_record(content)]
        if isinstance(read[0], str):
            raise BadInput(read[0])
        reply = {"id": content.get("id")}
    else:
        raise BadInput("the body is neither a score nor a list of scores")
    return [each for each in read if isinstance(each, LogRecord)], reply


def _record(score: Mapping[str, Any]) -> LogRecord | str:
    """Return the log record of a score, or the reason why there is none."""
    if fault := fault_in(dict(score)):
        return f"{fault[0]}: {fault[1]}"
    trace_id, span_id, name = (score.get(key) for key in ("traceId", "observationId", "name"))
    if not isinstance(name, str) or not name:
        return "only scores are taken here, and a score needs a name: send traces to /v1/traces"
    if not isinstance(trace_id, str) or len(trace_id) != _TRACE_DIGITS:
        return "a score needs the traceId of an answer: scores of sessions are not stored"
    read = score_of(score)
    if read.human:
        return (
            "annotations of people are not taken here: import them with `judgeboard pull langfuse`"
        )
    pushed_id = score.get("id") if is_own(score.get("metadata")) else None
    return log_record(
        read, trace_id.lower(), span_id if isinstance(span_id, str) else "", pushed_id
    )


TOOL = Tool(
    exports=(_OBSERVATIONS, _TRACES, _SCORES),
    spans=read_span,
    history=LangfuseHistory,
    target=LANGFUSE,
    receives=(
        SdkRequest(
            path="/api/public/scores",
            summary="Send scores (Langfuse)",
            content="A score or a list",
            body=SentScore,
            read=read_posted,
            listed=True,
            only_json=True,
        ),
        SdkRequest(
            path="/api/public/ingestion",
            summary="Send scores (Langfuse)",
            content="Events of the type score-create",
            body=SentEvents,
            read=read_posted,
            only_json=True,
        ),
    ),
)

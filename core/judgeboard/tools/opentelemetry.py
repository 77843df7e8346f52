"""OpenTelemetry: requests of OTLP in JSON, and the conventions for generative AI."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import orjson

from judgeboard.errors import BadInput
from judgeboard.formats.files import Row
from judgeboard.imports.exports.entry import Entries, Entry, objects
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.imports.exports.traced import EVALUATION, EVENT, PUSHED, Trace, entry_of, scores_of
from judgeboard.settings.masking import without_secrets
from judgeboard.store.tools import PushItem, PushScore
from judgeboard.text import storable_json
from judgeboard.tools.target import (
    Access,
    Connection,
    Refused,
    Target,
    facts,
    needed_trace_id,
    span_id_of,
    stable_id,
)
from judgeboard.tools.tool import Tool
from judgeboard.traces.attributes import (
    as_count,
    as_number,
    as_text,
    first,
    first_scalar,
    parsed,
    parsed_object,
    without_none,
)
from judgeboard.traces.content import messages_in, question_of, text_of, tool_calls_in
from judgeboard.traces.documents import passages_in
from judgeboard.traces.spans import LogRecord, Operation, Part, Span

# Exports: requests of OTLP in files of a Collector, and single spans in this form


_LISTS = ("resourceSpans", "resourceLogs", "resource_spans", "resource_logs")  # of a request
_WITHOUT_SPANS = "only log records of this trace are in the file: its spans are needed too"
_CODES = {"STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}
_SNAKE = re.compile(r"_([a-z])")


def read_spans(rows: Iterable[Row]) -> Entries:
    """Yield the answers of all traces. Spans and log records are kept in memory until the end of the file."""
    from judgeboard.traces.otlp import JSON, logs_in, traces_in  # loads Protobuf

    traces: dict[str, Trace] = {}
    for row in rows:
        try:
            request = _strict(storable_json(row.values)[0])
            if request.keys().isdisjoint(_LISTS):
                request = {"resourceSpans": [{"scopeSpans": [{"spans": [request]}]}]}
            body = orjson.dumps(request)
            records = [*traces_in(body, JSON), *logs_in(body, JSON)]
        except orjson.JSONEncodeError as error:
            yield row, Entry(None, reason=f"not a request of OTLP: {error}")
            continue
        except BadInput as error:
            yield row, Entry(None, reason=str(error))
            continue
        for record in records:
            trace = traces.setdefault(record.trace_id, Trace(row, []))
            if isinstance(record, Span):
                trace.spans.append(record)
            else:
                trace.logs.append(record)
    for trace in traces.values():
        trace.scores = scores_of(trace.spans, trace.logs)
        trace.reason = None if trace.spans else _WITHOUT_SPANS
        yield trace.row, entry_of(trace)


def _strict(value: Any) -> Any:
    """Return a JSON value in the form of the specification: names like ``traceId``, and the numbers of status codes.

    Programs in Python often write ``trace_id`` and the names of the codes.
    """
    if isinstance(value, list):
        return [_strict(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        _SNAKE.sub(lambda match: match[1].upper(), name): _CODES.get(each, each)
        if name == "code" and isinstance(each, str)
        else _strict(each)
        for name, each in value.items()
    }


_SPANS = Export(
    "OpenTelemetry spans",
    "opentelemetry",
    (
        Keys(_LISTS, holds=lambda row: any(isinstance(row.get(name), list) for name in _LISTS)),
        Keys(
            ("traceId", "trace_id"),
            ("spanId", "span_id"),
            "attributes",
            # The attributes are a list of keys with values.
            holds=lambda row: (
                bool(attributes := objects(row["attributes"]))
                and all({"key", "value"} <= each.keys() for each in attributes)
            ),
        ),
    ),
    read_spans,
    of_traces=True,
)


# Spans of the conventions, from the newest back to the events of version 1.36 and earlier. Content
# is on the span as JSON, structured in a log record or an event of the span, or one log record or
# event per message.


_MISSING = (
    "Content is off: set "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY (older instrumentations: true)."
)
_OPERATIONS = {
    **dict.fromkeys(
        ("chat", "text_completion", "completion", "generate_content", "generate"), Operation.MODEL
    ),
    **dict.fromkeys(("invoke_agent", "invoke_workflow"), Operation.APP),
    "retrieval": Operation.RETRIEVAL,
    "execute_tool": Operation.TOOL,
}
_DETAILS = "gen_ai.client.inference.operation.details"
_CHOICE = "gen_ai.choice"
_ROLES = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_PROMPT, _COMPLETION = "gen_ai.content.prompt", "gen_ai.content.completion"  # up to version 1.27
_VARIABLES = tuple(
    f"gen_ai.prompt.variable.{name}"
    for name in ("question", "query", "user_question", "user_query", "user_input", "input")
)
_CONTEXTS = tuple(
    f"gen_ai.prompt.variable.{name}" for name in ("context", "documents", "passages", "sources")
)
_Records = Sequence[tuple[str, Mapping[str, Any]]]


def read_span(span: Span, logs: Sequence[LogRecord]) -> Part | None:
    """Read a span of these conventions."""
    records = list(_records(span, logs))
    if not records and not any(name.startswith("gen_ai.") for name in span.attributes):
        return None
    fields = dict(span.attributes)
    for name, content in records:
        fields = {**content, **fields} if name == _DETAILS else fields
    operation = _operation(fields, records)
    messages, output = _content(fields, records)
    question = (
        fields.get("gen_ai.retrieval.query.text")
        if operation is Operation.RETRIEVAL
        else first(fields, _VARIABLES)
    )
    answer = text_of(output) if operation in {Operation.APP, Operation.MODEL} else None
    tool_calls = tool_calls_in(output)
    if operation is Operation.TOOL:
        tool = as_text(fields.get("gen_ai.tool.name"))
        places = {"arguments": "gen_ai.tool.call.arguments", "result": "gen_ai.tool.call.result"}
        values = {name: parsed(fields[place]) for name, place in places.items() if place in fields}
        call = {"id": as_text(fields.get("gen_ai.tool.call.id")), "name": tool, **values}
        tool_calls = (call,) if tool else ()
    # LangChain's instrumentation logs the named inputs of a workflow as one message with JSON.
    of_workflow = operation is Operation.APP and len(messages) == 1
    inputs = parsed(messages[0]["content"]) if of_workflow else None
    inputs = inputs if isinstance(inputs, dict) else None
    return Part(
        dialect="genai",
        operation=operation,
        question=question_of(question) or question_of(inputs or messages),
        answer=answer,
        messages=() if inputs else messages,
        passages=passages_in(fields.get("gen_ai.retrieval.documents"))
        if operation is Operation.RETRIEVAL
        else None,
        tool_calls=tool_calls,
        model=first_scalar(fields, ("gen_ai.response.model", "gen_ai.request.model")),
        prompt_tokens=as_count(
            first(fields, ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"))
        ),
        completion_tokens=as_count(
            first(fields, ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"))
        ),
        cost=as_number(fields.get("gen_ai.usage.cost")),
        session=as_text(fields.get("gen_ai.conversation.id")),
        context=next(
            (
                text
                for name in _CONTEXTS
                if isinstance(text := fields.get(name), str) and text.strip()
            ),
            None,
        ),
        missing=_MISSING
        if operation is Operation.MODEL and not (messages or answer or tool_calls)
        else None,
    )


def _records(span: Span, logs: Sequence[LogRecord]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and the fields of each event of the span, which may be an event or a log record."""
    for event in span.events:
        if event.name.startswith("gen_ai."):
            yield (
                event.name,
                {**event.attributes, **parsed_object(event.attributes.get("gen_ai.event.content"))},
            )
    for log in logs:
        if log.event.startswith("gen_ai."):
            yield log.event, {**log.attributes, **parsed_object(log.body)}
    events = parsed(span.attributes.get("events"))  # Logfire keeps all in one attribute
    for each in events if isinstance(events, list) else ():
        if isinstance(each, dict) and str(each.get("event.name")).startswith("gen_ai."):
            yield str(each["event.name"]), each


def _operation(fields: Mapping[str, Any], records: _Records) -> Operation:
    name = fields.get("gen_ai.operation.name")
    if isinstance(name, str) and name:
        return _OPERATIONS.get(name.lower(), Operation.OTHER)
    if any(field in fields for field in ("gen_ai.tool.name", "gen_ai.tool.call.id")):
        return Operation.TOOL
    if any(field.startswith("gen_ai.retrieval.") for field in fields):
        return Operation.RETRIEVAL
    names_of_models = (
        "gen_ai.request.model",
        "gen_ai.response.model",
        "gen_ai.input.messages",
        "gen_ai.output.messages",
    )
    if any(field in fields for field in names_of_models) or any(
        event in {_CHOICE, _PROMPT, *_ROLES} for event, _ in records
    ):
        return Operation.MODEL
    return Operation.APP if "gen_ai.agent.name" in fields else Operation.OTHER


def _content(
    fields: Mapping[str, Any], records: _Records
) -> tuple[tuple[dict[str, Any], ...], Any]:
    """Return the input messages and the output."""
    inputs = first(fields, ("gen_ai.input.messages", "gen_ai.prompt"))
    outputs = parsed(first(fields, ("gen_ai.output.messages", "gen_ai.completion")))
    messages = messages_in(inputs)
    if not messages and not outputs:
        prompts: list[dict[str, Any]] = []
        replies: list[Any] = []
        for name, content in records:
            if name in _ROLES:
                prompts += messages_in([_message(content, _ROLES[name])])
            elif name == _CHOICE:
                reply = parsed(content.get("message"))
                replies.append(
                    _message(reply if isinstance(reply, dict) else {"content": reply}, "assistant")
                )
            elif name == _PROMPT:
                prompts += messages_in(content.get("gen_ai.prompt"))
            elif name == _COMPLETION:
                replies.append(parsed(content.get("gen_ai.completion")))
        messages, outputs = tuple(prompts), replies[0] if replies else None
    if not any(each.get("content") or each.get("tool_calls") for each in messages):
        messages = ()  # the older instrumentations write messages without texts
    instructions = text_of(
        [{"role": "assistant", "content": parsed(fields.get("gen_ai.system_instructions"))}]
    )
    return (
        ({"role": "system", "content": instructions},) if instructions and messages else ()
    ) + messages, outputs


def _message(fields: Mapping[str, Any], role: str) -> dict[str, Any]:
    """Return the message of an event, whose content may be parts in JSON."""
    parts = parsed(fields.get("content"))
    has_parts = isinstance(parts, list) and all(isinstance(part, dict) for part in parts)
    return {
        **fields,
        "role": fields.get("role") or role,
        "content": parts if has_parts else fields.get("content"),
    }


# Sent to a Collector: log records `gen_ai.evaluation.result`, as JSON


def _access(address: str, environment: Mapping[str, str]) -> Access:
    pairs = (
        pair.partition("=")
        for pair in environment.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(",")
        if pair
    )
    return Access(
        address.removesuffix("/v1/logs"),
        {name.strip(): unquote(value).strip() for name, _, value in pairs},
    )


def _send(http: Connection, items: Sequence[PushItem]) -> None:
    records = [_log_record(item, score) for item in items for score in item.scores]
    scope = {"scope": {"name": "judgeboard"}, "logRecords": records}
    resource = {"attributes": _key_values({"service.name": "judgeboard"})}
    reply = http.send(
        "POST", "/v1/logs", {"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]}
    )
    partial = reply.get("partialSuccess") if isinstance(reply, dict) else None
    if partial and int(partial.get("rejectedLogRecords") or 0):
        raise Refused(
            without_secrets(str(partial.get("errorMessage") or "log records were rejected"))
        )


def _log_record(item: PushItem, score: PushScore) -> dict[str, Any]:
    at = str(int(item.at.timestamp() * 1_000_000) * 1_000)
    attributes = {
        EVALUATION + "name": score.name,
        EVALUATION + "score.value": score.value,
        EVALUATION + "score.label": score.label,
        EVALUATION + "explanation": score.reasoning or item.note,
        # A log record has no id. By this id, a receiver recognises a record that comes again.
        PUSHED: str(stable_id(item, score.name, str(item.row_id))),
        "judgeboard.kind": item.what.value,
        **{f"judgeboard.{name}": value for name, value in facts(item).items()},
    }
    record = {
        "timeUnixNano": at,
        "observedTimeUnixNano": at,
        "eventName": EVENT,
        "traceId": needed_trace_id(item),
        "spanId": span_id_of(item),
        "attributes": _key_values(attributes),
    }
    return without_none(record)


def _key_values(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "key": name,
            "value": {"doubleValue": value}
            if isinstance(value, float)
            else {"stringValue": str(value)},
        }
        for name, value in values.items()
        if value is not None
    ]


OTLP = Target(
    "otlp",
    ("OTEL_EXPORTER_OTLP_ENDPOINT",),
    _access,
    _send,
    batch_size=200,
    default_address="http://localhost:4318",
)


TOOL = Tool(exports=(_SPANS,), spans=read_span, target=OTLP)

"""OpenTelemetry's own conventions for generative AI, from the newest back to the events of version 1.36 and earlier.

Content is on the span as JSON, structured in a log record or an event of the span, or one log record or event per
message.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judgeboard.traces.attributes import as_count, as_number, as_text, first, first_scalar, parsed, parsed_object
from judgeboard.traces.content import messages_in, question_of, text_of, tool_calls_in
from judgeboard.traces.documents import passages_in
from judgeboard.traces.spans import LogRecord, Operation, Part, Span

MISSING = (
    "Content is off: set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY (older instrumentations: true)."
)
_OPERATIONS = {
    **dict.fromkeys(("chat", "text_completion", "completion", "generate_content", "generate"), Operation.MODEL),
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

_CONTEXTS = tuple(f"gen_ai.prompt.variable.{name}" for name in ("context", "documents", "passages", "sources"))

_Records = Sequence[tuple[str, Mapping[str, Any]]]


def read(span: Span, logs: Sequence[LogRecord]) -> Part | None:
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
        fields.get("gen_ai.retrieval.query.text") if operation is Operation.RETRIEVAL else first(fields, _VARIABLES)
    )
    answer = text_of(output) if operation in {Operation.APP, Operation.MODEL} else None
    tool_calls = _tool(fields) if operation is Operation.TOOL else tool_calls_in(output)
    inputs = _inputs(messages) if operation is Operation.APP else None
    return Part(
        dialect="genai",
        operation=operation,
        question=question_of(question) or question_of(inputs or messages),
        answer=answer,
        messages=() if inputs else messages,
        passages=passages_in(fields.get("gen_ai.retrieval.documents")) if operation is Operation.RETRIEVAL else None,
        tool_calls=tool_calls,
        model=first_scalar(fields, ("gen_ai.response.model", "gen_ai.request.model")),
        prompt_tokens=as_count(first(fields, ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"))),
        completion_tokens=as_count(first(fields, ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"))),
        cost=as_number(fields.get("gen_ai.usage.cost")),
        session=as_text(fields.get("gen_ai.conversation.id")),
        context=next((text for name in _CONTEXTS if isinstance(text := fields.get(name), str) and text.strip()), None),
        missing=MISSING if operation is Operation.MODEL and not (messages or answer or tool_calls) else None,
    )


def _inputs(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the named inputs of a workflow, which LangChain's instrumentation logs as one message with JSON."""
    inputs = parsed(messages[0]["content"]) if len(messages) == 1 else None
    return inputs if isinstance(inputs, dict) else None


def _records(span: Span, logs: Sequence[LogRecord]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and the fields of each event of the span, whether it came as an event or as a log record."""
    for event in span.events:
        if event.name.startswith("gen_ai."):
            yield event.name, {**event.attributes, **parsed_object(event.attributes.get("gen_ai.event.content"))}
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
    called = ("gen_ai.request.model", "gen_ai.response.model", "gen_ai.input.messages", "gen_ai.output.messages")
    if any(field in fields for field in called) or any(event in {_CHOICE, _PROMPT, *_ROLES} for event, _ in records):
        return Operation.MODEL
    return Operation.APP if "gen_ai.agent.name" in fields else Operation.OTHER


def _content(fields: Mapping[str, Any], records: _Records) -> tuple[tuple[dict[str, Any], ...], Any]:
    """Return the input messages and the output."""
    inputs = first(fields, ("gen_ai.input.messages", "gen_ai.prompt"))
    outputs = parsed(first(fields, ("gen_ai.output.messages", "gen_ai.completion")))
    messages = messages_in(inputs)
    if not messages and not outputs:
        messages, outputs = _from_events(records)
    if not any(each.get("content") or each.get("tool_calls") for each in messages):
        messages = ()  # the older instrumentations write messages without texts
    instructions = text_of([{"role": "assistant", "content": parsed(fields.get("gen_ai.system_instructions"))}])
    return (({"role": "system", "content": instructions},) if instructions and messages else ()) + messages, outputs


def _from_events(records: _Records) -> tuple[tuple[dict[str, Any], ...], Any]:
    inputs: list[dict[str, Any]] = []
    outputs: list[Any] = []
    for name, content in records:
        if name in _ROLES:
            inputs += messages_in([_message(content, _ROLES[name])])
        elif name == _CHOICE:
            reply = parsed(content.get("message"))
            outputs.append(_message(reply if isinstance(reply, dict) else {"content": reply}, "assistant"))
        elif name == _PROMPT:
            inputs += messages_in(content.get("gen_ai.prompt"))
        elif name == _COMPLETION:
            outputs.append(parsed(content.get("gen_ai.completion")))
    return tuple(inputs), outputs[0] if outputs else None


def _message(fields: Mapping[str, Any], role: str) -> dict[str, Any]:
    """Return the message of an event, whose content may be parts in JSON."""
    parts = parsed(fields.get("content"))
    has_parts = isinstance(parts, list) and all(isinstance(part, dict) for part in parts)
    return {**fields, "role": fields.get("role") or role, "content": parts if has_parts else fields.get("content")}


def _tool(fields: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    name = as_text(fields.get("gen_ai.tool.name"))
    values = {"arguments": "gen_ai.tool.call.arguments", "result": "gen_ai.tool.call.result"}
    content = {key: parsed(fields[place]) for key, place in values.items() if place in fields}
    return ({"id": as_text(fields.get("gen_ai.tool.call.id")), "name": name, **content},) if name else ()

"""OpenLLMetry (Traceloop): workflows, tasks, agents and tools, calls of models old and new, and vector stores."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from judgeboard.tools.tool import Tool
from judgeboard.traces.attributes import (
    as_count,
    as_number,
    as_text,
    first,
    first_scalar,
    nested,
    own_metadata,
    parsed,
    parsed_object,
    session_and_user,
    tags_in,
    under,
)
from judgeboard.traces.content import contents, question_of
from judgeboard.traces.documents import passages_in
from judgeboard.traces.spans import LogRecord, Operation, Part, Passage, Span

_PREFIXES = (
    "traceloop.",
    "llm.request.type",
    "gen_ai.prompt.0.",
    "gen_ai.completion.0.",
    "llm.prompts.0.",
)
_OLD_PREFIXES = (("gen_ai.prompt", "gen_ai.completion"), ("llm.prompts", "llm.completions"))
_MODELS = (
    "gen_ai.response.model",
    "gen_ai.request.model",
    "llm.response.model",
    "llm.request.model",
)
_INPUT_TOKENS = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.usage.prompt_tokens",
)
_OUTPUT_TOKENS = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.usage.completion_tokens",
)
_RESULTS = {"db.query.result", "db.search.result"}  # the events of vector stores
_RETRIEVES = re.compile(
    r"retriev|search|rerank|lookup|knowledge|passages|documents|contexts?$", re.IGNORECASE
)
_KINDS = {
    "workflow": Operation.APP,
    "task": Operation.APP,
    "agent": Operation.APP,
    "tool": Operation.TOOL,
}
_OPERATIONS = {
    "chat": Operation.MODEL,
    "completion": Operation.MODEL,
    "text_completion": Operation.MODEL,
    "generate_content": Operation.MODEL,
    "vector_db_retrieve": Operation.RETRIEVAL,
    "execute_tool": Operation.TOOL,
    "invoke_agent": Operation.APP,
}
_MISSING = "Content is off: set TRACELOOP_TRACE_CONTENT=true."


def read_span(span: Span, logs: Sequence[LogRecord]) -> Part | None:  # noqa: ARG001 - the interface of all dialects
    """Read a span of OpenLLMetry; None for a span of another dialect."""
    attributes = span.attributes
    results = [event.attributes for event in span.events if event.name in _RESULTS]
    if not results and not any(name.startswith(_PREFIXES) for name in attributes):
        return None
    # A search of a vector store goes by its request, any other span by its kind; without a known
    # kind, by the request again, or else by whether there are messages.
    request = attributes.get("llm.request.type") or attributes.get("gen_ai.operation.name")
    request_name, kind = str(request).lower(), str(attributes.get("traceloop.span.kind")).lower()
    if request_name != "vector_db_retrieve" and kind in _KINDS:
        operation = _KINDS[kind]
    else:
        has_messages = _messages_of(attributes) != (None, None)
        usual = Operation.MODEL if has_messages else Operation.OTHER
        operation = _OPERATIONS.get(request_name, usual)
    fields: dict[str, Any]
    usage: dict[str, Any] = {}
    if results:
        passages: list[Passage] = []
        for result in results:  # of a vector store
            values = {
                name.split(".result.", 1)[-1].removeprefix("entity."): parsed(value)
                for name, value in result.items()
            }
            inner = passages_in([{"id": values.get("id", ""), **values}])
            passages += inner[:1] if inner else [Passage(None, id=first_scalar(values, ("id",)))]
        operation, fields = Operation.RETRIEVAL, {"passages": tuple(passages)}
    elif operation is Operation.MODEL:
        inputs, outputs = _messages_of(attributes)
        if inputs is None and outputs is None:  # frameworks may log a model call as a task
            inputs = attributes.get("traceloop.entity.input")
            outputs = attributes.get("traceloop.entity.output")
        models = (as_text(attributes.get(name)) for name in _MODELS)
        fields = contents(Operation.MODEL, inputs, outputs)
        usage = {
            "model": next((model for model in models if model and model != "unknown"), None),
            "prompt_tokens": as_count(first(attributes, _INPUT_TOKENS)),
            "completion_tokens": as_count(first(attributes, _OUTPUT_TOKENS)),
            "cost": as_number(attributes.get("gen_ai.usage.cost")),
        }
    else:
        operation, fields = _entity(operation, attributes)
    inputs = parsed_object(attributes.get("traceloop.entity.input"))
    # The metadata come from LangChain's configuration.
    properties = parsed_object(inputs.get("metadata")) | under(
        attributes, "traceloop.association.properties."
    )
    session, user = session_and_user(properties)
    return Part(
        "openllmetry",
        operation,
        **fields,
        session=session or first_scalar(attributes, ("gen_ai.conversation.id", "session.id")),
        user=user or first_scalar(attributes, ("user.id", "enduser.id", "gen_ai.user", "llm.user")),
        tags=tags_in(inputs.get("tags")),
        metadata=own_metadata(properties),
        missing=_MISSING
        if operation is Operation.MODEL and not span.error and not any(fields.values())
        else None,
        **usage,
    )


def _messages_of(attributes: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the inputs and outputs of a model call, in the newest form on the span."""
    inputs, outputs = (
        attributes.get("gen_ai.input.messages"),
        attributes.get("gen_ai.output.messages"),
    )
    if inputs is not None or outputs is not None:
        system = parsed(attributes.get("gen_ai.system_instructions"))
        inputs = parsed(inputs)
        if system and isinstance(inputs, list):
            inputs = [{"role": "system", "content": system}, *inputs]
        return inputs, outputs
    for prompt, completion in _OLD_PREFIXES:
        inputs, outputs = nested(attributes, prompt), nested(attributes, completion)
        if inputs or outputs:
            # A completion may lack the role. The first choice of a model counts.
            return [_old_message(each, "user") for each in inputs], [
                _old_message(each, "assistant") for each in outputs[:1]
            ]
    return None, None


def _old_message(message: Mapping[str, Any], role: str) -> dict[str, Any]:
    """Return a message with a role. The instrumentation of LangChain wrote an empty content as JSON."""
    return {"role": role, **message, **({"content": ""} if message.get("content") == '""' else {})}


def _entity(
    operation: Operation, attributes: Mapping[str, Any]
) -> tuple[Operation, dict[str, Any]]:
    """Return the operation and the fields of a function or of a step of a framework.

    OpenLLMetry has no kind for retrievers: a step that returns documents is a retriever.
    """
    inputs = parsed(attributes.get("traceloop.entity.input"))
    outputs = parsed(attributes.get("traceloop.entity.output"))
    if (
        isinstance(outputs, dict) and "outputs" in outputs
    ):  # LangChain: {"outputs": …, "kwargs": {…}}
        kwargs, outputs = outputs.get("kwargs"), outputs["outputs"]
        # A streamed chain has the question only beside the output.
        if question_of(inputs) is None and isinstance(kwargs, dict) and kwargs.get("inputs"):
            inputs = {"inputs": kwargs["inputs"]}
    if operation is Operation.TOOL:
        inputs = attributes.get("gen_ai.tool.call.arguments") if inputs is None else inputs
        outputs = attributes.get("gen_ai.tool.call.result") if outputs is None else outputs
    name = first_scalar(attributes, ("traceloop.entity.name", "gen_ai.tool.name")) or ""
    named_so = isinstance(outputs, list) and bool(_RETRIEVES.search(name))
    if (
        attributes.get("traceloop.span.kind") == "task"
        and passages_in(outputs, retriever=named_so) is not None
    ):
        operation = Operation.RETRIEVAL
    if isinstance(inputs, dict):  # LangChain: {"inputs": …, "tags": …, "metadata": …}
        inputs = first(inputs, ("inputs", "input_str")) or inputs
    fields = contents(operation, inputs, outputs, name)
    if (
        operation is Operation.APP
    ):  # older versions log no retriever, but the steps that received the documents
        arguments = inputs.get("args") if isinstance(inputs, dict) else inputs
        fields["passages"] = passages_in(arguments, retriever=False) or fields["passages"]
    return operation, fields


TOOL = Tool(spans=read_span)

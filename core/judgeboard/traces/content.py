"""Questions, answers, messages and tool calls in the values that instrumentations log.

Every instrumentation serializes the arguments and results of a function, a framework or a
provider's client. The same few shapes occur everywhere: as JSON text, as JSON inside JSON, or as
values.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from judgeboard.traces.attributes import DEEPEST, first, is_repr, literal, parsed
from judgeboard.traces.documents import is_document, passages_beside, passages_in, unwrapped
from judgeboard.traces.spans import Operation, Passage

_CUT_JSON = ('{"', '[{"', '["', "[[{")
_ROLES = {
    "human": "user",
    "humanmessage": "user",
    "humanmessagechunk": "user",
    "ai": "assistant",
    "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "developer": "system",
    "systemmessage": "system",
    "toolmessage": "tool",
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "tool": "tool",
}
_OTHER_ROLES = {"model": "assistant", "bot": "assistant", "function": "tool", "chat": "user"}
_QUESTION_KEYS = (
    "question",
    "query",
    "user_input",
    "user_query",
    "user_question",
    "user_message",
    "query_text",
    "query_str",
    "query_bundle",
    "str_or_query_bundle",
    "input",
    "inputs",
    "input_str",
    "q",
    "prompt",
    "prompts",
    "message",
    "messages",
    "contents",
    "chat_history",
    "text",
    "content",
    "request",
    "new_message",
    "task",
    "description",
)
_ANSWER_KEYS = (
    "answer",
    "answers",
    "final_answer",
    "output_text",
    "choices",
    "generations",
    "candidates",
    "replies",
    "output",
    "outputs",
    "final_output",
    "result",
    "response",
    "completion",
    "generated_text",
    "reply",
    "message",
    "messages",
    "return",
    "return_values",
    "content",
    "parts",
    "text",
    "raw",
    "data",
)
_NO_QUESTION = re.compile(
    r"(.*_)?(id|uuid|key|token|model|name|lang|language|locale|tenant|session|user|mode|version)"
)
_BODY_KEYS = ("content", "parts", "blocks", "refusal")
_RESULTS = {"tool_call_response", "tool_result", "tool_return"}
_MESSAGE_KEYS = frozenset({*_BODY_KEYS, "tool_calls"})
_CALL_TYPES = frozenset({"tool_call", "tool-call", "tool_use", "server_tool_use", "function_call"})
_CALL_KEYS = (
    "tool_call",
    "function_call",
    "functionCall",
    "toolUse",
)  # a part or a message that has the call inside


def text_of(value: Any) -> str | None:
    """Return the text of an answer in any of the usual shapes; None if the value has no text, as with tool calls."""
    return _text(value, _ANSWER_KEYS)


def question_of(value: Any) -> str | None:
    """Return the text of a question: the last message of a user, a named argument or the first text among others."""
    return _text(value, _QUESTION_KEYS)


def messages_in(value: Any) -> tuple[dict[str, Any], ...]:
    """Return the messages of a list, of an object with a list, or of a single message; empty if there are none.

    A message has ``role`` (user, assistant, system, tool) and ``content`` (a text, may be empty).
    Optional keys are ``tool_calls``, ``tool_call_id`` and ``name``.
    """
    value = parsed(value)
    return tuple(_messages(value, 0)) if isinstance(value, dict | list | tuple) else ()


def tool_calls_in(value: Any) -> tuple[dict[str, Any], ...]:
    """Return the tool calls that a model asked for, as mappings with ``id``, ``name`` and ``arguments``."""
    return tuple(_answer_calls(parsed(value), 0)) if value else ()


def contents(operation: Operation, inputs: Any, outputs: Any, name: str = "") -> dict[str, Any]:
    """Return the fields of a `Part` that follow from the inputs and outputs of a span; ``name`` is a tool's."""
    if operation is Operation.TOOL:
        call = {"name": name, "arguments": arguments_of(inputs), "result": parsed(text_of(outputs))}
        return {"tool_calls": (call,)}
    fields: dict[str, Any] = {"question": question_of(inputs)}
    if operation in {Operation.RETRIEVAL, Operation.RERANKING}:
        passages = passages_in(outputs)
        text = text_of(outputs) if passages is None else None
        return fields | {"passages": (Passage(text),) if text else passages}
    fields["answer"] = text_of(outputs)
    if operation in {Operation.MODEL, Operation.APP}:
        fields["messages"] = messages_in(inputs)
    if operation is Operation.APP:
        fields["passages"] = passages_beside(outputs) or passages_beside(inputs)
    if operation is Operation.MODEL:
        fields["tool_calls"] = tool_calls_in(outputs)
    return fields


def arguments_of(value: Any) -> Any:
    """Return the arguments of a function or tool, also from the text that Python makes of a dict."""
    arguments = literal(value)
    if isinstance(arguments, dict) and arguments.keys() <= {"args", "kwargs"}:
        arguments = arguments.get("kwargs") or arguments.get("args")
    return arguments


def _text(value: Any, keys: Sequence[str]) -> str | None:
    structure = parsed(value)
    if isinstance(structure, str):
        return _plain(structure)
    if structure is None or structure == ():  # most spans lack most fields
        return None
    is_known, text = _found(structure, keys, 0)
    if is_known or not isinstance(structure, dict) or not structure:
        return text
    return value.strip() if isinstance(value, str) else _dumped(structure)  # a structured answer


def _plain(text: str) -> str | None:
    """Return a text, or None for a blank text, the repr of a Python object, or JSON that was cut off."""
    bare_text = text.strip()
    if not bare_text or bare_text.startswith(_CUT_JSON) or is_repr(bare_text):
        return None
    return text


def _dumped(value: Any) -> str | None:
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError, RecursionError):
        return None


def _found(value: Any, keys: Sequence[str], depth: int) -> tuple[bool, str | None]:
    """Return whether the shape is known, and the text. ``keys`` are the names of questions, or of answers."""
    value = unwrapped(value)
    if depth > DEEPEST or value is None:
        return True, None
    if isinstance(value, str):
        return True, _plain(value)
    if isinstance(value, bool | int | float):
        return keys is _ANSWER_KEYS, str(value) if keys is _ANSWER_KEYS else None
    if isinstance(value, dict) and (message := _message(value)) is not None:
        return True, _message_text([message], keys, [value])
    if isinstance(value, list | tuple):
        messages = list(_messages(value, depth))
        return (
            (True, _message_text(messages, keys, value))
            if messages
            else _found_in_list(value, keys, depth)
        )
    return _found_in_object(value, keys, depth) if isinstance(value, dict) else (False, None)


def _message_text(
    messages: Sequence[Mapping[str, Any]], keys: Sequence[str], value: Any
) -> str | None:
    if keys is _QUESTION_KEYS:
        questions = [
            each["content"]
            for each in messages
            if each["role"] == "user" and each["content"].strip()
        ]
        return questions[-1] if questions else None
    # The pieces of a streamed message, as LangChain logs them.
    pieces = [unwrapped(each) for each in value]
    if len(messages) > 1 and all(
        isinstance(each, dict) and "Chunk" in str(each.get("type")) for each in pieces
    ):
        return "".join(each["content"] for each in messages) or None
    last = messages[-1]
    return (
        last["content"]
        if last["role"] in {"assistant", "tool"} and last["content"].strip()
        else None
    )


def _found_in_list(
    value: Sequence[Any], keys: Sequence[str], depth: int
) -> tuple[bool, str | None]:
    texts = [each for each in value if isinstance(each, str) and _plain(each)]
    if keys is _ANSWER_KEYS and len(value) > 1 and (streamed := _streamed(value)):
        return True, streamed
    is_known = any(isinstance(each, str) and is_repr(each) for each in value)
    if texts:  # arguments of a function, or a function that returns an answer and ids
        return True, next((each for each in texts if " " in each.strip()), texts[0])
    for each in value:
        documents = is_document(each)
        inner_known, text = (True, None) if documents else _found(each, keys, depth + 1)
        is_known |= inner_known
        if text:
            return True, text
    return is_known, None


def _streamed(pieces: Sequence[Any]) -> str | None:
    """Return the text of a streamed answer that was logged in pieces, else None."""
    if all(isinstance(each, str) for each in pieces):
        spaced = sum(each[:1].isspace() or each[-1:].isspace() for each in pieces)
        short = len(pieces) > 4 and max(map(len, pieces)) <= 24  # not every language has spaces
        return (
            "".join(pieces).strip()
            if len(pieces) > 2 and (short or 3 * spaced >= len(pieces))
            else None
        )
    texts = []
    for each in pieces:
        choices = each.get("choices") if isinstance(each, dict) else None
        if not isinstance(choices, list):
            return None
        delta = choices[0].get("delta") if choices and isinstance(choices[0], dict) else None
        texts.append(str(delta.get("content") or "") if isinstance(delta, dict) else "")
    return "".join(texts).strip()


def _found_in_object(
    value: dict[str, Any], keys: Sequence[str], depth: int
) -> tuple[bool, str | None]:
    arguments, keywords = value.get("args"), value.get("kwargs")
    if (
        keys is _QUESTION_KEYS
        and isinstance(arguments, list | tuple)
        and isinstance(keywords, dict)
    ):  # a function's call
        text = _found_in_object(keywords, keys, depth + 1)[1]
        return True, text or _found(arguments, keys, depth + 1)[1]
    is_known = "tool_calls" in value
    for key in keys:
        if key in value:
            inner = parsed(value[key])
            inner_known, text = _found(inner, keys, depth + 1)
            if (
                not inner_known and inner and keys is _ANSWER_KEYS and isinstance(inner, dict)
            ):  # a structured answer
                text = value[key] if isinstance(value[key], str) else _dumped(inner)
            is_known |= inner_known
            if text:
                return True, text
    if not is_known and keys is _QUESTION_KEYS:
        candidates = {key: each for key, each in value.items() if not _NO_QUESTION.fullmatch(key)}
        texts = [each for each in candidates.values() if isinstance(each, str) and _plain(each)]
        if len(texts) == 1:
            return True, texts[0]
    steps = list(value.values())
    if (
        not is_known and steps and depth < DEEPEST and all(isinstance(each, dict) for each in steps)
    ):  # by step: Haystack
        text = next(
            (text for each in steps if (text := _found_in_object(each, keys, depth + 1)[1])), None
        )
        return text is not None, text
    return is_known, None


# -- messages ---------------------------------------------------------------------------------------------------------


def _messages(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    value = unwrapped(value)
    if depth > DEEPEST:
        return
    if isinstance(value, dict):
        if (message := _message(value)) is not None:
            yield message
            return
        for key in ("messages", "input_messages", "contents", "inputs", "input", "args", "kwargs"):
            inner = parsed(value.get(key))
            if isinstance(inner, list | dict) and (messages := list(_messages(inner, depth + 1))):
                system = first(value, ("system", "instructions"))
                if isinstance(system, str) and messages[0]["role"] != "system":
                    yield {"role": "system", "content": system}
                yield from messages
                return
    elif isinstance(value, list | tuple) and value:
        messages = [message for each in value if (message := _message(each)) is not None]
        if not messages and isinstance(
            value[0], list | tuple
        ):  # LangChain's batches, arguments of a function
            yield from _messages(value[0], depth + 1)
        yield from messages


def _message(value: Any) -> dict[str, Any] | None:
    """Return a message in the stored form; None if the value is no message."""
    value = unwrapped(value)
    if (
        isinstance(value, list | tuple)
        and len(value) == 2
        and all(isinstance(each, str) for each in value)
    ):
        value = {"type": value[0], "content": value[1]}  # as LangChain accepts it: ["human", "…"]
    if not isinstance(value, dict):
        return None
    inner = value.get("message")
    if isinstance(inner, dict) and len(value) < 3 and not {"role", "content"} & value.keys():
        value = inner
    if isinstance(value.get("data"), dict) and isinstance(value.get("type"), str):
        value = {"type": value["type"], **value["data"]}
    if "_role" in value and "_content" in value:  # Haystack
        value = {name.removeprefix("_"): each for name, each in value.items()}
    role = value.get("role") or value.get("type")
    if not isinstance(role, str) or _MESSAGE_KEYS.isdisjoint(value):
        return None
    name = role.lower().rpartition(".")[2]
    # Langfuse logs the definitions of tools as messages of the role "tool".
    definition = name == "tool" and isinstance(value.get("content"), dict)
    if definition or (name not in _ROLES and not value.get("role")):
        return None
    parts = next((value[key] for key in _BODY_KEYS if isinstance(value.get(key), list)), ())
    if parts and all(
        isinstance(each, dict) and str(each.get("type")) in _RESULTS for each in parts
    ):
        name = "tool"  # some providers write the result of a tool as a message of the user
    # The content is a text or a list of parts. Reasoning is left out.
    content = ""
    for key in _BODY_KEYS:
        body = value.get(key)
        if isinstance(body, str) and body.startswith("[{"):  # parts, serialized
            pieces = parsed(body)
            is_serialized = all(isinstance(each, dict) and "type" in each for each in pieces)
            body = pieces if is_serialized else body
        texts = [_part_text(each) for each in (body if isinstance(body, list) else [body])]
        content = "\n".join(each for each in texts if each)
        if content:
            break
    message: dict[str, Any] = {
        "role": _ROLES.get(name) or _OTHER_ROLES.get(name, "assistant"),
        "content": content,
    }
    if calls := list(calls_in(value)):
        message["tool_calls"] = calls
    return message | {
        key: value[key] for key in ("tool_call_id", "name") if isinstance(value.get(key), str)
    }


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if (
        not isinstance(part, dict)
        or part.get("thought")
        or re.search("reason|think", str(part.get("type")))
    ):
        return ""
    for key in ("text", "content", "refusal", "response", "result"):
        text = part.get(key)
        if isinstance(text, dict):  # {"type": "text", "text": {"value": "…"}}
            text = text.get("value")
        if isinstance(text, str):
            return text
    if str(part.get("type")) in _RESULTS:
        return _dumped(first(part, ("response", "result", "content"))) or ""
    return ""


def calls_in(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the tool calls of a message with ``id``, ``name`` and ``arguments``, in the shapes of the providers.

    Tool calls are a list beside the content, parts of the content, or the message itself.
    """
    calls = message.get("tool_calls")
    calls = calls if isinstance(calls, list) else []
    parts = [
        part
        for key in ("content", "parts")
        if isinstance(message.get(key), list)
        for part in message[key]
    ]
    for each in (item for item in calls or [message, *parts] if isinstance(item, dict)):
        inner = first(each, _CALL_KEYS)
        call = (
            inner
            if isinstance(inner, dict)
            else each
            if calls or str(each.get("type")) in _CALL_TYPES
            else {}
        )
        function = call["function"] if isinstance(call.get("function"), dict) else call
        name = first(function, ("name", "toolName", "tool_name", "function"))
        if isinstance(name, str):
            arguments = parsed(first(function, ("arguments", "args", "input")))
            yield {
                "id": first(call, ("id", "toolCallId", "toolUseId")),
                "name": name,
                "arguments": arguments,
            }


def _answer_calls(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    """Yield the tool calls in the output of a model, in the shapes of the providers."""
    value = unwrapped(value)
    if depth > DEEPEST:
        return
    if isinstance(value, list | tuple):
        messages = list(_messages(value, depth))
        yield from messages[-1].get("tool_calls", ()) if messages else ()
        if not messages and value:
            yield from _answer_calls(value[0], depth + 1)
    elif isinstance(value, dict):
        if calls := list(calls_in(value)):
            yield from calls
            return
        for key in (
            "choices",
            "generations",
            "candidates",
            "output",
            "outputs",
            "messages",
            "message",
            "content",
        ):
            if isinstance(value.get(key), list | dict):
                yield from _answer_calls(value[key], depth + 1)
                return

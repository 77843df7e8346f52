"""The turns of a conversation: each reply with a text, with the question and other keys of the messages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import takewhile
from typing import Any

from judgeboard.imports import known_names
from judgeboard.imports.exports.entry import named
from judgeboard.imports.fields import simple_name
from judgeboard.imports.responses import ResponseImport
from judgeboard.llm.chat import text_of
from judgeboard.traces.attributes import parsed_object, without_none
from judgeboard.traces.documents import passages_in

# Keys of the chat format itself, which are kept with the messages of later turns.
_FORMAT = frozenset(
    {
        "role",
        "content",
        "name",
        "type",
        "object",
        "tool_calls",
        "tool_call_id",
        "function_call",
        "refusal",
    }
    | {"weight", "audio", "annotations"}
)
_TOOLS = frozenset({"tool", "function"})
# A trace or a sample is the whole conversation.
_OF_MANY_TURNS = frozenset(
    {"trace_id", "context_trace_id", "sample_id", "span_id", "context_span_id", "run_id"}
)
_IDS = (
    "message_id",
    "msg_id",
    *(name for name in known_names.RESPONSE_ID if name not in _OF_MANY_TURNS),
)
_FIELDS = {name: ours for ours, called in ResponseImport.columns.items() for name in called}
_FIELDS |= dict.fromkeys(_IDS, "external_id")
_OF_REPLY = frozenset(
    {"external_id", "thumbs", "stars", "feedback", "reference", "generator_model", "generator_cost"}
)


def field_of(name: str) -> str | None:
    """Return the field of answers that the name of a column means, None for other columns."""
    return _FIELDS.get(simple_name(name))


def completed(columns: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return columns, with ``others`` of other names and fields; question, answer and messages have no other name."""
    fields = {*columns, *map(field_of, columns)} - {None, "query", "answer", "messages"}
    return {
        name: value for name, value in others.items() if fields.isdisjoint((name, field_of(name)))
    } | {**columns}


@dataclass(frozen=True, slots=True)
class Turn:
    """A reply with a text and its question.

    ``number`` counts the turns of the conversation from 1. ``before`` are the messages before the
    reply. ``columns`` are the keys of the turn's messages, and ``own_id`` is the id of the reply's
    message. ``digest`` is a hash of the texts of user and assistant up to the reply: a reply that
    is logged again, in the history of a later request, has the same digest.
    """

    number: int
    question: str
    answer: str
    before: Sequence[Mapping[str, Any]]
    digest: int
    own_id: str | None
    columns: Mapping[str, Any]

    def ends(self, messages: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the reply is the last of these messages of the conversation."""
        return len(self.before) == len(messages) - 1


def turns_in(messages: Sequence[Mapping[str, Any]], conversation: str) -> Iterator[Turn]:
    """Yield the turns of a conversation. Turns of conversations with different ids have different digests.

    An assistant's message without a text (calls of tools) is no reply. A message that announces a
    call of a tool is no reply either, if another reply follows before the user's next message. If
    the messages name no passages, the results of tools are the passages.
    """
    number, start = 0, None
    digest = blake2b(conversation.encode("utf-8", "surrogatepass"), digest_size=8)
    for place, message in enumerate(messages):
        role, text = str(message.get("role")), text_of(message.get("content"))
        if role in {"user", "assistant"} and text.strip():
            digest.update(f"{role}\0{text.strip()}\0".encode("utf-8", "surrogatepass"))
        if role == "user":
            start = place
        if role != "assistant" or start is None or not text.strip():
            continue
        # A message that calls a tool is no reply if a later message replies to the same question.
        if message.get("tool_calls") or message.get("function_call"):
            others = takewhile(lambda other: other.get("role") != "user", messages[place + 1 :])
            if any(
                other.get("role") == "assistant" and text_of(other.get("content")).strip()
                for other in others
            ):
                continue
        number += 1
        own_id = named(message, _IDS)
        yield Turn(
            number,
            text_of(messages[start].get("content")),
            text,
            messages[:place],
            int.from_bytes(digest.digest()),
            None if own_id is None else str(own_id),
            _columns(messages[start : place + 1], own_id),
        )


def last_reply(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return question, answer and earlier messages if the last message is a reply; else nothing."""
    turn = next((turn for turn in turns_in(messages, "") if turn.ends(messages)), None)
    return (
        {}
        if turn is None
        else {"query": turn.question, "answer": turn.answer, "messages": turn.before}
    )


def _columns(messages: Sequence[Mapping[str, Any]], own_id: Any) -> dict[str, Any]:
    """Return the keys of the messages from a question to the reply.

    Keys of the reply, the last message, take precedence.
    """
    columns: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    for message in messages:
        values: dict[str, Any] = {}
        for name, value in message.items():
            field = field_of(name)
            of_other = (
                field in _OF_REPLY
                if message is not messages[-1]
                else (field, value) == ("external_id", own_id)
            )
            if name in known_names.METADATA:
                metadata |= parsed_object(value)
            elif (
                name not in _FORMAT
                and not of_other
                and (value not in (None, "", [], {}) or (field and value == []))
            ):
                values[name] = value
        columns = completed(values, columns)
    results = [
        text_of(message.get("content")) for message in messages if message.get("role") in _TOOLS
    ]
    if any(results):
        passages = [passage for text in results if text.strip() for passage in _passages(text)]
        columns = completed(columns, {"context": passages})
    return columns | ({"metadata": metadata} if metadata else {})


def _passages(text: str) -> list[dict[str, Any]]:
    """Return the passages in the result of a tool: the documents, as in a trace, or else the text."""
    passages = passages_in(text)
    if passages is None or any(passage.text is None for passage in passages):
        return [{"text": text}]
    passage_details = (
        {"id": each.id, "score": each.score, "source": each.source, **each.metadata}
        for each in passages
    )
    return [
        {"text": passage.text} | without_none(details)
        for passage, details in zip(passages, passage_details, strict=True)
    ]

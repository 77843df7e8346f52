"""The interface of chat models (requests and replies), and two stand-ins: functions and recorded replies."""

import inspect
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, TypedDict

from judgeboard.domain import Attempt, Turn
from judgeboard.errors import BadInput
from judgeboard.llm.own_thread import in_own_thread
from judgeboard.settings.masking import without_secrets
from judgeboard.text import file_text, storable
from judgeboard.traces.content import calls_in

REPLACED = "characters that cannot be stored became U+FFFD"
"""The detail of an attempt whose text had such characters."""


@dataclass(frozen=True, slots=True)
class TokenChance:
    """A token of a reply, and its most likely alternatives: text and natural log of the probability."""

    text: str
    alternatives: tuple[tuple[str, float], ...]


class Message(TypedDict):
    """One message of a chat, in the form that OpenAI-compatible endpoints accept."""

    role: str
    content: str


_ROLES = ("user", "assistant")


def earlier_turns(messages: Sequence[Mapping[str, Any]] | None) -> tuple[Turn, ...]:
    """Return what user and assistant wrote before the user's last message, with the tools that the assistant called.

    Instructions (role system) and results of tools are left out: these are not turns of the
    dialogue.
    """
    place = last_of_user(messages or ())
    earlier_messages = [
        message for message in (messages or ())[: place or 0] if isinstance(message, Mapping)
    ]
    turns = [
        Turn(
            message["role"],
            "\n".join(filter(None, (text_of(message.get("content")), *tool_call_lines(message)))),
        )
        for message in earlier_messages
        if message.get("role") in _ROLES
    ]
    return tuple(turn for turn in turns if turn.text.strip())


def tool_call_lines(message: Mapping[str, Any]) -> list[str]:
    """Return a line for each tool call of a message, with the name of the tool and the arguments in JSON."""
    return [
        f"Tool call: {call['name']}({json.dumps(call['arguments'], ensure_ascii=False, default=str)})"
        for call in calls_in(message)
    ]


def last_of_user(messages: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the index of the user's last message."""
    places = [
        place
        for place, each in enumerate(messages)
        if isinstance(each, Mapping) and each.get("role") == "user"
    ]
    return places[-1] if places else None


def text_of(content: Any) -> str:
    """Return the text of a message's content, or of the text parts."""
    if isinstance(content, list):
        return "\n".join(
            str(part.get("text") or "") for part in content if isinstance(part, dict)
        ).strip()
    return content if isinstance(content, str) else ""


class ReplyFormat(StrEnum):
    """The reply formats, strictest first; an endpoint may support only the later ones."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request to a model; the last message is the question.

    ``schema`` is the JSON schema of the reply (None: free text). ``max_output`` is in tokens.
    ``parameters`` are for sampling. ``subject`` is the key of recorded replies. ``repair`` is True
    if the request follows an unusable reply.
    """

    messages: Sequence[Message]
    schema: Mapping[str, Any] | None
    schema_name: str
    max_output: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    subject: str = ""
    repair: bool = False
    logprobs: bool = False

    @property
    def why(self) -> str:
        """The reason for the first call, as in ``Attempt.why``."""
        return "repair" if self.repair else "first"


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply; ``attempts`` are the calls, the successful one last.

    ``text`` and ``refusal`` can be stored. ``finish_reason`` is "length" if the reply was cut off,
    "content_filter" if a filter stopped it. ``dropped_parameters`` were left out or renamed.
    ``tokens`` is None unless the tokens were requested and returned.
    """

    text: str
    attempts: tuple[Attempt, ...] = ()
    refusal: str | None = None
    finish_reason: str | None = None
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reply_format: str | None = None
    dropped_parameters: tuple[str, ...] = ()
    tokens: tuple[TokenChance, ...] | None = None


@dataclass(frozen=True, slots=True)
class NoReply:
    """The reason why there is no reply; ``refused`` if the endpoint refused the content."""

    reason: str
    attempts: tuple[Attempt, ...]
    refused: bool = False
    reply_format: str | None = None
    dropped_parameters: tuple[str, ...] = ()


class ChatModel(Protocol):
    """A model that answers one request at a time; safe to call concurrently from one event loop."""

    host: str | None
    """Host and port that the texts are sent to; None when nothing leaves the process."""

    async def complete(self, request: ChatRequest) -> Reply | NoReply:
        """Answer ``request``."""

    async def aclose(self) -> None:
        """Release connections."""


Chat = Callable[[list[dict[str, Any]]], Any]
"""A function from messages to a text or to an awaitable text."""


async def call(chat: Chat, messages: Sequence[Mapping[str, Any]]) -> Any:
    """Call ``chat`` with copies of ``messages`` and return the result, awaited if necessary.

    A plain function runs in a thread, because it may block or start its own event loop, as wrappers
    of agents do. Nobody waits for this thread after a cancellation.
    """
    copies = [dict(message) for message in messages]
    target = chat if inspect.isroutine(chat) else getattr(chat, "__call__", chat)  # noqa: B004 - an object's own call
    if inspect.iscoroutinefunction(chat) or inspect.iscoroutinefunction(target):
        return await chat(copies)
    result = await in_own_thread(True, chat, copies)
    return await result if inspect.isawaitable(result) else result


class CallableChat:
    """Answers with a caller's function. If the function raises, the exception is the reason in `NoReply`."""

    host: str | None = None

    def __init__(self, chat: Chat) -> None:
        self._call = chat

    async def complete(self, request: ChatRequest) -> Reply | NoReply:
        """Answer ``request`` with the function's text."""
        started = time.monotonic()
        try:
            text = await call(self._call, request.messages)
            reason = (
                None
                if isinstance(text, str)
                else f"the callable gave {type(text).__name__}, not a text"
            )
        except Exception as error:  # noqa: BLE001 - a caller's code may raise anything; only this reply is missing
            text, reason = "", f"{type(error).__name__}: {error}"
        latency_ms = round((time.monotonic() - started) * 1000)
        if reason is not None:
            detail = storable(without_secrets(reason))[0]
            return NoReply(
                detail,
                (Attempt(why=request.why, status="raised", latency_ms=latency_ms, detail=detail),),
            )
        answer = storable(without_secrets(text))[0]
        return Reply(
            answer, (Attempt(why=request.why, status="ok", raw=answer, latency_ms=latency_ms),)
        )

    async def aclose(self) -> None:
        """Do nothing: there is nothing to release."""


Replies = Mapping[str, Sequence[str]]


class RecordedChat:
    """Answers with recorded replies from `read_replies`. The second reply of a subject answers the repair request."""

    host: str | None = None

    def __init__(self, replies: Replies) -> None:
        self._replies = replies

    async def complete(self, request: ChatRequest) -> Reply | NoReply:
        """Answer with the reply that was recorded for ``request.subject``."""
        subject = request.subject
        recorded = self._replies.get(subject, ())
        turn = 1 if request.repair else 0
        if turn >= len(recorded):
            what = (
                "to the repair request" if request.repair else f"for response {request.subject!r}"
            )
            return NoReply(f"no recorded reply {what}", attempts=())
        text, is_replaced = storable(recorded[turn])
        detail = REPLACED if is_replaced else None
        return Reply(text, (Attempt(why=request.why, status="ok", raw=text, detail=detail),))

    async def aclose(self) -> None:
        """Do nothing: there is nothing to release."""


def read_replies(path: Path) -> dict[str, list[str]]:
    """Return the recorded replies of a file by response id. A line is a JSON object with ``response_id`` and ``raw``.

    Raises BadInput if a line is invalid (the message names the line), the file cannot be read, or
    the file contains no reply.
    """
    replies: dict[str, list[str]] = {}
    for number, line in lines_of(path, "replies"):
        where = f"{path}, line {number}"
        row = json_of(line, where)
        response_id, raw = (
            (row.get("response_id"), row.get("raw")) if isinstance(row, dict) else (None, None)
        )
        if (
            not isinstance(response_id, str | int)
            or isinstance(response_id, bool)
            or not isinstance(raw, str | dict)
        ):
            raise BadInput(f'{where}: expected {{"response_id": …, "raw": "the reply as it came"}}')
        reply = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)
        replies.setdefault(str(response_id), []).append(reply)
    if not replies:  # otherwise each answer would be stored as a failed call
        raise BadInput(f"{path} contains no reply")
    return replies


def lines_of(path: Path, what: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that are not blank, with line numbers; ``what`` names the lines in BadInput."""
    lines = file_text(path, f"the file of {what} {path}", most=math.inf).split("\n")
    yield from ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def json_of(line: str, where: str) -> Any:
    """Return the JSON value of a line. Raises BadInput, which names the place ``where``."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: not JSON ({error})") from error

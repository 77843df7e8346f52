"""OpenAI chat logs: conversations, training examples, stored completions, and requests with responses."""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from judgeboard.domain import Rejected
from judgeboard.formats.files import Row, first_items
from judgeboard.imports import known_names
from judgeboard.imports.exports.entry import (
    ContentIds,
    named,
    objects,
    shown_reason,
    without_nothing,
)
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.imports.exports.turns import Turn, completed, field_of, turns_in
from judgeboard.imports.responses import ResponseImport
from judgeboard.imports.shapes import MESSAGES_NAMES, Rows, TurnRow, as_messages, key_named
from judgeboard.llm.chat import last_of_user, text_of
from judgeboard.store.filters import value_at
from judgeboard.tools.tool import Tool
from judgeboard.traces.attributes import parsed_object

_ENVELOPES = ("body", "request", "response", "data", "completion", "kwargs", "input", "output")
"""The keys of objects that may hold a request or a reply."""
_READ = frozenset(
    {"choices", "usage", *MESSAGES_NAMES, *_ENVELOPES}
)  # unless the values are texts or numbers
# Fields that belong only to the final reply of a row, which was retrieved, rated or paid for.
_OF_FINAL = frozenset({"context", "reference", "thumbs", "stars", "feedback", "generator_cost"})
LOOK_AHEAD = 20  # rows in which ids of replies are compared


def _is_chat_log(row: Mapping[str, Any]) -> bool:
    """Whether a row is a conversation with a reply, or a request with its reply.

    A row with columns for question and answer is no such row: the messages are the earlier turns.
    If the last message is the user's, the reply may be in a column with any name.
    """
    beside = named(row, known_names.ANSWER)
    if isinstance(named(row, known_names.QUESTION), str) and isinstance(beside, str):
        return False
    messages = _messages(row)
    if _reply(row) is not None or (messages and isinstance(beside, str)):
        return True
    replied = any(message.get("role") == "assistant" for message in messages)
    ends = replied and messages[-1].get("role") == "assistant"
    return ends or (
        replied
        and not any(isinstance(value, str) and " " in value.strip() for value in row.values())
    )


def _levels(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the row, and the objects that may hold the request or the reply."""
    inner = [parsed_object(row.get(name)) for name in _ENVELOPES if isinstance(row.get(name), dict)]
    bodies = [level["body"] for level in inner if isinstance(level.get("body"), dict)]
    return [row, *inner, *bodies]


def _messages(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of a conversation or a request."""
    for level in _levels(row):
        keys = (key_named(level, (name,)) for name in MESSAGES_NAMES)
        for name in (*(key for key in keys if key is not None), "input"):
            if messages := as_messages(level.get(name)):
                instructions = level.get("instructions")
                first = (
                    [{"role": "system", "content": instructions}]
                    if isinstance(instructions, str)
                    else []
                )
                return [*first, *messages]
            if name == "input" and isinstance(level.get(name), str) and "model" in level:
                return [{"role": "user", "content": level[name]}]
    return []


def _reply(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the completion in a row: an object with choices, or with output of the Responses API."""
    for level in _levels(row):
        if isinstance(value_at(level, ("choices", 0, "message")), dict):
            return level
        if level.get("object") == "response" and isinstance(level.get("output"), list):
            return level
    return None


def rows_of_turns(items: Rows) -> Rows:
    """Yield a row for every reply in every row.

    A reply is read once, although requests and later states of a conversation repeat earlier
    replies. Replies in the history of requests come at the end, because most have separate rows
    with more details.
    """
    ahead, items = first_items(items, LOOK_AHEAD)
    # Whether ids of replies name one reply each: in some logs, the ids count the messages of a
    # conversation. Rows of one conversation may repeat its replies: the first row counts.
    logs = [item.values for item in ahead if isinstance(item, Row)]
    id_lists = [
        [turn.own_id for turn in turns_in(_messages(values), "") if turn.own_id is not None]
        for values in logs
    ]
    by_conversation: dict[str, list[str]] = {}
    for place, (values, ids) in enumerate(zip(logs, id_lists, strict=True)):
        by_conversation.setdefault(_conversation(values) or str(values.get("id") or place), ids)
    counts = Counter(itertools.chain.from_iterable(by_conversation.values()))
    has_ids = max(counts.values(), default=1) == 1 and all(
        len(set(ids)) == len(ids) for ids in id_lists
    )
    content_ids = ContentIds()
    digests: set[int] = set()
    history: dict[int, tuple[_Log, Turn]] = {}

    for item in items:
        if isinstance(item, Rejected):
            yield item
            continue
        log = _Log(item)
        turns = list(turns_in(log.messages, log.conversation or ""))
        final = (
            turns.pop()
            if turns and (not log.is_request or turns[-1].ends(log.messages))
            else log.turn_alone()
        )
        for turn in turns:
            is_new = turn.digest not in digests
            if log.is_request and is_new:
                history.setdefault(turn.digest, (log, turn))
            elif not log.is_request and (
                is_new or log.conversation is None
            ):  # without an id, equal turns are two
                digests.add(turn.digest)
                yield log.row(turn, content_ids, has_ids=has_ids)
        if final is None:
            yield Rejected(item.line, None, log.missing(), item.values)
            continue
        digests.add(final.digest)
        history.pop(final.digest, None)
        is_whole = not turns and final.number == 1
        yield log.row(final, content_ids, has_ids=has_ids, is_final=True, is_whole=is_whole)
    for log, turn in history.values():
        yield log.row(turn, content_ids, has_ids=has_ids)


class _Log:
    """One row: the messages with the reply, and other values.

    ``is_request`` is True if the reply is not the last message of a conversation: the messages may
    be logged elsewhere too.
    """

    def __init__(self, row: Row) -> None:
        self._line = row.line
        self._values = values = row.values
        self._reply = _reply(values)
        self.messages: list[dict[str, Any]] = _messages(values)
        ends = bool(self.messages) and self.messages[-1].get("role") == "assistant"
        beside = named(values, known_names.ANSWER)
        self.is_request = self._reply is not None or (not ends and isinstance(beside, str))
        if self._reply is not None and "choices" in self._reply:
            message = value_at(self._reply, ("choices", 0, "message"))
            self.messages.append({**message, "role": "assistant"})
        elif self._reply is not None:
            parts = [
                text_of(item.get("content"))
                for item in objects(self._reply["output"])
                if item.get("type") == "message"
            ]
            content = "\n".join(filter(None, parts))
            self.messages.append({"role": "assistant", "content": content})
        elif self.is_request:
            self.messages.append({"role": "assistant", "content": beside})
        ids = (values[name] for name in ("custom_id", "id") if values.get(name))
        row_id = next(ids, value_at(self._reply, ("id",)))
        self._row_id = named(values, known_names.RESPONSE_ID) if row_id is None else row_id
        conversation = _conversation(values)
        self.conversation = (
            conversation
            if conversation or self.is_request or self._row_id is None
            else str(self._row_id)
        )

    def row(
        self,
        turn: Turn,
        content_ids: ContentIds,
        *,
        has_ids: bool,
        is_final: bool = False,
        is_whole: bool = False,
    ) -> TurnRow:
        """Return the row of a turn; ``is_final`` for the last turn of the log, ``is_whole`` for the only one."""
        levels = _levels(self._values)
        usage = parsed_object(value_at(self._reply, ("usage",))) if is_final else {}
        created = value_at(self._reply, ("created",)) or value_at(self._reply, ("created_at",))
        texts = {"query": turn.question, "answer": turn.answer, "messages": turn.before}
        turn_values = {
            **texts,
            "generator_model": _first_text([self._reply or {}, *levels], "model"),
            "asked_at": created if is_final and isinstance(created, int | float) else None,
        }
        place = {} if is_whole else {"conversation": self.conversation, "turn": turn.number}
        metadata = {
            **{
                name: value
                for name, value in place.items()
                if name not in {**self._values, **turn.columns}
            },
            **parsed_object(self._values.get("meta")),
            **parsed_object(self._values.get("metadata")),
            "prompt_tokens": usage.get("prompt_tokens", usage.get("input_tokens")),
            "completion_tokens": usage.get("completion_tokens", usage.get("output_tokens")),
            "user": _first_text(levels[1:], "user"),
            **turn.columns.get("metadata", {}),
        }
        # Earlier turns get no values that belong to the final turn.
        left_out = _OF_FINAL | ({"asked_at"} if self.is_request else set())
        beside = {
            name: value
            for name, value in without_nothing(self._values).items()
            if name not in {"object", "custom_id", *known_names.METADATA}
            and not (name in _READ and isinstance(value, dict | list))
            and (is_final or field_of(name) not in left_out)
            and value != {**turn_values, "external_id": self._row_id}.get(field_of(name) or "")
        }
        row = completed(turn.columns, {**without_nothing(turn_values), **beside}) | texts
        id_ = turn.own_id if has_ids else None
        if is_final and self.is_request:
            id_ = self._row_id or id_
        if is_whole:
            id_ = id_ or self._row_id
        elif self.conversation is not None:
            id_ = id_ or f"{self.conversation}-{turn.number}"
        if id_ is None:
            id_ = content_ids.of(
                {**texts, "context": named(beside, ResponseImport.columns["context"])}
            )
        return TurnRow(
            self._line,
            {"response_id": id_, **row, "metadata": without_nothing(metadata)},
            self._row_id,
        )

    def turn_alone(self) -> Turn | None:
        """Return the turn of a reply whose question is outside the messages; None without a question or a text."""
        question = named(self._values, known_names.QUESTION)
        answer = text_of(self.messages[-1].get("content")) if self.messages else ""
        if (
            last_of_user(self.messages) is not None
            or not isinstance(question, str)
            or not answer.strip()
        ):
            return None
        return Turn(1, question, answer, self.messages[:-1], hash((question, answer)), None, {})

    def missing(self) -> str:
        """Return why the row has no answer."""
        values = self._values
        problem = value_at(values, ("error", "message")) or value_at(
            values, ("response", "error", "message")
        )
        has_question = last_of_user(self.messages) is not None or isinstance(
            named(values, known_names.QUESTION), str
        )
        reason = (
            "no answer: the reply has no text"
            if has_question
            else "no question: the log has no messages"
        )
        return f"{reason}{f' ({shown_reason(problem)})' if problem else ''}"


def _first_text(levels: Iterable[Mapping[str, Any]], name: str) -> str | None:
    return next((level[name] for level in levels if isinstance(level.get(name), str)), None)


def _conversation(row: Mapping[str, Any]) -> str | None:
    """Return the id of the conversation of a row, if the row names one."""
    id_ = named(row, known_names.CONVERSATION)
    return str(id_) if isinstance(id_, str | int) and not isinstance(id_, bool) else None


_CHATS = Export(
    "OpenAI chat logs",
    "openai",
    (Keys(("choices", *MESSAGES_NAMES, *_ENVELOPES), holds=_is_chat_log),),
    shape=rows_of_turns,
)
TOOL = Tool(exports=(_CHATS,))

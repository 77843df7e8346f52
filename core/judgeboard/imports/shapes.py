"""Shapes of files whose rows are no answers yet: rows inside an object, a row per message, a row per passage.

Messages get the keys ``role`` and ``content`` of the chat format, whatever the keys in the log are.
"""

import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from judgeboard.domain import Rejected
from judgeboard.formats.files import Row
from judgeboard.imports import known_names
from judgeboard.imports.fields import Unusable, parsed_json, simple_name
from judgeboard.imports.values import is_missing, spelled_number

USER, ASSISTANT = "user", "assistant"
_ROLES: Mapping[str, str] = {
    **dict.fromkeys(
        ("user", "human", "customer", "client", "visitor", "end_user", "kunde", "caller"), USER
    ),
    **dict.fromkeys(
        ("assistant", "ai", "bot", "chatbot", "agent", "gpt", "llm", "model", "assistent"),
        ASSISTANT,
    ),
    **{role: role for role in ("system", "developer", "tool", "function")},
}
ROLE_NAMES = (
    "role",
    "sender",
    "speaker",
    "author",
    "from",
    "type",
    "message_role",
    "author_role",
    "sender_type",
)
TEXT_NAMES = ("content", "text", "message", "value", "body", "utterance", "message_text", "msg")
MESSAGES_NAMES = (
    "messages",
    "turns",
    "conversation",
    "conversations",
    "chat_history",
    "dialogue",
    "dialog",
    "history",
    "chat",
    "transcript",
    "chat_messages",
    "chatbot",
)


def role_of(value: Any) -> str | None:
    """Return the role in the chat format that a word names, None for any other value."""
    return _ROLES.get(simple_name(value)) if isinstance(value, str) else None


def key_named(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """Return the key of a row that has one of the names (in snake case), the first name first."""
    simple = {simple_name(name): name for name in reversed([*row])}
    return next((simple[name] for name in names if name in simple), None)


def as_message(value: Any) -> dict[str, Any] | None:
    """Return a message with a role and a content; None for a value that is no message."""
    if not isinstance(value, dict):
        return None
    role = key_named(value, ROLE_NAMES)
    if role is None or (role_name := role_of(value[role])) is None:
        return None
    if value.get("role") == role_name:
        return value
    text = key_named(value, TEXT_NAMES)
    others = {name: each for name, each in value.items() if name not in {role, text}}
    return None if text is None else {"role": role_name, "content": value[text], **others}


def as_messages(value: Any) -> list[dict[str, Any]]:
    """Return the messages of a conversation, also from a JSON text; an empty list for any other value."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = parsed_json("", value)
        except Unusable:
            return []
    if (
        isinstance(value, list)
        and value
        and all(isinstance(each, list) and len(each) == 2 for each in value)
    ):
        # Pairs of a question and its answer, as chat widgets keep them.
        roles = (USER, ASSISTANT)
        value = [
            {"role": role, "content": text}
            for pair in value
            for role, text in zip(roles, pair, strict=True)
        ]
    messages = [as_message(item) for item in value] if isinstance(value, list) else []
    return [message for message in messages if message is not None] if None not in messages else []


Rows = Iterator[Row | Rejected]


@dataclass(frozen=True, slots=True)
class TurnRow(Row):
    """The row of a reply. ``row_id`` is the id of the row with the conversation."""

    row_id: str | None = None


Shape = Callable[[Rows], Rows]
"""Makes rows of answers or conversations from the rows of a file."""

_DEPTH = 3  # of the objects around the rows
_OPEN = 1_000  # conversations whose next message is awaited
_OF_ALL = (
    "model",
    "model_name",
    "generator_model",
    "llm",
    "dataset",
)  # keys of an object that hold for all rows inside
_CONVERSATION = ("dialogue", "dialog", "chat", "ticket_id", "ticket", "case_id")
_ORDER = (
    "turn",
    "position",
    "index",
    "sequence",
    "seq",
    "message_index",
    "turn_index",
    "step",
    "number",
)


def inner_rows(first: Sequence[Mapping[str, Any]]) -> tuple[str, ...] | None:
    """Return the path to the rows inside the only object of a file, in a list or under ids, else None."""
    if len(first) != 1:
        return None
    lists: list[tuple[bool, int, tuple[str, ...]]] = []
    waiting: list[tuple[tuple[str, ...], Any]] = [((), first[0])]
    while waiting:
        path, value = waiting.pop()
        rows = [*value.values()] if isinstance(value, dict) and path else value
        # Rows are a list of several objects with texts that are no messages.
        are_objects = (
            isinstance(rows, list) and len(rows) >= 2 and all(isinstance(row, dict) for row in rows)
        )
        if (
            are_objects
            and as_message(rows[0]) is None
            and any(isinstance(text, str) for text in rows[0].values())
            and (rows is value or {*rows[0]} == {*rows[-1]})
        ):
            lists.append((_has_answer(rows[0]), len(rows), path))
        elif isinstance(value, dict) and len(path) < _DEPTH:
            waiting += [((*path, name), inner) for name, inner in value.items()]
    return max(lists, default=(False, 0, None))[2]


def _are_roles(values: Sequence[str]) -> bool:
    """Whether values are roles of users and assistants."""
    roles = [role_of(value) for value in values]
    return {USER, ASSISTANT} <= set(roles) and roles.count(None) * 20 <= len(roles)


def _has_answer(row: Mapping[str, Any]) -> bool:
    names = {simple_name(name) for name, value in row.items() if value not in (None, "", [], {})}
    return not (names.isdisjoint(known_names.QUESTION) or names.isdisjoint(known_names.ANSWER))


def unwrapped(path: tuple[str, ...]) -> Shape:
    """Return the shape of rows at a path inside an object.

    The values of the object for all rows are added to each row.
    """

    def rows(items: Rows) -> Rows:
        for item in items:
            if isinstance(item, Rejected):
                yield item
                continue
            inner: Any = item.values
            of_all: dict[str, Any] = {}
            for name in path:
                of_all |= {
                    key: value for key, value in inner.items() if simple_name(key) in _OF_ALL
                }
                inner = inner.get(name) or {}
            if isinstance(inner, dict):
                inner = [
                    {"id": name, **row} if isinstance(row, dict) else row
                    for name, row in inner.items()
                ]
            for number, row in enumerate(inner, start=1):
                yield (
                    Row(number, {**of_all, **row})
                    if isinstance(row, dict)
                    else Rejected(number, None, "no object", row)
                )

    return rows


class MessageRows:
    """A file with a row per message: the columns of role, text, conversation, and place in the conversation.

    The values show a column whose name is not known: the text is longest, and conversations repeat.
    """

    def __init__(self, first: Sequence[Mapping[str, Any]]) -> None:
        names = first[0]
        values = {name: [str(row.get(name) or "") for row in first] for name in names}
        self._role, self._text = key_named(names, ROLE_NAMES), key_named(names, TEXT_NAMES)
        self._order = key_named(names, _ORDER)
        self._conversation = key_named(names, (*known_names.CONVERSATION, *_CONVERSATION))
        if not _has_answer(names):
            self._role = self._role or next(
                (name for name in names if _are_roles(values[name])), None
            )
            self._text = self._text or max(
                names, key=lambda name: sum(map(len, values[name])), default=None
            )
            distinct = {
                name: len({*values[name]}) for name in names if name not in {self._role, self._text}
            }
            candidates = [name for name, count in distinct.items() if 1 < count <= len(first) / 2]
            self._conversation = self._conversation or max(
                candidates, key=distinct.__getitem__, default=None
            )
        self.fits = None not in (self._role, self._text, self._conversation) and _are_roles(
            values[str(self._role)]
        )

    def rows(self, items: Rows) -> Rows:
        """Yield a row per conversation. Messages of several conversations may alternate."""
        open_conversations: OrderedDict[str, tuple[int, list[dict[str, Any]]]] = OrderedDict()

        def whole(name: str) -> Row:
            line, messages = open_conversations.pop(name)
            return Row(
                line, {"conversation_id": name, "messages": sorted(messages, key=self._place)}
            )

        for item in items:
            if isinstance(item, Rejected):
                yield item
                continue
            name = item.values.get(str(self._conversation))
            if is_missing(name):
                yield Rejected(item.line, self._conversation, "no conversation", item.values)
                continue
            open_conversations.setdefault(str(name), (item.line, []))[1].append(
                self._message(item.values)
            )
            open_conversations.move_to_end(str(name))
            if len(open_conversations) > _OPEN:
                yield whole(next(iter(open_conversations)))
        yield from map(whole, list(open_conversations))

    def _message(self, row: Mapping[str, Any]) -> dict[str, Any]:
        left_out = {self._conversation, self._role, self._text}
        others = {
            name: value
            for name, value in row.items()
            if name not in left_out and not is_missing(value)
        }
        role = row.get(str(self._role))
        return {"role": role_of(role) or str(role), "content": row.get(str(self._text)), **others}

    def _place(self, message: Mapping[str, Any]) -> float:
        number = message.get(str(self._order))
        number = spelled_number(number) if isinstance(number, str) else number
        return number if isinstance(number, int | float) else float("inf")


class PassageRows(NamedTuple):
    """A file with a row per passage: the columns of the question, the answer and the passages.

    The rows of an answer follow each other. Question and answer are in all these rows, or only in
    the first.
    """

    query: str
    answer: str
    context: str

    def fit(self, first: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the first rows are passages."""
        pairs = [
            (last, row) for last, row in itertools.pairwise(first) if self._continues(row, last)
        ]
        texts = all(isinstance(row.get(self.context), str | None) for row in first)
        differ = all(row.get(self.context) != last.get(self.context) for last, row in pairs)
        return texts and differ and bool(pairs) and 3 * len(pairs) >= len(first) - 1

    def _continues(self, row: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
        return all(
            is_missing(row.get(name)) or row.get(name) == last.get(name)
            for name in (self.query, self.answer)
        )

    def rows(self, items: Rows) -> Rows:
        """Yield a row per answer, with the list of passages."""
        answer_row: Row | None = None
        for item in items:
            passages = (
                []
                if isinstance(item, Rejected) or is_missing(item.values.get(self.context))
                else [item.values[self.context]]
            )
            if isinstance(item, Rejected):
                yield item
            elif answer_row is not None and self._continues(item.values, answer_row.values):
                answer_row.values[self.context].extend(passages)
            else:
                if answer_row is not None:
                    yield answer_row
                answer_row = Row(item.line, {**item.values, self.context: passages})
        if answer_row is not None:
            yield answer_row

"""Shapes of files whose rows are no answers yet: rows inside an object, a row per message, a row per passage."""

import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from judgeboard.domain import Rejected
from judgeboard.formats.files import Row
from judgeboard.imports import known_names
from judgeboard.imports.fields import simple_name
from judgeboard.imports.messages import ASSISTANT, ROLE_NAMES, TEXT_NAMES, USER, as_message, key_named, role_of
from judgeboard.imports.values import is_missing, spelled_number

Rows = Iterator[Row | Rejected]


@dataclass(frozen=True, slots=True)
class TurnRow(Row):
    """The row of a reply. ``row_id`` is the id of the row with its conversation."""

    row_id: str | None = None


Shape = Callable[[Rows], Rows]
"""Makes rows of answers or conversations from the rows of a file."""

_DEPTH = 3  # of the objects around the rows
_OPEN = 1_000  # conversations whose next message is awaited
_OF_ALL = ("model", "model_name", "generator_model", "llm", "dataset")  # what an object says of all its rows
_CONVERSATION = ("dialogue", "dialog", "chat", "ticket_id", "ticket", "case_id")
_ORDER = ("turn", "position", "index", "sequence", "seq", "message_index", "turn_index", "step", "number")


def inner_rows(first: Sequence[Mapping[str, Any]]) -> tuple[str, ...] | None:
    """Return the path to the rows inside the only object of a file, None if it has none."""
    if len(first) != 1:
        return None
    lists: list[tuple[bool, int, tuple[str, ...]]] = []
    waiting: list[tuple[tuple[str, ...], Any]] = [((), first[0])]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict) and len(path) < _DEPTH:
            waiting += [((*path, name), inner) for name, inner in value.items()]
        elif _are_rows(value):
            lists.append((_has_answer(value[0]), len(value), path))
    return max(lists, default=(False, 0, None))[2]


def _are_rows(value: Any) -> bool:
    """Whether a value is a list of several objects with texts that are no messages."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(item, dict) for item in value):
        return False
    return as_message(value[0]) is None and any(isinstance(text, str) for text in value[0].values())


def _has_answer(row: Mapping[str, Any]) -> bool:
    names = {simple_name(name) for name, value in row.items() if value not in (None, "", [], {})}
    return not (names.isdisjoint(known_names.QUESTION) or names.isdisjoint(known_names.ANSWER))


def unwrapped(path: tuple[str, ...]) -> Shape:
    """Return the shape of rows at a path inside an object. What the object says of all its rows is added to each."""

    def rows(items: Rows) -> Rows:
        for item in items:
            if isinstance(item, Rejected):
                yield item
                continue
            inner: Any = item.values
            of_all: dict[str, Any] = {}
            for name in path:
                of_all |= {key: value for key, value in inner.items() if simple_name(key) in _OF_ALL}
                inner = inner.get(name) or {}
            for number, row in enumerate(inner, start=1):
                yield (
                    Row(number, {**of_all, **row})
                    if isinstance(row, dict)
                    else Rejected(number, None, "no object", row)
                )

    return rows


class MessageRows:
    """A file with a row per message: the columns of the role, the text, the conversation, and the place in it."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._role, self._text = key_named(names, ROLE_NAMES), key_named(names, TEXT_NAMES)
        self._order = key_named(names, _ORDER)
        self._conversation = key_named(names, (*known_names.CONVERSATION, *_CONVERSATION))

    def fit(self, first: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the first rows are messages of users and assistants."""
        if None in (self._role, self._text, self._conversation):
            return False
        roles = [role_of(row.get(str(self._role))) for row in first]
        return {USER, ASSISTANT} <= set(roles) and roles.count(None) * 20 <= len(roles)

    def rows(self, items: Rows) -> Rows:
        """Yield a row per conversation. Messages of several conversations may alternate."""
        begun: OrderedDict[str, tuple[int, list[dict[str, Any]]]] = OrderedDict()

        def whole(name: str) -> Row:
            line, messages = begun.pop(name)
            return Row(line, {"conversation_id": name, "messages": sorted(messages, key=self._place)})

        for item in items:
            if isinstance(item, Rejected):
                yield item
                continue
            name = item.values.get(str(self._conversation))
            if is_missing(name):
                yield Rejected(item.line, self._conversation, "no conversation", item.values)
                continue
            begun.setdefault(str(name), (item.line, []))[1].append(self._message(item.values))
            begun.move_to_end(str(name))
            if len(begun) > _OPEN:
                yield whole(next(iter(begun)))
        yield from map(whole, list(begun))

    def _message(self, row: Mapping[str, Any]) -> dict[str, Any]:
        left_out = {self._conversation, self._role, self._text}
        others = {name: value for name, value in row.items() if name not in left_out and not is_missing(value)}
        role = row.get(str(self._role))
        return {"role": role_of(role) or str(role), "content": row.get(str(self._text)), **others}

    def _place(self, message: Mapping[str, Any]) -> float:
        number = message.get(str(self._order))
        number = spelled_number(number) if isinstance(number, str) else number
        return number if isinstance(number, int | float) else float("inf")


class PassageRows(NamedTuple):
    """A file with a row per passage: the columns of the question, the answer and the passages.

    The rows of an answer follow each other: they have the same question, and the answer stands in all of them or only
    in the first.
    """

    query: str
    answer: str
    context: str

    def fit(self, first: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the first rows are passages."""
        pairs = [(last, row) for last, row in itertools.pairwise(first) if self._continues(row, last)]
        texts = all(isinstance(row.get(self.context), str | None) for row in first)
        differ = all(row.get(self.context) != last.get(self.context) for last, row in pairs)
        return texts and differ and bool(pairs) and 3 * len(pairs) >= len(first) - 1

    def _continues(self, row: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
        answer = row.get(self.answer)
        return row.get(self.query) == last.get(self.query) and (is_missing(answer) or answer == last.get(self.answer))

    def rows(self, items: Rows) -> Rows:
        """Yield a row per answer, with the list of its passages."""
        begun: Row | None = None
        for item in items:
            passages = (
                []
                if isinstance(item, Rejected) or is_missing(item.values.get(self.context))
                else [item.values[self.context]]
            )
            if isinstance(item, Rejected):
                yield item
            elif begun is not None and self._continues(item.values, begun.values):
                begun.values[self.context].extend(passages)
            else:
                if begun is not None:
                    yield begun
                begun = Row(item.line, {**item.values, self.context: passages})
        if begun is not None:
            yield begun

"""OpenAI chat logs: conversations, training examples, stored completions, and requests with their responses."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from judgeboard.formats.files import Row, first_items
from judgeboard.imports import known_names
from judgeboard.imports.exports.entry import (
    IN_MESSAGES,
    Entries,
    Entry,
    KeyUse,
    answer_row,
    as_object,
    named,
    objects,
    shown_reason,
    without_nothing,
)
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.imports.exports.turns import Path, Turn, paths_of, reply_ids, turns_in
from judgeboard.imports.fields import EXTRA, simple_name
from judgeboard.imports.messages import MESSAGES_NAMES, as_messages, key_named
from judgeboard.imports.responses import ResponseImport
from judgeboard.llm.chat import last_of_user, text_of
from judgeboard.store.filters import metadata_field, metadata_path, value_at
from judgeboard.tools.tool import Tool

_ENVELOPES = ("body", "request", "response", "data", "completion", "kwargs", "input", "output")
"""The keys of objects that may hold a request or its reply."""
_READ = frozenset({"choices", "usage", "metadata", *MESSAGES_NAMES, *_ENVELOPES})  # unless they are texts or numbers
# What a row has for its final reply only: it was retrieved, rated or paid for this one.
_OF_FINAL = ("context", "reference", "thumbs", "stars", "feedback", "generator_cost")
# Fields that the chat format itself has in a row, in its request or in its reply.
_OF_CHATS = {"messages": ("messages", "input"), "generator_model": ("model",), "asked_at": ("created", "created_at")}
LOOK_AHEAD = 20  # rows in which ids of replies are compared


def _is_chat_log(row: Mapping[str, Any]) -> bool:
    """Whether a row is a conversation with a reply, or a request with its reply.

    A row with its own columns for question and answer is not: its messages are the earlier turns. A row whose last
    message is the user's may have its reply in a column with any name.
    """
    beside = named(row, known_names.ANSWER)
    if isinstance(named(row, known_names.QUESTION), str) and isinstance(beside, str):
        return False
    messages = _messages(row)
    if _reply(row) is not None or (messages and isinstance(beside, str)):
        return True
    replied = any(message.get("role") == "assistant" for message in messages)
    ends = replied and messages[-1].get("role") == "assistant"
    return ends or (replied and not any(isinstance(value, str) and " " in value.strip() for value in row.values()))


def _levels(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the row, and the objects that may hold its request or its reply."""
    inner = [as_object(row.get(name)) for name in _ENVELOPES if isinstance(row.get(name), dict)]
    bodies = [level["body"] for level in inner if isinstance(level.get("body"), dict)]
    return [row, *inner, *bodies]


def _messages(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of a conversation or a request."""
    for level in _levels(row):
        keys = (key_named(level, (name,)) for name in MESSAGES_NAMES)
        for name in (*(key for key in keys if key is not None), "input"):
            if messages := as_messages(level.get(name)):
                instructions = level.get("instructions")
                first = [{"role": "system", "content": instructions}] if isinstance(instructions, str) else []
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


def _reply_message(reply: Mapping[str, Any]) -> dict[str, Any]:
    if "choices" in reply:
        return {**value_at(reply, ("choices", 0, "message")), "role": "assistant"}
    parts = [text_of(item.get("content")) for item in objects(reply["output"]) if item.get("type") == "message"]
    return {"role": "assistant", "content": "\n".join(filter(None, parts))}


def read(rows: Iterable[Row], mapping: Mapping[str, str] | None = None) -> Entries:
    """Yield the entry of every reply in every row.

    ``mapping`` has the fields of keys with other names: ``messages[].meta.docs`` is a key of messages, ``channel`` is
    one of rows.
    """
    ahead, rows = first_items(iter(rows), LOOK_AHEAD)
    chats = _Chats(mapping or {}, [row.values for row in ahead])
    for row in rows:
        for entry in chats.entries(row):
            yield row, entry
    yield from chats.history()


class _Chats:
    """Reads the rows of one file; ``ahead`` are its first rows.

    A reply is read once, although requests and later states of a conversation repeat the replies before. Those in the
    history of requests are kept until the end of the file: most of them have rows of their own, which know more.
    """

    def __init__(self, mapping: Mapping[str, str], ahead: Sequence[Mapping[str, Any]]) -> None:
        self._paths = paths_of(mapping)
        self._columns = {
            metadata_path(theirs): ours for theirs, ours in mapping.items() if not theirs.startswith(IN_MESSAGES)
        }
        self._has_ids = self._unique_ids(ahead)
        self._seen: set[int] = set()
        self._history: dict[int, tuple[Row, Entry]] = {}

    def _unique_ids(self, rows: Iterable[Mapping[str, Any]]) -> bool:
        """Whether ids of replies name one reply each: in some logs they count the messages of a conversation."""
        counts: Counter[str] = Counter()
        conversations: set[str] = set()
        for place, row in enumerate(rows):
            conversation = _conversation(row) or str(row.get("id") or place)
            ids = reply_ids(_messages(row), self._paths)
            if len(set(ids)) < len(ids):
                return False
            counts.update(() if conversation in conversations else ids)
            conversations.add(conversation)
        return max(counts.values(), default=1) == 1

    def entries(self, row: Row) -> Iterator[Entry]:
        """Yield the entries of a row. Replies in the history of a request are kept for `history`."""
        log = _Log(row.values, self._columns)
        turns = list(turns_in(log.messages, self._paths, log.conversation or ""))
        final = turns.pop() if turns and (not log.is_request or turns[-1].ends(log.messages)) else log.turn_alone()
        for turn in turns:
            is_new = turn.digest not in self._seen
            if log.is_request and is_new:
                self._history.setdefault(turn.digest, (row, self._entry(log, turn)))
            elif not log.is_request and (is_new or log.conversation is None):  # without an id, equal ones are two
                self._seen.add(turn.digest)
                yield self._entry(log, turn)
        if final is None:
            yield Entry(None, reason=log.missing())
            return
        self._seen.add(final.digest)
        self._history.pop(final.digest, None)
        yield self._entry(log, final, is_final=True, is_whole=not turns and final.number == 1)

    def history(self) -> Entries:
        """Yield the replies that are only in the history of requests."""
        yield from self._history.values()

    def _entry(self, log: "_Log", turn: Turn, *, is_final: bool = False, is_whole: bool = False) -> Entry:
        """Return the entry of a turn, which is the final one of its row, or even the only one (``is_whole``)."""
        plain = log.answer(turn, is_final=is_final)
        mapped = log.mapped(is_final=is_final)
        own_id = turn.fields.get("external_id") if self._has_ids else None
        if is_final and log.is_request:
            own_id = log.row_id or own_id
        of_row = as_object(plain.get("metadata")) | as_object(mapped.get("metadata"))
        answer = plain | mapped | turn.fields | {"metadata": of_row | turn.metadata}
        alone = answer | {"external_id": own_id or log.row_id}
        place = {} if is_whole else without_nothing({"conversation": log.conversation, "turn": turn.number})
        if is_whole:
            answer = alone
        else:
            number = None if log.conversation is None else f"{log.conversation}-{turn.number}"
            answer |= {"external_id": own_id or number, "metadata": place | answer["metadata"]}
        # Earlier releases read no keys of messages, and the only turn of a row has the id of the row.
        earlier = [] if log.is_request and not is_final else [plain | {"external_id": log.row_id}]
        earlier += [alone] if earlier and turn.number == 1 else []
        if turn.metadata_before_feedback != turn.metadata:
            earlier.append(answer | {"metadata": place | of_row | turn.metadata_before_feedback})
        read_in_messages = {key.use for key in turn.keys}
        of_log = {ours: value for ours, value in answer.items() if ours not in mapped and ours not in read_in_messages}
        keys = [*turn.keys, *log.origins(of_log, is_final=is_final)]
        keys += log.keys(answer["metadata"]) if is_final else ()
        return Entry(_present(answer), keys=keys, earlier=[_present(each) for each in earlier])


class _Log:
    """One row: its messages with the reply, and what it has beside them.

    ``is_request`` is True if the reply is not the last message of a conversation: its messages may be logged elsewhere
    too. ``columns`` has the fields of keys of the row, by their paths.
    """

    def __init__(self, values: Mapping[str, Any], columns: Mapping[Path, str]) -> None:
        self._values = values
        self._reply = _reply(values)
        self._mapped = {ours: value for path, ours in columns.items() if (value := value_at(values, path)) is not None}
        self._uses = [KeyUse(metadata_field(path), ours, value_at(values, path)) for path, ours in columns.items()]
        whole = {path[0] for path in columns if len(path) == 1}
        self._others = {
            name: value
            for name, value in values.items()
            if name not in {"object", "custom_id", *whole} and not (name in _READ and isinstance(value, dict | list))
        }
        self.messages: list[dict[str, Any]] = _messages(values)
        ends = bool(self.messages) and self.messages[-1].get("role") == "assistant"
        self.is_request = self._reply is not None or (not ends and isinstance(named(values, known_names.ANSWER), str))
        if self._reply is not None:
            self.messages.append(_reply_message(self._reply))
        elif self.is_request:
            self.messages.append({"role": "assistant", "content": named(values, known_names.ANSWER)})
        ids = (values[name] for name in ("custom_id", "id") if values.get(name))
        row_id = next(ids, value_at(self._reply, ("id",)))
        self.row_id = answer_row(self._others, external_id=row_id).get("external_id")
        own = _conversation(values)
        self.conversation = own if own or self.is_request or self.row_id is None else str(self.row_id)

    def answer(self, turn: Turn, *, is_final: bool) -> dict[str, Any]:
        """Return the row of a turn, without its id and without what its messages have beside their texts."""
        levels = _levels(self._values)
        models = [level.get("model") for level in (self._reply or {}, *levels)]
        row = answer_row(
            self._others,
            external_id=self.row_id,
            query=turn.question,
            answer=turn.answer,
            messages=turn.before,
            generator_model=next((model for model in models if isinstance(model, str)), None),
            asked_at=self._created() if is_final else None,
            metadata=without_nothing(
                {
                    **as_object(self._values.get("metadata")),
                    **(self._tokens() if is_final else {}),
                    "user": next((level.get("user") for level in levels if isinstance(level.get("user"), str)), None),
                }
            ),
        )
        left_out = {"external_id"} if is_final else {"external_id", *_OF_FINAL, *(["asked_at"] * self.is_request)}
        return {name: value for name, value in row.items() if name not in left_out}

    def mapped(self, *, is_final: bool) -> dict[str, Any]:
        """Return the fields that a mapping takes from the row."""
        return {
            ours: value for ours, value in self._mapped.items() if ours != EXTRA and (is_final or ours not in _OF_FINAL)
        }

    def origins(self, fields: Mapping[str, Any], *, is_final: bool) -> Iterator[KeyUse]:
        """Yield the key of the row, or of its messages, from which each of these fields of an answer is read."""
        for ours, value in fields.items():
            key = self._origin(ours, value, is_final=is_final)
            if key is not None and value is not None:
                yield KeyUse(key, ours, value)

    def _origin(self, ours: str, value: Any, *, is_final: bool) -> str | None:
        if ours == "query":
            return self._question_key()
        if ours == "answer":
            return self._answer_key() if is_final and self.is_request else IN_MESSAGES + "content"
        if ours == "external_id":
            return self._id_key(value)
        levels = (self._reply or {}, *_levels(self._values))
        of_chats = (name for name in _OF_CHATS.get(ours, ()) if any(name in level for level in levels))
        return next(of_chats, None) or _key_named(self._values, ResponseImport.columns.get(ours, ()))

    def _id_key(self, external_id: str) -> str | None:
        own = ("custom_id", *ResponseImport.columns["external_id"], *known_names.CONVERSATION)
        ids = (name for name in self._values if simple_name(name) in own)
        return next((name for name in ids if f"{external_id}-".startswith(f"{self._values[name]}-")), None)

    def _question_key(self) -> str | None:
        if any(isinstance(level.get("input"), str) and "messages" not in level for level in _levels(self._values)):
            return "input"
        asked = last_of_user(self.messages) is not None
        return IN_MESSAGES + "content" if asked else _key_named(self._values, known_names.QUESTION)

    def _answer_key(self) -> str | None:
        if self._reply is None:
            return _key_named(self._values, known_names.ANSWER)
        return "choices[].message.content" if "choices" in self._reply else "output[].content"

    def keys(self, metadata: Mapping[str, Any]) -> Iterator[KeyUse]:
        """Yield the keys of the row that a mapping names or that are only kept in the metadata."""
        yield from (use for use in self._uses if use.value is not None)
        for name, value in self._others.items():
            is_named = name in known_names.CONVERSATION or name in known_names.METADATA
            if name in metadata and metadata[name] == value and not is_named and value not in (None, "", [], {}):
                yield KeyUse(name, None, value)

    def turn_alone(self) -> Turn | None:
        """Return the turn of a reply whose question is not in its messages; None if there is no question or no text."""
        question = named(self._values, known_names.QUESTION)
        answer = text_of(self.messages[-1].get("content")) if self.messages else ""
        if last_of_user(self.messages) is not None or not isinstance(question, str) or not answer.strip():
            return None
        return Turn(1, question, answer, self.messages[:-1], hash((question, answer)))

    def missing(self) -> str:
        """Return why the row has no answer."""
        values = self._values
        problem = value_at(values, ("error", "message")) or value_at(values, ("response", "error", "message"))
        asked = last_of_user(self.messages) is not None or isinstance(named(values, known_names.QUESTION), str)
        reason = "no answer: the reply has no text" if asked else "no question: the log has no messages"
        return f"{reason}{f' ({shown_reason(problem)})' if problem else ''}"

    def _created(self) -> Any:
        created = value_at(self._reply, ("created",)) or value_at(self._reply, ("created_at",))
        return created if isinstance(created, int | float) else None

    def _tokens(self) -> dict[str, Any]:
        usage = as_object(value_at(self._reply, ("usage",)))
        return {
            "prompt_tokens": usage.get("prompt_tokens", usage.get("input_tokens")),
            "completion_tokens": usage.get("completion_tokens", usage.get("output_tokens")),
        }


def _key_named(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """Return the first key of a row that is not empty and has one of the names (in snake case)."""
    return next((key for key, value in row.items() if value not in (None, "") and simple_name(key) in names), None)


def _conversation(row: Mapping[str, Any]) -> str | None:
    """Return the id of the conversation of a row, if it has one beside that of the row."""
    own = named(row, known_names.CONVERSATION)
    return str(own) if isinstance(own, str | int) and not isinstance(own, bool) else None


def _present(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without absent values and without empty metadata."""
    return {name: value for name, value in row.items() if value is not None and (name, value) != ("metadata", {})}


_CHATS = Export(
    "OpenAI chat logs",
    "openai",
    (Keys(("choices", *MESSAGES_NAMES, *_ENVELOPES), holds=_is_chat_log),),
    read,
    takes_mapping=True,
)
TOOL = Tool(exports=(_CHATS,))

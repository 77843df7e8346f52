"""The turns of a conversation: each reply with a text, with its question and what its messages carry beside it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from judgeboard.errors import BadInput
from judgeboard.imports import known_names
from judgeboard.imports.exports.entry import IN_MESSAGES, KeyUse, as_object
from judgeboard.imports.fields import EXTRA, Unusable, simple_name
from judgeboard.imports.responses import ResponseImport, feedback_of_object, unread_keys
from judgeboard.llm.chat import text_of
from judgeboard.store.filters import metadata_field, metadata_path, value_at
from judgeboard.traces.documents import passages_in

# Keys of the chat format itself, which are kept with the messages of later turns.
_FORMAT = frozenset(
    {"role", "content", "name", "type", "object", "tool_calls", "tool_call_id", "function_call", "refusal"}
    | {"weight", "audio", "annotations"}
)
_TOOLS = frozenset({"tool", "function"})
_DEPTH = 4  # of the names of keys inside a message

# A trace or a sample is the whole conversation, and the texts of a message are in its content.
_OF_MANY_TURNS = frozenset({"trace_id", "context_trace_id", "sample_id", "span_id", "context_span_id", "run_id"})
_KNOWN: dict[str, tuple[str, ...]] = {
    "external_id": (
        *("message_id", "msg_id"),
        *(name for name in ResponseImport.columns["external_id"] if name not in _OF_MANY_TURNS),
    ),
    **{
        name: ResponseImport.columns[name]
        for name in ("context", "query_type", "generator_model", "generator_cost", "reference", "asked_at")
    },
    **{name: ResponseImport.columns[name] for name in ("thumbs", "stars")},
    "feedback": (*ResponseImport.columns["feedback"], "user_score", "score"),
}
_OF_REPLY = frozenset({"external_id", "thumbs", "stars", "feedback", "reference", "generator_model", "generator_cost"})
_FEEDBACK = frozenset({"thumbs", "stars", "feedback"})
_SCALES = frozenset({"kind", "thumbs", "stars"})
_READ = "read"  # a key inside an object of feedback that is kept in the metadata too

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """A reply with a text and its question.

    ``number`` counts the turns of the conversation from 1. ``before`` are the messages before the reply. ``fields`` has
    the values of fields of an answer, as columns of `ResponseImport`, and ``metadata`` the values of other keys.
    ``keys`` names the keys of its messages. ``digest`` is a hash of the texts of user and assistant up to the reply: a
    reply that is logged again, in the history of a later request, has the same one.
    """

    number: int
    question: str
    answer: str
    before: Sequence[Mapping[str, Any]]
    digest: int
    fields: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    keys: Sequence[KeyUse] = ()

    @property
    def metadata_before_feedback(self) -> dict[str, Any]:
        """The metadata as it was before a user gave feedback."""
        rated = {key.name for key in self.keys if key.use in _FEEDBACK and isinstance(key.value, dict)}
        return _without(self.metadata, [name for name in self.metadata if _name_of((name,)) in rated])

    def ends(self, messages: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the reply is the last of these messages of its conversation."""
        return len(self.before) == len(messages) - 1


def paths_of(mapping: Mapping[str, str]) -> dict[Path, str]:
    """Return the fields by the path to a key inside a message, from names such as ``messages[].meta.docs``.

    Raises BadInput if a name is no path.
    """
    paths = {}
    for theirs, ours in mapping.items():
        if theirs.startswith(IN_MESSAGES):
            try:
                paths[metadata_path(theirs.removeprefix(IN_MESSAGES))] = ours
            except BadInput as error:
                raise BadInput(f"--map {theirs}={ours}: {error}") from None
    return paths


def reply_ids(messages: Sequence[Mapping[str, Any]], paths: Mapping[Path, str]) -> list[str]:
    """Return the ids that the replies of a conversation have of their own."""
    replies = [message for message in messages if message.get("role") == "assistant"]
    found = (key.value for message in replies for key in _keys(message, paths) if key.use == "external_id")
    return [str(value) for value in found]


def turns_in(messages: Sequence[Mapping[str, Any]], paths: Mapping[Path, str], conversation: str) -> Iterator[Turn]:
    """Yield the turns of a conversation. Turns of conversations with different ids have different digests.

    An assistant's message without a text (calls of tools) is no reply, nor is one that announces a call of a tool and
    is followed by another before the user speaks again. Without passages of its own, a turn has the results of its
    tools as passages.
    """
    number, asked, reported = 0, None, -1
    digest = blake2b(conversation.encode("utf-8", "surrogatepass"), digest_size=8)
    for place, message in enumerate(messages):
        role, text = str(message.get("role")), _text(message, paths)
        if role in {"user", "assistant"} and text.strip():
            digest.update(f"{role}\0{text.strip()}\0".encode("utf-8", "surrogatepass"))
        if role == "user":
            asked = place
        if role != "assistant" or asked is None or not text.strip() or _is_step(messages, place, paths):
            continue
        number += 1
        fields, metadata, keys = _carried(messages[asked : place + 1], paths, new=max(asked, reported + 1) - asked)
        reported = place
        question = _text(messages[asked], paths)
        so_far = int.from_bytes(digest.digest())
        yield Turn(number, question, text, messages[:place], so_far, fields, metadata, keys)


def _text(message: Mapping[str, Any], paths: Mapping[Path, str]) -> str:
    wanted = "query" if message.get("role") == "user" else "answer"
    mapped = next((value_at(message, path) for path, ours in paths.items() if ours == wanted), None)
    return mapped if isinstance(mapped, str) else text_of(message.get("content"))


def _is_step(messages: Sequence[Mapping[str, Any]], place: int, paths: Mapping[Path, str]) -> bool:
    """Whether a message calls a tool, and a later message replies to the same question."""
    if not messages[place].get("tool_calls") and not messages[place].get("function_call"):
        return False
    for message in messages[place + 1 :]:
        if message.get("role") == "user":
            return False
        if message.get("role") == "assistant" and _text(message, paths).strip():
            return True
    return False


class _Key(NamedTuple):
    path: Path
    use: str | None  # a field, EXTRA, _READ, or None
    value: Any


def _keys(message: Mapping[str, Any], paths: Mapping[Path, str]) -> list[_Key]:
    """Return the keys of a message that have a value. A key of an object that is no field stands for itself.

    So do the keys of an object of feedback that names no scale: earlier releases kept such objects in the metadata, and
    an answer with other metadata would be another one.
    """
    uses = {path: ours for path, ours in paths.items() if value_at(message, path) is not None}
    present = {name: value for name, value in message.items() if name not in _FORMAT and value not in (None, "")}
    # The feedback inside an object may be mapped: then the object is not read as feedback once more.
    mapped = {path[0] for path, ours in uses.items() if len(path) == 1 or _is_kept(ours, value_at(message, path[:1]))}
    simple = {simple_name(name): name for name in reversed(present) if name not in mapped}
    for ours, called in _KNOWN.items():
        names = sorted(
            (simple[name] for name in called if name in simple), key=lambda name: _is_kept(ours, present[name])
        )
        name = next((name for name in names if _fits(ours, name, present[name])), None)
        if name is not None and ours not in uses.values():
            uses[name,] = ours
    inside = {path[:length] for path in uses for length in range(1, len(path))}
    kept: dict[Path, list[str]] = {
        (name,): unread_keys(value)
        for name, value in present.items()
        if (name,) not in paths and _is_kept(uses.get((name,)), value)
    }
    keys: list[_Key] = []
    for path, ours in uses.items():
        value = value_at(message, path)
        keys.append(_Key(path, ours, _without(value, kept[path]) if path in kept else value))
    waiting: list[tuple[Path, Any]] = [((name,), value) for name, value in present.items()]
    while waiting:
        path, value = waiting.pop(0)
        if (path in uses and path not in kept) or value in (None, "", [], {}):
            continue
        if isinstance(value, dict) and (len(path) < _DEPTH or path in inside):
            waiting += [((*path, str(name)), inner) for name, inner in value.items()]
        else:
            is_read = path[:1] in kept and path[1] not in kept[path[:1]]
            keys.append(_Key(path, _READ if is_read else None, value))
    return keys


def _without(values: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


def _is_kept(ours: str | None, value: Any) -> bool:
    return ours in _FEEDBACK and isinstance(value, dict) and not _SCALES & value.keys()


def _fits(ours: str, name: str, value: Any) -> bool:
    """Whether a key with a common name can be the field: scores and objects may be anything."""
    if simple_name(name) in {"score", "user_score"}:
        return type(value) is int and 0 <= value <= 5
    if isinstance(value, dict):
        return ours == "context" or (ours in _FEEDBACK and _is_feedback(ours, value))
    return True


def _is_feedback(ours: str, value: Mapping[str, Any]) -> bool:
    try:
        feedback_of_object(ours, value)
    except Unusable:
        return False
    return True


def _carried(
    messages: Sequence[Mapping[str, Any]], paths: Mapping[Path, str], *, new: int
) -> tuple[dict[str, Any], dict[str, Any], list[KeyUse]]:
    """Return fields, metadata and keys of the messages from a question to its reply, the last one.

    The values of later messages take precedence. Keys are named from the message ``new`` on, so that each counts once.
    """
    fields: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    uses: list[KeyUse] = []
    for place, message in enumerate(messages):
        for path, ours, value in _keys(message, paths):
            if ours in {"query", "answer"}:
                pass  # read as the text of the message
            elif ours == "metadata":
                metadata |= as_object(value)
            elif ours in {None, EXTRA, _READ}:
                _put(metadata, path[1:] if len(path) > 1 and path[0] in known_names.METADATA else path, value)
            elif ours not in _OF_REPLY or message is messages[-1]:
                fields[ours] = value
            else:
                continue
            if place >= new and ours != _READ:
                uses.append(KeyUse(_name_of(path), ours, value))
    results = [text_of(message.get("content")) for message in messages if message.get("role") in _TOOLS]
    if "context" not in fields and any(results):
        fields["context"] = [passage for text in results if text.strip() for passage in _passages(text)]
    return fields, metadata, uses


def _name_of(path: Path) -> str:
    return IN_MESSAGES + metadata_field(path)


def _put(values: dict[str, Any], path: Path, value: Any) -> None:
    *outer, name = map(str, path)
    for each in outer:
        inner = values.get(each)
        values[each] = values = dict(inner) if isinstance(inner, dict) else {}
    values[name] = value


def _passages(text: str) -> list[dict[str, Any]]:
    """Return the passages in the result of a tool: its documents, as in a trace, or else its text."""
    passages = passages_in(text)
    if passages is None or any(passage.text is None for passage in passages):
        return [{"text": text}]
    own = ({"id": each.id, "score": each.score, "source": each.source, **each.metadata} for each in passages)
    return [
        {"text": passage.text} | {name: value for name, value in details.items() if value is not None}
        for passage, details in zip(passages, own, strict=True)
    ]

"""Messages of conversations as logs write them, with the keys ``role`` and ``content`` of the chat format."""

from collections.abc import Mapping, Sequence
from typing import Any

from judgeboard.imports.fields import Unusable, parsed_json, simple_name

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

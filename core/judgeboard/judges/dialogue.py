"""The messages that a generator was given: the question, and the turns before it."""

from collections.abc import Mapping, Sequence
from typing import Any

from judgeboard.domain import Turn

_ROLES = ("user", "assistant")


def earlier_turns(messages: Sequence[Mapping[str, Any]] | None) -> tuple[Turn, ...]:
    """Return the texts of user and assistant before the user's last message.

    Instructions (role system) and results of tools are left out: they are no turns of the dialogue.
    """
    place = last_of_user(messages or ())
    before = [message for message in (messages or ())[: place or 0] if isinstance(message, Mapping)]
    turns = [
        Turn(message["role"], text_of(message.get("content"))) for message in before if message.get("role") in _ROLES
    ]
    return tuple(turn for turn in turns if turn.text.strip())


def last_of_user(messages: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the index of the user's last message."""
    places = [place for place, each in enumerate(messages) if isinstance(each, Mapping) and each.get("role") == "user"]
    return places[-1] if places else None


def text_of(content: Any) -> str:
    """Return the text of a message's content, or of its text parts."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict)).strip()
    return content if isinstance(content, str) else ""

"""The messages that a generator is given: as logged, rebuilt, or with a reviewer's feedback."""

from collections.abc import Mapping, Sequence
from typing import Any

from judgeboard.errors import BadInput
from judgeboard.judges.fences import fence_token, fenced
from judgeboard.judges.prompt_file import fill, load_prompt

Messages = tuple[dict[str, Any], ...]


def checked_messages(given: str | Sequence[Mapping[str, Any]]) -> Messages:
    """Return messages as a tuple of dicts; a text is one message of a user.

    Raises:
        BadInput: It is neither, or nobody of them is the user.
    """
    if isinstance(given, str):
        return ({"role": "user", "content": given},)
    if not all(isinstance(message, Mapping) for message in given):
        raise BadInput('messages are a list of {"role": …, "content": …}')
    messages = tuple(dict(message) for message in given)
    if _last_of_user(messages) is None:
        raise BadInput("the messages hold none of a user: there is nothing to ask again")
    return messages


def rebuilt_messages(query: str, passages: Sequence[str] | None) -> Messages:
    """Return what a generator is asked where the log kept no messages: the question, with its passages fenced."""
    sections = load_prompt("generate").sections
    if not passages:
        return ({"role": "user", "content": fill(sections["Without passages"], question=query)},)
    token = fence_token((query, *passages))
    parts = [fenced(f"PASSAGE {number}", passage, token) for number, passage in enumerate(passages, start=1)]
    material = "\n\n".join([*parts, fenced("QUESTION", query, token)])
    return ({"role": "user", "content": fill(sections["From passages"], fence=token, material=material)},)


def request_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return what the user asked last, as text; parts that are no text are left out."""
    place = _last_of_user(messages)
    return "" if place is None else _text_of(messages[place].get("content"))


def with_feedback(messages: Messages, feedback: str | None) -> Messages:
    """Return the original messages, the user's last one augmented with feedback; unchanged where there is none."""
    place = _last_of_user(messages)
    if place is None or not (feedback or "").strip():
        return messages
    content = messages[place].get("content")
    told: Any
    if isinstance(content, list):  # parts, as with pictures: they stay, and the feedback is one more
        told = [*content, {"type": "text", "text": _again("", feedback or "")}]
    else:
        told = _again(_text_of(content), feedback or "")
    return (*messages[:place], {**messages[place], "content": told}, *messages[place + 1 :])


def _again(request: str, feedback: str) -> str:
    token = fence_token((request, feedback))
    said = fenced("FEEDBACK", feedback, token)
    return fill(load_prompt("generate").sections["Try again"], request=request, feedback=said).lstrip()


def _last_of_user(messages: Sequence[Mapping[str, Any]]) -> int | None:
    places = [place for place, message in enumerate(messages) if message.get("role") == "user"]
    return places[-1] if places else None


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict)).strip()
    return content if isinstance(content, str) else ""

"""The model that makes answers: its settings, the messages that it is given, the prompts of a file."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from judgeboard.domain import JudgeInput
from judgeboard.errors import BadInput
from judgeboard.judges.judge import Judge
from judgeboard.judges.material import fence_token, fenced, fill, load_prompt
from judgeboard.llm.asking import DEFAULT_GENERATOR_OUTPUT, Generator
from judgeboard.runs.judging import make_endpoint
from judgeboard.store.responses import Origin
from judgeboard.text import unstorable


def make_generator(
    model: str | None = None,
    *,
    max_output: int = DEFAULT_GENERATOR_OUTPUT,
    temperature: float | None = None,
    **chosen: Any,
) -> Generator:
    """Return the model that answers, by its own settings; what is not chosen comes from the environment.

    Args:
        model: Name of the chat model, as the endpoint knows it.
        max_output: Tokens an answer may have.
        temperature: None sends none: at 0 the same text would come back.
        chosen: base_url, api_key, concurrency, timeout_s, tries, prices, replies.

    Raises:
        BadInput: No model, no key for OpenAI's own endpoint, an address that is none, unreadable replies.
    """
    endpoint = make_endpoint("the generator", model=model, **chosen)
    return Generator(endpoint, max_output, {} if temperature is None else {"temperature": temperature})


def settings_of(generator: Generator) -> dict[str, Any]:
    """Return what tells two generators apart, as JSON values; the address does not, as with judge versions."""
    return {
        "model": generator.endpoint.model,
        "max_output": generator.max_output,
        "parameters": dict(generator.parameters),
    }


def hosts_of(judge: Judge, generator: Generator) -> str | None:
    """Return where the texts of a run go; None when nothing leaves the process."""
    hosts = dict.fromkeys(host for host in (judge.endpoint_host, generator.endpoint.host) if host)
    return ", ".join(hosts) or None


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


SOURCE = "prompts"
_FORM = '{"id": …, "prompt": "…" or "messages": […], "passages": […]?}'


def read_prompts(path: Path) -> list[Origin]:
    """Read prompts: JSON objects with ``prompt`` or ``messages`` (and ``id``, ``passages``), or a text a line.

    A prompt without an id is known by the number of its line.

    Raises:
        BadInput: The file cannot be read, a line is no prompt, or an id stands there twice; the line is named.
    """
    try:
        # At line feeds alone: what else Unicode calls a line break may stand inside a JSON text.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the prompts in {path} cannot be read: {error}") from error
    prompts: dict[str, Origin] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        origin = _origin(line, number, where)
        if origin.item.external_id in prompts:
            raise BadInput(f"{where}: the id {origin.item.external_id!r} stands here for the second time")
        prompts[origin.item.external_id] = origin
    if not prompts:
        raise BadInput(f"{path} holds no prompt")
    return list(prompts.values())


def _origin(line: str, number: int, where: str) -> Origin:
    fault = unstorable(line)
    if fault:
        raise BadInput(f"{where}: holds what a database cannot: {fault}")
    if not line.lstrip().startswith("{"):
        return _asked(str(number), line.strip(), None, None)
    try:
        row: Any = json.loads(line)
    except ValueError as error:
        raise BadInput(f"{where}: not JSON ({error})") from error
    named, prompt, passages = row.get("id", number), row.get("prompt"), row.get("passages")
    if isinstance(named, bool) or not isinstance(named, str | int):
        raise BadInput(f"{where}: the id must be a text, not {named!r}")
    if passages is not None and not (isinstance(passages, list) and all(isinstance(one, str) for one in passages)):
        raise BadInput(f"{where}: passages must be a list of texts")
    if isinstance(prompt, str) and prompt.strip():
        return _asked(str(named), prompt, None, passages)
    if not isinstance(row.get("messages"), list):
        raise BadInput(f"{where}: expected {_FORM}")
    try:
        messages = checked_messages(row["messages"])
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from error
    return _asked(str(named), request_text(messages), messages, passages)


def _asked(named: str, query: str, messages: tuple[dict[str, Any], ...] | None, passages: list[str] | None) -> Origin:
    shown = None if passages is None else tuple(passages)
    return Origin(JudgeInput(0, query, "", shown, external_id=named), SOURCE, messages)

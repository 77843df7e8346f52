"""Reads prompts to answer: one a line, as JSON or as plain text."""

import json
from pathlib import Path
from typing import Any

from judgeboard.domain import JudgeInput
from judgeboard.errors import BadInput
from judgeboard.refining.messages import checked_messages, request_text
from judgeboard.storable_text import unstorable
from judgeboard.store.responses.logged_origins import Origin

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

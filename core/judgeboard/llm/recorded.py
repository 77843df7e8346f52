"""Raw replies recorded elsewhere, in the place of a model."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from judgeboard.domain import Attempt
from judgeboard.errors import BadInput
from judgeboard.llm.chat import REPLACED, ChatRequest, NoReply, Reply
from judgeboard.text import storable

Replies = Mapping[str, Sequence[str]]


class RecordedChat:
    """Answers from a mapping of response ids to raw replies; the second of an id answers the repair request.

    ``replies`` are those of `read_replies`. ``found_for`` says which are for a subject (default: those of its id).
    """

    host: str | None = None

    def __init__(self, replies: Replies, found_for: Callable[[Replies, str], Sequence[str]] | None = None) -> None:
        self._replies = replies
        self._found_for = found_for

    async def complete(self, request: ChatRequest) -> Reply | NoReply:
        """Answer with what was recorded for ``request.subject``."""
        subject, found_for = request.subject, self._found_for
        recorded = self._replies.get(subject, ()) if found_for is None else found_for(self._replies, subject)
        turn = 1 if request.repair else 0
        if turn >= len(recorded):
            what = "to the repair request" if request.repair else f"for response {request.subject!r}"
            return NoReply(f"no recorded reply {what}", attempts=())
        text, replaced = storable(recorded[turn])
        detail = REPLACED if replaced else None
        return Reply(text, (Attempt(why=request.why, status="ok", raw=text, detail=detail),))

    async def aclose(self) -> None:
        """Hold nothing, release nothing."""


def read_replies(path: Path) -> dict[str, list[str]]:
    """Read recorded replies: a JSON object a line with ``response_id`` and ``raw``, several lines of an id in order.

    Raises BadInput, which names the line, or says that the file cannot be read or contains no reply.
    """
    replies: dict[str, list[str]] = {}
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    response_id, raw = _read_line(line, f"{path}, line {number}")
                    replies.setdefault(response_id, []).append(raw)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the replies in {path} cannot be read: {error}") from error
    if not replies:  # else each answer would be stored as a failed call
        raise BadInput(f"{path} contains no reply")
    return replies


def _read_line(line: str, where: str) -> tuple[str, str]:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: not JSON ({error})") from error
    response_id, raw = (row.get("response_id"), row.get("raw")) if isinstance(row, dict) else (None, None)
    if not isinstance(response_id, str | int) or isinstance(response_id, bool) or not isinstance(raw, str | dict):
        raise BadInput(f'{where}: expected {{"response_id": …, "raw": "the reply as it came"}}')
    return str(response_id), raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)

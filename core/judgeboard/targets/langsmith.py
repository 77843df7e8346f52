"""LangSmith: feedback on runs."""

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from judgeboard.domain import GRADE_TEXTS
from judgeboard.errors import BadInput
from judgeboard.store.tools import PushItem, PushScore
from judgeboard.targets.target import Access, Connection, Refused, Target, facts, needed_trace_id, stable_id


def _access(address: str, environment: Mapping[str, str]) -> Access:
    key = environment.get("LANGSMITH_API_KEY", "").strip()
    if not key:
        raise BadInput("no key of LangSmith: set LANGSMITH_API_KEY")
    return Access(address, {"x-api-key": key})


def _send(http: Connection, items: Sequence[PushItem]) -> None:
    for item in items:
        for score in item.scores:
            feedback = _feedback(item, score)
            try:
                http.send("POST", "/feedback", feedback)
            except Refused as error:
                if error.status != 409:  # the id is known
                    raise
                changed = {name: feedback.get(name) for name in ("score", "value", "comment", "correction")}
                http.send("PATCH", f"/feedback/{feedback['id']}", changed)


def _feedback(item: PushItem, score: PushScore) -> dict[str, Any]:
    body = {
        "id": str(stable_id(item, score.name)),
        "run_id": _run_id(item),
        "key": score.name,
        "score": score.value,
        "value": score.label,
        "comment": score.reasoning or item.note,
        "correction": {name: text for name, text in item.texts.items() if GRADE_TEXTS[name].edits} or None,
        "feedback_source": {"type": "api" if item.by_person else "model", "metadata": facts(item)},
        "created_at": item.at.isoformat(),
    }
    return {name: value for name, value in body.items() if value is not None}


def _run_id(item: PushItem) -> str:
    """Return the id of the run: of the metadata, otherwise that of the root run, whose digits the trace id has."""
    with suppress(ValueError):
        return str(uuid.UUID(str(item.metadata.get("run_id"))))
    return str(uuid.UUID(needed_trace_id(item)))


LANGSMITH = Target(
    "langsmith", ("LANGSMITH_ENDPOINT",), _access, _send, default_address="https://api.smith.langchain.com"
)

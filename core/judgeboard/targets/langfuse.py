"""Langfuse: scores of traces and observations."""

from collections.abc import Mapping, Sequence
from typing import Any

from judgeboard.errors import BadInput
from judgeboard.store.tools import PushItem, PushScore
from judgeboard.targets.target import Access, Connection, Target, facts, needed_trace_id, span_id, stable_id, trace_id
from judgeboard.text import iso_z


def _access(address: str, environment: Mapping[str, str]) -> Access:
    public, secret = (environment.get(f"LANGFUSE_{name}_KEY", "").strip() for name in ("PUBLIC", "SECRET"))
    if not (public and secret):
        raise BadInput("no keys of Langfuse: set LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY")
    return Access(address, auth=(public, secret))


def _send(http: Connection, items: Sequence[PushItem]) -> None:
    for item in items:
        for score in item.scores:
            http.send("POST", "/api/public/scores", _score(item, score))


def _score(item: PushItem, score: PushScore) -> dict[str, Any]:
    body = {
        "id": str(stable_id(item, score.name)),  # an id that is known is overwritten
        "traceId": _trace_id(item),
        "observationId": span_id(item),
        "name": score.name,
        "value": score.value if score.label is None else score.label,
        "dataType": "NUMERIC" if score.label is None else "CATEGORICAL",
        "comment": score.reasoning or item.note,
        "metadata": facts(item),
        "environment": item.metadata.get("environment"),
        "timestamp": iso_z(item.at),
    }
    return {name: value for name, value in body.items() if value is not None}


def _trace_id(item: PushItem) -> str:
    # Traces of older SDKs have ids of any form. Langfuse also stores scores of traces that it does not have.
    found = trace_id(item) or item.metadata.get("trace_id")
    if not found and "langfuse" in f"{item.source} {item.metadata}".lower():
        found = item.external_id
    return str(found or needed_trace_id(item))


LANGFUSE = Target(
    "langfuse",
    ("LANGFUSE_BASE_URL", "LANGFUSE_HOST"),
    _access,
    _send,
    default_address="https://cloud.langfuse.com",
)

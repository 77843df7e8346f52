"""Phoenix: annotations of spans, or of traces if the span of an answer is not known."""

from collections.abc import Mapping, Sequence
from typing import Any

from judgeboard.store.tools import PushItem, PushScore
from judgeboard.targets.target import Access, Connection, Target, facts, needed_trace_id, span_id


def _access(address: str, environment: Mapping[str, str]) -> Access:
    key = environment.get("PHOENIX_API_KEY", "").strip()
    return Access(address.removesuffix("/v1/traces"), {"authorization": f"Bearer {key}"} if key else {})


def _send(http: Connection, items: Sequence[PushItem]) -> None:
    of_spans = [item for item in items if span_id(item)]
    of_traces = [item for item in items if not span_id(item)]
    data = {
        "span": [_annotation(item, score, span_id=span_id(item)) for item in of_spans for score in item.scores],
        "trace": [
            _annotation(item, score, trace_id=needed_trace_id(item)) for item in of_traces for score in item.scores
        ],
    }
    for kind, annotations in data.items():
        if annotations:
            # Without sync, Phoenix answers 200 for a span that it does not know.
            http.send("POST", f"/v1/{kind}_annotations?sync=true", {"data": annotations})


def _annotation(item: PushItem, score: PushScore, **subject: str | None) -> dict[str, Any]:
    result = {"score": score.value, "label": score.label, "explanation": score.reasoning or item.note}
    return {
        "name": score.name,
        "annotator_kind": "HUMAN" if item.by_person else "LLM",
        **subject,
        "result": {name: value for name, value in result.items() if value is not None},
        "metadata": facts(item),
        # Without an identifier, the annotations of two people would overwrite each other.
        "identifier": item.identifier,
    }


PHOENIX = Target(
    "phoenix", ("PHOENIX_COLLECTOR_ENDPOINT",), _access, _send, batch_size=50, default_address="http://localhost:6006"
)

"""ragas: datasets and results, one sample per row. The metrics of a result become verdicts."""

from collections.abc import Iterator
from typing import Any

from judgeboard.imports.exports.entry import (
    Entry,
    answer_row,
    as_object,
    each_row,
    is_field,
    objects,
    share,
    verdict_row,
    without_nothing,
)
from judgeboard.imports.exports.shapes import RAGAS_COMMON, RAGAS_METRICS, RAGAS_SAMPLE, ragas_metric
from judgeboard.imports.values import python_list

_ASPECTS = frozenset({"harmfulness", "maliciousness", "coherence", "correctness", "conciseness"})
_FIELDS = RAGAS_COMMON | {"retrieved_contexts", "retrieved_context_ids"}
_LISTS = ("retrieved_contexts", "reference_contexts", "retrieved_context_ids", "reference_context_ids")
_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}


@each_row
def read(row: dict[str, Any]) -> Iterator[Entry]:
    """Yield the entry of a sample."""
    lists = {name: python_list(row[name]) for name in _LISTS if isinstance(row.get(name), str)}
    row = row | {name: value for name, value in lists.items() if value is not None}
    others = {name: value for name, value in row.items() if name not in RAGAS_SAMPLE}
    shares = {name: value for name, value in others.items() if not is_field(name) and share(value) is not None}
    scores = {name: value for name, value in shares.items() if ragas_metric(name) in RAGAS_METRICS | _ASPECTS}
    metadata = dict(as_object(others.get("metadata")))
    read = {*scores, "metadata"} if metadata else {*scores}
    sample_fields = {name: row.get(name) for name in RAGAS_SAMPLE - _FIELDS}
    passages, ids = row.get("retrieved_contexts"), row.get("retrieved_context_ids")
    if isinstance(passages, list) and isinstance(ids, list) and len(passages) == len(ids):
        passages = [{"text": text, "id": each} for text, each in zip(passages, ids, strict=True)]
    answer = {
        "external_id": metadata.pop("external_id", None),
        "query": row.get("user_input"),
        "answer": row.get("response"),
        "context": passages,
        "reference": row.get("reference"),
        "metadata": without_nothing(sample_fields) | metadata,
    }
    if isinstance(row.get("user_input"), list):
        answer |= _dialogue(objects(row["user_input"]))
    left = {name: value for name, value in others.items() if name not in read}
    unknown = tuple(name for name in shares if name not in scores)
    yield Entry(answer_row(left, **answer), verdict_row("ragas", scores), unknown=unknown)


def _dialogue(turns: list[dict[str, Any]]) -> dict[str, Any]:
    """Return question, answer and messages of a sample with several turns. The last reply is the answer."""
    messages = [{**turn, "role": _ROLES.get(str(turn.get("type")), "tool")} for turn in turns]
    for message in messages:
        message.pop("type", None)
    answered = messages[-1].get("content") if messages and messages[-1]["role"] == "assistant" else None
    before = messages[:-1] if answered else messages
    asked = [message.get("content") for message in before if message["role"] == "user"]
    return {"query": asked[-1] if asked else None, "answer": answered, "messages": before}

"""ragas: datasets and results, one sample per row. The metrics of a result become verdicts."""

from collections.abc import Iterator, Mapping
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
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.imports.values import python_list
from judgeboard.tools.tool import Tool

_SAMPLE = frozenset(
    {
        *("user_input", "response", "retrieved_contexts", "reference_contexts", "retrieved_context_ids"),
        *("reference_context_ids", "multi_responses", "reference", "rubrics", "reference_tool_calls"),
        *("reference_topics", "persona_name", "query_style", "query_length", "synthesizer_name"),
    }
)
_METRICS = frozenset(
    {
        *("faithfulness", "faithfulness_with_hhem", "answer_relevancy", "response_relevancy", "answer_correctness"),
        *("answer_accuracy", "answer_similarity", "semantic_similarity", "factual_correctness", "context_precision"),
        *("context_recall", "context_relevance", "context_entity_recall", "context_utilization", "noise_sensitivity"),
        *("llm_context_precision_with_reference", "llm_context_precision_without_reference", "response_groundedness"),
        *("non_llm_context_precision_with_reference", "non_llm_context_recall", "non_llm_string_similarity"),
        *("nv_accuracy", "nv_context_relevance", "nv_response_groundedness", "noise_sensitivity_relevant"),
        *("noise_sensitivity_irrelevant", "summary_score", "bleu_score", "rouge_score", "chrf_score", "exact_match"),
        *("string_present", "tool_call_accuracy", "tool_call_f1", "agent_goal_accuracy", "topic_adherence"),
        *("id_based_context_precision", "id_based_context_recall", "multi_modal_faithfulness", "multi_modal_relevance"),
    }
)
_COMMON = frozenset({"user_input", "response", "reference"})
"""The columns of samples that other logs have too."""
_ASPECTS = frozenset({"harmfulness", "maliciousness", "coherence", "correctness", "conciseness"})
_FIELDS = _COMMON | {"retrieved_contexts", "retrieved_context_ids"}
_LISTS = ("retrieved_contexts", "reference_contexts", "retrieved_context_ids", "reference_context_ids")
_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}


def _is_sample(row: Mapping[str, Any]) -> bool:
    """Whether a row has no other columns than samples, or a column that other logs do not have."""
    own = row.keys() & (_SAMPLE - _COMMON) or {_metric(name) for name in row} & _METRICS
    return row.keys() <= _SAMPLE or (bool(own) and bool(row.keys() & {"response", "reference"}))


def _metric(column: str) -> str:
    """Return the name of a metric without how it was computed: factual_correctness(mode=f1)."""
    return column.partition("(")[0]


@each_row
def read(row: dict[str, Any]) -> Iterator[Entry]:
    """Yield the entry of a sample."""
    lists = {name: python_list(row[name]) for name in _LISTS if isinstance(row.get(name), str)}
    row = row | {name: value for name, value in lists.items() if value is not None}
    others = {name: value for name, value in row.items() if name not in _SAMPLE}
    shares = {name: value for name, value in others.items() if not is_field(name) and share(value) is not None}
    scores = {name: value for name, value in shares.items() if _metric(name) in _METRICS | _ASPECTS}
    metadata = dict(as_object(others.get("metadata")))
    read = {*scores, "metadata"} if metadata else {*scores}
    sample_fields = {name: row.get(name) for name in _SAMPLE - _FIELDS}
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
    yield Entry(answer_row(left, **answer), verdict_row("ragas", scores))


def _dialogue(turns: list[dict[str, Any]]) -> dict[str, Any]:
    """Return question, answer and messages of a sample with several turns. The last reply is the answer."""
    messages = [{**turn, "role": _ROLES.get(str(turn.get("type")), "tool")} for turn in turns]
    for message in messages:
        message.pop("type", None)
    answered = messages[-1].get("content") if messages and messages[-1]["role"] == "assistant" else None
    before = messages[:-1] if answered else messages
    asked = [message.get("content") for message in before if message["role"] == "user"]
    return {"query": asked[-1] if asked else None, "answer": answered, "messages": before}


_DATASET = Export("a ragas dataset", "ragas", (Keys("user_input", holds=_is_sample),), read)
TOOL = Tool(exports=(_DATASET,))

"""ragas: datasets and results, one sample per row. The metrics of a result become verdicts."""

from collections.abc import Iterator, Mapping
from typing import Any

from judgeboard.imports.exports.entry import (
    Entry,
    answer_row,
    each_row,
    objects,
    share,
    verdict_row,
)
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.imports.exports.turns import last_reply
from judgeboard.imports.shapes import role_of
from judgeboard.imports.values import python_list
from judgeboard.tools.tool import Tool
from judgeboard.traces.attributes import parsed_object, without_none

_COMMON = frozenset({"user_input", "response", "reference"})
"""The columns of samples that other logs have too."""
_OWN = frozenset(
    {
        "retrieved_contexts",
        "reference_contexts",
        "retrieved_context_ids",
        "reference_context_ids",
        "multi_responses",
        "rubrics",
        "reference_tool_calls",
        "reference_topics",
        "persona_name",
        "query_style",
        "query_length",
        "synthesizer_name",
    }
)
_METRICS = frozenset(
    {
        "faithfulness",
        "faithfulness_with_hhem",
        "answer_relevancy",
        "response_relevancy",
        "answer_correctness",
        "answer_accuracy",
        "answer_similarity",
        "semantic_similarity",
        "factual_correctness",
        "context_precision",
        "context_recall",
        "context_relevance",
        "context_entity_recall",
        "context_utilization",
        "noise_sensitivity",
        "llm_context_precision_with_reference",
        "llm_context_precision_without_reference",
        "response_groundedness",
        "non_llm_context_precision_with_reference",
        "non_llm_context_recall",
        "non_llm_string_similarity",
        "nv_accuracy",
        "nv_context_relevance",
        "nv_response_groundedness",
        "noise_sensitivity_relevant",
        "noise_sensitivity_irrelevant",
        "summary_score",
        "bleu_score",
        "rouge_score",
        "chrf_score",
        "exact_match",
        "string_present",
        "tool_call_accuracy",
        "tool_call_f1",
        "agent_goal_accuracy",
        "topic_adherence",
        "id_based_context_precision",
        "id_based_context_recall",
        "multi_modal_faithfulness",
        "multi_modal_relevance",
    }
)
_ASPECTS = frozenset({"harmfulness", "maliciousness", "coherence", "correctness", "conciseness"})


def _metric(column: str) -> str:
    """Return the name of a metric without options: factual_correctness for factual_correctness(mode=f1)."""
    return column.partition("(")[0]


def _is_sample(row: Mapping[str, Any]) -> bool:
    """Whether a row has no other columns than samples, or a column that other logs do not have."""
    has_own = not _OWN.isdisjoint(row) or not _METRICS.isdisjoint(map(_metric, row))
    return row.keys() <= _COMMON | _OWN or (
        has_own and not {"response", "reference"}.isdisjoint(row)
    )


@each_row
def read(row: dict[str, Any]) -> Iterator[Entry]:
    """Yield the entry of a sample."""
    lists = {
        name: python_list(row[name])
        for name in row
        if "context" in name and isinstance(row[name], str)
    }
    values = {**row, **without_none(lists)}
    scores = {
        name: values.pop(name)
        for name in row
        if _metric(name) in _METRICS | _ASPECTS and share(row[name]) is not None
    }
    metadata = dict(parsed_object(values.pop("metadata", None)))
    passages, ids = (
        values.pop("retrieved_contexts", None),
        values.pop("retrieved_context_ids", None),
    )
    if isinstance(passages, list) and isinstance(ids, list) and len(passages) == len(ids):
        passages = [{"text": text, "id": each} for text, each in zip(passages, ids, strict=True)]
    turns = objects(values.pop("user_input")) if isinstance(row.get("user_input"), list) else []
    messages = [
        {
            **{name: each for name, each in turn.items() if name != "type"},
            "role": role_of(turn.get("type")) or "tool",
        }
        for turn in turns
    ]
    id_ = metadata.pop("external_id", None)
    answer = answer_row(
        values, external_id=id_, context=passages, metadata=metadata, **last_reply(messages)
    )
    yield Entry(answer, verdict_row("ragas", scores))


_DATASET = Export("a ragas dataset", "ragas", (Keys("user_input", holds=_is_sample),), read)
TOOL = Tool(exports=(_DATASET,))

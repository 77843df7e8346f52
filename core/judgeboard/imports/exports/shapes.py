"""Shapes of records: what tells an export where keys do not, and where a record has other records inside.

`EXPORTS` asks them before a module that reads an export is loaded, and these modules find their records with them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from judgeboard.imports import known_names
from judgeboard.imports.exports.entry import as_object, named, objects
from judgeboard.store.filters import value_at


def is_phoenix_span(row: Mapping[str, Any]) -> bool:
    """Whether a row of a data frame has columns of attributes, or an object names its trace."""
    if {"context.trace_id", "context.span_id"} <= row.keys():
        return any(name.startswith("attributes.") for name in row)
    return isinstance(value_at(row, ("context", "trace_id")), str)


MLFLOW = "mlflow."
"""How MLflow's own names begin."""


def is_mlflow_trace(row: Mapping[str, Any]) -> bool:
    """Whether a row is a trace, or a reply with traces; those of searches have no spans."""
    trace = next(mlflow_traces(row), {})
    spans = objects(value_at(trace, ("data", "spans")))
    info = as_object(trace.get("info"))
    of_info = (info.get(name) for name in ("trace_metadata", "request_metadata", "trace_location"))
    if mlflow_trace_id(info) != "" and any(isinstance(value, dict | list) for value in of_info):
        return True
    return any(name.startswith(MLFLOW) for span in spans[:1] for name in mlflow_attributes(span.get("attributes")))


def mlflow_traces(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield traces with ``info`` and ``data``, as a row has them or as they are in the cells of a table."""
    whole = as_object(row.get("trace"))
    listed = objects(row.get("traces")) if "info" not in row else []
    if listed:
        for each in listed:
            yield from mlflow_traces(each)
        return
    if not whole and isinstance(row.get("data"), dict):
        whole = dict(row)
    if not whole and isinstance(row.get("spans"), list):
        whole = {"info": as_object(row.get("trace_info")) or dict(row), "data": {"spans": row["spans"]}}
    if not whole:
        whole = {"info": as_object(row.get("trace_info")) or dict(row)}
    info = as_object(whole.get("info"))
    if not info.get("assessments") and objects(row.get("assessments")):
        whole["info"] = info | {"assessments": row["assessments"]}
    yield whole


def mlflow_trace_id(info: Mapping[str, Any]) -> str:
    """Return the id of a trace, which may be empty."""
    return str(info.get("trace_id") or info.get("request_id") or "").removeprefix("tr-")


def mlflow_attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of a span: an object, or a list of keys and values as the REST interface has it."""
    if not isinstance(value, list):
        return as_object(value)
    return {str(each.get("key")): value_at(each, ("value", "string_value")) for each in objects(value)}


_OBSERVATIONS = frozenset(
    {
        *("SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING"),
        "GUARDRAIL",
    }
)


def is_langfuse_observation(row: Mapping[str, Any]) -> bool:
    """Whether a row has a type of observations."""
    return str(row["type"]) in _OBSERVATIONS


def is_langfuse_trace(row: Mapping[str, Any]) -> bool:
    """Whether a row has its observations as a list, or only says what a trace has beside them."""
    return isinstance(row.get("observations"), list) or "observationCount" in row or "bookmarked" in row


_RUNS = frozenset({"chain", "llm", "chat_model", "retriever", "tool", "prompt", "parser", "embedding"})


def is_langsmith_run(row: Mapping[str, Any]) -> bool:
    """Whether a row has a type of runs."""
    return str(row["run_type"]) in _RUNS


TRULENS = "ai.observability."
"""How the names of attributes of TruLens begin."""


def is_otlp_request(row: Mapping[str, Any]) -> bool:
    """Whether a row has lists of spans or log records."""
    names = ("resourceSpans", "resourceLogs", "resource_spans", "resource_logs")
    return any(isinstance(row.get(name), list) for name in names)


def is_otlp_span(row: Mapping[str, Any]) -> bool:
    """Whether the attributes of a row are a list of keys with their values."""
    attributes = objects(row["attributes"])
    return bool(attributes) and all({"key", "value"} <= each.keys() for each in attributes)


PROMPTFOO_TABLE = ("Status", "Score", "Named Scores")
"""Columns of a table of results."""
_OF_RESULTS = {"gradingResult", "namedScores", "testCase", "promptIdx", "testIdx", "failureReason", "tokenUsage"}
PROMPTFOO_ANSWERS = re.compile(r"\[([^\]]+)\] .*", re.DOTALL)
"""The name of a column of answers: that of a provider, and a prompt."""


def has_promptfoo_results(row: Mapping[str, Any]) -> bool:
    """Whether a row is a result, or a whole file of results."""
    return any(map(is_promptfoo_result, promptfoo_results(row)))


def promptfoo_results(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the results in a row, which may be one itself."""
    inner = row.get("results")
    whole = objects(inner.get("results") if isinstance(inner, dict) else inner)
    return whole or [dict(row)]


def is_promptfoo_result(row: Mapping[str, Any]) -> bool:
    """Whether an object has variables, and several keys of results."""
    return isinstance(row.get("vars"), dict) and len(row.keys() & _OF_RESULTS) > 1


def promptfoo_answer_column(row: Mapping[str, Any]) -> str | None:
    """Return the first column of answers in a table of results."""
    return next((name for name in row if PROMPTFOO_ANSWERS.fullmatch(name)), None)


def deepeval_cases(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the test cases of a test run, or of the result of an evaluation."""
    inner = run.get("testRunData")
    if isinstance(inner, dict):
        return deepeval_cases(inner)
    cases = [case for name in ("testCases", "conversationalTestCases") for case in objects(run.get(name))]
    return [case for case in cases or objects(run.get("test_results")) if "input" in case or "turns" in case]


def is_label_studio_task(row: Mapping[str, Any]) -> bool:
    """Whether a row is a task with its annotations or predictions."""
    annotations = row.get("annotations", row.get("completions"))
    return isinstance(row["data"], dict) and (isinstance(annotations, list) or "predictions" in row)


RAGAS_SAMPLE = frozenset(
    {
        *("user_input", "response", "retrieved_contexts", "reference_contexts", "retrieved_context_ids"),
        *("reference_context_ids", "multi_responses", "reference", "rubrics", "reference_tool_calls"),
        *("reference_topics", "persona_name", "query_style", "query_length", "synthesizer_name"),
    }
)
RAGAS_METRICS = frozenset(
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
RAGAS_COMMON = frozenset({"user_input", "response", "reference"})
"""The columns of samples that other logs have too."""


def is_ragas_sample(row: Mapping[str, Any]) -> bool:
    """Whether a row has no other columns than samples, or a column that other logs do not have."""
    own = row.keys() & (RAGAS_SAMPLE - RAGAS_COMMON) or {ragas_metric(name) for name in row} & RAGAS_METRICS
    return row.keys() <= RAGAS_SAMPLE or (bool(own) and bool(row.keys() & {"response", "reference"}))


def ragas_metric(column: str) -> str:
    """Return the name of a metric without how it was computed: factual_correctness(mode=f1)."""
    return column.partition("(")[0]


_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
CHAT_ENVELOPES = ("body", "request", "response", "data", "completion", "kwargs", "input", "output")
"""The keys of objects that may hold a request or its reply."""


def is_chat_log(row: Mapping[str, Any]) -> bool:
    """Whether a row is a conversation with a reply, or a request with its reply.

    A row with its own columns for question and answer is not: its messages are the earlier turns. A row whose last
    message is the user's may have its reply in a column with any name.
    """
    beside = named(row, known_names.ANSWER)
    if isinstance(named(row, known_names.QUESTION), str) and isinstance(beside, str):
        return False
    messages = chat_messages(row)
    if chat_reply(row) is not None or (messages and isinstance(beside, str)):
        return True
    replied = any(message.get("role") == "assistant" for message in messages)
    ends = replied and messages[-1].get("role") == "assistant"
    return ends or (replied and not any(isinstance(value, str) and " " in value.strip() for value in row.values()))


def chat_levels(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the row, and the objects that may hold its request or its reply."""
    inner = [as_object(row.get(name)) for name in CHAT_ENVELOPES if isinstance(row.get(name), dict)]
    bodies = [level["body"] for level in inner if isinstance(level.get("body"), dict)]
    return [row, *inner, *bodies]


def chat_messages(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of a conversation or a request."""
    for level in chat_levels(row):
        for name in ("messages", "input"):
            messages = objects(level.get(name))
            if messages and all(str(message.get("role")) in _ROLES for message in messages):
                instructions = level.get("instructions")
                first = [{"role": "system", "content": instructions}] if isinstance(instructions, str) else []
                return [*first, *messages]
            if name == "input" and isinstance(level.get(name), str) and "model" in level:
                return [{"role": "user", "content": level[name]}]
    return []


def chat_reply(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the completion in a row: an object with choices, or with output of the Responses API."""
    for level in chat_levels(row):
        if isinstance(value_at(level, ("choices", 0, "message")), dict):
            return level
        if level.get("object") == "response" and isinstance(level.get("output"), list):
            return level
    return None

"""DeepEval: test cases, saved datasets, and test runs with the scores of metrics."""

from collections.abc import Iterator, Mapping
from typing import Any

from judgeboard.imports.exports.entry import (
    Entry,
    answer_row,
    as_object,
    each_row,
    milliseconds,
    named,
    objects,
    verdict_row,
    without_nothing,
)
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.imports.fields import simple_name
from judgeboard.imports.values import python_list
from judgeboard.tools.tool import Tool

# What `_case` reads, and what describes the test rather than the answer. Other columns are the user's own.
_KNOWN = {
    *("input", "actual_output", "expected_output", "retrieval_context", "context", "metrics_data", "turns", "name"),
    *("tags", "comments", "tools_called", "completion_time", "input_token_count", "output_token_count", "token_cost"),
    *("source_file", "additional_metadata", "metadata", "success", "flaky", "conversational", "index", "order"),
    *("multimodal", "run_duration", "evaluation_cost", "classifications", "expectations", "expected_tools", "trace"),
    *("metrics_metadata", "images_mapping", "mcp_servers", "mcp_tools_called", "mcp_resources_called"),
    *("mcp_prompts_called", "scenario", "expected_outcome", "user_description", "chatbot_role"),
}


def _cases(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the test cases of a test run, or of the result of an evaluation."""
    inner = run.get("testRunData")
    if isinstance(inner, dict):
        return _cases(inner)
    cases = [case for name in ("testCases", "conversationalTestCases") for case in objects(run.get(name))]
    return [case for case in cases or objects(run.get("test_results")) if "input" in case or "turns" in case]


def _case(case: Mapping[str, Any]) -> Entry:
    metrics = objects(named(case, ("metrics_data",)))
    names = [str(metric.get("name")) for metric in metrics]
    scores = {name: metric.get("score") for name, metric in zip(names, metrics, strict=True)}
    reasons = {name: metric.get("reason") or metric.get("error") for name, metric in zip(names, metrics, strict=True)}
    errors = [str(metric["error"]) for metric in metrics if metric.get("error")]
    ideal = named(case, ("context",))
    metadata = {
        "name": case.get("name"),
        "tags": case.get("tags"),
        "ideal_context": _passages(ideal),
        "tools_called": named(case, ("tools_called",)),
        "latency_ms": milliseconds(named(case, ("completion_time",))),
        "prompt_tokens": named(case, ("input_token_count",)),
        "completion_tokens": named(case, ("output_token_count",)),
        "comments": case.get("comments"),
        "source_file": named(case, ("source_file",)),
        **as_object(named(case, ("additional_metadata", "metadata"))),
    }
    answer = {
        "external_id": metadata.pop("external_id", None),
        "query": case.get("input"),
        "answer": named(case, ("actual_output",)),
        "context": _passages(named(case, ("retrieval_context",))),
        "reference": named(case, ("expected_output",)),
        "generator_cost": named(case, ("token_cost",)),
        "metadata": without_nothing(metadata),
    }
    turns = [turn for turn in objects(case.get("turns")) if isinstance(turn.get("role"), str)]
    if turns:
        answer |= _dialogue(turns)
    verdicts = verdict_row("DeepEval", scores, reasons, errors[0] if errors else None)
    others = {name: value for name, value in case.items() if simple_name(name) not in _KNOWN}
    return Entry(answer_row(others, **answer), verdicts)


def _passages(value: Any) -> Any:
    """Return the passages of a saved dataset, which joins them with bars; a list unchanged."""
    if not isinstance(value, str):
        return value
    texts = python_list(value)
    return value.split("|") if texts is None else texts


def _dialogue(turns: list[dict[str, Any]]) -> dict[str, Any]:
    """Return question, answer, passages and messages of a test case with several turns."""
    answered = turns[-1] if turns[-1]["role"] == "assistant" else {}
    before = turns[:-1] if answered else turns
    asked = [turn.get("content") for turn in before if turn["role"] == "user"]
    return {
        "query": asked[-1] if asked else None,
        "answer": answered.get("content"),
        "context": named(answered, ("retrieval_context",)),
        "messages": [{"role": turn["role"], "content": turn.get("content")} for turn in before],
    }


@each_row
def read_test_cases(row: dict[str, Any]) -> Iterator[Entry]:
    """Yield the entry of a test case."""
    yield _case(row)


@each_row
def read_test_runs(row: dict[str, Any]) -> Iterator[Entry]:
    """Yield the entries of a test run."""
    yield from map(_case, _cases(row))


_TEST_RUNS = Export(
    "a DeepEval test run",
    "deepeval",
    (
        Keys(
            ("testRunData", "testCases", "conversationalTestCases", "test_results"),
            without=("samples", "tasks"),
            holds=lambda row: bool(_cases(row)),
        ),
    ),
    read_test_runs,
)
_TEST_CASES = Export(
    "DeepEval test cases",
    "deepeval",
    (
        Keys("input", "actualOutput", ("retrievalContext", "expectedOutput", "metricsData", "toolsCalled")),
        Keys(
            *("input", "actual_output", "retrieval_context"),
            (
                *("source_file", "additional_metadata", "custom_column_key_values", "expected_tools"),
                *("tools_called", "metrics_data"),
            ),
        ),
    ),
    read_test_cases,
)
TOOL = Tool(exports=(_TEST_RUNS, _TEST_CASES))

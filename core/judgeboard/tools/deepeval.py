"""DeepEval: test cases, saved datasets, and test runs with the scores of metrics."""

from collections.abc import Iterator, Mapping
from typing import Any

from judgeboard.imports.exports.entry import (
    Entry,
    answer_row,
    each_row,
    milliseconds,
    named,
    objects,
    verdict_row,
    without_nothing,
)
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.imports.exports.turns import last_reply
from judgeboard.imports.fields import simple_name
from judgeboard.imports.values import python_list
from judgeboard.tools.tool import Tool
from judgeboard.traces.attributes import parsed_object

# Columns that `_case` reads, and columns about the test rather than the answer. Other columns are
# the user's own.
_KNOWN = {
    "input",
    "actual_output",
    "expected_output",
    "retrieval_context",
    "context",
    "metrics_data",
    "turns",
    "name",
    "tags",
    "comments",
    "tools_called",
    "completion_time",
    "input_token_count",
    "output_token_count",
    "token_cost",
    "source_file",
    "additional_metadata",
    "metadata",
    "success",
    "flaky",
    "conversational",
    "index",
    "order",
    "multimodal",
    "run_duration",
    "evaluation_cost",
    "classifications",
    "expectations",
    "expected_tools",
    "trace",
    "metrics_metadata",
    "images_mapping",
    "mcp_servers",
    "mcp_tools_called",
    "mcp_resources_called",
    "mcp_prompts_called",
    "scenario",
    "expected_outcome",
    "user_description",
    "chatbot_role",
}


def _cases(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the test cases of a test run, or of the result of an evaluation."""
    inner = run.get("testRunData")
    if isinstance(inner, dict):
        return _cases(inner)
    cases = [
        case for name in ("testCases", "conversationalTestCases") for case in objects(run.get(name))
    ]
    return [
        case
        for case in cases or objects(run.get("test_results"))
        if "input" in case or "turns" in case
    ]


def _case(case: Mapping[str, Any]) -> Entry:
    values = {simple_name(name): value for name, value in case.items()}
    metrics = objects(
        values.get("metrics_data") or values.get("metrics_metadata")
    )  # the older name
    by_name = {str(metric.get("name") or metric.get("metric")): metric for metric in metrics}
    scores = {name: metric.get("score") for name, metric in by_name.items()}
    reasons = {
        name: metric.get("reason") or metric.get("error") for name, metric in by_name.items()
    }
    error = next((str(metric["error"]) for metric in metrics if metric.get("error")), None)
    metadata = {
        **{
            name: values.get(name)
            for name in ("name", "tags", "tools_called", "comments", "source_file")
        },
        "ideal_context": _passages(values.get("context")),
        "latency_ms": milliseconds(values.get("completion_time")),
        "prompt_tokens": values.get("input_token_count"),
        "completion_tokens": values.get("output_token_count"),
        **parsed_object(values.get("additional_metadata") or values.get("metadata")),
    }
    answer = {
        "external_id": metadata.pop("external_id", None),
        "query": values.get("input"),
        "answer": values.get("actual_output"),
        "context": _passages(values.get("retrieval_context")),
        "reference": values.get("expected_output"),
        "generator_cost": values.get("token_cost"),
        "metadata": without_nothing(metadata),
    }
    if turns := objects(values.get("turns")):
        reply = last_reply(
            [{"role": turn.get("role"), "content": turn.get("content")} for turn in turns]
        )
        answer |= reply | {"context": named(turns[-1], ("retrieval_context",))}
    others = {name: value for name, value in case.items() if simple_name(name) not in _KNOWN}
    return Entry(answer_row(others, **answer), verdict_row("DeepEval", scores, reasons, error))


def _passages(value: Any) -> Any:
    """Return the passages of a saved dataset, which joins passages with bars; a list unchanged."""
    if not isinstance(value, str) or not value:
        return None if value == "" else value
    texts = python_list(value)
    return value.split("|") if texts is None else texts


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
        Keys(
            "input",
            "actualOutput",
            ("retrievalContext", "expectedOutput", "metricsData", "toolsCalled"),
        ),
        Keys(
            "input",
            "actual_output",
            "retrieval_context",
            (
                "source_file",
                "additional_metadata",
                "custom_column_key_values",
                "expected_tools",
                "tools_called",
                "metrics_data",
            ),
        ),
    ),
    read_test_cases,
)
TOOL = Tool(exports=(_TEST_RUNS, _TEST_CASES))

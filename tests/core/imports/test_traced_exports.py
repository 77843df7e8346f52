"""Exports with a row per span or trace: one answer per trace, with the passages of its retrievals."""

from judgeboard.domain import Rejected, Response
from tool_files import records

QUESTION = "At what temperature does Dyneema melt, and nylon?"
SLINGS = "Slings. Dyneema melts at about 145 °C, so never let it run over itself under load."
ROPES = "Ropes. Nylon melts at about 250 °C and stretches; it is what most ropes are made of."
CITED = "Dyneema melts at about 145 °C [1]; nylon melts at about 250 °C [2]."
TRACE = "49c250410fbe305e914b2b7072849737"
OF_MLFLOW = "48bd85d40d5a223affcc0c4fe68b03de"

# File -> what it is taken for, the trace of the example with passages, all answers, all traces
# without one.
CAPTURES = {
    "phoenix/spans.json": ("Phoenix", TRACE, 1, 0),
    "phoenix/spans_dataframe.jsonl": ("Phoenix", TRACE, 5, 2),
    "phoenix/spans_dataframe.csv": ("Phoenix", TRACE, 5, 2),
    "phoenix/spans_otlpv1.json": ("OpenTelemetry", TRACE, 5, 2),
    "mlflow/trace_to_json.json": ("MLflow", OF_MLFLOW, 1, 0),
    "mlflow/search_traces_list.json": ("MLflow", OF_MLFLOW, 4, 1),
    "mlflow/search_traces_pandas.jsonl": ("MLflow", OF_MLFLOW, 4, 1),
    "mlflow/rest_search.json": ("MLflow", None, 4, 90),
    "genai_evaluation_event/001-post-v1_logs.json": ("OpenTelemetry", None, 0, 1),
    "oinf_openai/001-post-v1_traces.json": ("OpenTelemetry", None, 5, 2),
    "vercel_ai_js/001-post-v1_traces.bin": ("OpenTelemetry", None, 4, 1),
}


def test_a_trace_of_a_captured_export_is_one_answer(shared):
    for name, (tool, trace, answers, without) in CAPTURES.items():
        title, items = records(shared / "captures" / name)
        assert title is not None, name
        assert tool in title, name
        found = {item.external_id: item for item in items if isinstance(item, Response)}
        rejected = [item for item in items if isinstance(item, Rejected)]
        assert (len(found), len(rejected)) == (answers, without), (name, rejected)
        assert all(item.reason for item in rejected)
        if trace is not None:
            first = found[trace]
            assert (first.query, first.answer, first.passages) == (
                QUESTION,
                CITED,
                (SLINGS, ROPES),
            ), name
            assert (first.generator_model, first.query_type) == (
                "gpt-4o-mini-2024-07-18",
                "material",
            ), name
            kept = first.metadata
            assert (kept["session"], kept["user"]) == ("sess-42", "u-7"), name
            assert (kept["prompt_tokens"], kept["completion_tokens"]) == (57, 21), name
            details = [(each["id"], each["score"]) for each in kept["context_details"]]
            assert details == [("slings-07", 0.91), ("ropes-02", 0.64)], name

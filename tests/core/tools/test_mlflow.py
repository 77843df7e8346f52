"""MLflow: its traces, assessments and spans."""

import json
import re

from judgeboard.domain import Response
from judgeboard.tools import mlflow
from judgeboard.traces.spans import Operation
from made_spans import made_span, part_of
from tool_files import records, written

QUESTION = "At what temperature does Dyneema melt, and nylon?"
CITED = "Dyneema melts at about 145 °C [1]; nylon melts at about 250 °C [2]."
TRACE = "49c250410fbe305e914b2b7072849737"
OF_MLFLOW = "48bd85d40d5a223affcc0c4fe68b03de"


def test_a_search_result_of_mlflow_gives_no_answer_of_a_text_that_was_cut(shared, tmp_path):
    infos = json.loads((shared / "captures" / "mlflow" / "rest_search.json").read_text())
    (info,) = [each for each in infos if each["trace_id"].endswith(OF_MLFLOW)]
    metadata = info["trace_metadata"]
    cut, tool = f"{'a' * 247}...", '{"city": "Bergen"}'
    older = {
        "request_id": f"tr-{TRACE}",
        "timestamp_ms": 1795232788440,
        "execution_time_ms": 327,
        "status": "OK",
        "request_metadata": [{"key": key, "value": value} for key, value in metadata.items()],
        "tags": [],
    }
    no_answers = (
        {
            "trace_id": f"tr-{number}",
            "response_preview": cut,
            "trace_metadata": metadata | {"mlflow.traceOutputs": outputs},
        }
        for number, outputs in enumerate((cut, tool))
    )
    changed = [
        {"traces": [info]},
        {"traces": [older]},
        *(info | each for each in no_answers),
        info | {"trace_id": "tr-2", "trace_metadata": {}},  # of another sender
    ]
    _, items = records(written(tmp_path, *changed))
    assert [isinstance(item, Response) for item in items] == [True, True, False, False, False]
    for item, trace in zip(items, (OF_MLFLOW, TRACE), strict=False):
        assert item.external_id == trace
        assert item.query == QUESTION
        assert item.answer == CITED
        assert item.passages is None
        assert item.metadata["session"] == "sess-42"
        assert item.metadata["latency_ms"] == 327
    assert all("judgeboard pull" in item.reason for item in items[2:])


def test_assessments_of_mlflow_become_verdicts_grades_feedback_and_references(shared):
    file = shared / "captures" / "mlflow" / "trace_to_json.json"
    _, (answer,) = records(file)
    assert re.findall(r"\d+ °C", answer.reference or "") == ["145 °C", "250 °C"]
    assert [(each.kind, each.value) for each in answer.feedback] == [("thumbs", 0)]
    _, (verdict,) = records(file, "verdicts")
    assert verdict.judge.name == "judgeboard/rag v1"
    assert verdict.verdict.groundedness == 0.9
    _, (grade,) = records(file, "grades")
    assert grade.annotator == "mara@example.org"
    assert grade.grade.label == "grounded"
    assert grade.grade.groundedness == 0.4


def test_mlflow_writes_json_in_json():
    part = part_of(
        mlflow.read_span,
        {
            "mlflow.spanType": '"AGENT"',
            "mlflow.spanInputs": '{"messages": [{"role": "user", "content": "Hi?"}]}',
            "mlflow.spanOutputs": json.dumps(json.dumps({"answer": "Hello."})),
            "mlflow.chat.tokenUsage": '{"input_tokens": 5, "output_tokens": 2}',
            "mlflow.llm.cost": '{"total_cost": 0.5}',
            "mlflow.trace.session": '"s-1"',
            "user.id": "u-1",
            "mlflow.traceTag.env": "prod",
        },
    )
    assert part.operation == Operation.APP
    assert part.question == "Hi?"
    assert part.answer == "Hello."
    assert (part.prompt_tokens, part.completion_tokens, part.cost) == (5, 2, 0.5)
    assert part.session == "s-1"
    assert part.user == "u-1"
    assert part.metadata == {"env": "prod"}


def test_mlflow_in_the_form_of_genai_says_that_documents_are_left_out():
    scope = "mlflow.tracing.provider"
    retriever, root = (
        part_of(mlflow.read_span, {"gen_ai.operation.name": name}, scope=scope)
        for name in ("execute_tool", "CHAIN")
    )
    assert retriever.passages is None
    assert "MLFLOW_ENABLE_OTEL_GENAI_SEMCONV=false" in str(retriever.missing)
    assert root.operation == Operation.APP
    assert root.missing == retriever.missing
    model = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": "[]"}
    assert mlflow.read_span(made_span(model, scope=scope), ()) is None

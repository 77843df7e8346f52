"""What the dialects of OpenLLMetry, Langfuse, MLflow, LangSmith and TruLens read from real requests and made spans."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from captured_spans import captured_spans
from judgeboard.tools import langfuse, langsmith, mlflow, openllmetry, trulens
from judgeboard.traces.spans import Operation, Part, Span
from made_spans import made_span

DIALECTS = {
    "langfuse": langfuse,
    "langsmith": langsmith,
    "mlflow": mlflow,
    "openllmetry": openllmetry,
    "trulens": trulens,
}
QUESTION = "At what temperature does Dyneema melt, and nylon?"
ANSWER = "Dyneema melts at about 145 °C [1]; nylon melts at about 250 °C [2]."
OF_WEATHER = "What is the weather in Bergen?"
WEATHER = "It is 14 °C and raining in Bergen."
TOOL = {"arguments": {"city": "Bergen"}, "result": {"city": "Bergen", "temp_c": 14, "sky": "rain"}}
FILES = {
    "langfuse": (
        "langfuse_v5/002-post-api_public_otel_v1_traces.json",
        "langfuse_v5/003-post-api_public_otel_v1_traces.json",
    ),
    "langsmith": ("langsmith_otel/001-post-otel_v1_traces.json",),
    "mlflow": ("mlflow_otlp/001-post-v1_traces.json",),
    "openllmetry": ("traceloop/001-post-v1_traces.json", "traceloop/002-post-v1_traces.json"),
}


@cache
def captured_parts(folder: Path, dialect: str) -> list[tuple[Span, Part]]:
    spans = [span for file in FILES[dialect] for span in captured_spans(folder / file)]
    return [
        (span, part)
        for span in spans
        if (part := DIALECTS[dialect].read_span(span, ())) is not None
    ]


@pytest.mark.parametrize("dialect", FILES)
def test_every_span_of_a_real_request_is_read_by_its_own_dialect_alone(
    shared: Path, dialect: str
) -> None:
    parts = captured_parts(shared / "captures", dialect)
    assert len(parts) == sum(
        len(captured_spans(shared / "captures" / file)) for file in FILES[dialect]
    )
    others = [module for name, module in DIALECTS.items() if name != dialect]
    assert not [
        span.name
        for span, _ in parts
        for module in others
        if module.read_span(span, ()) is not None
    ]


@pytest.mark.parametrize("dialect", FILES)
def test_questions_answers_and_passages_of_real_requests(shared: Path, dialect: str) -> None:
    parts = captured_parts(shared / "captures", dialect)
    retrievals = [part for _, part in parts if part.operation is Operation.RETRIEVAL]
    assert retrievals
    for part in retrievals:
        assert part.question == QUESTION
        assert [(each.score, each.source) for each in part.passages or ()] == [
            (0.91, "slings.pdf"),
            (0.64, "ropes.pdf"),
        ]
        assert [(each.text or "")[:7] for each in part.passages or ()] == ["Slings.", "Ropes. "]
        assert {each.id for each in part.passages or ()} in (
            {"slings-07", "ropes-02"},
            {None},
        )  # LangChain logs no ids
    for span, part in parts:
        if part.operation is Operation.MODEL:
            assert part.messages
            assert part.model in {"gpt-4o-mini", "gpt-4o-mini-2024-07-18"}
            if part.answer and not part.answer.endswith("145 °C."):
                assert part.answer.strip() in {ANSWER, WEATHER}
            tokens = (part.prompt_tokens, part.completion_tokens)
            assert tokens == ((57, 21) if part.answer or part.tool_calls else (None, None))
        if part.operation is Operation.TOOL:
            assert [{**TOOL, "name": span.name}] in [
                [{**call, "name": span.name}] for call in part.tool_calls
            ]
        if part.operation is Operation.APP and span.parent_id is None:
            assert (part.question, (part.answer or "").strip()) in {
                *((QUESTION, ANSWER), ("And nylon?", ANSWER), (OF_WEATHER, WEATHER)),
                *((None, ANSWER), (None, WEATHER)),  # functions without arguments
            }


@pytest.mark.parametrize("dialect", ["langfuse", "langsmith", "openllmetry"])
def test_session_user_tags_and_metadata_of_real_requests(shared: Path, dialect: str) -> None:
    parts = [
        part
        for span, part in captured_parts(shared / "captures", dialect)
        if span.name in {"rag", "rag.workflow"}
    ]
    assert [(part.session, part.user, part.metadata["build"]) for part in parts] == [
        ("sess-42", "u-7", "1.4.0")
    ]
    assert parts[0].tags == (() if dialect == "openllmetry" else ("prod", "rag"))


@pytest.mark.parametrize("dialect", FILES)
def test_attributes_of_wrong_types_are_no_errors(shared: Path, dialect: str) -> None:
    for span, _ in captured_parts(shared / "captures", dialect)[::3]:
        for wrong in (
            None,
            5,
            0.5,
            "[{",
            [None],
            {"type": {}, "role": 1},
            '{"content": [{"type": {}}], "role": "user"}',
        ):
            part = DIALECTS[dialect].read_span(
                replace(span, attributes=dict.fromkeys(span.attributes, wrong)), ()
            )
            texts = (
                []
                if part is None
                else [part.question, part.answer, part.model, part.session, part.user]
            )
            assert all(isinstance(each, str | None) for each in texts)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"gen_ai.operation.name": "chat", "gen_ai.input.messages": "[]"},
        {"input.value": "Hi?"},
        {"ai.prompt": "{}"},
    ],
)
def test_spans_of_other_conventions_are_left_alone(attributes: dict[str, Any]) -> None:
    assert all(module.read_span(made_span(attributes), ()) is None for module in DIALECTS.values())

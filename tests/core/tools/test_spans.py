"""What the dialects of OpenLLMetry, Langfuse, MLflow, LangSmith and TruLens read from real requests and made spans."""

from dataclasses import replace
from functools import cache

import pytest

from captured_spans import captured_spans
from judgeboard.tools import langfuse, langsmith, mlflow, openllmetry, trulens
from made_spans import made_span

DIALECTS = {
    "langfuse": langfuse,
    "langsmith": langsmith,
    "mlflow": mlflow,
    "openllmetry": openllmetry,
    "trulens": trulens,
}
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
def captured_parts(folder, dialect):
    spans = [span for file in FILES[dialect] for span in captured_spans(folder / file)]
    return [
        (span, part)
        for span in spans
        if (part := DIALECTS[dialect].read_span(span, ())) is not None
    ]


@pytest.mark.parametrize("dialect", FILES)
def test_every_span_of_a_real_request_is_read_by_its_own_dialect_alone(shared, dialect):
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
def test_attributes_of_wrong_types_are_no_errors(shared, dialect):
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
def test_spans_of_other_conventions_are_left_alone(attributes):
    assert all(module.read_span(made_span(attributes), ()) is None for module in DIALECTS.values())

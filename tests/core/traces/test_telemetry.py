"""Judgeboard's own traces: runs with their model calls, and what the receiver takes; never a loop."""

import json
import logging
import sys
from collections.abc import Iterator

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from judgeboard.llm.recording_endpoint import RecordingEndpoint, failure
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.engine import Store
from judgeboard.store.traces import list_sources
from judgeboard.traces import telemetry
from judging_log import by_number, store_answers
from sent_traces import PROTOBUF, receiving, request, trace

ENDPOINT = telemetry.ENDPOINTS[-1]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The spans that would be sent."""
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer(telemetry.SCOPE)
    monkeypatch.setattr(telemetry, "_tracer", lambda: tracer)
    return exporter


@pytest.fixture
def fresh() -> Iterator[None]:
    telemetry._tracer.cache_clear()
    yield
    telemetry._tracer.cache_clear()


def judge_answers(store: Store, count: int, *, first: int = 0) -> None:
    """Store and judge answers; the provider refuses the call about the second one."""
    store_answers(store, count, first=first)
    with RecordingEndpoint(by_number({1: failure(400, "number-1 is too odd")})) as endpoint:
        judge_pending(store, make_judge("rag", model="gpt-4o-mini", base_url=endpoint.base_url), concurrency=1)


def by_name(sent: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in sent.get_finished_spans() if span.name == name]


def test_a_run_and_its_calls_are_one_trace_without_texts(
    sqlite_store: Store, sent: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_answers(sqlite_store, 2)
    (run,) = by_name(sent, "run")
    calls = by_name(sent, "chat gpt-4o-mini")
    assert [call.parent and call.parent.span_id for call in calls] == [run.context.span_id] * 2
    assert [call.attributes.get("error.type") for call in calls] == [None, "http_400"]
    assert run.attributes.items() >= {
        ("judgeboard.run.kind", "judge"),
        ("judgeboard.run.judge_version", "rag v1"),
        ("judgeboard.run.ok", 1),
        ("judgeboard.run.error", 1),
    }
    attributes = calls[0].attributes
    assert {name: attributes[f"gen_ai.{name}"] for name in ("operation.name", "provider.name", "request.model")} == {
        "operation.name": "chat",
        "provider.name": "openai",
        "request.model": "gpt-4o-mini",
    }
    assert attributes["gen_ai.usage.input_tokens"] > 0
    assert attributes["server.address"] == "127.0.0.1"
    assert not any("number-" in str(value) for span in sent.get_finished_spans() for value in span.attributes.values())

    monkeypatch.setenv(telemetry.CONTENT, "SPAN_ONLY")
    sent.clear()
    judge_answers(sqlite_store, 1, first=7)
    (call,) = by_name(sent, "chat gpt-4o-mini")
    assert "number-7" in json.loads(call.attributes["gen_ai.input.messages"])[0]["parts"][0]["content"]
    assert json.loads(call.attributes["gen_ai.output.messages"])[0]["role"] == "assistant"


def test_the_receiver_never_traces_or_stores_its_own_traces(
    sqlite_store: Store, sent: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving(sqlite_store) as http:
        http.post("/v1/traces", content=request(trace(1)), headers=PROTOBUF)
        (ingest,) = sent.get_finished_spans()
        assert ingest.attributes == {"url.path": "/v1/traces", "judgeboard.ingest.records": 2}
        own = encode_spans([ingest]).SerializeToString()
        assert http.post("/v1/traces", content=own, headers=PROTOBUF).status_code == 200
        assert sent.get_finished_spans() == (ingest,)
        monkeypatch.setenv(ENDPOINT, "http://localhost:80")
        http.post("/v1/traces", content=request(trace(2)), headers=PROTOBUF)
        assert sent.get_finished_spans() == (ingest,)
    with sqlite_store.reading() as connection:
        assert [(each.source, each.traces) for each in list_sources(connection)] == [("shop", 2)]


def test_without_the_variable_nothing_is_sent_and_without_the_extra_a_message_says_what_to_install(
    fresh: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with telemetry.span("run", {}) as span:
        span.add({"a": 1})
    assert not caplog.records
    telemetry._tracer.cache_clear()
    monkeypatch.setenv(ENDPOINT, "http://localhost:4318")
    with caplog.at_level(logging.WARNING), telemetry.span("run", {}) as span:
        span.fail("x")
    assert "pip install 'judgeboard[otel]'" in caplog.text

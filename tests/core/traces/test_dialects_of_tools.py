"""What the dialects of OpenLLMetry, Langfuse, MLflow, LangSmith and TruLens read from real requests and made spans."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from captured_spans import captured_spans
from judgeboard.tools import langfuse, langsmith, mlflow, openllmetry, trulens
from judgeboard.traces.spans import Operation, Part, Passage, Span, SpanEvent

DIALECTS = {
    "langfuse": langfuse,
    "langsmith": langsmith,
    "mlflow": mlflow,
    "openllmetry": openllmetry,
    "trulens": trulens,
}
QUESTION = "At what temperature does Dyneema melt, and nylon?"
ANSWER = "Dyneema melts at about 145 °C [1]; nylon melts at about 250 °C [2]."
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
    return [(span, part) for span in spans if (part := DIALECTS[dialect].read_span(span, ())) is not None]


@pytest.mark.parametrize("dialect", FILES)
def test_every_span_of_a_real_request_is_read_by_its_own_dialect_alone(shared: Path, dialect: str) -> None:
    parts = captured_parts(shared / "captures", dialect)
    assert len(parts) == sum(len(captured_spans(shared / "captures" / file)) for file in FILES[dialect])
    others = [module for name, module in DIALECTS.items() if name != dialect]
    assert not [span.name for span, _ in parts for module in others if module.read_span(span, ()) is not None]


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
        assert {each.id for each in part.passages or ()} in ({"slings-07", "ropes-02"}, {None})  # LangChain logs no ids
    for span, part in parts:
        if part.operation is Operation.MODEL:
            assert part.messages
            assert part.model in {"gpt-4o-mini", "gpt-4o-mini-2024-07-18"}
            if part.answer and not part.answer.endswith("145 °C."):
                assert part.answer.strip() in {ANSWER, WEATHER}
            tokens = (part.prompt_tokens, part.completion_tokens)
            assert tokens == ((57, 21) if part.answer or part.tool_calls else (None, None))
        if part.operation is Operation.TOOL:
            assert [{**TOOL, "name": span.name}] in [[{**call, "name": span.name}] for call in part.tool_calls]
        if part.operation is Operation.APP and span.parent_id is None:
            assert (part.question, (part.answer or "").strip()) in {
                *((QUESTION, ANSWER), ("And nylon?", ANSWER), ("What is the weather in Bergen?", WEATHER)),
                *((None, ANSWER), (None, WEATHER)),  # functions without arguments
            }


@pytest.mark.parametrize("dialect", ["langfuse", "langsmith", "openllmetry"])
def test_session_user_tags_and_metadata_of_real_requests(shared: Path, dialect: str) -> None:
    parts = [
        part for span, part in captured_parts(shared / "captures", dialect) if span.name in {"rag", "rag.workflow"}
    ]
    assert [(part.session, part.user, part.metadata["build"]) for part in parts] == [("sess-42", "u-7", "1.4.0")]
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
            part = DIALECTS[dialect].read_span(replace(span, attributes=dict.fromkeys(span.attributes, wrong)), ())
            texts = [] if part is None else [part.question, part.answer, part.model, part.session, part.user]
            assert all(isinstance(each, str | None) for each in texts)


def part_of(dialect: str, attributes: dict[str, Any], **more: Any) -> Part:
    part = DIALECTS[dialect].read_span(made_span(attributes, **more), ())
    assert part is not None
    return part


def made_span(attributes: dict[str, Any], **more: Any) -> Span:
    fields: dict[str, Any] = {"parent_id": None, "name": "step", "started_ns": 1, "ended_ns": 2, **more}
    return Span("0" * 31 + "1", "0" * 15 + "1", attributes=attributes, **fields)


@pytest.mark.parametrize(
    "attributes",
    [{}, {"gen_ai.operation.name": "chat", "gen_ai.input.messages": "[]"}, {"input.value": "Hi?"}, {"ai.prompt": "{}"}],
)
def test_spans_of_other_conventions_are_left_alone(attributes: dict[str, Any]) -> None:
    assert all(module.read_span(made_span(attributes), ()) is None for module in DIALECTS.values())


def test_old_openllmetry_numbers_its_messages() -> None:
    part = part_of(
        "openllmetry",
        {
            "llm.request.type": "chat",
            "gen_ai.prompt.10.content": "And nylon?",
            "gen_ai.prompt.10.role": "user",
            "gen_ai.prompt.1.role": "system",
            "gen_ai.prompt.1.content": "Be brief.",
            "gen_ai.prompt.2.role": "assistant",
            "gen_ai.prompt.2.tool_calls.0.name": "lookup",
            "gen_ai.prompt.2.tool_calls.0.arguments": '{"word": "nylon"}',
            "gen_ai.completion.0.content": "250 °C.",
            "gen_ai.request.model": "m",
            "gen_ai.response.model": "m-1",
            "gen_ai.usage.prompt_tokens": 9,
            "gen_ai.usage.completion_tokens": "4",
            "traceloop.association.properties.thread_id": 7,
        },
    )
    assert (part.operation, part.question, part.answer, part.model) == (Operation.MODEL, "And nylon?", "250 °C.", "m-1")
    assert [message["role"] for message in part.messages] == ["system", "assistant", "user"]
    assert part.messages[1]["tool_calls"] == [{"id": None, "name": "lookup", "arguments": {"word": "nylon"}}]
    assert (part.prompt_tokens, part.completion_tokens, part.session) == (9, 4, "7")


def test_old_openllmetry_on_langchain_writes_no_text_as_json_and_the_session_beside_the_input() -> None:
    called = {"gen_ai.completion.0.content": '""', "gen_ai.completion.0.tool_calls.0.name": "lookup"}
    part = part_of("openllmetry", {"llm.request.type": "chat", "gen_ai.prompt.0.content": "Hi?", **called})
    assert (part.question, part.answer, [call["name"] for call in part.tool_calls]) == ("Hi?", None, ["lookup"])
    given = {"inputs": "Hi?", "tags": ["prod", "seq:step:1"], "metadata": {"thread_id": "t-1", "build": "1"}}
    root = {"traceloop.span.kind": "workflow", "traceloop.entity.input": json.dumps(given)}
    part = part_of("openllmetry", root | {"traceloop.entity.output": '{"outputs": "Hello."}'})
    assert (part.question, part.answer, part.session) == ("Hi?", "Hello.", "t-1")
    assert (part.tags, part.metadata) == (("prod",), {"build": "1"})


def test_openllmetry_without_content_says_which_variable_turns_it_on() -> None:
    part = part_of("openllmetry", {"llm.request.type": "chat", "gen_ai.usage.prompt_tokens": 9})
    assert "TRACELOOP_TRACE_CONTENT=true" in str(part.missing)


@pytest.mark.parametrize(
    ("name", "output", "operation"),
    [
        ("fetch", [{"id": "a", "text": "One."}], Operation.RETRIEVAL),
        ("fetch", {"documents": [{"page_content": "One."}], "count": 1}, Operation.RETRIEVAL),
        ("retrieve_context", ["One.", "Two."], Operation.RETRIEVAL),
        ("rewrite", ["One question?", "Two?"], Operation.APP),
        ("search_and_answer", {"answer": "One.", "documents": [{"id": "a", "text": "One."}]}, Operation.APP),
    ],
)
def test_a_task_of_openllmetry_that_returns_documents_is_a_retrieval(
    name: str, output: Any, operation: Operation
) -> None:
    attributes = {
        "traceloop.span.kind": "task",
        "traceloop.entity.name": name,
        "traceloop.entity.input": '{"args": ["Hi?"], "kwargs": {}}',
        "traceloop.entity.output": json.dumps(output),
    }
    part = part_of("openllmetry", attributes)
    assert (part.operation, part.question) == (operation, "Hi?")
    assert (part.passages is not None) == (isinstance(output, dict) or operation is Operation.RETRIEVAL)


@pytest.mark.parametrize(
    "given",
    [
        {"args": ["Hi?", [{"id": "a", "text": "One."}]], "kwargs": {}},
        {"inputs": [{"lc": 1, "id": ["Document"], "kwargs": {"id": "a", "page_content": "One."}}], "tags": []},
    ],
)
def test_documents_that_a_task_of_openllmetry_got_are_passages(given: Any) -> None:
    attributes = {"traceloop.span.kind": "task", "traceloop.entity.input": json.dumps(given)}
    part = part_of("openllmetry", attributes | {"traceloop.entity.output": '"Hello."'})
    assert (part.operation, part.answer, part.passages) == (Operation.APP, "Hello.", (Passage("One.", "a"),))


def test_results_of_a_vector_store_are_passages() -> None:
    event = {"db.query.result.id": "a", "db.query.result.score": 0.9, "db.query.result.document": "One."}
    only_metadata = {"db.query.result.id": "b", "db.query.result.metadata": '{"text": "Two.", "source": "b.pdf"}'}
    part = part_of(
        "openllmetry",
        {"db.system": "chroma"},
        events=tuple(SpanEvent("db.query.result", 1, each) for each in (event, only_metadata)),
    )
    assert part.passages == (Passage("One.", "a", 0.9), Passage("Two.", "b", source="b.pdf"))


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"input": 41, "output": 20, "total": 78, "input_cache_read": 16, "output_reasoning": 1}, (57, 21)),
        ({"input": 57, "output": 21, "total": 78, "input_cached_tokens": 16}, (57, 21)),
        ({"input": 57, "output": 21}, (57, 21)),
        ({"prompt_tokens": 57, "completion_tokens": 21, "prompt_tokens_details": {"cached_tokens": 16}}, (57, 21)),
        ({"input_tokens": 57, "output_tokens": 21, "cache_read_input_tokens": 16}, (57, 21)),
        ({"characters": 3}, (None, None)),
        ("broken", (None, None)),
    ],
)
def test_tokens_of_langfuse_in_both_styles(usage: Any, tokens: tuple[int | None, int | None]) -> None:
    attributes = {
        "langfuse.observation.type": "GENERATION",
        "langfuse.observation.usage_details": json.dumps(usage),
        "langfuse.observation.cost_details": '{"input": 0.5, "output": 0.25}',
    }
    part = part_of("langfuse", attributes)
    assert (part.prompt_tokens, part.completion_tokens, part.cost) == (*tokens, 0.75)


def test_langfuse_prefers_the_question_and_answer_of_the_trace() -> None:
    part = part_of(
        "langfuse",
        {
            "langfuse.observation.input": '{"args": [1], "kwargs": {}}',
            "langfuse.observation.output": "null",
            "langfuse.trace.input": '{"question": "Hi?"}',
            "langfuse.trace.output": "Hello.",
            "langfuse.trace.public": True,
            "langfuse.trace.metadata": '{"tenant": "acme"}',
            "langfuse.trace.tags": '["a", "b"]',
            "langfuse.observation.metadata.langfuse_session_id": "s-1",
            "langfuse.user.id": "u-1",
            "langfuse.environment": "production",
        },
    )
    assert (part.operation, part.question, part.answer) == (Operation.APP, "Hi?", "Hello.")
    assert (part.session, part.user, part.tags) == ("s-1", "u-1", ("a", "b"))
    assert part.metadata == {"tenant": "acme", "environment": "production", "public": True}


def test_langfuse_adds_to_spans_of_other_libraries_without_calling_them_its_own() -> None:
    part = part_of("langfuse", {"langfuse.trace.tags": ["a"], "session.id": "s-1", "input.value": "Hi?"})
    assert (part.operation, part.question, part.session, part.tags) == (Operation.OTHER, None, "s-1", ("a",))


@pytest.mark.parametrize(
    ("kind", "operation"),
    [
        *(
            ("retriever", Operation.RETRIEVAL),
            ("tool", Operation.TOOL),
            ("agent", Operation.APP),
            ("chain", Operation.APP),
        ),
        *((kind, Operation.CHECK) for kind in ("evaluator", "guardrail")),
        *((kind, Operation.OTHER) for kind in ("embedding", "event")),
    ],
)
def test_types_of_langfuse(kind: str, operation: Operation) -> None:
    assert part_of("langfuse", {"langfuse.observation.type": kind}).operation is operation


def test_a_retriever_may_return_one_text() -> None:
    part = part_of("langfuse", {"langfuse.observation.type": "retriever", "langfuse.observation.output": "One.\nTwo."})
    assert part.passages == (Passage("One.\nTwo."),)


def test_mlflow_writes_json_in_json() -> None:
    part = part_of(
        "mlflow",
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
    assert (part.operation, part.question, part.answer) == (Operation.APP, "Hi?", "Hello.")
    assert (part.prompt_tokens, part.completion_tokens, part.cost) == (5, 2, 0.5)
    assert (part.session, part.user, part.metadata) == ("s-1", "u-1", {"env": "prod"})


def test_mlflow_in_the_form_of_genai_says_that_documents_are_left_out() -> None:
    retriever = part_of("mlflow", {"gen_ai.operation.name": "execute_tool"}, scope="mlflow.tracing.provider")
    assert retriever.passages is None
    assert "MLFLOW_ENABLE_OTEL_GENAI_SEMCONV=false" in str(retriever.missing)
    root = part_of("mlflow", {"gen_ai.operation.name": "CHAIN"}, scope="mlflow.tracing.provider")
    assert (root.operation, root.missing) == (Operation.APP, retriever.missing)
    model = made_span({"gen_ai.operation.name": "chat", "gen_ai.input.messages": "[]"}, scope="mlflow.tracing.provider")
    assert mlflow.read_span(model, ()) is None


def test_the_session_of_langsmith_is_not_its_project() -> None:
    attributes = {
        "langsmith.span.kind": "chain",
        "langsmith.trace.session_id": "project",
        "gen_ai.prompt": '{"input": "Hi?"}',
    }
    assert part_of("langsmith", attributes).session is None
    named = part_of(
        "langsmith", attributes | {"langsmith.metadata.thread_id": "t-1", "langsmith.span.tags": ["a", "seq:step:1"]}
    )
    assert (named.session, named.tags, named.question) == ("t-1", ("a",), "Hi?")


def test_spans_written_by_hand_for_langsmith() -> None:
    part = part_of(
        "langsmith",
        {
            "langsmith.span.kind": "LLM",
            "gen_ai.prompt.0.content": "Hi?",
            "gen_ai.prompt.0.role": "user",
            "gen_ai.completion.0.content": "Hello.",
            "gen_ai.usage.prompt_tokens": 5,
            "gen_ai.usage.completion_tokens": 2,
            "gen_ai.request.model": "m",
        },
    )
    assert (part.operation, part.question, part.answer, part.model) == (Operation.MODEL, "Hi?", "Hello.", "m")
    assert (part.prompt_tokens, part.completion_tokens) == (5, 2)


def test_langsmith_without_content_says_which_variables_hide_it() -> None:
    hidden = {"langsmith.span.kind": "chain", "gen_ai.prompt": "{}", "gen_ai.completion": "{}"}
    assert "LANGSMITH_HIDE_INPUTS=false" in str(part_of("langsmith", hidden).missing)


def test_records_retrievals_and_generations_of_trulens() -> None:
    base = "ai.observability."
    root = part_of(
        "trulens",
        {
            base + "span_type": "record_root",
            base + "record_root.input": "Hi?",
            base + "record_root.output": "Hello.",
            base + "run.name": "nightly",
            base + "conversation_id": "c-1",
            base + "cost.num_prompt_tokens": 5,
        },
        resource={base + "app_version": "v2"},
    )
    assert (root.operation, root.question, root.answer) == (Operation.APP, "Hi?", "Hello.")
    assert (root.session, root.metadata) == ("c-1", {"app_version": "v2", "run": "nightly"})
    texts = {base + "span_type": "reranking", base + "reranking.output_context_texts": ["Two."]}
    assert (part_of("trulens", texts).operation, part_of("trulens", texts).passages) == (
        Operation.RERANKING,
        (Passage("Two."),),
    )
    query = {base + "span_type": "retrieval", base + "retrieval.query_text": "Hi?"}
    for contexts in (
        {base + "retrieval.retrieved_contexts": ["One.", "Two."]},
        {"gen_ai.retrieval.documents": '["One.", "Two."]'},
    ):
        part = part_of("trulens", query | contexts)
        assert (part.question, part.passages) == ("Hi?", (Passage("One."), Passage("Two.")))
    model = part_of(
        "trulens",
        {
            base + "span_type": "generation",
            base + "call.kwargs.query": "Hi?",
            base + "call.return": "Hello.",
            base + "cost.model": "m",
            base + "cost.num_completion_tokens": 2,
            base + "cost.cost": 0.5,
        },
    )
    assert (model.operation, model.question, model.answer) == (Operation.MODEL, "Hi?", "Hello.")
    assert (model.model, model.completion_tokens, model.cost) == ("m", 2, 0.5)
    assert (
        part_of("trulens", {base + "span_type": "eval_root", base + "eval_root.score": 1.0}).operation
        is Operation.OTHER
    )

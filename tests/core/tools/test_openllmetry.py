"""OpenLLMetry: its messages old and new, tasks, and results of vector stores."""

import json
from functools import partial

import pytest

from judgeboard.tools import openllmetry
from judgeboard.traces.spans import Operation, Passage, SpanEvent
from made_spans import part_of

read_part = partial(part_of, openllmetry.read_span)


def test_old_openllmetry_numbers_its_messages():
    part = read_part(
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
    assert part.operation == Operation.MODEL
    assert part.model == "m-1"
    assert part.question == "And nylon?"
    assert part.answer == "250 °C."
    assert [message["role"] for message in part.messages] == ["system", "assistant", "user"]
    assert part.messages[1]["tool_calls"] == [
        {"id": None, "name": "lookup", "arguments": {"word": "nylon"}}
    ]
    assert (part.prompt_tokens, part.completion_tokens, part.session) == (9, 4, "7")


def test_old_openllmetry_on_langchain_writes_no_text_as_json_and_the_session_beside_the_input():
    called = {
        "gen_ai.completion.0.content": '""',
        "gen_ai.completion.0.tool_calls.0.name": "lookup",
    }
    part = read_part(
        {"llm.request.type": "chat", "gen_ai.prompt.0.content": "Hi?", **called},
    )
    assert part.question == "Hi?"
    assert part.answer is None
    assert [call["name"] for call in part.tool_calls] == ["lookup"]
    given = {
        "inputs": "Hi?",
        "tags": ["prod", "seq:step:1"],
        "metadata": {"thread_id": "t-1", "build": "1"},
    }
    root = {"traceloop.span.kind": "workflow", "traceloop.entity.input": json.dumps(given)}
    part = read_part(root | {"traceloop.entity.output": '{"outputs": "Hello."}'})
    assert (part.question, part.answer, part.session) == ("Hi?", "Hello.", "t-1")
    assert part.tags == ("prod",)
    assert part.metadata == {"build": "1"}


def test_openllmetry_without_content_says_which_variable_turns_it_on():
    part = read_part({"llm.request.type": "chat", "gen_ai.usage.prompt_tokens": 9})
    assert "TRACELOOP_TRACE_CONTENT=true" in str(part.missing)


@pytest.mark.parametrize(
    ("name", "output", "operation"),
    [
        ("fetch", [{"id": "a", "text": "One."}], Operation.RETRIEVAL),
        ("fetch", {"documents": [{"page_content": "One."}], "count": 1}, Operation.RETRIEVAL),
        ("retrieve_context", ["One.", "Two."], Operation.RETRIEVAL),
        ("rewrite", ["One question?", "Two?"], Operation.APP),
        (
            "search_and_answer",
            {"answer": "One.", "documents": [{"id": "a", "text": "One."}]},
            Operation.APP,
        ),
    ],
)
def test_a_task_of_openllmetry_that_returns_documents_is_a_retrieval(name, output, operation):
    attributes = {
        "traceloop.span.kind": "task",
        "traceloop.entity.name": name,
        "traceloop.entity.input": '{"args": ["Hi?"], "kwargs": {}}',
        "traceloop.entity.output": json.dumps(output),
    }
    part = read_part(attributes)
    assert part.operation == operation
    assert part.question == "Hi?"
    assert (part.passages is not None) == (
        isinstance(output, dict) or operation is Operation.RETRIEVAL
    )


@pytest.mark.parametrize(
    "given",
    [
        {"args": ["Hi?", [{"id": "a", "text": "One."}]], "kwargs": {}},
        {
            "inputs": [
                {"lc": 1, "id": ["Document"], "kwargs": {"id": "a", "page_content": "One."}}
            ],
            "tags": [],
        },
    ],
)
def test_documents_that_a_task_of_openllmetry_got_are_passages(given):
    attributes = {"traceloop.span.kind": "task", "traceloop.entity.input": json.dumps(given)}
    part = read_part(attributes | {"traceloop.entity.output": '"Hello."'})
    assert part.operation == Operation.APP
    assert part.answer == "Hello."
    assert part.passages == (Passage("One.", "a"),)


def test_results_of_a_vector_store_are_passages():
    event = {
        "db.query.result.id": "a",
        "db.query.result.score": 0.9,
        "db.query.result.document": "One.",
    }
    only_metadata = {
        "db.query.result.id": "b",
        "db.query.result.metadata": '{"text": "Two.", "source": "b.pdf"}',
    }
    part = read_part(
        {"db.system": "chroma"},
        events=tuple(SpanEvent("db.query.result", 1, each) for each in (event, only_metadata)),
    )
    assert part.passages == (Passage("One.", "a", 0.9), Passage("Two.", "b", source="b.pdf"))

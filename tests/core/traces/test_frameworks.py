"""What frameworks send: spans as LlamaIndex, LangChain, Haystack, DSPy, CrewAI, Pydantic AI and others write them."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from judgeboard.traces.answers import answer_of
from judgeboard.traces.spans import Span

Q, A = "How long does the battery last?", "It lasts ten hours."
FIRST, SECOND = "The battery lasts ten hours.", "It charges in two hours."
PASSAGES = FIRST, SECOND
PROMPT = f"Context:\n{FIRST}\n{SECOND}\n\nQuestion: {Q}"
TOOL = {"id": "c1", "name": "search", "arguments": {"query": "battery"}, "result": FIRST}


def kind(name, given=None, returned=None, **more):
    """The attributes of a span of OpenInference."""
    values = {"input.value": given, "output.value": returned}
    texts = {
        key: each if isinstance(each, str) else json.dumps(each)
        for key, each in values.items()
        if each
    }
    named = {key.replace("__", "."): each for key, each in more.items()}
    return {"openinference.span.kind": name, **texts, **named}


def documents(prefix):
    texts = {f"{prefix}.0.document.content": FIRST, f"{prefix}.1.document.content": SECOND}
    return texts | {f"{prefix}.0.document.id": "a", f"{prefix}.1.document.id": "b"}


def turns(direction, *said):
    """The messages that a model of OpenInference got, or returned."""
    return {
        f"llm.{direction}_messages.{number}.message.{key}": each
        for number, turn in enumerate(said)
        for key, each in zip(("role", "content"), turn, strict=True)
    }


def asked(prefix):
    return {
        f"{prefix}.id": "c1",
        f"{prefix}.function.name": "search",
        f"{prefix}.function.arguments": '{"query": "battery"}',
    }


def messages(*said):
    """Messages of OTel GenAI; what is no text is a part."""
    return json.dumps(
        [
            {
                "role": role,
                "parts": [{"type": "text", "content": part} if isinstance(part, str) else part],
            }
            for role, part in said
        ]
    )


def recorded(prefix, name, given, returned):
    """The attributes of a function of Langfuse or of a component of Haystack."""
    values = {"type": name, "input": json.dumps(given), "output": json.dumps(returned)}
    return {f"{prefix}.{key}": each for key, each in values.items()}


LANGFUSE, HAYSTACK = "langfuse.observation", "haystack.component"
CALLED = {"type": "tool_call", "id": "c1", "name": "search", "arguments": {"query": "battery"}}
RETURNED = {"type": "tool_call_response", "id": "c1", "name": "search", "result": [FIRST]}
REPR = "<NodeWithScore(node=TextNode(id_=a), score=0.9)>"
REPLY = {
    "role": "assistant",
    "content": [{"text": A}],
    "meta": {"model": "m", "usage": {"prompt_tokens": 5}},
}


@dataclass(frozen=True)
class Case:
    """The attributes of the root, spans by the place of their parent, and what the answer has beside Q and A."""

    root: dict[str, Any]
    spans: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    passages: tuple[str, ...] | None = None
    ids: list[str | None] = field(default_factory=list)
    model: str | None = None
    tokens: int | None = None
    roles: list[str] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)


CASES = {
    "LlamaIndex: nested spans write nodes and messages as reprs": Case(
        kind("CHAIN", Q, A),
        [
            (
                0,
                kind(
                    "CHAIN",
                    {"query_bundle": {"query_str": Q}},
                    {"response": A, "source_nodes": [REPR, REPR]},
                ),
            ),
            (1, kind("RETRIEVER", Q, [REPR, REPR], **documents("retrieval.documents"))),
            (2, kind("RETRIEVER", {"q": {"query_str": Q}}, [REPR, REPR])),
            (
                1,
                kind(
                    "LLM",
                    {"messages": ["ChatMessage(role=<MessageRole.USER: 'user'>, blocks=[])"]},
                    A,
                ),
            ),
            (
                4,
                kind(
                    "LLM",
                    None,
                    A,
                    llm__model_name="m",
                    **turns("input", ("system", "Be brief."), ("user", Q)),
                ),
            ),
        ],
        passages=PASSAGES,
        ids=["a", "b"],
        model="m",
        roles=["system", "user"],
    ),
    "LlamaIndex: a workflow of an agent has only reprs at its root": Case(
        kind(
            "CHAIN",
            {"start_event": "AgentStart()", "init": {}},
            "StopEvent(result=AgentOutput(response=...",
        ),
        [
            (
                0,
                kind(
                    "CHAIN",
                    {"ev": "AgentSetup(input=[])"},
                    "AgentOutput(response=ChatMessage(role=<Role>)...",
                ),
            ),
            (
                1,
                kind(
                    "LLM",
                    None,
                    "assistant: ",
                    **turns("input", ("user", Q)),
                    **turns("output", ("assistant", "")),
                    **asked("llm.output_messages.0.message.tool_calls.0.tool_call"),
                ),
            ),
            (
                0,
                kind(
                    "TOOL",
                    {"kwargs": {"query": "battery"}},
                    FIRST,
                    tool__name="search",
                    tool__parameters='{"properties": {"query": {"type": "string"}}, "type": "object"}',
                ),
            ),
            (
                0,
                kind(
                    "LLM",
                    None,
                    f"assistant: {A}",
                    **turns("input", ("user", Q), ("assistant", ""), ("tool", FIRST)),
                    **turns("output", ("assistant", A)),
                ),
            ),
        ],
        roles=["user", "assistant", "tool"],
        tools=[TOOL],
    ),
    "OpenInference: the variables of a prompt have the bare question": Case(
        kind(
            "LLM",
            PROMPT,
            A,
            llm__prompt_template__variables=json.dumps({"query_str": Q, "context_str": ""}),
        ),
    ),
    "LangChain in OTel GenAI: inputs as JSON in a message, documents without ids": Case(
        {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.input.messages": messages(
                ("user", json.dumps({"input": Q, "chat_history": []}))
            ),
        },
        [
            (
                0,
                {
                    "gen_ai.operation.name": "retrieval",
                    "gen_ai.retrieval.documents": '[{"id": null, "score": 0.9}, {"id": null, "score": 0.4}]',
                },
            ),
            (
                0,
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.response.model": "m",
                    "gen_ai.input.messages": messages(
                        ("system", f"Use this.\n{FIRST}\n\n{SECOND}"), ("user", Q)
                    ),
                    "gen_ai.output.messages": messages(("assistant", A)),
                    "gen_ai.prompt.variable.context": f"{FIRST}\n\n{SECOND}",
                },
            ),
        ],
        passages=PASSAGES,
        ids=[None, None],
        model="m",
        roles=["system", "user"],
    ),
    "LangChain in OTel GenAI: a stream logs no inputs": Case(
        {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.input.messages": messages(("user", '{"input": ""}')),
        },
        [
            (
                0,
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.input.messages": messages(("user", Q)),
                    "gen_ai.output.messages": messages(("assistant", A)),
                },
            )
        ],
    ),
    "Pydantic AI: the whole dialogue with its answer, results of tools as the user's": Case(
        {
            "gen_ai.operation.name": "invoke_agent",
            "pydantic_ai.all_messages": messages(
                ("user", Q), ("assistant", CALLED), ("user", RETURNED), ("assistant", A)
            ),
            "final_result": A,
            "gen_ai.system_instructions": '[{"type": "text", "content": "Be brief."}]',
        },
        [
            (
                0,
                {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": "search",
                    "gen_ai.tool.call.id": "c1",
                    "gen_ai.tool.call.arguments": '{"query": "battery"}',
                    "gen_ai.tool.call.result": FIRST,
                },
            )
        ],
        roles=["user", "assistant", "tool"],
        tools=[TOOL],
    ),
    "Anthropic: a result of a tool comes from the user": Case(
        {
            "langsmith.span.kind": "llm",
            "gen_ai.prompt": json.dumps(
                {
                    "system": "Be brief.",
                    "messages": [
                        {"role": "user", "content": Q},
                        {
                            "role": "assistant",
                            "content": [{"type": "tool_use", "name": "search", "input": {}}],
                        },
                        {
                            "role": "user",
                            "content": [
                                {
                                    "type": "tool_result",
                                    "tool_use_id": "c1",
                                    "content": FIRST,
                                }
                            ],
                        },
                    ],
                }
            ),
            "gen_ai.completion": json.dumps(
                {"role": "assistant", "content": [{"type": "text", "text": A}]}
            ),
        },
        roles=["system", "user", "assistant", "tool"],
    ),
    "DSPy: modules get the passages as an argument": Case(
        kind("CHAIN", {"question": Q}, {"reasoning": "So it says.", "answer": A}),
        [
            (
                0,
                kind(
                    "CHAIN",
                    {"context": PASSAGES, "question": Q},
                    {"reasoning": "…", "answer": A},
                ),
            ),
            (
                1,
                kind(
                    "LLM",
                    None,
                    [f"[[ ## answer ## ]]\n{A}"],
                    **turns("input", ("user", PROMPT)),
                ),
            ),
        ],
        passages=PASSAGES,
        roles=["user"],
    ),
    "CrewAI: the task of a crew is the question": Case(
        kind(
            "CHAIN",
            None,
            {"raw": A, "pydantic": None},
            crew_tasks=json.dumps([{"description": Q}]),
        ),
        [
            (
                0,
                kind(
                    "AGENT",
                    {"agent": {"role": "Clerk"}, "context": ""},
                    {"description": Q, "raw": A},
                ),
            )
        ],
    ),
    "smolagents: the task is the question": Case(kind("AGENT", {"task": Q, "stream": False}, A)),
    "Haystack's own tracing: components by their class": Case(
        {
            "haystack.pipeline.input_data": json.dumps(
                {"retriever": {"query": Q}, "prompt": {"question": Q}}
            ),
            "haystack.pipeline.output_data": "{}",
        },
        [
            (
                0,
                recorded(
                    HAYSTACK,
                    "InMemoryBM25Retriever",
                    {"query": Q, "top_k": None},
                    {"documents": [{"id": "a", "content": FIRST}, {"id": "b", "content": SECOND}]},
                ),
            ),
            (
                0,
                recorded(
                    HAYSTACK,
                    "ChatPromptBuilder",
                    {"question": Q},
                    {"prompt": [{"role": "user", "content": PROMPT}]},
                ),
            ),
            (
                0,
                recorded(
                    HAYSTACK,
                    "OpenAIChatGenerator",
                    {"messages": [{"role": "user", "content": [{"text": PROMPT}]}]},
                    {"replies": [REPLY]},
                ),
            ),
        ],
        passages=PASSAGES,
        ids=["a", "b"],
        model="m",
        tokens=5,
        roles=["user"],
    ),
    "Haystack: messages with underscores": Case(
        {
            "traceloop.span.kind": "workflow",
            "traceloop.entity.input": json.dumps(
                {"args": [], "kwargs": {"prompt": {"question": Q}}}
            ),
            "traceloop.entity.output": json.dumps(
                {
                    "llm": {
                        "replies": [{"_role": "assistant", "_content": [{"text": A}], "_meta": {}}]
                    }
                }
            ),
        },
    ),
    "Langfuse: a function returns its passages beside the answer": Case(
        recorded(
            LANGFUSE,
            "span",
            {"args": ["u-7", Q], "kwargs": {}},
            {"answer": A, "contexts": PASSAGES},
        ),
        passages=PASSAGES,
    ),
    "what a retrieval found counts more than what the function returned": Case(
        recorded(
            LANGFUSE,
            "span",
            {"args": [Q], "kwargs": {}},
            {"answer": A, "contexts": [f"{FIRST} {SECOND}"]},
        ),
        [(0, recorded(LANGFUSE, "retriever", Q, [{"id": "a", "text": FIRST}]))],
        passages=(FIRST,),
        ids=["a"],
    ),
    "Langfuse up to 3.3: a span with a model is a generation; a tool's input is Python": Case(
        recorded(
            LANGFUSE,
            "span",
            [{"role": "user", "content": Q}],
            {"role": "assistant", "content": A},
        )
        | {"langfuse.observation.model.name": "m", "gen_ai.conversation.id": "s"},
        [
            (
                0,
                {
                    "langfuse.observation.type": "tool",
                    "langfuse.observation.input": "{'query': 'battery'}",
                    "langfuse.observation.output": FIRST,
                },
            )
        ],
        model="m",
        tools=[{"name": "step 1", "arguments": {"query": "battery"}, "result": FIRST}],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_a_framework_sends_becomes_the_answer(case):
    taken = answer_of(
        Span(
            "a" * 32,
            f"{number + 1:016x}",
            None if parent is None else f"{parent + 1:016x}",
            f"step {number}",
            10 + number,
            99 if parent is None else 50 + number,
            attributes=attributes,
        )
        for number, (parent, attributes) in enumerate([(None, case.root), *case.spans])
    )
    response = taken.response
    assert response is not None, taken.reason
    assert (response.query, response.answer) == (Q, A)
    assert response.passages == case.passages
    assert [each.get("id") for each in response.metadata.get("context_details", ())] == case.ids
    assert response.generator_model == case.model
    assert response.metadata.get("prompt_tokens") == case.tokens
    assert [each["role"] for each in response.messages or ()] == case.roles
    assert response.metadata.get("tool_calls", []) == case.tools

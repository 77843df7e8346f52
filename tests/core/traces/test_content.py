"""The shapes in which frameworks and providers log questions, answers, messages and passages."""

import json

import pytest

from judgeboard.traces.attributes import parsed
from judgeboard.traces.content import messages_in, question_of, text_of, tool_calls_in
from judgeboard.traces.documents import passages_in
from judgeboard.traces.spans import Passage


def langchain(name, kind, content):
    kwargs = {"content": content, "type": kind}
    return {"lc": 1, "type": "constructor", "id": ["langchain", name], "kwargs": kwargs}


HUMAN, AI = langchain("HumanMessage", "human", "Hi?"), langchain("AIMessage", "ai", "Hello.")
SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "Hi?"}
ASSISTANT = {"role": "assistant", "content": "Hello."}
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "Bergen"}'},
}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}

HELLO = [
    "Hello.",
    '"Hello."',
    '"{\\"answer\\": \\"Hello.\\"}"',
    {"output": "Hello."},
    {"input": "Hi?", "context": [{"page_content": "…"}], "answer": "Hello."},
    {"response": "Hello.", "source_nodes": [{"node": {"text": "…"}}]},
    {"messages": [HUMAN, AI]},
    {"messages": [USER, ASSISTANT]},
    [{"type": "AIMessageChunk", "content": each} for each in ("Hel", "lo.")],
    {"choices": [{"index": 0, "message": ASSISTANT}]},
    {"choices": [{"index": 0, "text": "Hello."}]},
    {"generations": [[{"text": "Hello.", "message": AI}]], "llm_output": None},
    {
        "output": [
            {"type": "reasoning"},
            {"type": "message", "role": "assistant", "content": [{"text": "Hello."}]},
        ]
    },
    {"output": {"message": {"role": "assistant", "content": [{"text": "Hello."}]}}},
    {
        "id": "m",
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": "Hello."}],
    },
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello."}]}}]},
    [{"role": "assistant", "parts": [{"type": "text", "content": "Hello."}]}],
]
NO_ANSWERS = [
    CALLING,
    {"choices": [{"message": CALLING}]},
    {"output": None},
    {"generations": [[{"text": "", "message": {"lc": 1, "kwargs": {"content": ""}}}]]},
    "<generator object RAG.answer.<locals>.stream at 0x7f2a>",
    '{"outputs": "Hello. And then it was cut o',
    [{"page_content": "A passage.", "metadata": {}}],
    "  ",
    None,
]
ANSWERS = [
    *((value, "Hello.") for value in HELLO),
    ("[1] says so.", "[1] says so."),
    (["Hello you.", "e74df10a53007798"], "Hello you."),
    (["e74df10a53007798", "Hello you."], "Hello you."),
    (["Hel", "lo ", "you", " there."], "Hello you there."),
    (["尼龙", "的", "熔点", "约为", "250", "度。"], "尼龙的熔点约为250度。"),
    ([{"choices": [{"delta": {"content": each}}]} for each in ("Hel", "lo", None)], "Hello"),
    ({"role": "assistant", "content": None, "refusal": "I cannot."}, "I cannot."),
    ({"temperature": 145, "unit": "C"}, '{"temperature":145,"unit":"C"}'),  # structured output
    *((value, None) for value in NO_ANSWERS),
]

HI = [
    "Hi?",
    {"args": ["Hi?"], "kwargs": {}},
    {"args": [], "kwargs": {"user_id": "u-7", "question": "Hi?"}},
    {"args": ["Hi?", [{"id": "a", "text": "A passage of words."}]], "kwargs": {}},
    {"args": [[USER]], "kwargs": {}},
    {"text_to_answer": "Hi?", "user_id": "u-7"},
    {"self": "<app.Bot object at 0x7f2a>", "asked": "Hi?"},
    {"inputs": {"input": "Hi?", "chat_history": []}},
    {"query_bundle": {"query_str": "Hi?"}},
    {"model": "gpt", "messages": [SYSTEM, USER]},
    {"messages": [[HUMAN]]},
    {"messages": [["human", "Hi?"]]},
    {
        "model": "gpt",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi?"}]}],
    },
    {"contents": [{"role": "user", "parts": [{"text": "Hi?"}]}]},
    {"prompts": ["Hi?"]},
    [{"type": "human", "data": {"content": "Hi?"}}],
    [{"role": "MessageRole.USER", "blocks": [{"block_type": "text", "text": "Hi?"}]}],
]
QUESTIONS = [
    *((value, "Hi?") for value in HI),
    ({"args": ["u-7", "How are you?"], "kwargs": {"k": 3}}, "How are you?"),
    ({"args": [], "kwargs": {}}, None),
    ({"user_id": "u-7", "k": 3}, '{"user_id":"u-7","k":3}'),
    ({"inputs": {"input": ""}}, None),
    (
        [{"role": "user", "content": "First?"}, CALLING, {"role": "tool", "content": "14 C"}],
        "First?",
    ),
]

A, B = Passage("One.", "a", 0.9, "a.pdf"), Passage("Two.", "b", 0.5, "b.pdf")
ONE, TWO = {"id": "a", "text": "One."}, {"id": "b", "text": "Two."}
ONLY_A = [
    {
        "documents": [
            {"id": "a", "page_content": "One.", "metadata": {"score": 0.9, "source": "a.pdf"}}
        ]
    },
    [
        {
            "lc": 1,
            "id": ["Document"],
            "kwargs": {
                "page_content": "One.",
                "metadata": {"id": "a", "score": "0.9", "source": "a.pdf"},
            },
        }
    ],
    [{"node": {"id_": "a", "text": "One.", "metadata": {"source": "a.pdf"}}, "score": 0.9}],
    [{"document": {"id": "a", "content": "One.", "score": 0.9, "source": "a.pdf"}}],
    {"matches": [{"id": "a", "score": 0.9, "metadata": {"text": "One.", "source": "a.pdf"}}]},
    [{"id": "a", "score": 0.9, "payload": {"text": "One.", "source": "a.pdf"}}],
]
NO_PASSAGES = [
    [
        "<NodeWithScore(node=TextNode(id_=a), score=None)>",
        "<shop.Passage object at 0x7fca8a644a40>",
    ],
    "One.",
    {"answer": "Hello."},
    [USER],
]
PASSAGES = [
    ([ONE | {"score": 0.9, "source": "a.pdf"}, TWO | {"score": 0.5, "source": "b.pdf"}], (A, B)),
    *((value, (A,)) for value in ONLY_A),
    ([{"pageContent": "One.", "id": 7}], (Passage("One.", "7"),)),
    (
        {"source_nodes": [{"node": {"node_id": "a", "text": "One."}, "score": 0.9}]},
        (Passage("One.", "a", 0.9),),
    ),
    ([[{"page_content": "One.", "metadata": {}}, 0.9]], (Passage("One.", score=0.9),)),
    (
        {
            "ids": [["a", "b"]],
            "documents": [["One.", "Two."]],
            "metadatas": [[{"source": "a.pdf"}, None]],
            "distances": [[0.1, 0.2]],
        },
        (
            Passage("One.", "a", source="a.pdf", metadata={"distance": 0.1}),
            Passage("Two.", "b", metadata={"distance": 0.2}),
        ),
    ),
    (["One.", "Two."], (Passage("One."), Passage("Two."))),
    ({"output": [[ONE], [TWO]]}, (Passage("One.", "a"), Passage("Two.", "b"))),
    ([[ONE], ["a"]], (Passage("One.", "a"),)),
    ([{"id": "a", "score": 0.9}], (Passage(None, "a", 0.9),)),
    ([], ()),
    ({"documents": []}, ()),
    *((value, None) for value in NO_PASSAGES),
]


def shapes(rows):
    return pytest.mark.parametrize(("value", "expected"), rows, ids=lambda each: str(each)[:40])


@shapes(ANSWERS)
def test_the_text_of_an_answer(value, expected):
    assert text_of(value) == expected
    if isinstance(value, dict | list) and isinstance(parsed(expected), str | None):
        assert text_of(json.dumps(value)) == expected
        assert text_of(json.dumps(json.dumps(value))) == expected


@shapes(QUESTIONS)
def test_the_text_of_a_question(value, expected):
    assert question_of(value) == expected


@shapes(PASSAGES)
def test_passages(value, expected):
    assert passages_in(value) == expected
    assert passages_in(json.dumps(value)) == expected


@pytest.mark.parametrize("value", [["a", "b"], [], {"answer": "Hello.", "documents": [ONE]}])
def test_only_documents_make_any_span_a_retrieval(value):
    assert passages_in(value, retriever=False) is None
    assert passages_in([ONE], retriever=False) == (Passage("One.", "a"),)


def test_messages_have_roles_texts_and_tool_calls():
    call = {"id": "c1", "name": "weather", "arguments": {"city": "Bergen"}}
    part = {"type": "tool_call", **call}
    for calling in (CALLING, {"role": "assistant", "parts": [part]}):
        request = {
            "system": "Be brief.",
            "messages": [
                {"role": "human", "content": "Hi?"},
                calling,
                {"type": "tool", "content": "14"},
            ],
        }
        assert messages_in(request) == (
            SYSTEM,
            USER,
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "content": "14"},
        )
        for value in ({"choices": [{"message": calling}]}, [calling]):
            assert tool_calls_in(value) == (call,)


def test_deep_and_broken_values_have_no_text():
    deep = "x"
    for _ in range(200):
        deep = {"output": [deep]}
    for value in (
        deep,
        json.dumps(deep),
        "[" * 5000,
        '{"a": NaN}',
        {"messages": 1, "args": 2, "kwargs": None},
        [None, 1.5, [[]]],
    ):
        for read in (text_of, question_of, messages_in, passages_in, tool_calls_in):
            read(value)
    assert text_of(deep) is None
    assert parsed('{"a": NaN}') == {"a": None}

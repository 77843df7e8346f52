"""The shapes in which frameworks and providers log questions, answers, messages and passages."""

import json

import pytest

from judgeboard.traces.attributes import parsed
from judgeboard.traces.content import messages_in, question_of, text_of, tool_calls_in
from judgeboard.traces.documents import passages_in
from judgeboard.traces.spans import Passage

HUMAN = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain", "HumanMessage"],
    "kwargs": {"content": "Hi?", "type": "human"},
}
AI = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain", "AIMessage"],
    "kwargs": {"content": "Hello.", "type": "ai"},
}
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "Bergen"}'},
}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}

ANSWERS = [
    ("Hello.", "Hello."),
    ('"Hello."', "Hello."),
    ('"{\\"answer\\": \\"Hello.\\"}"', "Hello."),
    ("[1] says so.", "[1] says so."),
    ({"output": "Hello."}, "Hello."),
    ({"input": "Hi?", "context": [{"page_content": "…"}], "answer": "Hello."}, "Hello."),
    ({"response": "Hello.", "source_nodes": [{"node": {"text": "…"}}]}, "Hello."),
    ({"messages": [HUMAN, AI]}, "Hello."),
    (
        {
            "messages": [
                {"role": "user", "content": "Hi?"},
                {"role": "assistant", "content": "Hello."},
            ]
        },
        "Hello.",
    ),
    (["Hello you.", "e74df10a53007798"], "Hello you."),
    (["e74df10a53007798", "Hello you."], "Hello you."),
    (["Hel", "lo ", "you", " there."], "Hello you there."),
    (["尼龙", "的", "熔点", "约为", "250", "度。"], "尼龙的熔点约为250度。"),
    ([{"choices": [{"delta": {"content": each}}]} for each in ("Hel", "lo", None)], "Hello"),
    ([{"type": "AIMessageChunk", "content": each} for each in ("Hel", "lo.")], "Hello."),
    ({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}}]}, "Hello."),
    ({"choices": [{"index": 0, "text": "Hello."}]}, "Hello."),
    ({"generations": [[{"text": "Hello.", "message": AI}]], "llm_output": None}, "Hello."),
    (
        {
            "output": [
                {"type": "reasoning"},
                {"type": "message", "role": "assistant", "content": [{"text": "Hello."}]},
            ]
        },
        "Hello.",
    ),
    ({"output": {"message": {"role": "assistant", "content": [{"text": "Hello."}]}}}, "Hello."),
    (
        {
            "id": "m",
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": "Hello."}],
        },
        "Hello.",
    ),
    ({"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello."}]}}]}, "Hello."),
    ([{"role": "assistant", "parts": [{"type": "text", "content": "Hello."}]}], "Hello."),
    ({"role": "assistant", "content": None, "refusal": "I cannot."}, "I cannot."),
    ({"temperature": 145, "unit": "C"}, '{"temperature":145,"unit":"C"}'),  # structured output
    (CALLING, None),
    ({"choices": [{"message": CALLING}]}, None),
    ({"output": None}, None),
    ({"generations": [[{"text": "", "message": {"lc": 1, "kwargs": {"content": ""}}}]]}, None),
    ("<generator object RAG.answer.<locals>.stream at 0x7f2a>", None),
    ('{"outputs": "Hello. And then it was cut o', None),
    ([{"page_content": "A passage.", "metadata": {}}], None),
    ("  ", None),
    (None, None),
]

QUESTIONS = [
    ("Hi?", "Hi?"),
    ({"args": ["Hi?"], "kwargs": {}}, "Hi?"),
    ({"args": ["u-7", "How are you?"], "kwargs": {"k": 3}}, "How are you?"),
    ({"args": [], "kwargs": {"user_id": "u-7", "question": "Hi?"}}, "Hi?"),
    ({"args": ["Hi?", [{"id": "a", "text": "A passage of words."}]], "kwargs": {}}, "Hi?"),
    ({"args": [[{"role": "user", "content": "Hi?"}]], "kwargs": {}}, "Hi?"),
    ({"args": [], "kwargs": {}}, None),
    ({"user_id": "u-7", "k": 3}, '{"user_id":"u-7","k":3}'),
    ({"text_to_answer": "Hi?", "user_id": "u-7"}, "Hi?"),
    ({"self": "<app.Bot object at 0x7f2a>", "asked": "Hi?"}, "Hi?"),
    ({"inputs": {"input": "Hi?", "chat_history": []}}, "Hi?"),
    ({"inputs": {"input": ""}}, None),
    ({"query_bundle": {"query_str": "Hi?"}}, "Hi?"),
    (
        {
            "model": "gpt",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi?"},
            ],
        },
        "Hi?",
    ),
    ({"messages": [[HUMAN]]}, "Hi?"),
    ({"messages": [["human", "Hi?"]]}, "Hi?"),
    (
        [{"role": "user", "content": "First?"}, CALLING, {"role": "tool", "content": "14 C"}],
        "First?",
    ),
    (
        {
            "model": "gpt",
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi?"}]}],
        },
        "Hi?",
    ),
    ({"contents": [{"role": "user", "parts": [{"text": "Hi?"}]}]}, "Hi?"),
    ({"prompts": ["Hi?"]}, "Hi?"),
    ([{"type": "human", "data": {"content": "Hi?"}}], "Hi?"),
    ([{"role": "MessageRole.USER", "blocks": [{"block_type": "text", "text": "Hi?"}]}], "Hi?"),
]

A, B = Passage("One.", "a", 0.9, "a.pdf"), Passage("Two.", "b", 0.5, "b.pdf")
PASSAGES = [
    (
        [
            {"id": "a", "score": 0.9, "text": "One.", "source": "a.pdf"},
            {"id": "b", "score": 0.5, "text": "Two.", "source": "b.pdf"},
        ],
        (A, B),
    ),
    (
        {
            "documents": [
                {"id": "a", "page_content": "One.", "metadata": {"score": 0.9, "source": "a.pdf"}}
            ]
        },
        (A,),
    ),
    (
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
        (A,),
    ),
    ([{"pageContent": "One.", "id": 7}], (Passage("One.", "7"),)),
    ([{"node": {"id_": "a", "text": "One.", "metadata": {"source": "a.pdf"}}, "score": 0.9}], (A,)),
    (
        {"source_nodes": [{"node": {"node_id": "a", "text": "One."}, "score": 0.9}]},
        (Passage("One.", "a", 0.9),),
    ),
    ([[{"page_content": "One.", "metadata": {}}, 0.9]], (Passage("One.", score=0.9),)),
    ([{"document": {"id": "a", "content": "One.", "score": 0.9, "source": "a.pdf"}}], (A,)),
    (
        {"matches": [{"id": "a", "score": 0.9, "metadata": {"text": "One.", "source": "a.pdf"}}]},
        (A,),
    ),
    ([{"id": "a", "score": 0.9, "payload": {"text": "One.", "source": "a.pdf"}}], (A,)),
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
    (
        [
            "<NodeWithScore(node=TextNode(id_=a), score=None)>",
            "<shop.Passage object at 0x7fca8a644a40>",
        ],
        None,
    ),
    (
        {"output": [[{"id": "a", "text": "One."}], [{"id": "b", "text": "Two."}]]},
        (Passage("One.", "a"), Passage("Two.", "b")),
    ),
    ([[{"id": "a", "text": "One."}], ["a"]], (Passage("One.", "a"),)),
    ([{"id": "a", "score": 0.9}], (Passage(None, "a", 0.9),)),
    ([], ()),
    ({"documents": []}, ()),
    ("One.", None),
    ({"answer": "Hello."}, None),
    ([{"role": "user", "content": "Hi?"}], None),
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


@pytest.mark.parametrize(
    "value", [["a", "b"], [], {"answer": "Hello.", "documents": [{"id": "a", "text": "One."}]}]
)
def test_only_documents_make_any_span_a_retrieval(value):
    assert passages_in(value, retriever=False) is None
    assert passages_in([{"id": "a", "text": "One."}], retriever=False) == (Passage("One.", "a"),)


def test_messages_have_roles_texts_and_tool_calls():
    call = {"id": "c1", "name": "weather", "arguments": {"city": "Bergen"}}
    part = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Bergen"}}
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
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi?"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "content": "14"},
        )
        assert (
            tool_calls_in({"choices": [{"message": calling}]})
            == tool_calls_in([calling])
            == (call,)
        )


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
        (
            text_of(value),
            question_of(value),
            messages_in(value),
            passages_in(value),
            tool_calls_in(value),
        )
    assert text_of(deep) is None
    assert parsed('{"a": NaN}') == {"a": None}

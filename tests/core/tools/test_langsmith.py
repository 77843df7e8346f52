"""LangSmith: its exported runs and spans, and its own protocol, in which a run has several parts and requests."""

import json
from pathlib import Path
from typing import Any

import pytest

from judgeboard.errors import BadInput
from judgeboard.tools import langsmith
from judgeboard.tools.langsmith import runs_in
from judgeboard.traces.spans import LogRecord, Operation, Part, Passage, Span
from made_spans import part_of
from tool_files import records

ROOT, CHILD = "01a1fc34-4344-777a-bc12-0e905259d0ee", "01a1fc34-4345-74d1-9fe5-be88059afb65"
ORDER = f"20261121T034627440607Z{ROOT}"
START = {
    "id": ROOT,
    "trace_id": ROOT,
    "dotted_order": ORDER,
    "name": "rag",
    "run_type": "chain",
    "session_name": "project",
}
METADATA = {"session_id": "s-1", "user_id": "u-1", "build": "1.4.0", "ls_method": "traceable"}
END = {
    "id": ROOT,
    "trace_id": ROOT,
    "dotted_order": ORDER,
    "end_time": "2026-11-21T03:46:28.440607+00:00",
}


def multipart(*parts: tuple[str, Any]) -> tuple[bytes, str]:
    head = '--b0und\r\nContent-Disposition: form-data; name="{}"\r\nContent-Type: application/json; length={}\r\n\r\n'
    texts = [
        json.dumps(content) if not isinstance(content, str) else content for _, content in parts
    ]
    rows = [
        head.format(name, len(text)) + text + "\r\n"
        for (name, _), text in zip(parts, texts, strict=True)
    ]
    return ("".join(rows) + "--b0und--\r\n").encode(), 'multipart/form-data; boundary="b0und"'


def read(*requests: tuple[bytes, str]) -> list[tuple[Span, Part]]:
    sent = [each for body, content_type in requests for each in runs_in(body, content_type)]
    spans = [each for each in sent if isinstance(each, Span)]
    logs = [each for each in sent if isinstance(each, LogRecord)]
    parts = [
        (span, langsmith.read_span(span, [log for log in logs if log.span_id == span.span_id]))
        for span in spans
    ]
    return [(span, part) for span, part in parts if part is not None]


POSTED = (
    (
        f"post.{ROOT}",
        START
        | {
            "start_time": "2026-11-21T03:46:27.440607Z",
            "extra": {"metadata": METADATA},
            "tags": ["a"],
        },
    ),
    (f"post.{ROOT}.inputs", {"question": "Hi?"}),
    (f"attachment.{ROOT}.picture", "\x00 no JSON"),
)
PATCHED = ((f"patch.{ROOT}", END), (f"patch.{ROOT}.outputs", {"output": "Hello."}))


@pytest.mark.parametrize(
    "requests",
    [
        [multipart(*POSTED, *PATCHED)],
        [multipart(*POSTED), multipart(*PATCHED)],
        [multipart(*PATCHED), multipart(*POSTED)],
        [multipart(*POSTED), multipart(*POSTED), multipart(*PATCHED)],
    ],
)
def test_a_run_that_is_posted_and_patched_is_one_span(requests: list[tuple[bytes, str]]) -> None:
    ((span, part),) = read(*requests)
    assert (span.trace_id, span.span_id, span.parent_id) == (
        ROOT.replace("-", ""),
        "bc120e905259d0ee",
        None,
    )
    assert (span.ended_ns - span.started_ns, span.ended_ns) == (10**9, 1795232788440607000)
    assert (part.operation, part.question, part.answer) == (Operation.APP, "Hi?", "Hello.")
    assert (part.session, part.user, part.tags) == ("s-1", "u-1", ("a",))
    assert part.metadata == {"build": "1.4.0", "run_id": ROOT}


def test_a_batch_of_model_and_retriever_runs() -> None:
    order = f"{ORDER}.20261121T034627500000Z{CHILD}"
    message = {
        "content": "Hello.",
        "type": "ai",
        "usage_metadata": {"input_tokens": 5, "output_tokens": 2},
    }
    reply = {
        "lc": 1,
        "id": ["AIMessage"],
        "kwargs": message | {"response_metadata": {"model_name": "m-1"}},
    }
    model = START | {
        "id": CHILD,
        "dotted_order": order,
        "run_type": "llm",
        "inputs": {"messages": [[{"type": "human", "content": "Hi?"}]]},
        "outputs": {"generations": [[{"text": "Hello.", "message": reply}]]},
        "extra": {"metadata": {"ls_model_name": "m"}},
        "end_time": 1795232788440,
    }
    documents = {"documents": [{"page_content": "One.", "metadata": {"id": "a", "score": 0.9}}]}
    retriever = START | {
        "run_type": "retriever",
        "inputs": {"query": "Hi?"},
        "outputs": documents,
        "end_time": END["end_time"],
    }
    (span, part), (_, retrieval) = read(
        (json.dumps({"post": [model, retriever], "patch": []}).encode(), "application/json")
    )
    assert (span.parent_id, span.ended_ns - span.started_ns) == ("bc120e905259d0ee", 940_000_000)
    assert (part.operation, part.question, part.answer, part.model) == (
        Operation.MODEL,
        "Hi?",
        "Hello.",
        "m-1",
    )
    assert (part.prompt_tokens, part.completion_tokens) == (5, 2)
    assert retrieval.passages == (Passage("One.", "a", 0.9),)


def test_a_failed_run_has_its_error() -> None:
    ((span, part),) = read(
        multipart(*POSTED, (f"patch.{ROOT}", END | {"error": "RateLimitError()"}))
    )
    assert (span.error, part.answer) == ("RateLimitError()", None)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"{", "application/json"),
        (b'[{"id": "no id"}]', "application/json"),
        (b"[1]", "application/json"),
        (b"x", "multipart/form-data"),
        multipart((f"post.{ROOT}", "[]")),
        multipart((f"post.{ROOT}", "{")),
    ],
)
def test_what_is_no_run_is_bad_input(body: bytes, content_type: str) -> None:
    with pytest.raises(BadInput):
        runs_in(body, content_type)


def test_a_body_without_runs_is_empty() -> None:
    assert runs_in(*multipart(("feedback.x", {"score": 1}))) == []


def test_runs_of_langsmith_become_the_answer_of_their_trace(tmp_path: Path) -> None:
    common = {
        "trace_id": "t",
        "start_time": "2026-11-21T04:00:00",
        "end_time": "2026-11-21T04:00:01",
    }
    common |= {"session_id": "the project", "tags": ["prod"]}
    runs = [
        common
        | {
            "id": "m",
            "parent_run_id": "r",
            "run_type": "llm",
            "inputs": {"messages": [["user", "q?"]]},
        }
        | {
            "outputs": {"generations": [[{"text": "a."}]]},
            "extra": {"metadata": {"ls_model_name": "gpt"}},
        }
        | {"prompt_tokens": 7, "completion_tokens": 3},
        common
        | {"id": "d", "parent_run_id": "r", "run_type": "retriever", "inputs": {"query": "q?"}}
        | {
            "outputs": {
                "documents": [{"page_content": "p1", "metadata": {}}, {"page_content": "p2"}]
            }
        },
        common
        | {"id": "r", "parent_run_id": None, "run_type": "chain", "inputs": {"question": "q?"}}
        | {"outputs": {"output": "a."}, "extra": {"metadata": {"session_id": "s", "user_id": "u"}}}
        | {
            "feedback_stats": {
                "correctness": {"n": 1, "avg": 0.5},
                "user_thumbs": {"n": 1, "avg": 1.0},
            }
        },
    ]
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(json.dumps(run) + "\n" for run in runs))
    title, (answer,) = records(file)
    assert title == "LangSmith runs"
    assert (answer.query, answer.answer, answer.passages) == ("q?", "a.", ("p1", "p2"))
    assert (answer.generator_model, answer.metadata["session"], answer.metadata["user"]) == (
        "gpt",
        "s",
        "u",
    )
    assert [(each.kind, each.value) for each in answer.feedback] == [("thumbs", 1)]
    _, (verdict,) = records(file, "verdicts")
    assert [(score.dimension, score.value) for score in verdict.verdict.scores] == [
        ("correctness", 0.5)
    ]


def test_the_session_of_langsmith_is_not_its_project() -> None:
    attributes = {
        "langsmith.span.kind": "chain",
        "langsmith.trace.session_id": "project",
        "gen_ai.prompt": '{"input": "Hi?"}',
    }
    assert part_of(langsmith.read_span, attributes).session is None
    named = part_of(
        langsmith.read_span,
        attributes
        | {"langsmith.metadata.thread_id": "t-1", "langsmith.span.tags": ["a", "seq:step:1"]},
    )
    assert (named.session, named.tags, named.question) == ("t-1", ("a",), "Hi?")


def test_spans_written_by_hand_for_langsmith() -> None:
    part = part_of(
        langsmith.read_span,
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
    assert (part.operation, part.question, part.answer, part.model) == (
        Operation.MODEL,
        "Hi?",
        "Hello.",
        "m",
    )
    assert (part.prompt_tokens, part.completion_tokens) == (5, 2)


def test_langsmith_without_content_says_which_variables_hide_it() -> None:
    hidden = {"langsmith.span.kind": "chain", "gen_ai.prompt": "{}", "gen_ai.completion": "{}"}
    assert "LANGSMITH_HIDE_INPUTS=false" in str(part_of(langsmith.read_span, hidden).missing)

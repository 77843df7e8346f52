"""LangSmith's own protocol, as its SDKs send it: several parts a run, starts and ends in one request or in two."""

import json
from typing import Any

import pytest

from judgeboard.errors import BadInput
from judgeboard.tools import langsmith
from judgeboard.tools.langsmith import runs_in
from judgeboard.traces.spans import LogRecord, Operation, Part, Passage, Span

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
END = {"id": ROOT, "trace_id": ROOT, "dotted_order": ORDER, "end_time": "2026-11-21T03:46:28.440607+00:00"}


def multipart(*parts: tuple[str, Any]) -> tuple[bytes, str]:
    head = '--b0und\r\nContent-Disposition: form-data; name="{}"\r\nContent-Type: application/json; length={}\r\n\r\n'
    texts = [json.dumps(content) if not isinstance(content, str) else content for _, content in parts]
    rows = [head.format(name, len(text)) + text + "\r\n" for (name, _), text in zip(parts, texts, strict=True)]
    return ("".join(rows) + "--b0und--\r\n").encode(), 'multipart/form-data; boundary="b0und"'


def read(*requests: tuple[bytes, str]) -> list[tuple[Span, Part]]:
    sent = [each for body, content_type in requests for each in runs_in(body, content_type)]
    spans = [each for each in sent if isinstance(each, Span)]
    logs = [each for each in sent if isinstance(each, LogRecord)]
    parts = [(span, langsmith.read_span(span, [log for log in logs if log.span_id == span.span_id])) for span in spans]
    return [(span, part) for span, part in parts if part is not None]


POSTED = (
    (
        f"post.{ROOT}",
        START | {"start_time": "2026-11-21T03:46:27.440607Z", "extra": {"metadata": METADATA}, "tags": ["a"]},
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
    assert (span.trace_id, span.span_id, span.parent_id) == (ROOT.replace("-", ""), "bc120e905259d0ee", None)
    assert (span.ended_ns - span.started_ns, span.ended_ns) == (10**9, 1795232788440607000)
    assert (part.operation, part.question, part.answer) == (Operation.APP, "Hi?", "Hello.")
    assert (part.session, part.user, part.tags) == ("s-1", "u-1", ("a",))
    assert part.metadata == {"build": "1.4.0", "run_id": ROOT}


def test_a_batch_of_model_and_retriever_runs() -> None:
    order = f"{ORDER}.20261121T034627500000Z{CHILD}"
    message = {"content": "Hello.", "type": "ai", "usage_metadata": {"input_tokens": 5, "output_tokens": 2}}
    reply = {"lc": 1, "id": ["AIMessage"], "kwargs": message | {"response_metadata": {"model_name": "m-1"}}}
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
    assert (part.operation, part.question, part.answer, part.model) == (Operation.MODEL, "Hi?", "Hello.", "m-1")
    assert (part.prompt_tokens, part.completion_tokens) == (5, 2)
    assert retrieval.passages == (Passage("One.", "a", 0.9),)


def test_a_failed_run_has_its_error() -> None:
    ((span, part),) = read(multipart(*POSTED, (f"patch.{ROOT}", END | {"error": "RateLimitError()"})))
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

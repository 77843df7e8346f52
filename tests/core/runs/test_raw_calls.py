"""The raw call of a judgment: its prompt is rebuilt by the code that sends it, or not at all."""

from dataclasses import replace
from typing import Any

import pytest

from endpoint_scripts import in_turn
from judgeboard.domain import Response
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, completion, failure, verdict
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.runs.raw_calls import NO_CALL, NOT_REBUILT, raw_calls, sent_messages
from judgeboard.store.engine import Store
from judgeboard.store.forgetting import forget_response
from judgeboard.store.items import load_item
from judgeboard.store.judge_versions import get_version
from judgeboard.store.responses import judge_inputs
from judgeboard.store.storing import store_responses


def judged(store: Store, kind: str, endpoint: RecordingEndpoint, **options: Any) -> int:
    """Store one answer and judge it; return its id."""
    with store.writing() as connection:
        answer = Response("log", "a", "How hot?", "145 °C.", ("Dyneema melts at 145 °C.",), reference="At 145 °C.")
        [response_id] = store_responses(connection, [answer]).new
    judge = make_judge(kind, model="m", base_url=endpoint.base_url, **options)
    judge_pending(store, judge)
    return response_id


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("rag", {"claims": True, "domain": "climbing", "max_output": 700}),
        ("rag", {"name": "second", "logprobs": True}),
        ("rubric", {}),
        ("rating", {}),
        ("grade", {}),
    ],
)
def test_the_prompt_is_the_one_that_was_sent(store: Store, kind: str, options: dict[str, Any]) -> None:
    with RecordingEndpoint(always(completion("no JSON"))) as endpoint:
        response_id = judged(store, kind, endpoint, **options)
        first = endpoint.requests[0].body["messages"]
    with store.reading() as connection:
        [judgment] = load_item(connection, response_id).judgments
        [raw] = raw_calls(connection, response_id, [judgment.id])
        version = get_version(connection, raw.call.judge_version_id)
        item = judge_inputs(connection, [response_id])[response_id]
    assert list(raw.messages) == first
    assert raw.note is None
    changed = replace(version, prompt="Another prompt.", fingerprint="0" * 64)
    assert sent_messages(changed, item) == (), "a version of another release is not guessed"


def test_a_call_has_its_attempts_and_what_they_used(store: Store) -> None:
    with RecordingEndpoint(in_turn([failure(500, "busy"), completion("no JSON"), verdict()])) as endpoint:
        response_id = judged(store, "rag", endpoint)
    with store.reading() as connection:
        [judgment] = load_item(connection, response_id).judgments
        [raw] = raw_calls(connection, response_id, [judgment.id])
    assert [(attempt.why, attempt.status) for attempt in raw.call.attempts] == [
        ("first", "http_500"),
        ("retry", "unparsable"),
        ("repair", "ok"),
    ]
    assert (raw.call.prompt_tokens, raw.call.completion_tokens) == (200, 40)
    with store.writing() as connection:
        forget_response(connection, "a", actor="test")
    with store.reading() as connection:
        [raw] = raw_calls(connection, response_id, [judgment.id])
    assert (raw.messages, raw.note, raw.call.raw) == ((), NOT_REBUILT, None)


def test_an_offline_judge_asked_no_model(store: Store) -> None:
    with store.writing() as connection:
        [response_id] = store_responses(connection, [Response("log", "a", "q", "a")]).new
    judge_pending(store, make_judge("lexical"))
    with store.reading() as connection:
        [judgment] = load_item(connection, response_id).judgments
        [raw] = raw_calls(connection, response_id, [judgment.id])
    assert (raw.messages, raw.note) == ((), NO_CALL)

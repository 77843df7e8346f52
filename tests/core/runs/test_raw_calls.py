"""The raw call of a judgment: its prompt is rebuilt by the code that sends it, or not at all."""

import logging
from pathlib import Path

import pytest

from endpoint_scripts import in_turn
from engines import on_sqlite
from job_steps import ANSWERS, ask, done, rag
from judgeboard.domain import Response
from judgeboard.errors import BadInput
from judgeboard.llm.recording_endpoint import (
    RecordingEndpoint,
    always,
    completion,
    failure,
    verdict,
)
from judgeboard.runs import jobs, rejudge_jobs
from judgeboard.runs.jobs import forget_key, held_key
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.runs.raw_calls import NO_CALL, NOT_REBUILT, raw_calls, sent_messages
from judgeboard.store.forgetting import forget_response
from judgeboard.store.items import load_item
from judgeboard.store.judge_versions import get_version
from judgeboard.store.responses import judge_inputs
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import EVENT, JOB, JUDGMENT, VERSION
from stored_rows import read, rows_of, write_to


def judged(store, kind, endpoint, **options):
    """Store one answer and judge it; return its id."""
    answer = Response(
        "log", "a", "How hot?", "145 °C.", ("Dyneema melts at 145 °C.",), reference="At 145 °C."
    )
    [response_id] = write_to(store, store_responses, [answer]).new
    judge_pending(store, make_judge(kind, model="m", base_url=endpoint.base_url, **options))
    return response_id


def raw_call(store, response_id):
    [judgment] = read(store, load_item, response_id).judgments
    [raw] = read(store, raw_calls, response_id, [judgment.id])
    return raw


@on_sqlite
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
def test_the_prompt_is_the_one_that_was_sent(store, kind, options):
    with RecordingEndpoint(always(completion("no JSON"))) as endpoint:
        response_id = judged(store, kind, endpoint, **options)
        first = endpoint.requests[0].body["messages"]
    raw = raw_call(store, response_id)
    assert (list(raw.messages), raw.note) == (first, None)
    version = read(store, get_version, raw.judgment.judge_version_id)
    changed = version.changed(prompt="Another prompt.", fingerprint="0" * 64)
    item = read(store, judge_inputs, [response_id])[response_id]
    # A version of another release is not guessed.
    assert read(store, sent_messages, changed, item) == ()


def test_a_call_has_its_attempts_and_what_they_used(store):
    replies = in_turn([failure(500, "busy"), completion("no JSON"), verdict()])
    with RecordingEndpoint(replies) as endpoint:
        response_id = judged(store, "rag", endpoint)
    judgment = raw_call(store, response_id).judgment
    assert [(attempt.why, attempt.status) for attempt in judgment.attempts] == [
        ("first", "http_500"),
        ("retry", "unparsable"),
        ("repair", "ok"),
    ]
    assert (judgment.prompt_tokens, judgment.completion_tokens) == (200, 40)
    write_to(store, forget_response, "a", actor="test")
    raw = raw_call(store, response_id)
    assert (raw.messages, raw.note, raw.judgment.raw) == ((), NOT_REBUILT, None)


@on_sqlite
def test_an_offline_judge_asked_no_model(store):
    [response_id] = write_to(store, store_responses, [Response("log", "a", "q", "a")]).new
    judge_pending(store, make_judge("lexical"))
    raw = raw_call(store, response_id)
    assert (raw.messages, raw.note) == ((), NO_CALL)


KEY = "sk-typed-by-a-person"


@on_sqlite
def test_an_own_key_reaches_the_address_and_is_stored_nowhere(log, endpoint, caplog):
    caplog.set_level(logging.DEBUG)
    job_id = ask(log, rag(endpoint), api_key=KEY)
    assert held_key(job_id) == KEY
    job = done(log, job_id)
    assert (job.state, job.ok) == ("done", ANSWERS)
    keys = {request.headers["authorization"] for request in endpoint.server.requests}
    assert keys == {f"Bearer {KEY}"}
    assert held_key(job_id) is None
    stored = [rows_of(log, table) for table in (JOB, EVENT, VERSION, JUDGMENT)]
    assert KEY not in f"{stored} {caplog.text}"
    if log.is_sqlite:
        files = filter(Path.is_file, Path(log.engine.url.database).parent.iterdir())
        assert not [file for file in files if KEY.encode() in file.read_bytes()]


def test_a_job_whose_key_is_gone_fails_and_says_what_to_do(sqlite_log, endpoint, monkeypatch):
    monkeypatch.setattr(rejudge_jobs, "KEY_SECONDS", 0.0)
    job_id = ask(sqlite_log, rag(endpoint), api_key=KEY)
    forget_key(job_id)  # as after a restart
    job = done(sqlite_log, job_id)
    assert (job.state, job.asked) == ("failed", 0)
    assert job.why
    assert not endpoint.server.requests


def test_a_refused_job_keeps_no_key(sqlite_log, endpoint):
    ask(sqlite_log, rag(endpoint))
    with pytest.raises(BadInput):
        ask(sqlite_log, rag(endpoint), api_key=KEY)
    assert KEY not in jobs._held_keys.values()

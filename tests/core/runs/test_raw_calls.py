"""The raw call of a judgment: its prompt is rebuilt by the code that sends it, or not at all."""

import logging
from pathlib import Path

import pytest
from sqlalchemy import select

from endpoint_scripts import in_turn
from engines import on_sqlite
from job_steps import ANSWERS, ask, ended, rag, working
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
from stored_rows import read, write_to


def judged(store, kind, endpoint, **options):
    """Store one answer and judge it; return its id."""
    with store.writing() as connection:
        answer = Response(
            "log", "a", "How hot?", "145 °C.", ("Dyneema melts at 145 °C.",), reference="At 145 °C."
        )
        [response_id] = store_responses(connection, [answer]).new
    judge = make_judge(kind, model="m", base_url=endpoint.base_url, **options)
    judge_pending(store, judge)
    return response_id


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
    with store.reading() as connection:
        [judgment] = load_item(connection, response_id).judgments
        [raw] = raw_calls(connection, response_id, [judgment.id])
        version = get_version(connection, raw.judgment.judge_version_id)
        item = judge_inputs(connection, [response_id])[response_id]
    assert list(raw.messages) == first
    assert raw.note is None
    changed = version.changed(prompt="Another prompt.", fingerprint="0" * 64)
    with store.reading() as connection:
        # A version of another release is not guessed.
        assert sent_messages(connection, changed, item) == ()


def test_a_call_has_its_attempts_and_what_they_used(store):
    with RecordingEndpoint(
        in_turn([failure(500, "busy"), completion("no JSON"), verdict()])
    ) as endpoint:
        response_id = judged(store, "rag", endpoint)
    with store.reading() as connection:
        [judgment] = load_item(connection, response_id).judgments
        [raw] = raw_calls(connection, response_id, [judgment.id])
    assert [(attempt.why, attempt.status) for attempt in raw.judgment.attempts] == [
        ("first", "http_500"),
        ("retry", "unparsable"),
        ("repair", "ok"),
    ]
    assert (raw.judgment.prompt_tokens, raw.judgment.completion_tokens) == (200, 40)
    write_to(store, forget_response, "a", actor="test")
    [raw] = read(store, raw_calls, response_id, [judgment.id])
    assert (raw.messages, raw.note, raw.judgment.raw) == ((), NOT_REBUILT, None)


@on_sqlite
def test_an_offline_judge_asked_no_model(store):
    [response_id] = write_to(store, store_responses, [Response("log", "a", "q", "a")]).new
    judge_pending(store, make_judge("lexical"))
    with store.reading() as connection:
        [judgment] = load_item(connection, response_id).judgments
        [raw] = raw_calls(connection, response_id, [judgment.id])
    assert (raw.messages, raw.note) == ((), NO_CALL)


KEY = "sk-typed-by-a-person"


@on_sqlite
def test_an_own_key_reaches_the_address_and_is_stored_nowhere(log, endpoint, caplog):
    caplog.set_level(logging.DEBUG)
    job_id = ask(log, rag(endpoint), api_key=KEY)
    assert held_key(job_id) == KEY
    with working(log):
        job = ended(log, job_id)
    assert (job.state, job.ok) == ("done", ANSWERS)
    assert {request.headers["authorization"] for request in endpoint.server.requests} == {
        f"Bearer {KEY}"
    }
    assert held_key(job_id) is None
    with log.reading() as connection:
        stored = [
            connection.execute(select(table)).all() for table in (JOB, EVENT, VERSION, JUDGMENT)
        ]
    assert KEY not in str(stored)
    assert KEY not in caplog.text
    if log.is_sqlite:
        folder = Path(str(log.engine.url.database)).parent
        assert not [
            file
            for file in folder.iterdir()
            if file.is_file() and KEY.encode() in file.read_bytes()
        ]


def test_a_job_whose_key_is_gone_fails_and_says_what_to_do(sqlite_log, endpoint, monkeypatch):
    monkeypatch.setattr(rejudge_jobs, "KEY_SECONDS", 0.0)
    job_id = ask(sqlite_log, rag(endpoint), api_key=KEY)
    forget_key(job_id)  # as after a restart
    with working(sqlite_log):
        job = ended(sqlite_log, job_id)
    assert (job.state, job.asked) == ("failed", 0)
    assert job.why
    assert not endpoint.server.requests


def test_a_refused_job_keeps_no_key(sqlite_log, endpoint):
    ask(sqlite_log, rag(endpoint))
    with pytest.raises(BadInput):
        ask(sqlite_log, rag(endpoint), api_key=KEY)
    assert KEY not in jobs._held_keys.values()

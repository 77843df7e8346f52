"""Answers and feedback reach the server in its fields; the application neither waits nor fails."""

import asyncio
import atexit
import logging
import os
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

import judgeboard
from judgeboard import client as client_module
from judgeboard.llm.recording_endpoint import RecordingEndpoint, ScriptedReply, always
from result_fields import check_fields
from sent_traces import receiving
from stored_rows import columns

STORED = ScriptedReply({"stored": True})


@pytest.fixture
def server():
    """A server that stores everything, until a test gives it another script."""
    with RecordingEndpoint(always(STORED)) as endpoint:
        yield endpoint


@pytest.fixture
def client(server):
    """A client of this server, which sends at once."""
    made = client_of(address(server), api_key="jb-secret", source="shop")
    yield made
    assert made.flush(60)


def client_of(url, delay_s=0, **options):
    made = judgeboard.Client(url, delay_s=delay_s, **options)
    atexit.unregister(made._at_exit)  # it would report what was dropped after all tests
    return made


def record(client, *queries):
    """Record answers to these questions, and wait until all are sent or dropped."""
    for query in queries:
        judgeboard.record(query, "a", client=client)
    assert client.flush(60)


def address(server):
    return server.base_url.removesuffix("/v1")


def sent(server, path):
    return [entry for each in server.requests if each.path == path for entry in each.body]


@dataclass
class Document:
    """A document of LangChain, as far as it is read here."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


class Node:
    """A scored node of LlamaIndex, as far as it is read here."""

    score = 0.5

    def get_content(self):
        return "Nylon melts at 250 °C."


def test_answers_and_feedback_reach_the_server_in_its_fields(server, client):
    asked, at = datetime(2026, 3, 1, 12, tzinfo=UTC), "2026-03-01T12:00:00+00:00"
    answer_id = judgeboard.record(
        "When does nylon melt?",
        "At 250 °C.",
        ["a text", {"text": "b", "id": 7}, Document("c", {"page": 3}), Node()],
        asked_at=asked,
        metadata={"tags": {"b", "a"}, "build": asked},
        client=client,
    )
    judgeboard.feedback(answer_id, thumbs=False, user="ann", at=asked, client=client)
    judgeboard.feedback(trace_id="ab" * 16, stars=4, source="other", at=asked, client=client)
    assert client.flush(60)
    assert sent(server, "/api/responses") == [
        {
            "external_id": answer_id,
            "source": "shop",
            "query": "When does nylon melt?",
            "answer": "At 250 °C.",
            "context": [
                "a text",
                {"text": "b", "id": 7},
                {"text": "c", "metadata": {"page": 3}},
                {"text": "Nylon melts at 250 °C.", "score": 0.5},
            ],
            "asked_at": at,
            "metadata": {"tags": ["a", "b"], "build": at},
        }
    ]
    assert sent(server, "/api/feedback") == [
        {"response_id": answer_id, "thumbs": "down", "user": "ann", "at": at, "source": "shop"},
        {"trace_id": "ab" * 16, "stars": 4, "source": "other", "at": at},
    ]
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer jb-secret"}
    with pytest.raises(TypeError, match="modle"):
        judgeboard.record("q", "a", modle="m", client=client)


def test_a_verdict_of_an_own_judge_reaches_the_server_in_its_fields(server, client, sqlite_store):
    answer_id = judgeboard.record(
        "When does nylon melt?", "At 90 °C.", ["At 250 °C."], client=client
    )
    judgeboard.record_judgment(
        answer_id,
        "mine",
        judge_version="7",
        groundedness=0.1,
        label=judgeboard.Label.HALLUCINATED,
        scores={"tone": {"value": 4, "scale": "1-5"}},
        reasoning="no",
        client=client,
    )
    judgeboard.record_judgment(answer_id, "other", status="refused", error="no", client=client)
    assert client.flush(60)
    with receiving(sqlite_store) as http:
        for request in server.requests:
            reply = http.post(request.path, json=request.body).json()
            check_fields(reply, stored=len(request.body), problems=[], other_fields={})
        judgments = http.get(f"/api/responses/{answer_id}").json()["judgments"]
    assert columns(judgments, "judge", "status", "groundedness", "label") == [
        ("mine", "ok", 0.1, "hallucinated"),
        ("other", "refused", None, None),
    ]
    with pytest.raises(TypeError, match="groundednes"):
        judgeboard.record_judgment(answer_id, "mine", groundednes=1, client=client)
    reason = "9 is not 1 to 4"
    problem = {"row": 1, "field": "quality", "reason": reason}
    server.script = always(ScriptedReply({"problems": [problem]}))
    judgeboard.record_judgment(answer_id, "mine", quality=9, client=client)
    assert client.flush(60)
    assert client.dropped == {f"quality: {reason}": 1}


def test_answers_and_their_verdicts_are_two_requests_and_no_verdict_comes_before_its_answer(
    server, monkeypatch
):
    client = client_of(address(server), delay_s=60)

    def send_pairs():
        before = len(server.requests)
        for id_ in (f"{before}-{number}" for number in range(20)):
            judgeboard.record("q", "a" * 100, external_id=id_, client=client)
            judgeboard.feedback(id_, thumbs="up", client=client)
            judgeboard.record_judgment(id_, "mine", groundedness=0.5, client=client)
        assert client.flush(60)
        return [request.path for request in server.requests[before:]]

    assert send_pairs() == ["/api/responses", "/api/feedback", "/api/judgments"]
    # Two answers are larger than a batch, but several verdicts are not.
    monkeypatch.setattr(client_module, "_BATCH_BYTES", 500)
    assert len(send_pairs()) > 3

    def ids_in(entries):
        return [entry.get("response_id") or entry["external_id"] for entry in entries]

    stored = []
    for request in server.requests:
        if request.path == "/api/responses":
            stored += ids_in(request.body)
        else:
            assert set(ids_in(request.body)) <= set(stored)
    for path in ("/api/feedback", "/api/judgments"):
        assert ids_in(sent(server, path)) == stored, path


def test_a_value_that_json_does_not_have_loses_no_answer(server, client):
    note = "NaN in a text"
    metadata = {"score": float("nan"), "all": [float("inf"), 1.5], "note": note}
    judgeboard.record("Half an emoji \ud83d?", "a", metadata=metadata, client=client)
    assert client.flush(10)
    (entry,) = sent(server, "/api/responses")
    expected = {"score": None, "all": [None, 1.5], "note": note}
    check_fields(entry, query="Half an emoji \ufffd?", metadata=expected)


@pytest.mark.parametrize("asked", ["\u00b2", "Wed, 21 Oct 2026 07:28:00 GMT", "-1", ""])
def test_a_wait_that_is_no_number_of_seconds_is_chosen_by_the_client(asked):
    assert client_module._seconds(asked) is None


def test_a_busy_server_loses_nothing_and_a_bad_entry_only_itself(server, client, caplog):
    def script(entries, number):
        if number in {0, 3}:
            return ScriptedReply("later", 503, {"retry-after": "0"})
        if number == 1:
            return ScriptedReply(hang_up=True)
        return ScriptedReply("no answer", 400) if "bad" in columns(entries, "query") else STORED

    server.script = script
    client.delay_s = 60  # one batch: `flush` ends the wait
    record(client, "1", "2", "bad", "4", "5")
    accepted = [
        query
        for number, request in enumerate(server.requests)
        if script(request.body, number) is STORED
        for query in columns(request.body, "query")
    ]
    assert sorted(accepted) == ["1", "2", "4", "5"]
    assert client.dropped.total() == 1
    assert "no answer" in caplog.text


@pytest.mark.parametrize(
    ("refusal", "lost"),
    [
        (ScriptedReply("no question", 400), 2),
        (ScriptedReply("too large", 413), 2),
        (ScriptedReply("a fault", 500, {"retry-after": "0"}), 2),
        (ScriptedReply("not this type", 415), 5),
        (ScriptedReply("<html>Welcome</html>", 200), 5),
    ],
    ids=lambda value: str(getattr(value, "status", "")),
)
def test_what_a_server_cannot_use_is_dropped_with_its_number_and_the_reason(
    server, client, caplog, refusal, lost
):
    def script(entries, _number):
        return refusal if "bad" in columns(entries, "query") else STORED

    server.script = script
    client.delay_s = 60
    # It is not tried for ever.
    record(client, "bad", "2", "bad", "4", "5")
    assert client.dropped.total() == lost
    (told,) = [record.getMessage() for record in caplog.records if "not sent" in record.message]
    assert f": {lost}," in told


def test_an_address_without_a_scheme_is_named_and_not_tried_for_ever(caplog):
    client = client_of("localhost:8501")
    record(client, "q")
    assert client.dropped.total() == 1
    (reason,) = client.dropped
    assert reason in caplog.text


def test_a_key_that_no_header_can_hold_is_not_tried_for_ever_and_never_in_the_log(caplog):
    # No request comes that a server could answer.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        client = client_of(url, api_key="jb-first\nsecond")
        record(client, "q")
    (reason,) = client.dropped
    assert reason in caplog.text
    assert not [part for part in ("jb-first", "second") if part in caplog.text]


def test_a_full_queue_says_what_it_drops(server, caplog):
    release = threading.Event()
    began = threading.Event()

    async def script(_entries, _number):
        began.set()
        await asyncio.to_thread(release.wait)
        return STORED

    server.script = script
    client = client_of(address(server), max_entries=2)
    judgeboard.record("0", "a", client=client)
    assert began.wait(60)  # on its way, and no longer in the queue
    for number in range(1, 7):
        judgeboard.record(str(number), "a", client=client)
    release.set()
    assert client.flush(60)
    assert columns(sent(server, "/api/responses"), "query") == ["0", "1", "2"]
    assert list(client.dropped.values()) == [4]
    # Not one for each entry.
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.parametrize(
    ("status", "advice"), [(401, "JUDGEBOARD_API_KEY"), (403, "may not"), (302, "302")]
)
def test_a_refused_key_is_no_error_of_the_application(server, client, status, advice):
    server.script = always(ScriptedReply("no", status))
    judgeboard.record("q", "a", client=client)
    judgeboard.feedback("id", thumbs="up", client=client)
    assert client.flush(60)
    (reason,) = client.dropped
    assert advice in reason
    server.script = always(STORED)
    assert judgeboard.record("q", "a", external_id="mine", client=client) == "mine"
    assert client.flush(60)
    endless = {}
    endless["itself"] = endless
    # It is dropped: the application must not fail.
    judgeboard.record("q", "a", metadata=endless, client=client)
    assert client.dropped.total() == 3


def test_a_program_sends_at_its_end_also_in_a_forked_process_and_imports_no_more_than_it_needs(
    server,
):
    program = """
import os, sys, judgeboard
judgeboard.record
assert not {"httpx", "sqlalchemy", "pydantic"} & set(sys.modules)
judgeboard.record("parent", "a")
judgeboard.flush()
judgeboard.record("parent at exit", "a")
if os.fork() == 0:
    judgeboard.record("child", "a")
else:
    os.wait()
"""
    environment = {**os.environ, "JUDGEBOARD_URL": address(server) + "/", "JUDGEBOARD_API_KEY": "k"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    recorded = sorted(columns(sent(server, "/api/responses"), "query"))
    assert recorded == ["child", "parent", "parent at exit"]
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer k"}

"""Spans that are sent become answers."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from sqlalchemy import event, select
from starlette.applications import Starlette
from starlette.testclient import TestClient

from command_lines import run_line
from engines import on_sqlite
from job_steps import working
from judgeboard.judges.lexical import LexicalJudge, lexical_verdict
from judgeboard.receiving import gathering
from judgeboard.receiving.http import HttpTransport
from judgeboard.receiving.receiver import Receiver
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.runs.judging_rules import add_rule
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.forgetting import forget_response
from judgeboard.store.tables import RESPONSE, SPAN, TRACE, Trace
from judgeboard.store.traces import (
    LATE,
    NewSpan,
    UnusedTraces,
    lock_unchanged,
    ready_traces,
    set_rules,
    store_spans,
    unused_traces,
)
from judgeboard.traces.answers import answer_of as answer_of_trace
from judgeboard.traces.spans import Span
from judging_log import address, judgments, until
from sent_traces import (
    JSON,
    PROTOBUF,
    Sent,
    gathered,
    gzipped,
    request,
    send_spans,
    trace,
)
from stored_rows import read, row_count, write_to


def rows(store, *columns):
    with store.reading() as connection:
        return sorted(tuple(row) for row in connection.execute(select(*columns)))


def take(http, store, spans):
    """Send spans, and gather their traces."""
    send_spans(http, spans)
    gathered(store)


def answers(store):
    names = "external_id", "source", "query", "answer", "passages"
    return rows(store, *(RESPONSE.c[name] for name in names))


@pytest.mark.parametrize(
    "bad", [b"\0", b"\xff", b"\x1b"], ids=["NUL", "not UTF-8", "control character"]
)
@pytest.mark.parametrize("content_type", [JSON, PROTOBUF], ids=["JSON", "protobuf"])
def test_a_request_with_bad_characters_keeps_all_of_its_traces(http, store, bad, content_type):
    body = request([*trace(1), *trace(2, service="bakery")])
    if content_type is JSON:
        body = MessageToJson(ExportTraceServiceRequest.FromString(body)).encode()
    for text in (b"question 1", b"answer 1", b"passage 1 of 1", b"span 0", b"shop"):
        body = body.replace(text, text[:-1] + bad)  # of the same length
    assert send_spans(http, body, content_type).status_code == 200
    gathered(store)
    first, second = answers(store)
    assert second == answer_of(2, 1, source="bakery")
    assert [str(text)[:6] for text in first[2:4]] == ["questi", "answer"]


@on_sqlite
def test_while_no_trace_waits_nothing_is_written_and_a_new_one_is_gathered_soon(store, monkeypatch):
    monkeypatch.setattr(gathering, "IDLE_SECONDS", 3600.0)
    statements = []
    event.listen(
        store.engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2])
    )
    receiver = Receiver(lambda: store)
    app = Starlette(routes=HttpTransport(receiver).routes())
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 9)) as http:
        receiver.start()
        until(lambda: len(statements) >= 3, "the first look")
        assert all(
            statement == "BEGIN" or statement.startswith("SELECT") for statement in statements
        )
        assert send_spans(http, trace(1)).status_code == 200
        until(lambda: answers(store), "the answer")
        receiver.stop()


def answer_of(number, *passages, source="shop"):
    """What is stored of a trace with these passages, which count from 1."""
    texts = tuple(f"passage {passage} of {number}" for passage in passages)
    return (Sent(number).trace_id, source, f"question {number}", f"answer {number}", texts)


def test_a_trace_is_an_answer_when_its_root_has_ended_and_it_was_quiet(store, http):
    child, root = trace(1)
    assert send_spans(http, [child]).status_code == 200
    assert gathered(store) == 0  # the root has not ended
    reply = http.post("/v1/traces", **gzipped(request([root])))
    assert reply.status_code == 200
    assert reply.content == b""
    assert reply.headers["content-type"] == "application/x-protobuf"
    assert gathered(store, after=0) == 0  # spans may still follow
    assert gathered(store) == 1
    assert answers(store) == [answer_of(1, 1)]
    assert gathered(store) == 0


def test_the_same_batch_twice_in_any_split_changes_nothing(store, http):
    spans = [*trace(1), *trace(2)]
    for part in ([spans[0]], [spans[3], spans[1]], spans, spans[::-1], [spans[1]]):
        assert send_spans(http, part).status_code == 200
    gathered(store)
    expected = [answer_of(1, 1), answer_of(2, 1)]
    assert answers(store) == expected
    send_spans(http, spans)
    assert gathered(store, after=100) == 0
    assert answers(store) == expected
    assert row_count(store, SPAN) == 4


def test_a_trace_without_root_waits_for_long_and_says_why_it_is_no_answer(store, http):
    send_spans(http, [Sent(1, 1)])
    assert gathered(store, after=59) == 0
    assert gathered(store, after=61) == 1
    assert answers(store) == []
    [(state, reason)] = rows(store, TRACE.c.state, TRACE.c.reason)
    assert state == "none"
    assert reason
    take(http, store, [Sent(1)])
    assert answers(store) == [answer_of(1, 1)]


@pytest.mark.parametrize(
    "path", ["/api/public/otel/v1/traces", "/otel/v1/traces", "/v1/otel/v1/traces", "/v1/traces/"]
)
def test_the_paths_of_sdks_are_taken_without_a_redirect(http, path):
    reply = http.post(path, content=b'{"resourceSpans": []}', headers=JSON)
    assert reply.status_code == 200
    assert reply.json() == {}


def test_late_spans_complete_an_answer_that_nobody_has_read(store, http):
    first, second, root = trace(1, passages=2)
    take(http, store, [first, root])
    assert answers(store) == [answer_of(1, 1)]
    send_spans(http, [second])
    assert gathered(store) == 1
    assert answers(store) == [answer_of(1, 1, 2)]


@on_sqlite
def test_an_answer_grows_after_late_spans_that_could_not_be_stored(store, http, monkeypatch):
    def fails(*_more, **_options):
        raise RuntimeError

    first, second, third, root = trace(1, passages=3)
    take(http, store, [first, root])
    send_spans(http, [second])
    with monkeypatch.context() as patched:
        patched.setattr(gathering, "store_responses", fails)
        assert gathered(store) == 1
    send_spans(http, [third])
    assert gathered(store) == 1
    assert answers(store) == [answer_of(1, 1, 2, 3)]


@pytest.mark.parametrize(
    ("store", "by_a_rule"),
    [("sqlite", False), pytest.param("postgres", True, marks=pytest.mark.postgres)],
    indirect=["store"],
)
def test_late_spans_do_not_change_an_answer_that_a_judge_is_reading(
    store, http, monkeypatch, by_a_rule
):
    first, second, root = trace(1, passages=2)
    take(http, store, [first, root])

    async def judge_slowly(_judge, item):
        send_spans(http, [second])
        assert gathered(store) == 1
        return lexical_verdict(item.query, item.answer, item.passages)

    monkeypatch.setattr(LexicalJudge, "judge", judge_slowly)
    if by_a_rule:
        add_rule(store, "live", judge={"kind": "lexical"}, existing=True, actor="test")
        with working(store):
            until(lambda: judgments(store), "a judgment")
    else:
        judge_pending(store, make_judge("lexical"), actor="test")
    assert [judgment["status"] for judgment in judgments(store)] == ["ok"]
    assert answers(store) == [answer_of(1, 1)]
    assert rows(store, TRACE.c.state, TRACE.c.reason, TRACE.c.spans) == [("made", LATE, 3)]


def test_a_trace_never_changes_an_answer_that_came_another_way(store, http):
    trace_id = Sent(1).trace_id
    imported = {"external_id": trace_id, "source": "shop", "query": "imported?", "answer": "yes"}
    assert http.post("/api/responses", json=imported).json()["stored"] == 1
    first, second, root = trace(1, passages=2)
    for spans in ([first, root], [second]):
        take(http, store, spans)
    assert answers(store) == [(Sent(1).trace_id, "shop", "imported?", "yes", None)]
    assert rows(store, TRACE.c.state, TRACE.c.reason) == [("made", gathering.ELSEWHERE)]
    write_to(store, forget_response, Sent(1).trace_id, actor="test")
    assert row_count(store, SPAN) == 0
    send_spans(http, trace(1, passages=3))
    assert row_count(store, SPAN) == 0


def test_an_answer_keeps_its_source_when_the_root_of_another_service_comes_late():
    known = {"id": 1, "external_id": "a1", "owner": "", "source": "shop", "spans": 2}
    made, new = Trace(**known, response_id=7), Trace(**known)
    late = Span("a1", "b1", None, "gateway", 1, 2, resource={"service.name": "gateway"})
    for waiting, source in ((made, "shop"), (new, "gateway")):
        assert gathering._taken(waiting, [late], [], {})[0] == source


def test_a_forgotten_answer_does_not_come_back_with_its_spans(store, http):
    take(http, store, trace(1))
    write_to(store, forget_response, Sent(1).trace_id, actor="test")
    assert row_count(store, SPAN) == 0
    send_spans(http, trace(1, passages=2))
    assert gathered(store) == 0
    assert answers(store) == [(Sent(1).trace_id, "shop", None, None, None)]
    assert row_count(store, SPAN) == 0


@pytest.mark.postgres
def test_a_trace_cannot_be_forgotten_while_its_spans_are_stored(postgres_store):
    now = datetime.now(UTC)
    span = NewSpan.of(Span("a1", "b1", None, "ask", 1, 2), "shop")
    with postgres_store.writing() as connection:
        store_spans(connection, [span], "", now)
        [waiting] = ready_traces(connection, now, quiet=timedelta(0), longest=timedelta(0), limit=1)
    with postgres_store.writing() as connection, postgres_store.writing() as other:
        store_spans(connection, [span], "", now)
        assert lock_unchanged(other, [waiting]) == set()


def test_spans_of_traces_without_an_answer_are_forgotten_by_id_source_and_age(store, http):
    def forget(words):
        return run_line(f"db forget {words} --yes --db {address(store)}")

    def left():
        return [row[0] for row in rows(store, TRACE.c.external_id) if row[0] in spans()]

    def spans():
        joined = select(TRACE.c.external_id).join(SPAN, SPAN.c.trace_id == TRACE.c.id)
        with store.reading() as connection:
            return set(connection.execute(joined).scalars())

    answered, *unused = [Sent(number).trace_id for number in (1, 2, 3, 4)]
    sent = [Sent(2, 1), Sent(3, 1, service="other"), Sent(4, 1)]
    send_spans(http, [*trace(1), *sent])
    gathered(store, after=100)
    assert forget(f"{unused[0]} --source nobody") == 2
    assert forget(unused[0]) == 0
    assert left() == [answered, *unused[1:]]
    send_spans(http, [Sent(2)])  # a span that comes later
    assert forget("--unused --older-than 1") == 0
    assert left() == [answered, *unused[1:]]
    assert forget("--unused --source other") == 0
    assert left() == [answered, unused[2]]
    assert forget("--unused --older-than 0") == 0
    assert left() == [answered]
    assert forget("--older-than 0") == 2
    events = read(store, latest_events, EventFilter(kind="forget_traces"), limit=9)
    assert [event.details.get("trace") or event.details.get("source") for event in events] == [
        None,
        "other",
        unused[0],
    ]


def test_traces_without_an_answer_are_counted_since_a_time_with_the_most_common_reason(store, http):
    now = datetime.now(UTC)
    assert read(store, unused_traces, now - timedelta(days=7)) is None
    odd = request([Sent(9, 1)]).replace(b"RETRIEVER", b"EMBEDDING")
    shop, others = [*trace(1), Sent(2, 1), Sent(3, 1)], [Sent(4, 1, service="chat")]
    for body in (request(shop), odd, request(others)):
        send_spans(http, body)
    gathered(store, after=100)
    with store.reading() as connection:
        unused = unused_traces(connection, now - timedelta(days=7))
        # These are old by then.
        assert unused_traces(connection, now + timedelta(days=1)) is None
    why = "No answer, only spans: retrieval"
    assert unused == UnusedTraces(traces=4, source="shop", of_source=3, reason=why)


def test_of_a_trace_with_very_many_records_the_first_and_the_last_are_read(
    store, http, monkeypatch
):
    for limit in ("MOST_SPANS", "MOST_RECORDS"):
        monkeypatch.setattr(gathering, limit, 4)
    for spans in (trace(2), *([sent] for sent in trace(1, passages=6))):
        send_spans(http, spans)
    while gathered(store):
        pass
    assert answers(store) == [answer_of(1, 1, 2, 6), answer_of(2, 1)]
    why = "Only the first and the last 2 of 7 spans and log records were read."
    assert rows(store, TRACE.c.external_id, TRACE.c.reason) == [
        (Sent(1).trace_id, why),
        (Sent(2).trace_id, None),
    ]
    assert row_count(store, SPAN) == 9


@on_sqlite
def test_one_trace_that_cannot_be_stored_does_not_stop_the_others(store, http, monkeypatch):
    def spoiled(spans, *more, **options):
        taken = answer_of_trace(spans, *more, **options)
        bad = spans[0].trace_id == Sent(1).trace_id
        return replace(taken, response=replace(taken.response, query="nul \0")) if bad else taken

    monkeypatch.setattr(gathering, "answer_of", spoiled)
    send_spans(http, [*trace(1), *trace(2)])
    assert gathered(store) == 2
    assert answers(store) == [answer_of(2, 1)]
    assert gathered(store) == 0
    assert rows(store, TRACE.c.state) == [("made",), ("none",)]


@on_sqlite
def test_rules_of_a_source_read_what_no_convention_reads(store, http, shell):
    attributes = [
        {"key": f"own.{name}", "value": {"stringValue": f"{name} 7"}} for name in ("ask", "reply")
    ]
    span = {"traceId": "07" * 16, "spanId": "07" * 8, "name": "rag", "attributes": attributes}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    body = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]}
    assert http.post("/v1/traces", json=body).status_code == 200
    gathered(store)
    assert answers(store) == []
    db = f"--db {address(store)}"
    rules = "rag:question=attributes.own.ask answer=attributes.own.reply"
    shell(f"sources map shop {rules} {db}")
    gathered(store)
    assert answers(store) == [("07" * 16, "shop", "ask 7", "reply 7", None)]
    shell(f"sources map shop nonsense {db}", code=2)
    printed = json.loads(shell(f"sources --json {db}"))
    assert printed["sources"][0]["made"] == 1
    assert ["0707070707070707", "question"] in printed["traces"][0]["used"]


@on_sqlite
def test_a_new_trace_does_not_wait_for_those_that_are_read_again(store, http, monkeypatch):
    monkeypatch.setattr(gathering, "AT_ONCE", 2)
    for number in (1, 2, 3, 4):
        send_spans(http, trace(number))
    while gathered(store):
        pass
    write_to(store, set_rules, "shop", ["question=attributes.own.ask"], "test", datetime.now(UTC))
    send_spans(http, trace(5))
    assert gathered(store) == 2
    assert Sent(5).trace_id in [row[0] for row in answers(store)]
    assert (gathered(store), gathered(store), gathered(store)) == (2, 1, 0)

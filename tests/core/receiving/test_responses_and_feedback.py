"""Answers and feedback sent as JSON."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from engines import on_sqlite
from judgeboard.domain import Response
from judgeboard.receiving.gathering import attach_feedback
from judgeboard.receiving.keys import create_key
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.export import exports
from judgeboard.store.forgetting import forget_response
from judgeboard.store.items import load_item
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import FEEDBACK, FLAG, RESPONSE
from judgeboard.store.traces import count_waiting_feedback, take_feedback
from query_plans import plans_of, statements_of
from sent_traces import JSON, PROTOBUF, Sent, gathered, send_spans, trace
from stored_rows import read, values_of, write_to

ANSWER = {
    "id": "r1",
    "question": "Who?",
    "answer": "Nobody.",
    "contexts": ["It was nobody."],
    "model": "m",
}


def answer(http, rows=ANSWER, **options):
    return http.post("/api/responses", json=rows, **options)


def rate(http, entries, **options):
    return http.post("/api/feedback", json=entries, **options)


def rows(store, *columns):
    """Columns of the feedback that has an answer, with those of the answer."""
    query = select(*columns).where(FEEDBACK.c.response_id == RESPONSE.c.id)
    with store.reading() as connection:
        return sorted(map(tuple, connection.execute(query)))


def feedback(store):
    of = FEEDBACK.c
    return rows(store, RESPONSE.c.external_id, of.kind, of.value, of.user)


@on_sqlite
def test_one_answer_or_many_are_stored_with_the_names_of_the_import(store, http):
    reply = answer(http).json()
    assert reply["stored"] == 1
    assert reply["rejected"] == 0
    rows = [
        ANSWER,
        ANSWER | {"id": "r2"},
        {"id": "r3", "question": "no answer"},
        ANSWER | {"answer": "Changed."},
    ]
    reply = answer(http, rows[:3]).json()
    assert (reply["stored"], reply["unchanged"], reply["rejected"]) == (1, 1, 1)
    assert reply["problems"] == [{"row": 3, "field": "answer", "reason": "no answer"}]
    changed = answer(http, rows[3])
    assert changed.status_code == 400
    assert changed.json()["problems"][0]["field"] == "id"
    assert "id: 'r1'" in changed.json()["message"]
    assert answer(http, [rows[3], rows[1]]).status_code == 200
    for wrong in ({"id": "r3"}, [], "text", [1], None):
        assert answer(http, wrong).status_code == 400, wrong
    with store.reading() as connection:
        columns = RESPONSE.c
        stored = connection.execute(
            select(columns.external_id, columns.source, columns.query, columns.passages)
        )
        assert sorted(map(tuple, stored)) == [
            (id_, "default", "Who?", ("It was nobody.",)) for id_ in ("r1", "r2")
        ]


def test_an_answer_is_of_the_source_that_it_names_and_the_reply_names_its_other_fields(store, http):
    rows = [
        ANSWER | {"source": "shop", "lang": "de", "prompt": "Say who"},
        ANSWER | {"id": "r2", "lang": None},
    ]
    reply = answer(http, rows).json()
    assert reply["stored"] == 2
    assert reply["rejected"] == 0
    others = reply["other_fields"]
    assert set(others) == {"lang", "prompt"}
    assert others["prompt"].endswith("'question'")
    assert answer(http, ANSWER | {"id": "r3"}).json()["other_fields"] == {}
    stored = http.get("/api/responses/r1").json()["response"]
    assert stored["source"] == "shop"
    assert stored["metadata"] == {"lang": "de", "prompt": "Say who"}


def test_a_key_of_a_source_sends_no_answer_of_another(sqlite_store, http):
    headers = {"x-api-key": create_key(sqlite_store, "k", source="shop", by="test")}
    assert answer(http, ANSWER, headers=headers).status_code == 200
    for name in ("id", "external_id"):
        reply = answer(http, ANSWER | {name: "r9", "source": "other"}, headers=headers)
        assert reply.status_code == 403
        assert "'shop', not 'other'" in reply.text
    assert values_of(sqlite_store, RESPONSE.c.source) == ["shop"]


@on_sqlite
def test_feedback_is_for_the_source_that_it_names(store, http):
    shop = {"x-api-key": create_key(store, "shop", source="shop", by="test")}
    anyone = {"x-api-key": create_key(store, "any", by="test")}
    entry = {"response_id": "r1", "source": "shop", "thumbs": "down"}
    answer(http, ANSWER | {"source": "other"}, headers=anyone)
    assert rate(http, entry, headers=anyone).json() == {"attached": 0, "waiting": 1}
    answer(http, ANSWER, headers=shop)
    assert rate(http, entry | {"source": "other"}, headers=shop).status_code == 403
    assert rate(http, entry | {"source": ["shop"]}, headers=anyone).status_code == 400
    assert http.post("/api/feedback", content=b"{}", headers=shop | PROTOBUF).status_code == 415
    assert rows(store, RESPONSE.c.source, FEEDBACK.c.value) == [("shop", 0.0)]


def test_feedback_without_a_source_is_for_the_first_answer_with_the_id(store, http):
    for source in ("z", "a"):
        key = {"x-api-key": create_key(store, source, source=source, by="test")}
        send_spans(http, trace(1, service=source), headers=PROTOBUF | key)
        gathered(store)
    anyone = {"x-api-key": create_key(store, "any", by="test")}
    rate(http, {"trace_id": Sent(1).trace_id, "thumbs": "down"}, headers=anyone)
    assert rows(store, RESPONSE.c.source, FEEDBACK.c.value) == [("z", 0.0)]


@on_sqlite
def test_feedback_finds_its_answer_by_any_id_also_if_it_comes_first(store, http):
    root = Sent(1)
    entries = [
        {"trace_id": root.trace_id, "thumbs": "down", "user": "ann"},
        {"span_id": root.span_id, "stars": 2, "user": "ben"},
        {"response_id": "r1", "kind": "thumbs", "value": 1, "user": "cleo"},
    ]
    assert rate(http, entries).json() == {"attached": 0, "waiting": 3}
    send_spans(http, trace(1))
    answer(http)
    gathered(store)
    expected = [
        (root.trace_id, "stars", 2.0, "ben"),
        (root.trace_id, "thumbs", 0.0, "ann"),
        ("r1", "thumbs", 1.0, "cleo"),
    ]
    assert feedback(store) == expected
    assert rate(http, entries).json() == {"attached": 3, "waiting": 0}
    assert feedback(store) == expected  # the same feedback twice is one
    assert read(store, count_waiting_feedback) == 0


def test_of_feedback_without_a_time_what_arrives_later_is_newer(store, http):
    up, down = ({"response_id": "r1", "thumbs": thumbs} for thumbs in ("up", "down"))
    answer(http)
    for each in (up, down, down, up, [down, up, down]):
        rate(http, each)
    answer(http, ANSWER | {"feedback": {"thumbs": "up"}})
    assert values_of(store, FEEDBACK.c.value) == [1, 0, 1, 0, 1]


def test_the_comment_of_a_user_is_stored_once_and_exported_until_it_is_forgotten(store, http):
    down = {"response_id": "r1", "thumbs": "down", "user": "ann", "at": "2026-03-01"}
    commented = down | {"comment": "This price is of last year."}

    def comments():
        return [each.comment for each in read(store, load_item, 1).response.feedback]

    rate(http, down)  # waits for its answer
    rate(http, commented | {"user": "ben"})
    answer(http)
    for each in (commented, commented, down):  # words that come later are added, and lose nothing
        assert rate(http, each).json() == {"attached": 1, "waiting": 0}
    assert comments() == [None, commented["comment"], commented["comment"]]
    with store.reading() as connection:
        [row] = exports()["responses"].rows(connection)
    assert [each.get("comment") for each in row["feedback"]] == comments()
    rate(http, [down | {"user": "dan", "comment": "bad \0"}, down | {"user": "eve"}])
    assert comments()[3:] == ["bad \ufffd", None]
    write_to(store, forget_response, "r1", actor="lead")
    rate(http, commented)
    rate(http, commented | {"user": "cleo"})
    assert comments() == [None] * 6


def test_an_answer_that_comes_another_way_finds_its_feedback_at_once(store, http):
    rate(http, [{"response_id": name, "thumbs": "down"} for name in ("r1", "r2")])
    with store.writing() as connection:
        store_responses(connection, [Response("log", "r1", "q", "a")])
        assert count_waiting_feedback(connection) == 1
    assert values_of(store, FLAG.c.rule) == ["poor_rating"]
    assert feedback(store) == [("r1", "thumbs", 0.0, None)]


def test_feedback_that_comes_with_an_answer_is_newer_than_feedback_that_waited(store, http):
    rate(http, {"response_id": "r1", "thumbs": "up"})
    answer(http, ANSWER | {"feedback": {"thumbs": "down"}})
    assert values_of(store, FEEDBACK.c.value) == [1, 0]
    assert values_of(store, FLAG.c.rule) == ["poor_rating"]


def test_feedback_without_an_answer_is_deleted_after_a_week(store, http, monkeypatch):
    rate(http, [{"span_id": "s1", "thumbs": "down"}, {"trace_id": "t1", "stars": 1}])
    day = timedelta(days=1)
    for days, since, left in ((6.9, None, 2), (7.1, timedelta(minutes=1), 0)):
        now = datetime.now(UTC) + days * day
        attach_feedback(store, now, None if since is None else now - since)
        assert read(store, count_waiting_feedback) == left
    (event,) = read(store, latest_events, EventFilter(kind="expire_feedback"), limit=9)
    assert event.details == {"entries": 2}
    monkeypatch.setenv("JUDGEBOARD_FEEDBACK_DAYS", "0.5")
    rate(http, {"span_id": "s1", "thumbs": "down"})
    attach_feedback(store, datetime.now(UTC) + 0.6 * day)
    assert read(store, count_waiting_feedback) == 0


def test_a_look_at_waiting_feedback_reads_only_what_is_new(sqlite_store, http):
    rate(http, {"response_id": "r1", "thumbs": "down"})
    now = datetime.now(UTC)
    with statements_of(sqlite_store) as old:
        attach_feedback(sqlite_store, now, since=now + timedelta(seconds=1))
    assert not [statement for statement in old if "response" in statement]
    with plans_of(sqlite_store) as plans:
        attach_feedback(sqlite_store, now, since=now - timedelta(minutes=1))
        with sqlite_store.writing() as connection:
            take_feedback(connection, responses=[1])
            take_feedback(connection, traces=[1])
    reads = [step for plan in plans for step in plan.splitlines() if " waiting_feedback" in step]
    assert {step.partition(" (")[0] for step in reads} == {
        f"SEARCH waiting_feedback USING {kind}INDEX ix_waiting_feedback_{name}"
        for kind, name in (
            ("COVERING ", "received_at"),
            *(("", name) for name in ("received_at", "response_key", "trace_key", "span_key")),
        )
    }


def test_feedback_on_a_known_answer_raises_its_flag_at_once(store, http):
    answer(http)
    rate(http, {"response_id": "r1", "thumbs": "down"})
    assert values_of(store, FLAG.c.rule) == ["poor_rating"]


def test_a_text_that_cannot_be_stored_is_refused_by_the_name_of_its_field(sqlite_store, http):
    key = create_key(sqlite_store, "k", scopes=["ingest", "review"], by="test")
    bodies = {
        "/api/responses": ("query", '{"question": %s, "answer": "a"}'),
        "/api/feedback": ("user", '{"response_id": "r", "thumbs": "up", "user": %s}'),
        "/api/reviews": (
            "note",
            '{"reviewer": "ann", "response": "r", "label": "grounded", "note": %s}',
        ),
    }
    for path, (field, body) in bodies.items():
        for text, reason in ((r'"half \ud83d"', "half"), (r'"\u0000"', "NUL")):
            reply = http.post(path, content=body % text, headers=JSON | {"x-api-key": key})
            assert reply.status_code == 400
            assert field in reply.json()["message"]
            assert reason in reply.json()["message"]


@pytest.mark.parametrize(
    "entry",
    [
        {"thumbs": "up"},
        {"response_id": "r", "trace_id": "t", "thumbs": "up"},
        {"response_id": "r"},
        {"response_id": "r", "stars": 9},
        {"response_id": "r", "thumbs": "maybe"},
        {"response_id": {"a": 1}, "thumbs": "up"},
        {"response_id": "r\0", "thumbs": "up"},
        {"response_id": "r", "kind": "stars"},
        "text",
        [],
    ],
)
def test_feedback_that_cannot_be_used_is_refused_whole(sqlite_store, http, entry):
    good = {"response_id": "r", "thumbs": "up"}
    assert rate(http, entry).status_code == 400
    assert rate(http, [good, entry]).status_code == 400
    assert read(sqlite_store, count_waiting_feedback) == 0

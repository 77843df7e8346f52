"""Programs read answers and flags with a key, and store reviews in the name of a person by the rules of the pages."""

import io
import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from engines import on_sqlite
from judgeboard.domain import Role
from judgeboard.measure.agreement_page import agreement_page
from judgeboard.measure.ratings import PairSource
from judgeboard.people.roster import add_person, ensure_reviewer, list_people, remove_person
from judgeboard.receiving.keys import create_key
from judgeboard.reviews.submissions import NO_LEASE
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.export import export_tables
from judgeboard.store.tables import FLAG, REVIEW
from queue_case import queue_case
from sent_traces import Sent, gathered, receiving, send_spans, trace
from stored_rows import read

UNSURE = {"flag": 1, "decision": "unsure"}


def bearer(store, *scopes, **options):
    name = " ".join((*scopes, *options.values()))
    return {
        "authorization": f"Bearer {create_key(store, name, scopes=scopes, by='test', **options)}"
    }


def send_review(http, body, headers=None):
    return http.post("/api/reviews", json=body, headers=headers)


def flagged_case(store, *scores):
    """Answers with these scores; return the case, and the ids of their flags."""
    case = queue_case(store)
    case.flagged(*scores)
    return case, [row["id"] for row in case.rows(FLAG)]


def exported(store, name):
    file = io.BytesIO()
    export_tables(store, {name: file})
    return [json.loads(line) for line in file.getvalue().splitlines()]


def test_an_answer_is_read_with_the_records_of_the_export(store, http):
    case, (flag, _) = flagged_case(store, 0.1, 0.2)
    case.decide(flag, case.mara)
    send_spans(http, trace(7))
    gathered(store)
    answer = exported(store, "responses")[0]

    def get(name, **parameters):
        return http.get(f"/api/responses/{name}", params=parameters)

    read = get("a0").json()
    assert get(Sent(7).trace_id).json()["response"]["query"] == "question 7"
    assert get(1).status_code == 404  # not the number of a row
    assert get("a0", sorce="log").status_code == 400
    http.post("/api/responses", json={"id": "a0", "query": "q", "answer": "a"})
    both = get("a0")
    assert read["response"] == answer
    assert [each | {"judgment": None} for each in read["judgments"]] == [
        each | {"judgment": None} for each in exported(store, "judgments")[:1]
    ]
    assert read["flags"] == exported(store, "flags")[:1]
    assert read["reviews"] == exported(store, "reviews")
    assert both.status_code == 400
    assert "default, log" in both.text
    assert get("a0", source="log").json() == read


def test_flags_are_read_in_pages(store, http):
    case, ids = flagged_case(store, 0.1, 0.2, 0.3, 0.4)
    case.decide(ids[1], case.mara)
    flags = exported(store, "flags")

    def read(**parameters):
        return http.get("/api/flags", params=parameters).json()

    first = read(limit=2)
    second = read(limit=2, after=first["next"])
    assert first["flags"] + second["flags"] == [flags[0], *flags[2:]]
    assert second["next"] is None
    assert read(state="confirmed", rule="low_groundedness")["flags"] == [flags[1]]
    assert read(rule="judge_failed") == read(source="other") == {"flags": [], "next": None}
    for wrong in ("state=confirm", "limit=0", "limit=1001", "after=x", "stat=open"):
        assert http.get(f"/api/flags?{wrong}").status_code == 400


def test_a_key_does_only_what_its_scopes_and_its_source_allow(sqlite_store):
    _, [flag] = flagged_case(sqlite_store, 0.1)
    sent = {"reviewer": "Mara", "flag": flag, "decision": "confirm"}
    calls = {
        "read": ("GET", "/api/responses/a0", None),
        "flags": ("GET", "/api/flags", None),
        "review": ("POST", "/api/reviews", sent),
    }
    allowed = {"ingest": set(), "read": {"read", "flags"}, "review": {"review"}}
    keys = {scope: bearer(sqlite_store, scope) for scope in allowed}
    other = bearer(sqlite_store, "read", "review", source="shop")
    with receiving(sqlite_store, "203.0.113.9") as http:
        for call, (method, path, body) in calls.items():
            for scope, names in allowed.items():
                status = http.request(method, path, json=body, headers=keys[scope]).status_code
                assert status == (200 if call in names else 403), (call, scope)
            assert http.request(method, path, json=body).status_code == 401
        assert http.get(calls["read"][1], headers=other).status_code == 404
        assert http.get("/api/flags", headers=other).json()["flags"] == []
        assert http.get("/api/flags?source=log", headers=other).status_code == 403
        assert send_review(http, sent, other).status_code == 404


@on_sqlite
def test_a_review_is_stored_once_in_the_name_of_a_person_and_of_the_key(store, http):
    case, [flag] = flagged_case(store, 0.1)
    for name in ("Ann", "Bob"):
        ensure_reviewer(store, "page", name)
    headers = bearer(store, "review")
    sent = {
        "reviewer": "Ann",
        "flag": flag,
        "decision": "confirm",
        "quality": 2,
        "note": "made up",
        "request_key": "1",
    }
    replies = [send_review(http, sent, headers).json() for _ in range(2)]
    decided = send_review(http, sent | {"reviewer": "Bob", "request_key": "2"}, headers)
    grade = {"reviewer": "Bob", "response": "a0", "groundedness": 1.0}
    graded = send_review(http, grade, headers)
    review, note, grade = case.rows(REVIEW)
    assert replies == [{"review": review["id"], "flags_stay_open": None}] * 2
    assert review["decision"] == "confirm"
    assert review["quality"] == 2
    assert review["note"] == "made up"
    assert case.rows(FLAG)[0]["state"] == "confirmed"
    assert decided.status_code == 409
    assert note["decision"] is None
    assert note["quality"] is None
    assert note["note"] == "made up"
    assert {"Ann", "a0:"} <= {*decided.json()["message"].replace(",", "").split()}
    assert graded.json() == {"review": grade["id"]}
    events = read(store, latest_events, EventFilter(kind="send_review"), limit=9)
    assert {event.actor for event in events} == {"key:review"}


def test_of_people_who_decide_at_once_only_the_accepted_one_is_counted(store):
    case, flags = flagged_case(store, 0.1, 0.2, 0.3)
    people = [ensure_reviewer(store, "page", f"r{number}").name for number in range(5)]
    headers = bearer(store, "review")
    with receiving(store) as http, ThreadPoolExecutor(len(people)) as pool:

        def send(flag, number):
            grade = {"decision": "dismiss", "label": "grounded"}
            if number == 0:
                grade = {"decision": "confirm", "label": "hallucinated"}
            about = {"reviewer": people[number], "flag": flag, "note": "Why"}
            return send_review(http, about | grade, headers).status_code

        for flag in flags:
            statuses = list(pool.map(partial(send, flag), range(len(people))))
            assert sorted(statuses) == [200, 409, 409, 409, 409]
    reviews = case.rows(REVIEW)
    assert len(reviews) == 3 * len(people)
    assert {(row["decision"] is None, row["label"] is None) for row in reviews} == {
        (True, True),
        (False, False),
    }
    assert {row["note"] for row in reviews} == {"Why"}


@on_sqlite
def test_a_made_up_lease_stores_nothing_and_moves_no_figure(store, http):
    case, _ = flagged_case(store, 0.1, 0.2)
    case.queue(
        needed=2,
        blind_judge=True,
        blind_people=True,
        order="oldest",
        assigned=(case.mara, case.jon),
    )
    for who in (case.mara, case.jon):
        case.review(who, label="hallucinated", groundedness=0.1)
    leased = case.lease(case.mara)
    secret = leased.token.partition(".")[2]
    first, second = (item["id"] for item in case.items())

    def figures():
        with store.reading() as connection:
            pages = [
                agreement_page(PairSource(connection), grade=grade)
                for grade in ("label", "groundedness")
            ]
        return [page.result.n for page in pages if page.version is not None], len(case.reviews())

    before = figures()
    headers = bearer(store, "review", source="log")
    grade = {"label": "grounded", "groundedness": 0.9, "note": "typed"}
    replies = [
        send_review(http, grade | {"reviewer": who, "lease": token}, headers)
        for token in (f"{first}.madeup", f"{second}.madeup", f"{first}.{secret}", leased.token)
        for who in ("Mara", "Jon", case.ada.name)
        if (token, who) != (leased.token, "Mara")
    ]
    assert {(reply.status_code, reply.json()["message"]) for reply in replies} == {(409, NO_LEASE)}
    assert figures() == before
    assert before == ([1, 1], 2)


def test_blind_queues_and_leases_bind_a_key_too(store, http):
    case, flags = flagged_case(store, 0.1, 0.2)
    case.queue(blind_judge=True, order="oldest", assigned=(case.mara,))
    headers = bearer(store, "review")

    def send(**review):
        return send_review(http, {"reviewer": "Mara"} | review, headers)

    blind = send(flag=flags[0], decision="confirm")
    leased = case.lease(case.mara)
    stolen = send(lease=leased.token, decision="confirm", reviewer="Jon")
    stored = send(lease=leased.token, decision="confirm")
    again = send(lease=leased.token, decision="dismiss")
    assert blind.status_code == 409
    assert "blind" in blind.text
    assert stolen.status_code == again.status_code == 409
    assert stored.status_code == 200
    assert stored.json()["state"] == "agreed"
    decisions = [(row["decision"], row["stage"]) for row in case.rows(REVIEW) if row["decision"]]
    assert decisions == [("confirm", "blind")]


@pytest.mark.parametrize(
    ("review", "field"),
    [
        ({"flag": 1, "decision": "confirm"}, "reviewer"),
        ({"reviewer": "Ann", "flag": 1}, "decision"),
        ({"reviewer": "Ann", "flag": 1, "decision": "confirmed"}, "decision"),
        ({"reviewer": "Ann", "decision": "confirm"}, "one of flag, response and lease"),
        ({"reviewer": "Ann", "flag": 1, "response": "a"}, "one of flag, response and lease"),
        ({"reviewer": "Ann", "response": "a", "decision": "confirm"}, "decision"),
        ({"reviewer": "Ann", "flag": 1, "decision": "confirm", "groundednes": 1}, "groundednes"),
        ({"reviewer": "Ann", "lease": "12", "decision": "confirm"}, "token"),
        ([], "review"),
    ],
)
def test_a_review_that_cannot_be_used_is_refused_with_its_field(http, review, field):
    reply = send_review(http, review)
    assert reply.status_code == 400, reply.text
    assert field in reply.text, reply.text


def test_where_people_sign_in_only_those_with_a_role_review(sqlite_store, http):
    flagged_case(sqlite_store, 0.1)
    for role in (Role.VIEWER, Role.REVIEWER):
        add_person(sqlite_store, f"{role}@example.org", role, "test")
    statuses = [
        send_review(http, UNSURE | {"reviewer": name}).status_code
        for name in ("stranger@example.org", "Nobody", "viewer@example.org", "reviewer@example.org")
    ]
    assert statuses == [400, 400, 403, 200]


@on_sqlite
def test_a_key_writes_in_no_name_that_nobody_added_and_no_error_names_people(store, http):
    flagged_case(store, 0.1)
    ensure_reviewer(store, "cli", "cli:root")
    ensure_reviewer(store, "page", "Gone")
    remove_person(store, "Gone", "cli:root")
    headers = bearer(store, "review")

    def send(name):
        reply = send_review(http, UNSURE | {"reviewer": name}, headers)
        return reply.status_code, reply.text

    entered = [send(name) for name in ("Nobody", "cli:root", "eve@example.org", "Gone", "mara")]
    add_person(store, "ann@example.org", Role.REVIEWER, "cli:root")
    signed_in = [
        send(name) for name in ("Nobody", "Mara", "cli:root", "eve@example.org", "ANN@example.org")
    ]
    assert [status for status, _ in entered] == [400, 400, 400, 403, 200]
    assert [status for status, _ in signed_in] == [400, 400, 400, 400, 200]
    for message in (message for status, message in entered + signed_in if status == 400):
        assert "judgeboard people add" in message
        assert not any(name in message for name in ("Jon", "Ada", "ann@example.org"))
    assert not {"Nobody", "eve@example.org"} & {
        line.person.name for line in read(store, list_people)
    }


def test_the_first_admin_in_the_environment_means_that_people_sign_in(
    sqlite_store, http, monkeypatch
):
    case, _ = flagged_case(sqlite_store, 0.1)
    monkeypatch.setenv("JUDGEBOARD_ADMIN", "ann@example.org")
    reply = send_review(http, UNSURE | {"reviewer": "Mara"})
    assert reply.status_code == 400
    assert case.rows(REVIEW) == []

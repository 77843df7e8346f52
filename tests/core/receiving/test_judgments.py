"""Verdicts of own judges, sent as JSON: they are those of an import, once each, and raise flags."""

import io
import json

import pytest

from engines import on_sqlite
from judgeboard.imports.importing import import_file
from judgeboard.people.roster import restore_version, retire_version
from judgeboard.receiving.keys import create_key
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.export import export_tables
from judgeboard.store.judge_versions import list_versions
from sent_traces import JSON, receiving
from stored_rows import read

ANSWER = {
    "id": "r1",
    "question": "Who?",
    "answer": "Nobody knows.",
    "contexts": ["Nobody."],
    "source": "shop",
}
VERDICT = {
    "response_id": "r1",
    "judge": "mine",
    "judge_version": "2026-10",
    "judge_model": "m-1",
    "groundedness": 0.2,
    "quality": 2,
    "label": "hallucinated",
    "scores": {"tone": {"value": 4, "scale": "1-5", "reasoning": "polite"}},
    "reasoning": "why",
    "claims": [{"text": "Nobody knows.", "status": "unsupported", "answer_quote": "Nobody knows."}],
    "raw": {"g": 0.2},
}


@pytest.fixture
def send(http):
    """Store the answer, and return ``send(verdicts, headers=…)``."""
    http.post("/api/responses", json=ANSWER)
    return lambda verdicts, **options: http.post("/api/judgments", json=verdicts, **options)


def judgments(http):
    return http.get("/api/responses/r1").json()["judgments"]


def exported(store, *names):
    """The rows of tables, without what differs between a file and a request."""
    files = {name: io.BytesIO() for name in names}
    export_tables(store, dict(files))
    rows = {
        name: [json.loads(line) for line in file.getvalue().splitlines()]
        for name, file in files.items()
    }
    return {
        name: [{**row, "run": None, "created_at": None} for row in of_table]
        for name, of_table in rows.items()
    }


def test_a_verdict_is_stored_as_an_imported_one_and_raises_the_same_flags(new_store):
    sent, imported = new_store(), new_store()
    with receiving(sent) as http:
        http.post("/api/responses", json=ANSWER)
        reply = http.post("/api/judgments", json=VERDICT | {"colour": "red"})
    assert reply.status_code == 200
    assert reply.json() == {
        "stored": 1,
        "unchanged": 0,
        "rejected": 0,
        "problems": [],
        "other_fields": {"colour": "not stored"},
    }
    for kind, row in (("responses", ANSWER), ("verdicts", VERDICT)):
        import_file(imported, io.BytesIO(json.dumps(row).encode()), kind=kind, source="shop")
    tables = exported(sent, "judgments", "flags")
    assert tables == exported(imported, "judgments", "flags")
    [judgment] = tables["judgments"]
    assert [score["reasoning"] for score in judgment["scores"]] == ["polite"]
    assert {flag["rule"] for flag in tables["flags"]} == {"low_groundedness", "low_quality"}
    for each in (sent, imported):
        [version] = read(each, list_versions)
        assert version.title == "mine v1"
        assert version.model == "m-1"
        assert version.params == {"recorded": "2026-10"}


@on_sqlite
def test_the_same_verdict_is_stored_once_and_another_one_is_newer(store, http, send):
    second = VERDICT | {"groundedness": 0.9, "quality": 4, "label": None}

    def post(*verdicts):
        reply = send(list(verdicts)).json()
        return reply["stored"], reply["unchanged"]

    counts = [post(VERDICT), post(VERDICT), post(second), post(second)]
    other = post(VERDICT | {"judge_version": "2026-11"}, VERDICT | {"judge": "another"})
    assert counts == [(1, 0), (0, 1), (1, 0), (0, 1)]
    assert other == (2, 0)
    of_first = [each for each in judgments(http) if each["judge"] == "mine"]
    assert [(each["ask"], each["groundedness"]) for each in of_first] == [
        (0, 0.2),
        (1, 0.9),
        (0, 0.2),
    ]
    assert len({each["judge_version"] for each in of_first}) == 2
    assert [version.title for version in read(store, list_versions)] == [
        "another v1",
        "mine v1",
        "mine v2",
    ]


@on_sqlite
def test_of_several_verdicts_in_one_request_the_last_is_the_newest(store, send):
    verdict = {"response_id": "r1", "judge": "mine"}
    reply = send([verdict | {"groundedness": value} for value in (0.9, 0.2, 0.2, 0.9)]).json()
    assert (reply["stored"], reply["unchanged"], reply["rejected"]) == (3, 1, 0)
    send(verdict | {"groundedness": 0.2})
    stored = exported(store, "judgments")["judgments"]
    assert [(each["ask"], each["groundedness"]) for each in stored] == [
        (0, 0.9),
        (1, 0.2),
        (2, 0.9),
        (3, 0.2),
    ]


def test_a_verdict_of_a_judge_that_the_server_has_is_of_this_version(store, http, send):
    send(VERDICT)
    [judgment] = judgments(http)
    again = VERDICT | {"judge_version": judgment["judge_version"]}
    assert send(again).json()["unchanged"] == 1


def test_a_retired_version_takes_no_new_verdict_until_it_is_restored(store, http, send):
    http.post("/api/responses", json=ANSWER | {"id": "r2"})
    send(VERDICT | {"judge": "primary"})
    send(VERDICT)
    retire_version(store, "mine v1", "cli:ann")
    newer = send([VERDICT | {"quality": 4}, VERDICT | {"response_id": "r2"}]).json()
    assert newer["stored"] == 0
    assert [each["field"] for each in newer["problems"]] == ["judge_version"] * 2
    for words in (
        "mine v1 was retired by cli:ann",
        'versions restore "mine v1"',
        "another judge_version",
    ):
        assert words in newer["problems"][0]["reason"]
    assert send(VERDICT).json()["unchanged"] == 1, "as before"
    assert send(VERDICT | {"judge_version": "2026-11"}).json()["stored"] == 1
    restore_version(store, "mine v1", "cli:ann")
    assert send(VERDICT | {"response_id": "r2"}).json()["stored"] == 1


@on_sqlite
def test_nobody_sends_verdicts_of_a_judge_of_the_server_or_of_another_name(store, http, send):
    judge_pending(store, make_judge("lexical"))
    [own] = judgments(http)
    send(VERDICT)
    sent = next(each for each in judgments(http) if each["judge"] == "mine")
    for name, version, field, words in (
        ("lexical", own, "judge_version", "this server runs lexical v1"),
        ("totally other", own, "judge", "is a version of 'lexical', not of 'totally other'"),
        ("totally other", sent, "judge", "is a version of 'mine', not of 'totally other'"),
    ):
        named = {"judge": name, "judge_version": version["judge_version"], "quality": 4}
        reply = send(VERDICT | named).json()
        [problem] = reply["problems"]
        assert reply["stored"] == 0, name
        assert reply["rejected"] == 1, name
        assert problem["field"] == field, name
        assert words in problem["reason"]
    assert [each["judge"] for each in judgments(http)] == ["lexical", "mine"]
    assert own in judgments(http)


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"groundedness": 85}, "groundedness"),
        ({"response_id": ""}, "external_id"),
        ({"reasoning": "\ud800"}, "reasoning"),
    ],
)
def test_a_refused_field_is_named_and_the_others_of_a_list_are_stored(http, send, part, field):
    wrong = VERDICT | {"judge": "other"} | part

    def post(verdicts):  # JSON of lone surrogates, which no client sends by itself
        return http.post("/api/judgments", content=json.dumps(verdicts), headers=JSON)

    alone = post(wrong)
    assert alone.status_code == 400
    assert alone.json()["message"].partition(": ")[2].startswith(f"{field}: ")
    reply = post([wrong, VERDICT]).json()
    assert reply["stored"] == 1
    assert reply["rejected"] == 1
    assert [(each["row"], each["field"]) for each in reply["problems"]] == [(1, field)]


@on_sqlite
def test_a_verdict_finds_its_answer_in_the_source_of_the_key_or_of_the_body(store, http, send):
    shop = {"x-api-key": create_key(store, "shop", source="shop", by="test")}
    anyone = {"x-api-key": create_key(store, "any", by="test")}
    reader = {"x-api-key": create_key(store, "read", scopes=["read"], by="test")}
    http.post("/api/responses", json=ANSWER | {"source": "bank"}, headers=anyone)
    assert send(VERDICT, headers=reader).status_code == 403
    refused = send(VERDICT | {"source": "bank"}, headers=shop)
    assert refused.status_code == 403
    assert "'shop', not 'bank'" in refused.text
    assert send(VERDICT, headers=shop).json()["stored"] == 1
    assert send(VERDICT | {"source": "bank"}, headers=anyone).json()["stored"] == 1
    for body, reason in (
        (VERDICT, "--source"),
        (VERDICT | {"response_id": "r9"}, "no response 'r9'"),
    ):
        reply = send(body, headers=anyone)
        assert reply.status_code == 400
        assert reply.json()["stored"] == 0
        [problem] = reply.json()["problems"]
        assert problem["field"] == "external_id", problem
        assert reason in problem["reason"], problem


def test_five_hundred_versions_in_one_request_are_stored(sqlite_store, http, send):
    names = [f"r{number}" for number in range(500)]
    verdicts = [VERDICT | {"response_id": name, "judge_version": f"of {name}"} for name in names]
    http.post("/api/responses", json=[ANSWER | {"id": name} for name in names])
    reply = send(verdicts)
    assert reply.status_code == 200
    assert reply.json()["stored"] == 500
    assert len(read(sqlite_store, list_versions)) == 500

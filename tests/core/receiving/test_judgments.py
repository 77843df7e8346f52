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
from sent_traces import receiving

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
    assert (reply.status_code, reply.json()) == (
        200,
        {
            "stored": 1,
            "unchanged": 0,
            "rejected": 0,
            "problems": [],
            "other_fields": {"colour": "not stored"},
        },
    )
    import_file(
        imported, io.BytesIO(json.dumps(ANSWER).encode()), source="shop", name="answers.jsonl"
    )
    import_file(
        imported, io.BytesIO(json.dumps(VERDICT).encode()), kind="verdicts", name="verdicts.jsonl"
    )
    tables = exported(sent, "judgments", "flags")
    assert tables == exported(imported, "judgments", "flags")
    [judgment] = tables["judgments"]
    assert [score["reasoning"] for score in judgment["scores"]] == ["polite"]
    assert {flag["rule"] for flag in tables["flags"]} == {"low_groundedness", "low_quality"}
    for each in (sent, imported):
        with each.reading() as connection:
            [version] = list_versions(connection)
        assert (version.title, version.model, version.params) == (
            "mine v1",
            "m-1",
            {"recorded": "2026-10"},
        )


@on_sqlite
def test_the_same_verdict_is_stored_once_and_another_one_is_newer(store):
    second = VERDICT | {"groundedness": 0.9, "quality": 4, "label": None}
    with receiving(store) as http:
        http.post("/api/responses", json=ANSWER)

        def post(*verdicts):
            reply = http.post("/api/judgments", json=list(verdicts)).json()
            return reply["stored"], reply["unchanged"]

        counts = [post(VERDICT), post(VERDICT), post(second), post(second)]
        other = post(VERDICT | {"judge_version": "2026-11"}, VERDICT | {"judge": "another"})
        assert (counts, other) == ([(1, 0), (0, 1), (1, 0), (0, 1)], (2, 0))
        stored = http.get("/api/responses/r1").json()
    of_first = [each for each in stored["judgments"] if each["judge"] == "mine"]
    assert [(each["ask"], each["groundedness"]) for each in of_first] == [
        (0, 0.2),
        (1, 0.9),
        (0, 0.2),
    ]
    assert len({each["judge_version"] for each in of_first}) == 2
    with store.reading() as connection:
        assert [version.title for version in list_versions(connection)] == [
            "another v1",
            "mine v1",
            "mine v2",
        ]


@on_sqlite
def test_of_several_verdicts_in_one_request_the_last_is_the_newest(store):
    verdict = {"response_id": "r1", "judge": "mine"}
    with receiving(store) as http:
        http.post("/api/responses", json=ANSWER)
        sent = [verdict | {"groundedness": value} for value in (0.9, 0.2, 0.2, 0.9)]
        reply = http.post("/api/judgments", json=sent).json()
        assert (reply["stored"], reply["unchanged"], reply["rejected"]) == (3, 1, 0)
        http.post("/api/judgments", json=verdict | {"groundedness": 0.2})
    judgments = exported(store, "judgments")["judgments"]
    assert [(each["ask"], each["groundedness"]) for each in judgments] == [
        (0, 0.9),
        (1, 0.2),
        (2, 0.9),
        (3, 0.2),
    ]


def test_a_verdict_of_a_judge_that_the_server_has_is_of_this_version(store):
    with receiving(store) as http:
        http.post("/api/responses", json=ANSWER)
        http.post("/api/judgments", json=VERDICT)
        [judgment] = http.get("/api/responses/r1").json()["judgments"]
        again = VERDICT | {"judge_version": judgment["judge_version"]}
        assert http.post("/api/judgments", json=again).json()["unchanged"] == 1


def test_a_retired_version_takes_no_new_verdict_until_it_is_restored(store):
    second = ANSWER | {"id": "r2"}
    with receiving(store) as http:
        http.post("/api/responses", json=[ANSWER, second])
        http.post("/api/judgments", json=VERDICT | {"judge": "primary"})
        http.post("/api/judgments", json=VERDICT)
        retire_version(store, "mine v1", "cli:ann")
        newer = http.post(
            "/api/judgments", json=[VERDICT | {"quality": 4}, VERDICT | {"response_id": "r2"}]
        ).json()
        assert (newer["stored"], [each["field"] for each in newer["problems"]]) == (
            0,
            ["judge_version"] * 2,
        )
        for words in (
            "mine v1 was retired by cli:ann",
            'versions restore "mine v1"',
            "another judge_version",
        ):
            assert words in newer["problems"][0]["reason"]
        assert http.post("/api/judgments", json=VERDICT).json()["unchanged"] == 1, "as before"
        assert (
            http.post("/api/judgments", json=VERDICT | {"judge_version": "2026-11"}).json()[
                "stored"
            ]
            == 1
        )
        restore_version(store, "mine v1", "cli:ann")
        assert (
            http.post("/api/judgments", json=VERDICT | {"response_id": "r2"}).json()["stored"] == 1
        )


@on_sqlite
def test_nobody_sends_verdicts_of_a_judge_of_the_server_or_of_another_name(store):
    import_file(store, io.BytesIO(json.dumps(ANSWER).encode()), source="shop", name="answers.jsonl")
    judge_pending(store, make_judge("lexical"))
    with receiving(store) as http:
        [own] = http.get("/api/responses/r1").json()["judgments"]
        http.post("/api/judgments", json=VERDICT)
        sent = next(
            each
            for each in http.get("/api/responses/r1").json()["judgments"]
            if each["judge"] == "mine"
        )
        for name, version, field, words in (
            ("lexical", own, "judge_version", "this server runs lexical v1"),
            ("totally other", own, "judge", "is a version of 'lexical', not of 'totally other'"),
            ("totally other", sent, "judge", "is a version of 'mine', not of 'totally other'"),
        ):
            verdict = VERDICT | {
                "judge": name,
                "judge_version": version["judge_version"],
                "quality": 4,
            }
            reply = http.post("/api/judgments", json=verdict).json()
            assert (reply["stored"], reply["rejected"], reply["problems"][0]["field"]) == (
                0,
                1,
                field,
            ), name
            assert words in reply["problems"][0]["reason"]
        assert {each["judge"] for each in http.get("/api/responses/r1").json()["judgments"]} == {
            "lexical",
            "mine",
        }
        assert own in http.get("/api/responses/r1").json()["judgments"]


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"groundedness": 85}, "groundedness"),
        ({"response_id": ""}, "external_id"),
        ({"reasoning": "\ud800"}, "reasoning"),
    ],
)
def test_a_refused_field_is_named_and_the_others_of_a_list_are_stored(sqlite_store, part, field):
    wrong = VERDICT | {"judge": "other"} | part
    with receiving(sqlite_store) as http:
        http.post("/api/responses", json=ANSWER)
        alone = http.post(
            "/api/judgments",
            content=json.dumps(wrong),
            headers={"content-type": "application/json"},
        )
        assert (
            alone.status_code,
            alone.json()["message"].partition(": ")[2].startswith(f"{field}: "),
        ) == (400, True)
        listed = json.dumps([wrong, VERDICT])
        reply = http.post(
            "/api/judgments", content=listed, headers={"content-type": "application/json"}
        ).json()
    assert (reply["stored"], reply["rejected"]) == (1, 1)
    assert (reply["problems"][0]["row"], reply["problems"][0]["field"]) == (1, field)


@on_sqlite
def test_a_verdict_finds_its_answer_in_the_source_of_the_key_or_of_the_body(store):
    shop = {"x-api-key": create_key(store, "shop", source="shop", by="test")}
    anyone = {"x-api-key": create_key(store, "any", by="test")}
    reader = {"x-api-key": create_key(store, "read", scopes=["read"], by="test")}
    with receiving(store) as http:
        for source in ("shop", "bank"):
            http.post("/api/responses", json=ANSWER | {"source": source}, headers=anyone)
        assert http.post("/api/judgments", json=VERDICT, headers=reader).status_code == 403
        refused = http.post("/api/judgments", json=VERDICT | {"source": "bank"}, headers=shop)
        assert (refused.status_code, "'shop', not 'bank'" in refused.text) == (403, True)
        assert http.post("/api/judgments", json=VERDICT, headers=shop).json()["stored"] == 1
        assert (
            http.post("/api/judgments", json=VERDICT | {"source": "bank"}, headers=anyone).json()[
                "stored"
            ]
            == 1
        )
        for body, reason in (
            (VERDICT, "--source"),
            (VERDICT | {"response_id": "r9"}, "no response 'r9'"),
        ):
            reply = http.post("/api/judgments", json=body, headers=anyone)
            assert (reply.status_code, reply.json()["stored"]) == (400, 0)
            [problem] = reply.json()["problems"]
            assert (problem["field"], reason in problem["reason"]) == ("external_id", True), problem


def test_five_hundred_versions_in_one_request_are_stored(sqlite_store):
    names = [f"r{number}" for number in range(500)]
    verdicts = [VERDICT | {"response_id": name, "judge_version": f"of {name}"} for name in names]
    with receiving(sqlite_store) as http:
        http.post("/api/responses", json=[ANSWER | {"id": name} for name in names])
        reply = http.post("/api/judgments", json=verdicts)
    assert (reply.status_code, reply.json()["stored"]) == (200, 500)
    with sqlite_store.reading() as connection:
        assert len(list_versions(connection)) == 500

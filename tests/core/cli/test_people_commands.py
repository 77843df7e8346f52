"""`judgeboard people`, `events` and `versions`, as a person types them."""

import json

import pytest

from judgeboard.cli.app import run
from judgeboard.domain import Response
from judgeboard.people.roster import admit, ensure_reviewer
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.storing import store_responses
from judging_log import address, store_answers


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "root")


def test_people_are_added_promoted_listed_and_removed(
    sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    db = ["--db", address(sqlite_store)]
    assert run(["people", "list", *db]) == 0
    assert "judgeboard people add" in capsys.readouterr().out
    assert run(["people", "add", "Ann@example.org", "--role", "admin", *db]) == 0
    assert run(["people", "add", "bob@example.org", *db]) == 0
    assert run(["people", "role", "bob@example.org", "lead", *db]) == 0
    capsys.readouterr()
    assert run(["people", "list", "--json", *db]) == 0
    people = json.loads(capsys.readouterr().out)["people"]
    assert [
        (person["name"], person["origin"], person["role"], person["last_review"])
        for person in people
    ] == [
        ("ann@example.org", "oidc", "admin", None),
        ("bob@example.org", "oidc", "lead", None),
    ]
    assert admit(sqlite_store, "bob@example.org").role == "lead"
    assert run(["people", "remove", "bob@example.org", *db]) == 0
    assert run(["people", "list", *db]) == 0
    assert "bob@example.org  oidc  none" in capsys.readouterr().out
    assert run(["db", "events", "--actor", "CLI:Root", "--json", *db]) == 0
    events = json.loads(capsys.readouterr().out)["events"]
    assert [event["kind"] for event in events] == [
        "remove_person",
        "change_role",
        "add_person",
        "add_person",
    ]


def test_a_queue_is_assigned_only_to_people_who_may_review(
    sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    db = ["--db", address(sqlite_store)]
    store_answers(sqlite_store, 3)
    for name, role in (
        ("ann", "lead"),
        ("bob", "reviewer"),
        ("vic", "viewer"),
        ("aud", "auditor"),
        ("old", "lead"),
    ):
        assert run(["people", "add", f"{name}@example.org", "--role", role, *db]) == 0
    assert run(["people", "remove", "old@example.org", *db]) == 0
    assert run(["queue", "create", "q", "--assign", "bob@example.org", *db]) == 0
    reasons = {"vic": "has the role viewer", "aud": "has the role auditor", "old": "was removed"}
    for name, why in reasons.items():
        capsys.readouterr()
        assert (
            run(
                ["queue", "create", "other", "--assign", f"ann@example.org,{name}@example.org", *db]
            )
            == 2
        )
        error = capsys.readouterr().err
        assert error.startswith(f"judgeboard: {name}@example.org ")
        assert why in error
        assert error.endswith(": ann@example.org, bob@example.org, cli:root\n")
    capsys.readouterr()
    assert run(["queue", "list", "--json", *db]) == 0
    queues = json.loads(capsys.readouterr().out)["queues"]
    assert [[person["name"] for person in each["assigned_to"]] for each in queues] == [
        ["bob@example.org"]
    ]


def test_a_role_is_refused_for_a_name_which_has_all_permissions(
    sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    db = ["--db", address(sqlite_store)]
    assert run(["people", "add", "Zoe", "--role", "auditor", *db]) == 2
    assert "leave out --role" in capsys.readouterr().err
    assert run(["people", "list", "--json", *db]) == 0
    assert json.loads(capsys.readouterr().out)["people"] == []


def test_a_name_from_before_sign_in_is_removed_and_added_again(
    sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    db = ["--db", address(sqlite_store)]
    ensure_reviewer(sqlite_store, "page", "Mara")
    assert run(["people", "remove", "Mara", *db]) == 0
    assert run(["people", "list", *db]) == 0
    assert "Mara  page  none" in capsys.readouterr().out
    capsys.readouterr()
    assert run(["people", "add", "Mara", *db]) == 0
    assert capsys.readouterr().out.startswith("Mara was added.")


def test_where_nobody_signs_in_a_name_is_enough_and_nobody_has_seen_them_yet(
    sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    db = ["--db", address(sqlite_store)]
    store_answers(sqlite_store, 1)
    assert run(["people", "add", "Mara", *db]) == 0
    assert (
        run(
            [
                "queue",
                "create",
                "q",
                "--all-answers",
                "--limit",
                "5",
                "--assign",
                "mara,ben",
                "--json",
                *db,
            ]
        )
        == 0
    )
    created = json.loads(capsys.readouterr().out.partition("name.\n")[2])
    assert (created["assigned_to"], created["invited"]) == (["Mara", "ben"], ["ben"])
    assert run(["people", "list", *db]) == 0
    people = [line.split("  ") for line in capsys.readouterr().out.splitlines()[:2]]
    assert people == [[name, "page", "admin", "never seen"] for name in ("Mara", "ben")]
    assert run(["people", "add", "ann@example.org", *db]) == 0
    assert run(["people", "add", "Kim", *db]) == 2
    assert "people add kim@example.org" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["people", "add", " "], "needs a name"),
        (
            ["people", "remove", "eve@example.org"],
            "no person was added with the address eve@example.org",
        ),
        (["people", "add", "ann@example.org", "--role", "boss"], "reviewer"),
        (["versions", "retire", "rag v9"], "rag v9"),
        (["db", "events", "--since", "yesterday"], "--since"),
        (["db", "events", "--limit", "0"], "limit"),
    ],
)
def test_what_cannot_be_done_is_said_and_the_code_is_2(
    sqlite_store: Store, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert run([*words, "--db", address(sqlite_store)]) == 2
    assert said in capsys.readouterr().err


def test_events_are_shown_newest_first_a_page_at_a_time(
    sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    with sqlite_store.writing() as connection:
        ids = store_responses(
            connection, [Response(source="log", external_id="chat-1", query="q", answer="a")]
        ).new
        for number in range(5):
            about = ids[0] if number == 3 else None
            record_event(connection, "grade", "Mara", response_id=about, details={"n": number})
    db = ["--db", address(sqlite_store)]
    seen: list[int] = []
    older: list[str] = []
    for _ in range(3):
        assert run(["db", "events", "--kind", "grade", "--limit", "2", "--json", *older, *db]) == 0
        page = json.loads(capsys.readouterr().out)
        seen += [event["details"]["n"] for event in page["events"]]
        older = ["--before", str(page["next"])]
    assert (seen, page["next"]) == ([4, 3, 2, 1, 0], None)
    assert run(["db", "events", "--response", "chat-1", *db]) == 0
    line = capsys.readouterr().out
    assert "grade  chat-1  n=3" in line
    assert line.count("\n") == 1
    assert run(["db", "events", "--since", "2999-01-01", "--json", *db]) == 2  # a year no log has
    assert run(["db", "events", "--since", "2199-01-01", *db]) == 0
    assert capsys.readouterr().out == ""


def test_versions_are_retired_and_taken_back(
    sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    store_answers(sqlite_store, 1)
    for name in ("first", "second"):
        judge_pending(sqlite_store, make_judge("lexical", name=name))
    db = ["--db", address(sqlite_store)]
    assert run(["versions", "retire", "second v1", *db]) == 0
    assert run(["judge", "second", "--judge", "lexical", *db]) == 2
    assert "retired by cli:root" in capsys.readouterr().err
    assert run(["versions", "list", *db]) == 0
    (second,) = (
        line for line in capsys.readouterr().out.splitlines() if line.startswith("second v1 ")
    )
    assert "retired by cli:root" in second
    assert run(["versions", "restore", "second v1", *db]) == 0
    capsys.readouterr()
    assert run(["versions", "list", "--json", *db]) == 0
    versions = json.loads(capsys.readouterr().out)["versions"]
    assert [(one["name"], one["retired_by"]) for one in versions] == [
        ("first", None),
        ("second", None),
    ]

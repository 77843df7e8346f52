"""`judgeboard people`, `events` and `versions`, as a person types them."""

import shlex

import pytest

from judgeboard.people.roster import admit, ensure_reviewer
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.events import record_event
from judging_log import store_answers
from stored_rows import write_to


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    monkeypatch.setenv("LOGNAME", "root")


def test_people_are_added_promoted_listed_and_removed(sqlite_store, typed):
    assert "judgeboard people add" in typed("people list")
    typed("people add Ann@example.org --role admin")
    typed("people add bob@example.org")
    typed("people role bob@example.org lead")
    people = typed("people list --json")["people"]
    names = "name", "origin", "role", "last_review"
    assert [[person[name] for name in names] for person in people] == [
        ["ann@example.org", "oidc", "admin", None],
        ["bob@example.org", "oidc", "lead", None],
    ]
    assert admit(sqlite_store, "bob@example.org").role == "lead"
    typed("people remove bob@example.org")
    assert "bob@example.org  oidc  none" in typed("people list")
    events = typed("db events --actor CLI:Root --json")["events"]
    assert [event["kind"] for event in events] == [
        "remove_person",
        "change_role",
        "add_person",
        "add_person",
    ]


def test_a_queue_is_assigned_only_to_people_who_may_review(sqlite_store, typed):
    store_answers(sqlite_store, 3)
    for name, role in (
        ("ann", "lead"),
        ("bob", "reviewer"),
        ("vic", "viewer"),
        ("aud", "auditor"),
        ("old", "lead"),
    ):
        typed(f"people add {name}@example.org --role {role}")
    typed("people remove old@example.org")
    typed("queue create q --assign bob@example.org")
    reasons = {"vic": "has the role viewer", "aud": "has the role auditor", "old": "was removed"}
    for name, why in reasons.items():
        error = typed(f"queue create other --assign ann@example.org,{name}@example.org", code=2)
        assert error.startswith(f"judgeboard: {name}@example.org ")
        assert why in error
        assert error.endswith(": ann@example.org, bob@example.org, cli:root\n")
    queues = typed("queue list --json")["queues"]
    assert [[person["name"] for person in each["assigned_to"]] for each in queues] == [
        ["bob@example.org"]
    ]


def test_a_role_is_refused_for_a_name_which_has_all_permissions(typed):
    error = typed("people add Zoe --role auditor", code=2)
    assert [part in error for part in ("leave out --role", "trusted_header")] == [True, True]
    assert typed("people list --json")["people"] == []


def test_a_name_from_before_sign_in_is_removed_and_added_again(sqlite_store, typed):
    ensure_reviewer(sqlite_store, "page", "Mara")
    typed("people remove Mara")
    assert "Mara  page  none" in typed("people list")
    assert typed("people add Mara").startswith("Mara was added.")


def test_where_nobody_signs_in_a_name_is_enough_and_nobody_has_seen_them_yet(sqlite_store, typed):
    store_answers(sqlite_store, 1)
    typed("people add Mara")
    words = "queue create q --all-answers --limit 5 --assign mara,ben --json"
    created = typed(words)
    assert created["assigned_to"] == ["Mara", "ben"]
    assert created["invited"] == ["ben"]
    people = [line.split("  ") for line in typed("people list").splitlines()[:2]]
    assert people == [[name, "page", "admin", "never seen"] for name in ("Mara", "ben")]
    typed("people add ann@example.org")
    assert "people add kim@example.org" in typed("people add Kim", code=2)
    refused = typed("people add 'Kim Lee'", code=2)
    suggested = shlex.split(refused.rpartition("`judgeboard ")[2].rpartition("`")[0])
    assert suggested[:3] == ["people", "add", "kim.lee@example.org"]


@pytest.mark.parametrize(
    ("words", "said"),
    {
        "people add ' '": "needs a name",
        "people remove eve@example.org": "no person was added with the address eve@example.org",
        "people add ann@example.org --role boss": "reviewer",
        "versions retire 'rag v9'": "rag v9",
        "db events --since yesterday": "--since",
        "db events --limit 0": "limit",
    }.items(),
)
def test_what_cannot_be_done_is_said_and_the_code_is_2(typed, words, said):
    assert said in typed(words, code=2)


def test_events_are_shown_newest_first_a_page_at_a_time(sqlite_store, typed):
    store_answers(sqlite_store, 1)
    for number in range(5):
        about = {"response_id": 1 if number == 3 else None, "details": {"n": number}}
        write_to(sqlite_store, record_event, "grade", "Mara", **about)
    seen = []
    older = ""
    for _ in range(3):
        page = typed(f"db events --kind grade --limit 2 --json {older}")
        seen += [event["details"]["n"] for event in page["events"]]
        older = f"--before {page['next']}"
    assert seen == [4, 3, 2, 1, 0]
    assert page["next"] is None
    line = typed("db events --response 0")
    assert "grade  0  n=3" in line
    assert line.count("\n") == 1
    assert "leave out --response" in typed("db events --kind run --response 0", code=2)
    typed("db events --since 2999-01-01 --json", code=2)  # a year no log has
    assert typed("db events --since 2199-01-01") == ""


def test_versions_are_retired_and_taken_back(sqlite_store, typed):
    store_answers(sqlite_store, 1)
    for name in ("first", "second"):
        judge_pending(sqlite_store, make_judge("lexical", name=name))
    typed("versions retire 'second v1'")
    assert "retired by cli:root" in typed("judge second --judge lexical", code=2)
    (second,) = (
        line for line in typed("versions list").splitlines() if line.startswith("second v1 ")
    )
    assert "retired by cli:root" in second
    typed("versions restore 'second v1'")
    versions = typed("versions list --json")["versions"]
    assert [(one["name"], one["retired_by"]) for one in versions] == [
        ("first", None),
        ("second", None),
    ]

"""Who may come in: added, promoted and removed by admins, and signed in; authorship stays."""

import sys
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines import on_sqlite
from judgeboard.domain import Action, Decision, Role
from judgeboard.errors import BadInput, NotAllowed, NotFound
from judgeboard.people.permissions import allowed
from judgeboard.people.roster import (
    add_person,
    admit,
    change_role,
    ensure_reviewer,
    list_people,
    remove_person,
    set_sources,
)
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.grades import imported_reviewers
from judgeboard.store.reviewers import (
    find_reviewer,
    graders_by_name,
    people_to_mention,
    reviewers_of,
    store_reviewer,
)
from judgeboard.text import folded_address
from review_case import flagged_case
from stored_rows import assert_has, read, write_to

ANN, BOB = "ann@example.org", "bob@example.org"


def told(store):
    events = read(store, latest_events, EventFilter(), limit=100)
    return [
        (event.kind, event.actor, event.details.get("to") or event.details.get("action"))
        for event in events[::-1]
    ]


@pytest.fixture
def case(sqlite_store):
    return flagged_case(sqlite_store)


@pytest.fixture
def flag(case):
    return case.judge(0.3)


@pytest.fixture
def ann(sqlite_store):
    return add_person(sqlite_store, ANN, Role.ADMIN, "cli:root")


@on_sqlite
def test_a_person_is_added_promoted_and_removed_and_each_leaves_an_event(store):
    ann = add_person(store, " Ann@Example.org ", Role.ADMIN, "cli:root")
    assert_has(ann, name=ANN, origin="oidc", role=Role.ADMIN)
    add_person(store, BOB, Role.REVIEWER, ann)
    assert admit(store, BOB).role is Role.REVIEWER
    change_role(store, BOB, Role.LEAD, ann)
    change_role(store, BOB, Role.LEAD, ann)  # as it is: nothing changes
    assert admit(store, BOB).role is Role.LEAD
    remove_person(store, BOB, ann)
    with pytest.raises(NotAllowed):
        admit(store, BOB)
    again = add_person(store, BOB, Role.REVIEWER, ann)
    assert admit(store, BOB) == again
    assert told(store) == [
        ("add_person", "cli:root", "admin"),
        ("add_person", ANN, "reviewer"),
        ("change_role", ANN, "lead"),
        ("remove_person", ANN, "none"),
        ("add_person", ANN, "reviewer"),
    ]


@pytest.mark.parametrize("role", [Role.REVIEWER, Role.LEAD])
def test_only_admins_manage_people(sqlite_store, ann, role):
    bob = add_person(sqlite_store, BOB, role, ann)
    for attempt in (
        lambda: add_person(sqlite_store, "eve@example.org", Role.ADMIN, bob),
        lambda: change_role(sqlite_store, BOB, Role.ADMIN, bob),
        lambda: remove_person(sqlite_store, ANN, bob),
    ):
        with pytest.raises(NotAllowed, match="for admins"):
            attempt()
    assert admit(sqlite_store, BOB).role is role
    assert told(sqlite_store)[-3:] == [("refused", BOB, "manage_people")] * 3


def test_the_last_admin_stays(sqlite_store, ann, monkeypatch):
    for attempt in (
        lambda: remove_person(sqlite_store, ANN, ann),
        lambda: change_role(sqlite_store, ANN, Role.LEAD, ann),
    ):
        with pytest.raises(BadInput, match="only admin"):
            attempt()
    monkeypatch.setenv("JUDGEBOARD_ADMIN", BOB)  # who may come in any time
    assert remove_person(sqlite_store, ANN, ann).role is Role.NONE


def test_an_admin_who_sees_all_sources_stays(sqlite_store, ann):
    """An admin of some sources cannot manage people, so nobody could undo it on the pages."""
    with pytest.raises(BadInput, match="only admin"):
        set_sources(sqlite_store, ANN, ["log"], ann)
    bob = add_person(sqlite_store, BOB, Role.ADMIN, ann)
    assert set_sources(sqlite_store, ANN, ["log"], bob).sources == ("log",)
    for attempt in (
        lambda: remove_person(sqlite_store, BOB, bob),
        lambda: set_sources(sqlite_store, BOB, ["log"], bob),
    ):
        with pytest.raises(BadInput, match="only admin"):
            attempt()
    assert set_sources(sqlite_store, ANN, None, bob).sources is None


def test_whom_the_environment_names_is_admin_as_long_as_it_does(sqlite_store, ann, monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_ADMIN", "Ann@example.org")
    add_person(sqlite_store, BOB, Role.ADMIN, ann)
    for attempt in (
        lambda: remove_person(sqlite_store, ANN, "cli:root"),
        lambda: change_role(sqlite_store, ANN, Role.REVIEWER, "cli:root"),
    ):
        with pytest.raises(BadInput, match="JUDGEBOARD_ADMIN"):
            attempt()


@pytest.mark.parametrize(
    "address", ["", "ann", "a b@c", "ann@", "@x", "a@b@c", "ann@x\x00y", f"{'a' * 250}@x.org"]
)
def test_what_is_no_address_is_refused(sqlite_store, address):
    with pytest.raises(BadInput, match="e-mail"):
        add_person(sqlite_store, address, Role.REVIEWER, "cli:root")


def test_nobody_is_added_twice_and_nobody_else_is_changed(sqlite_store, ann):
    with pytest.raises(BadInput, match="admin"):
        add_person(sqlite_store, ANN, Role.REVIEWER, ann)
    with pytest.raises(BadInput, match="role"):
        change_role(sqlite_store, ANN, Role.NONE, ann)
    for change in (remove_person, lambda *given: change_role(*given[:2], Role.LEAD, given[2])):
        with pytest.raises(NotFound, match=BOB):
            change(sqlite_store, BOB, ann)


def test_a_person_of_another_origin_is_not_the_one_who_signs_in(sqlite_store):
    ensure_reviewer(sqlite_store, "page", ANN)
    with pytest.raises(NotAllowed):
        admit(sqlite_store, ANN)
    with pytest.raises(NotFound):
        change_role(sqlite_store, ANN, Role.LEAD, "cli:root")


def test_who_is_removed_stays_the_author_and_may_do_nothing_more(case, flag):
    bob = add_person(case.store, BOB, Role.REVIEWER, "cli:root")
    press = {"flag_id": flag, "reviewer": bob, "decision": Decision.UNSURE}
    submit(
        case.store, Submission(**press, request_key="first", at=datetime(2026, 3, 1, tzinfo=UTC))
    )
    remove_person(case.store, BOB, "cli:root")
    with pytest.raises(
        NotAllowed, match="Reviewing is for"
    ):  # his session goes on, and remembers a role
        submit(case.store, Submission(**press, request_key="second"))
    line = next(each for each in case.read(list_people) if each.person.id == bob.id)
    assert_has(line, role=Role.NONE, last_review=datetime(2026, 3, 1, tzinfo=UTC))
    assert told(case.store)[-1] == ("refused", BOB, "review")


def test_the_list_says_who_may_what_and_when_they_were_here(store):
    add_person(store, BOB, Role.REVIEWER, "cli:root")
    add_person(store, ANN, Role.ADMIN, "cli:root")
    write_to(store, store_reviewer, "import", BOB)
    admit(store, ANN, arrives=True)
    with store.reading() as connection:
        lines = list_people(connection)
        assert graders_by_name(connection) == {}
    assert [(line.person.origin, line.person.name, line.role) for line in lines] == [
        ("oidc", ANN, Role.ADMIN),
        ("oidc", BOB, Role.REVIEWER),
        ("import", BOB, Role.NONE),
    ]
    seen = {(line.person.origin, line.person.name): line.last_seen is not None for line in lines}
    assert seen == {("oidc", ANN): True, ("oidc", BOB): False, ("import", BOB): False}


@on_sqlite
def test_annotators_of_imports_are_one_person_whatever_the_case(store):
    first = write_to(store, imported_reviewers, {"ines", "Ines", "Zoë"})
    with store.writing() as connection:
        again = imported_reviewers(connection, {"INES", "ZOË", "Ola"})
        everybody = [person.name for person in reviewers_of(connection, "import")]
    assert first["ines"] == first["Ines"] == again["INES"]
    assert first["Zoë"] == again["ZOË"] != again["Ola"]
    assert everybody == ["Ines", "Zoë", "Ola"]


def kinds(store):
    return [(kind, actor) for kind, actor, _ in told(store)]


@on_sqlite
def test_the_first_admin_comes_from_the_environment_and_is_stored_once(store, monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_ADMIN", " Ann@Example.org")
    first = admit(store, "ann@example.ORG", arrives=True)
    assert_has(first, name="ann@example.org", role=Role.ADMIN)
    assert admit(store, "ann@example.org") == first
    assert kinds(store) == [("add_person", "ann@example.org"), ("sign_in", "ann@example.org")]


@on_sqlite
def test_whom_nobody_added_gets_nothing_and_leaves_no_person_behind(store):
    for arrives in (True, False):
        with pytest.raises(NotAllowed, match=r"eve@example\.org"):
            admit(store, "eve@example.org", arrives=arrives)
    assert kinds(store) == [("refused", "eve@example.org")]
    assert read(store, list_people) == []


@pytest.mark.parametrize("name", ["cli:root", "ann@", "a b@example.org", "", "x" * 300, "a\nb\x00"])
def test_what_is_no_name_does_not_come_in(sqlite_store, name):
    with pytest.raises(BadInput):
        admit(sqlite_store, name)


def test_no_letter_outside_ascii_signs_in_as_an_ascii_letter(sqlite_store):
    """The lower case of the Kelvin sign is k."""
    add_person(sqlite_store, "kate@example.org", Role.ADMIN, "cli:root")
    assert admit(sqlite_store, "KATE@example.org").role is Role.ADMIN
    with pytest.raises(NotAllowed):
        admit(sqlite_store, "\N{KELVIN SIGN}ate@example.org")
    assert read(sqlite_store, find_reviewer, "oidc", "\N{KELVIN SIGN}ate@example.org") is None


def test_no_letter_outside_ascii_makes_somebody_the_first_admin(sqlite_store, monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_ADMIN", "\N{KELVIN SIGN}ate@Example.org")
    with pytest.raises(NotAllowed):
        admit(sqlite_store, "kate@example.org")


@given(st.text())
def test_a_folded_address_in_ascii_was_in_ascii_before(address):
    folded = folded_address(address)
    assert folded.isascii() == address.isascii()
    assert folded_address(folded) == folded
    assert folded == address.lower() or "\N{KELVIN SIGN}" in address


def test_no_single_letter_folds_into_ascii():
    assert not [
        chr(code) for code in range(128, sys.maxunicode + 1) if folded_address(chr(code)).isascii()
    ]


@on_sqlite
def test_a_person_from_before_sign_in_has_no_role_and_is_removed_and_added_again(store):
    mara = ensure_reviewer(store, "page", "Mara")
    ann = ensure_reviewer(store, "page", ANN)  # before sign-in, she entered her address as her name

    def listed():
        return {
            f"{line.person.origin} {line.person.name}": line.role
            for line in read(store, list_people)
        }

    assert listed() == {"page Mara": Role.ADMIN, f"page {ANN}": Role.ADMIN}
    add_person(store, ANN, Role.ADMIN, "cli:root")
    assert listed() == {f"oidc {ANN}": Role.ADMIN, f"page {ANN}": Role.NONE, "page Mara": Role.NONE}

    remove_person(store, ANN, "cli:root", origin="page")
    remove_person(store, "mara", "cli:root")
    with pytest.raises(NotFound, match="Mara"):
        remove_person(store, "Mara", "cli:root")
    for person in (mara, ann):
        with pytest.raises(NotAllowed), allowed(store, person, Action.REVIEW):
            pass
    assert read(store, people_to_mention).keys().isdisjoint({mara.id, ann.id})
    add_person(store, "Mara", Role.REVIEWER, "cli:root", origin="page")
    with allowed(store, mara, Action.REVIEW):
        pass
    with pytest.raises(NotFound, match="Zoe"):
        add_person(store, "Zoe", Role.REVIEWER, "cli:root", origin="page")
    kinds_of_changes = [kind for kind, _ in kinds(store) if kind != "first_seen"]
    assert kinds_of_changes == [
        "add_person",
        *["remove_person"] * 2,
        *["refused"] * 2,
        "add_person",
    ]

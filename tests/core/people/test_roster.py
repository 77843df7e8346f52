"""Who may come in: added, promoted and removed by admins, and signed in; authorship stays."""

import sys

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
from judgeboard.store.grades import imported_reviewers
from judgeboard.store.reviewers import (
    find_reviewer,
    graders_by_name,
    people_to_mention,
    reviewers_of,
    store_reviewer,
)
from judgeboard.store.tables import EVENT
from judgeboard.text import folded_address
from result_fields import check_fields
from review_case import NOW, flagged_case
from stored_rows import read, rows_of, write_to

ANN, BOB = "ann@example.org", "bob@example.org"
ROOT = "cli:root"


def told(store):
    return [
        (event["kind"], event["actor"], event["details"].get("to", event["details"].get("action")))
        for event in rows_of(store, EVENT)
    ]


def assert_refused(error, reason, *changes):
    for change in changes:
        with pytest.raises(error, match=reason):
            change()


def add_bob(store, by=ROOT, role=Role.REVIEWER):
    return add_person(store, BOB, role, by)


@pytest.fixture
def case(sqlite_store):
    return flagged_case(sqlite_store)


@pytest.fixture
def flag(case):
    return case.judge(0.3)


@pytest.fixture
def ann(sqlite_store):
    return add_person(sqlite_store, ANN, Role.ADMIN, ROOT)


@on_sqlite
def test_a_person_is_added_promoted_and_removed_and_each_leaves_an_event(store):
    ann = add_person(store, " Ann@Example.org ", Role.ADMIN, ROOT)
    check_fields(ann, name=ANN, origin="oidc", role=Role.ADMIN)
    add_bob(store, ann)
    assert admit(store, BOB).role is Role.REVIEWER
    for _ in range(2):  # as it is: nothing changes
        change_role(store, BOB, Role.LEAD, ann)
    assert admit(store, BOB).role is Role.LEAD
    remove_person(store, BOB, ann)
    with pytest.raises(NotAllowed):
        admit(store, BOB)
    again = add_bob(store, ann)
    assert admit(store, BOB) == again
    assert told(store) == [
        ("add_person", ROOT, "admin"),
        ("add_person", ANN, "reviewer"),
        ("change_role", ANN, "lead"),
        ("remove_person", ANN, "none"),
        ("add_person", ANN, "reviewer"),
    ]


@pytest.mark.parametrize("role", [Role.REVIEWER, Role.LEAD])
def test_only_admins_manage_people(sqlite_store, ann, role):
    bob = add_bob(sqlite_store, ann, role)
    assert_refused(
        NotAllowed,
        "for admins",
        lambda: add_person(sqlite_store, "eve@example.org", Role.ADMIN, bob),
        lambda: change_role(sqlite_store, BOB, Role.ADMIN, bob),
        lambda: remove_person(sqlite_store, ANN, bob),
    )
    assert admit(sqlite_store, BOB).role is role
    assert told(sqlite_store)[-3:] == [("refused", BOB, "manage_people")] * 3


def test_the_last_admin_stays(sqlite_store, ann, monkeypatch):
    assert_refused(
        BadInput,
        "only admin",
        lambda: remove_person(sqlite_store, ANN, ann),
        lambda: change_role(sqlite_store, ANN, Role.LEAD, ann),
    )
    monkeypatch.setenv("JUDGEBOARD_ADMIN", BOB)  # who may come in any time
    assert remove_person(sqlite_store, ANN, ann).role is Role.NONE


def test_an_admin_who_sees_all_sources_stays(sqlite_store, ann):
    """An admin of some sources cannot manage people, so nobody could undo it on the pages."""
    assert_refused(BadInput, "only admin", lambda: set_sources(sqlite_store, ANN, ["log"], ann))
    bob = add_bob(sqlite_store, ann, Role.ADMIN)
    assert set_sources(sqlite_store, ANN, ["log"], bob).sources == ("log",)
    assert_refused(
        BadInput,
        "only admin",
        lambda: remove_person(sqlite_store, BOB, bob),
        lambda: set_sources(sqlite_store, BOB, ["log"], bob),
    )
    assert set_sources(sqlite_store, ANN, None, bob).sources is None


def test_whom_the_environment_names_is_admin_as_long_as_it_does(sqlite_store, ann, monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_ADMIN", "Ann@example.org")
    add_bob(sqlite_store, ann, Role.ADMIN)
    assert_refused(
        BadInput,
        "JUDGEBOARD_ADMIN",
        lambda: remove_person(sqlite_store, ANN, ROOT),
        lambda: change_role(sqlite_store, ANN, Role.REVIEWER, ROOT),
    )


@pytest.mark.parametrize(
    "address", ["", "ann", "a b@c", "ann@", "@x", "a@b@c", "ann@x\x00y", f"{'a' * 250}@x.org"]
)
def test_what_is_no_address_is_refused(sqlite_store, address):
    with pytest.raises(BadInput, match="e-mail"):
        add_person(sqlite_store, address, Role.REVIEWER, ROOT)


def test_nobody_is_added_twice_and_nobody_else_is_changed(sqlite_store, ann):
    with pytest.raises(BadInput, match="admin"):
        add_person(sqlite_store, ANN, Role.REVIEWER, ann)
    with pytest.raises(BadInput, match="role"):
        change_role(sqlite_store, ANN, Role.NONE, ann)
    assert_refused(
        NotFound,
        BOB,
        lambda: remove_person(sqlite_store, BOB, ann),
        lambda: change_role(sqlite_store, BOB, Role.LEAD, ann),
    )


def test_a_person_of_another_origin_is_not_the_one_who_signs_in(sqlite_store):
    ensure_reviewer(sqlite_store, "page", ANN)
    with pytest.raises(NotAllowed):
        admit(sqlite_store, ANN)
    with pytest.raises(NotFound):
        change_role(sqlite_store, ANN, Role.LEAD, ROOT)


def test_who_is_removed_stays_the_author_and_may_do_nothing_more(case, flag):
    bob = add_bob(case.store)
    case.decide(flag, bob, Decision.UNSURE)
    remove_person(case.store, BOB, ROOT)
    # His session goes on, and remembers a role.
    with pytest.raises(NotAllowed, match="Reviewing is for"):
        case.decide(flag, bob, Decision.UNSURE)
    line = next(each for each in case.read(list_people) if each.person.id == bob.id)
    check_fields(line, role=Role.NONE, last_review=NOW)
    assert told(case.store)[-1] == ("refused", BOB, "review")


def test_the_list_says_who_may_what_and_when_they_were_here(store):
    add_bob(store)
    add_person(store, ANN, Role.ADMIN, ROOT)
    write_to(store, store_reviewer, "import", BOB)
    admit(store, ANN, arrives=True)
    assert read(store, graders_by_name) == {}
    assert [
        (line.person.origin, line.person.name, line.role, line.last_seen is not None)
        for line in read(store, list_people)
    ] == [
        ("oidc", ANN, Role.ADMIN, True),
        ("oidc", BOB, Role.REVIEWER, False),
        ("import", BOB, Role.NONE, False),
    ]


@on_sqlite
def test_annotators_of_imports_are_one_person_whatever_the_case(store):
    first = write_to(store, imported_reviewers, {"ines", "Ines", "Zoë"})
    again = write_to(store, imported_reviewers, {"INES", "ZOË", "Ola"})
    everybody = [person.name for person in read(store, reviewers_of, "import")]
    assert first["ines"] == first["Ines"] == again["INES"]
    assert first["Zoë"] == again["ZOË"] != again["Ola"]
    assert everybody == ["Ines", "Zoë", "Ola"]


def kinds(store):
    return [(kind, actor) for kind, actor, _ in told(store)]


@on_sqlite
def test_the_first_admin_comes_from_the_environment_and_is_stored_once(store, monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_ADMIN", " Ann@Example.org")
    first = admit(store, "ann@example.ORG", arrives=True)
    check_fields(first, name=ANN, role=Role.ADMIN)
    assert admit(store, ANN) == first
    assert kinds(store) == [("add_person", ANN), ("sign_in", ANN)]


@on_sqlite
def test_whom_nobody_added_gets_nothing_and_leaves_no_person_behind(store):
    for arrives in (True, False):
        with pytest.raises(NotAllowed, match=r"eve@example\.org"):
            admit(store, "eve@example.org", arrives=arrives)
    assert kinds(store) == [("refused", "eve@example.org")]
    assert read(store, list_people) == []


@pytest.mark.parametrize("name", [ROOT, "ann@", "a b@example.org", "", "x" * 300, "a\nb\x00"])
def test_what_is_no_name_does_not_come_in(sqlite_store, name):
    with pytest.raises(BadInput):
        admit(sqlite_store, name)


def test_no_letter_outside_ascii_signs_in_as_an_ascii_letter(sqlite_store):
    """The lower case of the Kelvin sign is k."""
    kelvin = "\N{KELVIN SIGN}ate@example.org"
    add_person(sqlite_store, "kate@example.org", Role.ADMIN, ROOT)
    assert admit(sqlite_store, "KATE@example.org").role is Role.ADMIN
    with pytest.raises(NotAllowed):
        admit(sqlite_store, kelvin)
    assert read(sqlite_store, find_reviewer, "oidc", kelvin) is None


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
    letters = map(chr, range(128, sys.maxunicode + 1))
    assert [letter for letter in letters if folded_address(letter).isascii()] == []


@on_sqlite
def test_a_person_from_before_sign_in_has_no_role_and_is_removed_and_added_again(store):
    mara = ensure_reviewer(store, "page", "Mara")
    ann = ensure_reviewer(store, "page", ANN)  # before sign-in, she entered her address as her name

    def listed():
        people = read(store, list_people)
        return {f"{line.person.origin} {line.person.name}": line.role for line in people}

    assert listed() == {"page Mara": Role.ADMIN, f"page {ANN}": Role.ADMIN}
    add_person(store, ANN, Role.ADMIN, ROOT)
    assert listed() == {f"oidc {ANN}": Role.ADMIN, f"page {ANN}": Role.NONE, "page Mara": Role.NONE}

    remove_person(store, ANN, ROOT, origin="page")
    remove_person(store, "mara", ROOT)
    with pytest.raises(NotFound, match="Mara"):
        remove_person(store, "Mara", ROOT)
    for person in (mara, ann):
        with pytest.raises(NotAllowed), allowed(store, person, Action.REVIEW):
            pass
    assert read(store, people_to_mention).keys().isdisjoint({mara.id, ann.id})
    add_person(store, "Mara", Role.REVIEWER, ROOT, origin="page")
    with allowed(store, mara, Action.REVIEW):
        pass
    with pytest.raises(NotFound, match="Zoe"):
        add_person(store, "Zoe", Role.REVIEWER, ROOT, origin="page")
    changes = [kind for kind, _ in kinds(store) if kind != "first_seen"]
    added, removed, refused = ["add_person"], ["remove_person"] * 2, ["refused"] * 2
    assert changes == added + removed + refused + added

"""Who may do what is asked where the change is made, of the database, and a refusal leaves an event."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import insert, select

from engines import on_sqlite
from judgeboard.domain import ROLES, Role
from judgeboard.errors import BadInput, NotAllowed
from judgeboard.people.permissions import PERMISSIONS, Action, allowed, check_allowed, may, require
from judgeboard.people.roster import ensure_reviewer
from judgeboard.store.engine import Store
from judgeboard.store.reviewers import Reviewer, change_reviewer, store_reviewer
from judgeboard.store.tables import EVENT, SETTING


def person(store: Store, role: Role, name: str = "ann@example.org") -> Reviewer:
    with store.writing() as connection:
        return store_reviewer(connection, "oidc", name, role=role)


def events(store: Store) -> list[tuple[str, str, dict[str, str]]]:
    with store.reading() as connection:
        return [tuple(row) for row in connection.execute(select(EVENT.c.kind, EVENT.c.actor, EVENT.c.details))]


def change_and_ask_for_more(store: Store, who: Reviewer) -> None:
    with allowed(store, who, Action.CHANGE_SETTINGS) as connection:
        row = {"key": "low_quality", "value": 1, "by": who.name, "at": datetime.now(UTC)}
        connection.execute(insert(SETTING), row)
        require(connection, who, Action.RETIRE_VERSIONS)


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("role", Role)
def test_who_signs_in_may_do_what_their_role_says_and_no_more(sqlite_store: Store, role: Role, action: Action) -> None:
    ann = person(sqlite_store, role)
    if role.rank >= PERMISSIONS[action].least.rank:
        with allowed(sqlite_store, ann, action):
            pass
        check_allowed(sqlite_store, ann, action)
        assert (may(ann, action), events(sqlite_store)) == (True, [])
    else:
        with pytest.raises(NotAllowed, match="Ask an admin"), allowed(sqlite_store, ann, action):
            raise AssertionError("the body of a refused change runs")
        with pytest.raises(NotAllowed, match="Ask an admin"):
            check_allowed(sqlite_store, ann, action)
        assert not may(ann, action)
        assert events(sqlite_store) == [("refused", ann.name, {"action": action.value, "role": role.value})] * 2


def test_each_role_may_more_than_the_one_before() -> None:
    assert [role.rank for role in Role] == [0, 1, 2, 3, 4]
    assert list(ROLES) == [Role.VIEWER, Role.REVIEWER, Role.LEAD, Role.ADMIN]
    assert set(PERMISSIONS) == set(Action)
    assert Role.NONE not in {permission.least for permission in PERMISSIONS.values()}
    assert all(permission.words for permission in PERMISSIONS.values())


@on_sqlite
def test_the_role_is_read_again_in_the_transaction_and_not_what_a_session_remembers(store: Store) -> None:
    remembered = person(store, Role.ADMIN)
    with store.writing() as connection:
        change_reviewer(connection, remembered.id, role=Role.REVIEWER)
    refused = pytest.raises(NotAllowed, match="for admins; you are a reviewer")
    with refused, allowed(store, remembered, Action.MANAGE_PEOPLE):
        pass
    with allowed(store, remembered, Action.REVIEW):
        pass


def test_a_refusal_half_way_takes_the_change_back_and_keeps_the_event(store: Store) -> None:
    ann = person(store, Role.LEAD)
    with pytest.raises(NotAllowed):
        change_and_ask_for_more(store, ann)
    with store.reading() as connection:
        assert connection.execute(select(SETTING.c.id)).all() == []
    assert [(kind, actor) for kind, actor, _ in events(store)] == [("refused", ann.name)]


def test_an_error_of_the_change_itself_is_no_refusal(sqlite_store: Store) -> None:
    ann = person(sqlite_store, Role.LEAD)
    with pytest.raises(BadInput), allowed(sqlite_store, ann, Action.CHANGE_SETTINGS):
        raise BadInput("no such thing")
    assert events(sqlite_store) == []


@pytest.mark.parametrize("origin", ["page", "cli"])
def test_without_sign_in_everyone_is_admin_of_their_own_case(sqlite_store: Store, origin: str) -> None:
    mara = ensure_reviewer(sqlite_store, origin, "Mara")
    for action in Action:
        with allowed(sqlite_store, mara, action):
            assert may(mara, action)


def test_the_author_of_imported_grades_and_a_person_who_is_not_there_may_nothing(sqlite_store: Store) -> None:
    author = ensure_reviewer(sqlite_store, "import", "Mara")
    nobody = Reviewer(10**6, "page", "Nobody", Role.ADMIN)
    for who in (author, nobody):
        with pytest.raises(NotAllowed, match="nobody has added you"), allowed(sqlite_store, who, Action.REVIEW):
            pass


def test_a_program_with_the_database_in_its_hands_is_not_asked(sqlite_store: Store) -> None:
    with allowed(sqlite_store, "cli:mara", Action.RETIRE_VERSIONS):
        pass
    assert events(sqlite_store) == []


def test_the_environment_names_the_first_admin_whatever_is_stored(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = person(sqlite_store, Role.NONE)
    monkeypatch.setenv("JUDGEBOARD_ADMIN", "Ann@Example.org")
    with allowed(sqlite_store, ann, Action.MANAGE_PEOPLE):
        assert may(ann, Action.MANAGE_PEOPLE)
    monkeypatch.delenv("JUDGEBOARD_ADMIN")
    assert not may(ann, Action.REVIEW)


def test_the_address_in_the_environment_makes_nobody_admin_who_did_not_sign_in(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGEBOARD_ADMIN", "ann@example.org")
    assert not may(ensure_reviewer(sqlite_store, "import", "ann@example.org"), Action.REVIEW)


def test_nobody_becomes_a_person_who_signs_in_by_being_named(sqlite_store: Store) -> None:
    with pytest.raises(BadInput, match="judgeboard people add"):
        ensure_reviewer(sqlite_store, "oidc", "eve@example.org")

"""Who signs in comes in only when added; the first admin comes from the environment; arriving leaves an event."""

import pytest

from engines import on_sqlite
from judgeboard.domain import Role
from judgeboard.errors import BadInput, NotAllowed
from judgeboard.people.roster import add_person, admit, list_people
from judgeboard.store.engine import Store
from judgeboard.store.events import EventFilter, latest_events


def kinds(store: Store) -> list[tuple[str, str]]:
    with store.reading() as connection:
        return [(event.kind, event.actor) for event in latest_events(connection, EventFilter(), limit=100)][::-1]


@on_sqlite
def test_the_first_admin_comes_from_the_environment_and_is_stored_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGEBOARD_ADMIN", " Ann@Example.org")
    first = admit(store, "ann@example.ORG", arrives=True)
    assert (first.name, first.role) == ("ann@example.org", Role.ADMIN)
    assert admit(store, "ann@example.org") == first
    assert kinds(store) == [("add_person", "ann@example.org"), ("sign_in", "ann@example.org")]


@on_sqlite
def test_whom_nobody_added_gets_nothing_and_leaves_no_person_behind(store: Store) -> None:
    for arrives in (True, False):
        with pytest.raises(NotAllowed, match=r"eve@example\.org may not sign in here yet"):
            admit(store, "eve@example.org", arrives=arrives)
    assert kinds(store) == [("refused", "eve@example.org")]
    with store.reading() as connection:
        assert list_people(connection) == []


def test_an_address_is_the_same_in_whatever_case(sqlite_store: Store) -> None:
    added = add_person(sqlite_store, "ann@example.org", Role.LEAD, "cli:root")
    assert admit(sqlite_store, "Ann@EXAMPLE.org") == added


def test_what_is_no_address_does_not_come_in(sqlite_store: Store) -> None:
    with pytest.raises(BadInput):
        admit(sqlite_store, "ann")

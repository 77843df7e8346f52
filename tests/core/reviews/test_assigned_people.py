"""The people whom a lead names are found by where their name comes from."""

import pytest

from engines import on_sqlite
from judgeboard.domain import QueueOrder, Role
from judgeboard.errors import BadInput, NotFound
from judgeboard.people.roster import ensure_reviewer, people_named
from judgeboard.store.engine import Store
from judgeboard.store.hidden_rows import hidden_of
from judgeboard.store.reviewers import store_reviewer
from queue_case import queue_case


def test_an_address_signs_in_a_user_types_and_any_other_name_sits_at_a_case(sqlite_store: Store) -> None:
    with sqlite_store.writing() as connection:
        ann = store_reviewer(connection, "oidc", "ann@example.org", role=Role.REVIEWER)
    mara = ensure_reviewer(sqlite_store, "page", "Mara")
    people = people_named(sqlite_store, ["ann@example.org", " Mara ", "cli:bob", "New One", "Mara"])
    assert people[:2] == [ann, mara]
    assert [(one.origin, one.name) for one in people[2:]] == [("cli", "cli:bob"), ("page", "New One")]
    assert people_named(sqlite_store, ["New One"]) == [people[3]]


def test_an_address_that_nobody_added_and_an_empty_name_are_refused(sqlite_store: Store) -> None:
    with pytest.raises(NotFound, match=r"eve@example\.org is not a person here"):
        people_named(sqlite_store, ["eve@example.org"])
    with pytest.raises(BadInput):
        people_named(sqlite_store, [" "])


@on_sqlite
def test_a_name_in_another_case_is_the_same_person_and_sees_no_more(store: Store) -> None:
    case = queue_case(store)
    (response,) = case.flagged(0.1)
    zoe = ensure_reviewer(store, "page", "Zoë Straße")
    case.queue(assigned=(zoe,), blind_judge=True, order=QueueOrder.OLDEST)
    typed = ensure_reviewer(store, "page", "ZOË STRASSE")
    assert typed == zoe
    with store.reading() as connection:
        assert hidden_of(connection, typed.id, response_id=response).judge
    assert case.lease(typed).response_id == response
    assert people_named(store, ["zoë straße"], new=False) == [zoe]
    assert ensure_reviewer(store, "import", "zoë straße") != zoe
    assert ensure_reviewer(store, "cli", "cli:Bob") == people_named(store, ["CLI:bob"])[0]


@on_sqlite
def test_two_stored_names_that_differ_only_by_case_stay_two_people(store: Store) -> None:
    with store.writing() as connection:
        upper, lower = (store_reviewer(connection, "page", name) for name in ("Ann", "ann"))
    assert [ensure_reviewer(store, "page", name) for name in ("ann", "Ann", "ANN")] == [lower, upper, upper]


def test_two_addresses_that_fold_to_one_are_two_people(sqlite_store: Store) -> None:
    with sqlite_store.writing() as connection:
        store_reviewer(connection, "oidc", "strasse@example.org", role=Role.REVIEWER)
    assert people_named(sqlite_store, ["Strasse@Example.org"])[0].name == "strasse@example.org"
    with pytest.raises(NotFound):
        people_named(sqlite_store, ["straße@example.org"])


def test_a_name_that_nobody_has_is_refused_with_the_first_twenty_names(sqlite_store: Store) -> None:
    with pytest.raises(NotFound, match="nobody is named 'Mara'; known: none yet"):
        people_named(sqlite_store, ["Mara"], new=False)
    for number in range(21):
        ensure_reviewer(sqlite_store, "page", f"p{number:02}")
    ensure_reviewer(sqlite_store, "import", "annotator")
    for name in ("Mara", "cli:mara"):
        with pytest.raises(NotFound, match=f"nobody is named '{name}'; known: p00, .*p19 and others$"):
            people_named(sqlite_store, [name], new=False)

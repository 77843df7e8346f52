"""The people whom a lead names are found by where their name comes from."""

import pytest

from judgeboard.domain import Role
from judgeboard.errors import BadInput, NotFound
from judgeboard.people.roster import ensure_reviewer, people_named
from judgeboard.store.engine import Store
from judgeboard.store.reviewers import store_reviewer


def test_an_address_signs_in_a_user_types_and_any_other_name_sits_at_a_case(sqlite_store: Store) -> None:
    with sqlite_store.writing() as connection:
        ann = store_reviewer(connection, "oidc", "ann@example.org", role=Role.REVIEWER)
    mara = ensure_reviewer(sqlite_store, "page", "Mara")
    found = people_named(sqlite_store, ["ann@example.org", " Mara ", "cli:bob", "New One", "Mara"])
    assert found[:2] == [ann, mara]
    assert [(one.origin, one.name) for one in found[2:]] == [("cli", "cli:bob"), ("page", "New One")]
    assert people_named(sqlite_store, ["New One"]) == [found[3]]


def test_an_address_that_nobody_added_and_an_empty_name_are_refused(sqlite_store: Store) -> None:
    with pytest.raises(NotFound, match=r"eve@example\.org is not a person here"):
        people_named(sqlite_store, ["eve@example.org"])
    with pytest.raises(BadInput):
        people_named(sqlite_store, [" "])

"""Links, passwords and sessions: what strangers and removed people cannot do with what they have."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from argon2 import PasswordHasher

from judgeboard.accounts import accounts
from judgeboard.accounts.accounts import (
    LINK_DAYS,
    SESSION_DAYS,
    account_of,
    any_account,
    begin_session,
    end_session,
    invite,
    is_known_browser,
    is_password,
    person_of_link,
    person_of_session,
    set_password,
)
from judgeboard.domain import Role
from judgeboard.errors import BadInput, NotAllowed, NotFound
from judgeboard.people.roster import add_person, change_role, remove_person
from judgeboard.store.api_keys import token_hash
from judgeboard.store.clock import utc_now
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.tables import METADATA
from result_fields import check_fields
from stored_rows import read

ROOT = "cli:root"
PASSWORD = "correct horse battery"


def link(store, name="ann"):
    return invite(store, name, None, ROOT)


def account(store, name="ann", role=Role.LEAD):
    return set_password(store, invite(store, name, role, ROOT), PASSWORD)


def session(store, of):
    return token_hash(begin_session(store, of))


def has_password(store, name="ann", password=PASSWORD):
    return is_password(read(store, account_of, name), password)


def who(store, hashed):
    person = read(store, person_of_session, hashed)
    return person and person.name


@pytest.fixture
def days_later(monkeypatch):
    def later(days):
        monkeypatch.setattr(accounts, "utc_now", lambda: utc_now() + timedelta(days=days))

    return later


def test_a_link_sets_a_password_once(store):
    assert not read(store, any_account)
    token = invite(store, "Ann@Example.org", Role.LEAD, ROOT)
    assert read(store, any_account)
    person = read(store, person_of_link, token)
    check_fields(person, name="ann@example.org", role=Role.LEAD)
    set_password(store, token, PASSWORD)
    assert read(store, person_of_link, token) is None
    with pytest.raises(NotFound):
        set_password(store, token, "another password")
    assert has_password(store, "ANN@example.org")


def test_of_two_requests_at_a_time_one_uses_the_link(store):
    token, start = link(store), Barrier(2)

    def use(password):
        start.wait()
        try:
            set_password(store, token, password)
        except NotFound:
            return False
        return True

    with ThreadPoolExecutor(2) as both:
        assert sorted(both.map(use, ["first password", "second password"])) == [False, True]


def test_a_link_that_expired_was_replaced_or_never_was_does_nothing(store, days_later):
    first, second = link(store), link(store)
    for token in (first, "", "x" * 43):
        with pytest.raises(NotFound):
            set_password(store, token, PASSWORD)
    days_later(LINK_DAYS + 0.001)
    assert read(store, person_of_link, second) is None
    with pytest.raises(NotFound):
        set_password(store, second, PASSWORD)


@pytest.mark.parametrize("password", ["", "eleven char", "x" * 1_001])
def test_a_password_that_is_too_short_or_long_leaves_the_link_usable(sqlite_store, password):
    token = link(sqlite_store)
    with pytest.raises(BadInput):
        set_password(sqlite_store, token, password)
    set_password(sqlite_store, token, PASSWORD)


def test_a_password_counts_however_its_letters_are_composed(sqlite_store):
    set_password(sqlite_store, link(sqlite_store), "cafe\u0301 au lait noir")
    assert has_password(sqlite_store, "ann", "caf\u00e9 au lait noir")
    assert not has_password(sqlite_store, "ann", "cafe au lait noir")


def test_without_an_account_a_password_takes_as_long(sqlite_store, monkeypatch):
    link(sqlite_store, "bob")
    ann = account(sqlite_store)
    checked = []
    verify = PasswordHasher.verify

    def counted(hasher, stored, password):
        checked.append(stored.rpartition("$")[0].rpartition("$")[0])
        return verify(hasher, stored, password)

    monkeypatch.setattr(PasswordHasher, "verify", counted)
    assert not is_password(ann, "wrong")
    for name in ("nobody", "bob", "cli:root", "", "\x00", "a@", "x" * 500):
        assert not has_password(sqlite_store, name)
    assert checked == checked[:1] * 8  # the same parameters of Argon2


def test_a_session_ends_by_sign_out_and_after_some_days(store, days_later):
    ann = account(store)
    first, second = session(store, ann), session(store, ann)
    end_session(store, first)
    assert (who(store, first), who(store, second)) == (None, "ann")
    # The browser is known, the session is not.
    assert read(store, is_known_browser, ann, first)
    days_later(SESSION_DAYS + 0.001)
    assert who(store, second) is None
    session(store, ann)
    assert read(store, is_known_browser, ann, second)
    days_later(SESSION_DAYS + 91)
    session(store, ann)
    assert not read(store, is_known_browser, ann, second)


def test_a_new_session_of_a_browser_ends_its_earlier_one(store):
    ann = account(store)
    first = session(store, ann)
    begin_session(store, ann, instead_of=first)
    assert who(store, first) is None


def test_a_reset_ends_all_sessions_and_the_password_when_it_is_used(store):
    ann = account(store)
    hashed = session(store, ann)
    token = link(store)
    assert who(store, hashed) == "ann"
    assert has_password(store)
    set_password(store, token, "another password")
    assert who(store, hashed) is None
    assert not has_password(store)
    # The check of the earlier password began before the reset.
    assert begin_session(store, ann) is None


def test_removal_ends_everything_and_to_add_the_person_again_brings_nothing_back(store):
    ann = account(store)
    hashed = session(store, ann)
    token = link(store)
    remove_person(store, "ann", ROOT)
    add_person(store, "ann", Role.ADMIN, ROOT, any_name=True)
    assert who(store, hashed) is None
    assert read(store, account_of, "ann") is None
    assert read(store, person_of_link, token) is None
    assert begin_session(store, ann) is None
    with pytest.raises(NotFound):
        set_password(store, token, PASSWORD)


def test_an_invitation_gives_no_other_role_and_only_an_admin_invites(store):
    account(store, "root", Role.ADMIN)
    account(store)
    with pytest.raises(BadInput, match="lead"):
        invite(store, "ann", Role.ADMIN, ROOT)
    ann = add_person(store, "eve", Role.LEAD, ROOT, any_name=True)
    for name in ("ann", "root", "new"):
        with pytest.raises(NotAllowed):
            invite(store, name, None, ann)
    change_role(store, "eve", Role.ADMIN, ROOT)
    invite(store, "new", None, ann)


@pytest.mark.parametrize(
    "name", ["", "  ", "cli:root", "key:shop", "a@", "x" * 81, "a\x00b", "a\u202eb"]
)
def test_what_cannot_be_a_name_is_not_invited(sqlite_store, name):
    with pytest.raises(BadInput):
        link(sqlite_store, name)
    assert not read(sqlite_store, any_account)


def test_neither_tokens_nor_passwords_are_stored(store):
    first = link(store)
    ann = set_password(store, first, PASSWORD)
    token = begin_session(store, ann)
    reset = link(store)
    with store.reading() as connection:
        stored = "\n".join(
            str(connection.execute(table.select()).all()) for table in METADATA.sorted_tables
        )
    assert token_hash(reset) in stored
    for secret in (first, token, reset, PASSWORD):
        assert secret not in stored
    kinds = [event.kind for event in read(store, latest_events, EventFilter(), limit=9)]
    assert sorted(kinds) == ["add_person", "invite_person", "invite_person", "set_password"]

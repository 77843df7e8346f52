"""Invites people, checks passwords, and begins and ends sessions.

Functions import `argon2` when a password is checked: commands load this module, too.
"""

import secrets
import unicodedata
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Connection, Table, delete, insert, select, update

from judgeboard.accounts.tables import ACCOUNT, ACCOUNT_SESSION, Account, AccountSession
from judgeboard.domain import Action, Role
from judgeboard.errors import BadInput, NotFound
from judgeboard.people.permissions import SIGNED_IN, Actor, actor_name, allowed, role_of
from judgeboard.people.roster import add_person, checked_sign_in_name
from judgeboard.settings.masking import register_secret
from judgeboard.settings.model import load_settings
from judgeboard.store.api_keys import token_hash
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.reviewers import find_reviewer
from judgeboard.store.statements import any_row, first_row, insert_or_skip
from judgeboard.store.tables import REVIEWER, Reviewer

if TYPE_CHECKING:
    from argon2 import PasswordHasher

LINK_PATH = "/account/link"  # of the page on which a person sets a password
LINK_DAYS = 7
SESSION_DAYS = 14
KNOWN_DAYS = 90  # after the end of the last session, a browser is not known any more
SHORTEST_PASSWORD = 12  # characters
LONGEST_PASSWORD = 1_000
EXPIRED = "This link was used or has expired. Ask an admin for a new one."


def invite(store: Store, name: str, role: Role | None, actor: Actor) -> str:
    """Make the link with which a person sets a password, and return the token of the link, which is not stored.

    The link works once, for 7 days, and replaces an earlier one. When a person who has a password
    uses the link, all sessions of this person end. The ``name`` is an e-mail address or another
    name; a person who was not added is added, with the ``role`` (None: reviewer).

    Raises:
        BadInput: The name is not valid, or the person has another role.
    """
    sign_in_name = checked_sign_in_name(name)
    with store.reading() as connection:
        person = find_reviewer(connection, SIGNED_IN, sign_in_name)
    if person is None or role_of(person) is Role.NONE:
        person = add_person(store, sign_in_name, role or Role.REVIEWER, actor, any_name=True)
    elif role is not None and role is not role_of(person):
        raise BadInput(
            f"{person.name} was added already, as {role_of(person)}: leave out the role, or change it first"
        )
    token = secrets.token_urlsafe(32)
    ends_at = utc_now() + timedelta(days=LINK_DAYS)
    link = {"link_hash": token_hash(token), "link_ends_at": ends_at}
    with allowed(store, actor, Action.MANAGE_PEOPLE) as connection:
        new = Account(reviewer_id=person.id).new_values()
        connection.execute(insert_or_skip(connection, ACCOUNT, "reviewer_id"), new)
        of_person = ACCOUNT.c.reviewer_id == person.id
        connection.execute(update(ACCOUNT).where(of_person).values(link))
        record_event(connection, "invite_person", actor_name(actor), details={"person": person.id})
    register_secret(token)
    return token


def link_address(token: str, server: str) -> str:
    """Return the address of a link; ``server`` is the address of the server if the settings have none."""
    return f"{(load_settings().url or server).rstrip('/')}{LINK_PATH}/{token}"


def person_of_link(connection: Connection, token: str) -> Reviewer | None:
    """Return the person to whom a link belongs; None if the link was used or replaced, has expired, or never was."""
    return _person(connection, ACCOUNT, _is_open(token))


def _is_open(token: str) -> ColumnElement[bool]:
    """Return the condition of the account whose link has this token and can be used."""
    return (ACCOUNT.c.link_hash == token_hash(token)) & (ACCOUNT.c.link_ends_at > utc_now())


def _person(
    connection: Connection, table: Table, condition: ColumnElement[bool]
) -> Reviewer | None:
    """Return the person of the account or session that meets a condition; None if the person was removed."""
    of_person = table.c.reviewer_id == REVIEWER.c.id
    person = first_row(connection, select(Reviewer).join(table, of_person).where(condition))
    return None if person is None or role_of(person) is Role.NONE else person


def set_password(store: Store, token: str, password: str) -> Account:
    """Set the password of the person to whom a link belongs, and return the account.

    This uses the link up and ends all sessions of the person.

    Raises:
        BadInput: The password is too short or too long.
        NotFound: The link was used or replaced, or has expired.
    """
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise BadInput(
            f"A password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD:,} characters. Several words are a good one."
        )
    password_hash = _hasher().hash(_composed(password))
    with store.writing() as connection:
        person = person_of_link(connection, token)
        values = {"password_hash": password_hash, "link_hash": None, "link_ends_at": None}
        statement = update(ACCOUNT).where(_is_open(token)).values(values)
        # Of two requests at a time, the second changes no row.
        if person is None or not connection.execute(statement).rowcount:
            raise NotFound(EXPIRED)
        connection.execute(
            delete(ACCOUNT_SESSION).where(ACCOUNT_SESSION.c.reviewer_id == person.id)
        )
        record_event(connection, "set_password", person.name, details={"person": person.id})
    return Account(reviewer_id=person.id, password_hash=password_hash)


def account_of(connection: Connection, name: str) -> Account | None:
    """Return the account of a name; None if nobody has this name and a password."""
    try:
        person = find_reviewer(connection, SIGNED_IN, checked_sign_in_name(name))
    except BadInput:
        return None
    if person is None:
        return None
    of_person = select(Account).where(ACCOUNT.c.reviewer_id == person.id)
    return first_row(connection, of_person.where(ACCOUNT.c.password_hash.is_not(None)))


def is_password(account: Account | None, password: str) -> bool:
    """Return whether an account has this password. Without an account, the check takes as long."""
    from argon2.exceptions import InvalidHashError, VerificationError

    password_hash = None if account is None else account.password_hash
    try:
        _hasher().verify(password_hash or _nobodys_hash(), _composed(password[:LONGEST_PASSWORD]))
    except (VerificationError, InvalidHashError):
        return False
    return password_hash is not None


@cache
def _hasher() -> "PasswordHasher":
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _nobodys_hash() -> str:
    return _hasher().hash(secrets.token_urlsafe(32))


def _composed(password: str) -> str:
    """Return a password in one form, because keyboards compose letters such as é in several ways."""
    return unicodedata.normalize("NFC", password)


def begin_session(store: Store, account: Account, *, instead_of: str | None = None) -> str | None:
    """Begin a session of a person, and return the token; None if the account was changed or removed in the meantime.

    The session ``instead_of`` of this browser ends.
    """
    token, now = secrets.token_urlsafe(32), utc_now()
    session = AccountSession(
        token_hash=token_hash(token),
        reviewer_id=account.reviewer_id,
        ends_at=now + timedelta(days=SESSION_DAYS),
    )
    too_old = ACCOUNT_SESSION.c.ends_at < now - timedelta(days=KNOWN_DAYS)
    of_person = ACCOUNT.c.reviewer_id == account.reviewer_id
    with store.writing() as connection:
        # A removal or a new password waits for this transaction, and then deletes the session.
        current = select(ACCOUNT.c.password_hash).where(of_person).with_for_update()
        if connection.scalar(current) != account.password_hash:
            return None
        connection.execute(
            delete(ACCOUNT_SESSION).where(too_old | (ACCOUNT_SESSION.c.token_hash == instead_of))
        )
        connection.execute(insert(ACCOUNT_SESSION), session.new_values())
    return token


def end_session(store: Store, hashed: str) -> None:
    """End the session whose token has this hash, in all tabs and for all copies of the token."""
    end = update(ACCOUNT_SESSION).where(_goes_on(hashed)).values(ends_at=utc_now())
    with store.writing() as connection:
        connection.execute(end)


def person_of_session(connection: Connection, hashed: str) -> Reviewer | None:
    """Return the person of the session whose token has this hash; None if the session has ended."""
    return _person(connection, ACCOUNT_SESSION, _goes_on(hashed))


def _goes_on(hashed: str) -> ColumnElement[bool]:
    return (ACCOUNT_SESSION.c.token_hash == hashed) & (ACCOUNT_SESSION.c.ends_at > utc_now())


def is_known_browser(connection: Connection, account: Account, hashed: str) -> bool:
    """Return whether a browser with this session, which may have ended, once had the password of an account."""
    return any_row(
        connection,
        ACCOUNT_SESSION.c.token_hash == hashed,
        ACCOUNT_SESSION.c.reviewer_id == account.reviewer_id,
    )


def any_account(connection: Connection) -> bool:
    """Return whether anybody has an account, or an invitation to one."""
    return any_row(connection, ACCOUNT.c.reviewer_id > 0)


def forget_person(connection: Connection, reviewer_id: int) -> None:
    """Delete the password, the link and the sessions of a person who is removed."""
    for table in (ACCOUNT, ACCOUNT_SESSION):  # in this order: see `begin_session`
        connection.execute(delete(table).where(table.c.reviewer_id == reviewer_id))

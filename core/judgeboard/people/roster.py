"""The people who may come in: added by an admin, given a role, removed; what they said stays theirs."""

import re
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from judgeboard.domain import Role
from judgeboard.errors import BadInput, NotFound
from judgeboard.people.permissions import (
    IMPORTED,
    SIGNED_IN,
    Action,
    Actor,
    actor_name,
    allowed,
    is_first_admin,
    role_of,
)
from judgeboard.settings import load_settings
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.reviews.reviewers import (
    REVIEWER,
    Reviewer,
    find_reviewer,
    reviewers_of,
    set_role,
    store_reviewer,
)
from judgeboard.store.reviews.standing import REVIEW
from judgeboard.store.schema.tables import EVENT

LONGEST_ADDRESS = 254  # characters: RFC 5321, section 4.5.3.1.3, less the brackets
_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")
ROLES = (Role.REVIEWER, Role.LEAD, Role.ADMIN)


@dataclass(frozen=True, slots=True)
class PersonLine:
    """A person with what they may do and when they were here; None is never, or not known."""

    person: Reviewer
    role: Role
    first_admin: bool
    last_seen: datetime | None
    last_review: datetime | None


def add_person(store: Store, address: str, role: Role, actor: Actor) -> Reviewer:
    """Let somebody in who signs in with this e-mail address; one who was removed comes back.

    Raises:
        NotAllowed: The actor is no admin.
        BadInput: It is no e-mail address, the role is none, or the person is there already.
    """
    name, given = checked_address(address), _checked_role(role)
    with allowed(store, actor, Action.MANAGE_PEOPLE) as connection:
        _all_locked(connection)
        known = find_reviewer(connection, SIGNED_IN, name)
        if known is not None and role_of(known) is not Role.NONE:
            raise BadInput(f"{name} is here already, as {role_of(known)}: change the role instead")
        person = known or store_reviewer(connection, SIGNED_IN, name, role=given)
        set_role(connection, person.id, given)
        _record(connection, "add_person", actor, person, role=given)
    return Reviewer(person.id, SIGNED_IN, name, given)


def change_role(store: Store, address: str, role: Role, actor: Actor) -> Reviewer:
    """Give a person another role; it counts from their next action on.

    Raises:
        NotAllowed: The actor is no admin.
        NotFound: Nobody with this address was added.
        BadInput: It is no e-mail address, the role is none, ``JUDGEBOARD_ADMIN`` names the person, or no admin would
            be left.
    """
    return _set(store, address, _checked_role(role), actor, "change_role")


def remove_person(store: Store, address: str, actor: Actor) -> Reviewer:
    """Let a person in no more; what they said stays, and stays theirs.

    Raises:
        NotAllowed: The actor is no admin.
        NotFound: Nobody with this address was added.
        BadInput: It is no e-mail address, ``JUDGEBOARD_ADMIN`` names the person, or no admin would be left.
    """
    return _set(store, address, Role.NONE, actor, "remove_person")


def list_people(connection: Connection) -> list[PersonLine]:
    """Return everybody who was ever here: who may do most first, then by name.

    Somebody is seen when an event carries their name.
    """
    last_review = select(REVIEW.c.at).where(REVIEW.c.reviewer_id == REVIEWER.c.id).order_by(REVIEW.c.id.desc())
    last_seen = select(EVENT.c.at).where(EVENT.c.actor == REVIEWER.c.name).order_by(EVENT.c.id.desc())
    query = select(
        *(REVIEWER.c[name] for name in ("id", "origin", "name", "role")),
        last_seen.limit(1).scalar_subquery().label("last_seen"),
        last_review.limit(1).scalar_subquery().label("last_review"),
    )
    lines = []
    for row in connection.execute(query):
        person = Reviewer(row.id, row.origin, row.name, Role(row.role))
        first = person.origin == SIGNED_IN and is_first_admin(person.name)
        # An event's name says nothing of somebody who only wrote what was imported: it is then another's.
        seen = None if person.origin == IMPORTED else row.last_seen
        lines.append(PersonLine(person, role_of(person), first, seen, row.last_review))
    return sorted(lines, key=lambda line: (-line.role.rank, line.person.name, line.person.origin))


def checked_address(address: str) -> str:
    """Return an e-mail address as it is stored: lower case, without blanks around it.

    Raises:
        BadInput: It is none.
    """
    tidy = address.strip().lower()
    if not _ADDRESS.fullmatch(tidy) or not tidy.isprintable() or len(tidy) > LONGEST_ADDRESS:
        raise BadInput("a person who signs in is named by an e-mail address, for example ann@example.org")
    return tidy


def _set(store: Store, address: str, role: Role, actor: Actor, kind: str) -> Reviewer:
    name = checked_address(address)
    with allowed(store, actor, Action.MANAGE_PEOPLE) as connection:
        everybody = _all_locked(connection)
        person = next((each for each in everybody if each.name == name), None)
        if person is None or role_of(person) is Role.NONE:
            raise NotFound(f"nobody here signs in as {name}")
        if is_first_admin(name):
            raise BadInput(f"JUDGEBOARD_ADMIN names {name}, who is admin as long as it does")
        if role is not person.role:
            _keep_an_admin(everybody, person, role)
            set_role(connection, person.id, role)
            _record(connection, kind, actor, person, role=role)
    return Reviewer(person.id, person.origin, person.name, role)


def _keep_an_admin(everybody: list[Reviewer], person: Reviewer, role: Role) -> None:
    others = any(role_of(each) is Role.ADMIN for each in everybody if each.id != person.id)
    if person.role is Role.ADMIN and role is not Role.ADMIN and not others and load_settings().admin is None:
        raise BadInput(f"{person.name} is the only admin: make somebody else one first")


def _all_locked(connection: Connection) -> list[Reviewer]:
    """Everybody who signs in; two admins who remove each other at once do it one after the other."""
    return reviewers_of(connection, SIGNED_IN, lock=True)


def _record(connection: Connection, kind: str, actor: Actor, person: Reviewer, *, role: Role) -> None:
    before = role_of(person) if kind != "add_person" else Role.NONE
    details = {"person": person.id, "name": person.name, "from": before.value, "to": role.value}
    record_event(connection, kind, actor_name(actor), details=details)


def _checked_role(role: Role) -> Role:
    if role not in ROLES:
        raise BadInput(f"a role is one of {', '.join(ROLES)}; to take it away, remove the person")
    return role

"""People who review, found by where their name comes from together with the name."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, select, update

from judgeboard.domain import Role
from judgeboard.errors import BadInput
from judgeboard.store.reviews import has_grade, is_current
from judgeboard.store.statements import insert_into
from judgeboard.store.tables import REVIEW, REVIEWER

LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A person as stored; what they may do is told by origin and role together (`people.roles.role_of`)."""

    id: int
    origin: str
    name: str
    role: Role


_PERSON = select(REVIEWER.c.id, REVIEWER.c.origin, REVIEWER.c.name, REVIEWER.c.role)


def find_reviewer(connection: Connection, origin: str, name: str) -> Reviewer | None:
    """Return a reviewer, None where nobody of this name came from there."""
    query = _PERSON.where(REVIEWER.c.origin == origin, REVIEWER.c.name == name)
    return next(map(_person, connection.execute(query)), None)


def reviewer_by_id(connection: Connection, reviewer_id: int) -> Reviewer | None:
    """Return a reviewer as stored now, None where there is none."""
    return next(map(_person, connection.execute(_PERSON.where(REVIEWER.c.id == reviewer_id))), None)


def reviewers_by_id(connection: Connection, ids: Collection[int]) -> list[Reviewer]:
    """Return these reviewers as stored now, by id."""
    query = _PERSON.where(REVIEWER.c.id.in_(ids)).order_by(REVIEWER.c.id)
    return list(map(_person, connection.execute(query)))


def reviewers_of(connection: Connection, origin: str, *, lock: bool = False) -> list[Reviewer]:
    """Return everybody of an origin by id; ``lock`` keeps their roles as they are until the transaction ends."""
    query = _PERSON.where(REVIEWER.c.origin == origin).order_by(REVIEWER.c.id)
    return list(map(_person, connection.execute(query.with_for_update() if lock else query)))


def set_role(connection: Connection, reviewer_id: int, role: Role) -> None:
    """Store what a person may do from now on."""
    connection.execute(update(REVIEWER).where(REVIEWER.c.id == reviewer_id).values(role=role.value))


def store_reviewer(
    connection: Connection, origin: str, name: str, now: datetime | None = None, role: Role = Role.REVIEWER
) -> Reviewer:
    """Return a reviewer, stored now where nobody of this name came from there."""
    connection.execute(
        insert_into(connection, REVIEWER).on_conflict_do_nothing(index_elements=["origin", "name"]),
        {"origin": origin, "name": name, "role": role.value, "created_at": now or datetime.now(UTC)},
    )
    found = find_reviewer(connection, origin, name)
    if found is None:
        raise LookupError(f"the reviewer {name!r} vanished while being stored")
    return found


def checked_name(name: str) -> str:
    """Return a name as it is stored, runs of white space as one blank.

    Raises:
        BadInput: Nothing is left, more than 80 characters are, or one cannot be shown.
    """
    tidy = " ".join(name.split())
    if not tidy:
        raise BadInput("a reviewer needs a name")
    if len(tidy) > LONGEST_NAME:
        raise BadInput(f"a reviewer's name has at most {LONGEST_NAME} characters")
    if not tidy.isprintable():
        raise BadInput("a reviewer's name is made of characters that can be shown")
    return tidy


def list_graders(connection: Connection) -> list[Reviewer]:
    """Return everybody with a review that stands and grades, by name and origin."""
    graded = select(REVIEW.c.reviewer_id).where(is_current(), has_grade())
    query = _PERSON.where(REVIEWER.c.id.in_(graded))
    return sorted(map(_person, connection.execute(query)), key=lambda each: (each.name, each.origin))


def _person(row: Any) -> Reviewer:
    return Reviewer(row[0], row[1], row[2], Role(row[3]))


def reviewer_names(connection: Connection) -> dict[int, str]:
    """Return everybody's name by id; where several have one name, with where they come from."""
    people = list(map(_person, connection.execute(_PERSON)))
    names = Counter(each.name for each in people)
    return {each.id: each.name if names[each.name] == 1 else f"{each.name} ({each.origin})" for each in people}

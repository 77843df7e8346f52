"""People who review, found by where their name comes from together with the name."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, select

from judgeboard.errors import BadInput
from judgeboard.store.reviews.standing import REVIEW, has_grade, standing
from judgeboard.store.schema.tables import ReviewerRow
from judgeboard.store.sql.insertion import insert_into

REVIEWER = ReviewerRow.__table__
LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A person as stored."""

    id: int
    origin: str
    name: str
    role: str


def find_reviewer(connection: Connection, origin: str, name: str) -> Reviewer | None:
    """Return a reviewer, None where nobody of this name came from there."""
    query = select(REVIEWER.c.id, REVIEWER.c.origin, REVIEWER.c.name, REVIEWER.c.role)
    row = connection.execute(query.where(REVIEWER.c.origin == origin, REVIEWER.c.name == name)).one_or_none()
    return None if row is None else Reviewer(*row)


def store_reviewer(connection: Connection, origin: str, name: str, now: datetime | None = None) -> Reviewer:
    """Return a reviewer, stored now where nobody of this name came from there."""
    connection.execute(
        insert_into(connection, REVIEWER).on_conflict_do_nothing(index_elements=["origin", "name"]),
        {"origin": origin, "name": name, "role": "reviewer", "created_at": now or datetime.now(UTC)},
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
    graded = select(REVIEW.c.reviewer_id).where(standing(), has_grade())
    query = select(REVIEWER.c.id, REVIEWER.c.origin, REVIEWER.c.name, REVIEWER.c.role).where(REVIEWER.c.id.in_(graded))
    return sorted((Reviewer(*row) for row in connection.execute(query)), key=lambda each: (each.name, each.origin))

"""People who review; the origin of a name (such as cli or import) and the name identify a person."""

from collections import Counter
from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, func, select, update

from judgeboard.domain import Role
from judgeboard.errors import BadInput
from judgeboard.settings.model import load_settings
from judgeboard.store.reviews import has_grade, is_current
from judgeboard.store.statements import first_row, insert_or_skip, rows_of
from judgeboard.store.tables import REVIEW, REVIEWER, Reviewer
from judgeboard.text import folded_address

LONGEST_NAME = 80


_LINKED = REVIEWER.alias("linked")


def find_reviewer(connection: Connection, origin: str, name: str) -> Reviewer | None:
    """Return a reviewer, or None; without an exact match, the first person whose name differs only by case.

    If a user of the terminal is linked to a person, this person is returned.
    """
    if origin == "cli":
        same_as = select(_LINKED.c.same_as).where(
            _LINKED.c.origin == origin, _LINKED.c.name == name
        )
        if person := _people(connection, REVIEWER.c.id == same_as.scalar_subquery()):
            return person[0]
    if exact := _people(connection, REVIEWER.c.origin == origin, REVIEWER.c.name == name):
        return exact[0]
    # In Python, because SQLite folds ASCII only. Not casefold for addresses: straße@ and strasse@
    # are two mailboxes.
    fold = folded_address if origin == "oidc" else str.casefold
    return next(
        (each for each in reviewers_of(connection, origin) if fold(each.name) == fold(name)), None
    )


def reviewer_by_id(connection: Connection, reviewer_id: int) -> Reviewer | None:
    """Return a reviewer as stored now, or None."""
    return first_row(connection, select(Reviewer).where(REVIEWER.c.id == reviewer_id))


def reviewers_by_id(connection: Connection, ids: Collection[int]) -> list[Reviewer]:
    """Return these reviewers as stored now, by id."""
    return _people(connection, REVIEWER.c.id.in_(ids))


def reviewers_of(connection: Connection, origin: str, *, lock: bool = False) -> list[Reviewer]:
    """Return everybody with an origin, by id; ``lock`` keeps the roles unchanged until the transaction ends."""
    return _people(connection, REVIEWER.c.origin == origin, lock=lock)


def people_sign_in(connection: Connection) -> bool:
    """Return whether people sign in: an admin added somebody, or ``JUDGEBOARD_ADMIN`` names the first admin."""
    return load_settings().admin is not None or bool(reviewers_of(connection, "oidc"))


def change_reviewer(connection: Connection, row: Reviewer, **values: object) -> None:
    """Change columns of a reviewer."""
    connection.execute(update(REVIEWER).where(REVIEWER.c.id == row.id).values(values))


def implied_labels_of(connection: Connection, reviewer_id: int) -> bool | None:
    """Return whether a person wants decisions to imply labels; None if the person has not been asked yet."""
    return connection.scalar(select(REVIEWER.c.implied_labels).where(REVIEWER.c.id == reviewer_id))


def store_reviewer(
    connection: Connection, origin: str, name: str, role: Role = Role.REVIEWER
) -> Reviewer:
    """Return the reviewer with this name and origin. A new reviewer is stored."""
    new = Reviewer(origin=origin, name=name, role=role)
    connection.execute(insert_or_skip(connection, REVIEWER, "origin", "name"), new.new_values())
    return _people(connection, REVIEWER.c.origin == origin, REVIEWER.c.name == name)[0]


def authors(connection: Connection) -> list[tuple[str, int]]:
    """Return names and ids of the people who may be authors of imported reviews, authors of earlier imports first.

    A linked author has the id of the person. Without sign-in, people who gave a name on a page are
    included. With sign-in, such people are not included, so that an import adds no reviews to a
    person who signs in.
    """
    origins = {"import"} if people_sign_in(connection) else {"import", "page"}
    query = select(REVIEWER.c.name, func.coalesce(REVIEWER.c.same_as, REVIEWER.c.id)).where(
        REVIEWER.c.origin.in_(origins)
    )
    return [
        (name, id_)
        for name, id_ in connection.execute(query.order_by(REVIEWER.c.origin, REVIEWER.c.id))
    ]


def take_up_imports(connection: Connection, name: str) -> Reviewer | None:
    """Change the author of imported reviews with this name into a person of the pages, and return that reviewer.

    Returns None if there is no such author, if the author is linked to a person, or if people sign
    in.
    """
    author = find_reviewer(connection, "import", name)
    if (
        author is None
        or people_sign_in(connection)
        or (author.name, author.id) not in authors(connection)
    ):
        return None
    change_reviewer(connection, author, origin="page", name=name)
    return reviewer_by_id(connection, author.id)


def checked_name(name: str) -> str:
    """Return a name in the stored form, with single blanks for white space; raise BadInput for an invalid name."""
    tidy = " ".join(name.split())
    if not tidy:
        raise BadInput("a reviewer needs a name")
    if len(tidy) > LONGEST_NAME:
        raise BadInput(f"a reviewer's name has at most {LONGEST_NAME} characters")
    if not tidy.isprintable():
        raise BadInput("a reviewer's name may contain only printable characters")
    return tidy


def graders_by_name(connection: Connection) -> dict[str, int]:
    """Return the ids of everybody with a current review that has a grade, by name (`reviewer_names`)."""
    graders = select(REVIEW.c.reviewer_id).where(is_current(), has_grade())
    names = reviewer_names(connection)
    return dict(
        sorted(
            (names[person.id], person.id)
            for person in _people(connection, REVIEWER.c.id.in_(graders))
        )
    )


def reviewer_names(connection: Connection) -> dict[int, str]:
    """Return everybody's name by id; if several people have the same name, the origin is added."""
    people = _people(connection)
    names = Counter(person.name for person in people)
    return {
        person.id: person.name if names[person.name] == 1 else f"{person.name} ({person.origin})"
        for person in people
    }


def people_to_mention(connection: Connection) -> dict[int, str]:
    """Return the names, by id, of everybody who may be mentioned: not the authors of imported grades."""
    people = _people(connection, REVIEWER.c.origin != "import", REVIEWER.c.role != Role.NONE)
    return {person.id: person.name.removeprefix("cli:") for person in people}


def _people(
    connection: Connection, *conditions: ColumnElement[bool], lock: bool = False
) -> list[Reviewer]:
    query = select(Reviewer).where(*conditions).order_by(REVIEWER.c.id)
    return rows_of(connection, query.with_for_update() if lock else query)

"""The people whom a lead names: an address signs in, ``cli:USER`` is in a terminal, any other name at a desk."""

from collections.abc import Sequence

from judgeboard.errors import NotFound
from judgeboard.people.permissions import SIGNED_IN
from judgeboard.review.people import ensure_reviewer
from judgeboard.store.engine import Store
from judgeboard.store.reviews.reviewers import Reviewer, checked_name, find_reviewer


def people_named(store: Store, names: Sequence[str]) -> list[Reviewer]:
    """Return the people of these names, each once; a name at a desk or in a terminal that is new is stored.

    Raises:
        NotFound: An address is of nobody whom an admin added.
        BadInput: A name is empty, longer than 80 characters or not printable.
    """
    found = [_person(store, checked_name(name)) for name in names]
    return list(dict.fromkeys(found))


def _person(store: Store, name: str) -> Reviewer:
    if name.startswith("cli:"):
        return ensure_reviewer(store, "cli", name)
    with store.reading() as connection:
        for origin in (SIGNED_IN, "desk"):
            known = find_reviewer(connection, origin, name)
            if known is not None:
                return known
    if "@" in name:
        raise NotFound(f"nobody added {name}: an admin does (`judgeboard people add`)")
    return ensure_reviewer(store, "desk", name)

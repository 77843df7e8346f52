"""What role a person has, by where their name comes from."""

from judgeboard.domain import Role
from judgeboard.settings import load_settings
from judgeboard.store.reviews.reviewers import Reviewer

SIGNED_IN = "oidc"
IMPORTED = "import"


def role_of(person: Reviewer) -> Role:
    """Return what a person may do.

    Who signs in has the role that an admin gave them; the one whom ``JUDGEBOARD_ADMIN`` names is an admin whatever is
    stored. Whoever only wrote a grade that was imported may do nothing here. Everybody else (a name typed at a desk
    without sign-in, ``cli:USER`` in a terminal, a program) holds the database anyway and is admin of it.
    """
    if person.origin == IMPORTED:
        return Role.NONE
    if person.origin != SIGNED_IN:
        return Role.ADMIN
    return Role.ADMIN if is_first_admin(person.name) else person.role


def is_first_admin(name: str) -> bool:
    """Whether ``JUDGEBOARD_ADMIN`` names this address."""
    return name == load_settings().admin

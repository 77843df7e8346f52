"""The people whom a queue can be given to."""

from judgeboard.domain import Role
from judgeboard.people.permissions import SIGNED_IN
from judgeboard.store.reviews.reviewers import reviewers_of
from judgeboard_dashboard.session import ORIGIN, reading


def known_people() -> list[str]:
    """Return the names of those who sign in and may review, and of those who reviewed at this desk."""
    with reading() as connection:
        found = [one for origin in (SIGNED_IN, ORIGIN) for one in reviewers_of(connection, origin)]
    return sorted({one.name for one in found if one.role is not Role.NONE or one.origin != SIGNED_IN})

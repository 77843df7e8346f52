"""Who is at the desk."""

from judgeboard.errors import BadInput
from judgeboard.people.permissions import SIGNED_IN
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.reviews.reviewers import Reviewer, checked_name, find_reviewer, store_reviewer


def ensure_reviewer(store: Store, origin: str, name: str) -> Reviewer:
    """Return the reviewer of this name, storing it where it is new.

    Args:
        store: The open database.
        origin: Where the name comes from: ``desk`` (typed on a page), ``cli`` (then the name is ``cli:USER``),
            ``import`` or ``oidc``. Equal names of two origins are two reviewers.
        name: What the person is called.

    Raises:
        BadInput: The name is empty, longer than 80 characters or not printable, or it is of somebody who signs in and
            whom no admin added.
    """
    tidy = checked_name(name)
    with store.reading() as connection:
        known = find_reviewer(connection, origin, tidy)
    if known is not None:
        return known
    if origin == SIGNED_IN:
        raise BadInput(f"nobody added {tidy}: an admin does (`judgeboard people add`)")
    with store.writing() as connection:
        if find_reviewer(connection, origin, tidy) is None:
            record_event(connection, "first_seen", tidy, details={"origin": origin})
        return store_reviewer(connection, origin, tidy)

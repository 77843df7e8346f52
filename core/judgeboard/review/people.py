"""Who is at the desk."""

from judgeboard.store.engine import Store
from judgeboard.store.reviews.reviewers import Reviewer, checked_name, find_reviewer, store_reviewer


def ensure_reviewer(store: Store, origin: str, name: str) -> Reviewer:
    """Return the reviewer of this name, storing it where it is new.

    Args:
        store: The open database.
        origin: Where the name comes from: ``desk`` (typed on a page), ``cli``, ``import`` or ``oidc``. Equal names of
            two origins are two reviewers.
        name: What the person is called.

    Raises:
        BadInput: The name is empty, longer than 80 characters or not printable.
    """
    tidy = checked_name(name)
    with store.reading() as connection:
        known = find_reviewer(connection, origin, tidy)
    if known is not None:
        return known
    with store.writing() as connection:
        return store_reviewer(connection, origin, tidy)

"""Tries a taking again: two sessions of one person may reach for two places of one item, and one of them fails."""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import IntegrityError

from judgeboard.errors import BadInput
from judgeboard.store.reviews.reviewers import Reviewer

TRIES = 5
Taken = TypeVar("Taken")


def tried(take: Callable[[], Taken], reviewer: Reviewer) -> Taken:
    """Return what a reviewer's taking comes to; ``take`` is a transaction of its own.

    Raises:
        BadInput: Other sessions of theirs were first each time.
    """
    for _ in range(TRIES):
        try:
            return take()
        except IntegrityError:
            continue
    raise BadInput(f"{reviewer.name} takes items in another session at this moment: try again")

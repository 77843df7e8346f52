"""Keeps people who are to review an answer blind from deciding it where the judge is in view."""

from sqlalchemy import Connection

from judgeboard.errors import DecisionRefused
from judgeboard.store.hidden_rows import hidden_of_pair, hidden_of_response
from judgeboard.store.reviews.reviewers import Reviewer
from judgeboard.store.reviews.reviews import LockedResponse


def check_not_blind(connection: Connection, reviewer: Reviewer, response: LockedResponse) -> None:
    """Refuse a word on an answer that its author is to review blind in a queue and has not.

    Raises:
        DecisionRefused: They are.
    """
    if hidden_of_response(connection, reviewer.id, response.id):
        raise DecisionRefused(
            f"You are to review {response.external_id} without seeing what others said: open it in its queue."
        )


def check_pair_not_blind(connection: Connection, reviewer: Reviewer, pair_id: int) -> None:
    """Refuse a word outside its queue on a pair that its author is to review blind there and has not.

    Raises:
        DecisionRefused: They are.
    """
    if hidden_of_pair(connection, reviewer.id, pair_id):
        raise DecisionRefused("You are to review this pair without seeing what others said: open it in its queue.")

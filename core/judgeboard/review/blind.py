"""What a person has seen of an answer or a pair that they review, and what is to stay hidden from them."""

from sqlalchemy import Connection

from judgeboard.errors import DecisionRefused
from judgeboard.store.hidden_rows import Hidden, hidden_of_pair, hidden_of_response
from judgeboard.store.queues.leases import JUDGE, PEOPLE
from judgeboard.store.reviews.reviewers import Reviewer
from judgeboard.store.reviews.standing import spoken_by_others


def hidden_from(connection: Connection, reviewer: Reviewer, response_id: int | None, pair_id: int | None) -> Hidden:
    """Return what of an answer or a pair is hidden from a reviewer."""
    if response_id is not None:
        return hidden_of_response(connection, reviewer.id, response_id)
    return hidden_of_pair(connection, reviewer.id, pair_id or 0)


def check_not_blind(
    connection: Connection, reviewer: Reviewer, response_id: int | None, pair_id: int | None, name: str = "this pair"
) -> None:
    """Refuse a review outside its queue by somebody who is to review the answer or the pair blind there and has not.

    Raises:
        DecisionRefused: They are.
    """
    if hidden_from(connection, reviewer, response_id, pair_id):
        raise DecisionRefused(f"You are to review {name} without seeing what others said: open it in its queue.")


def in_view(connection: Connection, response_id: int, reviewer_id: int, judgment_id: int | None) -> tuple[str, ...]:
    """Return what a reviewer had seen of an answer outside any queue, where the page shows all there is.

    That is the judge where a judgment was on the screen, and people where others had reviewed the answer.
    """
    judge = () if judgment_id is None else (JUDGE,)
    return (*judge, PEOPLE) if spoken_by_others(connection, response_id, reviewer_id) else judge

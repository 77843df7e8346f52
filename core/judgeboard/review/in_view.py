"""What a reviewer had before them outside of any queue: the page shows all there is."""

from sqlalchemy import Connection

from judgeboard.store.queues.leases import JUDGE, PEOPLE
from judgeboard.store.reviews.standing import spoken_by_others


def in_view(connection: Connection, response_id: int, reviewer_id: int, judgment_id: int | None) -> tuple[str, ...]:
    """Return what is stored as seen: the judge where a judgment was on the screen, people where others had spoken."""
    judge = () if judgment_id is None else (JUDGE,)
    return (*judge, PEOPLE) if spoken_by_others(connection, response_id, reviewer_id) else judge

"""What a reviewer is told about a press: what stood in its way, what was kept, what was taken back."""

from datetime import UTC, datetime

from judgeboard.domain import Decision, Grade
from judgeboard.store.reviews.reviews import StoredReview

CANNOT_REOPEN = "Cannot reopen: a newer flag is open on this answer."
LONGEST_NAME, LONGEST_ID = 24, 40  # characters of a name and an id that a sentence of one line has room for
_VERBS = {Decision.CONFIRM: "confirmed", Decision.DISMISS: "dismissed"}


def decided_by(first: StoredReview, external_id: str, reviewer_id: int, now: datetime) -> str:
    """Say who decided a flag, and when: "Jon confirmed ragtruth-12260 at 09:41 UTC."."""
    who = "You" if first.reviewer_id == reviewer_id else _short(first.by, LONGEST_NAME)
    done = "decided" if first.decision is None else _VERBS[first.decision]
    return f"{who} {done} {_short(external_id, LONGEST_ID)} {_when(first.at, now)}."


def superseded(external_id: str) -> str:
    """Say that no person was first but a newer verdict."""
    return f"A newer verdict replaced this flag on {_short(external_id, LONGEST_ID)}."


def kept(grade: Grade) -> str:
    """Say what of a refused press was stored."""
    return f" Your {'grade' if grade.note is None else 'note'} is kept with it."


def undone(review: StoredReview, external_id: str) -> str:
    """Say what was taken back, and that nothing said before it stands again."""
    external_id = _short(external_id, LONGEST_ID)
    if review.decision in _VERBS:
        return f"Undone: {external_id} is open again."
    if review.decision is Decision.UNSURE:
        return f"Undone: {external_id} is in your queue again."
    earlier = " The one before it is in the history." if review.replaces is not None else ""
    return f"Undone: your grade of {external_id} is taken back.{earlier}"


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def _when(at: datetime, now: datetime) -> str:
    at, now = at.astimezone(UTC), now.astimezone(UTC)
    day = "" if at.date() == now.date() else f"on {at.day} {at:%B} "
    year = f"{at.year} " if at.year != now.year else ""
    return f"{day}{year}at {at:%H:%M} UTC"

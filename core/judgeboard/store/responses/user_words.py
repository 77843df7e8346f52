"""What users said of answers, in words."""

from collections.abc import Collection

from sqlalchemy import Connection, select

from judgeboard.domain import FeedbackKind
from judgeboard.store.schema.tables import FEEDBACK


def feedback_words(kind: str, value: float) -> str:
    """Return one feedback in words: "thumbs down", "1 star", "3.5 stars"."""
    if kind == FeedbackKind.THUMBS:
        return "thumbs up" if value == 1 else "thumbs down"
    return f"{value:g} star{'' if value == 1 else 's'}"


def latest_feedback(connection: Connection, response_ids: Collection[int]) -> dict[int, str]:
    """Return the latest feedback (highest id) in words, by response; those without any are left out."""
    rows = connection.execute(
        select(FEEDBACK.c.response_id, FEEDBACK.c.kind, FEEDBACK.c.value)
        .where(FEEDBACK.c.response_id.in_(response_ids))
        .order_by(FEEDBACK.c.id)
    )
    return {response_id: feedback_words(kind, value) for response_id, kind, value in rows}

"""Which side the user is on: down, in the middle or up, by the latest feedback, with or without a verdict beside it."""

from sqlalchemy import ColumnElement, exists, or_

from judgeboard.domain import FeedbackKind
from judgeboard.store.schema.tables import FEEDBACK


def is_latest() -> ColumnElement[bool]:
    """Return the condition that a row of user_feedback is the latest (highest id) of its response."""
    later = FEEDBACK.alias()
    return ~exists().where(later.c.response_id == FEEDBACK.c.response_id, later.c.id > FEEDBACK.c.id)


def feedback_sides() -> dict[str, ColumnElement[bool]]:
    """Return the condition of each side on a row of user_feedback."""
    thumbs, value = FEEDBACK.c.kind == FeedbackKind.THUMBS.value, FEEDBACK.c.value
    return {
        "down": or_(thumbs & (value == 0), ~thumbs & (value < 3)),
        "middle": ~thumbs & (value == 3),
        "up": or_(thumbs & (value == 1), ~thumbs & (value > 3)),
    }


def quality_sides(quality: ColumnElement[float | None]) -> dict[str, ColumnElement[bool]]:
    """Return the condition of each side on the same feedback as a quality (`Feedback.quality`), and of none."""
    return {"down": quality < 2.5, "middle": quality == 2.5, "up": quality > 2.5, "none": quality.is_(None)}

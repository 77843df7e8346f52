"""Why a person and the judge differ on an answer: whether they do, and saying why afterwards."""

from dataclasses import replace
from typing import Protocol

from sqlalchemy import Connection, select

from judgeboard.domain import Grade, Label, WhyDiffers
from judgeboard.errors import BadInput
from judgeboard.flags.rule import rounded
from judgeboard.review.editing import Edited, edit
from judgeboard.store.engine import Store
from judgeboard.store.reviews.own_reviews import WholeReview, whole_review
from judgeboard.store.reviews.reviewers import Reviewer
from judgeboard.store.reviews.standing import REVIEW, has_grade, standing

FROM_GROUNDEDNESS = 0.2
"""Two groundedness values this far apart differ: the scale that people grade on has steps of 0.2 to 0.3."""


class Judged(Protocol):
    """A judge's verdict as the item shows it; every part may be missing."""

    @property
    def groundedness(self) -> float | None: ...  # noqa: D102 - 0 to 1
    @property
    def quality(self) -> int | None: ...  # noqa: D102 - 1 to 4
    @property
    def label(self) -> str | None: ...  # noqa: D102 - a `Label`


def differs(grade: Grade, judged: Judged, low: float) -> bool:
    """Whether a grade and a verdict differ on anything that both give.

    Labels and qualities differ when they are not the same, groundedness from 0.2 on. A label on one side and only a
    groundedness on the other differ when the score is on the other side of ``low``, below which an answer is
    flagged.
    """
    if grade.quality is not None and judged.quality is not None and grade.quality != judged.quality:
        return True
    mine, theirs = grade.groundedness, judged.groundedness
    if mine is not None and theirs is not None and rounded(abs(mine - theirs)) >= FROM_GROUNDEDNESS:
        return True
    if grade.label is not None and judged.label is not None:
        return grade.label != judged.label
    if grade.label is not None and theirs is not None:
        return grade.label is not _side(theirs, low)
    if judged.label is not None and mine is not None:
        return _side(mine, low) != judged.label
    return False


def _side(groundedness: float, low: float) -> Label:
    return Label.HALLUCINATED if rounded(groundedness) < low else Label.GROUNDED


def say_why(
    store: Store,
    *,
    response_id: int,
    reviewer: Reviewer,
    why: WhyDiffers | None,
    judgment_id: int,
    request_key: str,
) -> Edited:
    """Say why one differs from a judgment, in place of one's own latest review with a grade; None takes it back.

    Raises:
        DecisionRefused: That review was said before its author saw the judge: why is said in its queue.
        NotAllowed: No admin lets this person review.
        BadInput: They have graded nothing here, or the judgment is not one of this answer.
    """
    with store.reading() as connection:
        own = own_graded(connection, response_id, reviewer.id)
    if own is None:
        raise BadInput("only who graded an answer can say why they differ from the judge on it")
    return edit(
        store,
        review_id=own.id,
        reviewer=reviewer,
        decision=own.decision,
        grade=replace(own.grade, why_differs=why),
        judgment_seen_id=judgment_id,
        seconds=own.seconds,
        request_key=request_key,
    )


def own_graded(connection: Connection, response_id: int, reviewer_id: int) -> WholeReview | None:
    """Return the latest review of a person that stands and grades an answer, None where there is none."""
    query = select(REVIEW.c.id).where(
        REVIEW.c.response_id == response_id, REVIEW.c.reviewer_id == reviewer_id, standing(), has_grade()
    )
    found = connection.execute(query.order_by(REVIEW.c.id.desc()).limit(1)).scalar_one_or_none()
    return None if found is None else whole_review(connection, found)

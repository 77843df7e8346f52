"""Which first steps of a new database are done: import, judge, review, and the first agreement figure."""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import ColumnElement, Connection, exists, func, select

from judgeboard.domain import Decision
from judgeboard.stats.estimates import MIN_PAIRS
from judgeboard.store.reviews import has_grade, is_current
from judgeboard.store.statements import CURRENT_OF_NAME, any_row
from judgeboard.store.tables import CURRENT, JUDGMENT, RESPONSE, REVIEW

REVIEWS = 20  # answers to review before this step is done
_NEW = 5_000  # a database with more reviews is not new
Step = Literal["import", "judge", "review", "agree"]


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """The first steps of a database. A count stops at the number that completes its step.

    ``reviewed`` counts answers with a decision or a grade, up to 20. ``compared`` counts answers with a grade of a
    person and a usable verdict, up to the number that an agreement figure needs.
    """

    imported: bool
    judged: bool
    reviewed: int
    compared: int

    @property
    def next(self) -> Step | None:
        """The first step that is not done, None after the last."""
        done: dict[Step, bool] = {
            "import": self.imported,
            "judge": self.judged,
            "review": self.reviewed >= REVIEWS,
            "agree": self.compared >= MIN_PAIRS,
        }
        return next((step for step, is_done in done.items() if not is_done), None)


def first_steps(connection: Connection) -> FirstSteps:
    """Return the first steps; in a database with more than 5,000 reviews, all steps count as done."""
    if any_row(connection, REVIEW.c.id > _NEW):
        return FirstSteps(imported=True, judged=True, reviewed=REVIEWS, compared=MIN_PAIRS)
    decided = REVIEW.c.decision.in_([Decision.CONFIRM.value, Decision.DISMISS.value])
    judged = exists(select(CURRENT.c.response_id).where(CURRENT.c.response_id == REVIEW.c.response_id, CURRENT_OF_NAME))
    return FirstSteps(
        imported=any_row(connection, RESPONSE.c.id > 0),
        judged=any_row(connection, JUDGMENT.c.id > 0),
        reviewed=_answers(connection, decided | has_grade(), most=REVIEWS),
        compared=_answers(connection, has_grade(), judged, most=MIN_PAIRS),
    )


def _answers(connection: Connection, *conditions: ColumnElement[bool], most: int) -> int:
    """Count the answers with a current review under these conditions, at most ``most``."""
    answers = select(REVIEW.c.response_id).where(REVIEW.c.response_id.is_not(None), is_current(), *conditions)
    first = answers.group_by(REVIEW.c.response_id).order_by(REVIEW.c.response_id).limit(most).subquery()
    return int(connection.execute(select(func.count()).select_from(first)).scalar_one())

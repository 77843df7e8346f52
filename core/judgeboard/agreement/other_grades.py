"""Says which reviews do not count on a grade because they give another one only."""

from collections.abc import Iterator

import numpy as np

from judgeboard.agreement.notes import Note
from judgeboard.answer_pairs import GRADES, column_of, is_given
from judgeboard.store.reviews.ratings import AGAIN, StandingReviews


def other_grades(reviews: StandingReviews, grade: str, reviewer_id: int | None = None) -> Iterator[Note]:
    """Say how many reviews, of one person or of all, give none of this grade, and which grades count them.

    Nothing is said of a rubric's dimension: who was asked for it is not known.
    """
    if grade not in GRADES:
        return
    rows = (reviews.stages != AGAIN) & ~is_given(column_of(reviews.given, grade))
    if reviewer_id is not None:
        rows &= reviews.reviewer_ids == reviewer_id
    n = int(np.count_nonzero(rows))
    if n:
        given = reviews.given.at(rows)
        others = [each for each in GRADES if is_given(column_of(given, each)).any()]
        give, do, them = ("1 review gives", "does", "it") if n == 1 else (f"{n:,} reviews give", "do", "them")
        counts = f"the grade {' or '.join(others)} counts {them}"
        yield Note("other_grades", f"{give} no {grade}, and {do} not count here: {counts}.")

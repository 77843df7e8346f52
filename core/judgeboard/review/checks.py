"""Checks of what a press carries, before anything of it is written."""

import math
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Decision, DimensionScore, Grade
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.judges.rubric_file import LEVELS, SCALE
from judgeboard.review.claim_marks import checked_marks
from judgeboard.storable_text import unstorable
from judgeboard.store.reviews.reviewers import Reviewer
from judgeboard.store.reviews.reviews import LockedResponse, StoredReview, judgment_is_of, replacement_of

LONGEST_KEY = 200
NOTHING_GIVEN = "nothing to save: give a label, a score, a note, a mark or a corrected answer"
LONGEST_LOOK = 30 * 86_400  # seconds: nobody looks at one answer for longer, and a sum of more says nothing


def checked_key(request_key: str) -> str:
    """Return the key of a request.

    Raises:
        BadInput: It is empty, longer than 200 characters or cannot be stored.
    """
    if not request_key or len(request_key) > LONGEST_KEY or unstorable(request_key):
        raise BadInput(f"a request key is a text of 1 to {LONGEST_KEY} characters")
    return request_key


def checked_seconds(seconds: float | None) -> float | None:
    """Return how long somebody looked, in seconds; None is unknown.

    Raises:
        BadInput: It is negative, not finite or longer than 30 days.
    """
    if seconds is not None and not (math.isfinite(seconds) and 0 <= seconds <= LONGEST_LOOK):
        raise BadInput(f"the time spent is a number of seconds from 0 to {LONGEST_LOOK:,}")
    return seconds


def checked_judgment(connection: Connection, judgment_id: int | None, response: LockedResponse) -> int | None:
    """Return the judgment that was on the screen.

    Raises:
        BadInput: It is not a judgment of this answer.
    """
    if judgment_id is not None and not judgment_is_of(connection, judgment_id, response.id):
        raise BadInput(f"judgment {judgment_id} is not one of {response.external_id}")
    return judgment_id


def checked_grade(
    connection: Connection, grade: Grade, response: LockedResponse | None, judgment_seen_id: int | None = None
) -> Grade:
    """Return a grade as it is stored: blank texts and empty lists of spans count as not given.

    A pair (no ``response``) takes a note and nothing else.

    Of a forgotten answer no text is taken: what was blanked would be written down again.

    The texts of marks are taken from the answer and from the judgments that they name, not from the screen.

    Raises:
        BadInput: A pair is graded, a span or a mark does not lie inside the answer, a mark names no claim of this
            answer's judgments, a reason to differ comes without the judgment that was seen, a score is no level of a
            rubric, or a text cannot be stored.
        DecisionRefused: A note or a corrected answer comes to an answer that was forgotten.
    """
    if response is None:
        if replace(grade, note=None) != Grade():
            raise BadInput("a pair takes no grade: say which answer is better, with a note")
        return Grade(note=checked_note(grade.note))
    answer = response.answer
    if grade.why_differs is not None and judgment_seen_id is None:
        raise BadInput("why a person and the judge differ is said of a verdict that the person saw")
    _check_scores(grade.scores)
    spans = tuple(_checked_span(span, answer) for span in grade.spans or ())
    note = (grade.note or "").strip() or None
    corrected = grade.corrected_answer if (grade.corrected_answer or "").strip() else None
    if note or corrected:
        check_not_forgotten(response)
    for name, text in (("note", note), ("corrected answer", corrected)):
        reason = None if text is None else unstorable(text)
        if reason is not None:
            raise BadInput(f"the {name} cannot be stored: {reason}")
    marks = checked_marks(connection, grade.claim_marks, response)
    return replace(grade, spans=spans or None, note=note, corrected_answer=corrected, claim_marks=marks)


def checked_note(note: str | None) -> str | None:
    """Return a note as it is stored, None for a blank one.

    Raises:
        BadInput: It cannot be stored.
    """
    text = (note or "").strip() or None
    if text is not None and (reason := unstorable(text)):
        raise BadInput(f"the note cannot be stored: {reason}")
    return text


def check_not_forgotten(response: LockedResponse) -> None:
    """Refuse a text about an answer whose texts were blanked.

    Raises:
        DecisionRefused: They were.
    """
    if response.answer is None:
        raise DecisionRefused(f"{response.external_id} was forgotten: nothing more is written about it.")


def is_empty(grade: Grade) -> bool:
    """Whether a checked grade says nothing."""
    return grade == Grade()


def check_same(stored: StoredReview, reviewer: Reviewer, *, same: bool) -> None:
    """Refuse a request key that wrote something else before.

    Raises:
        BadInput: It did.
    """
    if not same or stored.reviewer_id != reviewer.id:
        raise BadInput("this request key belongs to another review: every request needs its own")


def check_own(connection: Connection, review: StoredReview, reviewer: Reviewer, what: str) -> None:
    """Refuse to change a review that is not one's own or does not stand; ``what`` is to be done, "take it back".

    Raises:
        DecisionRefused: It is somebody else's, or undone, or its author said something newer.
    """
    if review.reviewer_id != reviewer.id:
        raise DecisionRefused(f"This is {review.by}'s review: only {review.by} can {what}.")
    later = replacement_of(connection, review.id)
    if review.decision is Decision.WITHDRAWN or (later is not None and later.decision is Decision.WITHDRAWN):
        raise DecisionRefused("This is undone already.")
    if later is not None:
        raise DecisionRefused("You said something newer on this answer: undo that first.")


def _check_scores(scores: tuple[DimensionScore, ...]) -> None:
    if len({score.dimension for score in scores}) < len(scores):
        raise BadInput("a dimension is scored twice")
    for score in scores:
        if not score.dimension.strip() or len(score.dimension) > LONGEST_KEY or unstorable(score.dimension):
            raise BadInput(f"a dimension has a name of 1 to {LONGEST_KEY} characters")
        if score.scale != SCALE or isinstance(score.value, bool) or score.value not in LEVELS:
            raise BadInput(f"{score.dimension}: a rubric's score is an integer from 1 to 5, not {score.value!r}")


def _checked_span(span: dict[str, Any], answer: str | None) -> dict[str, Any]:
    start, end = span.get("start"), span.get("end")
    whole = all(isinstance(value, int) and not isinstance(value, bool) for value in (start, end))
    length = 0 if answer is None else len(answer)
    if not whole or not 0 <= start < end <= length:  # type: ignore[operator] # both are whole numbers here
        raise BadInput(
            f"a span runs from a start to an end inside the answer's {length} characters, not {start} to {end}"
        )
    for name, value in span.items():
        reason = unstorable(value) if isinstance(value, str) else None
        if reason is not None:
            raise BadInput(f"the {name} of a span cannot be stored: {reason}")
    return span

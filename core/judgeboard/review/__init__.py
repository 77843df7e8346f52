"""What a reviewer's press does: decide a flag, grade an answer, take either back; one transaction each.

The screen is never trusted: what a press rests on is read again under lock. Every press carries a request key, so
that one that arrives twice counts once.
"""

from judgeboard.review.deciding import Decided, decide
from judgeboard.review.grading import grade
from judgeboard.review.people import ensure_reviewer
from judgeboard.review.undoing import Undone, undo
from judgeboard.store.reviews.reviewers import Reviewer

__all__ = ["Decided", "Reviewer", "Undone", "decide", "ensure_reviewer", "grade", "undo"]

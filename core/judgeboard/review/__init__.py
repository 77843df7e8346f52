"""What a reviewer's press does: decide, grade, comment, change and take back; one transaction each.

The screen is never trusted: what a press rests on is read again under lock. Every press carries a request key, so
that one that arrives twice counts once.
"""

from judgeboard.review.commenting import comment, edit_comment, withdraw_comment
from judgeboard.review.decisions import Decided, Preferred, decide, grade, prefer
from judgeboard.review.editing import Edited, edit
from judgeboard.review.people import ensure_reviewer
from judgeboard.review.undoing import Undone, undo
from judgeboard.store.reviews.reviewers import Reviewer

__all__ = [
    "Decided",
    "Edited",
    "Preferred",
    "Reviewer",
    "Undone",
    "comment",
    "decide",
    "edit",
    "edit_comment",
    "ensure_reviewer",
    "grade",
    "prefer",
    "undo",
    "withdraw_comment",
]

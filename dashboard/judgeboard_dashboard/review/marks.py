"""The actions that mark the statements of an answer."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from judgeboard.domain import ClaimMark, ClaimStatus
from judgeboard_dashboard.review.actions import DraftActions
from judgeboard_dashboard.review.claims import Subject, subject_of


@dataclass(frozen=True, slots=True)
class MarkActions(DraftActions):
    """The actions that mark the statements of an answer. Marks belong to the draft until the review is stored.

    ``saved`` are the marks of the reviewer's own stored review, which are shown while the draft has
    no marks. The current statement is read when a key press is processed: V and B in quick
    succession mark the next statement, even before the screen shows the next statement.
    """

    statements: tuple[ClaimMark, ...]
    saved: tuple[ClaimMark, ...] = ()

    @property
    def at(self) -> int | None:
        """The index of the statement that the keys mark; None before the first V."""
        at = self.draft.at
        return None if at is None or not self.statements else at % len(self.statements)

    @property
    def shown(self) -> Mapping[Subject, ClaimMark]:
        """The marks that are shown in the texts."""
        return self.draft.marks or {subject_of(mark): mark for mark in self.saved}

    def next(self) -> None:
        """Go to the next statement, or from the last to the first. Discard the text that the mouse selected."""
        self.draft.selection = None
        if self.statements:
            self.draft.at = 0 if self.at is None else (self.at + 1) % len(self.statements)

    def mark(self, status: ClaimStatus) -> None:
        """Mark the current statement, or remove this mark. If no statement is chosen, choose the first."""
        if not self.statements:
            return
        draft, mark = self.draft, replace(self.statements[self.at or 0], status=status)
        draft.at, subject = self.at or 0, subject_of(mark)
        before = draft.marks.get(subject)
        if (
            not draft.use_restored(subject, status)
            and before is not None
            and before.status is status
        ):
            del draft.marks[subject]
        else:
            draft.marks[subject] = mark

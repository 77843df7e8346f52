"""What the keys V, B, X and P do: go to the next statement of the answer, say what the person thinks of it.

Nothing here touches Streamlit: a press is either done whole or still waits (see controls).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from judgeboard.domain import ClaimMark, ClaimStatus
from judgeboard_dashboard.item.desk import Desk, Draft
from judgeboard_dashboard.item.statements import Statement, Subject, subject_of


@dataclass(frozen=True, slots=True)
class MarkPresses:
    """What can be pressed about the statements on a screen; marks are a draft until the review is saved.

    ``saved`` are the marks of the person's own review that stands, shown while the draft has none.
    Which statement is meant is read when a press is worked off: V and B in quick succession mean the next one
    although it was not drawn yet.
    """

    here: Desk
    response_id: int
    statements: tuple[Statement, ...]
    saved: tuple[ClaimMark, ...] = ()

    @property
    def draft(self) -> Draft:
        """The draft that the marks are in."""
        return self.here.draft(self.response_id)

    @property
    def at(self) -> int | None:
        """The place of the statement that the keys mark, None before the first V and without any."""
        at = self.draft.at
        return None if at is None or not self.statements else at % len(self.statements)

    @property
    def shown(self) -> Mapping[Subject, ClaimMark]:
        """The marks that are shown in the texts."""
        return self.draft.marks or {subject_of(mark): mark for mark in self.saved}

    def next(self) -> None:
        """Go to the next statement, after the last one to the first."""
        if self.statements:
            at = self.at
            self.draft.at = 0 if at is None else (at + 1) % len(self.statements)

    def mark(self, status: ClaimStatus) -> None:
        """Say what one thinks of the statement, of the first where none was chosen; the same again takes it back."""
        if not self.statements:
            return
        at = self.at or 0
        draft, statement = self.draft, self.statements[at]
        draft.at = at
        before = draft.marks.get(statement.subject)
        if before is not None and before.status is status:
            del draft.marks[statement.subject]
        else:
            draft.marks[statement.subject] = statement.marked(status)

"""What the keys do among attempts: show the next one, select one, deselect it.

Nothing here touches Streamlit: a press is either done whole or still waits (see controls).
"""

from dataclasses import dataclass

from judgeboard.methods.attempts import (
    AttemptSequence,
    ShownAttempt,
    deselect_attempt,
    select_attempt,
    selected_attempt,
)
from judgeboard.review import Reviewer
from judgeboard.store.engine import Store
from judgeboard_dashboard.item.desk import Desk
from judgeboard_dashboard.item.presses import Presses, safely

Place = tuple[AttemptSequence, ShownAttempt]


@dataclass(frozen=True, slots=True)
class AttemptPresses:
    """What can be pressed about the attempts on a screen.

    Which attempt is meant is read when a press is worked off: two keys in quick succession, next attempt and select,
    mean the next one although it was not drawn yet.
    """

    store: Store
    here: Desk
    reviewer: Reviewer | None
    response_id: int
    external_id: str
    places: tuple[Place, ...]

    @classmethod
    def on(cls, presses: Presses, places: tuple[Place, ...]) -> "AttemptPresses":
        """Return the presses about ``places`` on a screen."""
        screen = presses.screen
        return cls(presses.store, presses.here, presses.reviewer, screen.response_id, screen.external_id, places)

    @property
    def at(self) -> int:
        """Which attempt is looked at: the one that was chosen, at first the one that the newest run kept."""
        kept = (
            place for place, (sequence, one) in enumerate(self.places) if sequence is self.places[0][0] and one.kept
        )
        return self.here.viewed.get(self.response_id, next(kept, 0)) % len(self.places)

    def next(self) -> None:
        """Look at the next attempt, after the last one at the first."""
        self.here.viewed[self.response_id] = (self.at + 1) % len(self.places)

    def select(self) -> None:
        """Select the attempt; where this person has selected it, deselect it."""
        safely(self.here, self.reviewer, self._select)

    def _select(self, reviewer: Reviewer) -> None:
        sequence, attempt = self.places[self.at]
        row = f"attempt{sequence.run_id}.{sequence.subject}.{attempt.number}"
        token = self.here.token(row)
        if attempt.response_id is None:
            self.here.say(f"Not saved: {attempt.name} gave no answer", refused=True)
        elif selected_attempt(self.store, sequence.run_id, sequence.subject, reviewer) == attempt.number:
            deselect_attempt(
                self.store, run_id=sequence.run_id, subject=sequence.subject, reviewer=reviewer, request_key=token
            )
            self.here.say(f"Undone: you have selected no attempt at {self.external_id}")
        else:
            select_attempt(
                self.store,
                run_id=sequence.run_id,
                subject=sequence.subject,
                number=attempt.number,
                reviewer=reviewer,
                request_key=token,
            )
            self.here.say(f"Saved: {attempt.name} of {self.external_id} is selected")
        self.here.spend(row, token)

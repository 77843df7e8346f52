"""What the keys do among attempts: look at the next one, say that one should stand, take that back.

Nothing here touches Streamlit: a press is either done whole or still waits (see controls).
"""

from dataclasses import dataclass

from judgeboard.refining import AttemptSequence, ShownAttempt, let_stand, standing_of, take_back_standing
from judgeboard.review import Reviewer
from judgeboard.store.engine import Store
from judgeboard_dashboard.item.desk import Desk
from judgeboard_dashboard.item.presses import Presses, safely

Place = tuple[AttemptSequence, ShownAttempt]


@dataclass(frozen=True, slots=True)
class AttemptPresses:
    """What can be pressed about the attempts on a screen.

    Which attempt is meant is read when a press is worked off: two keys in quick succession, the next attempt and let
    it stand, mean the next one although it was not drawn yet.
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

    def stand(self) -> None:
        """Say that the attempt should stand; where this person has said so, take it back."""
        safely(self.here, self.reviewer, self._stand)

    def _stand(self, reviewer: Reviewer) -> None:
        sequence, attempt = self.places[self.at]
        row = f"attempt{sequence.run_id}.{sequence.subject}.{attempt.number}"
        token = self.here.token(row)
        if attempt.response_id is None:
            self.here.say(f"Not saved: {attempt.name} gave no answer that could stand", refused=True)
        elif standing_of(self.store, sequence.run_id, sequence.subject, reviewer) == attempt.number:
            take_back_standing(
                self.store, run_id=sequence.run_id, subject=sequence.subject, reviewer=reviewer, request_key=token
            )
            self.here.say(f"Undone: you no longer say which attempt at {self.external_id} should stand")
        else:
            let_stand(
                self.store,
                run_id=sequence.run_id,
                subject=sequence.subject,
                number=attempt.number,
                reviewer=reviewer,
                request_key=token,
            )
            self.here.say(f"Saved: {attempt.name} of {self.external_id} should stand")
        self.here.spend(row, token)

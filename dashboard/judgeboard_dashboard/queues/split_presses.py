"""What the keys do on a split: the last word with its reason, taken back, on to the next.

Nothing here touches Streamlit: a press is either done whole or still waits (see controls).
"""

import secrets
from dataclasses import dataclass

from judgeboard.domain import Decision, Grade, Preference
from judgeboard.errors import DecisionRefused
from judgeboard.queues import Split, adjudicate, split_items
from judgeboard.review import Reviewer, undo
from judgeboard_dashboard.item.desk import Goal
from judgeboard_dashboard.item.presses import SAVED, Presses, safely

NO_REASON = "Not saved: say why first (M)."


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitPresses(Presses):
    """What can be pressed on a split, bound when it was drawn; ``of`` is the queue whose splits are gone through."""

    split: Split
    of: str | None

    def decide(self, decision: Decision, token: str) -> None:
        """Say the last word on an answer."""
        if token not in self.here.used:
            safely(self.here, self.reviewer, lambda lead: self._adjudicate(lead, decision, token))

    def prefer(self, preference: Preference, token: str) -> None:
        """Say the last word on a pair."""
        if token not in self.here.used:
            safely(self.here, self.reviewer, lambda lead: self._prefer(lead, preference, token))

    def take_back(self) -> None:
        """Take one's last word on this item back."""
        safely(self.here, self.reviewer, self._take_back)

    def next(self) -> None:
        """Go to the next split."""
        self.here.say("")
        self.here.goal = self._following()

    def to_splits(self) -> None:
        """Go to the list of splits."""
        self.here.say("")
        self.here.goal = self._to(None)

    def _adjudicate(self, lead: Reviewer, decision: Decision, token: str) -> None:
        grade = self.given()
        if grade.note is None:
            self.here.say(NO_REASON, refused=True)
            return
        try:
            adjudicate(
                self.store,
                self.split.item.id,
                by=lead,
                decision=decision,
                grade=grade,
                seconds=self.seconds(),
                request_key=token,
            )
            self.here.say(f"Saved: {SAVED[decision]} {self.screen.external_id}, the last word")
        except DecisionRefused as refused:
            self.here.say(f"Not saved: {refused}", refused=True)
        self._done(token)

    def _prefer(self, lead: Reviewer, preference: Preference, token: str) -> None:
        reason = self.here.draft(self.screen.response_id).note.strip()
        if not reason:
            self.here.say(NO_REASON, refused=True)
            return
        try:
            adjudicate(
                self.store,
                self.split.item.id,
                by=lead,
                decision=preference,
                grade=Grade(note=reason),
                seconds=self.seconds(),
                request_key=token,
            )
            self.here.say(f"Saved: the last word on {self.screen.external_id}")
        except DecisionRefused as refused:
            self.here.say(f"Not saved: {refused}", refused=True)
        self._done(token)

    def _take_back(self, lead: Reviewer) -> None:
        said = self.split.adjudication
        if said is None:
            return
        key = secrets.token_urlsafe(12)
        try:
            undo(self.store, review_id=said.id, reviewer=lead, request_key=key)
            self.here.say(f"Undone: {self.screen.external_id} is split again.")
            draft = self.here.draft(self.screen.response_id)
            draft.note = said.note or ""
            self.here.put_draft(self.screen.response_id, draft)
        except DecisionRefused as refused:
            self.here.say(str(refused), refused=True)

    def _done(self, token: str) -> None:
        """The item stays on the screen as it is now: what was decided is seen, and Z takes it back."""
        self.here.leave(self.screen, token)

    def _following(self) -> Goal:
        with self.store.reading() as connection:
            page = split_items(connection, self.of, after=self.split.item.id, limit=1)
            lines = page.lines or split_items(connection, self.of, limit=1).lines
        others = [line.item.item_id for line in lines if line.item.item_id != self.split.item.id]
        return self._to(others[0] if others else None)

    def _to(self, item_id: int | None) -> Goal:
        query = {"show": ["Splits"]}
        if item_id is not None:
            query["split"] = [str(item_id)]
        if self.of is not None:
            query["of"] = [self.of]
        return Goal(page="queue", query=query)

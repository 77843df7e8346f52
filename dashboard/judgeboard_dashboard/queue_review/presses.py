"""What the keys do on the page of a queue: decide, keep or change after the reveal, skip, take back.

Nothing here touches Streamlit: a press is either done whole or still waits (see controls).
"""

from dataclasses import dataclass

from judgeboard.domain import Decision
from judgeboard.errors import DecisionRefused
from judgeboard.queues import answer_reveal, decide_item, reveal, skip, take_item
from judgeboard.review import Reviewer, undo
from judgeboard.review.checks import is_empty
from judgeboard_dashboard.item.desk import Desk, Goal
from judgeboard_dashboard.item.judge_pane import primary_verdict
from judgeboard_dashboard.item.presses import SAVED, Presses, safely
from judgeboard_dashboard.queue_review.card import Card, Reveal, read_card
from judgeboard_dashboard.queue_review.walk import Said, Walk

TAKEN = "Somebody else has this item by now."


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePresses(Presses):
    """What can be pressed on an item of a queue, bound when it was drawn; ``late`` when its time was over by then."""

    walk: Walk
    card: Card
    late: bool = False

    def decide(self, decision: Decision, token: str) -> None:
        """Decide the item with the draft; the next one is there, or the judge where it is shown now."""
        if token not in self.here.used:
            safely(self.here, self.reviewer, lambda reviewer: self._decide_item(reviewer, decision, token))

    def answer(self, decision: Decision | None, token: str) -> None:
        """After the reveal: keep what was given (no decision), or give what the draft says now."""
        if token not in self.here.used:
            safely(self.here, self.reviewer, lambda reviewer: self._answer(reviewer, decision, token))

    def change(self) -> None:
        """After the reveal: give another grade."""
        if self.walk.reveal is not None:
            self.walk.reveal.changing = True

    def ask_skip(self) -> None:
        """Open the field of the reason, or close it."""
        self.walk.skipping = not self.walk.skipping

    def skip(self, reason: str) -> None:
        """Put the item aside."""
        safely(self.here, self.reviewer, lambda reviewer: self._skip(reviewer, reason))

    def take_again(self) -> None:
        """Hold an item again that was held too long without a sign."""
        safely(self.here, self.reviewer, self._take_again)

    def stop(self) -> None:
        """Leave the queue; what is held goes back."""
        self.here.say("")
        self.here.goal = Goal(page="queue", query={"show": ["Queues"]})

    def _decide_item(self, reviewer: Reviewer, decision: Decision, token: str) -> None:
        walk, card, here = self.walk, self.card, self.here
        draft = here.draft(self.screen.response_id)
        try:
            decided = decide_item(
                self.store,
                card.held.token,
                reviewer=reviewer,
                decision=decision,
                grade=self.given(),
                judgment_seen_id=self.screen.judgment_seen_id,
                seconds=self.seconds(),
                request_key=token,
            )
        except DecisionRefused as refused:
            here.say(f"Not saved: {refused}", refused=True)
            here.leave(self.screen, token)
            walk.settle(card, done=False)
            walk.look_whether_open()
            return
        given = draft.copied()
        here.say(f"Saved: {SAVED[decision]} {card.name}")
        here.leave(self.screen, token)
        walk.settle(card, done=True)
        walk.said.append(Said(decided.review_id, decided.item_id, self.screen.response_id, given))
        if decided.reveal:
            reveal(self.store, decided.review_id, reviewer=reviewer)
            walk.reveal = Reveal(read_card(self.store, card.held, reviewer), decided.review_id, decision, given)
            here.put_draft(self.screen.response_id, given.copied())

    def _answer(self, reviewer: Reviewer, decision: Decision | None, token: str) -> None:
        reveal = self.walk.reveal
        if reveal is None:
            return
        kept = decision is None
        grade = self.given()
        said = Decision(reveal.decision) if kept and reveal.decision else decision
        judge = None if reveal.card.item is None else primary_verdict(reveal.card.item)
        try:
            answer_reveal(
                self.store,
                reveal.review_id,
                reviewer=reviewer,
                grade=grade,
                decision=said,
                judgment_seen_id=None if judge is None else judge.id,
                seconds=self.seconds(),
                request_key=token,
            )
            self.here.say(
                f"{'Kept' if kept else 'Changed'}: {reveal.card.name}; your first grade is the one that counts"
            )
        except DecisionRefused as refused:
            self.here.say(f"Not saved: {refused}", refused=True)
        self.here.leave(self.screen, token)
        self.walk.reveal = None

    def _skip(self, reviewer: Reviewer, reason: str) -> None:
        skipped = skip(self.store, self.card.held.token, reviewer, reason=reason)
        self.here.say(
            f"Skipped {self.card.name}: it waits for somebody else." if skipped else TAKEN, refused=not skipped
        )
        self.here.drafts.pop(self.screen.response_id, None)
        self.walk.settle(self.card, done=False)

    def _take_again(self, reviewer: Reviewer) -> None:
        held = take_item(self.store, self.card.held.item_id, reviewer)
        if held is not None:
            self.card.held, self.card.until = held, held.until
            self.here.say("You hold it again.")
            return
        self.here.say(self._lost(reviewer), refused=True)
        self.here.drafts.pop(self.screen.response_id, None)
        self.walk.settle(self.card, done=False)

    def _lost(self, reviewer: Reviewer) -> str:
        """Keep what was given on an item that somebody else has by now; say so."""
        given = self.here.draft(self.screen.response_id).grade()
        if is_empty(given) or self.card.held.response_id is None:
            return TAKEN
        key = self.here.token(f"{self.screen.row}lost")
        try:
            decide_item(self.store, self.card.held.token, reviewer=reviewer, grade=given, request_key=key)
        except DecisionRefused as refused:
            return str(refused)
        return TAKEN


def take_back(walk: Walk, here: Desk, said: Said, token: str) -> None:
    """Take the last word back: its item is held again and on the screen, with what was given."""
    if token not in here.used:
        safely(here, walk.reviewer, lambda reviewer: _take_back(walk, here, said, token, reviewer))


def _take_back(walk: Walk, here: Desk, said: Said, token: str, reviewer: Reviewer) -> None:
    here.used.add(token)
    walk.said = [one for one in walk.said if one is not said]
    try:
        message = undo(walk.store, review_id=said.id, reviewer=reviewer, request_key=token).message
    except DecisionRefused as refused:
        here.say(str(refused), refused=True)
        return
    here.say(message)
    held = take_item(walk.store, said.item_id, reviewer)
    if held is not None:
        here.put_draft(said.response_id, said.draft)
        walk.bring_back(read_card(walk.store, held, reviewer))

"""What the keys of the review screen do: grade, decide, mark, save, undo, move on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from judgeboard.domain import ClaimMark, ClaimStatus, Decision, Grade, WhyDiffers
from judgeboard.errors import DecisionRefused, JudgeboardError
from judgeboard.reviews.changes import Judged, differs, edit, undo
from judgeboard.reviews.decisions import decide, grade
from judgeboard.store.engine import Store
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.open_flags import neighbours
from judgeboard.store.reviewers import Reviewer
from judgeboard_dashboard.review.claims import Statement, Subject, subject_of
from judgeboard_dashboard.review.drafts import Desk, Done, Draft, Goal, Screen
from judgeboard_dashboard.session import numbered

SAVED = {Decision.CONFIRM: "confirmed", Decision.DISMISS: "dismissed", Decision.UNSURE: "unsure about"}
MY_REVIEWS = "My reviews"  # the segment of the Queue page that a change comes from
NOBODY = "Not saved: say who you are first, at the lower right."


@dataclass(frozen=True, slots=True)
class Presses:
    """What can be pressed on a screen, bound when it was drawn.

    ``judged`` is the verdict on the screen, None where none is or it is hidden; below ``low`` an answer is flagged.
    """

    store: Store
    here: Desk
    reviewer: Reviewer | None
    screen: Screen
    seconds: Callable[[], float]
    judged: Judged | None = None
    low: float = 0.5

    def quality(self, value: int) -> None:
        """Give a quality; the same again takes it back."""
        draft = self.here.draft(self.screen.response_id)
        draft.quality = None if draft.quality == value else value

    def groundedness(self, value: float) -> None:
        """Give a groundedness; the same again takes it back."""
        draft = self.here.draft(self.screen.response_id)
        draft.groundedness = None if draft.groundedness == value else value
        self.here.refill(draft)

    def given(self) -> Grade:
        """Return the draft as it is stored: a reason to differ only where one does, from a verdict on the screen."""
        grade = self.here.draft(self.screen.response_id).grade()
        return grade if self.differs() else replace(grade, why_differs=None)

    def differs(self) -> bool:
        """Whether the draft differs from the verdict on the screen."""
        grade = self.here.draft(self.screen.response_id).grade()
        seen = self.screen.judgment_seen_id is not None and self.judged is not None
        return seen and self.judged is not None and differs(grade, self.judged, self.low)

    def why(self) -> None:
        """Choose the next reason why one differs from the judge, after the last none."""
        if self.differs():
            draft = self.here.draft(self.screen.response_id)
            reasons = [None, *WhyDiffers]
            draft.why = reasons[(reasons.index(draft.why) + 1) % len(reasons)]

    def by_sentence(self) -> None:
        """Show answers sentence by sentence, or whole again."""
        self.here.by_sentence = not self.here.by_sentence

    def decide(self, decision: Decision, token: str) -> None:
        """Decide the flag on the screen with the draft, then go on to the next of the list."""
        if token not in self.here.used:
            safely(self.here, self.reviewer, lambda reviewer: self._decide(reviewer, decision, token))

    def save(self, token: str) -> None:
        """Save the draft as a grade that decides nothing."""
        if token not in self.here.used:
            safely(self.here, self.reviewer, lambda reviewer: self._save(reviewer, token))

    def go(self, flag_id: int) -> None:
        """Go to another flag of the list."""
        self.here.say("")
        self.here.goal = Goal(flag_id=flag_id)

    def to_list(self, default_sort: str) -> None:
        """Go back to the list."""
        self.here.say("")
        self.here.goal = Goal(page="queue", query=self.screen.listing.query(default_sort))

    def to_rejudge(self) -> None:
        """Ask a judge again about this answer."""
        self.here.goal = Goal(page="rejudge", query={"response": [str(self.screen.response_id)]})

    def keys(self) -> None:
        """Show or hide the list of keys."""
        self.here.keys_shown = not self.here.keys_shown

    def whole(self) -> None:
        """Send the long texts of this item whole."""
        self.here.whole.add(self.screen.response_id)

    def _decide(self, reviewer: Reviewer, decision: Decision, token: str) -> None:
        screen = self.screen
        if screen.flag_id is None:
            return
        if screen.edits is not None:
            self._edit(reviewer, screen.edits, decision, token)
            return
        draft = self.here.draft(screen.response_id)
        try:
            decided = decide(
                self.store,
                flag_id=screen.flag_id,
                reviewer=reviewer,
                decision=decision,
                grade=self.given(),
                judgment_seen_id=screen.judgment_seen_id,
                seconds=self.seconds(),
                request_key=token,
            )
            self.here.say(f"Saved: {SAVED[decision]} {screen.external_id}")
            self.here.done.append(Done(decided.review_id, screen.response_id, screen.flag_id, draft.copied()))
        except DecisionRefused as refused:
            self.here.say(f"Not saved: {refused}", refused=True)
        self.here.leave(screen, token)
        if screen.from_list:
            self.here.goal = self._next(screen.flag_id, reviewer)

    def _next(self, flag_id: int, reviewer: Reviewer) -> Goal:
        """The next of the list, at its end what was passed over, else the end of the list."""
        listing = self.screen.listing
        with Seen(self.store, reviewer.id).reading() as connection:
            beside = neighbours(connection, listing.where, listing.sort, flag_id, reviewer.id)
        return Goal(flag_id=None if beside is None else beside.next or beside.previous)

    def _edit(self, reviewer: Reviewer, review_id: int, decision: Decision | None, token: str) -> None:
        screen, draft = self.screen, self.here.draft(self.screen.response_id)
        try:
            edited = edit(
                self.store,
                review_id=review_id,
                reviewer=reviewer,
                decision=decision,
                grade=self.given(),
                judgment_seen_id=screen.judgment_seen_id,
                seconds=screen.seconds_before + self.seconds(),
                request_key=token,
            )
            self.here.say(f"Saved: your review of {screen.external_id} is changed")
            self.here.done.append(Done(edited.review_id, screen.response_id, screen.flag_id, draft.copied()))
        except DecisionRefused as refused:
            self.here.say(f"Not saved: {refused}", refused=True)
        self.here.leave(screen, token)
        self.here.editing = None
        self.here.goal = Goal(page="queue", query={"show": [MY_REVIEWS]})

    def _save(self, reviewer: Reviewer, token: str) -> None:
        screen = self.screen
        if screen.edits is not None:
            self._edit(reviewer, screen.edits, None, token)
            return
        draft = self.here.draft(screen.response_id)
        review_id = grade(
            self.store,
            response_id=screen.response_id,
            reviewer=reviewer,
            grade=self.given(),
            judgment_seen_id=screen.judgment_seen_id,
            seconds=self.seconds(),
            request_key=token,
        )
        self.here.say(f"Saved: your grade of {screen.external_id}")
        self.here.done.append(Done(review_id, screen.response_id, None, draft.copied()))
        self.here.leave(screen, token)


def take_back(store: Store, here: Desk, reviewer: Reviewer | None, done: Done, token: str) -> None:
    """Take a review back and go to its item, the draft as it was; also from where no item is on the screen."""
    if token not in here.used:
        safely(here, reviewer, lambda known: _take_back(store, here, known, done, token))


def _take_back(store: Store, here: Desk, reviewer: Reviewer, done: Done, token: str) -> None:
    try:
        undone = undo(store, review_id=done.review_id, reviewer=reviewer, request_key=token)
        here.say(undone.message)
        here.put_draft(done.response_id, done.draft.copied())
    except DecisionRefused as refused:
        here.say(str(refused), refused=True)
    here.used.add(token)
    here.done = [one for one in here.done if one.review_id != done.review_id]
    here.goal = Goal(flag_id=done.flag_id, response_id=done.response_id if done.flag_id is None else None)


def safely(here: Desk, reviewer: Reviewer | None, act: Callable[[Reviewer], None]) -> None:
    """Do what needs a reviewer; whatever goes wrong is said in the head line."""
    if reviewer is None:
        here.say(NOBODY, refused=True)
        return
    try:
        act(reviewer)
    except JudgeboardError as error:
        here.say(f"Not saved: {error}", refused=True)
    except Exception as error:  # noqa: BLE001 - the last handler of a press: the number leads to the traceback
        here.say(f"Something went wrong: error {numbered(error)} in the server's log.", refused=True)


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

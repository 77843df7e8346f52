"""The actions of the review screen's keys: grade, mark, decide, undo and move on."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from judgeboard.domain import (
    ClaimMark,
    ClaimStatus,
    Decision,
    FlagState,
    Grade,
    Label,
    Preference,
    WhyDiffers,
)
from judgeboard.errors import Contradiction, DecisionRefused, JudgeboardError
from judgeboard.formats.label_schema import BUILT_IN, TYPED, FieldType, SchemaField
from judgeboard.imports.labels import label_of
from judgeboard.reviews.changes import differs, undo
from judgeboard.reviews.checks import missing_grades
from judgeboard.reviews.decisions import IMPLIED, labelled_decision, remember_implied, with_implied
from judgeboard.reviews.leases import skip, take_item, undo_skip, undo_skips
from judgeboard.reviews.outcome import Conflict, open_conflicts
from judgeboard.reviews.person_work import training_feedback
from judgeboard.reviews.shown import shown_side
from judgeboard.reviews.submissions import Submission, reveal, submit
from judgeboard.store.engine import Store
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.items import ItemJudgment
from judgeboard.store.leases import CANNOT_BE_JUDGED
from judgeboard.store.open_flags import flag_after
from judgeboard.store.outages import outage_words
from judgeboard.store.tables import Reviewer
from judgeboard.text import counted
from judgeboard_dashboard.review.claims import Subject, subject_of
from judgeboard_dashboard.review.drafts import (
    Draft,
    OpenQuestion,
    ReviewSession,
    TextView,
    UndoableReview,
)
from judgeboard_dashboard.review.leases import QueueSession, Reveal, ShownItem, read_item
from judgeboard_dashboard.session import as_query, numbered
from judgeboard_dashboard.widgets.filters import Chosen
from judgeboard_dashboard.widgets.navigation import Rows, flagged, item

SAVED = {
    Decision.CONFIRM: "confirmed",
    Decision.DISMISS: "dismissed",
    Decision.UNSURE: "unsure about",
}
SIDES = {"left": "left is better", "tie": "tie", "right": "right is better"}
"""The sides in a queue, whose reviewers do not see which answer is A."""
STORED_SIDES = {"left": "answer A is better", "tie": "tie", "right": "answer B is better"}
"""The sides of a pair that is shown in its stored order."""
KEYS: dict[Any, str] = {
    Decision.CONFIRM: "Y",
    Decision.DISMISS: "N",
    Decision.UNSURE: "U",
    None: "Ctrl+Enter",
}
PROBLEM = "problem"
"""The name of a yes/no field of a label schema that is the decision (`deciding_field`)."""
NO_NAME = "Not saved: enter your name first, at the lower right."
WITH_KEYS = {
    "label": "label (Q W)",
    "groundedness": "groundedness (A S D F G)",
    "quality": "quality (1–4)",
}
WAYS_OUT = "Y: hallucinated, a problem. N: grounded, no problem."
"""The keys that resolve a contradiction of label and decision."""
LOW_QUALITY = "Not saved: the quality is low. Say whether there is a problem: Y or N."
FIELD_CONTRADICTS = (
    "Not saved: a field of the schema contradicts this decision. Change one of the two."
)
NO_REASON = "Not saved: enter a reason first (M)."
DISCARDED = "The correction is discarded. Z brings it back."
LEASED_BY_OTHER = "Another reviewer has leased this item."


@dataclass(frozen=True, slots=True)
class DraftActions:
    """Actions that change a draft. ``subject`` is the id of a response, or minus the id of a pair."""

    session: ReviewSession
    subject: int

    @property
    def draft(self) -> Draft:
        """The draft for the subject."""
        return self.session.draft(self.subject)

    def give(self, grade: str, value: Any) -> None:
        """Give a label, groundedness or quality, or remove the value if the draft has this value already."""
        removes = not self.draft.use_restored(grade, value) and getattr(self.draft, grade) == value
        setattr(self.draft, grade, None if removes else value)
        if grade == "groundedness":
            self.session.refill(self.draft)
        if grade == "label":
            self.session.open_question = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions(DraftActions, ABC):
    """The actions of a screen's keys, bound when the screen is drawn. A late key press acts on the old screen.

    ``row`` identifies the screen in the browser. ``request_key`` identifies the review, so that a
    key press that arrives twice is stored once. ``judgment`` is the judgment on the screen, None
    without a judgment or if the judgment is hidden. A groundedness below ``threshold`` is flagged.
    ``implies``: decisions imply a label; None: the reviewer is asked.
    """

    store: Store
    reviewer: Reviewer | None
    row: str
    request_key: str
    name: str
    seconds: Callable[[], float]
    judgment: ItemJudgment | None = None
    threshold: float = 0.5
    implies: bool | None = False

    def grade_for(self, decision: Decision | Preference | None) -> Grade:
        """Return the grade to store with a decision; a preference has only notes.

        The grade has the label that the decision implies. A grade that does not differ from the
        judgment on the screen has no reason to differ.
        """
        grade = self.draft.grade()
        if isinstance(decision, Preference):
            return grade.only_notes()
        if self.implied_label(decision) is not None:
            grade = with_implied(grade, decision)
        return grade if self.differs() else replace(grade, why_differs=None)

    def submission(self, reviewer: Reviewer, decision: Decision | Preference | None) -> Submission:
        """Return what a reviewer submits on this screen, without the subject."""
        return Submission(
            reviewer=reviewer,
            request_key=self.request_key,
            decision=decision,
            grade=self.grade_for(decision),
            judgment_seen_id=None if self.judgment is None else self.judgment.id,
            seconds=self.seconds(),
        )

    def differs(self) -> bool:
        """Whether the draft differs from the judgment on the screen."""
        return self.judgment is not None and differs(
            self.draft.grade(), self.judgment, self.threshold
        )

    def why(self) -> None:
        """Choose the next reason to differ from the judge; after the last reason, choose none."""
        if self.differs():
            reasons = [None, *WhyDiffers]
            self.draft.why = reasons[(reasons.index(self.draft.why) + 1) % len(reasons)]

    def switch(self) -> None:
        """Show the answer sentence by sentence, or as a whole."""
        self.session.by_sentence = not self.session.by_sentence

    def show_texts(self, view: TextView) -> None:
        """Show texts as stored and folded, as stored and whole, or formatted."""
        self.session.texts = view

    def open_drawer(self, name: str) -> None:
        """Show the judgments, the raw calls or the trace in place of the texts, or the texts again."""
        self.session.drawer = None if self.session.drawer == name else name

    def correct(self) -> None:
        """Show the field for the corrected answer, or close the field. Typed text can be brought back."""
        self.draft.correct()
        self.session.say(DISCARDED if self.draft.discarded and not self.draft.correcting else "")

    def undo_last(self, undo: Callable[[], None]) -> None:
        """Bring back the correction that was discarded on this screen; otherwise undo the last review."""
        if self.draft.restore_correction():
            self.session.say("The correction is back.")
        else:
            undo()

    def whole(self) -> None:
        """Show the long texts of this item in full."""
        self.session.whole.add(self.subject)

    def go(self, goal: Rows) -> None:
        """Go to another item or page."""
        self.session.say("")
        self.session.goal = goal

    def decide(self, decision: Any) -> None:
        """Store a decision on the flag, or a preference; of None, store only the grades."""
        if self.implies is None and self.implied_label(decision) is not None:
            self.session.open_question = OpenQuestion(self.row, decision)
            return
        retry = f"your decision is kept here, press {self.key_of(decision)} again"
        safely(
            self.session,
            self.reviewer,
            lambda reviewer: self._try(reviewer, decision),
            self.request_key,
            retry,
        )

    def saved_words(self, decision: Decision) -> str:
        """Return the message that a decision is stored. The message names a label that differs from the decision."""
        label, implied = self.draft.label, IMPLIED.get(decision)
        other = (
            ""
            if label is None or implied is None or label is implied
            else f", with the label {label}"
        )
        return f"Saved: {SAVED[decision]} {self.name}{other}"

    def key_of(self, decision: Any) -> str:
        """Return the key that makes a decision on this screen."""
        return KEYS.get(decision, "the key")

    def _try(self, reviewer: Reviewer, decision: Any) -> None:
        """Decide. If the label contradicts the decision, keep the draft and ask which of the two is right."""
        if decision in IMPLIED and self.own_decision not in {None, decision}:
            self.session.say(FIELD_CONTRADICTS, refused=True)
            return
        try:
            self._decide(reviewer, decision)
        except Contradiction as error:
            self.session.open_question = OpenQuestion(self.row, decision, self.draft.label)
            self.session.say(f"Not saved: {error} {WAYS_OUT}", refused=True)

    @property
    def own_decision(self) -> Decision | None:
        """The decision that a field of the draft's schema makes."""
        field = deciding_field(self.draft)
        if field is None:
            return None
        current = self.draft.values.get(field.name)
        return next(
            (decision for value, decision in field_decisions(field).items() if value == current),
            None,
        )

    def question(self) -> OpenQuestion | None:
        """The open question of this screen, None if there is none."""
        question = self.session.open_question
        return question if question is not None and question.row == self.row else None

    def answer_contradiction(self, decision: Decision) -> None:
        """Store a decision with the label that the decision implies."""
        self.session.open_question, self.draft.label = None, IMPLIED[decision]
        field = deciding_field(self.draft)
        if field is not None:
            values = (
                value
                for value, own_decision in field_decisions(field).items()
                if own_decision is decision
            )
            self.draft.values[field.name] = next(values)
        self.decide(decision)

    def answer_implied(self, implied: bool) -> None:
        """Remember whether decisions imply a label, and store the decision that led to the question."""
        question, self.session.open_question = self.session.open_question, None
        if question is not None:
            safely(
                self.session,
                self.reviewer,
                lambda reviewer: remember_implied(self.store, reviewer, implied=implied),
            )
            replace(self, implies=implied).decide(question.decision)

    def implied_label(self, decision: Any) -> Label | None:
        """Return the label that a decision implies; None if the draft has a label or a groundedness."""
        if (
            self.implies is False
            or self.draft.label is not None
            or self.draft.groundedness is not None
        ):
            return None
        return IMPLIED.get(decision)

    @abstractmethod
    def _decide(self, reviewer: Reviewer, decision: Any) -> None: ...

    def stored(self, write: Callable[[], str]) -> bool:
        """Store a review and show the message of ``write``. If the review is refused, show why and keep the draft."""
        try:
            message = write()
            self.session.drafts.pop(self.subject, None)
            if self.session.names_reviewer and self.reviewer is not None:
                message = f"{message}. You review as {self.reviewer.name}: change the name at the top of Review"
                self.session.names_reviewer = False
            self.session.say(message)
        except DecisionRefused as refused:
            self.session.say(f"Not saved: {refused}", refused=True)
        self.session.finish_key(self.row, self.request_key)
        return not self.session.refused


def field_decisions(field: SchemaField) -> Mapping[Any, Decision | None]:
    """Return the decision that each value of a field makes; empty if the field makes none.

    A yes/no field makes a decision if the name is `PROBLEM`. A required category makes a decision
    if all options describe an answer as good or bad: "correct", "not supported".
    """
    if field.name == PROBLEM and field.type is FieldType.YES_NO:
        return {True: Decision.CONFIRM, False: Decision.DISMISS}
    if field.type is not FieldType.CATEGORY or field.many or not field.required:
        return {}
    decisions: dict[Label | None, Decision] = {
        label: decision for decision, label in IMPLIED.items()
    }
    by_value = {value: decisions.get(label_of(value, None)) for value in field.values}
    return by_value if {*by_value.values()} == {*IMPLIED} else {}


def deciding_field(draft: Draft) -> SchemaField | None:
    """Return the shown field of a draft's schema that is the decision; None if no field or more than one could be."""
    visible_fields = () if draft.schema is None else draft.schema.shown(draft.all_values())
    fields = [field for field in visible_fields if not field.built_in and field_decisions(field)]
    return fields[0] if len(fields) == 1 else None


def safely(
    session: ReviewSession,
    reviewer: Reviewer | None,
    act: Callable[[Reviewer], None],
    request_key: str | None = None,
    retry: str = "nothing was changed, try again",
) -> None:
    """Call ``act`` with the reviewer, unless the request key is used already. The head line shows any error.

    ``retry`` says what is kept and what to do if the database cannot be used.
    """
    if request_key in session.used_keys:
        return
    if reviewer is None:
        session.say(NO_NAME, refused=True, asks="name")
        return
    try:
        act(reviewer)
    except JudgeboardError as error:
        session.say(f"Not saved: {error}", refused=True)
    except Exception as error:  # noqa: BLE001 - the last handler of a key press; the log has the traceback
        number, outage = numbered(error), outage_words(error)
        words = (
            f"Something went wrong: error {number} in the server's log."
            if outage is None
            else f"{outage}: {retry}."
        )
        session.say(words, refused=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemActions(Actions):
    """The actions for an answer outside queues.

    ``flag_id`` is an open flag of the answer, None if no flag is open. A decision is on all open
    flags, or on this flag ``alone``. After a decision, the screen shows the item of the list
    ``listing`` after the flag ``place``; None outside lists. After the answer was judged again,
    ``place`` may be superseded.

    ``changes`` is the id of the reviewer's earlier review that is being changed. The earlier review
    took ``seconds_before``. ``more_flags``: the earlier review decided only some of the open flags.
    ``from_own``: the earlier review was opened from *My reviews*.
    """

    listing: Chosen
    flag_id: int | None = None
    alone: bool = False
    place: int | None = None
    changes: int | None = None
    more_flags: bool = False
    from_own: bool = False
    seconds_before: float = 0.0

    def next_flag(self, flag_ids: Sequence[int]) -> None:
        """Choose the next flag to decide alone; after the last flag, choose all flags together."""
        choices = [None, *flag_ids]
        flag_id = self.flag_id if self.alone else None
        self.session.alone = choices[(choices.index(flag_id) + 1) % len(choices)]

    def _decide(self, reviewer: Reviewer, decision: Decision | None) -> None:
        """Store the decision and the grades, or only the grades (None). Then go to the next item of the list."""
        self.stored(lambda: self._write(reviewer, decision))
        self.session.seen_open.discard(self.flag_id or 0)
        self.session.alone = None
        if self.changes is not None:
            self.session.editing = None
        if self.from_own:
            self.session.goal = Rows("my_reviews", {})
        elif (
            self.flag_id is not None
            and decision is not None
            and self.place is not None
            and not self.alone
        ):
            # at the end of the list, a flag that was passed over follows, if there is any
            with Seen(self.store, reviewer.id).reading() as connection:
                following = flag_after(
                    connection, self.listing.where, self.listing.sort, self.place, reviewer.id
                )
            self.session.goal = flagged(following)

    def _write(self, reviewer: Reviewer, decision: Decision | None) -> str:
        draft = self.draft.copied()
        submission = replace(
            self.submission(reviewer, decision),
            seconds=self.seconds_before + self.seconds(),
            changes=self.changes,
        )
        if self.changes is not None and not self.more_flags:
            message = f"Saved: your review of {self.name} is changed"
        elif decision is not None and self.flag_id is not None:
            submission = replace(submission, flag_id=self.flag_id, alone=self.alone)
            message = self.saved_words(decision)
        else:
            submission = replace(submission, response_id=self.subject)
            message = f"Saved: your grade of {self.name}"
        review = submit(self.store, submission)
        self.session.done.append(
            UndoableReview(
                review.review_id, self.subject, draft, flag_id=self.place or self.flag_id
            )
        )
        return message if review.held is None else f"{message}. {review.held}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueActions(Actions):
    """The actions for a queue item, which is an answer or a pair."""

    work: QueueSession
    leased: ShownItem

    @property
    def asks_decision(self) -> bool:
        """Whether the reviewer must decide, because no field asks for the decision and no label makes the decision."""
        if deciding_field(self.draft) is not None:
            return False
        rules = self.work.queue
        label_decides = (
            "label" in rules.grades and not rules.implied_labels
        )  # see `labelled_decision`
        return not label_decides or (self.draft.label is not None and self.decision() is None)

    def key_of(self, decision: Any) -> str:
        """Return the key that makes a decision; the key that saves makes the decision of the label."""
        saves = not self.asks_decision and decision in {Decision.CONFIRM, Decision.DISMISS}
        return "Y" if saves or decision is None else KEYS.get(decision, "the key")

    def decision(self) -> Decision | None:
        """Return the decision of the field for decisions, otherwise of the label of the draft."""
        return self.own_decision or labelled_decision(
            self.draft.grade(), self.rules, low_quality=self.leased.low_quality
        )

    @property
    def rules(self) -> set[str]:
        """The rules of the open flags that the reviewer sees."""
        flags = () if self.leased.item is None else self.leased.item.flags
        return {flag.rule for flag in flags if flag.state is FlagState.OPEN}

    def save(self) -> None:
        """Store the review with the decision that the label makes."""
        decision = self.decision()
        if decision is not None:
            self.decide(decision)
        elif self.asks_decision:
            self.session.say(LOW_QUALITY, refused=True)
        else:
            missing_fields = (
                *missing_grades(self.work.queue, None, self.draft.grade()),
                *self.draft.missing(),
            )
            self._say_missing(missing_fields or [PROBLEM])

    def _answer_reveal(
        self, reviewer: Reviewer, revealed: Reveal, decision: Decision | None
    ) -> None:
        """After the reveal: keep the first review (None), or store the changed grades."""

        def write() -> str:
            submission = replace(
                self.submission(reviewer, decision),
                blind_review_id=revealed.review_id,
                decision=decision or revealed.decision,
            )
            submit(self.store, submission)
            return f"{'Kept' if decision is None else 'Changed'}: {self.name}. Your first grade is the one that counts."

        self.stored(write)
        self.work.reveal = None

    def change(self) -> None:
        """After the reveal: let the reviewer change the grade."""
        if self.work.reveal is not None:
            self.work.reveal.changing = True

    def skip(self, *, declined: bool = False) -> None:
        """Skip the item, with the note as the reason. Nobody gets a declined item again: the item cannot be judged."""

        def act(reviewer: Reviewer) -> None:
            reason = CANNOT_BE_JUDGED if declined else self.draft.grade().note or ""
            is_skipped = skip(self.store, self.leased.lease.token, reviewer, reason=reason)
            message = (
                f"{'Declined' if declined else 'Skipped'}: {self.name}"
                if is_skipped
                else LEASED_BY_OTHER
            )
            if is_skipped:
                self.leased.skipped = self.draft.copied()
                self.work.undoable.append(self.leased)
            self._drop(message, refused=not is_skipped)

        safely(self.session, self.reviewer, act)

    def lease_again(self) -> None:
        """Lease the item again after the lease ended."""

        def act(reviewer: Reviewer) -> None:
            lease = take_item(self.store, self.leased.lease.item_id, reviewer)
            if lease is None:
                self._drop(self._keep_grades(reviewer), refused=True)
                return
            self.leased.lease, self.leased.until = lease, lease.until
            self.session.say("You have leased it again.")

        safely(self.session, self.reviewer, act)

    def _say_missing(self, names: Sequence[str]) -> None:
        """Say which required grades and fields are missing, and go to the first missing field of the schema."""
        words = ", ".join(WITH_KEYS.get(name, name) for name in dict.fromkeys(names))
        own = () if self.draft.schema is None else (BUILT_IN["quality"], *self.draft.schema.own)
        first = next((field for field in own if field.name in names), None)
        self.draft.field_at = self.draft.field_at if first is None else first.name
        is_typed = first is not None and first.type in TYPED
        self.session.say(
            f"Not saved: this queue requires {words}.",
            refused=True,
            asks="field" if is_typed else None,
        )

    def _decide(self, reviewer: Reviewer, decision: Any) -> None:
        """Decide the item with the draft. Then reveal the judge, in a queue with a reveal, or show the next item.

        After the reveal, None keeps the first grade, and a decision stores the changed grade.
        """
        draft, work, grades = self.draft.copied(), self.work, self.grade_for(decision)
        if work.reveal is not None:
            self._answer_reveal(reviewer, work.reveal, decision)
            return
        missing_fields = missing_grades(work.queue, decision, grades)
        if decision in {Decision.CONFIRM, Decision.DISMISS}:
            missing_fields += draft.missing()
        if missing_fields:
            self._say_missing(missing_fields)
            return
        reveals: list[tuple[int, Decision]] = []

        def write() -> str:
            submission = self.submission(reviewer, decision)
            review = submit(self.store, replace(submission, token=self.leased.lease.token))
            work.undoable.append(
                UndoableReview(review.review_id, self.subject, draft, item_id=review.item_id)
            )
            if isinstance(decision, Preference):
                pair = self.leased.pair
                return f"Saved: {SIDES[shown_side(decision, pair.shown)] if pair else decision} ({self.name})"
            if review.reveal:
                reveals.append((review.review_id, decision))
            if work.queue.training:
                with self.store.reading() as connection:
                    feedback = training_feedback(connection, review.item_id, review.review_id)
                work.feedback = "" if feedback is None else f"{self.name}: {feedback}"
            return self.saved_words(decision)

        is_stored = self.stored(write)
        work.remove(self.leased, is_done=is_stored)
        if not is_stored:
            work.check_open()
        for review_id, first in reveals:
            with suppress(
                JudgeboardError
            ):  # the review is stored: if the reveal fails, the next item follows
                self._reveal(reviewer, review_id, first, draft)

    def _reveal(self, reviewer: Reviewer, review_id: int, first: Decision, draft: Draft) -> None:
        """Show the judge beside the blind review. Where no judge has a usable verdict, the next item follows."""
        item = read_item(self.store, self.leased.lease, reviewer)
        if item.item is None or not item.item.currents:
            return
        reveal(self.store, review_id, reviewer=reviewer)
        self.work.reveal = Reveal(item, review_id, first, draft)
        self.session.put_draft(self.subject, draft.copied())

    def _drop(self, message: str, *, refused: bool) -> None:
        self.session.say(message, refused=refused)
        self.session.drafts.pop(self.subject, None)
        self.work.remove(self.leased, is_done=False)

    def _keep_grades(self, reviewer: Reviewer) -> str:
        grades = self.draft.grade()
        if grades == Grade() or self.leased.pair is not None:
            return LEASED_BY_OTHER
        key = self.session.request_key(f"{self.row}lost")
        try:
            submission = Submission(
                reviewer=reviewer, request_key=key, token=self.leased.lease.token, grade=grades
            )
            submit(self.store, submission)
        except DecisionRefused as refused:
            return str(refused)
        return LEASED_BY_OTHER


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictActions(Actions):
    """The actions for a conflict on an answer or a pair; ``queue`` limits the conflicts to one queue."""

    conflict: Conflict
    queue: str | None

    def next(self) -> None:
        """Go to the next conflict, or from the last to the first."""
        self.go(self._next())

    def _next(self) -> Rows:
        with Seen(
            self.store, None if self.reviewer is None else self.reviewer.id
        ).reading() as connection:
            lines = open_conflicts(
                connection, self.queue, after=self.conflict.item.id, limit=1
            ).lines
            lines = lines or open_conflicts(connection, self.queue, limit=1).lines
        others = [line.item.item_id for line in lines if line.item.item_id != self.conflict.item.id]
        return conflict_rows(self.queue, others[0] if others else None)

    def _decide(self, reviewer: Reviewer, decision: Decision | Preference) -> None:
        """Adjudicate the item. Then go to the next open conflict, or to the list if there is none."""
        grades = self.grade_for(decision)
        if grades.note is None:
            self.session.say(NO_REASON, refused=True, asks="note")
            return
        draft = self.draft.copied()

        def write() -> str:
            submission = replace(
                self.submission(reviewer, decision),
                item_id=self.conflict.item.id,
                judgment_seen_id=None,
            )
            review_id = submit(self.store, submission).review_id
            self.session.adjudicated.append(
                UndoableReview(review_id, self.subject, draft, item_id=self.conflict.item.id)
            )
            what = "" if isinstance(decision, Preference) else f": {SAVED[decision]}"
            return f"Saved: {self.name} is adjudicated{what}"

        if self.stored(write):
            self.session.goal = self._next()


def conflict_rows(queue: str | None, item_id: int | None = None) -> Rows:
    """Return the address of one conflict, or of the list; ``queue`` limits both to one queue."""
    return Rows("conflicts", as_query({"conflict": item_id, "of": queue}))


OTHERS_REVIEW_SKIPPED = "Others review the items that you skipped."


def undo_review(
    store: Store,
    session: ReviewSession,
    reviewer: Reviewer | None,
    review: UndoableReview,
    *,
    queue: str | None = None,
) -> None:
    """Undo a review outside queues, or an adjudication. Then go to the item and restore the draft.

    ``queue`` limits the conflicts that follow to one queue.
    """
    request_key = session.request_key(f"undo{review.review_id}")

    def act(author: Reviewer) -> None:
        if _withdraw(store, session, author, review.review_id, request_key):
            if review.item_id:
                session.say("Undone: this item is in conflict again.")
            session.put_draft(review.subject, review.draft)
        for undoable in (session.done, session.adjudicated):
            undoable[:] = [other for other in undoable if other.review_id != review.review_id]
        answer = item(review.subject) if review.flag_id is None else flagged(review.flag_id)
        session.goal = conflict_rows(queue, review.item_id) if review.item_id else answer

    safely(session, reviewer, act, request_key)


def undo_in_queue(
    store: Store, session: ReviewSession, work: QueueSession, undoable: UndoableReview | ShownItem
) -> None:
    """Undo the last review or skip in a queue. Lease the item again and show the item with the draft."""

    def undo_skipped(item: ShownItem, reviewer: Reviewer) -> None:
        lease = undo_skip(store, item.lease.item_id, reviewer)
        work.undoable.remove(item)
        if lease is None:
            session.say(f"Undone: your skip of {item.name} is withdrawn. Others review it now.")
            return
        session.say(f"Undone: {item.name} is yours again.")
        session.put_draft(item.subject, item.skipped or Draft())
        work.put_first(read_item(store, lease, reviewer), is_done=False)

    def undo_reviewed(review: UndoableReview, reviewer: Reviewer) -> None:
        withdrawn = _withdraw(store, session, reviewer, review.review_id, request_key)
        work.undoable.remove(review)
        lease = take_item(store, review.item_id, reviewer) if withdrawn else None
        if lease is not None:
            session.put_draft(review.subject, review.draft)
            work.put_first(read_item(store, lease, reviewer), is_done=True)

    if isinstance(undoable, ShownItem):
        if undoable in work.undoable:
            safely(session, work.reviewer, partial(undo_skipped, undoable))
        return
    request_key = session.request_key(f"undo{undoable.review_id}")
    safely(session, work.reviewer, partial(undo_reviewed, undoable), request_key)


def review_skipped(store: Store, session: ReviewSession, work: QueueSession) -> None:
    """Undo this reviewer's skips of all items that still need a review, so that the queue shows these items again."""

    def act(reviewer: Reviewer) -> None:
        item_ids = undo_skips(store, work.queue, reviewer)
        words = (
            f"You get {counted(len(item_ids), 'skipped item')} again."
            if item_ids
            else OTHERS_REVIEW_SKIPPED
        )
        session.say(words)
        for skipped in [each for each in work.undoable if isinstance(each, ShownItem)]:
            if skipped.lease.item_id in item_ids:
                session.put_draft(skipped.subject, skipped.skipped or Draft())
                work.undoable.remove(skipped)

    safely(session, work.reviewer, act)


def _withdraw(
    store: Store, session: ReviewSession, reviewer: Reviewer, review_id: int, request_key: str
) -> bool:
    """Undo a review. Return whether the review was undone. The head line shows the result, or why the undo failed."""
    try:
        session.say(
            undo(store, review_id=review_id, reviewer=reviewer, request_key=request_key).text
        )
    except DecisionRefused as refused:
        session.say(str(refused), refused=True)
    session.used_keys.add(request_key)
    return not session.refused

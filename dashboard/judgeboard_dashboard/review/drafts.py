"""The state of a reviewer's browser session: drafts, request keys and the reviews that can be undone."""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from threading import Lock, Timer
from typing import Any, Literal

import streamlit as st

from judgeboard.domain import (
    NOTES,
    Action,
    ClaimMark,
    DimensionScore,
    FlagState,
    Grade,
    Label,
    WhyDiffers,
)
from judgeboard.formats.label_schema import BUILT_IN, LabelSchema
from judgeboard.judges.rubric_file import SCALE
from judgeboard.people.permissions import may
from judgeboard.reviews.checks import ASKED
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.items import Item, ItemJudgment
from judgeboard.store.label_schemas import schema_by_id
from judgeboard.store.own_reviews import move_drafts, read_draft, save_draft
from judgeboard.store.reviews import Review, find_review, marks_from, marks_json
from judgeboard.store.tables import Reviewer
from judgeboard_dashboard.review.claims import Subject, subject_of
from judgeboard_dashboard.session import (
    as_id,
    current_reviewer,
    numbered,
    reading,
    replaced_reviewer,
    reviewer_name,
    store,
)
from judgeboard_dashboard.widgets.navigation import Rows

EDIT = "edit"
"""The parameter of the address that names the review to change."""
PACE = 1.0
"""Seconds until a changed draft is stored."""
_ON_SCREEN = (
    *("dimensions", "at", "spans", "shown", "noted"),
    *(
        "schema",
        "field_at",
        "selection",
        "selected",
        "correcting",
        "answer",
        "discarded",
        "restored",
    ),
)
"""Fields of a draft that are not stored: positions on the screen, and fields that only an edit of a review has."""


@dataclass
class Draft:
    """Grades and texts of a review that is not stored yet.

    ``shown`` is the number of the last refill of the fields. The keys of the fields contain the
    number, so the session ignores a value that the browser sends for an older field. ``noted`` does
    the same for the ``notes``, which are by name (`NOTES`). Grades do not refill the notes, because
    the reviewer may be typing.

    ``scores`` has the scores by dimension; ``dimensions`` are the dimensions with a field. ``at`` is
    the index of the statement that the keys mark. ``values`` has the values of the label ``schema``
    by field; the digits fill in ``field_at``. ``correcting``: the field for the corrected answer is
    shown; ``answer`` is the uncorrected answer. ``discarded`` is the last discarded correction, with
    the value of ``in_suite``. ``selection`` is the selected text, ``selected`` the last selection
    that the browser sent. ``modes`` are names of failure modes.

    ``restored`` has the values of the draft when the screen appeared. Each value is with the thing
    that the value grades: a field of the draft, an `own_field` or the subject of a mark. The first
    press on a restored value keeps the value.
    """

    quality: int | None = None
    groundedness: float | None = None
    label: Label | None = None
    corrected_answer: str = ""
    notes: dict[str, str] = field(default_factory=dict)
    scores: dict[str, int] = field(default_factory=dict)
    dimensions: tuple[str, ...] = ()
    marks: dict[Subject, ClaimMark] = field(default_factory=dict)
    at: int | None = None
    why: WhyDiffers | None = None
    spans: tuple[dict[str, Any], ...] | None = None
    schema: LabelSchema | None = None
    values: dict[str, Any] = field(default_factory=dict)
    field_at: str = ""
    selection: dict[str, Any] | None = None
    selected: dict[str, Any] | None = None
    in_suite: bool = False
    correcting: bool = False
    discarded: tuple[str, bool] | None = None
    answer: str = ""
    modes: list[str] = field(default_factory=list)
    shown: int = 0
    noted: int = 0
    restored: list[tuple[object, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, grade: Grade, schema: LabelSchema | None = None) -> "Draft":
        """Return the draft for a stored grade; ``schema`` is the label schema of the review."""
        if schema is not None:
            values = schema.values(grade)
            own = {each.name: values[each.name] for each in schema.own if each.name in values}
            spans = tuple(span for span in grade.spans or () if "field" not in span) or None
            plain = replace(grade, scores=(), choices={}, texts={}, spans=spans)
            return replace(cls.of(plain), schema=schema, values=own)
        return cls(
            quality=grade.quality,
            groundedness=grade.groundedness,
            label=None if grade.label_implied else grade.label,
            corrected_answer=grade.corrected_answer or "",
            notes=grade.notes,
            scores={name: int(value) for name, value in grade.by_dimension.items()},
            marks={subject_of(mark): mark for mark in grade.claim_marks},
            why=grade.why_differs,
            spans=grade.spans,
            in_suite=grade.in_suite,
            modes=list(grade.modes),
        )

    def grade(self) -> Grade:
        """Return the draft as a grade. Empty texts become None."""
        notes: dict[str, Any] = {
            name: text.strip() for name, text in self.notes.items() if text.strip()
        }
        grade = Grade(
            label=self.label,
            groundedness=self.groundedness,
            quality=self.quality,
            corrected_answer=self.corrected_answer if self.corrected_answer.strip() else None,
            scores=tuple(DimensionScore(name, value, SCALE) for name, value in self.scores.items()),
            claim_marks=tuple(self.marks.values()),
            why_differs=self.why,
            spans=self.spans,
            in_suite=self.in_suite,
            modes=tuple(self.modes),
            **notes,
        )
        if self.schema is None:
            return grade
        names = {
            each.name for each in self.schema.own
        }  # values of another queue's fields are left out
        own = {name: value for name, value in self.values.items() if name in names}
        return self.schema.grade({**self.schema.values(grade), **own}, grade)

    def all_values(self) -> dict[str, Any]:
        """Return the values of the schema by field, including label, groundedness and quality."""
        label = None if self.label is None else str(self.label.value)
        return {
            "label": label,
            "groundedness": self.groundedness,
            "quality": self.quality,
            **self.values,
        }

    def missing(self) -> tuple[str, ...]:
        """Return the schema's required fields without a value, except label, groundedness and quality."""
        names = () if self.schema is None else self.schema.missing(self.all_values())
        return tuple(name for name in names if name not in BUILT_IN)

    def content(self) -> dict[str, Any]:
        """Return the content to store, without empty values. Later key presses do not change this content."""
        copy = self.copied()
        values = {
            each.name: getattr(copy, each.name)
            for each in fields(copy)
            if each.name not in _ON_SCREEN
        }
        values |= {
            "marks": marks_json(self.marks.values()),
            "in_suite": self.in_suite or None,
            **values.pop("notes"),
        }
        return {name: value for name, value in values.items() if value not in (None, "", {}, [])}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> "Draft":
        """Return the draft with this stored content."""
        draft = cls(
            **{name: value for name, value in content.items() if name not in {"marks", *NOTES}}
        )
        draft.notes = {name: content[name] for name in NOTES if name in content}
        draft.label = Label(draft.label) if draft.label else None
        draft.why = WhyDiffers(draft.why) if draft.why else None
        draft.marks = {subject_of(mark): mark for mark in marks_from(content.get("marks"))}
        return draft

    def correct(self) -> None:
        """Show the field for the corrected answer, or close the field and discard the correction."""
        self.correcting = not (self.correcting or self.corrected_answer)
        if not self.correcting:
            self.discarded = (
                (self.corrected_answer, self.in_suite) if self.corrected_answer else None
            )
            self.corrected_answer, self.in_suite = "", False

    def restore_correction(self) -> bool:
        """Bring back the correction that was discarded last. Return False if there is none."""
        if self.discarded is None:
            return False
        (self.corrected_answer, self.in_suite), self.discarded = self.discarded, None
        return True

    def add_to_suite(self) -> None:
        """Add the corrected answer to a suite as a case, or remove the case again."""
        self.in_suite = not self.in_suite

    def choose_mode(self, name: str) -> None:
        """Tag the answer with a failure mode, or remove this tag."""
        self.modes = self.toggle("modes", name, self.modes)

    def use_restored(self, subject: object, value: Any) -> bool:
        """Remove a value from ``restored``, because its key was pressed. Return whether the value was restored."""
        is_restored = (subject, value) in self.restored
        if is_restored:
            self.restored.remove((subject, value))
        return is_restored

    def toggle(self, subject: object, value: Any, values: Sequence[Any]) -> list[Any]:
        """Return ``values`` with ``value`` added or removed. A restored value stays at the first press."""
        if self.use_restored(subject, value) or value not in values:
            return [*values, *([] if value in values else [value])]
        return [each for each in values if each != value]

    def copied(self) -> "Draft":
        """Return a copy that later key presses do not change."""
        return replace(
            self,
            notes=dict(self.notes),
            scores=dict(self.scores),
            marks=dict(self.marks),
            values=dict(self.values),
            restored=[*self.restored],
        )

    def brought_back(self) -> "Draft":
        """Return a copy that comes on the screen: the same keys, pressed again, give the same draft."""
        restored: list[tuple[object, Any]] = [(name, getattr(self, name)) for name in ASKED]
        restored += [("modes", mode) for mode in self.modes]
        restored += [(subject, mark.status) for subject, mark in self.marks.items()]
        for name, value in self.values.items():
            restored += [
                (own_field(name), each) for each in (value if isinstance(value, list) else [value])
            ]
        return replace(self.copied(), restored=restored, at=None, field_at="")


def own_field(name: str) -> tuple[str, str]:
    """Return what the values of a label schema's own field grade, in ``Draft.restored``."""
    return "values", name


@dataclass
class CommentDraft:
    """A comment being written; ``replaces`` is the comment to change, ``shown`` as in `Draft`."""

    text: str = ""
    replaces: int | None = None
    shown: int = 0


@dataclass(frozen=True, slots=True)
class UndoableReview:
    """A stored review that this session can undo, and the ``draft`` of the review."""

    review_id: int
    subject: int
    draft: Draft
    flag_id: int | None = None
    item_id: int = 0


@dataclass(slots=True)
class AgainJob:
    """A job of this session that judges one answer again.

    ``before`` is the verdict on the screen at the start, ``newest`` the id of the newest judgment
    at the start. ``ended`` is None while the job runs, then the reason why the job stopped; empty if
    the job finished. ``unread``: a leased item still has the judgments from before the job.
    """

    job_id: str
    before: ItemJudgment | None
    newest: int
    ended: str | None = None
    unread: bool = False


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question about a decision on the screen ``row``, which is stored after the answer.

    Without a ``label``: does the decision imply a label? With one: this label of the draft
    contradicts the decision.
    """

    row: str
    decision: Any
    label: Label | None = None


AskedField = Literal["note", "field", "name"]
"""What a message asks for: the note, the current field of the label schema, or the reviewer's name."""

TextView = Literal["folded", "whole", "formatted"]
"""As stored, with long passages folded around the evidence; as stored and unfolded; or with Markdown rendered."""


@dataclass
class ReviewSession:
    """The state of one reviewer's browser session, without Streamlit.

    Drafts are kept by subject: the id of a response, or minus the id of a pair. ``drafter`` is the
    id of the person whose drafts the session has. ``seen_open`` are flags that were open on this
    screen. Such flags keep buttons: after a late key press, the message names who decided first.
    ``alone`` is the flag that the next decision is on, None for all flags of the answer.

    ``asks`` is the field that the message asks for, and a number of this message. ``open_question``
    is asked before a decision is stored. ``names_reviewer``: the message after the next decision
    has the reviewer's name, which was only suggested. ``drawer`` is the view in place of the texts:
    "judgments", "calls", "trace" or None. ``texts`` is the form of the texts (`TextView`).
    ``viewed`` has the index of the attempt on the screen by response. ``editing`` is the review that
    is being changed, and the id of the response. ``again`` has the last job that judged an answer
    again, by response. ``screen`` is the visit of the page and the subject of the last screen, None
    after a list. ``sources`` are the only sources that the person may see, None for all.
    """

    drafts: dict[int, Draft] = field(default_factory=dict)
    comments: dict[int, CommentDraft] = field(default_factory=dict)
    done: list[UndoableReview] = field(default_factory=list)
    adjudicated: list[UndoableReview] = field(default_factory=list)
    message: str = ""
    refused: bool = False
    asks: tuple[AskedField, int] | None = None
    whole: set[int] = field(default_factory=set)
    viewed: dict[int, int] = field(default_factory=dict)
    by_sentence: bool = False
    drawer: str | None = None
    texts: TextView = "folded"
    editing: tuple[int, int] | None = None
    goal: Rows | None = None
    seen_open: set[int] = field(default_factory=set)
    alone: int | None = None
    open_question: OpenQuestion | None = None
    again: dict[int, AgainJob] = field(default_factory=dict)
    names_reviewer: bool = False
    drafter: int | None = None
    screen: tuple[int, int] | None = None
    sources: tuple[str, ...] | None = None
    _first_flags: tuple[int, frozenset[int]] | None = None
    used_keys: set[str] = field(default_factory=set)
    _request_keys: dict[str, str] = field(default_factory=dict)
    _fills: int = 0
    kept: dict[int, Mapping[str, Any]] = field(default_factory=dict)

    def draft(self, subject: int) -> Draft:
        """Return the draft for a subject."""
        if subject not in self.drafts:
            self.put_draft(subject, Draft())
        return self.drafts[subject]

    def put_draft(self, subject: int, draft: Draft) -> None:
        """Set the draft for a subject, and refill all fields of the draft."""
        draft = self.drafts[subject] = draft.brought_back()
        self.refill(draft)
        draft.noted = draft.shown

    def show_draft(self, visit: int, subject: int) -> None:
        """Note that the draft for a subject is on the screen, in this `visit` of the page.

        After another screen, the draft is brought back.
        """
        if self.screen != (visit, subject) and subject in self.drafts:
            self.drafts[subject] = self.drafts[subject].brought_back()
        self.screen = visit, subject

    def refill(self, draft: Draft | CommentDraft) -> None:
        """Refill the fields on the screen from the draft, except the notes."""
        self._fills += 1
        draft.shown = self._fills

    def new_flags(self, response_id: int, flag_ids: Collection[int]) -> frozenset[int]:
        """Return which flags of an answer, in any state, were raised while the answer is on the screen."""
        if self._first_flags is None or self._first_flags[0] != response_id:
            self._first_flags = response_id, frozenset(flag_ids)
        return frozenset(flag_ids) - self._first_flags[1]

    def comment(self, response_id: int) -> CommentDraft:
        """Return the comment being written on a response."""
        if response_id not in self.comments:
            self.put_comment(response_id, CommentDraft())
        return self.comments[response_id]

    def put_comment(self, response_id: int, comment: CommentDraft) -> None:
        """Set the comment being written, and refill the field."""
        self.comments[response_id] = comment
        self.refill(comment)

    def request_key(self, row: str) -> str:
        """Return the request key of a screen. A stored review changes the key, so no review is stored twice."""
        return self._request_keys.setdefault(row, secrets.token_urlsafe(12))

    def finish_key(self, row: str, request_key: str) -> None:
        """Mark a request key as used, because the request was stored or refused."""
        self._request_keys.pop(row, None)
        self.used_keys.add(request_key)

    def say(self, sentence: str, *, refused: bool = False, asks: AskedField | None = None) -> None:
        """Set the message at the start of the head line. The field that the message ``asks`` for gets the cursor."""
        self.message, self.refused = sentence, refused
        self.asks = None
        if asks is not None:
            self._fills += 1
            self.asks = asks, self._fills


def review_session() -> ReviewSession:
    """Return the state of this browser session. The state begins anew when an admin changes the person's sources."""
    person = current_reviewer()
    sources = None if person is None else person.sources
    session: ReviewSession | None = st.session_state.get("review_session")
    if session is None or session.sources != sources:
        session = st.session_state["review_session"] = ReviewSession(sources=sources)
    return session


def own_review_to_change(
    session: ReviewSession, reviewer: Reviewer | None, item: Item
) -> Review | None:
    """Return the review to change, and fill the draft once from this review.

    The address names the review. Otherwise the review is the reviewer's own decision on open flags
    of the item, if a queue keeps these flags open. None unless the review is this reviewer's current
    review of this item. If the reviewer leaves without saving, the draft is dropped.
    """
    review_id, review, draft = as_id(st.query_params.get(EDIT, "")), None, Draft()
    if reviewer is not None and review_id is None:
        # The reviewer's latest review that decides an open flag of the item.
        open_ids = {flag.id for flag in item.flags if flag.state == FlagState.OPEN}
        own_decisions = (
            review.id
            for review in item.reviews
            if review.stands
            and review.reviewer_id == reviewer.id
            and review.decision
            and review.stage is None
            if not open_ids.isdisjoint(review.flag_ids)
        )
        review_id = next(own_decisions, None)
    if reviewer is not None and review_id is not None:
        review, draft = stored_review(review_id)
    own = (
        review is not None
        and reviewer is not None
        and review.reviewer_id == reviewer.id
        and review.stands
    )
    if review is None or not own or review.response_id != item.response_id:
        _stop_editing(session)
        return None
    if session.editing != (review.id, review.response_id):
        _stop_editing(session)
        session.editing = (review.id, review.response_id)
        session.put_draft(review.response_id, draft)
    return review


def stored_review(review_id: int) -> tuple[Review | None, Draft]:
    """Return a review (None if no review has this id) and the draft of the review."""
    with reading() as connection:
        review = find_review(connection, review_id)
        if review is None:
            return None, Draft()
        schema_id = review.label_schema_id
        schema = None if schema_id is None else schema_by_id(connection, schema_id).content
    return review, Draft.of(review.grade, schema)


def _stop_editing(session: ReviewSession) -> None:
    if session.editing is not None:
        session.drafts.pop(session.editing[1], None)
        session.kept.pop(session.editing[1], None)
        session.editing = None


@dataclass(frozen=True, slots=True)
class KeptDraft:
    """A draft that waits to be stored; ``at`` (UTC) is the time of the last change."""

    store: Store
    content: Mapping[str, Any]
    at: datetime


@dataclass
class DraftWriter:
    """Stores the drafts of all sessions of this server within a second, in a thread, so that key presses do not wait.

    Drafts are kept by (database, reviewer, subject). The process ends after the last drafts are stored.
    """

    _waiting: dict[tuple[str, int, int], KeptDraft] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _writing: Lock = field(default_factory=Lock)
    _timer: Timer | None = None

    def put(self, store: Store, reviewer_id: int, subject: int, content: Mapping[str, Any]) -> None:
        """Store a draft soon."""
        with self._lock:
            self._waiting[store.shown_url, reviewer_id, subject] = KeptDraft(
                store, content, utc_now()
            )
            if self._timer is None:
                self._timer = Timer(PACE, self.flush)
                self._timer.start()

    def read(self, store: Store, reviewer_id: int, subject: int) -> Mapping[str, Any]:
        """Return the content of a draft; empty if there is none."""
        with self._lock:
            draft = self._waiting.get((store.shown_url, reviewer_id, subject))
        if draft is not None:
            return draft.content
        with store.reading() as connection:
            return read_draft(connection, reviewer_id, subject) or {}

    def flush(self) -> None:
        """Store all drafts that are not stored yet."""
        with self._writing:  # two threads at once could store an older draft last
            with self._lock:
                self._timer = None
                drafts = dict(self._waiting)
            for (url, reviewer_id, subject), draft in drafts.items():
                try:
                    with draft.store.writing() as connection:
                        save_draft(connection, reviewer_id, subject, draft.content, draft.at)
                except Exception as error:  # noqa: BLE001 - the session still has the draft, and the other drafts are stored
                    numbered(error)
                with self._lock:
                    if self._waiting.get((url, reviewer_id, subject)) is draft:
                        del self._waiting[url, reviewer_id, subject]


draft_writer = st.cache_resource(show_spinner=False)(DraftWriter)


def keep_draft(session: ReviewSession, reviewer: Reviewer | None, subject: int) -> None:
    """Store the draft beyond this session. A session without a draft (after a reload) gets the stored draft.

    A person who may not review has a draft in this session alone.
    """
    if reviewer is None or session.editing is not None or not may(reviewer, Action.REVIEW):
        return
    writer = draft_writer()
    if session.drafter not in {
        None,
        reviewer.id,
    }:  # another person; the earlier person's drafts are stored
        session.drafts.clear()
        session.kept.clear()
    session.drafter = reviewer.id
    if subject not in session.drafts:
        # If this session stored the draft but no longer has the draft, the draft became a review.
        content = {} if subject in session.kept else writer.read(store(), reviewer.id, subject)
        session.put_draft(subject, Draft.from_content(content))
        session.kept.setdefault(subject, content)
    content = session.drafts[subject].content()
    if content != session.kept.get(subject, {}):
        writer.put(store(), reviewer.id, subject, content)
        session.kept[subject] = content


def follow_new_name() -> None:
    """Give the drafts under a suggested name to the person whose name replaced the suggested name, if any did."""
    suggested = replaced_reviewer() if reviewer_name() else None
    reviewer = None if suggested is None else current_reviewer()
    if suggested is None or reviewer is None or suggested.id == reviewer.id:
        return
    draft_writer().flush()
    with store().writing() as connection:
        move_drafts(connection, suggested.id, reviewer.id)

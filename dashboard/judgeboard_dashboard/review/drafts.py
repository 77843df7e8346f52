"""What a browser session keeps while its reviewer works: the screen, the drafts, what can be undone."""

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import streamlit as st

from judgeboard.domain import ClaimMark, DimensionScore, Grade, Label, WhyDiffers
from judgeboard.judges.rubric_file import SCALE
from judgeboard.store.filters import RowFilter
from judgeboard.store.items import Item
from judgeboard.store.own_reviews import WholeReview, whole_review
from judgeboard.store.reviewers import Reviewer
from judgeboard_dashboard.review.claims import Subject, subject_of
from judgeboard_dashboard.session import reading
from judgeboard_dashboard.widgets.filters import Query, filter_sentence, query_of


@dataclass(frozen=True, slots=True)
class Listing:
    """The list that the item was opened from: next and previous stay in it."""

    where: RowFilter
    sort: str

    @property
    def words(self) -> str:
        """The list in words."""
        return "all flags" if self.where == RowFilter() else filter_sentence(self.where)

    def query(self, default_sort: str) -> Query:
        """Return the list as an address carries it."""
        query = query_of(self.where)
        if self.sort != default_sort:
            query["sort"] = [self.sort]
        return query


@dataclass(frozen=True, slots=True)
class Screen:
    """What a press belongs to, bound when the page was drawn: a press that arrives late means what its author saw.

    ``flag_id`` is the open flag that waits for a decision, None where there is nothing to decide. ``from_list`` says
    whether the item was opened as one of a list (``?flag=``), so that the next one follows a decision. ``edits`` is a
    review of one's own that a press changes, in which ``seconds_before`` were spent already.
    """

    response_id: int
    external_id: str
    flag_id: int | None
    judgment_seen_id: int | None
    listing: Listing
    from_list: bool
    edits: int | None = None
    seconds_before: float = 0.0

    @property
    def row(self) -> str:
        """What the guard and the widgets know this screen by."""
        flag = "" if self.flag_id is None else f"f{self.flag_id}"
        edits = "" if self.edits is None else f"e{self.edits}"
        return f"r{self.response_id}{flag}{edits}"


@dataclass
class Draft:
    """Grades given on the screen but not saved: all become one review with the decision.

    ``shown`` counts how often the fields on the screen were filled anew from here. It is part of their keys: a value
    that the browser sends for an older field says nothing about the new one. ``noted`` is the same of the note, which
    no grade fills anew: somebody may be typing into it. ``dimensions`` are those of the rubric
    that the answer was judged by, in the order in which they are asked for; ``scores`` what was given on them,
    ``dimension_at`` the place of the one that the keys give a level to. ``marks`` are what was said of single
    statements, ``at`` the place of the statement that the keys mark.
    """

    quality: int | None = None
    groundedness: float | None = None
    label: Label | None = None
    corrected_answer: str = ""
    note: str = ""
    scores: dict[str, int] = field(default_factory=dict)
    dimensions: tuple[str, ...] = ()
    dimension_at: int = 0
    marks: dict[Subject, ClaimMark] = field(default_factory=dict)
    at: int | None = None
    why: WhyDiffers | None = None
    spans: tuple[dict[str, Any], ...] | None = None
    shown: int = 0
    noted: int = 0

    @classmethod
    def of(cls, grade: Grade) -> "Draft":
        """Return the draft that a stored grade was given with."""
        return cls(
            quality=grade.quality,
            groundedness=grade.groundedness,
            label=grade.label,
            corrected_answer=grade.corrected_answer or "",
            note=grade.note or "",
            scores={one.dimension: int(one.value) for one in grade.scores if one.value is not None},
            marks={subject_of(mark): mark for mark in grade.claim_marks},
            why=grade.why_differs,
            spans=grade.spans,
        )

    def grade(self) -> Grade:
        """Return the draft as what is stored; empty texts are nothing."""
        return Grade(
            label=self.label,
            groundedness=self.groundedness,
            quality=self.quality,
            note=self.note.strip() or None,
            corrected_answer=self.corrected_answer if self.corrected_answer.strip() else None,
            scores=tuple(DimensionScore(name, value, SCALE) for name, value in self.scores.items()),
            claim_marks=tuple(self.marks.values()),
            why_differs=self.why,
            spans=self.spans,
        )

    def copied(self) -> "Draft":
        """Return a copy that later presses do not change."""
        return replace(self, scores=dict(self.scores), marks=dict(self.marks))


@dataclass(frozen=True, slots=True)
class Done:
    """A stored review that this session can take back; ``draft`` is what was given with it."""

    review_id: int
    response_id: int
    flag_id: int | None
    draft: Draft


@dataclass(frozen=True, slots=True)
class Goal:
    """Where to go next: a flag, a response, the first of the list (neither), or another page with its address."""

    flag_id: int | None = None
    response_id: int | None = None
    page: str | None = None
    query: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class Remark:
    """A remark being written; ``replaces`` is the one that it changes. ``shown`` as for a `Draft`."""

    text: str = ""
    replaces: int | None = None
    shown: int = 0


@dataclass
class Desk:
    """The reviewer's place; it lives in the session, is never shared and knows nothing of Streamlit.

    ``seen_open`` are flags that were open on this screen and not decided here: they keep their buttons, so that a
    press is answered (with who was first) even where the page was drawn again in between. ``viewed`` is which attempt
    at a better answer is looked at, by response. ``by_sentence`` says whether answers are shown sentence by sentence,
    ``editing`` is the review of one's own that is being changed, with its response. ``remarks`` are the remarks being
    written, by response.
    """

    drafts: dict[int, Draft] = field(default_factory=dict)
    done: list[Done] = field(default_factory=list)
    said: str = ""
    refused: bool = False
    keys_shown: bool = False
    whole: set[int] = field(default_factory=set)
    viewed: dict[int, int] = field(default_factory=dict)
    by_sentence: bool = False
    editing: tuple[int, int] | None = None
    remarks: dict[int, Remark] = field(default_factory=dict)
    goal: Goal | None = None
    used: set[str] = field(default_factory=set)
    seen_open: set[int] = field(default_factory=set)
    _tokens: dict[str, str] = field(default_factory=dict)
    _fields: int = 0

    def draft(self, response_id: int) -> Draft:
        """Return the draft of a response."""
        if response_id not in self.drafts:
            self.put_draft(response_id, Draft())
        return self.drafts[response_id]

    def put_draft(self, response_id: int, draft: Draft) -> None:
        """Set the draft of a response; its fields are filled anew, the note too."""
        self.drafts[response_id] = draft
        self.refill(draft)
        draft.noted = draft.shown

    def refill(self, draft: Draft) -> None:
        """Have the fields on the screen filled anew from the draft, except the note."""
        self._fields += 1
        draft.shown = self._fields

    def remark(self, response_id: int) -> Remark:
        """Return the remark being written on a response."""
        if response_id not in self.remarks:
            self.put_remark(response_id, Remark())
        return self.remarks[response_id]

    def put_remark(self, response_id: int, remark: Remark) -> None:
        """Set the remark being written; its field is filled anew."""
        self.remarks[response_id] = remark
        self._fields += 1
        remark.shown = self._fields

    def token(self, row: str) -> str:
        """Return the request key of a row: the same until its review is stored, so that none is stored twice."""
        return self._tokens.setdefault(row, secrets.token_urlsafe(12))

    def spend(self, row: str, token: str) -> None:
        """The press of a row is stored or refused: its request key is used up."""
        self._tokens.pop(row, None)
        self.used.add(token)

    def leave(self, screen: Screen, token: str) -> None:
        """The review of a screen is stored or refused: draft and request key are used up."""
        self.drafts.pop(screen.response_id, None)
        self.spend(screen.row, token)
        self.seen_open.discard(screen.flag_id or 0)

    def say(self, sentence: str, *, refused: bool = False) -> None:
        """Set the head line's first words."""
        self.said, self.refused = sentence, refused


def desk() -> Desk:
    """Return the desk of this browser session."""
    held: Desk = st.session_state.setdefault("desk", Desk())
    return held


EDIT = "edit"  # the parameter of the address that names the review


def own_to_change(here: Desk, reviewer: Reviewer | None, found: Item) -> WholeReview | None:
    """Return the review that the address asks to change, its draft filled once; None where there is none to change.

    Only one's own that stands can be changed; whoever leaves without saving leaves no draft of it behind.
    """
    asked = st.query_params.get(EDIT, "")
    review = None
    if reviewer is not None and asked.isdecimal() and len(asked) <= 18:
        with reading() as connection:
            review = whole_review(connection, int(asked))
    mine = review is not None and reviewer is not None and review.reviewer_id == reviewer.id and review.stands
    if review is None or not mine or review.response_id != found.response_id:
        _leave(here)
        return None
    if here.editing != (review.id, review.response_id):
        _leave(here)
        here.editing = (review.id, review.response_id)
        here.put_draft(review.response_id, Draft.of(review.grade))
    return review


def _leave(here: Desk) -> None:
    if here.editing is not None:
        here.drafts.pop(here.editing[1], None)
        here.editing = None


@dataclass(frozen=True, slots=True)
class QueueScreen(Screen):
    """An item of a queue on the screen; ``stage`` is empty, "r" after the reveal, "c" while another grade is given."""

    item_id: int = 0
    stage: str = ""

    @property
    def row(self) -> str:
        """What the guard and the widgets know this screen by."""
        return f"q{self.item_id}{self.stage}"


MOST_KEPT = 1_000  # drafts of all who review, the oldest go first


@dataclass
class KeptDrafts:
    """Drafts of all sessions of this server; only who holds an item is told its token."""

    _by_token: OrderedDict[str, Draft] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def keep(self, token: str, draft: Draft) -> None:
        """Keep a copy of a draft."""
        with self._lock:
            self._by_token[token] = draft.copied()
            self._by_token.move_to_end(token)
            while len(self._by_token) > MOST_KEPT:
                self._by_token.popitem(last=False)

    def of(self, token: str) -> Draft | None:
        """Return a copy of what was kept last, None where nothing was."""
        with self._lock:
            kept = self._by_token.get(token)
            return None if kept is None else kept.copied()


@st.cache_resource(show_spinner=False)
def kept_drafts() -> KeptDrafts:
    """Return the drafts of this server."""
    return KeptDrafts()


def keep_draft(here: Desk, response_id: int, token: str) -> None:
    """Keep the draft of the item on the screen; in a session that has none, bring back what an earlier one gave."""
    kept = kept_drafts()
    if response_id not in here.drafts and (given := kept.of(token)) is not None:
        here.put_draft(response_id, given)
    kept.keep(token, here.draft(response_id))

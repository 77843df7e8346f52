"""What a browser session keeps while its reviewer works: drafts, request keys, what can be undone."""

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import streamlit as st

from judgeboard.domain import ClaimMark, DimensionScore, Grade, Label, WhyDiffers
from judgeboard.judges.rubric_file import SCALE
from judgeboard.methods.pair_report import PairWalk
from judgeboard.store.items import Item
from judgeboard.store.own_reviews import WholeReview, whole_review
from judgeboard.store.reviewers import Reviewer
from judgeboard_dashboard.review.claims import Subject, subject_of
from judgeboard_dashboard.session import reading
from judgeboard_dashboard.widgets.navigation import Rows

EDIT = "edit"
"""The parameter of the address that names the review to change."""
MOST_KEPT = 1_000
"""Drafts of all reviewers that the server keeps; the oldest are dropped first."""


@dataclass
class Draft:
    """Grades and texts that are not stored yet; all become one review with the decision.

    ``shown`` counts how often the fields were filled from here. It is part of their keys, so that a value that the
    browser sends for an older field is ignored. ``noted`` does the same for the note, which no grade refills: somebody
    may be typing into it. ``scores`` are given by dimension, ``dimensions`` are the rubric's in their order,
    ``dimension_at`` is the index of the one that the keys grade. ``at`` is the index of the statement that the keys
    mark.
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
        """Return the draft of a stored grade."""
        return cls(
            quality=grade.quality,
            groundedness=grade.groundedness,
            label=grade.label,
            corrected_answer=grade.corrected_answer or "",
            note=grade.note or "",
            scores={score.dimension: int(score.value) for score in grade.scores if score.value is not None},
            marks={subject_of(mark): mark for mark in grade.claim_marks},
            why=grade.why_differs,
            spans=grade.spans,
        )

    def grade(self) -> Grade:
        """Return the draft as it is stored; empty texts become None."""
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
        """Return a copy that later key presses do not change."""
        return replace(self, scores=dict(self.scores), marks=dict(self.marks))


@dataclass
class CommentDraft:
    """A comment being written; ``replaces`` is the comment that it changes, ``shown`` as in `Draft`."""

    text: str = ""
    replaces: int | None = None
    shown: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """A stored review that this session can undo; ``draft`` is what it was made from."""

    review_id: int
    subject: int
    draft: Draft
    flag_id: int | None = None
    item_id: int = 0


@dataclass
class ReviewSession:
    """The state of one reviewer's browser session; it uses nothing of Streamlit.

    Drafts are kept by subject: the id of a response, or minus the id of a pair. ``seen_open`` are flags that were
    open on this screen: they keep their buttons, so that a late key press is answered with who decided first.
    ``raw_calls`` shows the calls behind the judgments in place of the texts, ``as_stored`` shows texts unformatted and
    unfolded. ``viewed`` is the attempt on the screen by response, ``editing`` the own review that is being changed and
    its response. ``pairs_seen`` are (reviewer, pair) whose verdict was shown: later reviews of them are not blind.
    """

    drafts: dict[int, Draft] = field(default_factory=dict)
    comments: dict[int, CommentDraft] = field(default_factory=dict)
    done: list[Done] = field(default_factory=list)
    adjudicated: list[Done] = field(default_factory=list)
    message: str = ""
    refused: bool = False
    keys_shown: bool = False
    whole: set[int] = field(default_factory=set)
    viewed: dict[int, int] = field(default_factory=dict)
    by_sentence: bool = False
    raw_calls: bool = False
    as_stored: bool = False
    editing: tuple[int, int] | None = None
    goal: Rows | None = None
    seen_open: set[int] = field(default_factory=set)
    pairs_seen: set[tuple[int, int]] = field(default_factory=set)
    used_keys: set[str] = field(default_factory=set)
    _pair_list: tuple[object, PairWalk] | None = None
    _request_keys: dict[str, str] = field(default_factory=dict)
    _fills: int = 0

    def draft(self, subject: int) -> Draft:
        """Return the draft for a subject."""
        if subject not in self.drafts:
            self.put_draft(subject, Draft())
        return self.drafts[subject]

    def put_draft(self, subject: int, draft: Draft) -> None:
        """Set the draft for a subject; all its fields are refilled."""
        self.drafts[subject] = draft
        self.refill(draft)
        draft.noted = draft.shown

    def refill(self, draft: Draft | CommentDraft) -> None:
        """Refill the fields on the screen from the draft, except the note."""
        self._fills += 1
        draft.shown = self._fills

    def comment(self, response_id: int) -> CommentDraft:
        """Return the comment being written on a response."""
        if response_id not in self.comments:
            self.put_comment(response_id, CommentDraft())
        return self.comments[response_id]

    def put_comment(self, response_id: int, comment: CommentDraft) -> None:
        """Set the comment being written; its field is refilled."""
        self.comments[response_id] = comment
        self.refill(comment)

    def request_key(self, row: str) -> str:
        """Return the request key of a screen: the same until its review is stored, so that none is stored twice."""
        return self._request_keys.setdefault(row, secrets.token_urlsafe(12))

    def finish_key(self, row: str, request_key: str) -> None:
        """Mark a request key as used: what it was for is stored or refused."""
        self._request_keys.pop(row, None)
        self.used_keys.add(request_key)

    def say(self, sentence: str, *, refused: bool = False) -> None:
        """Set the message at the start of the head line."""
        self.message, self.refused = sentence, refused

    def pair_list(self, key: object, read: Callable[[], PairWalk]) -> PairWalk:
        """Return the list of pairs that the reviewer goes through; ``read`` is called when ``key`` is new."""
        if self._pair_list is None or self._pair_list[0] != key:
            self._pair_list = (key, read())
        return self._pair_list[1]

    def leave_pairs(self) -> None:
        """Forget the list of pairs and the message."""
        self._pair_list = None
        self.say("")


def review_session() -> ReviewSession:
    """Return the state of this browser session."""
    kept: ReviewSession = st.session_state.setdefault("review_session", ReviewSession())
    return kept


def own_review_to_change(session: ReviewSession, reviewer: Reviewer | None, item: Item) -> WholeReview | None:
    """Return the review that the address asks to change, its draft filled once.

    None unless it is a current review by this reviewer of this item. A reviewer who leaves without saving leaves no
    draft.
    """
    asked = st.query_params.get(EDIT, "")
    review = None
    if reviewer is not None and asked.isdecimal() and len(asked) <= 18:
        with reading() as connection:
            review = whole_review(connection, int(asked))
    own = review is not None and reviewer is not None and review.reviewer_id == reviewer.id and review.stands
    if review is None or not own or review.response_id != item.response_id:
        _stop_editing(session)
        return None
    if session.editing != (review.id, review.response_id):
        _stop_editing(session)
        session.editing = (review.id, review.response_id)
        session.put_draft(review.response_id, Draft.of(review.grade))
    return review


def _stop_editing(session: ReviewSession) -> None:
    if session.editing is not None:
        session.drafts.pop(session.editing[1], None)
        session.editing = None


@dataclass
class KeptDrafts:
    """Drafts of all sessions of this server by lease token; only the holder of a lease knows its token."""

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
        """Return a copy of the draft that was kept last, None where none was."""
        with self._lock:
            kept = self._by_token.get(token)
            return None if kept is None else kept.copied()


_kept_drafts = st.cache_resource(show_spinner=False)(KeptDrafts)


def keep_draft(session: ReviewSession, subject: int, token: str) -> None:
    """Keep the draft of a leased item; a session that has none yet gets the kept one back, as after a reload."""
    kept = _kept_drafts()
    if subject not in session.drafts and (draft := kept.of(token)) is not None:
        session.put_draft(subject, draft)
    kept.keep(token, session.draft(subject))

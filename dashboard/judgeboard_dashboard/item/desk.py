"""What a reviewer's browser session holds while reviewing: drafts, what was said last, what can be undone."""

import secrets
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from judgeboard.domain import ClaimMark, DimensionScore, Grade, Label, WhyDiffers
from judgeboard.judges.rubric_file import SCALE
from judgeboard_dashboard.item.screen import Screen
from judgeboard_dashboard.item.statements import Subject, subject_of


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

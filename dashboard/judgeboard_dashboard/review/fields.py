"""The scales, the rubric and the typed fields of a review."""

from typing import NamedTuple

import streamlit as st

from judgeboard.domain import Label
from judgeboard.judges.rubric_file import LEVELS
from judgeboard.store.verdicts import RubricScores, RubricVerdict
from judgeboard_dashboard.evidence import Html, as_label, tag
from judgeboard_dashboard.review.drafts import Desk, Draft
from judgeboard_dashboard.widgets.texts import UNKNOWN, score, short


class Quality(NamedTuple):
    """One step of the quality scale."""

    value: int
    name: str
    key: str
    meaning: str


class Anchor(NamedTuple):
    """One anchor of the groundedness scale, 0 to 1."""

    value: float
    name: str
    key: str
    meaning: str


QUALITIES = (
    Quality(1, "Fails", "1", "does not answer the question"),
    Quality(2, "Weak", "2", "irrelevant or insufficient"),
    Quality(3, "Gaps", "3", "answers, with notable gaps"),
    Quality(4, "Full", "4", "answers directly and completely"),
)
# On the home row of the left hand; the right hand decides.
ANCHORS = (
    Anchor(0.0, "0", "A", "nothing of it is in the passages"),
    Anchor(0.2, "0.2", "S", "mostly its own, the passages are decoration"),
    Anchor(0.5, "0.5", "D", "half from the passages, half its own"),
    Anchor(0.8, "0.8", "F", "mostly from the passages, small reasonable inferences"),
    Anchor(1.0, "1", "G", "all of it is in the passages, no speculation"),
)
KEYS = (
    ("Y", "confirm: the answer has a problem"),
    ("N", "dismiss: the answer is fine"),
    ("U", "unsure: leave it for somebody else"),
    ("1–4", "quality"),
    ("A S D F G", "groundedness 0, 0.2, 0.5, 0.8, 1"),
    ("M", "write a note, Esc leaves it"),
    ("Ctrl Enter", "save a grade where nothing waits for a decision"),
    ("Z", "undo the last decision"),
    ("V", "next claim or sentence of the answer"),
    ("B X P", "it is supported, contradicted, unsupported"),
    ("I", "answer sentence by sentence, or whole"),
    ("O", "why you and the judge differ"),
    ("T", "write a remark for the others, Enter sends it"),
    ("9 0", "next attempt at a better answer; let it stand"),
    ("J K", "next, previous"),
    ("L", "back to the list"),
    ("H", "close this list"),
)


LAST_FILLED = "filled"


def field_key(name: str, draft: Draft) -> str:
    """Return the key of a field; it changes when the field is filled anew."""
    return f"{name}_{draft.shown}"


def note_key(draft: Draft) -> str:
    """Return the key of the note; no grade changes it."""
    return f"note_{draft.noted}"


def rubric_key(place: int, draft: Draft) -> str:
    """Return the key of the field of a rubric's dimension, by its place."""
    return field_key(f"rubric{place}", draft)


def read_fields(here: Desk) -> None:
    """Take into the drafts what was typed since the last run."""
    state = st.session_state
    for draft in here.drafts.values():
        if not {note_key(draft), field_key(LAST_FILLED, draft)} <= set(state):
            continue  # not on the screen, or its filling was cut off
        draft.note = state[note_key(draft)]
        # What stands behind the three dots is not drawn everywhere, and what is not drawn is forgotten.
        draft.corrected_answer = state.get(field_key("corrected", draft), draft.corrected_answer)
        draft.groundedness = state.get(field_key("exact", draft), draft.groundedness)
        if field_key("label", draft) in state:
            label = state[field_key("label", draft)]
            draft.label = Label(label) if label else None
            given = {name: state.get(rubric_key(place, draft)) for place, name in enumerate(draft.dimensions)}
            draft.scores = {name: value for name, value in given.items() if value is not None}


def fill_fields(draft: Draft, *, labels: bool = True) -> None:
    """Give the fields the draft's values; ``labels``: whether label and rubric are fields there, not keys alone.

    What stands in the popover is given with every run, not once: the browser loads it when it is opened, would miss
    the value and say that there is none. The note is given once, or its typing would be cut off.
    """
    if note_key(draft) not in st.session_state:
        st.session_state[note_key(draft)] = draft.note
    st.session_state[field_key("corrected", draft)] = draft.corrected_answer
    st.session_state[field_key("exact", draft)] = draft.groundedness
    if labels:
        for place, name in enumerate(draft.dimensions):
            st.session_state[rubric_key(place, draft)] = draft.scores.get(name)
        st.session_state[field_key("label", draft)] = str(draft.label.value) if draft.label else None
    else:
        st.session_state.pop(field_key("label", draft), None)
    st.session_state[field_key(LAST_FILLED, draft)] = True


MOST_PEOPLE = 3


def rubric_block(rubric: RubricScores) -> Html | None:
    """Return the lines of the pane of signals; None where no rubric judge judged the answer."""
    if not rubric.verdicts:
        return None
    return tag("div", *(part for one in rubric.verdicts for part in _lines(one, rubric)), cls="jb-block")


def rubric_fields(rubric: RubricScores, draft: Draft) -> None:
    """Show the button with a field for each dimension; nothing where no rubric judge judged the answer."""
    if not rubric.words:
        return
    with st.popover("Rubric", type="primary" if draft.scores else "secondary", key="rubric_grades"):
        for place, (dimension, words) in enumerate(rubric.words.items()):
            st.segmented_control(
                as_label(dimension),
                list(LEVELS),
                key=rubric_key(place, draft),
                help="  \n".join(f"{level}: {as_label(said)}" for level, said in zip(LEVELS, words, strict=False)),
            )


def _lines(verdict: RubricVerdict, rubric: RubricScores) -> list[Html]:
    overall = UNKNOWN if verdict.overall is None else score(verdict.overall)
    rows = []
    for dimension, (value, why) in verdict.dimensions.items():
        said = "not scored" if value is None else f"{short(value)} / 5"
        people = rubric.people.get(dimension, ())
        rows += [
            tag("span", dimension),
            tag("span", ", ".join(f"{name} {short(given)}" for name, given in people[-MOST_PEOPLE:]), cls="jb-who"),
            tag("b", said),
            tag("span", why, cls="jb-cap jb-across") if why else tag("span", cls="jb-across"),
        ]
    return [
        tag("div", "Rubric", tag("span", f"{verdict.version_title} · {overall} overall"), cls="jb-label"),
        tag("div", *rows, cls="jb-scores jb-rubric"),
        *([tag("div", verdict.note, cls="jb-cap")] if verdict.note else []),
    ]

"""The scales, and the buttons and fields to grade and correct an answer."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from judgeboard.domain import GRADE_TEXTS, NOTES, Action, Label, Response
from judgeboard.judges.rubric_file import LEVELS
from judgeboard.store.items import Item
from judgeboard.store.tables import Queue
from judgeboard.store.verdicts import RubricScores
from judgeboard_dashboard.evidence import Html, as_label, difference, show, show_div, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.review.actions import Actions, DraftActions
from judgeboard_dashboard.review.drafts import Draft, ReviewSession
from judgeboard_dashboard.review.schema_form import (
    SchemaActions,
    read_schema_fields,
    schema_actions,
)
from judgeboard_dashboard.widgets.keys import key_button
from judgeboard_dashboard.widgets.texts import UNKNOWN, capital, score, short


class Step(NamedTuple):
    """One step of a scale, with a key."""

    value: Any
    name: str
    key: str
    meaning: str


QUALITIES = (
    Step(1, "Fails", "1", "does not answer the question"),
    Step(2, "Weak", "2", "irrelevant or insufficient"),
    Step(3, "Gaps", "3", "answers, with notable gaps"),
    Step(4, "Full", "4", "answers directly and completely"),
)
# These keys are on the home row of the left hand. The right hand decides.
ANCHORS = (
    Step(0.0, "0.0", "A", "nothing of it is in the passages"),
    Step(0.2, "0.2", "S", "mostly not from the passages"),
    Step(0.5, "0.5", "D", "half from the passages, half not"),
    Step(0.8, "0.8", "F", "mostly from the passages, small reasonable inferences"),
    Step(1.0, "1.0", "G", "all of it is in the passages, no speculation"),
)
LABELS = (
    Step(Label.GROUNDED, "Grounded", "Q", "everything it states is in the passages"),
    Step(Label.HALLUCINATED, "Hallucinated", "W", "something it states is not in the passages"),
)
SCALES = {"label": LABELS, "groundedness": ANCHORS, "quality": QUALITIES}
MOST_PEOPLE = 3


@contextmanager
def row_of_buttons(
    *label: str, key: str | None = None, row_key: str | None = None
) -> Iterator[st.delta_generator.DeltaGenerator]:
    """Show the elements of the ``with`` block in one row under a label; yield the row."""
    with st.container(key=key, width="content", gap="xxsmall"):
        show_div("jb-label", *label)
        row = st.container(key=row_key, horizontal=True, gap="xxsmall", wrap=False)
        with row:
            yield row


def _field(name: str, draft: Draft) -> str:
    return f"{name}_{draft.shown}"


def _note(name: str, draft: Draft) -> str:
    return f"{name}_{draft.noted}"


def read_fields(session: ReviewSession) -> None:
    """Copy the typed values into the drafts."""
    state = st.session_state
    for draft in session.drafts.values():
        if not {*(_note(name, draft) for name in NOTES), _field("filled", draft)} <= set(state):
            continue  # the draft is not on the screen, or the run that filled the fields was interrupted
        draft.notes = {name: state[_note(name, draft)] for name in NOTES}
        corrected = state.get(_note("corrected", draft))
        if corrected is not None:  # a text that equals the answer is not a correction
            draft.corrected_answer = "" if corrected == draft.answer else corrected
        read_schema_fields(draft)
        # The fields behind the three dots are not drawn everywhere, and Streamlit forgets fields
        # that are not drawn.
        draft.groundedness = state.get(_field("exact", draft), draft.groundedness)
        keys = {name: _field(f"rubric{at}", draft) for at, name in enumerate(draft.dimensions)}
        levels = draft.scores | {name: state[key] for name, key in keys.items() if key in state}
        draft.scores = {name: level for name, level in levels.items() if level is not None}


def fill_fields(draft: Draft, dimensions: Iterable[str] = ()) -> None:
    """Set the fields to the values of the draft, including the ``dimensions`` of a rubric.

    Fields in the popover are set in every run. The browser loads these fields when the popover is
    opened, and would report a missing value as empty. The notes are set only once, because another
    setting would interrupt typing.
    """
    state = st.session_state
    for name in NOTES:
        state.setdefault(_note(name, draft), draft.notes.get(name, ""))
    state[_field("exact", draft)] = draft.groundedness
    draft.dimensions = tuple(dimensions)
    for at, name in enumerate(draft.dimensions):
        state[_field(f"rubric{at}", draft)] = draft.scores.get(name)
    state[_field("filled", draft)] = True


def item_grades(actions: Actions, rubric: RubricScores) -> None:
    """Show the buttons for the grades of an answer outside queues, and a field for each dimension of the rubric."""
    draft = actions.draft
    fill_fields(draft, rubric.words)
    grade_groups(actions, dict.fromkeys(SCALES))
    if not rubric.words:
        return
    with st.popover("Rubric", type="primary" if draft.scores else "secondary", key="rubric_grades"):
        for at, (dimension, words) in enumerate(rubric.words.items()):
            st.segmented_control(
                as_label(dimension),
                list(LEVELS),
                key=_field(f"rubric{at}", draft),
                help="  \n".join(
                    f"{level}: {as_label(word)}" for level, word in zip(LEVELS, words, strict=False)
                ),
            )


def queue_grades(
    actions: Actions, rules: Queue, response: Response, *, with_marks: bool = True
) -> None:
    """Show the buttons for the grades that a queue asks for. ``with_marks``: show which grades are required."""
    fill_fields(actions.draft)
    marks = {name: "required" if name in rules.grades else "optional" for name in rules.asked}
    fields = schema_actions(actions, rules, response)
    grade_groups(actions, marks if with_marks else dict.fromkeys(marks), fields)


def grade_groups(
    actions: DraftActions, marks: Mapping[str, str | None], fields: SchemaActions | None = None
) -> None:
    """Show a row of buttons for each grade in ``marks``. The three dots open the exact groundedness.

    The quality has digits as keys. Beside other ``fields``, the quality has digits only while the
    quality is the current field.
    """
    for grade, steps in SCALES.items():
        if grade not in marks:
            continue
        value, mark = getattr(actions.draft, grade), marks[grade]
        shares = fields if grade == "quality" else None
        here = shares is None or shares.current is shares.quality
        title = f"{'▸ ' if shares and here else ''}{grade.capitalize()}"
        with row_of_buttons(
            title, tag("span", mark, cls=f"jb-{mark}") if mark else "", key=f"{grade}_group"
        ) as row:
            for step in steps:
                key_button(
                    step.name,
                    partial(actions.give, grade, step.value),
                    key=f"{grade}{step.key}",
                    shortcut=step.key if here else None,
                    by_key=partial(shares.pick, step.key) if shares else None,
                    is_chosen=value is not None and value == step.value,
                    tip=step.meaning,
                )
        if grade != "groundedness":
            continue
        exact = value is not None and value not in {step.value for step in steps}
        name = score(value) if exact else "•••"
        with row.popover(name, type="primary" if exact else "secondary", key="more_grades"):
            key = _field("exact", actions.draft)
            st.number_input(
                "Exact groundedness", 0.0, 1.0, value=None, step=0.05, key=key, format="%.2f"
            )


def note_fields(draft: Draft, label: str, hint: str) -> None:
    """Show the field for the note, with this label and hint, and then the fields for the other notes."""
    for name in NOTES:
        title = capital(GRADE_TEXTS[name].label)
        field_label, placeholder = (label, hint) if name == "note" else (title, None)
        with st.container(key=f"notebox_{name}", gap="xxsmall"):
            show_div("jb-label", field_label)
            st.text_input(
                title, key=_note(name, draft), label_visibility="collapsed", placeholder=placeholder
            )


def correction(actions: Actions, item: Item) -> None:
    """Show the field for the corrected answer, and the changes. The field starts with the answer."""
    if item.forgotten_at or not permitted(Action.REVIEW):
        return
    draft = actions.draft
    correcting = draft.correcting or bool(draft.corrected_answer)
    label = "Discard the correction" if correcting else "Correct the answer"
    key_button(label, actions.correct, key="correct", shortcut="F9", quiet=True)
    if not correcting:
        return
    draft.answer = item.response.answer
    key = _note("corrected", draft)
    if key not in st.session_state:
        st.session_state[key] = draft.corrected_answer or item.response.answer
    st.text_area(
        "Corrected answer",
        key=key,
        height=180,
        help="Press Ctrl + Enter or Esc to see what you changed.",
    )
    if not draft.corrected_answer:
        return
    show_div("jb-label", "Your changes")
    show(difference(item.response.answer, draft.corrected_answer))
    key_button(
        "In the suite" if draft.in_suite else "Add to suite",
        draft.add_to_suite,
        key="suite",
        shortcut="F8",
        is_chosen=draft.in_suite,
        tip="`judgeboard export --as suite` writes it as a case: question, passages, the corrected answer as reference",
    )


def rubric_block(rubric: RubricScores) -> Html | None:
    """Return the rubric judgments of an answer; None if there are none."""
    if not rubric.verdicts:
        return None
    parts: list[Html] = []
    for verdict in rubric.verdicts:
        overall = UNKNOWN if verdict.overall is None else score(verdict.overall)
        rows = []
        for dimension, (value, why) in verdict.dimensions.items():
            people = rubric.people.get(dimension, ())[-MOST_PEOPLE:]
            grades = ", ".join(f"{name} {short(grade)}" for name, grade in people)
            scale = verdict.rubric.get(dimension)
            if value is None:
                level = "not scored"
            elif scale is None or scale.ordered:
                highest = LEVELS[-1] if scale is None else scale.values[-1]
                level = f"{short(value)} / {highest}"
            else:
                level = scale.levels[int(value) - scale.low]
            rows += [tag("span", dimension), tag("span", grades, cls="jb-who"), tag("b", level)]
            rows.append(tag("span", why or "", cls="jb-cap jb-across" if why else "jb-across"))
        title = tag("span", f"{verdict.version_title} · {overall} overall")
        parts += [
            tag("div", "Rubric", title, cls="jb-label"),
            tag("div", *rows, cls="jb-scores jb-rubric"),
            *([tag("div", verdict.note, cls="jb-cap")] if verdict.note else []),
        ]
    return tag("div", *parts, cls="jb-block")

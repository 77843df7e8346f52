"""The judge's reasoning beside what people said of the same answer."""

import streamlit as st

from judgeboard.answer_pairs import GradeName
from judgeboard.disagreement import Disagreement
from judgeboard.store.figures.disagreement_rows import PersonSaid
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.picking import item, pick_rows
from judgeboard_dashboard.session import current_reviewer
from judgeboard_dashboard.why_differs import why_pills, why_words
from judgeboard_dashboard.words import UNKNOWN, score

LONGEST = 4_000  # characters of one text; the item page has all of it


def two_texts(line: Disagreement, judge: str, grade: GradeName) -> None:
    """Show both sides of one answer, and the button that opens it.

    Args:
        line: The answer.
        judge: The judge version's title.
        grade: Which grade they differ on.
    """
    with st.container(border=True, key="two_texts"):
        show(
            tag(
                "div",
                tag(
                    "div",
                    _head(f"{judge}, {value_words(line.judge)}"),
                    _text(line.said.reasoning, "No reasoning is stored."),
                ),
                tag("div", *_people_texts(line, grade)),
                cls="jb-two",
            )
        )
        why_pills(line, current_reviewer())
        show(tag("div", tag("b", "Answer "), _cut(line.said.answer or UNKNOWN), cls="jb-cap jb-start"))
        st.button(
            "Open item",
            key="open_item",
            icon=":material/open_in_full:",
            on_click=pick_rows,
            args=(item(line.said.response_id),),
            wrap=False,
        )


def value_words(value: str | float) -> str:
    """Return a label or a quality as it is, a score with two digits."""
    return score(value) if isinstance(value, float) else str(value)


def _people_texts(line: Disagreement, grade: GradeName) -> list[Html]:
    if not line.people_said:
        return [_head(f"People, {value_words(line.people)}"), _text(None, "")]
    parts: list[Html] = []
    for each in line.people_said:
        given = _given(each, grade)
        why = why_words(each)
        parts += [
            _head(f"{each.reviewer}, {given}" if given else each.reviewer),
            tag("div", why, cls="jb-cap") if why else tag("div"),
            _text(each.note, "No note."),
        ]
    return parts


def _given(said: PersonSaid, grade: GradeName) -> str | None:
    value = {"label": said.label, "groundedness": said.groundedness, "quality": said.quality}[grade]
    return None if value is None else value_words(value)


def _head(text: str) -> Html:
    return tag("div", text, cls="jb-label")


def _text(text: str | None, none: str) -> Html:
    return tag("div", _cut(text), cls="jb-reason") if text else tag("div", none, cls="jb-mut")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"

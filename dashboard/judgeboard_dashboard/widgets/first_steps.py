"""The checklist of a new database, and the one next button of an empty page."""

from collections.abc import Collection
from typing import NamedTuple

import streamlit as st

from judgeboard.stats.estimates import MIN_PAIRS
from judgeboard.store.first_steps import REVIEWS, FirstSteps, Step, first_steps
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import may_open, who_button
from judgeboard_dashboard.session import open_rows, reading
from judgeboard_dashboard.widgets.texts import caption, heading


class StepWords(NamedTuple):
    """A step in words, and the page on which it is done."""

    title: str
    words: str
    button: str
    icon: str
    page: str
    query: dict[str, str]


STEPS: dict[Step, StepWords] = {
    "import": StepWords(
        "Import answers",
        "A log of questions and answers: JSON lines, JSON, CSV or Parquet.",
        "Import a log",
        ":material/upload_file:",
        "imports",
        {},
    ),
    "judge": StepWords(
        "Judge them",
        "With a chat model, or offline by word overlap. Try three answers first.",
        "Judge answers",
        ":material/gavel:",
        "rejudge",
        {"rows": "plain"},
    ),
    "review": StepWords(
        f"Review {REVIEWS} answers",
        "Decide whether each flag is right, and grade the answer.",
        "Start reviewing",
        ":material/play_arrow:",
        "item",
        {},
    ),
    "agree": StepWords(
        "See how far the judge agrees with you",
        f"The first figure needs {MIN_PAIRS} answers that you graded and the judge judged.",
        "Grade more answers",
        ":material/play_arrow:",
        "item",
        {},
    ),
}


def checklist(steps: FirstSteps) -> None:
    """Show the four steps of a new database, with the button of the next one."""
    heading("First steps")
    names = list(STEPS)
    at = len(names) if steps.next is None else names.index(steps.next)
    counts = {"review": f"{steps.reviewed} of {REVIEWS}", "agree": f"{steps.compared} of {MIN_PAIRS}"}
    for place, (name, step) in enumerate(STEPS.items()):
        done = place < at
        left = f" {counts[name]}." if name in counts and place == at else ""
        with st.container(key=f"first_{name}", horizontal=True, vertical_alignment="center", gap="small"):
            sign = tag("b", "✓" if done else str(place + 1), aria_label="done" if done else None)
            text = tag("div", sign, " ", tag("b", step.title), f" {step.words}{left}")
            show(tag("div", text, cls="jb-mut" if done else None))
            if place == at:
                next_button(steps, key="first", among=STEPS)
    if not steps.judged:
        caption("Once answers are judged, this page shows open flags, decisions, and where judge and users differ.")
    who_button("first")


def next_button(
    steps: FirstSteps | None = None, *, key: str = "next", among: Collection[Step] = ("import", "judge")
) -> None:
    """Show the button of the next step of a new database if it is one of ``among``: those that fill this page."""
    if steps is None:
        with reading() as connection:
            steps = first_steps(connection)
    if steps.next is None or steps.next not in among:
        return
    step = STEPS[steps.next]
    if not may_open(step.page):
        caption("A lead does this.")
    elif st.button(step.button, key=f"{key}_step", type="primary", icon=step.icon, wrap=False):
        open_rows(step.page, **step.query)

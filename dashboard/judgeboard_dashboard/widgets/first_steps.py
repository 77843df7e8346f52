"""The checklist of a new database; for an empty page its purpose, an example, and the next step."""

from collections.abc import Collection, Sequence
from datetime import UTC
from typing import NamedTuple

import streamlit as st

from judgeboard.domain import Action
from judgeboard.formats.files import format_titles
from judgeboard.stats.estimates import MIN_PAIRS
from judgeboard.store.clock import utc_now
from judgeboard.store.first_steps import REVIEWS, FirstSteps, Step, first_steps
from judgeboard.store.overview import work_state
from judgeboard.store.responses import last_response_id
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import permitted, refusal
from judgeboard_dashboard.review.queues import EVERY
from judgeboard_dashboard.session import open_rows, reading
from judgeboard_dashboard.widgets.texts import caption, clock, count, day, empty, heading, with_database


class StepWords(NamedTuple):
    """A step in words, and the page on which it is done."""

    title: str
    words: str
    button: str
    icon: str
    page: str
    query: dict[str, str]
    action: Action


STEPS: dict[Step, StepWords] = {
    "import": StepWords(
        "Import answers",
        f"A log of questions and answers: {format_titles()}.",
        "Import a log",
        ":material/upload_file:",
        "sources",
        {},
        Action.IMPORT,
    ),
    "judge": StepWords(
        "Judge them",
        "With a chat model, or offline by word overlap. Try three answers first.",
        "Judge answers",
        ":material/gavel:",
        "rejudge",
        {"rows": "plain"},
        Action.REJUDGE_MANY,
    ),
    "review": StepWords(
        f"Review {REVIEWS} answers",
        "Decide whether each flag is right, and grade the answer.",
        "Start reviewing",
        ":material/play_arrow:",
        "item",
        {},
        Action.REVIEW,
    ),
    "agree": StepWords(
        "See how far the judge agrees with you",
        f"The first figure needs {MIN_PAIRS} answers that you graded and the judge judged.",
        "Grade more answers",
        ":material/play_arrow:",
        "item",
        {},
        Action.REVIEW,
    ),
}


NO_ANSWERS = ("No answers yet. Import a log: `judgeboard import FILE`", "To try sample data: `judgeboard quickstart`")


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
        caption(
            "Once answers are judged, this page shows how good they are, what the judge misses, and what to read today."
        )


def next_button(
    steps: FirstSteps | None = None, *, key: str = "next", among: Collection[Step] = ("import", "judge")
) -> bool:
    """Show the button of the next step of a new database if it is one of ``among``; return whether it is.

    ``among`` are the steps that give this page its data.
    """
    if steps is None:
        with reading() as connection:
            steps = first_steps(connection)
    if steps.next is None or steps.next not in among:
        return False
    step = STEPS[steps.next]
    if (reason := refusal(step.action)) is not None:
        caption(reason)
    elif st.button(step.button, key=f"{key}_step", type="primary", icon=step.icon, wrap=False):
        open_rows(step.page, **step.query)
    return True


# Page -> example lines of its table, the header first.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "open_flags": (
        "Why | Groundedness | Question | Answer",
        "Low groundedness | 0.12 | How high is the wall? | The wall is 300 m high.",
        "Feedback gap | 0.94 | When do you open? | At 9, every day.",
    ),
    "responses": (
        "Groundedness | User | Question | Answer | Reviews",
        "0.91 | thumbs up | When do you open? | At 9, every day. | 2",
        "0.12 | thumbs down | How high is the wall? | The wall is 300 m high. | 1",
    ),
    "trends": (
        "Groundedness, week of | 5 Oct | 12 Oct | 19 Oct",
        "All answers | 0.87 [0.84, 0.90] | 0.87 [0.84, 0.90] | 0.75 [0.71, 0.79]",
        "how-to questions | 0.84 [0.80, 0.88] | 0.85 [0.81, 0.89] | 0.61 [0.55, 0.67]",
        "prices | 0.90 [0.86, 0.94] | 0.89 [0.85, 0.93] | 0.90 [0.86, 0.94]",
    ),
    "corrected_trends": (
        "Bad answers, week of | 5 Oct | 12 Oct | 19 Oct",
        "All answers | 12 % [7, 19] | 13 % [8, 20] | 31 % [23, 40]",
        "how-to questions | 14 % [7, 25] | 15 % [8, 26] | 50 % [38, 62]",
        "prices | 10 % [4, 20] | 11 % [5, 21] | 12 % [6, 22]",
    ),
    "agreement": (
        "Figure | All | how-to questions | prices",
        "Same label | 86 % [80, 91] | 79 % [69, 87] | 93 % [86, 97]",
        "Cohen's kappa | 0.62 [0.46, 0.75] | 0.49 [0.28, 0.67] | 0.78 [0.60, 0.91]",
    ),
    "runs": (
        "Run | Judge version | State | Asked | ok | Cost",
        "2 | rag v2 | done | 500 | 498 | $ 0.41",
        "1 | rag v1 | stopped | 320 | 301 | $ 0.28",
    ),
    "rejudge": (
        "Question | rag v1 | rag v2 | Difference",
        "How high is the wall? | 0.95 | 0.10 | −0.85",
        "When do you open? | 0.70 | 0.90 | +0.20",
    ),
    "conflicts": (
        "Question | Ann | Ben | Carla",
        "How high is the wall? | hallucinated | grounded | hallucinated",
        "When do you open? | quality 4 | quality 1 | –",
    ),
    "my_reviews": (
        "When | Question | Decision | Grade",
        "12 Oct 09:41 | How high is the wall? | confirm | hallucinated",
        "12 Oct 09:40 | When do you open? | dismiss | grounded",
    ),
    "people": (
        "Person | Done | Left | Seconds per answer | Agreement with others",
        "Ann | 120 | 30 | 24 | 91 % [84, 95]",
        "Ben | 85 | 65 | 41 | 78 % [68, 86]",
    ),
    "problems": (
        "Issue | State | Answers | Before the fix | After it",
        "Prices of last year | fixed | 37 | 16 % [12, 22] | 2 % [1, 5]",
        "Invented opening hours | open | 12 | 9 % [5, 15] | –",
    ),
    "judges": (
        "Check | Result",
        "Warning: position bias | prefers the first answer on 64 % of 120 pairs",
        "No fault found: score collapse | uses 9 of 11 levels",
        "Not measured: control answers | judgeboard test controls make",
    ),
    "verdicts": (
        "Question | Old | New | Flip | Direction | People",
        "How high is the wall? | 0.92 | 0.10 | now bad | towards people | hallucinated",
        "When do you open? | 0.85 | 0.30 | now bad | away from people | grounded",
    ),
    "pairs": (
        "Question | A first | B first | Judge | People",
        "How high is the wall? | A | A | A | A",
        "When do you open? | A | B | tie | B",
    ),
}


def empty_page(
    page: str,
    *texts: str,
    command: str | None = None,
    others: Collection[str] = (),
    among: Collection[Step] = ("import", "judge"),
    example: Sequence[str] = (),
) -> None:
    """Show what an empty page is for, an example of it (default: that of `EXAMPLES`), and the next step.

    The next step is a button if it is one of ``among``, otherwise the ``command``. ``others`` are further ways.
    """
    with reading() as connection:
        steps = first_steps(connection)
    if steps.next == "import" and "import" in among and any("`" in text for text in texts):
        texts = (*(text for text in texts if "`" not in text), *NO_ANSWERS)  # their commands need answers first
    empty(*texts)
    head, *rows = ([tag("td", cell) for cell in line.split(" | ")] for line in example or EXAMPLES[page])
    table = tag("table", tag("caption", "Example"), tag("thead", tag("tr", *head)), *(tag("tr", *row) for row in rows))
    show(tag("div", table, cls="jb-example"))
    if not next_button(steps, among=among) and command is not None:
        caption("Next, in a terminal:")
        st.code(with_database(command), language=None, wrap_lines=True)
    caption(*others)


def before_import(page: str) -> bool:
    """Return whether no answer is stored; if so, show the empty page."""
    with reading() as connection:
        if last_response_id(connection):
            return False
    empty_page(page, *NO_ANSWERS)
    return True


def no_open_flags() -> None:
    """Show why there are no open flags: nothing imported, nothing judged, or all decided."""
    now = utc_now()
    with reading() as connection:
        state = work_state(connection, now)
    answers = count(state.responses, "answer")
    if not state.responses:
        empty_page("open_flags", *NO_ANSWERS)
    elif not state.any_judged:
        empty_page("open_flags", f"{answers}, none judged.", "Or in a terminal: `judgeboard judge --judge lexical`")
    else:
        last, since = state.last_flag_at, ""
        if last is not None:
            today = last.astimezone(UTC).date() == now.date()
            since = f" Last flag: {'today, ' + clock(last) if today else day(last)}."
        more = "To grade more of them, create a queue of answers, flagged or not."
        empty(f"No open flags. Decided today: {state.decided_today:,}.{since}", f"{answers} in this database. {more}")
        if permitted(Action.MAKE_QUEUES) and st.button("New queue", key="queue_of_all", icon=":material/add:"):
            st.session_state["nq_subject"] = EVERY
            open_rows("queues", new="1")

"""The section of control answers on the page Judges."""

from collections.abc import Sequence

import streamlit as st

from judgeboard.domain import Action
from judgeboard.errors import BadInput
from judgeboard.health.record import Check
from judgeboard.health.report import HealthPage
from judgeboard.measure.notes import note, paragraph
from judgeboard.methods.control_answers.checks import control_answers_command, control_kinds
from judgeboard.methods.control_answers.run import (
    DEFAULT_N,
    controls_and_originals,
    make_control_answers,
)
from judgeboard.runs.jobs import judge_spec
from judgeboard.store.runs import AskMode
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.session import ask_reviewer, button, in_row, read, saving, store
from judgeboard_dashboard.widgets.rejudge_form import judge_in_job
from judgeboard_dashboard.widgets.texts import (
    caption,
    command_block,
    confirm,
    confirmation,
    count,
    rule_words,
)

MOST_CONTROLS = 1_000  # of a kind; the command makes more


def make_section(health: HealthPage, checks: Sequence[Check]) -> None:
    """Show how to make and judge the control answers of these checks: here, or in a terminal."""
    version, command = health.record.version, control_answers_command(health.record, checks)
    if read(judge_spec, version) is None or not permitted(Action.REJUDGE_MANY):
        caption("To make the control answers for all of these checks:" if len(checks) > 1 else None)
        command_block(command)
        return
    caption(
        "Control answers are copies of logged answers, changed so that a judge should notice it, or should not. "
        "Making them makes no model calls. They appear in no queue and in no figure of the log."
    )
    kinds = control_kinds(checks)
    reviewer = ask_reviewer("Your name is stored with the control answers.")
    if reviewer is None:
        return
    with in_row("controls_make", align="bottom"):
        label = f"Control answers of each of {count(len(kinds), 'kind')}"
        number = st.number_input(
            label, 1, MOST_CONTROLS, DEFAULT_N, 10, key="controls_n", width=260
        )
        if button("Make control answers", key="controls_add"):
            with saving("Not made"):
                counts = make_control_answers(store(), kinds=kinds, n=int(number), actor=reviewer)
                new, earlier = (
                    sum(numbers)
                    for numbers in zip(*((each.made, each.known) for each in counts), strict=True)
                )
                notes = [note("controls_made", new=new, known=earlier)]
                if none := [rule_words(each.kind) for each in counts if not each.made + each.known]:
                    notes.append(note("controls_unsuitable", kinds=none))
                confirm("controls", paragraph(notes))
    confirmation("controls")
    try:
        where = read(controls_and_originals, kinds)
    except BadInput:  # none yet
        return
    judge_in_job(
        version,
        where,
        AskMode.PLAIN,
        key="controls",
        verb="Judge",
        noun="answer",
        command="judgeboard test controls judge --help",
    )

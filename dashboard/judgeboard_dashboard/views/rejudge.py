"""The page Judge answers: start a job that judges answers, watch the job, and see changed verdicts."""

import time

import streamlit as st

from judgeboard.domain import Action, ResponseKind, Status
from judgeboard.errors import NotFound
from judgeboard.people.permissions import may
from judgeboard.runs.jobs import JobProgress, cancel_job, job_progress, open_jobs
from judgeboard.store.filters import RowFilter
from judgeboard.store.metadata import metadata_fields
from judgeboard.store.response_pages import response_facets
from judgeboard.store.runs import AskMode
from judgeboard.text import money
from judgeboard_dashboard.evidence import show_div, tag
from judgeboard_dashboard.gate import demand, permitted
from judgeboard_dashboard.session import (
    ask_reviewer,
    button,
    current_reviewer,
    in_row,
    page,
    problem,
    reading,
    saving,
    seen,
    stacking_columns,
    store,
)
from judgeboard_dashboard.widgets.filters import FIELDS, Choices, Query, filter_row, write_address
from judgeboard_dashboard.widgets.first_steps import before_import
from judgeboard_dashboard.widgets.long_work import first_seen, left_words
from judgeboard_dashboard.widgets.navigation import Rows, follow, open_button
from judgeboard_dashboard.widgets.rejudge_form import (
    RejudgeAddress,
    form,
    job_words,
    read_address,
    state_words,
)
from judgeboard_dashboard.widgets.texts import clock, commands, count, empty, when

PAGE = "rejudge"
REPAINT_SECONDS = 0.5
LARGE = 20_000  # answers; larger jobs are counted less often
LARGE_REPAINT_SECONDS = 3.0


def rejudge() -> None:
    """Show the form at the left, the job and the changed verdicts at the right."""
    follow(PAGE, own=(*FIELDS, *RejudgeAddress._fields))
    address = read_address()
    if address.response is None and address.job is None:
        demand(Action.SEE_MANAGED)
    where, query = RowFilter(), Query()
    if address.response is None:
        with reading() as connection:
            choices = Choices.of_answers(response_facets(connection), metadata_fields(connection))
        listing = filter_row(PAGE, choices)
        where, query = listing.where, listing.query
    left, right = stacking_columns("rejudge", [1, 2.4])
    with left, st.container(border=True, key="rejudge_form"):
        action = Action.REJUDGE_MANY if address.response is None else Action.REJUDGE_ONE
        if permitted(action):
            address = form(address, where)
        else:
            ask_reviewer(to=action)
    write_address(PAGE, {**query, **address.query()})
    with right:
        try:
            # The job in the address, otherwise the newest unfinished job.
            job = (
                next(iter(open_jobs(seen())), None)
                if address.job is None
                else job_progress(seen(), address.job)
            )
        except NotFound:
            problem(
                "This job does not exist, or it may have answers of sources that you do not see."
            )
            job = None
        if job is not None:
            _job_panel(job)
            if job.finished and job.run_id is not None and job.version_id is not None and job.ok:
                health = Rows("judges", {"version": job.judge_title or ""})
                if job.mode == AskMode.ANCHORS:
                    open_button("Show anchors", health, key="job_anchors")
                elif ResponseKind.CONTROL in job.where.kinds:
                    open_button("Show health checks", health, key="job_health")
                else:
                    changes = Rows("verdicts", {"run": str(job.run_id)})
                    open_button(
                        "Show changes",
                        changes,
                        key="job_changes",
                        type="primary",
                        icon=":material/difference:",
                    )
        elif not before_import():
            empty(
                "No job is running.",
                "Choose answers and a judge in the form, or use a terminal: `judgeboard judge --help`",
            )


def bar_text(job: JobProgress, verdicts_a_second: float | None) -> str:
    """Return "38 of 61 · 4.1 per second · 6 s left · $ 0.056"."""
    parts = [f"{job.asked:,} of {job.selected:,}"]
    if verdicts_a_second:
        parts += [
            f"{verdicts_a_second:,.1f} per second",
            left_words(job.waiting, verdicts_a_second),
        ]
    if job.asked:
        parts.append("cost unknown" if job.cost_micro is None else money(job.cost_micro))
    return " · ".join(parts)


def share(job: JobProgress) -> float:
    """Return the finished share, 0 to 1."""
    return min(1.0, job.asked / job.selected) if job.selected else float(job.state == "done")


def sum_words(job: JobProgress) -> str:
    """Return the counts as a sum, which shows that no answer is missing."""
    numbers = [job.ok, job.unparsable, job.refused, job.error, job.waiting]
    return f"{' + '.join(f'{number:,}' for number in numbers)} = {sum(numbers):,}."


def _job_panel(job: JobProgress) -> None:
    """Show a job. The panel is repainted until the job ends. Then the whole page runs again."""
    often = REPAINT_SECONDS if job.selected <= LARGE else LARGE_REPAINT_SECONDS
    repaint = None if job.finished else often

    @st.fragment(run_every=repaint)
    def panel() -> None:
        now = job_progress(seen(), job.id)
        if now.finished and not job.finished:
            st.rerun()
        _panel(now)

    panel()


def _panel(job: JobProgress) -> None:
    requested_at = clock(job.created_at) if job.started_at is None else when(job.created_at)
    about = (
        f"{_judge_words(job)} · {job_words(job.where, job.mode)} · {count(job.selected, 'answer')}"
    )
    name = "New job" if job.run_id is None else f"Run {job.run_id}"
    with st.container(border=True, key="job_panel"):
        with in_row("job_head"):
            requested_words = f" · {about} · requested by {job.actor}, {requested_at}"
            show_div("jb-say jb-line", tag("b", name), requested_words)
            person = current_reviewer()
            own = person is not None and person.name == job.actor
            may_cancel = person is None or may(
                person, Action.REJUDGE_ONE if own else Action.CANCEL_JOBS
            )
            stoppable = may_cancel and not job.finished and job.state != "stopping"
            if stoppable and button(
                "Cancel job", key="job_cancel", type="tertiary", icon=":material/stop_circle:"
            ):
                with saving("Not cancelled"):
                    cancel_job(store(), job.id, person or "somebody")
        now = time.monotonic()
        first = first_seen(f"{job.id}_{job.state}", job.asked, now)
        st.progress(
            share(job),
            text=bar_text(job, first.rate(job.asked, now) if job.state == "running" else None),
        )
        rest = "not reached" if job.finished else "waiting"
        counts = {**{status.value: getattr(job, status) for status in Status}, rest: job.waiting}
        parts = [
            tag("span", tag("b", f"{number:,}"), f" {name}") for name, number in counts.items()
        ]
        show_div("jb-tally", *parts, tag("span", sum_words(job), cls="jb-cap"))
        show_div(
            "jb-mut" if job.state in {"running", "done"} else "jb-note", commands(state_words(job))
        )


def _judge_words(job: JobProgress) -> str:
    return job.judge_title or str(job.judge.get("name") or job.judge["kind"])


with page():
    rejudge()

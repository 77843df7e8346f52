"""A job while it runs and after: progress that repaints by itself, the tally, cancelling."""

import time

import streamlit as st

from judgeboard.errors import JudgeboardError
from judgeboard.jobs import JobProgress, cancel_job, job_progress
from judgeboard.people import Action, may
from judgeboard_dashboard.errors import problem
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.rejudge.job_words import TALLY, Seen, bar_text, rate, share, state_words, sum_words
from judgeboard_dashboard.rejudge.rows import job_words
from judgeboard_dashboard.saying import commands
from judgeboard_dashboard.session import current_reviewer, store
from judgeboard_dashboard.words import clock, count, when

REPAINT_SECONDS = 0.5
LARGE = 20_000  # answers; the tally of a larger job is counted less often
LARGE_REPAINT_SECONDS = 3.0


def job_panel(job: JobProgress) -> None:
    """Show a job; while it goes on the panel repaints itself, and the page runs anew when it ends."""
    often = REPAINT_SECONDS if job.selected <= LARGE else LARGE_REPAINT_SECONDS
    repaint = None if job.finished else often

    @st.fragment(run_every=repaint)
    def panel() -> None:
        now = job_progress(store(), job.id)
        if now.finished and not job.finished:
            st.rerun()
        _panel(now)

    panel()


def _panel(job: JobProgress) -> None:
    with st.container(border=True, key="job_panel"):
        with st.container(key="job_head", horizontal=True, vertical_alignment="center", gap="small"):
            show(tag("div", tag("b", _name(job)), f" · {' · '.join(_about(job))}", cls="jb-say jb-line"))
            if not job.finished and job.state != "stopping" and _may_cancel(job):
                st.button(
                    "Cancel",
                    key="job_cancel",
                    type="tertiary",
                    icon=":material/stop_circle:",
                    on_click=_cancel,
                    args=(job.id,),
                    wrap=False,
                )
        st.progress(share(job), text=bar_text(job, rate(job, _seen(job), time.monotonic())))
        show(tag("div", *_tally(job), cls="jb-tally"))
        show(tag("div", commands(state_words(job)), cls="jb-mut" if job.state in {"running", "done"} else "jb-note"))


def _may_cancel(job: JobProgress) -> bool:
    person = current_reviewer()
    return person is None or person.name == job.actor or may(person, Action.CANCEL_JOBS)


def _name(job: JobProgress) -> str:
    return "New job" if job.run_id is None else f"Run {job.run_id}"


def _about(job: JobProgress) -> list[str]:
    judge = job.judge_title or str(job.judge.get("name") or job.judge["kind"])
    asked_at = clock(job.created_at) if job.started_at is None else when(job.created_at)
    return [
        judge,
        job_words(job.where, job.mode),
        count(job.selected, "answer"),
        f"asked by {job.actor} {asked_at}",
    ]


def _tally(job: JobProgress) -> list[Html]:
    counted = [(getattr(job, name), name) for name in TALLY]
    counted.append((job.waiting, "not reached" if job.finished else "waiting"))
    parts = [tag("span", tag("b", f"{number:,}"), f" {name}") for number, name in counted]
    return [*parts, tag("span", sum_words(job), cls="jb-cap")]


def _seen(job: JobProgress) -> Seen:
    seen: Seen = st.session_state.setdefault(f"seen_{job.id}_{job.state}", Seen(time.monotonic(), job.asked))
    return seen


def _cancel(job_id: str) -> None:
    try:
        cancel_job(store(), job_id, current_reviewer() or "somebody")
    except JudgeboardError as error:
        problem(str(error))

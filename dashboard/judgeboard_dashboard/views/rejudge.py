"""The page Rejudge: start a job that judges answers again, watch it, and see what changed."""

import streamlit as st

from judgeboard.errors import NotFound
from judgeboard.flags.rules import RULES
from judgeboard.people.permissions import Action
from judgeboard.runs.jobs import JobProgress, job_progress, open_jobs, recent_jobs
from judgeboard.store.filters import RowFilter
from judgeboard.store.metadata import metadata_fields
from judgeboard.store.response_pages import response_facets
from judgeboard.store.runs import get_run, run_counts
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import demand, permitted
from judgeboard_dashboard.session import page, problem, reading, store
from judgeboard_dashboard.widgets.filters import FIELDS, Choices, Query, filter_row, write_address
from judgeboard_dashboard.widgets.judge_trial import show_trial
from judgeboard_dashboard.widgets.navigation import follow
from judgeboard_dashboard.widgets.rejudge_form import PARAMETERS, RejudgeAddress, form, read_address
from judgeboard_dashboard.widgets.rejudge_jobs import comparison, earlier_jobs, job_panel
from judgeboard_dashboard.widgets.texts import empty

PAGE = "rejudge"


def rejudge() -> None:
    """Show the form at the left, the job and what it changed at the right."""
    follow(PAGE, own=(*FIELDS, *PARAMETERS))
    address = read_address()
    if address.response_id is None and address.job is None and address.run is None:
        demand(Action.REJUDGE_MANY)
    where, query = _filters(address)
    with st.container(key="stack_rejudge"):
        left, right = st.columns([1, 2.4], gap="medium")
    with left, st.container(border=True, key="rejudge_form"):
        if address.response_id is not None or permitted(Action.REJUDGE_MANY):
            address = form(address, where)
        else:
            show(tag("div", f"{Action.REJUDGE_MANY.words} needs the role lead or admin.", cls="jb-cap"))
    write_address(PAGE, {**query, **address.query()})
    with right:
        show_trial()
        _outcome(address)


def _filters(address: RejudgeAddress) -> tuple[RowFilter, Query]:
    """Show the filter row, unless the page is about one answer."""
    if address.response_id is not None:
        return RowFilter(), {}
    with reading() as connection:
        facets, metadata = response_facets(connection), metadata_fields(connection)
    rules = tuple(rule.name for rule in RULES)
    choices = Choices(rules, facets.query_types, facets.sources, facets.judges, metadata=metadata)
    chosen = filter_row(PAGE, choices)
    return chosen.where, chosen.query


def _outcome(address: RejudgeAddress) -> None:
    jobs = recent_jobs(store())
    try:
        job = _shown_job(address)
    except NotFound:
        problem("This job does not exist.")
        job = None
    if job is not None:
        job_panel(job)
        if job.finished and job.run_id is not None and job.version_id is not None and job.ok:
            comparison(job.run_id, job.version_id, job.ok)
    elif address.run is not None:
        _run(address.run)
    elif not jobs:
        empty(
            "No jobs yet.",
            "Choose rows and a judge in the form, or use a terminal:",
            "`judgeboard judge --judge rag --model NAME --rejudge all`",
        )
    earlier_jobs([each for each in jobs if job is None or each.id != job.id])


def _shown_job(address: RejudgeAddress) -> JobProgress | None:
    """Return the job in the address, else the newest unfinished one."""
    if address.job is not None:
        return job_progress(store(), address.job)
    if address.run is not None:
        return None
    return next(iter(open_jobs(store())), None)


def _run(run_id: int) -> None:
    with reading() as connection:
        run = get_run(connection, run_id)
        usable = run_counts(connection, [run_id])[run_id].ok
    show(tag("div", tag("b", f"Run {run.id}"), f" · {run.version_title} · by {run.actor}", cls="jb-say jb-line"))
    if run.version_id is not None:
        comparison(run.id, run.version_id, usable)


with page("Rejudge"):
    rejudge()

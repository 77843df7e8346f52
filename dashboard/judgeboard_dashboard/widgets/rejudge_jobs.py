"""Rejudge jobs on a page: one that runs, those before it, and what a run changed."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from judgeboard.agreement.verdict_changes import Compared, ComparisonPage, run_comparison, version_comparison
from judgeboard.errors import JudgeboardError
from judgeboard.people.permissions import Action, may
from judgeboard.runs.jobs import JobProgress, cancel_job, job_progress
from judgeboard.store.judge_versions import StoredVersion, list_versions
from judgeboard.store.verdict_pairs import OneVerdict, PairTexts
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.session import current_reviewer, problem, reading, store
from judgeboard_dashboard.widgets.navigation import Rows, item, pick_rows, row_clicked
from judgeboard_dashboard.widgets.rejudge_form import job_words
from judgeboard_dashboard.widgets.tables import csv_button, frame, height
from judgeboard_dashboard.widgets.texts import (
    UNKNOWN,
    caption,
    clock,
    commands,
    count,
    duration,
    heading,
    money,
    score,
    sentence,
    when,
)

TALLY = ("ok", "unparsable", "refused", "error")


@dataclass(frozen=True, slots=True)
class Seen:
    """When somebody began to watch a job (seconds of a clock that only rises) and how far it was then."""

    at: float
    asked: int


def rate(job: JobProgress, seen: Seen, now: float) -> float | None:
    """Return verdicts a second since somebody watches, None before the first."""
    if job.state != "running" or job.asked <= seen.asked or now <= seen.at:
        return None
    return (job.asked - seen.asked) / (now - seen.at)


def bar_text(job: JobProgress, verdicts_a_second: float | None) -> str:
    """Return "38 of 61 · 4.1 a second · 6 s left · $ 0.056"."""
    parts = [f"{job.asked:,} of {job.selected:,}"]
    if verdicts_a_second:
        parts += [f"{verdicts_a_second:,.1f} a second", f"{duration(job.waiting / verdicts_a_second)} left"]
    if job.asked:
        parts.append("cost unknown" if job.cost_micro is None else money(job.cost_micro))
    return " · ".join(parts)


def share(job: JobProgress) -> float:
    """Return how much is done, 0 to 1."""
    return min(1.0, job.asked / job.selected) if job.selected else float(job.state == "done")


def sum_words(job: JobProgress) -> str:
    """Return the tally as a sum, so that everybody sees that nothing is missing."""
    numbers = [job.ok, job.unparsable, job.refused, job.error, job.waiting]
    return f"{' + '.join(f'{number:,}' for number in numbers)} = {sum(numbers):,}."


def state_words(job: JobProgress) -> str:
    """Return what is going on, or what became of it and what to do."""
    so_far = f"{job.asked:,} of {job.selected:,}"
    began = job.run_id is not None
    words = {
        "running": "You may leave this page: the job goes on without it.",
        "stopping": "Stopping: the calls in flight are finished and stored.",
        "cancelled": f"Cancelled at {so_far}. Asking for the same again goes on from there.",
        "stopped": f"Stopped at {so_far}: {job.why}.",
        "failed": f"Stopped at {so_far}: {job.why}." if began else f"Could not begin: {job.why}.",
    }
    if job.state == "waiting":
        no_worker = "Waits for a worker: no process takes jobs now. Start one: `judgeboard worker`"
        return "Waits for its turn." if job.worker_alive else no_worker
    return words.get(job.state) or _done_words(job)


def _done_words(job: JobProgress) -> str:
    took = ""
    if job.started_at is not None and job.finished_at is not None:
        took = f" in {duration((job.finished_at - job.started_at).total_seconds())}"
    said = [f"Done{took}."]
    if failed := job.asked - job.ok:
        said.append(f"{count(failed, 'answer')} without a usable verdict.")
    if job.waiting:
        said.append(f"{count(job.waiting, 'answer')} not reached: no longer selected when their turn came.")
    return " ".join(said)


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


JOB_COLUMNS = {
    "Run": "Int64",
    "Asked": "str",
    "By": "str",
    "Judge": "str",
    "Rows": "str",
    "State": "str",
    "Answers": "Int64",
    "Usable": "Int64",
    "Cost": "str",
}


def earlier_jobs(jobs: Sequence[JobProgress]) -> None:
    """Show them, newest first; a click opens one."""
    if not jobs:
        return
    heading("Earlier jobs")
    table = frame(JOB_COLUMNS, (_job_cells(job) for job in jobs))
    key = f"jobs_{jobs[0].id}_{len(jobs)}"
    st.dataframe(
        table,
        key=key,
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(table), most=6),
        selection_mode="single-cell",
        on_select=row_clicked(key, [Rows("rejudge", {"job": job.id}) for job in jobs]),
        column_config={
            "Run": st.column_config.NumberColumn(width=55),
            "Asked": st.column_config.TextColumn(width=110),
            "By": st.column_config.TextColumn(width=90),
            "Judge": st.column_config.TextColumn(width=120),
            "Rows": st.column_config.TextColumn(width=190),
            "State": st.column_config.TextColumn(width=130),
            "Answers": st.column_config.NumberColumn(width=75),
            "Usable": st.column_config.NumberColumn(width=70),
            "Cost": st.column_config.TextColumn(width=80, alignment="right"),
        },
    )
    csv_button(table, "jobs", key="jobs_csv")


def _job_cells(job: JobProgress) -> tuple[object, ...]:
    return (
        job.run_id,
        when(job.created_at),
        job.actor,
        job.judge_title or job.judge.get("name") or job.judge["kind"],
        job_words(job.where, job.mode),
        f"{job.state}: {job.why}" if job.why and job.state != "cancelled" else job.state,
        job.selected,
        job.ok,
        money(job.cost_micro),
    )


PAGE_SIZE = 50
MOST_UNASKED = 5_000  # usable verdicts of a run that are compared without being asked
BEFORE = 0
CHANGE_COLUMNS = {
    "Question": "str",
    "Old": "Float64",
    "New": "Float64",
    "Change": "Float64",
    "Flip": "str",
    "Old quality": "Int64",
    "New quality": "Int64",
    "People": "str",
    "Id": "str",
}
PEOPLE = {"good": "grounded", "bad": "hallucinated"}


@dataclass(frozen=True, slots=True)
class Compare:
    """What is compared: the run, its judge version, and the versions beside which it may be put."""

    run_id: int
    version_id: int
    versions: tuple[StoredVersion, ...]

    def title(self, version_id: int) -> str:
        """Return what people call a version."""
        return next((version.title for version in self.versions if version.id == version_id), f"version {version_id}")


def comparison(run_id: int, version_id: int, usable: int) -> None:
    """Show what a run said beside what was said before; where nothing was, beside another version.

    Of a run with very many usable verdicts only at a press: all of them are read.
    """
    if usable > MOST_UNASKED and not _wanted(run_id, usable):
        return
    with reading() as connection:
        compare = Compare(run_id, version_id, tuple(list_versions(connection)))
    beside = _beside(compare)
    offset = _offset(compare, beside)
    found = _found(compare, beside, offset)
    _say(found, compare, beside)
    if not found.shown:
        return
    chosen = _table(found, compare, beside, offset)
    _foot(found, compare, beside, offset)
    _row(chosen, found.texts.get(chosen.pair.response_id), compare)


def _wanted(run_id: int, usable: int) -> bool:
    key = f"compare_{run_id}"
    if not st.session_state.get(key):
        st.session_state[key] = st.button(f"Compare {usable:,} verdicts with those before", key=f"{key}_button")
    return bool(st.session_state[key])


def _say(found: ComparisonPage, compare: Compare, beside: int) -> None:
    if not found.comparison.rows:
        said = "The judge had said nothing of these answers before." if beside == BEFORE else found.sentence
        sentence(said)
        return
    lead, colon, rest = found.sentence.partition(": ")
    sentence(rest, lead=f"{lead}:") if colon else sentence(found.sentence)
    if beside != BEFORE:
        caption(f"All answers that both {compare.title(beside)} and {compare.title(compare.version_id)} judged.")


def _beside(compare: Compare) -> int:
    """Which verdicts are the old ones: those before the run, or another version's."""
    others = {version.id: version.title for version in compare.versions if version.id != compare.version_id}
    if not others:
        return BEFORE
    key = f"beside_{compare.run_id}"
    if key not in st.session_state:
        first = next(iter(sorted(others)))
        st.session_state[key] = BEFORE if _found(compare, BEFORE, 0, 1).comparison.rows else first
    chosen: int = st.selectbox(
        "Compare with",
        [BEFORE, *others],
        format_func=lambda version_id: others.get(version_id, "the verdict before"),
        key=key,
        width=260,
    )
    return chosen


def _found(compare: Compare, beside: int, offset: int, limit: int = PAGE_SIZE) -> ComparisonPage:
    with reading() as connection:
        if beside == BEFORE:
            return run_comparison(connection, compare.run_id, offset=offset, limit=limit)
        return version_comparison(connection, beside, compare.version_id, offset=offset, limit=limit)


def _table(found: ComparisonPage, compare: Compare, beside: int, offset: int) -> Compared:
    table = _frame(found)
    event = st.dataframe(
        table,
        key=f"changes_{compare.run_id}_{beside}_{offset}",
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(table), most=8),
        selection_mode="single-row-required",
        on_select="rerun",
        column_config={
            "Question": st.column_config.TextColumn(width=250),
            "Old": st.column_config.NumberColumn(format="%.2f", width=60, help="Groundedness before"),
            "New": st.column_config.NumberColumn(format="%.2f", width=60, help="Groundedness now"),
            "Change": st.column_config.NumberColumn(format="%+.2f", width=75),
            "Old quality": st.column_config.NumberColumn(width=90),
            "New quality": st.column_config.NumberColumn(width=95),
            "Flip": st.column_config.TextColumn(width=85, help="The side that the verdict changed to"),
            "People": st.column_config.TextColumn(width=100),
            "Id": st.column_config.TextColumn(width=125),
        },
    )
    rows = event.selection.rows
    return found.shown[rows[0] if rows and rows[0] < len(found.shown) else 0]


def _frame(found: ComparisonPage) -> pd.DataFrame:
    return frame(CHANGE_COLUMNS, (_change_cells(row, found.texts.get(row.pair.response_id)) for row in found.shown))


def _change_cells(row: Compared, texts: PairTexts | None) -> tuple[object, ...]:
    return (
        None if texts is None or texts.question is None else " ".join(texts.question.split()),
        row.pair.old.groundedness,
        row.pair.new.groundedness,
        row.change,
        f"now {row.flip}" if row.flip else None,
        row.pair.old.quality,
        row.pair.new.quality,
        PEOPLE[row.people] if row.people else None,
        None if texts is None else texts.external_id,
    )


def _foot(found: ComparisonPage, compare: Compare, beside: int, offset: int) -> None:
    total = len(found.comparison.rows)
    with st.container(key="changes_foot", horizontal=True, vertical_alignment="center", gap="small"):
        last = offset + len(found.shown)
        show(tag("div", f"{offset + 1:,}–{last:,} of {total:,} · changed side first", cls="jb-cap jb-line"))
        csv_button(
            lambda: _frame(_found(compare, beside, 0, total)), f"run-{compare.run_id}-changes", key="changes_csv"
        )
        for label, goal in (("Previous 50", offset - PAGE_SIZE), ("Next 50", offset + PAGE_SIZE)):
            if total > PAGE_SIZE:
                st.button(
                    label,
                    key=f"changes_{label}",
                    type="tertiary",
                    disabled=not 0 <= goal < total,
                    on_click=_turn,
                    args=(compare, beside, goal),
                    wrap=False,
                )


def _row(row: Compared, texts: PairTexts | None, compare: Compare) -> None:
    if texts is None:
        return
    with st.container(border=True, key="changes_row"):
        show(
            tag(
                "div",
                _side("Old", row.pair.old, texts.old_reasoning, compare),
                _side("New", row.pair.new, texts.new_reasoning, compare),
                cls="jb-beside",
            )
        )
        st.button(
            "Open item",
            key="changes_open",
            type="tertiary",
            icon=":material/open_in_new:",
            on_click=pick_rows,
            args=(item(row.pair.response_id),),
        )


def _side(name: str, verdict: OneVerdict, reasoning: str | None, compare: Compare) -> Html:
    said = [f"groundedness {score(verdict.groundedness)}", f"quality {verdict.quality or UNKNOWN}"]
    if verdict.label:
        said.append(str(verdict.label))
    return tag(
        "div",
        tag("div", f"{name} · {compare.title(verdict.version_id)}", tag("span", " · ".join(said)), cls="jb-label"),
        tag("div", reasoning or "No reasoning was given.", cls="jb-reason" if reasoning else "jb-mut"),
        cls="jb-side",
    )


def _offset(compare: Compare, beside: int) -> int:
    return int(st.session_state.get(_place(compare, beside), 0))


def _turn(compare: Compare, beside: int, goal: int) -> None:
    st.session_state[_place(compare, beside)] = goal


def _place(compare: Compare, beside: int) -> str:
    return f"changes_place_{compare.run_id}_{beside}"

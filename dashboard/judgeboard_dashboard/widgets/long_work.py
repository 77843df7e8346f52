"""Work that takes long: the chip in the head of each page, and the speed of the work."""

import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

import streamlit as st

from judgeboard.errors import JudgeboardError
from judgeboard.registry.methods import with_methods
from judgeboard.store.clock import utc_now
from judgeboard.store.jobs import runs_in_progress
from judgeboard.store.storing import import_in_progress
from judgeboard.text import shortened
from judgeboard_dashboard.evidence import as_label
from judgeboard_dashboard.session import VIEWS, caught, reading
from judgeboard_dashboard.widgets.texts import duration

SILENT = timedelta(minutes=2)  # without a verdict for this long, the process of a run may be gone
REPAINT_SECONDS = 5.0
MINUTE = 60
LONGEST_FILE = 30
DOES = with_methods(
    "kind of run",
    {"compare": "Comparing"},
    lambda each: each.runs,
    reserved=("judge", "rejudge", "import"),
)
"""What a run of a kind does; the others judge."""


@dataclass(frozen=True, slots=True)
class FirstSeen:
    """The time when a session first showed a run (seconds of a monotonic clock), and the number of calls by then."""

    at: float
    asked: int

    def rate(self, calls: int, now: float) -> float | None:
        """Return calls per second since the first view, None before the first call."""
        return (
            None
            if calls <= self.asked or now <= self.at
            else (calls - self.asked) / (now - self.at)
        )


def first_seen(name: str, calls: int, now: float) -> FirstSeen:
    """Return when this session first showed a run or a job."""
    first: FirstSeen = st.session_state.setdefault(f"seen_{name}", FirstSeen(now, calls))
    return first


def left_words(steps: int, steps_a_second: float) -> str:
    """Return the time that the steps will take: "40 s left", "2 min left"."""
    seconds = steps / steps_a_second
    return f"{duration(seconds if seconds < MINUTE else MINUTE * round(seconds / MINUTE))} left"


def long_work_chip() -> None:
    """Show what runs now as a link to the page Runs: "Judging 120 of 700 · 2 min left". Else show nothing.

    The chip is repainted again and again. Each repaint reads one row for each worker.
    """
    if _words() is not None:
        with st.container(key="long_work", width="content"):
            st.fragment(_chip, run_every=REPAINT_SECONDS)()


def _chip() -> None:
    with caught(), suppress(JudgeboardError):  # the view itself shows the error
        words = _words()
        if words is not None:
            st.page_link(
                f"{VIEWS}/runs.py", label=words, icon=":material/hourglass_top:", width="content"
            )


def _words() -> str | None:
    since = utc_now() - SILENT
    with reading() as connection:
        runs = runs_in_progress(connection, since)
        batch = import_in_progress(connection, since)
    works, now = [], time.monotonic()
    for run in runs:
        a_second = first_seen(f"run_{run.id}", run.asked, now).rate(run.asked, now)
        left = f" · {left_words(max(0, run.selected - run.asked), a_second)}" if a_second else ""
        work = DOES.get(run.kind, "Judging")
        works.append(f"{work} {run.asked:,} of {run.selected:,}{left}")
    if batch is not None:
        works.append(f"Importing {as_label(shortened(batch.file, LONGEST_FILE))}")
    more = len(works) - 1
    return None if not works else f"{works[0]} · {more} more" if more else works[0]

"""Judging the answer on the screen again: one key, with the last settings of the primary judge."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from judgeboard.domain import Action, FlagState, Status
from judgeboard.errors import AddressUnknown, BadInput, OtherHost
from judgeboard.runs.estimates import CallEstimate, flag_words
from judgeboard.runs.jobs import (
    estimate_calls,
    job_address,
    job_progress,
    missing_key,
    request_rejudge,
    usable_versions,
)
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.flags import OF_SEVERAL_JUDGES
from judgeboard.store.items import Item
from judgeboard.store.judge_versions import setup_mark
from judgeboard.store.settings import primary_judge
from judgeboard.store.tables import Reviewer
from judgeboard_dashboard.evidence import Html, show_div, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.review.actions import Actions, safely
from judgeboard_dashboard.review.drafts import AgainJob
from judgeboard_dashboard.review.signals import judgment_words, primary_verdict
from judgeboard_dashboard.session import button, in_row
from judgeboard_dashboard.widgets.keys import key_button
from judgeboard_dashboard.widgets.navigation import Rows
from judgeboard_dashboard.widgets.rejudge_form import state_words

REPAINT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class LastSettings:
    """How the primary judge judges one answer again: the judge fields of a job, and the estimate of one call.

    ``missing`` says why this is not possible without the form; None if nothing is missing.
    """

    judge: dict[str, Any]
    estimate: CallEstimate | None
    missing: str | None = None

    def words(self, item: Item) -> str:
        """Return in words the judge version, the model, the cost and the flags that a new judgment may supersede.

        If something is missing, the words name the missing part.
        """
        if self.missing is not None or self.estimate is None:
            return self.missing or ""
        model = f" ({self.estimate.model})" if self.estimate.model else ""
        judge = f"{self.estimate.version_title}{model}, {self.estimate.cost_words}."
        # The estimate is kept for all answers and people, so the flags come from the answer itself.
        at_stake = [
            flag
            for flag in item.flags
            if flag.state == FlagState.OPEN and flag.rule in OF_SEVERAL_JUDGES
        ]
        return " ".join(filter(None, (judge, flag_words(len(at_stake)))))


def last_settings(store: Store, response_id: int) -> LastSettings:
    """Return how the primary judge judges an answer again. A change of judges or runs needs a new read."""
    with store.reading() as connection:
        mark = setup_mark(connection)
    return _settings_at((str(store.engine.url), mark), store, response_id)


@st.cache_resource(max_entries=8, show_spinner=False)
def _settings_at(key: Hashable, _store: Store, _response_id: int) -> LastSettings:  # noqa: ARG001 - the cache's key
    with _store.reading() as connection:
        primary, usable = primary_judge(connection), usable_versions(connection)
    version, judge = next(
        ((version, judge) for version, judge in usable if version.name == primary), (None, {})
    )
    if version is None:
        why = f"{primary} cannot judge again here: it was imported or retired, or has its own rubric or examples."
        return LastSettings(
            {}, None, "No judge has judged an answer yet." if primary is None else why
        )
    try:
        address = job_address(_store, judge)
    except AddressUnknown as error:
        return LastSettings(judge, None, f"{error}.")
    if address.before is not None:
        hosts = f"{version.title} last used the host {address.before}. The answer would now be sent to {address.host}."
        return LastSettings(judge, None, hosts)
    variable = missing_key(judge)
    if variable is not None:
        return LastSettings(
            judge, None, f"{version.title} needs a key for {address.host}: {variable} is not set."
        )
    return LastSettings(judge, estimate_calls(_store, judge=judge, where=_only(_response_id)))


def _only(response_id: int) -> RowFilter:
    return RowFilter(response_ids=(response_id,))


def again_section(actions: Actions, item: Item) -> None:
    """Show the button that judges the answer again, and below the button the cost, the progress or both verdicts.

    The part below the button has a fixed height. Nothing is shown where the judge is hidden.
    """
    if item.hidden.judge or item.forgotten_at or not permitted(Action.REJUDGE_ONE):
        return
    settings = last_settings(actions.store, item.response_id)
    form = Rows("rejudge", {"response": str(item.response_id)})
    with st.container(key="again", gap="xxsmall"):
        with in_row():
            key_button(
                "Judge again",
                partial(_judge_again, actions, item, settings),
                key="judge_again",
                shortcut="F6",
                icon=":material/replay:",
                tip="Judges this answer again with the primary judge's last settings. The earlier verdict is kept.",
            )
            # One key for all items, so that nothing but the texts changes between two items.
            button(
                "Other settings", key="rejudge", type="tertiary", on_click=actions.go, args=(form,)
            )
        job = actions.session.again.get(item.response_id)
        if job is None:
            _status(tag("div", settings.words(item)))
        elif job.ended is None:
            # The progress of the job. After the job has ended, the whole page runs again and shows
            # both verdicts.
            @st.fragment(run_every=REPAINT_SECONDS)
            def progress() -> None:
                now = job_progress(actions.store, job.job_id)
                if now.finished:
                    job.ended, job.unread = now.why or "", True
                    st.rerun()
                title = now.judge_title or "The judge"
                waits = now.state == "waiting"
                _status(
                    tag(
                        "div",
                        state_words(now)
                        if waits
                        else f"{title} is judging this answer. You can go on.",
                    )
                )

            progress()
        else:
            _status(*_outcome(item, job))


def _status(*lines: Html) -> None:
    show_div("jb-cap jb-again", *lines, role="status")


def _judge_again(actions: Actions, item: Item, settings: LastSettings) -> None:
    """Start a job for the answer, or say what is missing."""
    session = actions.session

    def act(reviewer: Reviewer) -> None:
        last_job = session.again.get(item.response_id)
        if last_job is not None and last_job.ended is None:
            return
        if settings.missing is not None:
            session.say(f"Not judged again: {settings.missing}", refused=True)
            return
        try:
            job_id = request_rejudge(
                actions.store,
                judge=settings.judge,
                where=_only(item.response_id),
                estimate=settings.estimate,
                actor=reviewer,
            )
        except (OtherHost, AddressUnknown, BadInput) as error:
            session.say(f"Not judged again: {error}.", refused=True)
        else:
            newest = max((judgment.id for judgment in item.judgments), default=0)
            session.again[item.response_id] = AgainJob(job_id, primary_verdict(item), newest)

    safely(session, actions.reviewer, act)


def _outcome(item: Item, job: AgainJob) -> list[Html]:
    new = next((judgment for judgment in item.judgments if judgment.id > job.newest), None)
    if new is None:
        return [tag("div", f"Not judged again: {job.ended or 'the answer was not selected'}.")]
    if new.status != Status.OK:
        return [
            tag(
                "div", f"No usable verdict: {new.error or new.status}. The earlier verdict is kept."
            )
        ]
    before = "not judged" if job.before is None else judgment_words(job.before)
    return [
        tag("div", tag("span", "Before"), tag("b", before)),
        tag("div", tag("span", "Now"), tag("b", judgment_words(new))),
    ]

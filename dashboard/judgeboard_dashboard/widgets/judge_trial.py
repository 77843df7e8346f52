"""The trial of a judge on the page Judge answers: three answers with their raw calls, before all are judged."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from judgeboard.domain import Action, Status, Verdict
from judgeboard.errors import JudgeboardError
from judgeboard.measure.notes import note
from judgeboard.runs.estimates import CallEstimate
from judgeboard.runs.raw_calls import ANSWERS, Trial, try_judge
from judgeboard.store.filters import RowFilter
from judgeboard.text import money
from judgeboard_dashboard.evidence import Html, show_div, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.review.judgments import attempt_texts, message_texts
from judgeboard_dashboard.session import named_reviewer, problem, seen
from judgeboard_dashboard.widgets.texts import caption, count, heading, score

_TRIAL = "judge_trial"


@dataclass(frozen=True, slots=True)
class ChosenJudge:
    """The fields of a judge, the host to which answers may be sent if ``agreed``, and a key that is stored nowhere."""

    spec: dict[str, Any]
    host: str | None = None
    agreed: bool = False
    api_key: str | None = field(default=None, repr=False)


def try_button(judge: ChosenJudge, where: RowFilter, estimate: CallEstimate) -> None:
    """Show the button that judges three answers and stores nothing."""
    if not permitted(Action.CHOOSE_JUDGE):
        return
    pressed = st.button(
        f"Try {count(min(ANSWERS, estimate.calls), 'answer')}",
        key="rejudge_try",
        icon=":material/science:",
        disabled=not (estimate.calls and judge.agreed),
        help="Judges the first answers and shows the raw calls. Nothing is stored.",
    )
    if not pressed or (reviewer := named_reviewer()) is None:
        return
    end_trial()
    try:
        with st.spinner("Judging…"):
            trials = try_judge(
                seen(),
                judge=judge.spec,
                where=where,
                api_key=judge.api_key,
                confirmed_host=judge.host,
                actor=reviewer,
            )
    except JudgeboardError as error:
        problem(f"The trial failed: {error}.")
        return
    st.session_state[_TRIAL] = (trials, estimate.calls)


def end_trial() -> None:
    """Forget the last trial."""
    st.session_state.pop(_TRIAL, None)


def show_trial() -> None:
    """Show the last trial of this session, if there is one."""
    if _TRIAL not in st.session_state:
        return
    trials, calls = st.session_state[_TRIAL]
    heading("Trial")
    caption(*_account(trials, calls))
    for trial in trials:
        show_div("jb-pane", *_lines(trial))


def _account(trials: list[Trial], calls: int) -> Iterator[str]:
    usable = sum(trial.verdict.status is Status.OK for trial in trials)
    yield note("trial", usable=usable, verdicts=len(trials)).text
    costs = [trial.verdict.cost_micro for trial in trials if trial.verdict.cost_micro]
    if costs:
        spent = sum(costs)
        yield note(
            "trial_cost",
            cost=money(spent),
            calls=calls,
            all=money(round(spent / len(costs) * calls)),
        ).text


def _lines(trial: Trial) -> Iterator[Html]:
    verdict = trial.verdict
    yield tag("div", trial.item.external_id or f"Answer {trial.item.response_id}", cls="jb-label")
    yield tag("div", tag("b", _words(verdict)))
    if verdict.reasoning:
        yield tag("div", verdict.reasoning, cls="jb-reason")
    if trial.requests:
        texts = (*message_texts(trial.requests[-1].messages), *attempt_texts(verdict.attempts))
        yield tag("details", tag("summary", "Raw call"), *texts)


def _words(verdict: Verdict) -> str:
    if verdict.status is not Status.OK:
        return f"No usable verdict: {verdict.error or verdict.status}"
    scores = [
        f"groundedness {score(verdict.groundedness)}" if verdict.groundedness is not None else None,
        f"quality {verdict.quality} / 4" if verdict.quality is not None else None,
        str(verdict.label) if verdict.label else None,
    ]
    return ", ".join(score for score in scores if score) or "No score"

"""The form of the Rejudge page: which rows, which judge, what it will take, and the button."""

from dataclasses import replace

import streamlit as st

from judgeboard.errors import JudgeboardError
from judgeboard.filters import RowFilter
from judgeboard.jobs import CallEstimate, estimate_calls, judge_spec, request_rejudge
from judgeboard.people import Action
from judgeboard.store.judgments.judge_versions import list_versions
from judgeboard.store.judgments.retired_versions import retired_versions
from judgeboard.store.responses.items import load_item
from judgeboard.store.settings_table import primary_judge
from judgeboard_dashboard.errors import problem
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.picking import item, pick_rows
from judgeboard_dashboard.rejudge.estimate_words import cost_limit_why, details, lead
from judgeboard_dashboard.rejudge.judge_form import (
    Askable,
    JudgeAsked,
    askable_kinds,
    judge_as_set_up,
    judge_form,
)
from judgeboard_dashboard.rejudge.place import Place
from judgeboard_dashboard.rejudge.rows import Rows, first_choice, names, one, rows
from judgeboard_dashboard.saying import caption
from judgeboard_dashboard.session import ask_reviewer, reading, seen, store
from judgeboard_dashboard.words import count, shortened

_ROWS = "rejudge_rows"
_CAME_FROM = "rejudge_came_from"


def form(place: Place, where: RowFilter) -> Place:
    """Show the form; return the place with the rows chosen in it, and with the job that was asked for."""
    selected, place = _rows(place, where)
    judge = _judge()
    if judge is None:
        caption("No judge that can be asked again has judged here: a lead asks one for the first time.")
        return place
    estimate = _estimate(judge, selected)
    limit = _cost_limit(judge, estimate)
    if estimate is None:
        return place
    show(tag("div", tag("b", lead(estimate)), cls="jb-say"))
    show(tag("div", details(estimate), cls="jb-cap"))
    reviewer = ask_reviewer("It stands beside the job.")
    pressed = st.button(
        f"Rejudge {count(estimate.calls, 'answer')}",
        key="rejudge_start",
        type="primary",
        icon=":material/restart_alt:",
        disabled=not estimate.calls or reviewer is None,
    )
    if not pressed or reviewer is None:
        return place
    try:
        job_id = request_rejudge(
            store(),
            judge=judge.spec,
            where=selected.where,
            mode=selected.mode,
            max_cost=limit,
            concurrency=judge.concurrency,
            estimate=estimate.as_dict(),
            actor=reviewer,
        )
    except JudgeboardError as error:
        problem(f"Not asked: {error}.")
        return place
    return replace(place, job=job_id, run=None)


def _rows(place: Place, where: RowFilter) -> tuple[Rows, Place]:
    if place.response_id is not None:
        _answer(place.response_id)
        return one(place.response_id), replace(place, rows=None)
    offered = names(where)
    if _ROWS not in st.session_state or st.session_state.get(_CAME_FROM) != (place.rows, where):
        st.session_state[_ROWS] = place.rows or first_choice(where)
    chosen = st.selectbox("Rows", list(offered), format_func=offered.__getitem__, key=_ROWS)
    st.session_state[_CAME_FROM] = (chosen, where)
    selected = rows(chosen, where)
    if where != RowFilter():
        show(tag("div", shortened(selected.words), cls="jb-cap"))
    return selected, replace(place, rows=chosen)


def _answer(response_id: int) -> None:
    with reading() as connection:
        answer = load_item(connection, response_id)
    show(
        tag(
            "div",
            tag("div", "One answer", cls="jb-label"),
            tag("div", answer.external_id, cls="jb-id jb-line"),
            tag("div", " ".join((answer.query or "forgotten").split()), cls="jb-line"),
        )
    )
    with st.container(horizontal=True, gap="small"):
        st.button("Open item", key="rejudge_item", type="tertiary", on_click=pick_rows, args=(item(response_id),))
        st.button("Other rows", key="rejudge_others", type="tertiary", on_click=st.query_params.clear)


def _judge() -> JudgeAsked | None:
    with reading() as connection:
        kinds = askable_kinds()
        retired = retired_versions(connection)
        known = list_versions(connection)
        versions = [version for version in known if version.kind in kinds and version.id not in retired]
        primary = primary_judge(connection)
        specs = [(version, judge_spec(connection, version)) for version in versions]
    # The primary judge's newest version is what is most likely meant, then the newest of the others.
    askable = sorted(
        (Askable(version, spec) for version, spec in specs if spec is not None),
        key=lambda each: (each.version.name != primary, -each.version.id),
    )
    if not permitted(Action.CHOOSE_JUDGE):
        return judge_as_set_up(askable)
    return judge_form(askable, askable[0].version.id if askable else None)


def _estimate(judge: JudgeAsked, selected: Rows) -> CallEstimate | None:
    if not judge.offline and not judge.spec["model"]:
        caption("Name the chat model to see what it takes.")
        return None
    try:
        return estimate_calls(
            seen(), judge=judge.spec, where=selected.where, mode=selected.mode, concurrency=judge.concurrency
        )
    except JudgeboardError as error:
        problem(str(error))
        return None


def _cost_limit(judge: JudgeAsked, estimate: CallEstimate | None) -> float | None:
    if judge.offline:
        return None
    why_not = cost_limit_why(estimate)
    limit = st.number_input(
        "Stop at cost, $",
        min_value=0.0,
        value=None,
        step=0.5,
        key="rejudge_max_cost",
        placeholder="no limit",
        disabled=why_not is not None,
        help="No further call is made once the calls have cost this much.",
    )
    if why_not:
        caption(why_not)
        return None
    return limit or None

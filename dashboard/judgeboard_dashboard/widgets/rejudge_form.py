"""The form of the page Judge answers: which answers, which judge, and the estimated cost and time."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import streamlit as st

from judgeboard.domain import Action, ResponseKind
from judgeboard.errors import JudgeboardError
from judgeboard.llm.openai_provider import OPENAI
from judgeboard.registry.judge_kinds import JUDGES, asks_model, kind_title
from judgeboard.runs.estimates import CallEstimate
from judgeboard.runs.jobs import (
    JobProgress,
    estimate_calls,
    job_address,
    judge_spec,
    open_jobs,
    request_rejudge,
    usable_versions,
)
from judgeboard.settings.model import load_settings, provider_address
from judgeboard.store.filters import RowFilter
from judgeboard.store.items import load_item
from judgeboard.store.responses import NO_QUESTION
from judgeboard.store.runs import AskMode
from judgeboard.store.tables import StoredVersion
from judgeboard.text import shortened
from judgeboard_dashboard.evidence import show, show_div, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.session import (
    as_id,
    button,
    in_row,
    named_reviewer,
    problem,
    read,
    seen,
    store,
)
from judgeboard_dashboard.widgets.filters import Query, filter_sentence
from judgeboard_dashboard.widgets.navigation import Rows, item, open_button, pick_rows
from judgeboard_dashboard.widgets.texts import caption, count, duration

RowsName = Literal["open", "match", "failed", "plain"]


@dataclass(frozen=True, slots=True)
class ChosenJudge:
    """The fields of a judge, the host to which answers may be sent if ``agreed``, and a key that is stored nowhere."""

    spec: dict[str, Any]
    host: str | None = None
    agreed: bool = False
    api_key: str | None = field(default=None, repr=False)


class JobRows(NamedTuple):
    """A choice of answers for a job: the words, the filter, and the mode (all, failed, plain)."""

    words: str
    where: RowFilter
    mode: str


def row_choices(where: RowFilter) -> dict[RowsName, JobRows]:
    """Return the choices of answers for a filter."""
    every = "All answers" if where == RowFilter() else "All answers that match the filter"
    return {
        "open": JobRows("Answers with an open flag", replace(where, states=("open",)), "all"),
        "match": JobRows(every, where, "all"),
        "failed": JobRows("Answers without a usable verdict", where, "failed"),
        "plain": JobRows("Answers not judged yet", where, "plain"),
    }


def job_words(where: RowFilter, mode: str) -> str:
    """Return in words what a job selected."""
    if where.response_ids is not None and len(where.response_ids) == 1:
        return "one answer"
    if mode == AskMode.ANCHORS:
        return "the anchors"
    if ResponseKind.CONTROL in where.kinds:
        return "control answers and their originals"
    words = {"failed": "without a usable verdict, ", "plain": "not judged yet, "}.get(mode, "")
    if where.states == ("open",):
        where = replace(where, states=())
        if where == RowFilter():
            return f"{words}all open flags"
        words += "open flags, "
    return words + filter_sentence(where)


def state_words(job: JobProgress) -> str:
    """Return the state of a job, and the next step."""
    so_far = f"{job.asked:,} of {job.selected:,}"
    is_started = job.run_id is not None
    words = {
        "running": "You can leave this page: the job continues.",
        "stopping": "Stopping: waiting for the running calls, which are stored.",
        "cancelled": f"Cancelled at {so_far}. To continue, start the same job again.",
        "stopped": f"Stopped at {so_far}: {job.why}.",
        "failed": f"Stopped at {so_far}: {job.why}."
        if is_started
        else f"Could not start: {job.why}.",
    }
    if job.state == "waiting":
        no_worker = "Waiting for a worker: none is running. Start one: `judgeboard worker`"
        return "Waiting for a free worker." if job.worker_alive else no_worker
    if job.state in words:
        return words[job.state]
    took = ""
    if job.started_at is not None and job.finished_at is not None:
        took = f" in {duration((job.finished_at - job.started_at).total_seconds())}"
    sentences = [f"Done{took}."]
    if unusable := job.asked - job.ok:
        sentences.append(f"{count(unusable, 'answer')} without a usable verdict.")
    if job.waiting:
        sentences.append(
            f"{count(job.waiting, 'answer')} not reached, because the filter no longer selects them."
        )
    return " ".join(sentences)


class RejudgeAddress(NamedTuple):
    """The selected answers, and the job whose result is shown, as in the address."""

    response: int | None
    rows: RowsName | None
    job: str | None

    def query(self) -> Query:
        """Return the parameters of the address."""
        return {name: [str(value)] for name, value in self._asdict().items() if value is not None}


def read_address() -> RejudgeAddress:
    """Read the address; unusable parameters are ignored."""
    rows = next(
        (name for name in row_choices(RowFilter()) if name == st.query_params.get("rows")), None
    )
    return RejudgeAddress(
        as_id(st.query_params.get("response", "")), rows, st.query_params.get("job")
    )


def lead(estimate: CallEstimate) -> str:
    """Return the number of calls with estimated cost and time: "61 calls, about $ 0.09 and 40 s."."""
    if not estimate.calls:
        return "Nothing to judge."
    is_long = estimate.seconds is not None and estimate.seconds >= 0.5
    took = f"about {duration(estimate.seconds or 0)}" if is_long else None
    calls = count(estimate.calls, "answer" if estimate.model is None else "call")
    return ", ".join(filter(None, (calls, estimate.cost_words, took)))


def details(estimate: CallEstimate) -> str:
    """Return the basis of the estimate, and what happens to existing verdicts."""
    if not estimate.calls:
        return "No answer is selected. Choose other answers, or another judge."
    sentences = []
    if estimate.tokens is not None:
        sentences.append(
            f"Estimated from {estimate.tokens:,.0f} tokens per answer in the latest verdicts."
        )
    if estimate.continues is not None:
        sentences.append(f"Continues run {estimate.continues}, which was not finished.")
    if estimate.version_title is None:
        sentences.append(
            "Creates a new judge version. Other verdicts and their figures do not change."
        )
    else:
        sentences.append(
            f"Existing verdicts are kept; for {estimate.version_title} the newest verdict counts."
        )
    if estimate.flag_words:
        sentences.append(estimate.flag_words)
    return " ".join(sentences)


def judge_specs(*, new: bool = True) -> dict[str, dict[str, Any]]:
    """Return the judge fields of a job by words: of the stored versions that can judge again, and of ``new`` judges.

    Versions of the primary judge come first, newest first: "rag v3 · llama-3.1-8b". A new judge has
    no name.
    """
    usable = read(usable_versions)
    specs = {}
    for version, spec in usable:
        parts = (version.title, version.model, "earlier prompt" if "prompt" in spec else None)
        specs[" · ".join(filter(None, parts))] = spec
    for name in [name for name, kind in JUDGES.items() if kind.in_form] if new else ():
        specs[f"New judge: {kind_title(name)}"] = {"kind": name} | (
            {"model": load_settings().model or ""} if asks_model(name) else {}
        )
    return specs


def judge_form() -> ChosenJudge | None:
    """Show the fields and return the chosen judge.

    A stored version judges with stored parameters. Only the model and the address can be changed.
    Return None if the person may not define a judge and no stored version can judge again.
    """
    defines = permitted(Action.CHOOSE_JUDGE)
    specs = judge_specs(new=defines)
    if not specs:
        return None
    words = st.selectbox("Judge version", list(specs), key="ask_version")
    stored_spec = specs[words]
    if not defines or "model" not in stored_spec:
        return ChosenJudge(stored_spec)
    is_new = "name" not in stored_spec
    model = st.text_input(
        "Model",
        stored_spec["model"],
        key=f"ask_model_{words}",
        placeholder="as its endpoint spells it",
    )
    known_address = stored_spec.get("base_url", "")
    base_url = st.text_input(
        "Address",
        known_address,
        key=f"ask_base_url_{words}",
        placeholder=(provider_address("openai") or OPENAI.base_url) if is_new else known_address,
        help="Address of an OpenAI-compatible endpoint, with /v1. A stored judge version uses the address of its last "
        "run, before its first run that of its judging rule. A new judge with a model named claude-… needs no address: "
        "it uses Anthropic's. The server sends its key "
        "(OPENAI_API_KEY) only to the address in OPENAI_BASE_URL (default: OpenAI's).",
    )
    api_key = st.text_input(
        "API key",
        key="ask_api_key",
        type="password",
        placeholder="the server's own",
        help="Sent only to this address. It is stored nowhere: this server keeps it in memory until the job ends. "
        "Without it, the server uses the key of its environment (OPENAI_API_KEY, ANTHROPIC_API_KEY).",
    )
    fields = {"model": (model or "").strip(), "base_url": (base_url or "").strip()}
    changed_spec = stored_spec | {name: value for name, value in fields.items() if value}
    if is_new:
        if changed_spec["kind"] == "rag":
            changed_spec["claims"] = st.toggle("Judge each claim, with quotes", key="ask_claims")
        caption("A judge with other options is run once in a terminal: `judgeboard judge --help`")
    return ChosenJudge(changed_spec, api_key=(api_key or "").strip() or None)


def with_destination(judge: ChosenJudge, subject: str) -> ChosenJudge:
    """Show the host and the provider that get the ``subject`` ("15 answers"); return the judge with the agreement.

    The person must agree to another host than before. The agreement is for these hosts and this
    subject: after a change of hosts or subject, the person is asked again.
    """
    try:
        address = job_address(seen(), judge.spec)
    except JudgeboardError as error:
        problem(f"{str(error).rstrip('.')}.")
        return judge
    agreed = True
    if address.before is not None:
        hosts = f"Another host than before. Before: {address.before}. Now: {address.host} ({address.provider})."
        show_div("jb-note", hosts)
        key = f"other_host_{address.before}_{address.host}_{subject}"
        agreed = st.checkbox(f"Send {subject} to {address.host}", key=key)
    elif address.host is not None:
        show_div(
            "jb-cap", f"Sends {subject} to ", tag("b", address.host), f" ({address.provider})."
        )
    return replace(judge, host=address.host if agreed else None, agreed=agreed)


def start_button(
    label: str,
    judge: ChosenJudge,
    rows: JobRows,
    estimate: CallEstimate,
    *,
    key: str,
    max_cost: float | None = None,
) -> str | None:
    """Show the button that starts a job; return the id of the job after a press."""
    usable = estimate.calls and judge.agreed
    is_pressed = button(
        label, key=key, type="primary", icon=":material/restart_alt:", disabled=not usable
    )
    if not is_pressed or (reviewer := named_reviewer()) is None:
        return None
    try:
        return request_rejudge(
            store(),
            judge=judge.spec,
            where=rows.where,
            mode=rows.mode,
            max_cost=max_cost,
            estimate=estimate,
            api_key=judge.api_key,
            confirmed_host=judge.host,
            actor=reviewer,
        )
    except JudgeboardError as error:
        problem(f"The job was not started: {error}.")
        return None


_ROWS, _KEEP = "rejudge_rows", "rejudge_keep_flags"
_CAME_FROM = "rejudge_came_from"


def form(place: RejudgeAddress, where: RowFilter) -> RejudgeAddress:
    """Show the form; return the address with the chosen rows and, after a press, the new job."""
    rows, place = _rows(place, where)
    judge = judge_form()
    if judge is None:
        caption("No stored judge can be used here. A lead must run one first.")
        return place
    if judge.spec.get("model") == "":
        caption("Enter a model to see the estimated cost and time.")
        return place
    try:
        estimate = estimate_calls(seen(), judge=judge.spec, where=rows.where, mode=rows.mode)
    except JudgeboardError as error:
        problem(str(error))
        return place
    limit = None
    if estimate.priced and estimate.model is not None:
        limit = st.number_input(
            "Stop at cost, $",
            min_value=0.0,
            value=None,
            step=0.5,
            key="rejudge_max_cost",
            placeholder="no limit",
            help="The job makes no further calls after its calls have cost this much.",
        )
    elif estimate.model is not None:
        caption(
            f"No cost limit: {estimate.model} has no price. Add it to a price file (JUDGEBOARD_PRICES)."
        )
    show_div("jb-say", tag("b", lead(estimate)))
    show_div("jb-cap", details(estimate))
    if rows.mode == AskMode.ALL and estimate.flags:
        keeps = st.checkbox(
            f"Keep {count(estimate.flags, 'open flag')} of audits and of other judges", key=_KEEP
        )
        rows = rows._replace(mode=AskMode.KEEP_FLAGS.value if keeps else rows.mode)
    answers = count(estimate.calls, "answer")
    judge = with_destination(judge, answers) if estimate.calls else judge
    verb = "Judge" if rows.mode == AskMode.PLAIN else "Rejudge"
    job_id = start_button(
        f"{verb} {answers}", judge, rows, estimate, key="rejudge_start", max_cost=limit
    )
    return place if job_id is None else place._replace(job=job_id)


def _rows(address: RejudgeAddress, where: RowFilter) -> tuple[JobRows, RejudgeAddress]:
    if address.response is not None:
        shown_item = read(load_item, address.response)
        text = shown_item.response.query or NO_QUESTION
        show(
            tag(
                "div",
                tag("div", "One answer", cls="jb-label"),
                tag("div", shown_item.response.external_id, cls="jb-id jb-line"),
                tag(
                    "div",
                    "deleted" if shown_item.forgotten_at else " ".join(text.split()),
                    cls="jb-line",
                ),
            )
        )
        with in_row():
            open_button("Open item", item(address.response), key="rejudge_item", type="tertiary")
            st.button(
                "Choose other answers",
                key="rejudge_others",
                type="tertiary",
                on_click=st.query_params.clear,
            )
        answer = JobRows("One answer", RowFilter(response_ids=(address.response,)), "all")
        return answer, address._replace(rows=None)
    choices = row_choices(where)
    if _ROWS not in st.session_state or st.session_state.get(_CAME_FROM) != (address.rows, where):
        st.session_state[_ROWS] = address.rows or ("open" if where == RowFilter() else "match")
    rows_name = st.selectbox(
        "Answers", list(choices), format_func=lambda name: choices[name].words, key=_ROWS
    )
    st.session_state[_CAME_FROM] = (rows_name, where)
    rows = choices[rows_name]
    if where != RowFilter():
        show_div("jb-cap", shortened(job_words(rows.where, rows.mode)))
    return rows, address._replace(rows=rows_name)


def judge_in_job(
    version: StoredVersion,
    where: RowFilter,
    mode: str,
    *,
    key: str,
    verb: str,
    noun: str,
    command: str,
) -> None:
    """Show the estimate and the button of a job in which a judge version judges these answers, or the open job.

    ``command`` does the same in a terminal, for a version that a job cannot use.
    """
    job = next(
        (each for each in open_jobs(seen()) if (each.mode, each.where) == (mode, where)), None
    )
    if job is not None:
        with in_row():
            caption(f"A job is {job.state}: {job.asked:,} of {count(job.selected, noun)} judged.")
            open_button(
                "Open job", Rows("rejudge", {"job": job.id}), key=f"{key}_job", type="tertiary"
            )
        return
    try:
        spec = read(judge_spec, version)
        if spec is None:
            caption(f"This judge version can judge the {noun}s only in a terminal: `{command}`")
            return
        estimate = estimate_calls(seen(), judge=spec, where=where, mode=mode)
    except JudgeboardError as error:
        problem(str(error))
        return
    caption(lead(estimate))
    if estimate.calls:
        judge = with_destination(ChosenJudge(spec), count(estimate.calls, "answer"))
        rows = JobRows("", where, mode)
        job_id = start_button(
            f"{verb} {count(estimate.calls, noun)}", judge, rows, estimate, key=f"{key}_judge"
        )
        if job_id is not None:
            pick_rows(Rows("rejudge", {"job": job_id}))
            st.rerun()

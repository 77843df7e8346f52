"""The traces that assistants send, the answers from traces, and the tools that get scores back."""

from shlex import quote
from urllib.parse import urlsplit

import streamlit as st

from judgeboard.formats.output import Column, Columns, Table
from judgeboard.measure.notes import note
from judgeboard.store.jobs import live_workers
from judgeboard.store.rules import list_rules
from judgeboard.store.tables import PushTarget, Trace
from judgeboard.store.traces import SourceState, count_waiting_feedback, latest_traces, list_sources
from judgeboard.tools.push import next_push, target_state
from judgeboard_dashboard.session import read, reading
from judgeboard_dashboard.widgets.navigation import item
from judgeboard_dashboard.widgets.rule_states import show_problem, state_buttons
from judgeboard_dashboard.widgets.tables import choose_row, one_line, table
from judgeboard_dashboard.widgets.texts import caption, count, heading, when, when_known

MOST = 100
VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"
_UNUSED = "unused"


def became_of(trace: Trace) -> str:
    """Return what was taken from which span, and why the trace has no answer or did not change the answer."""
    spans: dict[str, list[str]] = {}
    for span, what in trace.used or ():
        spans.setdefault(span, []).append(what)
    span_words = "; ".join(f"{', '.join(whats)} from span {span}" for span, whats in spans.items())
    if trace.state == "waiting":
        return "Waits for its other spans."
    return " ".join(filter(None, (one_line(trace.reason), span_words)))


def own_address() -> str:
    """Return the address of this server in the browser."""
    address = urlsplit(st.context.url or "")
    return f"{address.scheme}://{address.netloc}" if address.netloc else "http://localhost:8501"


SOURCE_COLUMNS: Columns[SourceState] = {
    Column("Source", width=200): lambda source: source.source,
    Column("Traces", "count", width=80): lambda source: source.traces,
    Column("Answers", "count", width=80): lambda source: source.made,
    Column("No answer", "count", width=90): lambda source: source.none,
    Column("Waiting", "count", width=80): lambda source: source.waiting,
    Column("Last span", width=130): lambda source: when(source.last_at),
}
TRACE_COLUMNS: Columns[Trace] = {
    Column("Last span", width=130): lambda trace: when(trace.last_at),
    Column("Result", width=80): lambda trace: {"made": "answer", "none": "no answer"}.get(
        trace.state, trace.state
    ),
    Column("Spans", "count", width=60): lambda trace: trace.spans,
    Column("What was taken, or why not", width=360): became_of,
    Column("Trace", width=130): lambda trace: trace.external_id,
}


def push_targets() -> None:
    """Show the push targets with problems, and the buttons of the selected target."""
    heading("Push targets")
    with reading() as connection:
        living, targets = live_workers(connection), list_rules(connection, PushTarget)
    if not targets:
        caption("There is no push target yet. In a terminal: `judgeboard rule add push TOOL`")
        return
    rows = Table.of(
        targets,
        {
            Column("Target", width=110): lambda target: target.name,
            Column("State", width=90): lambda target: target_state(target, living),
            Column(
                "Pushed",
                "count",
                width=75,
                help="Judgments, reviews and gold labels that the tool has",
            ): (lambda target: target.pushed),
            Column("Waiting", "count", width=75, help="Items left by the latest push"): (
                lambda target: target.waiting
            ),
            Column("Refused", "count", width=75, help="Items that the tool did not take"): (
                lambda target: target.refused
            ),
            Column("Last success", width=130): lambda target: when_known(target.succeeded_at),
            Column("Next push", width=130): lambda target: when_known(next_push(target, living)),
            Column("Sends", width=170): lambda target: ", ".join(target.what),
            Column("Answers of", width=110, help="Only answers of this source"): lambda target: (
                target.source or "all sources"
            ),
            Column("Address", width=220): lambda target: target.address,
        },
    )
    choice = targets[choose_row(rows, key=f"targets_{len(targets)}", most=8)]
    for target in targets:
        show_problem(target.name, target.problem)
    if choice.refused:
        reason = one_line(choice.reason)
        show_problem(
            choice.name, f"{count(choice.refused, 'item')} refused. The latest reason: {reason}"
        )
    if choice.is_active and not living:
        caption("No process pushes now. Start `judgeboard serve` or `judgeboard worker`.")
    state_buttons(choice)


def received() -> None:
    """Show every source, and the latest traces of the selected source (at first ``source`` in the address)."""
    with reading() as connection:
        sources, feedback = list_sources(connection), count_waiting_feedback(connection)
    if not sources:
        caption(
            f"No assistant has sent a trace yet. Set this variable in the assistant: `{VARIABLE}={own_address()}`.",
            "To send from other machines, create a key under Keys.",
        )
        return
    name = st.query_params.get("source", "")
    first = next((place for place, source in enumerate(sources) if source.source == name), 0)
    place = choose_row(
        Table.of(sources, SOURCE_COLUMNS), key=f"sources_{len(sources)}_{name}", most=8, first=first
    )
    source_status = sources[place]
    caption(f"{count(feedback, 'feedback entry')} without an answer so far." if feedback else None)
    heading(f"Latest traces of {source_status.source}")
    unused = st.toggle("Only traces without an answer", key=_UNUSED, bind="query-params")
    traces = read(latest_traces, source_status.source, unused=unused, limit=MOST)
    targets = [None if each.response_id is None else item(each.response_id) for each in traces]
    under = (
        f"The latest {MOST}. More: `judgeboard sources --limit 1000`"
        if len(traces) == MOST
        else None,
        *(
            note(code, source=quote(source_status.source)).text
            for code in ("map_source", "forget_unused")
            if source_status.none
        ),
    )
    key = f"traces_{source_status.source}_{unused}_{len(traces)}"
    table(Table.of(traces, TRACE_COLUMNS), targets, key=key, name="traces", under=under, most=12)

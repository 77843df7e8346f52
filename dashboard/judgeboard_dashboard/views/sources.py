"""The page Sources: what assistants send, and what became of their traces."""

import streamlit as st

from judgeboard.reports.output import Column, Columns, Table
from judgeboard.store.traces import SourceState, StoredTrace, count_waiting_feedback, latest_traces, list_sources
from judgeboard_dashboard.session import page, reading
from judgeboard_dashboard.widgets.navigation import Rows, item
from judgeboard_dashboard.widgets.tables import choose_row, one_line, table
from judgeboard_dashboard.widgets.texts import caption, count, heading, when

MOST = 100
_UNUSED = "sources_unused"


def became_of(trace: StoredTrace) -> str:
    """Return what was taken from which span, and why the trace became no answer or did not change it."""
    spans: dict[str, list[str]] = {}
    for span, what in trace.used or ():
        spans.setdefault(span, []).append(what)
    taken = "; ".join(f"{', '.join(whats)} from span {span}" for span, whats in spans.items())
    if trace.state == "waiting":
        return "Waits for its other spans."
    return " ".join(filter(None, (one_line(trace.reason), taken)))


SOURCE_COLUMNS: Columns[SourceState] = {
    Column("Source", width=200): lambda source: source.source,
    Column("Traces", "count", width=80): lambda source: source.traces,
    Column("Answers", "count", width=80): lambda source: source.made,
    Column("No answer", "count", width=90): lambda source: source.none,
    Column("Waiting", "count", width=80): lambda source: source.waiting,
    Column("Last span", width=130): lambda source: when(source.last_at),
}
TRACE_COLUMNS: Columns[StoredTrace] = {
    Column("Last span", width=130): lambda trace: when(trace.last_at),
    Column("Result", width=80): lambda trace: {"made": "answer", "none": "no answer"}.get(trace.state, trace.state),
    Column("Spans", "count", width=60): lambda trace: trace.spans,
    Column("What was taken, or why not", width=560): became_of,
    Column("Trace", width=260): lambda trace: trace.external_id,
}


def sources() -> None:
    """Show every source, and the latest traces of the selected one."""
    with reading() as connection:
        listed, feedback = list_sources(connection), count_waiting_feedback(connection)
    if not listed:
        caption(
            "No assistant has sent a trace yet. Set this variable in the assistant: "
            "`OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:8501`, or the address of this server.",
            "To send from other machines, create a key: `judgeboard keys create NAME`",
        )
        return
    chosen = listed[choose_row(Table.of(listed, SOURCE_COLUMNS), key=f"sources_{len(listed)}", most=8)]
    caption(f"{count(feedback, 'feedback entry')} without an answer so far." if feedback else None)
    heading(f"Latest traces of {chosen.source}")
    unused = st.toggle("Only traces without an answer", key=_UNUSED)
    with reading() as connection:
        traces = latest_traces(connection, chosen.source, unused=unused, limit=MOST)
    targets = [Rows("sources", {}) if each.response_id is None else item(each.response_id) for each in traces]
    under = (f"The latest {MOST}. All: `judgeboard sources --traces 1000`" if len(traces) == MOST else None,)
    key = f"traces_{chosen.source}_{unused}_{len(traces)}"
    table(Table.of(traces, TRACE_COLUMNS), targets, key=key, name="traces", under=under, most=12)


with page("Sources"):
    sources()

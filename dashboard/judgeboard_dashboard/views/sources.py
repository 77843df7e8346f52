"""The view Sources: import of a file, what assistants send, the tools that get scores back, and keys."""

from shlex import quote
from urllib.parse import urlsplit

import streamlit as st

from judgeboard.domain import Action
from judgeboard.errors import JudgeboardError
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.measure.notes import note
from judgeboard.receiving.keys import INGEST, create_key, last_use, revoke
from judgeboard.registry.scopes import SCOPES
from judgeboard.store.api_keys import list_keys
from judgeboard.store.clock import utc_now
from judgeboard.store.jobs import live_workers
from judgeboard.store.rules import list_rules
from judgeboard.store.tables import PushTarget, Reviewer, Trace
from judgeboard.store.traces import SourceState, count_waiting_feedback, latest_traces, list_sources
from judgeboard.text import MAX_NAME, shortened
from judgeboard.tools.push import next_push, target_state
from judgeboard_dashboard.evidence import as_label
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.session import (
    ask_reviewer,
    button,
    page,
    problem,
    read,
    reading,
    saving,
    stacking_columns,
    store,
)
from judgeboard_dashboard.widgets.filters import switch
from judgeboard_dashboard.widgets.import_form import import_form
from judgeboard_dashboard.widgets.navigation import follow, item
from judgeboard_dashboard.widgets.rule_states import LONGEST_LABEL, show_problem, state_buttons
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


def access_keys() -> None:
    """Show all keys with the button that revokes the selected one, and the form for a new key."""
    reviewer = ask_reviewer("Your name is stored with the key.", to=Action.MANAGE_KEYS)
    left, right = stacking_columns("access_keys", [1.7, 1])
    # The form comes first, so that the list has the new key.
    if reviewer is not None:
        with right:
            new_key(reviewer)
    with left:
        all_keys(reviewer)


def all_keys(reviewer: Reviewer | None) -> None:
    """Show all keys, and the button that revokes the selected one."""
    with reading() as connection:
        keys = list_keys(connection)
        uses = {key.id: last_use(connection, key) for key in keys}
    heading("Keys")
    if not keys:
        caption(
            "There is no key yet: only this machine may send. As soon as there is a key, every sender needs one."
        )
        return
    rows = Table.of(
        keys,
        {
            Column("Key", width=180): lambda key: key.name,
            Column("State", width=90): lambda key: key.unusable(utc_now()) or "usable",
            Column("Last used", width=130, help="The first request of each day is recorded"): (
                lambda key: when_known(uses[key.id])
            ),
            Column("Source", width=150, help="The only source that the key may send or read"): (
                lambda key: key.source or "any"
            ),
            Column("Scopes", width=130): lambda key: ", ".join(key.scopes),
            Column("Expires", width=130): lambda key: when_known(key.expires_at),
            Column("Created", width=130): lambda key: when(key.created_at),
            Column("By", width=150): lambda key: key.created_by,
        },
    )
    key = keys[choose_row(rows, key=f"keys_{len(keys)}", most=10)]
    if reviewer is None or key.revoked_at is not None:
        return
    label = f"Revoke {as_label(shortened(key.name, LONGEST_LABEL))}"
    with st.popover(label, icon=":material/key_off:", key=f"key_revoking_{key.id}"):
        caption("Requests with this key are refused from now on. The key cannot be used again.")
        if button(label, key=f"key_revoke_{key.id}"):
            with saving("Not revoked"):
                revoke(store(), key.name, by=reviewer)


def new_key(reviewer: Reviewer) -> None:
    """Make a key, and show the token once."""
    heading("New key")
    with st.container(border=True, key="key_form"):
        name = st.text_input(
            "Name", key="key_name", max_chars=MAX_NAME, placeholder="The program that gets the key"
        )
        scopes = st.multiselect(
            "Scopes",
            list(SCOPES),
            default=[INGEST],
            key="key_scopes",
            format_func=lambda scope: f"{scope}: {SCOPES[scope]}",
        )
        source = st.text_input(
            "Source",
            key="key_source",
            placeholder="Any",
            help="The only source that the key may send or read.",
        )
        days = st.number_input(
            "Expires after (days)", 1, value=None, key="key_days", placeholder="Never"
        )
        usable = bool(name.strip() and scopes)
        if not button("Create key", key="key_create", type="primary", disabled=not usable):
            return
        try:
            token = create_key(
                store(), name.strip(), scopes=scopes, source=source or None, days=days, by=reviewer
            )
        except JudgeboardError as error:
            problem(f"Not created: {error}")
            return
        st.code(token, language=None, wrap_lines=True)
        caption(
            "Copy the token now: it is not stored. Send it as `Authorization: Bearer TOKEN` or `x-api-key: TOKEN`."
        )


PARTS = {
    "Import a file": import_form,
    "Receive": received,
    "Push": push_targets,
    "Keys": access_keys,
}

with page(answers=False):
    demand(Action.SEE_MANAGED)
    follow("sources", own=("part", "kind", "source", "unused"))
    PARTS[switch("Part", {name: name for name in PARTS}, key="part")]()

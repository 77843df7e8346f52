"""LangSmith: runs in exports, in the REST interface and as spans; feedback on runs."""

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

import orjson

from judgeboard.domain import GRADE_TEXTS
from judgeboard.errors import BadInput, NotFound
from judgeboard.formats.files import Row
from judgeboard.imports.exports.entry import objects
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.imports.exports.traced import (
    Score,
    Trace,
    each_score,
    each_span,
    is_own,
    nanoseconds,
    number_in,
)
from judgeboard.store.filters import value_at
from judgeboard.store.statements import batches
from judgeboard.store.tools import PushItem
from judgeboard.text import iso_z
from judgeboard.tools.history import (
    History,
    JsonRow,
    Names,
    Page,
    Window,
    by_key,
    rows_of_pages,
    whole_traces,
)
from judgeboard.tools.target import (
    Access,
    Connection,
    Refused,
    Target,
    facts,
    needed_trace_id,
    stable_id,
)
from judgeboard.tools.tool import Tool
from judgeboard.traces.attributes import (
    DEEPEST,
    as_count,
    as_number,
    first,
    first_scalar,
    nested,
    own_metadata,
    parsed,
    parsed_object,
    session_and_user,
    tags_in,
    under,
    without_none,
)
from judgeboard.traces.content import contents
from judgeboard.traces.spans import LogRecord, Operation, Part, Span

_OWN = "langsmith."  # how the names of LangSmith's attributes begin
_ID, _KIND, _TAGS = _OWN + "span.id", _OWN + "span.kind", _OWN + "span.tags"
_NAME, _METADATA = _OWN + "trace.name", _OWN + "metadata."
STARTED = "langsmith.run"
"""The event of a log record with the start of a run, which earlier releases stored."""


def run_attributes(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a run under the names on LangSmith's spans."""
    extra, outputs = parsed_object(run.get("extra")), parsed(run.get("outputs"))
    # The session_id of a run is the project; the session of the user is in the metadata.
    metadata = parsed_object(extra.get("metadata")) | parsed_object(run.get("metadata"))
    parameters = parsed_object(extra.get("invocation_params"))
    usage = parsed_object(_inside(outputs, ("usage_metadata", "token_usage", "usage"), 0))
    attributes = {
        _ID: run.get("id"),
        _KIND: run.get("run_type"),
        _NAME: run.get("name"),
        _TAGS: run.get("tags"),
        "gen_ai.prompt": _dumped(run.get("inputs")),
        "gen_ai.completion": _dumped(outputs),
        "gen_ai.response.model": _inside(outputs, ("model_name", "model"), 0),
        "gen_ai.request.model": first_scalar(metadata, ("ls_model_name",))
        or first_scalar(parameters, ("model", "model_name")),
        "gen_ai.usage.input_tokens": run.get("prompt_tokens")
        or first(usage, ("input_tokens", "prompt_tokens")),
        "gen_ai.usage.output_tokens": run.get("completion_tokens")
        or first(usage, ("output_tokens", "completion_tokens")),
        "gen_ai.usage.cost": run.get("total_cost"),
        **{_METADATA + name: value for name, value in metadata.items()},
    }
    return without_none(attributes)


def _dumped(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else orjson.dumps(value).decode()


def _inside(value: Any, names: tuple[str, ...], depth: int) -> Any:
    """Return the first value under one of the names at any depth."""
    if depth > DEEPEST or not isinstance(value, dict | list):
        return None
    if isinstance(value, dict) and (inner_value := first(value, names)) is not None:
        return inner_value
    inner = value.values() if isinstance(value, dict) else value
    return next(
        (
            inner_value
            for each in inner
            if (inner_value := _inside(each, names, depth + 1)) is not None
        ),
        None,
    )


# Exports of LangSmith


_RUN_TYPES = frozenset(
    {"chain", "llm", "chat_model", "retriever", "tool", "prompt", "parser", "embedding"}
)


@each_span
def read_runs(row: Row) -> Trace | None:
    """Return the trace of a run, None without an id."""
    values = row.values
    span_id = values.get("id")
    trace_id = values.get("trace_id") or (None if values.get("parent_run_id") else span_id)
    if not span_id or not trace_id or "run_type" not in values:
        return None
    started_ns = nanoseconds(values.get("start_time"))
    span = Span(
        _as_received(str(trace_id)),
        str(span_id),
        str(values["parent_run_id"]) if values.get("parent_run_id") else None,
        str(values.get("name") or ""),
        started_ns,
        max(started_ns, nanoseconds(values.get("end_time"))),
        "langsmith",
        run_attributes(values),
        error=str(values["error"]) if values.get("error") else None,
    )
    if isinstance(values.get("feedback"), list):
        scores = [score_of(each) for each in objects(values["feedback"]) if each.get("key")]
    else:
        # Only the means of the feedback.
        stats = parsed_object(values.get("feedback_stats"))
        means = {name: value_at(each, ("avg",)) for name, each in stats.items()}
        scores = [
            Score(name, mean, "LangSmith") for name, mean in means.items() if mean is not None
        ]
    return Trace(row, [span], scores)


def _as_received(trace_id: str) -> str:
    """Return the id of a trace in the form of the receiver: without hyphens."""
    with suppress(ValueError):
        return UUID(trace_id).hex
    return trace_id


@each_score
def read_feedback(values: Mapping[str, Any]) -> tuple[str, Score] | str:
    """Return the id of the trace of a feedback, and the feedback. Without a trace, the run is the root."""
    trace_id = values.get("trace_id") or values.get("run_id")
    if not trace_id or not values.get("key"):
        return "the feedback has no run, or no key"
    numbers = {name: number_in(values.get(name)) for name in ("score", "value")}
    return _as_received(str(trace_id)), score_of({**values, **numbers})


def score_of(feedback: Mapping[str, Any]) -> Score:
    """Return one feedback. Feedback that people enter on LangSmith's pages has the source "app"."""
    source = parsed_object(feedback.get("feedback_source"))
    human = source.get("type") == "app"
    score = feedback.get("score")
    return Score(
        name=str(feedback["key"]),
        value=feedback.get("value") if score is None else score,
        by=str((human and (source.get("user_name") or source.get("user_id"))) or "LangSmith"),
        human=human,
        reason=feedback.get("comment"),
        at=feedback.get("modified_at") or feedback.get("created_at"),
    )


_RUNS = Export(
    "LangSmith runs",
    "langsmith",
    (
        Keys(
            "id",
            "run_type",
            "inputs",
            "outputs",
            holds=lambda row: str(row["run_type"]) in _RUN_TYPES,
        ),
    ),
    read_runs,
    of_traces=True,
)
_FEEDBACK = Export(
    "LangSmith feedback",
    "langsmith",
    (Keys("run_id", "key", "score", without=("run_type",)),),
    read_feedback,
    of_traces=True,
    of_scores=True,
)


# Spans of LangSmith: runs that the SDK exports as spans, with inputs and outputs as whole JSON
# texts


_OPERATIONS = {
    "llm": Operation.MODEL,
    "chat": Operation.MODEL,
    "retriever": Operation.RETRIEVAL,
    "tool": Operation.TOOL,
    "chain": Operation.APP,
    "agent": Operation.APP,
}
_MISSING = "Content is off: set LANGSMITH_HIDE_INPUTS=false and LANGSMITH_HIDE_OUTPUTS=false."
_INPUTS = ("gen_ai.prompt", "gen_ai.input.messages", "input.value", "gen_ai.tool.call.arguments")
_OUTPUTS = (
    "gen_ai.completion",
    "gen_ai.output.messages",
    "output.value",
    "gen_ai.tool.call.result",
)


def read_span(span: Span, logs: Sequence[LogRecord]) -> Part | None:
    """Read a span of LangSmith; None for a span of another dialect."""
    attributes: dict[str, Any] = {}
    for log in logs:  # earlier releases stored the start of a run as a log record
        attributes |= log.attributes if log.event == STARTED else {}
    attributes |= span.attributes
    if not any(name.startswith(_OWN) for name in attributes):
        return None
    inputs = first(attributes, _INPUTS) or [
        {"role": "user", **each} for each in nested(attributes, "gen_ai.prompt")
    ]
    outputs = first(attributes, _OUTPUTS) or [
        {"role": "assistant", **each} for each in nested(attributes, "gen_ai.completion")[:1]
    ]
    kind = attributes.get(_KIND)
    operation = _OPERATIONS.get(str(kind).lower(), Operation.OTHER)
    if kind is None and (inputs or outputs):
        operation = Operation.MODEL if "gen_ai.request.model" in attributes else Operation.APP
    metadata = under(attributes, _METADATA)
    # The session_id of a run is the project; the session of a dialogue is in the metadata.
    session, user = session_and_user(metadata)
    run_id = first_scalar(attributes, (_ID,))  # feedback is sent to this run
    of_model: dict[str, Any] = {}
    if operation is Operation.MODEL:
        usage = parsed_object(metadata.get("usage_metadata"))
        of_model = {
            "model": first_scalar(attributes, ("gen_ai.response.model", "gen_ai.request.model"))
            or first_scalar(metadata, ("ls_model_name",)),
            "prompt_tokens": as_count(
                first(attributes, ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"))
                or usage.get("input_tokens")
            ),
            "completion_tokens": as_count(
                first(attributes, ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"))
                or usage.get("output_tokens")
            ),
            "cost": as_number(
                first(attributes, ("gen_ai.usage.cost", "gen_ai.usage.total_cost"))
                or usage.get("total_cost")
            ),
        }
    return Part(
        "langsmith",
        operation,
        **contents(operation, inputs, outputs, str(attributes.get(_NAME, span.name))),
        **of_model,
        session=session or first_scalar(attributes, ("gen_ai.conversation.id", "session.id")),
        user=user or first_scalar(attributes, ("user.id",)),
        tags=tags_in(attributes.get(_TAGS)),
        metadata=own_metadata(metadata) | ({"run_id": run_id} if run_id else {}),
        missing=_MISSING if inputs == outputs == "{}" else None,
    )


# Sent to LangSmith: feedback on runs


def _access(address: str, environment: Mapping[str, str]) -> Access:
    key = environment.get("LANGSMITH_API_KEY", "").strip()
    if not key:
        raise BadInput("no key of LangSmith: set LANGSMITH_API_KEY")
    return Access(address, {"x-api-key": key})


def _send(http: Connection, items: Sequence[PushItem]) -> None:
    for item in items:
        for score in item.scores:
            # The id of the run: from the metadata, else of the root run, which has the digits of
            # the trace id.
            try:
                run_id = uuid.UUID(str(item.metadata.get("run_id")))
            except ValueError:
                run_id = uuid.UUID(needed_trace_id(item))
            body = {
                "id": str(stable_id(item, score.name)),
                "run_id": str(run_id),
                "key": score.name,
                "score": score.value,
                "value": score.label,
                "comment": score.reasoning or item.note,
                "correction": {
                    name: text for name, text in item.texts.items() if GRADE_TEXTS[name].edits
                }
                or None,
                "feedback_source": {
                    "type": "api" if item.by_person else "model",
                    "metadata": facts(item),
                },
                "created_at": item.at.isoformat(),
            }
            feedback = without_none(body)
            try:
                http.send("POST", "/feedback", feedback)
            except Refused as error:
                if error.status != 409:  # the id is known
                    raise
                changes = {
                    name: feedback.get(name) for name in ("score", "value", "comment", "correction")
                }
                http.send("PATCH", f"/feedback/{feedback['id']}", changes)


LANGSMITH = Target(
    "langsmith",
    ("LANGSMITH_ENDPOINT",),
    _access,
    _send,
    default_address="https://api.smith.langchain.com",
)


# History of LangSmith: runs of a project with feedback


_MOST_IN_REPLY = 100  # runs and feedback in one reply
_CURSOR = ("cursors", "next")  # where a reply has the position of the next page
_NAMES = Names("trace_id", "parent_run_id", "start_time", "end_time")
_FIELDS_OF_RUN = (
    "id",
    "trace_id",
    "parent_run_id",
    "name",
    "run_type",
    "start_time",
    "end_time",
    "inputs",
    "outputs",
    "error",
    "extra",
    "tags",
    "prompt_tokens",
    "completion_tokens",
    "total_cost",
    "dotted_order",
    "session_id",
)


class LangsmithHistory(History):
    """A project, by name."""

    target = LANGSMITH

    def __init__(self, http: Connection, project: str | None) -> None:
        super().__init__(http, project)
        sessions = objects(self.get("/sessions", name=self.project, limit=1))
        if not sessions:
            raise NotFound(f"LangSmith has no project {self.project!r}: name it with --project")
        self._session = str(sessions[0]["id"])

    def page(self, window: Window, position: str | None) -> Page:
        """Return the traces at a position, newest first."""
        bounds = [f'lt(start_time, "{iso_z(window.until)}")']
        body: dict[str, Any] = {"order": "desc"}
        if window.since is not None:
            bounds.append(f'gte(start_time, "{iso_z(window.since)}")')
            body["start_time"] = iso_z(window.since)
        body["filter"] = bounds[0] if len(bounds) == 1 else f"and({', '.join(bounds)})"
        reply = self._runs(body, position)
        traces, divided = whole_traces(objects(reply.get("runs")), _NAMES)
        for trace_id in divided:
            traces[trace_id] = rows_of_pages(
                partial(self._runs, {"trace": trace_id}), "runs", *_CURSOR
            )
        self._add_feedback([run for runs in traces.values() for run in runs])
        return Page(_RUNS, traces, value_at(reply, _CURSOR) or None)

    def _runs(self, body: dict[str, Any], cursor: str | None) -> Any:
        common = {
            "session": [self._session],
            "select": list(_FIELDS_OF_RUN),
            "limit": _MOST_IN_REPLY,
        }
        return self.read(
            "POST", "/runs/query", common | body | ({"cursor": cursor} if cursor else {})
        )

    def _add_feedback(self, runs: list[JsonRow]) -> None:
        for batch in batches(runs, _MOST_IN_REPLY):
            runs_by_id = {str(run.get("id")): run for run in batch}
            offset = 0
            while True:
                reply = objects(
                    self.get("/feedback", run=list(runs_by_id), limit=_MOST_IN_REPLY, offset=offset)
                )
                for run_id, entries in by_key(reply, "run_id").items():
                    feedback = [
                        each
                        for each in entries
                        if not is_own((each.get("feedback_source") or {}).get("metadata"))
                    ]
                    if run_id in runs_by_id:
                        runs_by_id[run_id].setdefault("feedback", []).extend(feedback)
                offset += len(reply)
                if len(reply) < _MOST_IN_REPLY:
                    break


TOOL = Tool(
    exports=(_RUNS, _FEEDBACK),
    spans=read_span,
    history=LangsmithHistory,
    target=LANGSMITH,
)

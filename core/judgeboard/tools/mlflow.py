"""MLflow: traces with spans and assessments, as JSON, in tables, in the REST interface and as spans."""

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from judgeboard.formats.files import Row
from judgeboard.imports.exports.entry import objects
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.imports.exports.traced import (
    Score,
    Trace,
    each_trace,
    is_own,
    nanoseconds,
    trace_metadata,
)
from judgeboard.store.filters import value_at
from judgeboard.store.statements import batches
from judgeboard.store.tools import PushItem
from judgeboard.text import iso_z
from judgeboard.tools.history import History, JsonRow, Page, Window
from judgeboard.tools.target import (
    Access,
    Connection,
    Refused,
    Target,
    facts,
    needed_trace_id,
    span_id_of,
    stable_id,
)
from judgeboard.tools.tool import Tool
from judgeboard.traces.attributes import (
    as_count,
    as_number,
    first_scalar,
    own_metadata,
    parsed,
    parsed_object,
    under,
    without_none,
)
from judgeboard.traces.content import contents
from judgeboard.traces.spans import LogRecord, Operation, Part, Span

_OWN = "mlflow."  # how MLflow's own names begin
_SPAN_BYTES = 8
_SESSION, _USER = "mlflow.trace.session", "mlflow.trace.user"
_INPUTS, _OUTPUTS = "mlflow.spanInputs", "mlflow.spanOutputs"
_USAGE, _COST = "mlflow.chat.tokenUsage", "mlflow.llm.cost"
_SHORTEST_CUT = 250
_WITHOUT_SPANS = (
    "the search result has no whole question and answer: use `judgeboard pull "
    "mlflow`, or export the traces with spans"
)


# Exports of MLflow: traces as JSON, and tables of traces with assessments


def _is_trace(row: Mapping[str, Any]) -> bool:
    """Whether a row is a trace, or a reply with traces; traces of searches have no spans."""
    trace = next(_traces_in(row), {})
    spans = objects(value_at(trace, ("data", "spans")))
    info = parsed_object(trace.get("info"))
    of_info = (info.get(name) for name in ("trace_metadata", "request_metadata", "trace_location"))
    if _trace_id(info) != "" and any(isinstance(value, dict | list) for value in of_info):
        return True
    return any(
        name.startswith(_OWN) for span in spans[:1] for name in _attributes(span.get("attributes"))
    )


def _traces_in(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the traces of a row with ``info`` and ``data``, also from the cells of a table."""
    trace = parsed_object(row.get("trace"))
    traces = objects(row.get("traces")) if "info" not in row else []
    if traces:
        for each in traces:
            yield from _traces_in(each)
        return
    if not trace and isinstance(row.get("data"), dict):
        trace = dict(row)
    if not trace:
        trace = {"info": parsed_object(row.get("trace_info")) or dict(row)}
        if isinstance(row.get("spans"), list):
            trace["data"] = {"spans": row["spans"]}
    info = parsed_object(trace.get("info"))
    if not info.get("assessments") and objects(row.get("assessments")):
        trace["info"] = info | {"assessments": row["assessments"]}
    yield trace


def _trace_id(info: Mapping[str, Any]) -> str:
    """Return the id of a trace, which may be empty."""
    return str(info.get("trace_id") or info.get("request_id") or "").removeprefix("tr-")


def _attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of a span: an object, or a list of keys and values as in the REST interface."""
    if not isinstance(value, list):
        return parsed_object(value)
    return {
        str(each.get("key")): value_at(each, ("value", "string_value")) for each in objects(value)
    }


def _pairs(value: Any) -> dict[str, Any]:
    """Return an object, also from a list of keys and values, as in older REST interfaces."""
    if isinstance(value, list):
        return {str(each.get("key")): each.get("value") for each in objects(value)}
    return parsed_object(value)


@each_trace
def read_traces(row: Row) -> Iterator[Trace]:
    """Yield the traces of a row."""
    for trace in _traces_in(row.values):
        info = parsed_object(trace.get("info"))
        trace_id = _trace_id(info)
        trace_values = _pairs(info.get("trace_metadata") or info.get("request_metadata"))
        # Session and user are on the trace, not on spans. The dialect of MLflow reads both from the
        # root.
        of_trace = {name: trace_values[name] for name in (_SESSION, _USER) if name in trace_values}
        spans: list[Span] = []
        for span in objects(value_at(trace, ("data", "spans"))):
            span_id = _hexadecimal(span.get("span_id") or value_at(span, ("context", "span_id")))
            if span_id is None:
                continue
            parent = _hexadecimal(span.get("parent_span_id") or span.get("parent_id"))
            start = _number(span.get("start_time_unix_nano")) or span.get("start_time")
            end = _number(span.get("end_time_unix_nano")) or span.get("end_time")
            code = value_at(span, ("status", "code")) or span.get("status_code")
            message = value_at(span, ("status", "message")) or span.get("status_message")
            spans.append(
                Span(
                    trace_id=trace_id,
                    span_id=span_id,
                    parent_id=parent,
                    name=str(span.get("name") or ""),
                    started_ns=nanoseconds(start),
                    ended_ns=nanoseconds(end),
                    scope="mlflow",
                    attributes=_attributes(span.get("attributes")) | ({} if parent else of_trace),
                    error=str(message or "error") if str(code).endswith("ERROR") else None,
                )
            )
        reason = None
        if not spans and trace_id:
            spans = [_root(info, trace_id, trace_values | of_trace)]
            is_complete = {_INPUTS, _OUTPUTS} <= spans[0].attributes.keys() or spans[
                0
            ].error is not None
            reason = None if is_complete else _WITHOUT_SPANS
        if spans:
            metadata = trace_metadata(trace_values, _OWN) | trace_metadata(
                _pairs(info.get("tags")), _OWN
            )
            scores = [
                _score(each)
                for each in objects(info.get("assessments"))
                if (
                    each.get("valid") is not False
                    or value_at(each, ("source", "source_type")) != "HUMAN"
                )
            ]
            yield Trace(row, spans, scores, metadata, reason)


def _root(info: Mapping[str, Any], trace_id: str, trace_values: Mapping[str, Any]) -> Span:
    """Return a span with the facts of a trace without spans."""
    texts = [trace_values.get(f"mlflow.trace{name}") for name in ("Inputs", "Outputs")]
    inputs, outputs = map(_whole, texts)
    if all(texts):  # from MLflow's own libraries: previews of other senders may show any message
        question = _whole(info.get("request_preview"))
        if (
            inputs is None and question is not None
        ):  # in a dialogue, the preview is the last message of the user
            inputs = json.dumps({"messages": [{"role": "user", "content": question}]})
        outputs = outputs or _whole(info.get("response_preview"))
    if outputs is not None and outputs.startswith(
        ("{", "[")
    ):  # perhaps of a tool: without spans, nothing says so
        outputs = None
    started = nanoseconds(info.get("request_time") or info.get("timestamp_ms"))
    duration = str(info.get("execution_duration") or f"{info.get('execution_time_ms') or 0}ms")
    seconds = as_number(duration.rstrip("ms")) or 0.0
    attributes = {
        _INPUTS: inputs,
        _OUTPUTS: outputs,
        _USAGE: trace_values.get("mlflow.trace.tokenUsage"),
        _COST: trace_values.get("mlflow.trace.cost"),
        **{name: trace_values.get(name) for name in (_SESSION, _USER)},
    }
    return Span(
        trace_id=trace_id,
        span_id=trace_id[-2 * _SPAN_BYTES :],
        parent_id=None,
        name=str(_pairs(info.get("tags")).get("mlflow.traceName") or ""),
        started_ns=started,
        ended_ns=started + round(max(0.0, seconds) * (1e6 if duration.endswith("ms") else 1e9)),
        scope="mlflow",
        attributes=without_none(attributes),
        error="error" if (info.get("state") or info.get("status")) == "ERROR" else None,
    )


def _whole(text: Any) -> str | None:
    """Return a text that MLflow has not cut; MLflow cuts texts of 250 characters and more, and adds dots."""
    is_cut = isinstance(text, str) and len(text) >= _SHORTEST_CUT and text.endswith("...")
    return text if isinstance(text, str) and text and not is_cut else None


def _hexadecimal(value: Any) -> str | None:
    """Return the id of a span in hexadecimal, as in other tools. MLflow writes the eight bytes in base 64."""
    if not value:
        return None
    with suppress(ValueError):
        content = b64decode(str(value), validate=True)
        return content.hex() if len(content) == _SPAN_BYTES else str(value)
    return str(value)


def _number(value: Any) -> Any:
    """Return an integer, which JSON may have as a text."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() else value


def _score(assessment: Mapping[str, Any]) -> Score:
    error = value_at(assessment, ("feedback", "error", "error_message"))
    value = value_at(assessment, ("feedback", "value"))
    if value is None:
        value = value_at(assessment, ("expectation", "value"))
    return Score(
        name=str(assessment.get("assessment_name") or assessment.get("name")),
        value=parsed(value),
        by=str(value_at(assessment, ("source", "source_id")) or "MLflow"),
        human=value_at(assessment, ("source", "source_type")) == "HUMAN",
        reason=assessment.get("rationale"),
        error=error if isinstance(error, str) else None,
        at=assessment.get("last_update_time") or assessment.get("create_time"),
    )


_TRACES = Export(
    "MLflow traces",
    "mlflow",
    (
        Keys(("trace", "traces", "data", "spans", "trace_info"), holds=_is_trace),
        Keys(
            ("trace_id", "request_id"),
            ("trace_metadata", "request_metadata", "trace_location"),
            holds=_is_trace,
        ),
    ),
    read_traces,
    of_traces=True,
)


# Spans of MLflow, whose attributes are all JSON texts


_TYPES = {
    "CHAT_MODEL": Operation.MODEL,
    "LLM": Operation.MODEL,
    "RETRIEVER": Operation.RETRIEVAL,
    "TOOL": Operation.TOOL,
    "EMBEDDING": Operation.OTHER,
    "RERANKER": Operation.RERANKING,
    "PARSER": Operation.OTHER,
    "MEMORY": Operation.OTHER,
    "EVALUATOR": Operation.CHECK,
    "GUARDRAIL": Operation.CHECK,
}
_MISSING = "Content is off: MLflow leaves out questions and documents unless MLFLOW_ENABLE_OTEL_GENAI_SEMCONV=false."


def read_span(span: Span, logs: Sequence[LogRecord]) -> Part | None:  # noqa: ARG001 - the interface of all dialects
    """Read a span of MLflow; None for a span of another dialect."""
    if not any(name.startswith(_OWN) for name in span.attributes):
        # Spans that MLflow exported in the form of OTel GenAI. Calls of models and tools keep the
        # content, which the dialect of OTel GenAI reads. Functions keep only the type, and
        # retrievers come as tools without a result.
        attributes: dict[str, Any] = dict(span.attributes)
        if not span.scope.startswith("mlflow") or "gen_ai.tool.call.result" in attributes:
            return None
        operation = attributes.get("gen_ai.operation.name")
        is_call = operation in {"chat", "generate_content", "text_completion", "embeddings"}
        if (
            is_call
            or {"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments"}
            & attributes.keys()
        ):
            return None
        return Part(
            "mlflow",
            Operation.RETRIEVAL if operation in {"execute_tool", "RETRIEVER"} else Operation.APP,
            session=first_scalar(attributes, ("gen_ai.conversation.id", "session.id")),
            user=first_scalar(attributes, ("user.id",)),
            missing=_MISSING,
        )
    attributes = {name: parsed(value) for name, value in span.attributes.items()}
    operation = _TYPES.get(str(attributes.get("mlflow.spanType")).upper(), Operation.APP)
    outputs = attributes.get(_OUTPUTS)
    usage, cost = (parsed_object(attributes.get(name)) for name in (_USAGE, _COST))
    models = ("mlflow.llm.model", "model") if operation is Operation.MODEL else ()
    tags = under(attributes, "mlflow.traceTag.")
    trace_metadata = attributes.get("mlflow.traceMetadata") or attributes.get("metadata")
    return Part(
        "mlflow",
        operation,
        **contents(operation, attributes.get(_INPUTS), outputs, span.name),
        model=first_scalar(attributes, models),
        prompt_tokens=as_count(usage.get("input_tokens")),
        completion_tokens=as_count(usage.get("output_tokens")),
        cost=as_number(cost.get("total_cost")),
        session=first_scalar(attributes, (_SESSION, "session.id")),
        user=first_scalar(attributes, (_USER, "user.id")),
        metadata=own_metadata(parsed_object(trace_metadata) | tags),
    )


# Sent to MLflow: assessments of traces


def _access(address: str, environment: Mapping[str, str]) -> Access:
    names = ("TOKEN", "USERNAME", "PASSWORD")
    token, user, password = (
        environment.get(f"MLFLOW_TRACKING_{name}", "").strip() for name in names
    )
    if token:
        return Access(address, {"authorization": f"Bearer {token}"})
    return Access(address, auth=(user, password) if user else None)


def _send(http: Connection, items: Sequence[PushItem]) -> None:
    for item in items:
        path = f"/api/3.0/mlflow/traces/tr-{needed_trace_id(item)}/assessments"
        for score in item.scores:
            value = score.value if score.label is None else score.label
            _store(
                http,
                path,
                _assessment_body(item, score.name, {"feedback": {"value": value}}, score.reasoning),
            )
        if corrected := item.texts.get("corrected_answer"):
            expectation = {"expectation": {"value": corrected}}
            _store(http, path, _assessment_body(item, "expected_response", expectation, None))


def _assessment_body(
    item: PushItem, name: str, content: Mapping[str, Any], reasoning: str | None
) -> dict[str, Any]:
    # Any other source_type is stored as SOURCE_TYPE_UNSPECIFIED, without an error.
    source = {
        "source_type": "HUMAN" if item.by_person else "LLM_JUDGE",
        "source_id": item.more.get("by", f"judgeboard/{item.author}"),
    }
    assessment = {
        "assessment_id": f"a-{stable_id(item, name).hex}",
        "assessment_name": name,
        "source": source,
        "create_time": iso_z(item.at),
        "last_update_time": iso_z(item.at),
        "rationale": reasoning or item.note,
        "metadata": facts(item),
        "span_id": span_id_of(item),
        **content,
    }
    return without_none(assessment)


def _store(http: Connection, path: str, assessment: dict[str, Any]) -> None:
    try:
        http.send("POST", path, {"assessment": assessment})
    except Refused as error:
        # MLflow answers so to a stored assessment_id; the content may be new.
        if error.status != 500 or "constraint" not in str(error):
            raise
        content = "expectation" if "expectation" in assessment else "feedback"
        body = {"assessment": assessment, "update_mask": f"{content},rationale,metadata"}
        http.send("PATCH", f"{path}/{assessment['assessment_id']}", body)


MLFLOW = Target(
    "mlflow", ("MLFLOW_TRACKING_URI",), _access, _send, default_address="http://localhost:5000"
)


# History of MLflow: traces of an experiment with spans and assessments


_TRACES_OF_PAGE = 100
_SPANS_OF = 10  # traces whose spans come in one reply
_RUNNING = "IN_PROGRESS"


class MlflowHistory(History):
    """An experiment, by name or id."""

    target = MLFLOW
    default_project = "Default"

    def __init__(self, http: Connection, project: str | None) -> None:
        super().__init__(http, project)
        self._experiment = self._id()

    def _id(self) -> str:
        try:
            reply = self.get(
                "/api/2.0/mlflow/experiments/get-by-name", experiment_name=self.project
            )
        except Refused:
            if self.project.isdecimal():
                return self.project
            raise
        return str(reply["experiment"]["experiment_id"])

    def page(self, window: Window, position: str | None) -> Page:
        """Return the traces at a position, oldest first."""
        bounds = [f"timestamp_ms < {round(window.until.timestamp() * 1000)}"]
        if window.since is not None:
            bounds.append(f"timestamp_ms >= {round(window.since.timestamp() * 1000)}")
        location = {
            "type": "MLFLOW_EXPERIMENT",
            "mlflow_experiment": {"experiment_id": self._experiment},
        }
        body = {
            "locations": [location],
            "filter": " AND ".join(bounds),
            "order_by": ["timestamp_ms ASC"],
            "max_results": _TRACES_OF_PAGE,
        }
        body |= {"page_token": position} if position else {}
        reply = self.read("POST", "/api/3.0/mlflow/traces/search", body)
        infos = {
            str(info["trace_id"]): info
            for info in objects(reply.get("traces"))
            if info.get("trace_id") and info.get("state") != _RUNNING
        }
        spans: dict[str, list[JsonRow]] = {}
        for ids in batches(list(infos), _SPANS_OF):
            spans |= self._spans(ids)
        traces = {
            trace_id.removeprefix("tr-"): [
                {
                    "info": info
                    | {
                        "assessments": [
                            each
                            for each in objects(info.get("assessments"))
                            if not is_own(each.get("metadata"))
                        ]
                    },
                    "data": {"spans": spans.get(trace_id, [])},
                }
            ]
            for trace_id, info in infos.items()
        }
        return Page(_TRACES, traces, reply.get("next_page_token") or None)

    def _spans(self, trace_ids: Sequence[str]) -> dict[str, list[JsonRow]]:
        """Return the spans by trace. Only traces whose spans MLflow cannot read are left out."""
        try:
            reply = self.get("/api/3.0/mlflow/traces/batchGet", trace_ids=trace_ids)
        except Refused:
            if len(trace_ids) == 1:
                return {}
            half = len(trace_ids) // 2
            return self._spans(trace_ids[:half]) | self._spans(trace_ids[half:])
        traces = objects(reply.get("traces"))
        return {
            str(trace.get("trace_info", {}).get("trace_id")): objects(trace.get("spans"))
            for trace in traces
        }


TOOL = Tool(exports=(_TRACES,), spans=read_span, history=MlflowHistory, target=MLFLOW)

"""Phoenix, and its conventions OpenInference: spans, and annotations of spans and traces."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import quote

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
    scores_of,
)
from judgeboard.store.filters import value_at
from judgeboard.store.statements import batches
from judgeboard.store.tools import PushItem, PushScore
from judgeboard.text import as_utc
from judgeboard.tools.history import (
    History,
    JsonRow,
    Page,
    QueryValue,
    Window,
    by_key,
    rows_of_pages,
)
from judgeboard.tools.target import (
    Access,
    Connection,
    Refused,
    Target,
    facts,
    needed_trace_id,
    span_id_of,
)
from judgeboard.tools.tool import Tool
from judgeboard.traces.attributes import (
    REDACTED,
    as_count,
    as_number,
    as_text,
    first_scalar,
    literal,
    nested,
    own_metadata,
    parsed,
    parsed_object,
    session_and_user,
    tags_in,
    without_none,
)
from judgeboard.traces.content import arguments_of, messages_in, question_of, text_of, tool_calls_in
from judgeboard.traces.documents import passages_beside, passages_in
from judgeboard.traces.spans import LogRecord, Operation, Part, Passage, Span

_KIND = "openinference.span.kind"


# Exports of Phoenix: spans as a data frame (JSON lines, Parquet) or as the REST interface returns
# them


_PREFIX = "attributes."
_METADATA = ("metadata.", ".metadata.")


def _is_span(row: Mapping[str, Any]) -> bool:
    """Whether a row of a data frame has columns of attributes, or an object names the trace."""
    if {"context.trace_id", "context.span_id"} <= row.keys():
        return any(name.startswith(_PREFIX) for name in row)
    return isinstance(value_at(row, ("context", "trace_id")), str)


@each_span
def read_spans(row: Row) -> Trace | None:
    """Return the trace of a span, None without an id."""
    values = row.values
    trace_id = values.get("context.trace_id") or value_at(values, ("context", "trace_id"))
    span_id = values.get("context.span_id") or value_at(values, ("context", "span_id"))
    if not isinstance(trace_id, str) or not isinstance(span_id, str):
        return None
    values_by_name = values.get("attributes")
    if not isinstance(values_by_name, dict):
        # In CSV, pandas writes lists and objects as Python does. Questions and answers stay
        # unchanged.
        values_by_name = {
            name.removeprefix(_PREFIX): value if name.endswith(".value") else literal(value)
            for name, value in values.items()
            if name.startswith(_PREFIX) and value != ""
        }
    # The attributes as the span had them: dotted names with numbers for lists, metadata as JSON
    # text.
    attributes: dict[str, Any] = {}
    metadata: dict[str, dict[str, Any]] = {}
    for name, value in itertools.chain.from_iterable(
        itertools.starmap(_flat, values_by_name.items())
    ):
        metadata_name = next(
            (
                name[: name.index(mark) + len(mark) - 1]
                for mark in _METADATA
                if (name.startswith(mark) if mark[0] != "." else mark in name)
            ),
            None,
        )
        if metadata_name is None:
            attributes[name] = value
        else:
            metadata.setdefault(metadata_name, {})[name[len(metadata_name) + 1 :]] = value
    attributes |= {name: json.dumps(each, ensure_ascii=False) for name, each in metadata.items()}
    if isinstance(values.get("span_kind"), str):
        attributes.setdefault(_KIND, values["span_kind"])
    failed = values.get("status_code") == "ERROR"
    span = Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=str(values["parent_id"]) if values.get("parent_id") else None,
        name=str(values.get("name") or ""),
        started_ns=nanoseconds(values.get("start_time")),
        ended_ns=nanoseconds(values.get("end_time")),
        scope="openinference",
        attributes=attributes,
        error=(str(values.get("status_message") or "error")) if failed else None,
    )
    beside = [_score(each) for each in objects(values.get("annotations")) if each.get("name")]
    return Trace(row, [span], [*scores_of([span], ()), *beside])


@each_score
def read_annotations(values: Mapping[str, Any]) -> tuple[str, Score] | str:
    """Return the id of the span or trace of an annotation, and the score."""
    id_, name = (
        values.get("trace_id") or values.get("span_id"),
        values.get("name") or values.get("annotation_name"),
    )
    if not id_ or not name:
        return "the annotation has no name, or no span and no trace"
    result = {part: values.get(f"result.{part}") for part in ("score", "label", "explanation")}
    result |= parsed_object(values.get("result"))
    numbers = {part: number_in(value) for part, value in result.items()}
    return str(id_), _score({**values, "name": name, "result": numbers})


def _score(annotation: Mapping[str, Any]) -> Score:
    """Return the score of an annotation. The author is the user, or else the identifier."""
    score, label = (value_at(annotation, ("result", name)) for name in ("score", "label"))
    return Score(
        name=str(annotation["name"]),
        value=label if score is None else score,
        by=str(annotation.get("user_id") or annotation.get("identifier") or "Phoenix"),
        human=annotation.get("annotator_kind") == "HUMAN",
        reason=value_at(annotation, ("result", "explanation")),
        at=annotation.get("updated_at"),
    )


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield a value by dotted name; the objects in a list by number."""
    if value is None:
        return
    if isinstance(value, dict):
        # An object without the nulls that a table adds for the keys of other rows.
        yield (
            name,
            json.dumps(without_none(value), ensure_ascii=False),
        )
    elif isinstance(value, list) and objects(value):
        for number, item in enumerate(value):
            for inner, each in item.items() if isinstance(item, dict) else ():
                yield from _flat(f"{name}.{number}.{inner}", each)
    else:
        yield name, value


_SPANS = Export(
    "Phoenix spans",
    "phoenix",
    (
        Keys("context.trace_id", "context.span_id", holds=_is_span),
        Keys("context", "span_kind", "attributes", holds=_is_span),
    ),
    read_spans,
    of_traces=True,
)
_ANNOTATIONS = Export(
    "Phoenix annotations",
    "phoenix",
    (Keys("annotator_kind", ("span_id", "trace_id")),),
    read_annotations,
    of_traces=True,
    of_scores=True,
)


# Spans of OpenInference: dotted names with numbers for lists


_KINDS = {
    **dict.fromkeys(("CHAIN", "AGENT", "UNKNOWN"), Operation.APP),
    "LLM": Operation.MODEL,
    "RETRIEVER": Operation.RETRIEVAL,
    "RERANKER": Operation.RERANKING,
    "TOOL": Operation.TOOL,
    **dict.fromkeys(("GUARDRAIL", "EVALUATOR"), Operation.CHECK),
}
_HIDDEN = "Content is off: unset OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS."
_PREFIXES = ("openinference.", "llm.", "retrieval.documents", "reranker.")
_VARIABLES = (
    "question",
    "query",
    "query_str",
    "user_question",
    "user_query",
    "user_input",
    "input",
)
_MODELS = ("llm.response.model_name", "llm.model_name", "llm.request.model_name")


def read_span(span: Span, logs: Sequence[LogRecord]) -> Part | None:  # noqa: ARG001 - the interface of all dialects
    """Read a span of OpenInference."""
    fields = {name: value for name, value in span.attributes.items() if value != REDACTED}
    if not any(name.startswith(_PREFIXES) for name in fields):
        return None
    kind = fields.get(_KIND)
    if isinstance(kind, str):
        operation = _KINDS.get(kind.upper(), Operation.OTHER)
    elif any(name.startswith("retrieval.documents") for name in fields):
        operation = Operation.RETRIEVAL
    else:
        prefixes = ("llm.input_messages", "llm.output_messages", "llm.model_name")
        is_model = any(name.startswith(prefixes) for name in fields)
        operation = Operation.MODEL if is_model else Operation.OTHER
    has_texts = operation in {Operation.APP, Operation.MODEL}
    inputs, outputs = (_messages(fields, f"llm.{name}_messages") for name in ("input", "output"))
    messages = inputs or (messages_in(fields.get("input.value")) if has_texts else ())
    answer = text_of(outputs) if has_texts else None
    if has_texts and not outputs:
        choices = (each.get("completion") for each in nested(fields, "llm.choices"))
        answer = next(filter(None, map(text_of, choices)), None) or text_of(
            fields.get("output.value")
        )
    metadata = parsed_object(fields.get("metadata"))
    session, user = session_and_user(metadata)
    tool_calls = tool_calls_in(outputs)
    if operation is Operation.TOOL:
        name = as_text(fields.get("tool.name"))
        arguments = arguments_of(fields.get("input.value"))
        parameters = parsed(fields.get("tool.parameters"))
        # Some instrumentations put the arguments into the parameters, others the schema of the
        # arguments.
        has_arguments = isinstance(parameters, dict) and "properties" not in parameters
        if not isinstance(arguments, dict) and has_arguments:
            arguments = parameters
        values = {"arguments": arguments, "result": parsed(fields.get("output.value"))}
        call_values = without_none(values)
        call = {"id": as_text(fields.get("tool_call.id")), "name": name, **call_values}
        tool_calls = (call,) if name else ()
    return Part(
        dialect="openinference",
        operation=operation,
        question=question_of(messages) or _question(fields, operation),
        answer=answer,
        messages=messages,
        passages=_passages(fields, operation),
        tool_calls=tool_calls,
        model=first_scalar(fields, _MODELS)
        or first_scalar(
            parsed_object(fields.get("llm.invocation_parameters")), ("model", "model_name")
        ),
        prompt_tokens=as_count(fields.get("llm.token_count.prompt")),
        completion_tokens=as_count(fields.get("llm.token_count.completion")),
        cost=as_number(fields.get("llm.cost.total")),
        session=as_text(fields.get("session.id")) or session,
        user=as_text(fields.get("user.id")) or user,
        tags=tags_in(fields.get("tag.tags")),
        metadata=own_metadata(metadata),
        missing=_HIDDEN if len(fields) < len(span.attributes) else None,
    )


def _messages(fields: Mapping[str, Any], name: str) -> tuple[dict[str, Any], ...]:
    if name in fields:  # a list, or its JSON
        return messages_in(fields[name])
    messages = []
    for entry in nested(fields, name):
        message = entry.get("message", entry)
        if isinstance(message, dict):
            parts = message.get("contents")
            texts = [
                each.get("message_content", each)
                for each in (parts if isinstance(parts, list) else ())
                if isinstance(each, dict)
            ]
            content = message.get("content") or texts
            messages.append({"role": "assistant", **message, "content": content})
    return messages_in(messages)


def _question(fields: Mapping[str, Any], operation: Operation) -> str | None:
    if operation is Operation.RERANKING and "reranker.query" in fields:
        return question_of(fields["reranker.query"])
    if operation is Operation.MODEL:
        variables = parsed_object(fields.get("llm.prompt_template.variables"))
        prompts = (question_of(each.get("prompt")) for each in nested(fields, "llm.prompts"))
        if question := first_scalar(variables, _VARIABLES) or next(filter(None, prompts), None):
            return question
    return question_of(fields.get("input.value"))


def _passages(fields: Mapping[str, Any], operation: Operation) -> tuple[Passage, ...] | None:
    if operation is Operation.APP:
        return passages_beside(fields.get("output.value")) or passages_beside(
            fields.get("input.value")
        )
    if operation not in {Operation.RETRIEVAL, Operation.RERANKING}:
        return None
    name = (
        "reranker.output_documents" if operation is Operation.RERANKING else "retrieval.documents"
    )
    output_passages = passages_in(fields.get("output.value"))
    passages = passages_in(fields[name] if name in fields else nested(fields, name) or None)
    if (
        passages is None
        or output_passages is None
        or [each.text for each in output_passages] != [each.text for each in passages]
    ):
        return output_passages if passages is None else passages
    # LangChain has the ids only in the output.
    return tuple(
        replace(each, id=each.id or output_passage.id)
        for each, output_passage in zip(passages, output_passages, strict=True)
    )


# Sent to Phoenix: annotations of spans, or of traces if the span of an answer is unknown


def _access(address: str, environment: Mapping[str, str]) -> Access:
    key = environment.get("PHOENIX_API_KEY", "").strip()
    return Access(
        address.removesuffix("/v1/traces"), {"authorization": f"Bearer {key}"} if key else {}
    )


def _send(http: Connection, items: Sequence[PushItem]) -> None:
    of_spans = [item for item in items if span_id_of(item)]
    of_traces = [item for item in items if not span_id_of(item)]
    data = {
        "span": [
            _annotation_body(item, score, span_id=span_id_of(item))
            for item in of_spans
            for score in item.scores
        ],
        "trace": [
            _annotation_body(item, score, trace_id=needed_trace_id(item))
            for item in of_traces
            for score in item.scores
        ],
    }
    for kind, annotations in data.items():
        if annotations:
            # Without sync, Phoenix answers 200 for an unknown span.
            http.send("POST", f"/v1/{kind}_annotations?sync=true", {"data": annotations})


def _annotation_body(item: PushItem, score: PushScore, **subject: str | None) -> dict[str, Any]:
    result = {
        "score": score.value,
        "label": score.label,
        "explanation": score.reasoning or item.note,
    }
    return {
        "name": score.name,
        "annotator_kind": "HUMAN" if item.by_person else "LLM",
        **subject,
        "result": without_none(result),
        "metadata": facts(item),
        # Without an identifier, the annotations of two people would overwrite each other.
        "identifier": item.identifier,
    }


PHOENIX = Target(
    "phoenix",
    ("PHOENIX_COLLECTOR_ENDPOINT",),
    _access,
    _send,
    batch_size=50,
    default_address="http://localhost:6006",
)


# History of Phoenix: traces of a project, spans, and the annotations of spans and traces


_TRACES_OF_PAGE = 100  # of one page: the spans are selected by ids in the address
_MOST_IN_REPLY = 1_000
_IDS_IN_ADDRESS = 100  # in one address
_NOT_FOUND = 404
_LONGEST = timedelta(
    hours=1
)  # from the start of a trace to the end of the root; a later pull reads the trace again


class PhoenixHistory(History):
    """A project, by name or id."""

    target = PHOENIX

    def page(self, window: Window, position: str | None) -> Page:
        """Return the traces at a position, oldest first."""
        times = window.named("start_time", "end_time")
        reply = self._get(
            "traces",
            limit=_TRACES_OF_PAGE,
            cursor=position,
            sort="start_time",
            order="asc",
            **times,
        )
        ids = [str(trace.get("trace_id")) for trace in reply.get("data") or ()]
        if not ids:
            return Page(_SPANS, {}, None)
        spans = self._all("spans", limit=_MOST_IN_REPLY, trace_id=ids)
        traces = by_key(spans, "context", "trace_id")
        self._annotate(traces)
        # A trace without spans is reported, like every item that cannot be used.
        without_spans: dict[str, list[JsonRow]] = {
            trace_id: [{"context.trace_id": trace_id}] for trace_id in ids
        }
        young = {
            str(trace.get("trace_id"))
            for trace in reply["data"]
            if (start := trace.get("start_time")) is not None
            and as_utc(start) > window.until - _LONGEST
        }
        # The root of a young trace may follow: without the root, the output of another span would
        # become the answer.
        rootless = {
            each for each in young if all(row.get("parent_id") for row in traces.get(each, ()))
        }
        read = {
            each: rows for each, rows in (without_spans | traces).items() if each not in rootless
        }
        return Page(_SPANS, read, reply.get("next_cursor"))

    def _annotate(self, traces: dict[str, list[JsonRow]]) -> None:
        """Add the annotations of each span to the row of the span, and of a trace to the row of the root."""
        rows = {
            str(row["context"].get("span_id")): row for group in traces.values() for row in group
        }
        roots = {
            trace_id: next((row for row in group if not row.get("parent_id")), group[0])
            for trace_id, group in traces.items()
        }
        for path, name, owners in (
            ("span_annotations", "span_ids", rows),
            ("trace_annotations", "trace_ids", roots),
        ):
            for ids in batches(list(owners), _IDS_IN_ADDRESS):
                for annotation in self._annotations(path, {name: ids}):
                    row = owners.get(str(annotation.get(name.removesuffix("s"))))
                    if row is not None and not is_own(annotation.get("metadata")):
                        row.setdefault("annotations", []).append(annotation)

    def _annotations(self, path: str, ids: dict[str, Sequence[str]]) -> list[JsonRow]:
        try:
            return self._all(path, limit=_MOST_IN_REPLY, **ids)
        except Refused as error:
            if error.status != _NOT_FOUND:  # older servers have no annotations of traces
                raise
            return []

    def _all(self, path: str, **query: QueryValue) -> list[JsonRow]:
        return rows_of_pages(
            lambda cursor: self._get(path, cursor=cursor, **query), "data", "next_cursor"
        )

    def _get(self, path: str, **query: QueryValue) -> Any:
        return self.get(f"/v1/projects/{quote(self.project, safe='')}/{path}", **query)


TOOL = Tool(exports=(_SPANS, _ANNOTATIONS), spans=read_span, history=PhoenixHistory, target=PHOENIX)

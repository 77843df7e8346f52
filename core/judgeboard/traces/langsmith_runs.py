"""LangSmith's own protocol: runs in a multipart body or in JSON become spans and log records.

An SDK posts a run when it starts and patches it when it ends, in one request or in two. A run with an end becomes a
span with the attributes that LangSmith gives to spans. The start of a run becomes a log record of its span.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson

from judgeboard.errors import BadInput
from judgeboard.text import EPOCH, as_utc
from judgeboard.traces.attributes import DEEPEST, first, first_scalar, load_json, parsed, parsed_object
from judgeboard.traces.spans import LogRecord, Span

STARTED = "langsmith.run"
"""The event of a log record with what a run had at its start; its attributes are those of the span."""

_PART_NAME = re.compile(
    rb'name="(post|patch|feedback)\.([0-9a-fA-F-]{32,36})(?:\.(inputs|outputs|events|error|extra|serialized))?"'
)
_FEEDBACK = "feedback"
_BOUNDARY = re.compile(r'boundary="?([^";\s]{1,200})"?')
_START = re.compile(r"(\d{8}T\d{6})(\d{6})Z")


def runs_in(body: bytes, content_type: str) -> list[Span | LogRecord]:
    """Return the spans of the runs that ended and the log records of those that started. Raises BadInput."""
    parts = _parts(body, content_type) if "multipart/" in content_type else (("post", run) for run in _json(body))
    pieces = (piece for kind, piece in parts if kind != _FEEDBACK)
    return [_span(run) if run.get("end_time") else _started(run) for run in _merged(pieces)]


def feedback_in(body: bytes, content_type: str) -> list[dict[str, Any]]:
    """Return the feedback in a multipart body, which SDKs send among the runs. Raises BadInput."""
    if _FEEDBACK.encode() not in body or "multipart/" not in content_type:
        return []
    return [piece for kind, piece in _parts(body, content_type) if kind == _FEEDBACK]


def ids_of_feedback(feedback: Mapping[str, Any]) -> tuple[str, str]:
    """Return the ids of the trace and the span that a feedback is on; without a trace, its run is the root.

    Raises BadInput if it names no run and no trace.
    """
    trace, run = feedback.get("trace_id"), feedback.get("run_id")
    if trace is None and run is None:
        raise BadInput("a feedback needs run_id or trace_id: feedback on projects is not stored")
    return _uuid(trace or run).hex, _uuid(run or trace).hex[16:]


def _json(body: bytes) -> Iterator[dict[str, Any]]:
    """Yield the runs of a batch ({"post": […], "patch": […]}), of a list, or a single run."""
    content = _loaded(body)
    if isinstance(content, dict) and {"post", "patch"} & content.keys():
        content = [each for name in ("post", "patch") for each in content.get(name) or ()]
    for run in content if isinstance(content, list) else [content]:
        if not isinstance(run, dict):
            raise BadInput("a run of LangSmith is no JSON object")
        yield run


def _parts(body: bytes, content_type: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what a body has in parts ``post.ID``, ``post.ID.inputs`` and ``feedback.ID``, each with its first word.

    Other parts are left out.
    """
    boundary = _BOUNDARY.search(content_type)
    if boundary is None:
        raise BadInput("the multipart body names no boundary")
    for part in body.split(b"--" + boundary[1].encode())[1:]:
        head, blank, content = part.partition(b"\r\n\r\n")
        name = _PART_NAME.search(head)
        if name is not None and blank:
            value = _loaded(content.removesuffix(b"\r\n"))
            if name[3] is None and not isinstance(value, dict):
                raise BadInput("a run of LangSmith is no JSON object")
            fields = {name[3].decode(): value} if name[3] else value
            yield name[1].decode(), {**fields, "id": name[2].decode()}


def _loaded(text: bytes) -> Any:
    try:
        return load_json(text)
    except ValueError as error:
        raise BadInput(f"a run of LangSmith is no JSON: {error}") from None


def _merged(pieces: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one run for each id, with the last value of every field."""
    runs: dict[str, dict[str, Any]] = {}
    for piece in pieces:
        run = runs.setdefault(str(_uuid(piece.get("id"))), {})
        run |= {name: value for name, value in piece.items() if value is not None}
    return [run for run in runs.values() if run.keys() != {"id"}]


def _span(run: Mapping[str, Any]) -> Span:
    trace_id, span_id, parent_id = _ids(run)
    started = _nanoseconds(run.get("start_time")) or _start_in(run)
    ended = _nanoseconds(run.get("end_time"))
    error = run.get("error")
    return Span(
        trace_id,
        span_id,
        parent_id,
        str(run.get("name") or ""),
        started or ended,
        max(started, ended),
        "langsmith",
        run_attributes(run),
        error=str(error) if error else None,
    )


def _started(run: Mapping[str, Any]) -> LogRecord:
    trace_id, span_id, _ = _ids(run)
    at = _nanoseconds(run.get("start_time")) or _start_in(run)
    return LogRecord(trace_id, span_id, STARTED, at, attributes=run_attributes(run))


def run_attributes(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a run under the names that they have on LangSmith's spans."""
    extra, outputs = parsed_object(run.get("extra")), parsed(run.get("outputs"))
    # The session_id of a run is its project; the session of the user is in the metadata.
    metadata = parsed_object(extra.get("metadata")) | parsed_object(run.get("metadata"))
    parameters = parsed_object(extra.get("invocation_params"))
    usage = parsed_object(_inside(outputs, ("usage_metadata", "token_usage", "usage"), 0))
    attributes = {
        "langsmith.span.id": run.get("id"),
        "langsmith.span.kind": run.get("run_type"),
        "langsmith.trace.name": run.get("name"),
        "langsmith.span.tags": run.get("tags"),
        "gen_ai.prompt": _dumped(run.get("inputs")),
        "gen_ai.completion": _dumped(outputs),
        "gen_ai.response.model": _inside(outputs, ("model_name", "model"), 0),
        "gen_ai.request.model": first_scalar(metadata, ("ls_model_name",))
        or first_scalar(parameters, ("model", "model_name")),
        "gen_ai.usage.input_tokens": run.get("prompt_tokens") or first(usage, ("input_tokens", "prompt_tokens")),
        "gen_ai.usage.output_tokens": run.get("completion_tokens")
        or first(usage, ("output_tokens", "completion_tokens")),
        "gen_ai.usage.cost": run.get("total_cost"),
        **{f"langsmith.metadata.{name}": value for name, value in metadata.items()},
    }
    return {name: value for name, value in attributes.items() if value is not None}


def _dumped(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else orjson.dumps(value).decode()


def _inside(value: Any, names: tuple[str, ...], depth: int) -> Any:
    """Return the first value under one of the names at any depth."""
    if depth > DEEPEST or not isinstance(value, dict | list):
        return None
    if isinstance(value, dict) and (inner_value := first(value, names)) is not None:
        return inner_value
    inner = value.values() if isinstance(value, dict) else value
    return next((inner_value for each in inner if (inner_value := _inside(each, names, depth + 1)) is not None), None)


def _ids(run: Mapping[str, Any]) -> tuple[str, str, str | None]:
    """Return the ids of trace, span and parent. The id of a span is the random half of the id of its run."""
    own, parent = _uuid(run.get("id")), run.get("parent_run_id")
    steps = [step[-36:] for step in str(run.get("dotted_order") or "").split(".") if step]
    if parent is None and len(steps) > 1:
        parent = steps[-2]
    trace = run.get("trace_id") or (steps[0] if steps else own)
    return _uuid(trace).hex, own.hex[16:], None if parent is None else _uuid(parent).hex[16:]


def _uuid(value: Any) -> UUID:
    try:
        return UUID(str(value))
    except ValueError:
        raise BadInput(f"a run of LangSmith has no id: {str(value)[:60]!r}") from None


def _start_in(run: Mapping[str, Any]) -> int:
    """Return the start of a run in its place in the trace (``20261121T034627440607Z<id>``)."""
    starts = _START.findall(str(run.get("dotted_order") or ""))
    return _nanoseconds(f"{starts[-1][0]}.{starts[-1][1]}Z") if starts else 0


def _nanoseconds(value: Any) -> int:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value * 1_000_000) if 0 < value < 1e14 else 0  # JavaScript sends milliseconds
    try:
        return (as_utc(value) - EPOCH) // timedelta(microseconds=1) * 1000
    except (ValueError, TypeError, OverflowError):
        return 0

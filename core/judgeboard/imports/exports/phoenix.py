"""Phoenix: spans as a data frame (JSON lines, Parquet) or as its REST interface returns them."""

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from judgeboard.formats.files import Row
from judgeboard.imports.exports.entry import as_object, objects
from judgeboard.imports.exports.traced import Score, Trace, each_score, each_span, nanoseconds, number_in, scores_of
from judgeboard.store.filters import value_at
from judgeboard.traces.attributes import literal
from judgeboard.traces.spans import Span

_PREFIX = "attributes."
_KIND = "openinference.span.kind"
_METADATA = ("metadata.", ".metadata.")


@each_span
def read(row: Row) -> Trace | None:
    """Return the trace of a span, None if it has no id."""
    values = row.values
    trace_id = values.get("context.trace_id") or value_at(values, ("context", "trace_id"))
    span_id = values.get("context.span_id") or value_at(values, ("context", "span_id"))
    if not isinstance(trace_id, str) or not isinstance(span_id, str):
        return None
    attributes = _attributes(values)
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
    """Return the id of the span or trace of an annotation, and its score."""
    id_, name = values.get("trace_id") or values.get("span_id"), values.get("name") or values.get("annotation_name")
    if not id_ or not name:
        return "the annotation has no name, or no span and no trace"
    result = {part: values.get(f"result.{part}") for part in ("score", "label", "explanation")}
    result |= as_object(values.get("result"))
    read = {part: number_in(value) for part, value in result.items()}
    return str(id_), _score({**values, "name": name, "result": read})


def _score(annotation: Mapping[str, Any]) -> Score:
    """Return the score of an annotation. Its author is the user, or else the identifier."""
    score, label = (value_at(annotation, ("result", name)) for name in ("score", "label"))
    return Score(
        name=str(annotation["name"]),
        value=label if score is None else score,
        by=str(annotation.get("user_id") or annotation.get("identifier") or "Phoenix"),
        human=annotation.get("annotator_kind") == "HUMAN",
        reason=value_at(annotation, ("result", "explanation")),
        at=annotation.get("updated_at"),
    )


def _attributes(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes as the span had them: dotted names with numbers for lists, metadata as JSON text."""
    nested = row.get("attributes")
    if isinstance(nested, dict):
        own = nested
    else:
        # In CSV, pandas writes lists and objects as Python does. Questions and answers stay as they are.
        own = {
            name.removeprefix(_PREFIX): value if name.endswith(".value") else literal(value)
            for name, value in row.items()
            if name.startswith(_PREFIX) and value != ""
        }
    attributes: dict[str, Any] = {}
    objects_by_name: dict[str, dict[str, Any]] = {}
    for name, value in itertools.chain.from_iterable(itertools.starmap(_flat, own.items())):
        whole = next((name[: name.index(mark) + len(mark) - 1] for mark in _METADATA if _is_inside(name, mark)), None)
        if whole is None:
            attributes[name] = value
        else:
            objects_by_name.setdefault(whole, {})[name[len(whole) + 1 :]] = value
    return attributes | {name: json.dumps(value, ensure_ascii=False) for name, value in objects_by_name.items()}


def _is_inside(name: str, mark: str) -> bool:
    return name.startswith(mark) if mark[0] != "." else mark in name


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield a value by its dotted name; the objects in a list by their numbers."""
    if value is None:
        return
    if isinstance(value, dict):
        yield name, json.dumps(_present(value), ensure_ascii=False)
    elif isinstance(value, list) and objects(value):
        for number, item in enumerate(value):
            for inner, each in item.items() if isinstance(item, dict) else ():
                yield from _flat(f"{name}.{number}.{inner}", each)
    else:
        yield name, value


def _present(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object without the nulls that a table adds for the keys of other rows."""
    return {name: each for name, each in value.items() if each is not None}

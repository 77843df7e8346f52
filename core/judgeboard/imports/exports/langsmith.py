"""LangSmith: exported runs. A run is a span; runs with the same trace id are one trace."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from judgeboard.formats.files import Row
from judgeboard.imports.exports.entry import as_object, objects
from judgeboard.imports.exports.traced import Score, Trace, each_score, each_span, nanoseconds, number_in
from judgeboard.store.filters import value_at
from judgeboard.traces.langsmith_runs import run_attributes
from judgeboard.traces.spans import Span


@each_span
def read(row: Row) -> Trace | None:
    """Return the trace of a run, None if it has no id."""
    values = row.values
    span_id = values.get("id")
    trace_id = values.get("trace_id") or (None if values.get("parent_run_id") else span_id)
    if not span_id or not trace_id or "run_type" not in values:
        return None
    started = nanoseconds(values.get("start_time"))
    span = Span(
        trace_id=_as_received(str(trace_id)),
        span_id=str(span_id),
        parent_id=str(values["parent_run_id"]) if values.get("parent_run_id") else None,
        name=str(values.get("name") or ""),
        started_ns=started,
        ended_ns=max(started, nanoseconds(values.get("end_time"))),
        scope="langsmith",
        attributes=run_attributes(values),
        error=str(values["error"]) if values.get("error") else None,
    )
    return Trace(row, [span], _scores(values))


def _as_received(trace_id: str) -> str:
    """Return the id of a trace as the receiver writes it: without hyphens."""
    try:
        return UUID(trace_id).hex
    except ValueError:
        return trace_id


def _scores(values: Mapping[str, Any]) -> list[Score]:
    """Return the feedback on a run, or else its mean scores."""
    if isinstance(values.get("feedback"), list):
        return [score_of(each) for each in objects(values["feedback"]) if each.get("key")]
    feedback = as_object(values.get("feedback_stats"))
    means = {name: value_at(stats, ("avg",)) for name, stats in feedback.items()}
    return [Score(name, value, "LangSmith") for name, value in means.items() if value is not None]


@each_score
def read_feedback(values: Mapping[str, Any]) -> tuple[str, Score] | str:
    """Return the id of the trace of a feedback, and the feedback. Without a trace, its run is the root."""
    trace_id = values.get("trace_id") or values.get("run_id")
    if not trace_id or not values.get("key"):
        return "the feedback has no run, or no key"
    read = {name: number_in(values.get(name)) for name in ("score", "value")}
    return _as_received(str(trace_id)), score_of({**values, **read})


def score_of(feedback: Mapping[str, Any]) -> Score:
    """Return one feedback. What people enter on LangSmith's pages has the source "app"."""
    source = as_object(feedback.get("feedback_source"))
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

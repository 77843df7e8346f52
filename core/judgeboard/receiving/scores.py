"""Scores of other evaluators that come beside the spans: results of evaluations (OpenTelemetry) and scores of Langfuse.

They are log records of their trace, and wait with it. When the trace has an answer, thumbs become its feedback, and
other scores a verdict of the evaluator.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, select

from judgeboard.domain import RunState
from judgeboard.errors import BadInput
from judgeboard.imports.exports.entry import as_object, objects
from judgeboard.imports.exports.langfuse import score_of
from judgeboard.imports.exports.traced import BY, EVALUATION, EVENT, PUSHED, Score, nanoseconds, scored
from judgeboard.imports.fields import Cells, Unusable, fault_in
from judgeboard.imports.history.pages import is_own
from judgeboard.imports.recorded import VerdictImport
from judgeboard.imports.responses import feedback_in
from judgeboard.receiving.records import json_in_body
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.runs import finish_run, import_run_since, start_import_run
from judgeboard.store.storing import add_feedback
from judgeboard.store.tables import RESPONSE
from judgeboard.traces.spans import LogRecord

ACTOR = "receiver"
_TRACE_DIGITS = 32


def langfuse_scores_in(body: bytes) -> tuple[list[LogRecord], Any]:
    """Return the log records of the scores in a body, and the reply to it.

    The body is a score, a list, or a batch of events. Raises BadInput if it is none of these.
    """
    content = json_in_body(body)
    if isinstance(content, dict) and isinstance(content.get("batch"), list):
        events = objects(content["batch"])
        scores = [as_object(event.get("body")) if event.get("type") == "score-create" else {} for event in events]
        read = [_record(score) for score in scores]
        replies = [
            {"id": event.get("id"), "status": 400, "message": each}
            if isinstance(each, str)
            else {"id": event.get("id")}
            for event, each in zip(events, read, strict=True)
        ]
        reply: Any = {
            "successes": [each | {"status": 201} for each in replies if "message" not in each],
            "errors": [each for each in replies if "message" in each],
        }
    elif isinstance(content, list) and len(objects(content)) == len(content):
        read = [_record(score) for score in content]
        reply = [{"id": score.get("id")} for score in content]
    elif isinstance(content, dict):
        read = [_record(content)]
        if isinstance(read[0], str):
            raise BadInput(read[0])
        reply = {"id": content.get("id")}
    else:
        raise BadInput("the body is neither a score nor a list of scores")
    return [each for each in read if isinstance(each, LogRecord)], reply


def _record(score: Mapping[str, Any]) -> LogRecord | str:
    """Return the log record of a score, or why it has none."""
    if fault := fault_in(dict(score)):
        return f"{fault[0]}: {fault[1]}"
    trace_id, span_id, name = (score.get(key) for key in ("traceId", "observationId", "name"))
    if not isinstance(name, str) or not name:
        return "only scores are taken here, and a score needs a name: send traces to /v1/traces"
    if not isinstance(trace_id, str) or len(trace_id) != _TRACE_DIGITS:
        return "a score needs the traceId of an answer: scores of sessions are not stored"
    read = score_of(score)
    if read.human:
        return "annotations of people are not taken here: import them with `judgeboard pull langfuse`"
    attributes = {
        EVALUATION + "name": read.name,
        EVALUATION + "score.value": read.value,
        EVALUATION + "explanation": read.reason,
        BY: read.by,
        **({PUSHED: score.get("id")} if is_own(score.get("metadata")) else {}),
    }
    at = nanoseconds(score.get("timestamp"))
    return LogRecord(trace_id.lower(), span_id if isinstance(span_id, str) else "", EVENT, at, attributes=attributes)


class _ReceivedVerdicts(VerdictImport):
    """Verdicts that come one by one: a judge version has one run a day."""

    def run(self, connection: Connection, version: StoredVersion, now: datetime) -> int:
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        known = import_run_since(connection, version.id, ACTOR, day)
        if known is not None:
            return known
        started = start_import_run(connection, version, ACTOR, now).id
        finish_run(connection, started, RunState.DONE, now=now + timedelta(microseconds=1))
        return started


def store_scores(connection: Connection, scores: Mapping[int, Sequence[Score]], now: datetime) -> None:
    """Store the scores of answers by response, as far as they are not stored yet."""
    query = select(RESPONSE.c.id, RESPONSE.c.external_id, RESPONSE.c.source).where(RESPONSE.c.id.in_(scores))
    kind = _ReceivedVerdicts(None, ACTOR)
    kind.newer_counts = True
    verdicts = []
    for response_id, external_id, source in connection.execute(query).all() if scores else ():
        entry = scored(scores[response_id])
        with suppress(Unusable):
            feedback = feedback_in(Cells.of(entry.answer or {}))
            add_feedback(connection, {response_id: feedback}, (), None, now)
        for row in entry.verdicts:
            if row.get("status") != "error":  # only scores on other scales
                with suppress(Unusable):
                    verdicts.append(kind.build(Cells.of({"external_id": external_id, "source": source, **row})))
    if verdicts:
        kind.store(connection, verdicts, now)

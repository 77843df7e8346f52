"""Reads answers, judgments and feedback in requests, and stores the scores of other evaluators.

Answers, judgments and feedback have the fields of `judgeboard import`. Scores come beside the spans: results of
evaluations (OpenTelemetry), scores of Langfuse and feedback of LangSmith are log records of their trace, and wait with
it. When the trace has an answer, thumbs become its feedback, and other scores a verdict of the evaluator.
"""

import io
import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic

from sqlalchemy import Connection, select

from judgeboard.domain import Feedback, Rejected
from judgeboard.errors import BadInput
from judgeboard.imports.exports.traced import Score, scored
from judgeboard.imports.fields import MAX_ID, Cells, Unusable, fault_in
from judgeboard.imports.kinds import KINDS, ImportKind, Record
from judgeboard.imports.reading import read_records
from judgeboard.imports.recorded import VerdictImport
from judgeboard.imports.responses import feedback_in
from judgeboard.receiving.keys import Sender
from judgeboard.store.storing import add_feedback
from judgeboard.store.tables import RESPONSE
from judgeboard.store.traces import NewFeedback, NewSpan, store_spans, traces_of_spans
from judgeboard.traces.sdk_requests import json_in_body

MOST_LISTED = 100  # rejected rows in a reply
_GZIP = b"\x1f\x8b"


@dataclass(slots=True)
class Records(Generic[Record]):
    """The answers or judgments of a request; ``rows`` are their places in it, from 1.

    ``other_fields`` says of the fields that are not known what becomes of them, by name.
    """

    kind: ImportKind[Record]
    kind_name: str
    items: list[Record] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)
    other_fields: dict[str, str] = field(default_factory=dict)


def records_in_body(body: bytes, sender: Sender, kind: str) -> Records[Any]:
    """Return the records of a kind (``responses`` or ``verdicts``) in a body: an object or a list.

    Raises BadInput if none can be used, and Refused for another source. A verdict that differs from the stored one of
    its judge version is a newer one.
    """
    if body.startswith(_GZIP):  # reading it would unpack without a limit
        raise BadInput("the body is compressed: name it in Content-Encoding")
    with read_records(
        io.BytesIO(body),
        kind=kind,
        format="json",
        source=sender.owner or None,
        name="the body",
        actor=sender.actor,
        newer_counts=True,
        names_source=True,
    ) as reading:
        records = Records(reading.kind, kind)
        for item in reading:
            if isinstance(item, Rejected):
                records.rejected.append(_problem(item.line, item.field, item.reason))
            else:
                named = item.source and sender.checked_source(item.source)  # a verdict needs no source
                records.items.append(replace(item, source=named))
                records.rows.append(reading.line)
        left_over = (use for use in reading.columns() if use.unasked and use.theirs is not None)
        records.other_fields = {str(use.theirs): use.how for use in itertools.islice(left_over, MOST_LISTED)}
    if not records.items:
        raise BadInput(_nothing_usable(kind, records.rejected))
    return records


def _nothing_usable(kind: str, rejected: Sequence[Mapping[str, Any]]) -> str:
    """Return that no record can be used, with the reason of the first one."""
    noun = KINDS[kind].noun
    first = f"the body has no {noun}"
    if rejected:
        first = ": ".join(rejected[0][name] for name in ("field", "reason") if rejected[0][name])
    return f"no {noun} can be used: {first}"


def _problem(row: int, name: str | None, reason: str) -> dict[str, Any]:
    return {"row": row, "field": name, "reason": reason}


def store_records(connection: Connection, records: Records[Any], now: datetime) -> dict[str, Any]:
    """Store the records of a request and return the reply to it. It has a ``message`` only if none could be stored."""
    stored = records.kind.store(connection, records.items, now)
    rejected = [
        *records.rejected,
        *(_problem(records.rows[problem.index], problem.field, problem.reason) for problem in stored.problems),
    ]
    nothing = not (stored.new or stored.unchanged or stored.feedback_added)
    return {
        **({"message": _nothing_usable(records.kind_name, rejected)} if nothing else {}),
        "stored": stored.new,
        "unchanged": stored.unchanged,
        **({"feedback_added": stored.feedback_added} if records.kind.brings_answers else {}),
        "rejected": len(rejected),
        "problems": rejected[:MOST_LISTED],
        "other_fields": records.other_fields,
    }


_SUBJECTS = {"response_id": "response_key", "trace_id": "trace_key", "span_id": "span_key"}
_OF_FEEDBACK = ("thumbs", "stars", "feedback")


def feedback_in_body(body: bytes, sender: Sender) -> list[NewFeedback]:
    """Return the feedback in a body: an object or a list.

    Raises BadInput for the first that cannot be used, and Refused for another source than that of the key.
    """
    content = json_in_body(body)
    entries = content if isinstance(content, list) else [content]
    if not entries:
        raise BadInput("the body has no feedback")
    return [each for number, entry in enumerate(entries, start=1) for each in _feedback(number, entry, sender)]


def _feedback(number: int, entry: Any, sender: Sender) -> list[NewFeedback]:
    if not isinstance(entry, dict):
        raise BadInput(f"feedback {number} is not an object")
    if fault := fault_in(entry):
        raise BadInput(f"feedback {number}: {fault[0]} {fault[1]}")
    subjects = {ours: _key(entry[name]) for name, ours in _SUBJECTS.items() if entry.get(name) is not None}
    if len(subjects) != 1:
        raise BadInput(f"feedback {number} needs one of {', '.join(_SUBJECTS)}")
    try:
        feedback = feedback_in(_cells(entry))
    except Unusable as fault_:
        raise BadInput(f"feedback {number}: {fault_.field}: {fault_.reason}") from None
    if not feedback:
        raise BadInput(f'feedback {number} has no value: {{"thumbs": "up"}} or {{"stars": 4}}')
    owner = sender.owner if entry.get("source") is None else sender.checked_source(_key(entry["source"]))
    return [NewFeedback(each, owner, **subjects) for each in feedback]


def _cells(entry: Mapping[str, Any]) -> Cells:
    """Return the entry as a row of an import: its scale and value, with user and time."""
    about = {name: entry[name] for name in ("user", "at") if entry.get(name) is not None}
    values: dict[str, Any] = {}
    for name in ("thumbs", "stars"):
        if entry.get(name) is not None:
            values[name] = {name: entry[name], **about}
    if entry.get("kind") is not None:
        values["feedback"] = {"kind": entry["kind"], "value": entry.get("value"), **about}
    elif isinstance(entry.get("feedback"), dict):
        values["feedback"] = {**entry["feedback"], **about}
    return Cells.of(values)


def _key(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_ID:
        raise BadInput(f"an id is a text of 1 to {MAX_ID} characters")
    return value.strip()


ACTOR = "receiver"


def store_records_of_traces(connection: Connection, records: Sequence[NewSpan], owner: str, now: datetime) -> None:
    """Store spans and log records with their traces. A score of a run may not name its trace, but the run."""
    runs = ["" if record.kind == "span" else record.span_id.partition(":")[0] for record in records]
    of_root = {run for record, run in zip(records, runs, strict=True) if run and record.trace_id.endswith(run)}
    known = traces_of_spans(connection, of_root, owner) if of_root else {}
    placed = [
        replace(record, trace_id=known[run]) if run in known else record
        for record, run in zip(records, runs, strict=True)
    ]
    store_spans(connection, placed, owner, now)


def store_scores(connection: Connection, scores: Mapping[int, Sequence[Score]], now: datetime) -> dict[int, list[str]]:
    """Store the scores of answers by response, as far as they are not stored yet.

    Return, by response, the names of those that are not used, because their scale is not known.
    """
    query = select(RESPONSE.c.id, RESPONSE.c.external_id, RESPONSE.c.source).where(RESPONSE.c.id.in_(scores))
    kind = VerdictImport(None, ACTOR)
    kind.newer_counts = True
    verdicts = []
    feedback: dict[int, tuple[Feedback, ...]] = {}
    unused: dict[int, list[str]] = {}
    for response_id, external_id, source in connection.execute(query).all() if scores else ():
        entry = scored(scores[response_id])
        with suppress(Unusable):
            feedback[response_id] = feedback_in(Cells.of(entry.answer or {}))
        for row in entry.verdicts:
            numbers = [name for name, value in row.get("raw", {}).items() if isinstance(value, int | float)]
            if numbers:
                unused.setdefault(response_id, []).extend(numbers)
            if row.get("status") != "error":  # only scores on other scales
                with suppress(Unusable):
                    verdicts.append(kind.build(Cells.of({"external_id": external_id, "source": source, **row})))
    add_feedback(connection, feedback, (), None, now)
    if verdicts:
        kind.store(connection, verdicts, now)
    return unused

"""Reads answers and feedback in the JSON of a request, with the fields of `judgeboard import`."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Rejected, Response
from judgeboard.errors import BadInput
from judgeboard.imports.fields import MAX_ID, Cells, Unusable, fault_in
from judgeboard.imports.importing import read_records
from judgeboard.imports.kinds import ImportKind
from judgeboard.imports.responses import feedback_in
from judgeboard.receiving.keys import UNNAMED, Sender
from judgeboard.store.traces import NewFeedback

MOST_LISTED = 100  # rejected rows in a reply
_GZIP = b"\x1f\x8b"


@dataclass(slots=True)
class Records:
    """The answers of a request; ``rows`` are their places in it, from 1."""

    kind: ImportKind[Response]
    responses: list[Response] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)


def responses_in_body(body: bytes, sender: Sender) -> Records:
    """Return the answers in a body. Raises BadInput if none can be used, and Refused for another source."""
    if body.startswith(_GZIP):  # reading it would unpack without a limit
        raise BadInput("the body is compressed: name it in Content-Encoding")
    with read_records(
        io.BytesIO(body), format="json", source=sender.owner or UNNAMED, name="the body", actor=sender.actor
    ) as reading:
        records = Records(reading.kind)
        for item in reading:
            if isinstance(item, Rejected):
                records.rejected.append(_problem(item.line, item.field, item.reason))
            else:
                records.responses.append(replace(item, source=sender.checked_source(item.source)))
                records.rows.append(reading.line)
    if not records.responses:
        first = "the body has no answer"
        if records.rejected:
            first = ": ".join(records.rejected[0][name] for name in ("field", "reason") if records.rejected[0][name])
        raise BadInput(f"no answer can be used: {first}")
    return records


def _problem(row: int, name: str | None, reason: str) -> dict[str, Any]:
    return {"row": row, "field": name, "reason": reason}


def store_records(connection: Connection, records: Records, now: datetime) -> dict[str, Any]:
    """Store the answers of a request and return the reply to it."""
    stored = records.kind.store(connection, records.responses, now)
    rejected = [
        *records.rejected,
        *(_problem(records.rows[problem.index], problem.field, problem.reason) for problem in stored.problems),
    ]
    return {
        "stored": stored.new,
        "unchanged": stored.unchanged,
        "feedback_added": stored.feedback_added,
        "rejected": len(rejected),
        "problems": rejected[:MOST_LISTED],
    }


def json_in_body(body: bytes) -> Any:
    """Return the value of a JSON text, also with texts and numbers that cannot be stored. Raises BadInput."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise BadInput("the body is not JSON") from None


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

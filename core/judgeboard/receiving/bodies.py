"""The JSON bodies of requests with answers, judgments and feedback: fields, reading and storing.

OpenAPI describes the fields, the types, and an example. The importers read answers and judgments,
and also know other names of the fields. A test compares the fields and types here with the fields
that the importers take.
"""

import io
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Literal

from pydantic import Field

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput, TooLarge
from judgeboard.imports.fields import MAX_ID, Cells, Unusable, fault_in
from judgeboard.imports.kinds import KINDS, ImportKind, Record, Stored
from judgeboard.imports.reading import read_records
from judgeboard.imports.responses import feedback_in
from judgeboard.receiving.keys import Sender
from judgeboard.receiving.writing import BATCH
from judgeboard.store.traces import NewFeedback
from judgeboard.traces.elements import MOST_RECORDS
from judgeboard.traces.sdk_requests import RequestBody, json_in_body

Name = str | int
"""An id or a name."""
Time = str | float
"""A time in ISO 8601, or seconds since 1970."""
Thumbs = Literal["up", "down", -1, 0, 1] | bool
"""A user's thumbs: 1 and True are up, -1, 0 and False are down."""


class SentAnswer(RequestBody):
    """An answer with its question. Fields that are not listed are kept in its metadata; the reply names them."""

    example: ClassVar[Mapping[str, Any]] = {
        "external_id": "answer-1",
        "source": "shop",
        "query": "At what temperature does nylon melt?",
        "answer": "Nylon melts at about 250 °C.",
        "context": ["Slings. Nylon melts at about 250 °C."],
        "generator_model": "gpt-4o-mini",
    }

    external_id: Name | None = Field(
        None, description="Id of the answer at your side, also `id` (default: from the content)."
    )
    source: Name | None = Field(
        None, description="Name of the assistant (default: that of the key, or `default`)."
    )
    query: str = Field(description="The question, also `question`, `input` or `prompt`.")
    answer: str = Field(description="The answer, also `response` or `output`.")
    context: list[str | dict[str, Any]] | dict[str, Any] | str | None = Field(
        None,
        description="The retrieved passages, also `passages` or `contexts`: texts, or objects with a `text`.",
    )
    query_type: Name | None = Field(None, description="Type of the question, to compare slices.")
    generator_model: Name | None = Field(None, description="The model that answered, also `model`.")
    generator_cost: float | None = Field(
        None, ge=0, description="Cost of the answer, in your currency."
    )
    messages: list[dict[str, Any]] | None = Field(
        None, description="Earlier messages, each with `role` and `content`."
    )
    reference: str | list[str] | None = Field(
        None, description="The right answer, also `ground_truth`."
    )
    asked_at: Time | None = Field(
        None, description="Time of the question in ISO 8601, also `timestamp`."
    )
    metadata: dict[str, Any] | None = Field(None, description="What else is known.")
    thumbs: Thumbs | None = Field(None, description="Feedback of the user.")
    stars: float | None = Field(None, ge=1, le=5, description="Feedback of the user, 1 to 5 stars.")
    feedback: list[dict[str, Any]] | dict[str, Any] | str | float | bool | None = Field(
        None, description='Feedback of users: `{"thumbs": "up", "user": "ann"}` or a list.'
    )


class SentJudgment(RequestBody):
    """A judge's verdict on a stored answer: groundedness, quality, a label or scores, or a status without a verdict.

    Another verdict of the same judge version on the answer is a newer one. The reply names fields
    that are not listed; they are not stored.
    """

    example: ClassVar[Mapping[str, Any]] = {
        "external_id": "answer-1",
        "source": "shop",
        "judge": "my judge",
        "judge_version": "2026-10",
        "judge_model": "gpt-4o",
        "label": "hallucinated",
        "quality": 2,
        "reasoning": "The passages name another temperature.",
    }

    external_id: Name = Field(
        description="Id of the answer, also `response_id`, `trace_id` or `id`."
    )
    source: Name | None = Field(
        None, description="Source of the answer, if several sources have its id."
    )
    judge: Name = Field(description="Name of the judge. Each name has its own version numbers.")
    judge_version: Name | None = Field(
        None, description="Any text that names the version of the judge."
    )
    judge_model: Name | None = Field(
        None, description="The model of the judge, a part of its version."
    )
    groundedness: float | None = Field(
        None, description="Support by the passages: 0 to 1, or on `scale`."
    )
    quality: float | None = Field(None, description="1 (bad) to 4 (good), or a score on `scale`.")
    label: Literal["grounded", "hallucinated", 0, 1] | bool | None = Field(
        None, description="Also true and false, pass and fail …"
    )
    scores: dict[str, Any] | None = Field(
        None,
        description='Scores by name, on `scale`, or each with its own: `{"tone": {"value": 4, "scale": "1-5"}}`.',
    )
    scale: str | None = Field(
        None,
        description="Scale of all these numbers, such as 1-5. The groundedness is converted from it.",
    )
    reasoning: str | None = Field(None, description="Why the judge decided so.")
    claims: list[dict[str, Any]] | None = Field(
        None,
        description="Statements of the answer: `text`, `status` (supported, unsupported, contradicted), "
        "`answer_quote`, `passage` (from 1), `passage_quote`.",
    )
    raw: Any = Field(None, description="The reply of the judge's model.")
    status: Literal["ok", "unparsable", "refused", "error"] | None = Field(
        None, description="Why there is no verdict (default: ok)."
    )
    error: str | None = Field(None, description="The error, if there is no verdict.")


class SentFeedback(RequestBody):
    """Feedback of a user on the answer that one of ``response_id``, ``trace_id`` and ``span_id`` names.

    The feedback may come before the answer.
    """

    example: ClassVar[Mapping[str, Any]] = {
        "response_id": "answer-1",
        "source": "shop",
        "thumbs": "down",
        "user": "ann",
        "comment": "This price is of last year.",
    }

    response_id: Name | None = Field(None, description="Id of the answer.")
    trace_id: Name | None = Field(None, description="Id of the trace of the answer.")
    span_id: Name | None = Field(None, description="Id of a span of that trace.")
    source: Name | None = Field(
        None, description="Source of the answer (default: that of the key, or any)."
    )
    thumbs: Thumbs | None = Field(None, description="Needed, unless there are `stars`.")
    stars: float | None = Field(None, ge=1, le=5)
    kind: Literal["thumbs", "stars"] | None = Field(
        None, description="Instead: the scale of `value`."
    )
    value: float | str | bool | None = None
    user: str | None = Field(None, description="Who gave the feedback.")
    comment: str | None = Field(
        None, description="What the user wrote. Reviewers see it beside the feedback."
    )
    at: Time | None = Field(None, description="Time in ISO 8601.")


_SPAN = {
    "traceId": "0af7651916cd43dd8448eb211c80319c",
    "spanId": "b7ad6b7169203331",
    "name": "answer",
    "startTimeUnixNano": "1780000000000000000",
    "endTimeUnixNano": "1780000001000000000",
    "attributes": [
        {"key": "question", "value": {"stringValue": "At what temperature does nylon melt?"}},
        {"key": "answer", "value": {"stringValue": "Nylon melts at about 250 °C."}},
    ],
}
_SCORE_RECORD = {
    "traceId": "0af7651916cd43dd8448eb211c80319c",
    "spanId": "b7ad6b7169203331",
    "timeUnixNano": "1780000002000000000",
    "eventName": "gen_ai.evaluation.result",
    "attributes": [
        {"key": "gen_ai.evaluation.name", "value": {"stringValue": "groundedness"}},
        {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 0.4}},
    ],
}
_SERVICE = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}


class SentSpans(RequestBody):
    """Spans in the JSON of OTLP. As protobuf, send them as application/x-protobuf."""

    example: ClassVar[Mapping[str, Any]] = {
        "resourceSpans": [{"resource": _SERVICE, "scopeSpans": [{"spans": [_SPAN]}]}]
    }

    resourceSpans: list[dict[str, Any]] = Field(  # noqa: N815 - the name in OTLP
        [], description="Resources, each with `scopeSpans` and their `spans`."
    )


class SentLogs(RequestBody):
    """Log records in the JSON of OTLP. As protobuf, send them as application/x-protobuf."""

    example: ClassVar[Mapping[str, Any]] = {
        "resourceLogs": [{"resource": _SERVICE, "scopeLogs": [{"logRecords": [_SCORE_RECORD]}]}]
    }

    resourceLogs: list[dict[str, Any]] = Field(  # noqa: N815 - the name in OTLP
        [], description="Resources, each with `scopeLogs` and their `logRecords`."
    )


MOST_LISTED = 100  # rejected rows in a reply
_GZIP = b"\x1f\x8b"


@dataclass(slots=True)
class Records(Generic[Record]):
    """The answers or judgments of a request; ``rows`` are the places in the request, from 1.

    ``other_fields`` says how each unknown field is handled, by name.
    """

    kind: ImportKind[Record]
    kind_name: str
    items: list[Record] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)
    other_fields: dict[str, str] = field(default_factory=dict)


def records_in_body(body: bytes, sender: Sender, kind: str) -> Records[Any]:
    """Return the records of a kind (``responses`` or ``verdicts``) in a body: an object or a list.

    Raises BadInput if no record can be used, and Refused for another source. A verdict that differs
    from the stored verdict of the judge version is a newer verdict.
    """
    if body.startswith(_GZIP):  # reading a compressed body would unpack without a limit
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
                source = item.source and sender.checked_source(
                    item.source
                )  # a verdict needs no source
                records.items.append(replace(item, source=source))
                records.rows.append(reading.line)
            if (
                reading.line > MOST_RECORDS
            ):  # other values than objects, which are not counted as records
                raise TooLarge(
                    f"the body has more than {MOST_RECORDS:,} rows: send smaller batches"
                )
        left_over = (use for use in reading.columns() if use.unasked and use.theirs is not None)
        records.other_fields = {
            str(use.theirs): use.how for use in itertools.islice(left_over, MOST_LISTED)
        }
        for theirs, unread in itertools.islice(reading.unread.items(), MOST_LISTED):
            records.other_fields[theirs] = (
                f"kept in metadata, not read as {unread.ours}: {unread.reason}"
            )
    if not records.items:
        raise BadInput(_nothing_usable(kind, records.rejected))
    return records


def _nothing_usable(kind: str, problems: Sequence[Mapping[str, Any]]) -> str:
    """Return the message that no record can be used, with the reason of the first record."""
    noun = KINDS[kind].noun
    first = f"the body has no {noun}"
    if problems:
        first = ": ".join(problems[0][name] for name in ("field", "reason") if problems[0][name])
    return f"no {noun} can be used: {first}"


def _problem(row: int, name: str | None, reason: str) -> dict[str, Any]:
    return {"row": row, "field": name, "reason": reason}


def reply_to(records: Records[Any], outcomes: Sequence[Stored]) -> dict[str, Any]:
    """Return the reply to a request whose batches are stored. There is a ``message`` only if no record is stored."""
    problems = [
        *records.rejected,
        *(
            _problem(records.rows[number * BATCH + problem.line], problem.field, problem.reason)
            for number, of_batch in enumerate(outcomes)
            for problem in of_batch.problems
        ),
    ]
    counts = {
        "stored": sum(each.new for each in outcomes),
        "unchanged": sum(each.unchanged for each in outcomes),
    }
    feedback_added = sum(each.feedback_added for each in outcomes)
    nothing = not (any(counts.values()) or feedback_added)
    return {
        **({"message": _nothing_usable(records.kind_name, problems)} if nothing else {}),
        **counts,
        **({"feedback_added": feedback_added} if records.kind.brings_answers else {}),
        "rejected": len(problems),
        "problems": problems[:MOST_LISTED],
        "other_fields": records.other_fields,
    }


_SUBJECTS = {"response_id": "response_key", "trace_id": "trace_key", "span_id": "span_key"}


def feedback_in_body(body: bytes, sender: Sender) -> list[NewFeedback]:
    """Return the feedback in a body: an object or a list.

    Raises BadInput for the first unusable feedback, and Refused for another source than the key's
    source.
    """
    content = json_in_body(body)
    entries = content if isinstance(content, list) else [content]
    if not entries:
        raise BadInput("the body has no feedback")
    return [
        each
        for number, entry in enumerate(entries, start=1)
        for each in _feedback(number, entry, sender)
    ]


def _feedback(number: int, entry: Any, sender: Sender) -> list[NewFeedback]:
    if not isinstance(entry, dict):
        raise BadInput(f"feedback {number} is not an object")
    if fault := fault_in(entry | {"comment": None}):  # bad characters of a comment are replaced
        raise BadInput(f"feedback {number}: {fault[0]} {fault[1]}")
    subjects = {
        ours: _key(entry[name]) for name, ours in _SUBJECTS.items() if entry.get(name) is not None
    }
    if not isinstance(entry.get("comment"), str | None):
        raise BadInput(f"feedback {number}: comment: not a text")
    if len(subjects) != 1:
        raise BadInput(f"feedback {number} needs one of {', '.join(_SUBJECTS)}")
    # The entry as a row of an import: scale and value, with user and time.
    about = {name: entry[name] for name in ("user", "at", "comment") if entry.get(name) is not None}
    values: dict[str, Any] = {
        name: {name: entry[name], **about}
        for name in ("thumbs", "stars")
        if entry.get(name) is not None
    }
    if entry.get("kind") is not None:
        values["feedback"] = {"kind": entry["kind"], "value": entry.get("value"), **about}
    elif isinstance(entry.get("feedback"), dict):
        values["feedback"] = {**entry["feedback"], **about}
    try:
        feedback = feedback_in(Cells.of(values))
    except Unusable as fault_:
        raise BadInput(f"feedback {number}: {fault_.field}: {fault_.reason}") from None
    if not feedback:
        raise BadInput(f'feedback {number} has no value: {{"thumbs": "up"}} or {{"stars": 4}}')
    owner = (
        sender.owner
        if entry.get("source") is None
        else sender.checked_source(_key(entry["source"]))
    )
    return [NewFeedback(each, owner, **subjects) for each in feedback]


def _key(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_ID:
        raise BadInput(f"an id is a text of 1 to {MAX_ID} characters")
    return value.strip()

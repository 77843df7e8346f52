"""Stores and reads responses and user feedback."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Table,
    case,
    func,
    insert,
    literal,
    select,
)

from judgeboard.domain import LOG_FIELDS, Feedback, JudgeInput, Pair, Response, ResponseKind
from judgeboard.errors import BadInput
from judgeboard.llm.chat import earlier_turns
from judgeboard.store.answer_facts import store_facts
from judgeboard.store.clock import utc_now
from judgeboard.store.columns import columns_that
from judgeboard.store.statements import (
    columns_of,
    grouped,
    insert_or_skip,
    listed,
    number_of,
    record_of,
    rows_by_key,
    rows_with,
)
from judgeboard.store.tables import FEEDBACK, RESPONSE, WITHDRAWN_ROW
from judgeboard.text import as_utc, iso_z, unstorable, utc_day

_LENGTH = 300


def text_start(text: ColumnElement[Any]) -> ColumnElement[str | None]:
    """Return at most 300 characters of a text; "…" marks a longer text."""
    longer = func.length(func.substr(text, 1, _LENGTH + 1)) > _LENGTH
    return case((longer, func.rtrim(func.substr(text, 1, _LENGTH - 1)) + "…"), else_=text)


NO_QUESTION = "no question"
"""What lists show in place of a question that was not logged. A forgotten question is NULL."""
WHOLE_QUESTION: ColumnElement[str | None] = case(
    (RESPONSE.c.query == "", literal(NO_QUESTION)), else_=RESPONSE.c.query
).label("question")
QUESTION: ColumnElement[str | None] = text_start(WHOLE_QUESTION).label("question")
ANSWER: ColumnElement[str | None] = text_start(RESPONSE.c.answer).label("answer")


TEXTS = (
    "source",
    "external_id",
    "query_type",
    "query",
    "answer",
    "reference",
    "passages",
    *LOG_FIELDS,
)


def check_storable(of: str, values: Iterable[tuple[str, Any]]) -> None:
    """Raise BadInput if a text, also in a list, has NUL or a lone surrogate; imports reject such rows earlier."""
    for name, value in values:
        for text in (value,) if isinstance(value, str) else value or ():
            if fault := unstorable(text):
                raise BadInput(f"{name} of {of} contains {fault}")


def content(response: Response) -> dict[str, Any]:
    """Return the content of a response as JSON values, for the hash.

    Source, external id, feedback and ``derived_from`` are not part of the content. The keys are
    hashed too: renaming a key changes the hash of every stored response. So a field that was added
    later is left out where the value is None.
    """
    cost = response.generator_cost
    log_fields = {name: getattr(response, name) for name in LOG_FIELDS}
    return {
        **{name: value for name, value in log_fields.items() if value is not None},
        "query": response.query,
        "answer": response.answer,
        "passages": None if response.passages is None else list(response.passages),
        "query_type": response.query_type,
        "generator_model": response.generator_model,
        # In whole millionths, so that rounding by the database does not change the hash.
        "generator_cost_micro": None if cost is None else round(cost * 1_000_000),
        "messages": None if response.messages is None else list(response.messages),
        "reference": response.reference,
        "asked_at": None if response.asked_at is None else iso_z(response.asked_at),
        "metadata": response.metadata,
        "kind": response.kind.value,
    }


def content_hash(response: Response) -> str:
    """Return the SHA-256 (64 hex digits) of a response's content. Raises ValueError for a number that is not finite."""
    return hashlib.sha256(_canonical(content(response))).hexdigest()


def evidence_group(query: str, passages: Sequence[str] | None) -> int:
    """Return the first 8 bytes of the SHA-256 of a query with passages as a signed integer, for a BIGINT column."""
    evidence = _canonical(
        [query, None if passages is None else list(passages)]
    )  # None differs from an empty list
    return int.from_bytes(hashlib.sha256(evidence).digest()[:8], "big", signed=True)


def pair_hash(pair: Pair) -> str:
    """Return two SHA-256 hashes with ":" between: question, options and reference; answers (empty without answers)."""
    question = [pair.question, None if pair.options is None else list(pair.options), pair.reference]
    answers = (
        ""
        if pair.answer_a is None
        else hashlib.sha256(_canonical([pair.answer_a, pair.answer_b])).hexdigest()
    )
    return f"{hashlib.sha256(_canonical(question)).hexdigest()}:{answers}"


def _canonical(value: Any) -> bytes:
    # ASCII escapes keep a lone surrogate from breaking the encoding.
    return _ENCODER.encode(value).encode("ascii")


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


class KnownResponse(NamedTuple):
    """The id and hash of a stored response."""

    id: int
    content_hash: str


def key_of(record: Response | Pair) -> tuple[str, str]:
    """Return the unique key of a response or a pair: source and external id."""
    return record.source, record.external_id


def find_responses(
    connection: Connection, keys: Collection[tuple[str, str]]
) -> dict[tuple[str, str], KnownResponse]:
    """Return the stored responses with these keys."""
    rows = rows_by_key(connection, RESPONSE, keys, *columns_of(KnownResponse, RESPONSE))
    return {key: record_of(KnownResponse, row) for key, row in rows.items()}


class StoredContent(NamedTuple):
    """The hash of a stored response's content, and the question (None if forgotten)."""

    content_hash: str
    query: str | None


def stored_contents(
    connection: Connection, response_ids: Collection[int]
) -> dict[int, StoredContent]:
    """Return the hashes and questions of these responses by id; at most 1,000 at once."""
    query = select(RESPONSE.c.id, *columns_of(StoredContent, RESPONSE)).where(
        RESPONSE.c.id.in_(response_ids)
    )
    return {id_: StoredContent(*content) for id_, *content in connection.execute(query)}


def imports_of(connection: Connection, response_ids: Collection[int]) -> set[int]:
    """Return the numbers of the imports that stored these responses; at most 1,000 at once."""
    number = RESPONSE.c.import_batch_id
    query = select(number).where(RESPONSE.c.id.in_(response_ids), number.is_not(None)).distinct()
    return {*connection.scalars(query)}


def find_contents(
    connection: Connection, keys: Collection[tuple[str, str]]
) -> dict[tuple[str, str], Response]:
    """Return the stored responses with these keys that are not forgotten."""
    rows = rows_by_key(connection, RESPONSE, keys, *RESPONSE.c)
    return {key: response_of(row) for key, row in rows.items() if row.query is not None}


def insert_responses(
    connection: Connection,
    responses: Mapping[tuple[str, str], tuple[Response, str]],
    batch_id: int | None,
    now: datetime,
) -> dict[tuple[str, str], int]:
    """Insert responses with content hashes and facts; return the ids of the responses that were not stored yet."""
    statement = insert_or_skip(connection, RESPONSE, "source", "external_id")
    rows = [_response_row(response, hash_, batch_id, now) for response, hash_ in responses.values()]
    if connection.dialect.name == "sqlite":
        # SQLite would give the ids of withdrawn responses again, but runs and rules select answers
        # by id.
        last_withdrawn = connection.scalar(select(func.max(WITHDRAWN_ROW.c.response_id)))
        if last_withdrawn is not None and last_withdrawn >= last_response_id(connection):
            rows = [row | {"id": id_} for id_, row in enumerate(rows, last_withdrawn + 1)]
    result = connection.execute(
        statement.returning(RESPONSE.c.source, RESPONSE.c.external_id, RESPONSE.c.id), rows
    )
    ids = {(source, external_id): id_ for source, external_id, id_ in result}
    new = ((id_, responses[key][0]) for key, id_ in ids.items())
    store_facts(
        connection,
        [(id_, response.query, response.answer, response.passages) for id_, response in new],
    )
    return ids


Giver = tuple[int, str, str | None]
"""Who gave feedback of a kind: the response, the kind, and the user."""


def insert_feedback(
    connection: Connection,
    feedback: Mapping[int, Iterable[Feedback]],
    known_ids: Collection[int],
    batch_id: int | None,
    now: datetime,
    may_change: Callable[[int | None], bool],
    changed_back: dict[Giver, Feedback] | None = None,
) -> list[tuple[int, Feedback]]:
    """Insert feedback that is not stored yet; return (response id, feedback). Only ``known_ids`` may have feedback.

    Without a time, later arrival counts as newer: the last feedback of a giver is inserted again if
    other feedback was stored since, and if this import ``may_change`` the feedback of that import.
    With ``changed_back``, such feedback is put there instead: a later row of the file may have the
    other feedback. Equal feedback with a new comment is inserted too. A forgotten response gets no
    comment.
    """
    names = ("response_id", "kind", "user", "value", "at", "import_batch_id", "comment")
    query = select(*(FEEDBACK.c[name] for name in names)).where(
        FEEDBACK.c.response_id.in_(known_ids)
    )
    rows = (
        [tuple(row) for row in connection.execute(query.order_by(FEEDBACK.c.id))]
        if known_ids
        else []
    )
    latest_rows: dict[Any, tuple[Any, ...]] = {row[:3]: row for row in rows}
    stored_rows = {(*row[:5], comment) for row in rows for comment in (None, row[6])}
    forgotten_ids = select(RESPONSE.c.id).where(
        RESPONSE.c.id.in_(known_ids), RESPONSE.c.answer.is_(None)
    )
    without_comments = set(connection.scalars(forgotten_ids)) if known_ids else set()
    last_entries: dict[Giver, Feedback] = {}
    new_feedback: list[tuple[int, Feedback]] = []
    new: list[dict[str, Any]] = []

    def add(row: tuple[Any, ...], entry: Feedback) -> None:
        stored_rows.update({(*row, None), (*row, entry.comment)})
        latest_rows[row[:3]] = (*row, batch_id)
        new_feedback.append((row[0], entry))
        new.append(
            dict(zip(names, (*row, batch_id, entry.comment), strict=True)) | {"imported_at": now}
        )

    for response_id, entry in (
        (id_, entry) for id_, entries in feedback.items() for entry in entries
    ):
        new_entry = replace(entry, comment=None) if response_id in without_comments else entry
        row = _feedback_row(response_id, new_entry)
        last_entries[row[:3]] = new_entry
        if (*row, new_entry.comment) not in stored_rows:
            add(row, new_entry)
    older_entries = {
        giver: entry
        for giver, entry in last_entries.items()
        if entry.at is None and latest_rows[giver][:5] != _feedback_row(giver[0], entry)
    }
    if changed_back is not None:
        for giver in last_entries.keys() & changed_back.keys():
            del changed_back[giver]
        changed_back |= older_entries
    else:
        for giver, entry in older_entries.items():
            if may_change(latest_rows[giver][5]):
                add(_feedback_row(giver[0], entry), entry)
    if new:
        connection.execute(insert(FEEDBACK), new)
    return new_feedback


def _feedback_row(
    response_id: int, entry: Feedback
) -> tuple[int, str, str | None, float, datetime | None]:
    at = None if entry.at is None else as_utc(entry.at)
    return response_id, entry.kind.value, entry.user, float(entry.value), at


_COPIED = tuple(each.name for each in fields(Response) if each.name in RESPONSE.c)


def asked_day(response: Response) -> int | None:
    """Return the UTC day of a question, in days since 1970-01-01; None if the time was not logged."""
    return None if response.asked_at is None else utc_day(as_utc(response.asked_at))


def _response_row(
    response: Response, hash_: str, batch_id: int | None, now: datetime
) -> dict[str, Any]:
    return {
        **{name: getattr(response, name) for name in _COPIED},
        "asked_at": None if response.asked_at is None else as_utc(response.asked_at),
        "asked_day": asked_day(response),
        "extra": response.metadata,
        "content_hash": hash_,
        # Answers without a question have no question in common.
        "evidence_group": evidence_group(response.query or response.answer, response.passages),
        "import_batch_id": batch_id,
        "imported_at": now,
    }


def completed_row(response: Response) -> dict[str, Any]:
    """Return the columns of a response that late spans of the trace may change."""
    row = _response_row(response, content_hash(response), None, utc_now())
    return {name: row[name] for name in columns_that("completed", RESPONSE)}


def response_of(row: Row[Any]) -> Response:
    """Return the response of a row, without feedback."""
    messages = None if row.messages is None else tuple(row.messages)
    texts = {"query": row.query or "", "answer": row.answer or ""}
    return record_of(Response, row, **texts, messages=messages, metadata=row.extra)


def responses_by_id(connection: Connection, ids: Collection[int]) -> Iterator[tuple[int, Response]]:
    """Yield the responses with these ids, by id, without feedback. Forgotten responses are left out."""
    query = select(RESPONSE).where(RESPONSE.c.query.is_not(None), RESPONSE.c.answer.is_not(None))
    for row in rows_with(connection, query.order_by(RESPONSE.c.id), RESPONSE.c.id, ids):
        yield row.id, response_of(row)


class Named(NamedTuple):
    """A response or a pair with a given external id."""

    id: int
    source: str


def responses_named(
    connection: Connection, external_ids: Collection[str]
) -> dict[str, list[Named]]:
    """Return, by external id, the responses with these external ids in any source, the oldest first."""
    return named(connection, RESPONSE, external_ids)


def responses_of_spans(connection: Connection, span_ids: Collection[str]) -> dict[str, list[Named]]:
    """Return, by the id of the span in the metadata, responses in any source, the oldest first.

    This reads the metadata of all responses.
    """
    span_id = RESPONSE.c.extra["span_id"].as_string()
    query = (
        select(span_id, RESPONSE.c.id, RESPONSE.c.source)
        .where(span_id.in_(span_ids))
        .order_by(RESPONSE.c.id)
    )
    return grouped((id_, Named(*row)) for id_, *row in connection.execute(query))


def named(
    connection: Connection, table: Table, external_ids: Collection[str]
) -> dict[str, list[Named]]:
    """Return, by external id, the rows of a table with these external ids in any source, the oldest first."""
    query = select(table.c.external_id, table.c.id, table.c.source).order_by(table.c.id)
    rows = connection.execute(query.where(table.c.external_id.in_(external_ids)))
    return grouped((external_id, Named(*row)) for external_id, *row in rows)


def next_by_id(query: Select[Any], after_id: int | None, *, limit: int) -> Select[Any]:
    """Limit a query to the next responses after an id; without an id, to the first responses."""
    if after_id is not None:
        query = query.where(RESPONSE.c.id > after_id)
    return query.order_by(RESPONSE.c.id).limit(limit)


def last_response_id(connection: Connection) -> int:
    """Return the highest id of a response, 0 if there is none."""
    return number_of(connection, select(func.max(RESPONSE.c.id)))


def last_logged_id(connection: Connection) -> int:
    """Return the highest id of a logged answer, 0 if there is none."""
    query = select(RESPONSE.c.id).where(RESPONSE.c.kind == ResponseKind.LOG)
    return number_of(connection, query.order_by(RESPONSE.c.id.desc()).limit(1))


@dataclass(frozen=True, slots=True)
class AnswerStart:
    """An answer with the start of the question (None if forgotten)."""

    response_id: int
    external_id: str
    kind: str
    question: str | None


def answer_starts(connection: Connection, ids: Collection[int]) -> dict[int, AnswerStart]:
    """Return these answers by id; at most 1,000 at once."""
    query = select(RESPONSE.c.id, RESPONSE.c.external_id, RESPONSE.c.kind, QUESTION)
    rows = connection.execute(query.where(RESPONSE.c.id.in_(ids)))
    return {row[0]: AnswerStart(*row) for row in rows}


def latest_feedback(connection: Connection, response_ids: Collection[int]) -> dict[int, str]:
    """Return the latest feedback (highest id) as text, by response."""
    rows = connection.execute(
        select(FEEDBACK.c.response_id, FEEDBACK.c.kind, FEEDBACK.c.value)
        .where(FEEDBACK.c.response_id.in_(response_ids))
        .order_by(FEEDBACK.c.id)
    )
    return {response_id: Feedback(kind, value).words for response_id, kind, value in rows}


class LogAnswer(NamedTuple):
    """A logged answer; answers with equal query and passages have equal ``evidence_group``."""

    id: int
    external_id: str
    query: str
    query_type: str
    reference: str | None
    evidence_group: int
    has_passages: bool


def log_answers(connection: Connection, source: str) -> list[LogAnswer]:
    """Return the logged answers of a source that have a question and are not forgotten, by id."""
    query = (
        select(*columns_of(LogAnswer, RESPONSE), RESPONSE.c.passages.is_not(None))
        .where(
            RESPONSE.c.source == source,
            RESPONSE.c.kind == ResponseKind.LOG,
            RESPONSE.c.query != "",
            RESPONSE.c.answer.is_not(None),
        )
        .order_by(RESPONSE.c.id)
    )
    return [LogAnswer._make(row) for row in connection.execute(query)]


INPUT_COLUMNS = tuple(
    RESPONSE.c[name]
    for name in (
        "id",
        "query",
        "answer",
        "passages",
        "query_type",
        "reference",
        "external_id",
        "messages",
    )
)


def judge_inputs(connection: Connection, response_ids: Sequence[int]) -> dict[int, JudgeInput]:
    """Return the inputs of responses that are not forgotten, by response id."""
    rows = connection.execute(select(*INPUT_COLUMNS).where(RESPONSE.c.id.in_(response_ids)))
    return {
        row.id: input_of(row) for row in rows if row.query is not None and row.answer is not None
    }


def input_of(row: Row[Any]) -> JudgeInput:
    """Return the input of a row of ``INPUT_COLUMNS``."""
    return record_of(JudgeInput, row, response_id=row.id, turns=earlier_turns(row.messages))


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a generated answer; ``messages`` is None if not logged, ``item.response_id`` is 0 for a prompt."""

    item: JudgeInput
    source: str
    messages: tuple[dict[str, Any], ...] | None = None

    @property
    def root_response_id(self) -> int | None:
        """The logged answer, or None."""
        return self.item.response_id or None


def read_origins(connection: Connection, response_ids: Sequence[int]) -> dict[int, Origin]:
    """Return the origins of these answers, by id, without forgotten answers."""
    query: Select[Any] = select(*INPUT_COLUMNS, RESPONSE.c.source)
    rows = connection.execute(query.where(RESPONSE.c.id.in_(response_ids)))
    return {
        row.id: Origin(input_of(row), row.source, tuple(row.messages) if row.messages else None)
        for row in rows
        if row.query is not None and row.answer is not None
    }


def external_ids(connection: Connection, response_ids: Collection[int]) -> dict[int, str]:
    """Return the external ids of responses by id."""
    query = select(RESPONSE.c.id, RESPONSE.c.external_id)
    rows = connection.execute(
        query.where(RESPONSE.c.id.in_(listed(connection, tuple(response_ids))))
    )
    return {row.id: row.external_id for row in rows}

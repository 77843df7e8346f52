"""Responses and user feedback: stored, found by their ids, read as a judge or a list shows them."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Self

from sqlalchemy import ColumnElement, Connection, Row, Select, bindparam, case, func, insert, select

from judgeboard.domain import Feedback, FeedbackKind, JudgeInput, Pair, Response, ResponseKind
from judgeboard.errors import BadInput
from judgeboard.store.statements import batches, insert_or_skip, listed
from judgeboard.store.tables import FEEDBACK, RESPONSE
from judgeboard.text import as_utc, iso_z, unstorable, utc_day

_LENGTH = 300


def text_start(text: ColumnElement[Any]) -> ColumnElement[str | None]:
    """Return the first 300 characters; a longer text ends with "…", or half a word would pass for what was written."""
    longer = func.length(func.substr(text, 1, _LENGTH + 1)) > _LENGTH
    return case((longer, func.rtrim(func.substr(text, 1, _LENGTH - 1)) + "…"), else_=text)


QUESTION: ColumnElement[str | None] = text_start(RESPONSE.c.query).label("question")
ANSWER: ColumnElement[str | None] = text_start(RESPONSE.c.answer).label("answer")


_TEXTS = ("source", "external_id", "query_type", "query", "answer", "generator_model", "reference")


def check_storable(response: Response) -> None:
    """Check every text of a response; an import has rejected such a row long before.

    Raises:
        BadInput: A text holds NUL or a lone surrogate; the message names the response and the field.
    """
    texts = [(name, getattr(response, name)) for name in _TEXTS]
    texts += [("passages", passage) for passage in response.passages or ()]
    for name, text in texts:
        # Faster by far than the search that says where: almost every text is good.
        if text is not None and ("\x00" in text or not _encodes(text)):
            raise BadInput(f"{name} of {response.external_id!r} holds {unstorable(text)}")


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def content(response: Response) -> dict[str, Any]:
    """Return what a response says, as JSON values: every stored field but its feedback and ``derived_from``.

    An inner id differs from database to database. Source and external id are left out too: they are what the content is
    looked up by, and a row without an id takes the hash of its content for one. The keys are hashed: another name for
    one gives every stored response another hash.
    """
    cost = response.generator_cost
    return {
        "query": response.query,
        "answer": response.answer,
        "passages": None if response.passages is None else list(response.passages),
        "query_type": response.query_type,
        "generator_model": response.generator_model,
        # In whole millionths: a cost that the database rounds is the same cost.
        "generator_cost_micro": None if cost is None else round(cost * 1_000_000),
        "messages": None if response.messages is None else list(response.messages),
        "reference": response.reference,
        "asked_at": None if response.asked_at is None else iso_z(response.asked_at),
        "metadata": response.metadata,
        "kind": response.kind.value,
    }


def content_hash(response: Response) -> str:
    """Return the SHA-256 (64 hex digits) of a response's content: equal content has equal hashes under different ids.

    Raises:
        ValueError: The metadata or messages hold a number that is not finite.
    """
    return hashlib.sha256(_canonical(content(response))).hexdigest()


def evidence_hash(query: str, passages: Sequence[str] | None) -> str:
    """Return the SHA-256 (64 hex digits) of a query with its passages; passages that are absent differ from none."""
    return hashlib.sha256(_canonical([query, None if passages is None else list(passages)])).hexdigest()


def evidence_group(query: str, passages: Sequence[str] | None) -> int:
    """Return the first 8 bytes of `evidence_hash` as a signed integer, which fits a BIGINT column."""
    return int.from_bytes(bytes.fromhex(evidence_hash(query, passages)[:16]), "big", signed=True)


class PairHash(NamedTuple):
    """What a pair says, in two hashes: a row without answers can still be told to ask the same question."""

    question: str
    answers: str | None

    @property
    def stored(self) -> str:
        """Both in one text, for the column."""
        return f"{self.question}:{self.answers or ''}"

    @classmethod
    def read(cls, stored: str) -> Self:
        """Return what `stored` wrote."""
        question, _, answers = stored.partition(":")
        return cls(question, answers or None)


def pair_hash(pair: Pair) -> PairHash:
    """Return the SHA-256 of a pair's question with its options and reference, and that of its answers."""
    question = [pair.question, None if pair.options is None else list(pair.options), pair.reference]
    answers = None if pair.answer_a is None else hashlib.sha256(_canonical([pair.answer_a, pair.answer_b])).hexdigest()
    return PairHash(hashlib.sha256(_canonical(question)).hexdigest(), answers)


def _canonical(value: Any) -> bytes:
    # Escaped to ASCII, so that a lone surrogate from a library caller cannot break the encoding.
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


_BY_KEY = select(RESPONSE.c.source, RESPONSE.c.external_id, RESPONSE.c.id, RESPONSE.c.content_hash).where(
    RESPONSE.c.source.in_(bindparam("sources", expanding=True)),
    RESPONSE.c.external_id.in_(bindparam("external_ids", expanding=True)),
)


class KnownResponse(NamedTuple):
    """A stored response as an import meets it again."""

    id: int
    content_hash: str


def key_of(response: Response) -> tuple[str, str]:
    """Return what names a response for ever: its source and its external id."""
    return response.source, response.external_id


def find_responses(connection: Connection, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], KnownResponse]:
    """Return those of the keys that are stored, at most 1,000 keys in one statement."""
    # Not (source, external_id) IN (...): SQLite reads the whole index for that.
    parts = {"sources": list({source for source, _ in keys}), "external_ids": list({each for _, each in keys})}
    wanted = set(keys)
    return {
        (source, external_id): KnownResponse(id_, hash_)
        for source, external_id, id_, hash_ in connection.execute(_BY_KEY, parts)
        if (source, external_id) in wanted
    }


def find_contents(connection: Connection, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], Response]:
    """Return what is stored under these sources and ids; a forgotten response has no content left."""
    found: dict[tuple[str, str], Response] = {}
    for part in batches(sorted(set(keys))):
        query = select(RESPONSE).where(
            RESPONSE.c.source.in_({source for source, _ in part}),
            RESPONSE.c.external_id.in_({external_id for _, external_id in part}),
            RESPONSE.c.query.is_not(None),
        )
        found |= {(row.source, row.external_id): response_of(row) for row in connection.execute(query)}
    return found


def insert_responses(
    connection: Connection, hashed: Mapping[tuple[str, str], tuple[Response, str]], batch_id: int | None, now: datetime
) -> dict[tuple[str, str], int]:
    """Insert responses with their content hashes; return the ids of those that no other process had stored."""
    statement = insert_or_skip(connection, RESPONSE, "source", "external_id")
    inserted = connection.execute(
        statement.returning(RESPONSE.c.source, RESPONSE.c.external_id, RESPONSE.c.id),
        [_response_row(response, hash_, batch_id, now) for response, hash_ in hashed.values()],
    )
    return {(source, external_id): id_ for source, external_id, id_ in inserted}


def insert_feedback(
    connection: Connection,
    given: Mapping[int, Iterable[Feedback]],
    known_ids: Collection[int],
    batch_id: int | None,
    now: datetime,
) -> list[int]:
    """Append the feedback that is not stored yet, equal meaning kind, value, user and time.

    ``known_ids`` are the responses that may have some already. Returns the response id of every row added, in order.
    """
    stored: set[tuple[Any, ...]] = set()
    if known_ids:
        columns = (FEEDBACK.c[name] for name in ("response_id", "kind", "value", "user", "at"))
        rows = connection.execute(select(*columns).where(FEEDBACK.c.response_id.in_(known_ids)))
        stored = {(response_id, *said) for response_id, *said in rows}
    added: list[dict[str, Any]] = []
    for response_id, feedbacks in given.items():
        for feedback in feedbacks:
            at = None if feedback.at is None else as_utc(feedback.at)
            one = (response_id, feedback.kind.value, float(feedback.value), feedback.user, at)
            if one not in stored:
                stored.add(one)
                names = ("response_id", "kind", "value", "user", "at")
                added.append(dict(zip(names, one, strict=True)) | {"import_batch_id": batch_id, "imported_at": now})
    if added:
        connection.execute(insert(FEEDBACK), added)
    return [row["response_id"] for row in added]


def _response_row(response: Response, hash_: str, batch_id: int | None, now: datetime) -> dict[str, Any]:
    asked_at = None if response.asked_at is None else as_utc(response.asked_at)
    return {
        "kind": response.kind.value,
        "derived_from": response.derived_from,
        "source": response.source,
        "external_id": response.external_id,
        "query_type": response.query_type,
        "query": response.query,
        "passages": None if response.passages is None else list(response.passages),
        "answer": response.answer,
        "generator_model": response.generator_model,
        "generator_cost": response.generator_cost,
        "messages": None if response.messages is None else list(response.messages),
        "reference": response.reference,
        "asked_at": asked_at,
        "asked_day": None if asked_at is None else utc_day(asked_at),
        "extra": response.metadata,
        "content_hash": hash_,
        "evidence_group": evidence_group(response.query, response.passages),
        "import_batch_id": batch_id,
        "imported_at": now,
    }


def response_of(row: Row[Any]) -> Response:
    """Return the response of a row; feedback has a table of its own."""
    return Response(
        source=row.source,
        external_id=row.external_id,
        query=row.query,
        answer=row.answer,
        passages=None if row.passages is None else tuple(row.passages),
        query_type=row.query_type,
        generator_model=row.generator_model,
        generator_cost=row.generator_cost,
        messages=None if row.messages is None else tuple(row.messages),
        reference=row.reference,
        asked_at=row.asked_at,
        metadata=row.extra,
        kind=ResponseKind(row.kind),
        derived_from=row.derived_from,
    )


class NamedResponse(NamedTuple):
    """A response that answers to an outside id."""

    id: int
    source: str


def responses_named(connection: Connection, external_ids: Collection[str]) -> dict[str, list[NamedResponse]]:
    """Return, for each outside id that is stored, the responses of every source that have it, by source."""
    found: dict[str, list[NamedResponse]] = {}
    query = select(RESPONSE.c.external_id, RESPONSE.c.id, RESPONSE.c.source)
    rows = connection.execute(query.where(RESPONSE.c.external_id.in_(external_ids)).order_by(RESPONSE.c.id))
    for external_id, response_id, source in rows:
        found.setdefault(external_id, []).append(NamedResponse(response_id, source))
    return found


def last_response_id(connection: Connection) -> int:
    """Return the highest id of a response, 0 where there is none."""
    return int(connection.execute(select(func.coalesce(func.max(RESPONSE.c.id), 0))).scalar_one())


def last_logged_id(connection: Connection) -> int:
    """Return the highest id of a logged answer, 0 where there is none.

    What is made from the log, as controls and second attempts are, does not move it.
    """
    logged = select(RESPONSE.c.id).where(RESPONSE.c.kind == ResponseKind.LOG.value)
    return int(connection.execute(logged.order_by(RESPONSE.c.id.desc()).limit(1)).scalar() or 0)


@dataclass(frozen=True, slots=True)
class AnswerStart:
    """An answer in one line; the question is None once forgotten."""

    response_id: int
    external_id: str
    kind: str
    question: str | None


def answer_starts(connection: Connection, ids: Collection[int]) -> dict[int, AnswerStart]:
    """Return these answers by id; at most 1,000 at once."""
    query = select(RESPONSE.c.id, RESPONSE.c.external_id, RESPONSE.c.kind, QUESTION)
    rows = connection.execute(query.where(RESPONSE.c.id.in_(ids)))
    return {row[0]: AnswerStart(*row) for row in rows}


def feedback_words(kind: str, value: float) -> str:
    """Return one feedback in words: "thumbs down", "1 star", "3.5 stars"."""
    if kind == FeedbackKind.THUMBS:
        return "thumbs up" if value == 1 else "thumbs down"
    return f"{value:g} star{'' if value == 1 else 's'}"


def latest_feedback(connection: Connection, response_ids: Collection[int]) -> dict[int, str]:
    """Return the latest feedback (highest id) in words, by response; those without any are left out."""
    rows = connection.execute(
        select(FEEDBACK.c.response_id, FEEDBACK.c.kind, FEEDBACK.c.value)
        .where(FEEDBACK.c.response_id.in_(response_ids))
        .order_by(FEEDBACK.c.id)
    )
    return {response_id: feedback_words(kind, value) for response_id, kind, value in rows}


_response = RESPONSE.c


class LogAnswer(NamedTuple):
    """A logged answer: equal ``evidence_group`` means equal query and passages."""

    id: int
    external_id: str
    query: str
    query_type: str
    reference: str | None
    evidence_group: int
    has_passages: bool


def log_answers(connection: Connection, source: str) -> list[LogAnswer]:
    """Return the answers of a source by id; forgotten ones are left out."""
    query = (
        select(
            _response.id,
            _response.external_id,
            _response.query,
            _response.query_type,
            _response.reference,
            _response.evidence_group,
            _response.passages.is_not(None),
        )
        .where(
            _response.source == source,
            _response.kind == ResponseKind.LOG.value,
            _response.query.is_not(None),
            _response.answer.is_not(None),
        )
        .order_by(_response.id)
    )
    return [LogAnswer._make(row) for row in connection.execute(query)]


INPUT_COLUMNS = tuple(
    RESPONSE.c[name] for name in ("id", "query", "answer", "passages", "query_type", "reference", "external_id")
)


def judge_inputs(connection: Connection, response_ids: Sequence[int]) -> dict[int, JudgeInput]:
    """Return the inputs by response id; a forgotten response is left out, since nothing of it can be judged."""
    rows = connection.execute(select(*INPUT_COLUMNS).where(RESPONSE.c.id.in_(response_ids)))
    return {row.id: input_of(row) for row in rows if row.query is not None and row.answer is not None}


def input_of(row: Row[Any]) -> JudgeInput:
    """Return the input of a row of ``INPUT_COLUMNS``."""
    return JudgeInput(
        response_id=row.id,
        query=row.query,
        answer=row.answer,
        passages=None if row.passages is None else tuple(row.passages),
        query_type=row.query_type,
        reference=row.reference,
        external_id=row.external_id,
    )


@dataclass(frozen=True, slots=True)
class Origin:
    """What an answer is made from; ``messages`` None were not logged, ``item.response_id`` 0 is no logged answer."""

    item: JudgeInput
    source: str
    messages: tuple[dict[str, Any], ...] | None = None

    @property
    def root_response_id(self) -> int | None:
        """The logged answer, None where there is none."""
        return self.item.response_id or None


def read_origins(connection: Connection, response_ids: Sequence[int]) -> dict[int, Origin]:
    """Return logged answers by id; a forgotten one is left out."""
    query: Select[Any] = select(*INPUT_COLUMNS, RESPONSE.c.source, RESPONSE.c.messages)
    rows = connection.execute(query.where(RESPONSE.c.id.in_(response_ids)))
    return {
        row.id: Origin(input_of(row), row.source, tuple(row.messages) if row.messages else None)
        for row in rows
        if row.query is not None and row.answer is not None
    }


def external_ids(connection: Connection, response_ids: Collection[int]) -> dict[int, str]:
    """Return the outside ids of responses by their inner ones."""
    query = select(RESPONSE.c.id, RESPONSE.c.external_id)
    rows = connection.execute(query.where(RESPONSE.c.id.in_(listed(connection, tuple(response_ids)))))
    return {row.id: row.external_id for row in rows}

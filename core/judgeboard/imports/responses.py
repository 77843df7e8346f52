"""Logged responses, and feedback of users on stored responses."""

import itertools
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import Connection

from judgeboard.domain import (
    LOG_FIELDS,
    Feedback,
    FeedbackKind,
    Rejected,
    Response,
    ResponseKind,
)
from judgeboard.formats.jsonl import json_kind
from judgeboard.imports import known_names
from judgeboard.imports.fields import (
    MAX_ID,
    NOT_JSON,
    Cells,
    ColumnNames,
    Unusable,
    checked,
    chosen,
    is_beside,
    may_be_either,
    metadata_in,
    parsed_json,
    simple_name,
)
from judgeboard.imports.kinds import DEFAULT_SOURCE, ImportKind, RowOutcomes, Stored
from judgeboard.imports.values import is_missing, python_list, spelled_number
from judgeboard.store.filters import metadata_field
from judgeboard.store.responses import (
    Giver,
    content,
    content_hash,
    find_contents,
    imports_of,
    key_of,
    responses_named,
    stored_contents,
)
from judgeboard.store.statements import batches
from judgeboard.store.storing import add_feedback, store_responses
from judgeboard.store.traces import received_among
from judgeboard.text import as_utc, counted, storable
from judgeboard.traces.attributes import as_text

MAX_COST = 1_000_000.0
NO_PASSAGES = "no row has passages (context): judges need them to score the groundedness"
MAX_BESIDE = 30  # names of keys in a message
_COMMENT = (
    "comment",
    "comments",
    "user_comment",
    "feedback_comment",
    "feedback_text",
    "explanation",
    "reason",
    "note",
)


class ResponseImport(ImportKind[Response]):
    """Logged responses. A row is rejected if the id is stored with other content. A question may be missing.

    The column ``source`` is read only in files with a column ``external_id``, such as exports. An
    id may occur only once in a file. A row without an id gets the content hash as id. The k-th
    equal row gets ``hash-k``.
    """

    columns: ClassVar[ColumnNames] = {
        "external_id": (
            "external_id",
            "id",
            "response_id",
            "record_id",
            "trace_id",
            "context_trace_id",
            "run_id",
            "request_id",
            "sample_id",
            "span_id",
            "context_span_id",
            "uuid",
            "message_id",
            "interaction_id",
            "completion_id",
            "generation_id",
            "observation_id",
            "log_id",
            "example_id",
            "item_id",
            "uid",
        ),
        "source": ("source",),
        "query": known_names.QUESTION,
        "answer": known_names.ANSWER,
        # A test case may have both: `retrieval_context` has the retrieved passages, `context` the
        # ideal ones.
        "context": (
            "retrieved_contexts",
            "retrieved_context",
            "retrieval_context",
            "context",
            "contexts",
            "passages",
            "retrieved_passages",
            "retrieved_documents",
            "retrieved_docs",
            "retrieved_chunks",
            "documents",
            "docs",
            "source_documents",
            "chunks",
            "passage",
            "document",
            "retrieval_contexts",
            "retrieved_passage",
            "retrieved_texts",
            "retrieved_text",
            "rag_context",
            "context_documents",
            "context_chunks",
            "context_text",
            "source_chunks",
            "retrieved_contents",
            "ctxs",
            "knowledge",
        ),
        "query_type": (
            "query_type",
            "type",
            "category",
            "task_type",
            "question_type",
            "query_category",
            "task",
            "intent",
            "intent_name",
            "detected_intent",
        ),
        **{name: each.names for name, each in LOG_FIELDS.items()},
        "generator_cost": ("generator_cost", "cost", "total_cost", "token_cost", "llm_cost_total"),
        "messages": (
            "messages",
            "input_messages",
            "llm_input_messages",
            "chat_messages",
            "conversation",
        ),
        "reference": known_names.REFERENCE,
        "asked_at": (
            "asked_at",
            "ts",
            "timestamp",
            "created_at",
            "time",
            "date",
            "datetime",
            "start_time",
            "logged_at",
            "created",
            "requested_at",
            "request_time",
            "created_on",
            "created_date",
            "date_time",
            "date_and_time",
            "started_at",
            "sent_at",
            "received_at",
            "event_time",
            "message_timestamp",
            "timestamp_utc",
            "query_time",
            "at",
        ),
        "metadata": known_names.METADATA,
        "thumbs": (
            "thumbs",
            "thumb",
            "thumbs_up",
            "thumbsup",
            "user_thumbs",
            "liked",
            "is_liked",
            "upvoted",
        ),
        "stars": ("stars", "star", "star_rating", "user_stars", "rating_stars", "five_star_rating"),
        "feedback": ("feedback", "user_feedback", "rating", "user_rating", "feedbacks"),
        "kind": ("kind",),
    }
    needed = ("query", "answer")
    choices: ClassVar[Mapping[str, type[StrEnum]]] = {"kind": ResponseKind}
    left_over = "kept in metadata"
    brings_answers = True

    @classmethod
    def required(cls, fields: Collection[str]) -> tuple[str, ...]:
        """Return the required fields. Beside passages, a verdict or a grade, an answer may have no question."""
        return ("answer",) if "context" in fields or any(map(is_beside, fields)) else cls.needed

    def __init__(self, source: str | None, actor: str = "library") -> None:
        super().__init__(source, actor)
        self._repeated: list[Response] = []  # answers of the next batch that earlier rows have too
        self._copies: dict[str, int] = {}  # the last number used for each hash of several rows
        self._beside_feedback: Counter[str] = (
            Counter()
        )  # the keys of feedback objects that are not stored
        self._built, self._with_passages = 0, 0

    def messages(self) -> Iterator[str]:
        """Yield the keys of feedback objects that are not stored, and that no row has passages."""
        if self._beside_feedback:
            first = self._beside_feedback.most_common(MAX_BESIDE)
            names = ", ".join(f"{name} ({counted(times, 'time')})" for name, times in first)
            yield f"not stored: {names}; of an object of feedback, only value, user, time and comment are stored"
        if self._built and not self._with_passages:
            yield NO_PASSAGES

    def build(self, cells: Cells) -> Response:
        """Return the response of a row."""
        response = self._response(cells)
        self._built += 1
        self._with_passages += bool(response.passages)
        self._beside_feedback.update(_beside_feedback(cells))
        if not response.external_id:
            # The hash, or hash-k for the k-th equal row.
            digest = content_hash(response)
            number = self._copies.get(digest, 0) + 1
            while not self.seen.add(
                f"{response.source}\0{digest}" + (f"-{number}" if number > 1 else "")
            ):
                number += 1
            if number > 1:
                self._copies[digest] = number
            return replace(response, external_id=digest if number == 1 else f"{digest}-{number}")
        # An answer may be repeated, for example for each of its raters.
        texts = hash((response.query, response.answer, response.passages))
        match self.seen.same(f"{response.source}\0{response.external_id}", texts):
            case True:
                self._repeated.append(response)
            case False:
                raise Unusable(
                    "external_id",
                    f"an earlier row of this file has the id {response.external_id!r} too",
                )
        return response

    def _response(self, cells: Cells) -> Response:
        # The metadata come last: optional values that cannot be read are kept there.
        passages, details = cells.optional(
            "context", lambda _field: passages_in(cells), (None, None)
        )
        log_fields: dict[str, Any] = {
            name: cells.optional(name, cells.name, None) for name in LOG_FIELDS
        }
        kind = cells.choice("kind", ResponseKind) or ResponseKind.LOG
        query = cells.text("query") or ""
        # Without a question, an answer is of use beside passages, a verdict or a grade. Only
        # exports name a kind.
        if not query.strip() and not (passages or cells.judged or cells.get("kind")):
            query = cells.required_text("query")
        return Response(
            source=cells.name("source") or self.source or "",
            external_id=cells.optional("external_id", lambda field: cells.name(field, MAX_ID), None)
            or "",
            query=query if query.strip() else "",
            answer=(cells.text("answer") or "")
            if kind in {ResponseKind.CONTROL, ResponseKind.PAIR_SIDE}  # these may be empty
            else cells.required_text("answer"),
            passages=passages,
            query_type=cells.optional("query_type", cells.name, None) or "unspecified",
            generator_cost=cells.optional("generator_cost", lambda _field: _cost(cells), None),
            messages=cells.optional("messages", lambda _field: _messages(cells), None),
            reference=cells.optional("reference", lambda _field: _reference(cells), None),
            asked_at=cells.optional("asked_at", cells.time, None),
            kind=kind,
            feedback=feedback_in(cells),
            **log_fields,
            metadata=metadata_in(cells, {"context_details": details}),
        )

    def take_repeated(self) -> list[Response]:
        """Return the answers since the last call that earlier rows of the file have too."""
        responses, self._repeated = self._repeated, []
        return responses

    def store(self, connection: Connection, records: Sequence[Response], now: datetime) -> Stored:
        """Store new responses, and new feedback on stored responses."""
        repeated_ids = {id(each) for each in self.take_repeated()}
        again = {index for index, record in enumerate(records) if id(record) in repeated_ids}
        elsewhere: dict[int, int] = {}
        if self.of_traces:
            elsewhere = self._stored_elsewhere(connection, records)
            again -= elsewhere.keys()
        elif self.tool_source is not None or self.row_ids:
            records = self._as_stored_earlier(connection, records)
        indexes = [
            index for index in range(len(records)) if index not in elsewhere and index not in again
        ]
        report = store_responses(
            connection, [records[index] for index in indexes], self.batch_id, now
        )
        result = Stored(
            len(report.new), report.unchanged + len(elsewhere) + len(again), report.feedback_added
        )
        differing_ids = {indexes[place]: report.ids[place] for place in report.differing}
        if self.of_traces:
            contents = stored_contents(connection, differing_ids.values())
            same_ids = {
                index: id_
                for index, id_ in differing_ids.items()
                if self.is_same(records[index], contents[id_])
            }
            feedback = {
                id_: records[index].feedback for index, id_ in (elsewhere | same_ids).items()
            }
            result.feedback_added += len(add_feedback(connection, feedback, (), self.batch_id, now))
        rows = find_contents(connection, [key_of(records[index]) for index in differing_ids])
        result.imports = imports_of(connection, differing_ids.values()) - {self.batch_id or 0}
        for index in differing_ids:
            record = records[index]
            names = differing(record, rows[key_of(record)]) if key_of(record) in rows else []
            reason = f"{record.external_id!r} is stored with other content"
            reason += (
                f": {', '.join(names)} {'differs' if len(names) == 1 else 'differ'}"
                if names
                else ""
            )
            result.problems.append(Rejected(index, "id", reason, None, differs=True))
        return result

    def _as_stored_earlier(
        self, connection: Connection, records: Sequence[Response]
    ) -> list[Response]:
        """Return the answers. An answer that an earlier import stored has the stored form and the feedback of the row.

        Earlier versions stored the answers of all tools in the default source. The turn of a
        conversation is a stored answer if question and text are equal and the stored id is the id
        of the turn or of the row. The messages are not compared.
        """
        places = [
            [
                (source, id_)
                for source in (
                    record.source,
                    *([] if self.tool_source is None else [DEFAULT_SOURCE]),
                )
                for id_ in (
                    record.external_id,
                    self.row_ids.get(record.external_id, record.external_id),
                )
            ]
            for record in records
        ]
        responses = find_contents(connection, {*itertools.chain.from_iterable(places)})

        def is_same(record: Response, response: Response) -> bool:
            if record.external_id in self.row_ids:
                return (record.query, record.answer) == (response.query, response.answer)
            return not differing(record, response)

        return [
            next(
                (
                    replace(responses[key], feedback=record.feedback)
                    for key in keys
                    if key in responses and is_same(record, responses[key])
                ),
                record,
            )
            for record, keys in zip(records, places, strict=True)
        ]

    def _stored_elsewhere(
        self, connection: Connection, records: Sequence[Response]
    ) -> dict[int, int]:
        """Return, by index, the response of the same trace that was received or is in another source.

        Two traces can have the same id if an application chose the id, such as "chat-1": then the
        questions differ.
        """
        responses = responses_named(connection, {record.external_id for record in records})
        ids = [each.id for same_id in responses.values() for each in same_id]
        received_ids = received_among(connection, ids)
        contents = stored_contents(connection, ids)
        elsewhere: dict[int, int] = {}
        for index, record in enumerate(records):
            same_id = responses.get(record.external_id, [])
            own = next((each.id for each in same_id if each.source == record.source), None)
            id_ = own if own in received_ids else same_id[0].id if same_id and own is None else None
            if id_ is not None and self.is_same(record, contents[id_]):
                elsewhere[index] = id_
        return elsewhere


@dataclass(frozen=True, slots=True)
class ImportedFeedback:
    """Feedback of users, with the external id of its response."""

    response_id: str
    feedback: tuple[Feedback, ...]
    source: str | None = None


class FeedbackImport(ImportKind[ImportedFeedback]):
    """Feedback of users on stored responses; the same file again changes nothing.

    If the file changes feedback without a time back to an earlier value, that value counts at the
    end of the file.
    """

    columns: ClassVar[ColumnNames] = {
        "external_id": known_names.RESPONSE_ID,
        **{
            name: ResponseImport.columns[name] for name in ("source", "thumbs", "stars", "feedback")
        },
        "user": ("user", "user_id"),
        "at": ("at", "timestamp", "created_at", "time", "date"),
        "comment": _COMMENT,
    }
    needed = ("external_id", "thumbs")

    def __init__(self, source: str | None, actor: str = "library") -> None:
        super().__init__(source, actor)
        self._changed_back: dict[Giver, Feedback] = {}

    @classmethod
    def required(cls, fields: Collection[str]) -> tuple[str, ...]:
        """Return the required fields: the id, and feedback on one of its scales."""
        return (
            "external_id",
            next((name for name in ("thumbs", "stars", "feedback") if name in fields), "thumbs"),
        )

    def build(self, cells: Cells) -> ImportedFeedback:
        """Return the feedback of a row."""
        user = cells.masked(cells.name("user"))  # may be an address
        at, comment = cells.time("at"), as_text(cells.get("comment"))
        feedback = feedback_in(cells)
        if not feedback:
            raise Unusable("thumbs", "no feedback: give thumbs (up or down) or stars (1 to 5)")
        dated = tuple(
            replace(each, user=each.user or user, at=each.at or at, comment=each.comment or comment)
            for each in feedback
        )
        return ImportedFeedback(
            cells.required_name("external_id", MAX_ID), dated, cells.name("source") or self.source
        )

    def store(
        self, connection: Connection, records: Sequence[ImportedFeedback], now: datetime
    ) -> Stored:
        """Store the feedback whose response is stored."""
        rows = RowOutcomes(len(records))
        names = {index: (record.response_id, record.source) for index, record in enumerate(records)}
        answers = self.find_answers(connection, rows, names)
        feedback: dict[int, list[Feedback]] = {}
        for index, response in answers.items():
            feedback.setdefault(response.id, []).extend(records[index].feedback)
        new_entries = set(
            add_feedback(connection, feedback, (), self.batch_id, now, self._changed_back)
        )
        for index, response in answers.items():
            of_row = {(response.id, entry) for entry in records[index].feedback}
            if of_row & new_entries:
                rows.new.add(index)
            new_entries -= of_row  # a later equal row is unchanged
        return rows.stored()

    def finish(self, connection: Connection, now: datetime) -> int:
        """Store the feedback that the last rows of the file have changed back; return how much."""
        last = [(response_id, [entry]) for (response_id, _, _), entry in self._changed_back.items()]
        return sum(
            len(add_feedback(connection, dict(batch), (), self.batch_id, now))
            for batch in batches(last)
        )


def _cost(cells: Cells) -> float | None:
    """Return the cost, rounded to a millionth as in the database."""
    value = cells.number("generator_cost")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_COST:
        raise Unusable("generator_cost", f"not a cost from 0 to {MAX_COST:,.0f}")
    return round(value * 1_000_000) / 1_000_000


def _messages(cells: Cells) -> tuple[dict[str, Any], ...] | None:
    messages = cells.objects("messages")
    for number, message in enumerate(messages or (), start=1):
        if not isinstance(message.get("role"), str):
            raise Unusable("messages", f"message {number} has no role")
    return messages


def _reference(cells: Cells) -> str | None:
    """Return the reference answer. Several answers are joined, one per line."""
    value = cells.get("reference")
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return cells.text("reference")


# Name in the content -> name in a mapping, if the names differ.
_MAPPED = {"passages": "context", "generator_cost_micro": "generator_cost"}


def differing(response: Response, stored_response: Response) -> list[str]:
    """Return the fields in which the two responses differ, by their names in a mapping."""
    fields, stored_fields = content(response), content(stored_response)
    return [
        _MAPPED.get(name, name)
        for name in fields | stored_fields
        if fields.get(name) != stored_fields.get(name)
    ]


# Earlier imports read these keys. Other keys would change the hash of answers that are imported
# again.
_TEXT_KEYS = ("text", "content", "page_content", "passage", "document")


def passages_in(cells: Cells) -> tuple[tuple[str, ...] | None, list[dict[str, Any]] | None]:
    """Return the passages of a row, and the other values of its passage objects.

    Absent or null passages are None: not logged. An empty list means that nothing was retrieved. A
    text is one passage, unless it is blank. The JSON text of an object is one passage. In CSV, a
    list is written as JSON or as Python writes lists. An item of a list is a text or an object with
    a text (``text``, ``content``, ``page_content``, …). If an object has no such text, the JSON
    text of the object is the passage.
    """
    value = cells.unmasked("context")
    if isinstance(value, str) and cells.textual and value.lstrip().startswith("["):
        try:
            value = cells.parsed[cells.taken["context"]] = parsed_json("context", value)
        except Unusable as error:
            if error.reason != NOT_JSON:
                raise
            if (texts := python_list(value)) is not None:  # as pandas writes lists
                value = cells.parsed[cells.taken["context"]] = texts
    value = cells.masked(value)
    if value is None:
        return None, None
    if isinstance(value, str):
        return (() if is_missing(value) or value.strip() == "[]" else (value,)), None
    if isinstance(value, dict):
        return (_json_text(value),), None
    if not isinstance(value, list):
        raise Unusable("context", f"expected passages, found {json_kind(value)}")
    return listed_passages(value)


def listed_passages(passages: Sequence[Any]) -> tuple[tuple[str, ...], list[dict[str, Any]] | None]:
    """Return the texts of passages, and the other values of objects. Raises Unusable if one is no text or object."""
    parts = [_passage(number, item) for number, item in enumerate(passages, start=1)]
    details = [detail for _, detail in parts]
    return tuple(text for text, _ in parts), details if any(details) else None


def _passage(number: int, item: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(item, str):
        return item, {}
    if not isinstance(item, dict):
        raise Unusable("context", f"passage {number} is {json_kind(item)}, not a text")
    for key in _TEXT_KEYS:
        inner = item.get(key)
        if isinstance(inner, str):
            return inner, {name: value for name, value in item.items() if name != key}
    document = item.get("document")
    if isinstance(document, dict):
        text, details = _passage(number, document)
        return text, {
            name: value for name, value in {**item, "document": details}.items() if value != {}
        }
    # Without a known key, the longest text of several words is the passage.
    texts = {
        name: value
        for name, value in item.items()
        if isinstance(value, str) and " " in value.strip()
    }
    if texts:
        longest = max(texts, key=lambda name: len(texts[name]))
        return texts[longest], {name: value for name, value in item.items() if name != longest}
    return _json_text(item), {}


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_UP = frozenset(
    {
        "up",
        "thumbs up",
        "thumbs_up",
        "thumbsup",
        "👍",
        "true",
        "yes",
        "positive",
        "like",
        "liked",
        "good",
        "helpful",
        "upvote",
        "upvoted",
        "gut",
        "ja",
        "positiv",
        "hilfreich",
        "oui",
        "bon",
        "utile",
        "bien",
        "sí",
        "si",
        "bueno",
        "buena",
        "bonne",
        "buona",
        "boa",
        "да",
        "positivo",
        "útil",
        "sim",
        "bom",
        "goed",
        "buono",
    }
)
_DOWN = frozenset(
    {
        "down",
        "thumbs down",
        "thumbs_down",
        "thumbsdown",
        "👎",
        "false",
        "no",
        "negative",
        "dislike",
        "disliked",
        "bad",
        "unhelpful",
        "not helpful",
        "not_helpful",
        "downvote",
        "downvoted",
        "schlecht",
        "nein",
        "negativ",
        "nicht hilfreich",
        "non",
        "mauvais",
        "inutile",
        "malo",
        "mal",
        "negativo",
        "inútil",
        "não",
        "mau",
        "nee",
        "slecht",
        "cattivo",
        "mala",
        "mauvaise",
        "cattiva",
        "нет",
    }
)
_SKIN_TONES = dict.fromkeys(range(0x1F3FB, 0x1F400))


def thumbs_up(value: str | bool) -> bool | None:
    """Whether a word is thumbs up (True) or thumbs down (False); None for other words."""
    word = str(value).translate(_SKIN_TONES).strip().lower()
    return word in _UP if word in _UP | _DOWN else None


_FIELDS = (("thumbs", FeedbackKind.THUMBS), ("stars", FeedbackKind.STARS), ("feedback", None))


def feedback_in(cells: Cells) -> tuple[Feedback, ...]:
    """Return the feedback of a row. The columns ``thumbs`` and ``stars`` have a scale, ``feedback`` has none.

    Words (up, down, 👍, true, good, …) are thumbs. Numbers follow the column's scale; as thumbs, -1
    is down. Without a scale, 2 to 5 are stars. 0, 1 and -1 may be thumbs or stars: such values are
    left out, and `Columns` reports the values. An object names the scale (``{"kind": "stars",
    "value": 4}``) or has one value under the name of a column of feedback: ``{"thumbs": "up"}``,
    ``{"rating": 4}``. The object may also have ``user``, ``at`` and ``comment``. A list may have
    several objects.
    """
    feedback: list[Feedback] = []
    for field, scale in _FIELDS:
        feedback += cells.optional(field, lambda field: _feedback_of(cells, field, scale), [])  # noqa: B023 - called here
    return tuple(feedback)


def _feedback_of(cells: Cells, field: str, scale: FeedbackKind | None) -> list[Feedback]:
    value = _feedback_value(cells, field)
    if isinstance(value, list | dict):
        items = value if isinstance(value, list) else [value]
        if not all(isinstance(item, dict) for item in items):
            raise Unusable(field, "a list of feedback may contain only objects")
        return [feedback_of_object(field, item) for item in items]
    if value is None or (scale is None and may_be_either(value)):
        return []
    return [_from_value(field, value, scale)]


def _feedback_value(cells: Cells, field: str) -> Any:
    value = cells.number(field)
    return (
        parsed_json(field, value)
        if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}
        else value
    )


def _beside_feedback(cells: Cells) -> Iterator[str]:
    """Yield the names of keys in feedback objects that are not read, such as ``feedback.comment``."""
    for field, _ in _FIELDS:
        value = cells.optional(field, lambda field: _feedback_value(cells, field), None)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield from (
                    metadata_field((cells.taken[field], name)) for name in unread_keys(item)
                )


def unread_keys(value: Mapping[str, Any]) -> list[str]:
    """Return the keys of an object of feedback that have a value and are not read, such as a comment."""
    scales = (
        {"kind", "value"} if value.get("kind") is not None else dict(_named_values(value)).keys()
    )
    read = {"user", "at", _comment_key(value), *scales}
    return [
        name for name, each in value.items() if each not in (None, "", [], {}) and name not in read
    ]


def feedback_of_object(field: str, value: Mapping[str, Any]) -> Feedback:
    """Return the feedback in an object. Raises Unusable unless the object has exactly one value."""
    key, scale = "value", value.get("kind")
    if scale is None:
        keys = list(_named_values(value))
        if len(keys) != 1:
            raise Unusable(
                field, 'an object of feedback is {"thumbs": "up"}, {"stars": 4} or {"rating": "up"}'
            )
        [(key, scale)] = keys
    score, user, at = value.get(key), value.get("user"), value.get("at")
    if scale is None and may_be_either(score):
        raise Unusable(
            field,
            f'{score} may be thumbs or stars: write {{"thumbs": {score}}} or {{"stars": {score}}}',
        )
    if user is not None and not isinstance(user, str):
        raise Unusable(field, f"the user is {json_kind(user)}, not a text")
    feedback = _from_value(field, score, chosen(field, scale, FeedbackKind))
    comment_key = _comment_key(value)
    comment = None if comment_key is None else storable(value[comment_key])[0]
    return replace(
        feedback, user=user, at=None if at is None else checked(field, as_utc, at), comment=comment
    )


def _comment_key(value: Mapping[str, Any]) -> str | None:
    return next(
        (name for name in _COMMENT if isinstance(value.get(name), str) and value[name].strip()),
        None,
    )


def _named_values(value: Mapping[str, Any]) -> Iterator[tuple[str, FeedbackKind | None]]:
    """Yield each key with feedback in an object, and its scale; other names count only without thumbs and stars."""
    present = [name for name, each in value.items() if each is not None]
    exact = set(FeedbackKind).intersection(present)
    for name in exact or present:
        for ours, scale in _FIELDS:
            if simple_name(name) in ResponseImport.columns[ours]:
                yield name, scale


def _from_value(field: str, value: Any, scale: FeedbackKind | None) -> Feedback:
    if isinstance(value, str | bool):
        is_up = thumbs_up(value)
        if is_up is None:
            is_number = not isinstance(spelled_number(str(value)), str)
            reason = (
                "is a text: write the number without quotes"
                if is_number
                else "is neither thumbs nor stars"
            )
            raise Unusable(field, f"{str(value)[:60]!r} {reason}")
        if scale is FeedbackKind.STARS:
            raise Unusable(field, f"{value!r} is not a number of stars")
        return Feedback(FeedbackKind.THUMBS, float(is_up))
    if not isinstance(value, int | float):
        raise Unusable(field, f"expected thumbs or stars, found {json_kind(value)}")
    if scale is FeedbackKind.THUMBS and value == -1:
        value = 0
    return checked(
        field, lambda number: Feedback(scale or FeedbackKind.STARS, float(number)), value
    )

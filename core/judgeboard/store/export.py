"""Exports tables of the store to files, row by row."""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from sqlalchemy import (
    JSON,
    Boolean,
    ColumnElement,
    Connection,
    DateTime,
    Float,
    Integer,
    Row,
    Select,
    Table,
    Text,
    TypeDecorator,
    and_,
    case,
    cast,
    exists,
    func,
    literal,
    or_,
    select,
    type_coerce,
)

from judgeboard.domain import (
    LOG_FIELDS,
    NOTES,
    OVERALL,
    Decision,
    Feedback,
    Grade,
    Response,
    ResponseKind,
)
from judgeboard.errors import BadInput, check_known
from judgeboard.formats.files import Column, ColumnType, write_rows
from judgeboard.formats.jsonl import object_text
from judgeboard.registry.methods import Registration, load_object, with_methods
from judgeboard.store.columns import JsonValue
from judgeboard.store.engine import Store
from judgeboard.store.filter_conditions import pair_conditions, response_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.grades import ORIGIN
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.label_schemas import LABEL_SCHEMA_TITLE
from judgeboard.store.preferences import CurrentPreference, load_preferences
from judgeboard.store.responses import response_of
from judgeboard.store.reviews import flags_decided, is_current, is_test, modes_of, notes_of
from judgeboard.store.statements import grouped, record_of, rows_with
from judgeboard.store.tables import (
    COMMENT,
    COMPARISON,
    COMPARISON_SCORE,
    CURRENT,
    FAILURE_MODE,
    FEEDBACK,
    FLAG,
    ISSUE,
    JUDGMENT,
    JUDGMENT_REVIEW,
    JUDGMENT_SCORE,
    LABEL_SCHEMA,
    PAIR,
    PREFERENCE_SCORE,
    RESPONSE,
    REVIEW,
    REVIEW_SCORE,
    REVIEWER,
    VERSION,
    StoredVersion,
)
from judgeboard.text import iso_z

# An export can be imported unchanged. Never add a column here that the importer would read as a
# column of the log.
RESPONSE_COLUMNS = (
    *(Column(name) for name in ("source", "external_id", "kind", "query_type", "query")),
    Column("context", ColumnType.TEXTS),
    *(Column(name) for name in ("answer", *LOG_FIELDS)),
    Column("generator_cost", ColumnType.NUMBER),
    Column("messages", ColumnType.JSON),
    Column("reference"),
    Column("asked_at", ColumnType.TIME),
    *(Column(name, ColumnType.JSON) for name in ("metadata", "feedback")),
)


def response_row(response: Response) -> dict[str, Any]:
    """Return a response as a row of `RESPONSE_COLUMNS`."""
    row = {column.name: getattr(response, column.name, None) for column in RESPONSE_COLUMNS}
    feedback = [
        {
            "kind": each.kind.value,
            "value": each.value,
            "user": each.user,
            "at": None if each.at is None else iso_z(each.at),
            **({} if each.comment is None else {"comment": each.comment}),
        }
        for each in response.feedback
    ]
    return row | {
        "kind": response.kind.value,
        "context": None if response.passages is None else list(response.passages),
        "messages": None if response.messages is None else list(response.messages),
        "metadata": response.metadata or None,
        "feedback": feedback or None,
    }


_CHUNK = 1_000
TEXTS = ("question", "answer", "context")
"""The texts of an answer or a pair that an export can have beside each row. A pair has no context."""
_TEXT_COLUMNS: tuple[Mapping[str, tuple[Column, ...]], ...] = (
    {
        "question": (Column("query"),),
        "answer": (Column("answer"),),
        "context": (Column("context", ColumnType.TEXTS),),
    },
    {"question": (Column("question"),), "answer": (Column("answer_a"), Column("answer_b"))},
)
ROW_KEY = "row_key"  # the column by which rows are read in chunks


class Rows(Protocol):
    """Yields the rows of an exported table that meet conditions on this table, in the order of the ids."""

    def __call__(
        self, connection: Connection, *where: ColumnElement[bool]
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows."""


@dataclass(frozen=True, slots=True)
class ExportTable:
    """One exported table: the columns, and the rows as dicts by column name.

    ``response`` or ``pair`` is the column with the id of the answer or the pair that a row is
    about.
    """

    columns: tuple[Column, ...]
    rows: Rows
    response: ColumnElement[int] | None = None
    pair: ColumnElement[int] | None = None

    def selected(self, connection: Connection, where: RowFilter) -> list[ColumnElement[bool]]:
        """Return the conditions on the rows of the answers or pairs that match. Other tables are not filtered."""
        if self.response is not None:
            answers = select(RESPONSE.c.id).where(*response_conditions(connection, where))
            return [self.response.in_(answers.correlate(None))]
        if self.pair is not None:
            return [self.pair.in_(select(PAIR.c.id).where(*pair_conditions(where)).correlate(None))]
        return []

    def read(self, connection: Connection, where: RowFilter | None) -> Iterator[dict[str, Any]]:
        """Yield the rows that match (default: all)."""
        return self.rows(connection, *(self.selected(connection, where) if where else ()))

    def with_texts(self, texts: Collection[str]) -> "ExportTable":
        """Return the table with these `TEXTS` of each row's answer or pair; texts that the table has are not added."""
        of_pairs = self.pair is not None
        present_names = {column.name for column in self.columns}
        columns = [column for text in texts for column in _TEXT_COLUMNS[of_pairs].get(text, ())]
        new_columns = tuple(column for column in columns if column.name not in present_names)
        if not new_columns or (self.response is None and not of_pairs):
            return self

        def rows(connection: Connection, *where: ColumnElement[bool]) -> Iterator[dict[str, Any]]:
            unread = self.rows(connection, *where)
            while chunk := list(itertools.islice(unread, _CHUNK)):
                by_name = (_pair_texts if of_pairs else _answer_texts)(connection, chunk)
                for row in chunk:
                    text_values = by_name.get((row["source"], row["external_id"]), {})
                    yield row | {
                        column.name: text_values.get(column.name) for column in new_columns
                    }

        return replace(self, columns=(*self.columns, *new_columns), rows=rows)


@dataclass(frozen=True, slots=True)
class _Parts:
    """A column with the related rows of another table; ``read`` returns the rows by the id of the exported row."""

    name: str
    read: Callable[[Connection, Sequence[int]], Mapping[int, Any]]
    value: Callable[[Any], Any]


# Columns that replace the id of a row of another table.
_REFERENCES: Mapping[str, Mapping[str, str]] = {
    "response": {"source": "source", "external_id": "external_id"},
    "pair": {"source": "source", "external_id": "external_id"},
    "judge_version": {"judge": "name", "judge_version": "fingerprint"},
    "reviewer": {"reviewer": "name", "origin": "origin"},
}
_NAMED = tuple(_REFERENCES["response"])
_NUMBERS = tuple(
    JUDGMENT.c[name].label(f"judgment_{name}") for name in ("ask", "repeat")
)  # of a judgment
_MICRO = "_micro"  # costs are stored in millionths of the currency of the prices

_TYPES: tuple[tuple[type, ColumnType], ...] = (
    (JSON, ColumnType.JSON),
    (DateTime, ColumnType.TIME),
    (Boolean, ColumnType.BOOLEAN),
    (Float, ColumnType.NUMBER),
    (Integer, ColumnType.INTEGER),
)


def exported_columns(table: Table, without: str = "", **names: str) -> Select[Any]:
    """Return the query for a table's exported columns; ``without`` lists columns to omit, ``names`` renames columns."""
    omitted_names = {
        *without.split(),
        *(each.name for each in table.c if not each.info.get("exported", True)),
    }
    query = select(table.c.id.label(ROW_KEY)).select_from(table)
    for column in (column for column in table.c if column.name not in omitted_names):
        referred_table = next((key.column.table for key in column.foreign_keys), None)
        if referred_table is not None and referred_table.name in _REFERENCES:
            row = referred_table.alias()
            query = query.join(row, row.c.id == column, isouter=bool(column.nullable))
            query = query.add_columns(
                *(
                    row.c[source_name].label(names.get(name, name))
                    for name, source_name in _REFERENCES[referred_table.name].items()
                )
            )
        elif column.name.endswith(_MICRO):
            query = query.add_columns(
                (cast(column, Float) / 1_000_000.0).label(column.name.removesuffix(_MICRO))
            )
        else:
            name = table.name if column.primary_key else column.name.removesuffix("_id")
            if column.name in _NAMED:
                name = column.name
            # JSON is exported as it is stored, not as the records that a column returns.
            is_json = _column_type(column) is ColumnType.JSON
            value = type_coerce(column, JsonValue) if is_json else column
            query = query.add_columns(value.label(names.get(name, name)))
    return query


def exported_query(
    query: Select[Any],
    *parts: _Parts,
    response: ColumnElement[int] | None = None,
    pair: ColumnElement[int] | None = None,
) -> ExportTable:
    """Return the export of a query (see `exported_columns`); source and external id come first."""
    columns = [
        Column(each.name, _column_type(each))
        for each in query.selected_columns
        if each.name != ROW_KEY
    ]
    columns += [Column(part.name, ColumnType.JSON) for part in parts]

    def rows(connection: Connection, *where: ColumnElement[bool]) -> Iterator[dict[str, Any]]:
        for chunk in read_chunks(connection, query.where(*where)):
            rows_by_part = [
                (part, part.read(connection, [row[ROW_KEY] for row in chunk])) for part in parts
            ]
            for row in chunk:
                for part, rows_by_id in rows_by_part:
                    part_rows = rows_by_id.get(row[ROW_KEY])
                    row[part.name] = part_rows and part.value(part_rows)
                yield row

    return ExportTable(
        tuple(sorted(columns, key=lambda column: column.name not in _NAMED)), rows, response, pair
    )


_Texts = Mapping[tuple[str, str], Mapping[str, Any]]


def _answer_texts(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> _Texts:
    """Return the texts of the answers of these rows, by source and external id."""
    query = select(
        RESPONSE.c.id, *(RESPONSE.c[name] for name in (*_NAMED, "query", "answer", "passages"))
    )
    texts = {}
    for row in _of_names(connection, query, RESPONSE, rows):
        context = None if row.passages is None else list(row.passages)
        texts[row.source, row.external_id] = {
            "query": row.query,
            "answer": row.answer,
            "context": context,
        }
    return texts


def _pair_texts(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> _Texts:
    """Return the texts of the pairs of these rows, by source and external id."""
    ids = [row.id for row in _of_names(connection, select(PAIR.c.id), PAIR, rows)]
    return {
        (item["source"], item["external_id"]): item for item in pair_items(connection, ids).values()
    }


def _of_names(
    connection: Connection, query: Select[Any], table: Table, rows: Sequence[Mapping[str, Any]]
) -> Iterator[Row[Any]]:
    by_source = grouped((row["source"], row["external_id"]) for row in rows)
    for source, names in by_source.items():
        yield from rows_with(
            connection, query.where(table.c.source == source), table.c.external_id, names
        )


def _column_type(column: Any) -> ColumnType:
    sql_type = column.type.impl if isinstance(column.type, TypeDecorator) else column.type
    return next((kind for type_, kind in _TYPES if isinstance(sql_type, type_)), ColumnType.TEXT)


def read_chunks(connection: Connection, query: Select[Any]) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a query with ``ROW_KEY`` in chunks, ordered by this key, so that memory stays small."""
    key, last = query.selected_columns[ROW_KEY].element, 0
    while (
        rows := connection.execute(query.where(key > last).order_by(key).limit(_CHUNK))
        .mappings()
        .all()
    ):
        yield [dict(row) for row in rows]
        last = rows[-1][ROW_KEY]


def _gathered(
    table: Table, connection: Connection, ids: Sequence[int]
) -> dict[int, list[Row[Any]]]:
    """Return the rows of a table, ordered by id, by the id of the row to which each row belongs."""
    (belongs_to,) = (
        column for column in table.c if column.foreign_keys and column.name != "import_batch_id"
    )
    rows = connection.execute(select(table).where(belongs_to.in_(ids)).order_by(table.c.id))
    return grouped((getattr(row, belongs_to.name), row) for row in rows)


def _fields(row: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def _preferences() -> Select[Any]:
    """Return the query for all reviews of pairs, without the columns that only reviews of answers use."""
    of_answers = (
        "response_id judgment_seen_id label label_implied groundedness quality spans corrected_answer why_differs "
        "claim_marks label_schema_id choices texts in_suite"
    )
    query = exported_columns(REVIEW, f"{of_answers} comparison_seen_id")
    pair_id = next(column for column in query.selected_columns if column.name == "external_id")
    return query.add_columns(
        pair_id.label("pair_id"),  # by which an import tells preferences from grades of answers
        func.coalesce(cast(REVIEW.c.seen, Text), "null").in_(("null", "[]")).label("blind"),
        (func.coalesce(REVIEW.c.decision, "") == Decision.WITHDRAWN.value).label("withdrawn"),
    ).where(REVIEW.c.pair_id.is_not(None))


def _responses(connection: Connection, *where: ColumnElement[bool]) -> Iterator[dict[str, Any]]:
    query = select(RESPONSE.c.id.label(ROW_KEY)).where(
        RESPONSE.c.query.is_not(None), RESPONSE.c.answer.is_not(None)
    )
    for chunk in read_chunks(connection, query.where(*where)):
        ids = [row[ROW_KEY] for row in chunk]
        feedback = _gathered(FEEDBACK, connection, ids)
        for row in connection.execute(
            select(RESPONSE).where(RESPONSE.c.id.in_(ids)).order_by(RESPONSE.c.id)
        ):
            of_response = tuple(
                record_of(Feedback, feedback_row) for feedback_row in feedback.get(row.id, ())
            )
            yield response_row(replace(response_of(row), feedback=of_response))


# Never add a column here that an importer would read as a field.
PAIR_COLUMNS = (
    *(Column(name) for name in (*_NAMED, "query_type", "question")),
    Column("options", ColumnType.TEXTS),
    *(Column(name) for name in ("reference", "answer_a", "answer_b", "model_a", "model_b")),
    *(Column(name) for name in ("response_a", "response_b", "gold")),
    Column("metadata", ColumnType.JSON),
)


def _pairs(connection: Connection, *where: ColumnElement[bool]) -> Iterator[dict[str, Any]]:
    # Questions that were only sampled are in the table of samples.
    query = select(PAIR.c.id.label(ROW_KEY)).where(
        PAIR.c.question.is_not(None), PAIR.c.response_a_id.is_not(None)
    )
    for chunk in read_chunks(connection, query.where(*where)):
        ids = [row[ROW_KEY] for row in chunk]
        imports = [each for each in load_preferences(connection, ids) if each.origin == ORIGIN]
        people = grouped((each.pair_id, each) for each in imports)
        grades = notes_of(connection, {each.review_id for each in imports})
        for pair_id, item in pair_items(connection, ids).items():
            yield {**item, "human": _human(people.get(pair_id, ()), grades)}


def pair_items(connection: Connection, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return the values of `PAIR_COLUMNS` of pairs by id, without pairs that are forgotten."""
    query = select(PAIR).where(PAIR.c.id.in_(ids), PAIR.c.question.is_not(None)).order_by(PAIR.c.id)
    for name in ("a", "b"):
        side, origin = RESPONSE.alias(), RESPONSE.alias()
        query = (
            query.outerjoin(side, side.c.id == PAIR.c[f"response_{name}_id"])
            .outerjoin(origin, origin.c.id == side.c.derived_from)
            .add_columns(
                side.c.answer.label(f"answer_{name}"),
                side.c.generator_model.label(f"model_{name}"),
                case(
                    (side.c.kind == ResponseKind.LOG.value, side.c.external_id),
                    else_=origin.c.external_id,
                ).label(f"response_{name}"),
            )
        )
    rows = connection.execute(query).mappings()
    return {row["id"]: {**row, "metadata": row["extra"] or None} for row in rows}


def _human(
    preferences: Sequence[CurrentPreference], grades: Mapping[int, Grade]
) -> list[dict[str, Any]] | None:
    """Preferences in the format of the importer, one object per person and order shown; ``grades`` by review."""
    people = []
    by_review = grouped((each.review_id, each) for each in preferences)
    for review_id, aspects in sorted(by_review.items()):
        first = aspects[0]
        at = None if first.at is None else iso_z(first.at)
        scale = next((aspect.scale for aspect in aspects if aspect.scale is not None), None)
        notes = grades.get(review_id, Grade()).notes
        fields = {
            "annotator": first.reviewer,
            "shown": first.shown,
            **notes,
            "scale": scale,
            "at": at,
        }
        person: dict[str, Any] = {
            name: value for name, value in fields.items() if value is not None
        }
        for aspect in aspects:
            if aspect.aspect == OVERALL and aspect.preference is not None:
                person["preference"] = aspect.preference
            if aspect.value is not None or aspect.aspect != OVERALL:
                person[aspect.aspect] = aspect.preference if aspect.value is None else aspect.value
        people.append(person)
    return people or None


def _reviews() -> ExportTable:
    """Every review of an answer; ``fields`` are the values of a label schema, ``aspects`` the scores on a rubric.

    Each score has its own scale: a column ``scale`` would also be the scale of the quality.
    """
    query = exported_columns(REVIEW, "pair_id comparison_seen_id shown label_schema_id")
    query = (
        query.add_columns(LABEL_SCHEMA_TITLE)
        .outerjoin(LABEL_SCHEMA, LABEL_SCHEMA.c.id == REVIEW.c.label_schema_id)
        .where(REVIEW.c.response_id.is_not(None))
    )
    flags = _Parts(
        "flags",
        flags_decided,
        lambda flags: [_fields(flag, "id", "rule", "state") for flag in flags],
    )
    modes = _Parts("failure_modes", modes_of, list)
    plain = exported_query(
        query, _Parts("scores", partial(_gathered, REVIEW_SCORE), list), flags, modes
    )
    columns = [
        column for column in plain.columns if column.name not in {"choices", "texts", "scores"}
    ]

    def rows(connection: Connection, *where: ColumnElement[bool]) -> Iterator[dict[str, Any]]:
        for row in plain.rows(connection, *where):
            scores = row.pop("scores") or ()
            fields = {**(row.pop("choices") or {}), **(row.pop("texts") or {})}
            if row["label_schema"] is not None:
                values = {score.dimension: score.value for score in scores}
                yield row | {"fields": {**fields, **values} or None, "aspects": None}
            else:
                aspects = {score.dimension: _fields(score, "value", "scale") for score in scores}
                yield row | {"fields": None, "aspects": aspects or None}

    more = (Column("fields", ColumnType.JSON), Column("aspects", ColumnType.JSON))
    return ExportTable((*columns, *more), rows, REVIEW.c.response_id)


_EXPORTS: Mapping[str, ExportTable] = {
    "responses": ExportTable(RESPONSE_COLUMNS, _responses, RESPONSE.c.id),
    "judgments": exported_query(
        exported_columns(JUDGMENT, "id"),
        _Parts(
            "scores",
            partial(_gathered, JUDGMENT_SCORE),
            lambda scores: [
                _fields(score, "dimension", "value", "scale", "reasoning") for score in scores
            ],
        ),
        response=JUDGMENT.c.response_id,
    ),
    # `judge` is the primary judge, `judged_by` made the flagged judgment.
    "flags": exported_query(
        exported_columns(FLAG, "leads source asked_day judgment_id", judge_name="judge")
        .add_columns(
            VERSION.c.name.label("judged_by"),
            VERSION.c.fingerprint.label("judged_by_version"),
            *_NUMBERS,
        )
        .outerjoin(JUDGMENT, JUDGMENT.c.id == FLAG.c.judgment_id)
        .outerjoin(VERSION, VERSION.c.id == JUDGMENT.c.judge_version_id),
        response=FLAG.c.response_id,
    ),
    "reviews": _reviews(),
    "failure_modes": exported_query(exported_columns(FAILURE_MODE, "id")),
    "issues": exported_query(exported_columns(ISSUE, "id")),
    "label_schemas": exported_query(exported_columns(LABEL_SCHEMA, "hash")),
    "comments": exported_query(
        exported_columns(COMMENT, "pair_id").where(COMMENT.c.response_id.is_not(None)),
        response=COMMENT.c.response_id,
    ),
    "pairs": ExportTable((*PAIR_COLUMNS, Column("human", ColumnType.JSON)), _pairs, pair=PAIR.c.id),
    "comparisons": exported_query(
        exported_columns(COMPARISON, "id attempts", shown="order"),
        _Parts(
            "verdict",
            partial(_gathered, COMPARISON_SCORE),
            lambda scores: {score.aspect: score.preference for score in scores},
        ),
        pair=COMPARISON.c.pair_id,
    ),
    "preferences": exported_query(
        _preferences(),
        _Parts(
            "aspects",
            partial(_gathered, PREFERENCE_SCORE),
            lambda scores: {
                score.aspect: _fields(score, "preference", "value", "scale") for score in scores
            },
        ),
        pair=REVIEW.c.pair_id,
    ),
    "audits": exported_query(
        exported_columns(
            JUDGMENT_REVIEW,
            "id attempts model_reported latency_ms",
            judge="supreme_judge",
            judge_version="supreme_judge_version",
        )
        .add_columns(
            *_NUMBERS,
            *(RESPONSE.c[name] for name in _NAMED),
            VERSION.c.name.label("judge"),
            VERSION.c.fingerprint.label("judge_version"),
            *(JUDGMENT.c[name] for name in ("label", "groundedness", "quality")),
        )
        .join(JUDGMENT, JUDGMENT.c.id == JUDGMENT_REVIEW.c.judgment_id)
        .join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id)
        .join(VERSION, VERSION.c.id == JUDGMENT.c.judge_version_id),
        response=JUDGMENT.c.response_id,
    ),
}


@cache
def exports() -> Mapping[str, ExportTable]:
    """Return the tables that can be exported, by name, also the tables of methods."""

    def loaded(method: Registration) -> Mapping[str, ExportTable]:
        return {name: load_object(place) for name, place in method.exports.items()}

    return with_methods("table", _EXPORTS, loaded)


def objects_of(
    connection: Connection, table: str, *where: ColumnElement[bool], key: str | None = None
) -> Iterator[bytes]:
    """Yield the rows of a table (a key of `exports`) as JSON objects; ``key`` is the name of an added row id."""
    columns = exports()[table].columns
    if key is not None:
        columns = (Column(key, ColumnType.INTEGER), *columns)
    for row in exports()[table].rows(connection, *where):
        yield object_text(row if key is None else row | {key: row[ROW_KEY]}, columns)


def export_tables(
    store: Store,
    targets: Mapping[str, str | Path | BinaryIO],
    *,
    format: str = "jsonl",  # noqa: A002 - the name of the command's option
    viewer: int | None = None,
    where: RowFilter | None = None,
    texts: Collection[str] = (),
    on_rows: Callable[[int], None] | None = None,
    known: Mapping[str, ExportTable] | None = None,
) -> dict[str, int]:
    """Write a consistent snapshot of tables, one line per row, and return the number of lines by table.

    ``targets`` maps each table (a key of ``known``) to a path or a binary stream. A file is
    replaced only after all rows are written; a stream stays open. ``format`` is ``jsonl`` or
    ``parquet`` (exact values), or ``csv`` (formulas are defused). Rows that the ``viewer`` may not
    see are left out (default: export all rows). ``where`` selects the answers or pairs whose rows
    are written; tables about neither are written whole. ``texts`` are the `TEXTS` to add to
    each row. ``on_rows`` gets the number of rows of a table after each 1,000. Raises BadInput if
    the table, the format or a text is unknown, pairs do not have a field of the filter, or a file
    cannot be written or is the database itself.
    """
    known = exports() if known is None else known
    unknown = sorted(targets.keys() - known.keys())
    if unknown:
        raise BadInput(f"there is no table {unknown[0]!r} to export; choose {', '.join(known)}")
    for text in texts:
        check_known("text", text, TEXTS)
    for target in targets.values():
        if isinstance(target, str | Path) and store.lives_in(Path(target)):
            raise BadInput(f"{target} is the database itself: export to another file")
    tables = {name: known[name].with_texts(texts) for name in targets}
    with Seen(store, viewer).reading() as connection:
        return {
            name: write_rows(
                table.read(connection, where), table.columns, targets[name], format, on_rows
            )
            for name, table in tables.items()
        }


RATINGS = "ratings"  # the table of people and one judge version, for analysis in other tools
_RATED = (
    Column("label"),
    Column("groundedness", ColumnType.NUMBER),
    Column("quality", ColumnType.INTEGER),
)
_RATING_COLUMNS = (
    *(Column(name) for name in ("source", "external_id", "query_type")),
    Column("asked_at", ColumnType.TIME),
    *(Column(name) for name in ("reviewer", "stage", "decision")),
    *_RATED,
    *(Column(name) for name in NOTES),
    Column("reviewed_at", ColumnType.TIME),
    Column("judge"),
    *(Column(f"judge_{column.name}", column.type) for column in _RATED),
    Column("judge_reasoning"),
)


def ratings_table(version: StoredVersion) -> ExportTable:
    """Return the current reviews of answers, each beside the current verdict of a judge version.

    An answer without a review has one row with the verdict, if there is one. The columns of a
    person or of the judge are empty where there is no review or no verdict. Reviews of test items
    are left out.
    """
    grades = [column.name for column in _RATED]
    of_answer = and_(REVIEW.c.response_id == RESPONSE.c.id, is_current(), ~is_test())
    of_version = and_(
        CURRENT.c.response_id == RESPONSE.c.id, CURRENT.c.judge_version_id == version.id
    )
    has_rating = or_(exists().where(of_answer), exists().where(of_version))
    query = (
        select(
            *(RESPONSE.c[name] for name in ("source", "external_id", "query_type", "asked_at")),
            REVIEWER.c.name.label("reviewer"),
            *(REVIEW.c[name] for name in ("stage", "decision", *grades, *NOTES)),
            REVIEW.c.at.label("reviewed_at"),
            literal(version.title).label("judge"),
            *(CURRENT.c[name].label(f"judge_{name}") for name in grades),
            JUDGMENT.c.reasoning.label("judge_reasoning"),
        )
        .select_from(RESPONSE)
        .outerjoin(REVIEW, of_answer)
        .outerjoin(REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id)
        .outerjoin(CURRENT, of_version)
        .outerjoin(JUDGMENT, JUDGMENT.c.id == CURRENT.c.judgment_id)
        .order_by(RESPONSE.c.id, REVIEW.c.id)
    )

    def rows(connection: Connection, *where: ColumnElement[bool]) -> Iterator[dict[str, Any]]:
        answers = select(RESPONSE.c.id.label(ROW_KEY)).where(has_rating, *where)
        for chunk in read_chunks(connection, answers):
            ids = [row[ROW_KEY] for row in chunk]
            for row in connection.execute(query.where(RESPONSE.c.id.in_(ids))).mappings():
                yield dict(row)

    return ExportTable(_RATING_COLUMNS, rows, RESPONSE.c.id)

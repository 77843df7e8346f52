"""The table of what people and one judge version said: one row per answer and review, for analysis in other tools."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, exists, literal, or_, select

from judgeboard.domain import NOTES
from judgeboard.formats.files import Column, ColumnType
from judgeboard.store.export import ROW_KEY, ExportTable, read_chunks
from judgeboard.store.reviews import is_current, is_test
from judgeboard.store.tables import CURRENT, JUDGMENT, RESPONSE, REVIEW, REVIEWER, StoredVersion

RATINGS = "ratings"
_GRADE = (
    Column("label"),
    Column("groundedness", ColumnType.NUMBER),
    Column("quality", ColumnType.INTEGER),
)
_COLUMNS = (
    *(Column(name) for name in ("source", "external_id", "query_type")),
    Column("asked_at", ColumnType.TIME),
    *(Column(name) for name in ("reviewer", "stage", "decision")),
    *_GRADE,
    *(Column(name) for name in NOTES),
    Column("reviewed_at", ColumnType.TIME),
    Column("judge"),
    *(Column(f"judge_{column.name}", column.type) for column in _GRADE),
    Column("judge_reasoning"),
)


def ratings_table(version: StoredVersion) -> ExportTable:
    """Return the current reviews of answers, each beside the current verdict of a judge version.

    An answer without a review has one row with the verdict, if there is one. The columns of a
    person or of the judge are empty where there is no review or no verdict. Reviews of test items
    are left out.
    """
    grades = [column.name for column in _GRADE]
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

    return ExportTable(_COLUMNS, rows, RESPONSE.c.id)

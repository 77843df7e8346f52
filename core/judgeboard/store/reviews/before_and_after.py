"""Grades that people gave blind and again after a judge's verdict had been shown to them."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Float, case, cast, func, select

from judgeboard.domain import Label
from judgeboard.stats.arrays import FloatArray, IntArray
from judgeboard.store.reviews.standing import REVIEW, standing
from judgeboard.store.schema.tables import JUDGMENT
from judgeboard.store.sql.column_arrays import read_columns


@dataclass(frozen=True, slots=True, eq=False)
class BeforeAndAfter:
    """A row per person and answer with a grade before and after, and the verdict of the judge that was shown.

    Labels are 1 (grounded) or 0; each column is on the grade's own scale.
    """

    response_ids: IntArray
    judge: FloatArray
    blind: FloatArray
    revealed: FloatArray


def before_and_after(connection: Connection, version_id: int, grade: str) -> BeforeAndAfter:
    """Return what people gave before and after they saw a verdict of a judge version.

    Of several standing reviews of one person the latest of each stage counts. The verdict is the one that was shown,
    which a later one of the same version need not be.

    Args:
        connection: An open transaction.
        version_id: The judge version whose verdict was shown.
        grade: ``label``, ``groundedness`` or ``quality``.
    """
    latest = [
        select(func.max(of.c.id).label("id"), of.c.response_id, of.c.reviewer_id)
        .where(standing(of), of.c.stage == stage, of.c[grade].is_not(None))
        .group_by(of.c.response_id, of.c.reviewer_id)
        .subquery(stage)
        for stage in ("blind", "revealed")
        for of in (REVIEW.alias(f"any_{stage}"),)
    ]
    blind, revealed = REVIEW.alias("before"), REVIEW.alias("after")
    first, second = latest
    same = (second.c.response_id == first.c.response_id) & (second.c.reviewer_id == first.c.reviewer_id)
    numbers = [_number(table.c[grade], grade) for table in (JUDGMENT, blind, revealed)]
    query = (
        select(revealed.c.response_id, *numbers)
        .select_from(second)
        .join(first, same)
        .join(blind, blind.c.id == first.c.id)
        .join(revealed, revealed.c.id == second.c.id)
        .join(JUDGMENT, JUDGMENT.c.id == revealed.c.judgment_seen_id)
        .where(JUDGMENT.c.judge_version_id == version_id, JUDGMENT.c[grade].is_not(None))
        .order_by(revealed.c.id)
    )
    return BeforeAndAfter(*read_columns(connection, query))


def _number(column: ColumnElement[Any], grade: str) -> ColumnElement[Any]:
    """Return a grade as a float, which is how its column is read."""
    if grade == "label":
        return cast(case((column == Label.GROUNDED.value, 1), else_=0), Float)
    return cast(column, Float)

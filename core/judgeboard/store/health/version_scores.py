"""The scores of one judge version as arrays: with answer length, user feedback, controls, by level."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Float, and_, case, cast, func, select

from judgeboard.domain import Label, ResponseKind
from judgeboard.judges.rubric_file import EXPECTED as EXPECTED_PREFIX
from judgeboard.stats.arrays import FloatArray, IntArray
from judgeboard.store.health.controls import control_kind
from judgeboard.store.schema.tables import CurrentJudgmentRow, JudgmentScoreRow, ResponseRow
from judgeboard.store.sql.column_arrays import Texts, read_columns
from judgeboard.store.sql.literal_conditions import CURRENT_OF_VERSION

CURRENT = CurrentJudgmentRow.__table__
RESPONSE = ResponseRow.__table__
SCORE = JudgmentScoreRow.__table__

EXPECTED = f"{EXPECTED_PREFIX}%"
"""Dimensions that repeat another one as its mean by token probability (G-Eval), as a pattern of SQL."""

OVERALL = "overall"
"""The dimension that sums a rubric up; where there is none, the mean of all dimensions stands for it."""

NEWEST = 20_000
"""Answers read where each costs a look at its row: so many fix a correlation to two digits."""

Scores = dict[str, FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRows:
    """Scores by measure (NaN is missing) of the same answers, with their evidence groups and one more column."""

    scores: Scores
    groups: IntArray
    more: FloatArray


def scored_lengths(connection: Connection, version_id: int, limit: int = NEWEST) -> ScoredRows:
    """Return the newest answers of the log that a version scored, with their length in characters."""
    newest = _newest(version_id, limit)
    query = (
        select(*_measures(newest), newest.c.evidence_group, cast(func.length(RESPONSE.c.answer), Float))
        .join_from(newest, RESPONSE, RESPONSE.c.id == newest.c.response_id)
        .where(RESPONSE.c.answer.is_not(None))
    )
    return _rows(read_columns(connection, query))


def scored_feedback(connection: Connection, version_id: int, limit: int = NEWEST) -> ScoredRows:
    """Return the newest scored answers that users spoke of, with what they said on the quality scale (1 to 4)."""
    newest = _newest(version_id, limit, CURRENT.c.user_quality.is_not(None))
    query = select(*_measures(newest), newest.c.evidence_group, cast(newest.c.user_quality, Float))
    return _rows(read_columns(connection, query))


@dataclass(frozen=True, slots=True, eq=False)
class ControlRows:
    """Controls of one kind: all of them counted, and the scores (NaN is missing) of original and control."""

    control_ids: IntArray
    groups: IntArray
    before: Scores
    after: Scores


def control_rows(connection: Connection, version_id: int) -> dict[str, ControlRows]:
    """Return every control by kind with what a version gave it and its original."""
    after, before, original = CURRENT.alias("after"), CURRENT.alias("before"), RESPONSE.alias("original")
    query = (
        select(
            RESPONSE.c.external_id,
            RESPONSE.c.id,
            original.c.evidence_group,
            *_measures(before),
            *_measures(after),
        )
        .join_from(RESPONSE, original, original.c.id == RESPONSE.c.derived_from)
        .join(after, _said_by(after, version_id, RESPONSE.c.id), isouter=True)
        .join(before, _said_by(before, version_id, original.c.id), isouter=True)
        .where(RESPONSE.c.kind == ResponseKind.CONTROL.value, RESPONSE.c.derived_from.is_not(None))
        .order_by(RESPONSE.c.id)
    )
    names, ids, groups, *values = read_columns(connection, query)
    kinds = np.array([control_kind(name) or "" for name in names.names], dtype=object)[names.codes]
    half = len(values) // 2
    return {
        str(kind): ControlRows(
            ids[kinds == kind],
            groups[kinds == kind],
            _named([column[kinds == kind] for column in values[:half]]),
            _named([column[kinds == kind] for column in values[half:]]),
        )
        for kind in sorted(set(kinds.tolist()))
        if kind
    }


@dataclass(frozen=True, slots=True, eq=False)
class ValueCounts:
    """How often each value of a measure was given in the log; ``scale`` as stored, for dimensions of a rubric."""

    values: FloatArray
    counts: IntArray
    scale: str | None = None


def value_counts(connection: Connection, version_id: int) -> dict[str, ValueCounts]:
    """Return how often a version gave each value, by measure and by dimension of its own."""
    mine = (CURRENT_OF_VERSION, CURRENT.c.judge_version_id == version_id)
    found: dict[str, ValueCounts] = {}
    for name in ("groundedness", "quality", "label"):
        column = dict(zip(_NAMES, _measures(CURRENT), strict=True))[name]
        query = select(column.label("value"), func.count()).where(*mine, CURRENT.c[name].is_not(None))
        values, counts = read_columns(connection, query.group_by(CURRENT.c[name]))
        if len(values):
            found[name] = ValueCounts(values, counts)
    dimensions = (
        select(SCORE.c.dimension, SCORE.c.scale, cast(SCORE.c.value, Float), func.count())
        .join(CURRENT, CURRENT.c.judgment_id == SCORE.c.judgment_id)
        .where(*mine, SCORE.c.value.is_not(None), SCORE.c.dimension != OVERALL, SCORE.c.dimension.not_like(EXPECTED))
        .group_by(SCORE.c.dimension, SCORE.c.scale, SCORE.c.value)
    )
    names, scales, values, counts = read_columns(connection, dimensions)
    for place, name in enumerate(names.names):
        rows = names.codes == place
        found[name] = ValueCounts(values[rows], counts[rows], _only(scales, rows))
    return found


_NAMES = ("groundedness", "quality", "label", "score")


def _measures(current: Any) -> tuple[ColumnElement[Any], ...]:
    """The measures of a row of current_judgment as floats; a label is 1 where it is grounded."""
    columns = current.c
    label = case((columns.label == Label.GROUNDED.value, 1.0), (columns.label.is_not(None), 0.0))
    overall = func.max(case((SCORE.c.dimension == OVERALL, SCORE.c.value)))
    mean = select(func.coalesce(overall, func.avg(SCORE.c.value))).where(
        SCORE.c.judgment_id == columns.judgment_id, SCORE.c.dimension.not_like(EXPECTED)
    )
    return (
        cast(columns.groundedness, Float),
        cast(columns.quality, Float),
        cast(label, Float),
        cast(mean.scalar_subquery(), Float),
    )


def _newest(version_id: int, limit: int, *conditions: ColumnElement[bool]) -> Any:
    names = ("response_id", "judgment_id", "evidence_group", "groundedness", "quality", "label", "user_quality")
    query = select(*(CURRENT.c[name] for name in names)).where(
        CURRENT_OF_VERSION, CURRENT.c.judge_version_id == version_id, *conditions
    )
    return query.order_by(CURRENT.c.response_id.desc()).limit(limit).subquery("newest")


def _said_by(current: Any, version_id: int, response_id: ColumnElement[Any]) -> ColumnElement[bool]:
    return and_(current.c.judge_version_id == version_id, current.c.response_id == response_id)


def _named(columns: list[FloatArray]) -> Scores:
    return dict(zip(_NAMES, columns, strict=True))


def _rows(columns: list[Any]) -> ScoredRows:
    *measures, groups, more = columns
    return ScoredRows(_named(measures), groups, more)


def _only(scales: Texts, rows: Any) -> str | None:
    """The scale of a dimension where all its scores have one."""
    found = np.unique(scales.codes[rows])
    return scales.names[int(found[0])] if len(found) == 1 else None

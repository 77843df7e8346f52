"""The scores of one judge version as arrays: with answer length, user feedback, controls, by level."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Float, and_, case, cast, func, select

from judgeboard.domain import Label, ResponseKind
from judgeboard.judges.rubric_file import EXPECTED as EXPECTED_PREFIX
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray, no_floats, no_ints
from judgeboard.store.health.controls import control_kind
from judgeboard.store.schema.tables import CURRENT, JUDGMENT_SCORE, RESPONSE
from judgeboard.store.sql.column_arrays import Texts, read_columns
from judgeboard.store.sql.literal_conditions import CURRENT_OF_VERSION

SCORE = JUDGMENT_SCORE

EXPECTED = f"{EXPECTED_PREFIX}%"
"""Dimensions that repeat another one as its mean by token probability (G-Eval), as a pattern of SQL."""

OVERALL = "overall"
"""The dimension that sums a rubric up; where there is none, the mean of all dimensions stands for it."""

_MIDDLE = 2.5  # of a user's feedback on the quality scale: neither down nor up
NEWEST = 20_000
"""Answers read where each costs a look at its row: so many fix a correlation to two digits."""

Scores = Mapping[str, FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredAnswers:
    """The newest answers of the log that a version scored: scores by measure (NaN is missing), lengths, evidence."""

    scores: Scores = field(default_factory=dict)
    lengths: FloatArray = field(default_factory=no_floats)
    groups: IntArray = field(default_factory=no_ints)


@dataclass(frozen=True, slots=True, eq=False)
class FeedbackScores:
    """Answers that users spoke of plainly: scores by measure, whether the user was down, evidence."""

    scores: Scores = field(default_factory=dict)
    down: BoolArray = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    groups: IntArray = field(default_factory=no_ints)


@dataclass(frozen=True, slots=True, eq=False)
class ControlScores:
    """The controls of one kind: how many there are, and the scores (NaN is missing) of original and control."""

    made: int = 0
    control_ids: IntArray = field(default_factory=no_ints)
    before: Scores = field(default_factory=dict)
    after: Scores = field(default_factory=dict)
    groups: IntArray = field(default_factory=no_ints)

    def judged(self, measure: str) -> BoolArray:
        """Return which controls have a score, and their originals too."""
        judged: BoolArray = ~np.isnan(self.before[measure]) & ~np.isnan(self.after[measure])
        return judged


def scored_lengths(connection: Connection, version_id: int, limit: int = NEWEST) -> ScoredAnswers:
    """Return the newest answers of the log that a version scored, with their length in characters."""
    newest = _newest(version_id, limit)
    query = (
        select(*_measures(newest), newest.c.evidence_group, cast(func.length(RESPONSE.c.answer), Float))
        .join_from(newest, RESPONSE, RESPONSE.c.id == newest.c.response_id)
        .where(RESPONSE.c.answer.is_not(None))
    )
    *measures, groups, lengths = read_columns(connection, query)
    return ScoredAnswers(_named(measures), lengths, groups)


def scored_feedback(connection: Connection, version_id: int, limit: int = NEWEST) -> FeedbackScores:
    """Return the newest scored answers that users liked or disliked; a rating in the middle says neither."""
    newest = _newest(version_id, limit, CURRENT.c.user_quality.is_not(None))
    query = select(*_measures(newest), newest.c.evidence_group, cast(newest.c.user_quality, Float))
    *measures, groups, quality = read_columns(connection, query)
    plain = quality != _MIDDLE
    scores = _named([column[plain] for column in measures])
    return FeedbackScores(scores, quality[plain] < _MIDDLE, groups[plain])


def control_rows(connection: Connection, version_id: int) -> dict[str, ControlScores]:
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
        str(kind): ControlScores(
            int(rows.sum()),
            ids[rows],
            _named([column[rows] for column in values[:half]]),
            _named([column[rows] for column in values[half:]]),
            groups[rows],
        )
        for kind in sorted(set(kinds.tolist()))
        if kind
        for rows in (kinds == kind,)
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


def _only(scales: Texts, rows: Any) -> str | None:
    """The scale of a dimension where all its scores have one."""
    found = np.unique(scales.codes[rows])
    return scales.names[int(found[0])] if len(found) == 1 else None

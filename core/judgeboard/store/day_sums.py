"""Sums of current verdicts and flags by group and UTC day, and the values of the newest verdicts: for trends."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    Select,
    Subquery,
    Table,
    case,
    cast,
    exists,
    func,
    literal_column,
    select,
)

from judgeboard.domain import ResponseKind
from judgeboard.flags.rule import HALF_STEP
from judgeboard.stats.arrays import FloatArray, IntArray
from judgeboard.store.criteria import Criterion, is_score_on
from judgeboard.store.filters import RowFilter, ScoreName
from judgeboard.store.metadata import has_metadata
from judgeboard.store.sql_compiler import by_index
from judgeboard.store.statements import (
    CURRENT_OF_NAME,
    CURRENT_OF_VERSION,
    LOGGED,
    NO_DAY,
    PICKED,
    Columns,
    TextColumn,
    read_columns,
    rounded_sum,
)
from judgeboard.store.tables import (
    CURRENT,
    FLAG,
    JUDGMENT_SCORE,
    RESPONSE,
)

Groups = Subquery | None
"""Logged answers (``id``, ``value``) from `metadata_groups`; None groups by query type, which needs no join."""


@dataclass(frozen=True, slots=True)
class DaySums:
    """Sums of one group of answers, day (days since 1970-01-01, None without a time) and judge version.

    The ``group`` is a query type, or a value of a metadata field as written in filters. ``total``
    and ``squares`` are the sums of the values and of the squares; for a share, both count the
    hits. ``version_id`` is None if the values do not come from a judge. ``unscored`` counts the
    verdicts without a value, which ``n`` leaves out.
    """

    group: str
    day: int | None
    version_id: int | None
    n: int
    total: float
    squares: float
    unscored: int = 0


def score_sums(
    connection: Connection, judge: str | int, score: ScoreName | Criterion, groups: Groups = None
) -> list[DaySums]:
    """Return the sums of a score over the current verdicts of a judge (by name) or of a judge version (by id)."""
    value = _score(score)
    query = _judged_by(judge, groups, func.count(value), func.sum(value), func.sum(value * value))
    if isinstance(score, Criterion):
        query = query.outerjoin(JUDGMENT_SCORE, is_score_on(score))
    return _sums_of(connection, query)


def _score(score: ScoreName | Criterion) -> ColumnElement[Any]:
    return JUDGMENT_SCORE.c.value if isinstance(score, Criterion) else CURRENT.c[score]


def low_sums(
    connection: Connection, judge: str | int, threshold: float, groups: Groups = None
) -> list[DaySums]:
    """Return the numbers of answers with a groundedness below ``threshold``, by judge name or version id."""
    value = CURRENT.c.groundedness
    low = func.sum(case((value < threshold - HALF_STEP, 1), else_=0))
    return _sums_of(connection, _judged_by(judge, groups, func.count(value), low, low))


def flagged_sums(
    connection: Connection, groups: Groups = None, rule: str | None = None
) -> list[DaySums]:
    """Return the numbers of logged answers with a flag of a rule, or of any rule except random sampling.

    Superseded flags do not count.
    """
    hits = _by_day(
        FLAG, FLAG.c.response_id, groups, func.count(FLAG.c.response_id.distinct())
    ).where(*_flagged(rule))
    if (
        rule is not None and groups is None
    ):  # SQLite would otherwise read the rows of all flags of the rule
        hits = by_index(hits, FLAG, "ix_flag_share")
    flag_counts = {(group, day): n for group, day, n in connection.execute(hits)}
    answers = _by_day(RESPONSE, RESPONSE.c.id, groups, func.count()).where(
        RESPONSE.c.kind == ResponseKind.LOG
    )
    return _ordered(
        DaySums(group, day, None, n, hit, hit)
        for group, day, n in connection.execute(answers)
        for hit in (float(flag_counts.get((group, day), 0)),)
    )


def _flagged(rule: str | None) -> tuple[ColumnElement[bool], ...]:
    return (PICKED,) if rule is None else (PICKED, FLAG.c.rule == rule)


def judged_counts(connection: Connection, judge: str | int) -> list[DaySums]:
    """Return the numbers of current verdicts of each version of a judge; the sums of values are 0."""
    zero: ColumnElement[int] = literal_column("0")
    return _sums_of(connection, _judged_by(judge, None, func.count(), zero, zero))


NEWEST = 20_000
"""`newest_values` reads the answers with this many newest ids."""


@dataclass(frozen=True, slots=True, eq=False)
class NewestValues(Columns):
    """The newest answers with a value, one row each; ``names`` are query types or groups.

    ``days`` are UTC days since 1970-01-01, `NO_DAY` without a time.
    """

    response_ids: IntArray
    names: TextColumn
    evidence_groups: IntArray
    days: IntArray
    values: FloatArray


def newest_values(
    connection: Connection,
    judge: str | int,
    score: ScoreName | Criterion | None,
    threshold: float | None = None,
    rule: str | None = None,
    groups: Groups = None,
    *,
    query_types: Sequence[str] = (),
    sources: Sequence[str] = (),
    metadata: tuple[str, ...] = (),
) -> NewestValues:
    """Return the values of the newest verdicts of a judge.

    The value is the ``score``. With a ``threshold``, the value is 1 if the score is below the
    threshold, otherwise 0. Without a ``score``, the value is 1 if the answer is flagged, by any
    rule or by ``rule``, otherwise 0. With ``groups``, only the answers of the groups are read.
    Query types, sources, and conditions of metadata such as ``tenant=acme`` narrow the answers
    further.
    """
    is_flagged = exists().where(FLAG.c.response_id == CURRENT.c.response_id, *_flagged(rule))
    value = case((is_flagged, 1.0), else_=0.0) if score is None else _score(score)
    name = CURRENT.c.query_type if groups is None else groups.c.value
    day = func.coalesce(CURRENT.c.asked_day, NO_DAY)
    columns = CURRENT.c.response_id, name, CURRENT.c.evidence_group, day, cast(value, Float)
    query: Select[Any] = (
        select(*columns)
        .select_from(CURRENT)
        .where(*_whose(judge), CURRENT.c.response_id >= _first_read(connection))
    )
    if score is not None:
        query = query.where(value.is_not(None))
    if isinstance(score, Criterion):
        query = query.join(JUDGMENT_SCORE, is_score_on(score))
    if query_types:
        query = query.where(CURRENT.c.query_type.in_(query_types))
    if sources:
        query = query.where(CURRENT.c.source.in_(sources))
    if metadata:
        query = query.join(RESPONSE, RESPONSE.c.id == CURRENT.c.response_id)
        query = query.where(*has_metadata(connection, RowFilter(metadata=metadata), RESPONSE))
    if groups is not None:
        query = query.join(groups, groups.c.id == CURRENT.c.response_id)
    query = by_index(query, CURRENT, "ix_current_judgment_response")
    ids, names, evidence, days, values = read_columns(connection, query)
    if threshold is not None:
        values = (values < threshold - HALF_STEP).astype(np.float64)
    return NewestValues(ids, names, evidence, days, values)


def _first_read(connection: Connection) -> int:
    """Return the lowest id that `newest_values` reads."""
    newest = by_index(
        select(func.max(CURRENT.c.response_id)), CURRENT, "ix_current_judgment_response"
    )
    return (connection.scalar(newest) or 0) - NEWEST + 1


def are_days_cut(connection: Connection, first: int, last: int) -> bool:
    """Return whether `newest_values` leaves out a logged answer of these UTC days, both included, as too old."""
    day: ColumnElement[int] = literal_column(f"coalesce(response.asked_day, {NO_DAY})")
    unread = select(RESPONSE.c.id).where(
        LOGGED, day.between(first, last), RESPONSE.c.id < _first_read(connection)
    )
    unread = by_index(unread, RESPONSE, "ix_response_asked")
    return connection.scalar(unread.limit(1)) is not None


def _by_day(
    table: Table, response_id: ColumnElement[int], groups: Groups, *columns: ColumnElement[Any]
) -> Select[Any]:
    if groups is None:
        keys = table.c.query_type, table.c.asked_day
        return select(*keys, *columns).group_by(*keys)
    by_value = groups.c.value, table.c.asked_day
    return select(*by_value, *columns).join(groups, groups.c.id == response_id).group_by(*by_value)


def _judged_by(judge: str | int, groups: Groups, *sums: ColumnElement[Any]) -> Select[Any]:
    version = CURRENT.c.judge_version_id
    query = _by_day(CURRENT, CURRENT.c.response_id, groups, version, func.count(), *sums).group_by(
        version
    )
    return query.where(*_whose(judge))


def _whose(judge: str | int) -> tuple[ColumnElement[bool], ...]:
    if isinstance(judge, int):
        return CURRENT_OF_VERSION, CURRENT.c.judge_version_id == judge
    return CURRENT_OF_NAME, CURRENT.c.judge_name == judge


def _sums_of(connection: Connection, query: Select[Any]) -> list[DaySums]:
    rows = connection.execute(query)
    return _ordered(
        DaySums(group, day, version_id, n, rounded_sum(total), rounded_sum(squares), every - n)
        for group, day, version_id, every, n, total, squares in rows
    )


def _ordered(sums: Iterable[DaySums]) -> list[DaySums]:
    return sorted(
        sums,
        key=lambda each: (each.group, -1 if each.day is None else each.day, each.version_id or 0),
    )

"""What a trend adds up: per query type and day asked, how many values, their total and the total of their squares.

The engine walks one covering index per question and touches no table row; weeks are folded from days by the caller.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, case, func, literal_column, select

from judgeboard.domain import ResponseKind
from judgeboard.filters import ScoreName
from judgeboard.flags.rule import HALF_STEP
from judgeboard.store.schema.tables import CURRENT, FLAG, RESPONSE
from judgeboard.store.sql.literal_conditions import CURRENT_OF_NAME, CURRENT_OF_VERSION

# Written out like those of literal_conditions, for the index of the share flagged.
_SHARED: ColumnElement[bool] = literal_column("flag.state <> 'superseded' AND flag.rule <> 'random_sample'")


@dataclass(frozen=True, slots=True)
class DaySums:
    """One query type on one day (days since 1970-01-01, None without a time) by one judge version.

    ``total`` and ``squares`` add up the values; for a share they both count the hits. ``version_id`` is None where
    the sums do not come from a judge. ``unscored`` verdicts beside the ``n`` have no value.
    """

    query_type: str
    day: int | None
    version_id: int | None
    n: int
    total: float
    squares: float
    unscored: int = 0


def score_sums(connection: Connection, judge: str | int, score: ScoreName) -> list[DaySums]:
    """Return the sums of a score of a judge's current verdicts (its name), or of one judge version (its id)."""
    value = CURRENT.c[score]
    return _sums_of(connection, _judged(judge, func.count(value), func.sum(value), func.sum(value * value)))


def low_sums(connection: Connection, judge: str | int, threshold: float) -> list[DaySums]:
    """Return how many answers with a groundedness lie below ``threshold``, by judge name or version id."""
    value = CURRENT.c.groundedness
    low = func.sum(case((value < threshold - HALF_STEP, 1), else_=0))
    return _sums_of(connection, _judged(judge, func.count(value), low, low))


def flagged_sums(connection: Connection) -> list[DaySums]:
    """Return how many of all logged answers carry a flag of any rule but the random one, superseded ones left out.

    Every answer counts, judged or not; several flags of one answer count once.
    """
    by = FLAG.c.query_type, FLAG.c.asked_day
    hits = select(*by, func.count(FLAG.c.response_id.distinct())).where(_SHARED).group_by(*by)
    flagged = {(query_type, day): n for query_type, day, n in connection.execute(hits)}
    of = RESPONSE.c.query_type, RESPONSE.c.asked_day
    answers = select(*of, func.count()).where(RESPONSE.c.kind == ResponseKind.LOG.value).group_by(*of)
    return _ordered(
        DaySums(query_type, day, None, n, hit, hit)
        for query_type, day, n in connection.execute(answers)
        for hit in (float(flagged.get((query_type, day), 0)),)
    )


def judged_counts(connection: Connection, judge: str | int) -> list[DaySums]:
    """Return how many current verdicts each version of a judge has: sums without values."""
    zero: ColumnElement[int] = literal_column("0")
    return _sums_of(connection, _judged(judge, func.count(), zero, zero))


def _verdicts_of(judge: str | int) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the conditions of the current verdicts of a judge (its name), or of one judge version (its id)."""
    if isinstance(judge, int):
        return CURRENT_OF_VERSION, CURRENT.c.judge_version_id == judge
    return CURRENT_OF_NAME, CURRENT.c.judge_name == judge


def _judged(judge: str | int, *sums: ColumnElement[Any]) -> Select[Any]:
    keys = CURRENT.c.query_type, CURRENT.c.asked_day, CURRENT.c.judge_version_id
    return select(*keys, func.count(), *sums).group_by(*keys).where(*_verdicts_of(judge))


def _sums_of(connection: Connection, query: Select[Any]) -> list[DaySums]:
    rows = connection.execute(query)
    return _ordered(
        DaySums(query_type, day, version_id, n, float(total or 0), float(squares or 0), every - n)
        for query_type, day, version_id, every, n, total, squares in rows
    )


def _ordered(sums: Iterable[DaySums]) -> list[DaySums]:
    return sorted(sums, key=lambda each: (each.query_type, -1 if each.day is None else each.day, each.version_id or 0))

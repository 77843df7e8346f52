"""The desk day by day: how many flags were raised, decided and left waiting; how the judge fared and what it cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, case, func, literal_column, select

from judgeboard.ask_counts import AskCounts
from judgeboard.domain import Decision, FlagState, Status
from judgeboard.store.desk.queue_order import FLAG
from judgeboard.store.reviews.standing import REVIEW, standing
from judgeboard.store.row_filter import by_index
from judgeboard.store.schema.tables import JUDGMENT, VERSION
from judgeboard.store.sql.literal_conditions import OPEN

_DECIDED = (Decision.CONFIRM.value, Decision.DISMISS.value)
_EARLIER = -1

# Named, not repeated: PostgreSQL takes two expressions with parameters for different ones.
_MADE: ColumnElement[int] = literal_column("made")
_DECIDED_ON: ColumnElement[int] = literal_column("decided")
_MINE: ColumnElement[int] = literal_column("mine")
_PLACE: ColumnElement[int] = literal_column("place")


@dataclass(frozen=True, slots=True)
class DeskDay:
    """A UTC day at the desk; ``waiting`` is the number of open flags at its end, superseded ones never counted."""

    day: date
    raised: int
    decided: int
    decided_by_me: int
    confirmed: int
    waiting: int


@dataclass(frozen=True, slots=True)
class JudgeDay(AskCounts):
    """A UTC day of a judge.

    ``cost_micro`` sums the known costs (None where none is known), ``unpriced`` counts judgments of unknown cost.
    """

    day: date
    cost_micro: int | None = None
    unpriced: int = 0


def waiting_now(connection: Connection) -> int:
    """Return how many flags are open."""
    query = select(func.count()).select_from(FLAG).where(OPEN)
    return int(connection.execute(by_index(query, FLAG, "ix_flag_open_rule")).scalar_one())


def desk_days(connection: Connection, reviewer_id: int | None, days: Sequence[date]) -> list[DeskDay]:
    """Return what happened on consecutive days up to now; decisions that were taken back are left out."""
    raised, still_open = [0] * len(days), [0] * len(days)
    made = _place(FLAG.c.created_at, days).label("made")
    query = select(made, FLAG.c.state, func.count()).where(FLAG.c.created_at >= _start(days[0]))
    for place, state, n in connection.execute(query.group_by(_MADE, FLAG.c.state)):
        if state != FlagState.SUPERSEDED:
            raised[place] += n
        if state == FlagState.OPEN:
            still_open[place] += n
    decisions = _decisions(connection, reviewer_id, days)
    now = waiting_now(connection)
    found = []
    for place, day in enumerate(days):
        today = [each for each in decisions if each.decided == place]
        # Of those open now the ones that came later did not wait yet; those decided later still did.
        waiting = now - sum(still_open[place + 1 :])
        waiting += sum(each.n for each in decisions if each.made <= place < each.decided)
        found.append(
            DeskDay(
                day=day,
                raised=raised[place],
                decided=sum(each.n for each in today),
                decided_by_me=sum(each.n for each in today if each.mine),
                confirmed=sum(each.n for each in today if each.decision == Decision.CONFIRM),
                waiting=waiting,
            )
        )
    return found


def judge_days(connection: Connection, judge: str | None, days: Sequence[date]) -> list[JudgeDay]:
    """Return how a judge fared on consecutive days, all its versions together; nothing was asked of nobody."""
    place = _place(JUDGMENT.c.created_at, days).label("place")
    query = (
        select(
            place,
            JUDGMENT.c.status,
            func.count(),
            func.sum(JUDGMENT.c.cost_micro),
            func.count(JUDGMENT.c.cost_micro),
        )
        .where(
            JUDGMENT.c.judge_version_id.in_(select(VERSION.c.id).where(VERSION.c.name == judge)),
            JUDGMENT.c.created_at >= _start(days[0]),
        )
        .group_by(_PLACE, JUDGMENT.c.status)
    )
    counted: list[dict[str, int]] = [{} for _ in days]
    for at, status, n, cost, priced in connection.execute(by_index(query, JUDGMENT, "ix_judgment_created")):
        today = counted[at]
        today[Status(status).value] = n
        today["unpriced"] = today.get("unpriced", 0) + n - priced
        if cost is not None:
            today["cost_micro"] = today.get("cost_micro", 0) + int(cost)
    return [JudgeDay(day, **today) for day, today in zip(days, counted, strict=True)]


@dataclass(frozen=True, slots=True)
class _Decisions:
    decided: int
    made: int
    decision: str
    mine: bool
    n: int


def _decisions(connection: Connection, reviewer_id: int | None, days: Sequence[date]) -> list[_Decisions]:
    """Standing decisions of these days by the place of their day, and that of the day their flag was made."""
    decided, made = _place(REVIEW.c.at, days).label("decided"), _place(FLAG.c.created_at, days).label("made")
    mine = case((REVIEW.c.reviewer_id == reviewer_id, 1), else_=0).label("mine")
    query = (
        select(decided, made, REVIEW.c.decision, mine, func.count())
        .join(FLAG, FLAG.c.id == REVIEW.c.flag_id)
        .where(REVIEW.c.at >= _start(days[0]), REVIEW.c.decision.in_(_DECIDED), standing())
        .group_by(_DECIDED_ON, _MADE, REVIEW.c.decision, _MINE)
    )
    return [_Decisions(on, made, said, bool(own), n) for on, made, said, own, n in connection.execute(query)]


def _place(moment: ColumnElement[datetime | None], days: Sequence[date]) -> ColumnElement[int]:
    """The place of a moment's day among consecutive days; what is later counts to the last."""
    ends: list[Any] = [(moment < _start(day + timedelta(days=1)), place) for place, day in enumerate(days[:-1])]
    return case((moment < _start(days[0]), _EARLIER), *ends, else_=len(days) - 1)


def _start(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)

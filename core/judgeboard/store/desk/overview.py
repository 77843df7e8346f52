"""What the overview says: what waits, how the desk and the judge are doing, where the two signals collide."""

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from sqlalchemy import Connection, func, select

from judgeboard.domain import Decision, Estimate, FlagState
from judgeboard.stats.proportions import share_intervals
from judgeboard.store.desk.desk_days import DeskDay, JudgeDay, desk_days, judge_days
from judgeboard.store.desk.quadrant import quadrant
from judgeboard.store.desk.queue_order import FLAG
from judgeboard.store.reviews.standing import REVIEW, standing
from judgeboard.store.schema.tables import RESPONSE
from judgeboard.store.settings_table import primary_judge

DAYS = 7
LAST = 5
START = 200  # characters of a question in a short list


@dataclass(frozen=True, slots=True)
class LastDecision:
    """One of a reviewer's last decisions that stand."""

    review_id: int
    response_id: int
    flag_id: int
    external_id: str
    rule: str
    decision: str
    question: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Overview:
    """The desk on a day, with the seven days up to it (oldest first, the last is the day itself).

    ``confirmed`` is the share of confirmed among all decided flags, with its interval. ``judge`` names the primary
    judge, None while nothing was judged; ``judged`` is how it fared. ``quadrant`` counts answers by (judge side, user
    side), empty cells left out.
    """

    waiting: int
    decided_today: int
    decided_today_by_me: int
    days: tuple[DeskDay, ...]
    confirmed: Estimate
    judge: str | None
    judged: tuple[JudgeDay, ...]
    quadrant: dict[tuple[str, str], int]
    last_decisions: tuple[LastDecision, ...]

    @property
    def judged_in_all(self) -> JudgeDay:
        """The judge's days added up, under the last day's date."""
        costs = [day.cost_micro for day in self.judged if day.cost_micro is not None]
        return JudgeDay(
            day=self.judged[-1].day,
            ok=sum(day.ok for day in self.judged),
            unparsable=sum(day.unparsable for day in self.judged),
            refused=sum(day.refused for day in self.judged),
            error=sum(day.error for day in self.judged),
            cost_micro=sum(costs) if costs else None,
            unpriced=sum(day.unpriced for day in self.judged),
        )


def overview(connection: Connection, reviewer_id: int | None, today: date) -> Overview:
    """Return the state of the desk; ``today`` is a UTC day, ``reviewer_id`` None for nobody's own figures."""
    days = [today - timedelta(days=back) for back in reversed(range(DAYS))]
    desk = desk_days(connection, reviewer_id, days)
    judge = primary_judge(connection)
    return Overview(
        waiting=desk[-1].waiting,
        decided_today=desk[-1].decided,
        decided_today_by_me=desk[-1].decided_by_me,
        days=tuple(desk),
        confirmed=_confirmed(connection),
        judge=judge,
        judged=tuple(judge_days(connection, judge, days)),
        quadrant=quadrant(connection),
        last_decisions=() if reviewer_id is None else _last_decisions(connection, reviewer_id),
    )


def _confirmed(connection: Connection) -> Estimate:
    states = (FlagState.CONFIRMED, FlagState.DISMISSED)
    confirmed, dismissed = (
        connection.execute(select(func.count()).select_from(FLAG).where(FLAG.c.state == state.value)).scalar_one()
        for state in states
    )
    return replace(share_intervals(confirmed, confirmed + dismissed)[0], unit="flag")


def _last_decisions(connection: Connection, reviewer_id: int) -> tuple[LastDecision, ...]:
    decided = (Decision.CONFIRM.value, Decision.DISMISS.value, Decision.UNSURE.value)
    query = (
        select(
            REVIEW.c.id,
            REVIEW.c.response_id,
            REVIEW.c.flag_id,
            RESPONSE.c.external_id,
            FLAG.c.rule,
            REVIEW.c.decision,
            func.substr(RESPONSE.c.query, 1, START),
            REVIEW.c.at,
        )
        .join(FLAG, FLAG.c.id == REVIEW.c.flag_id)
        .join(RESPONSE, RESPONSE.c.id == REVIEW.c.response_id)
        .where(REVIEW.c.reviewer_id == reviewer_id, REVIEW.c.decision.in_(decided), standing())
        .order_by(REVIEW.c.id.desc())
        .limit(LAST)
    )
    return tuple(LastDecision(*row) for row in connection.execute(query))

"""Counts and sums: the overview, totals, and the days of answers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    case,
    exists,
    func,
    literal_column,
    select,
)

from judgeboard.domain import Decision, FlagState, Label, Stage
from judgeboard.store.engine import kept_while_reading
from judgeboard.store.filter_conditions import (
    feedback_side_conditions,
    is_latest_feedback,
    is_low,
    of_judge,
    quality_side_conditions,
    response_conditions,
)
from judgeboard.store.filters import RowFilter
from judgeboard.store.flags import SPLIT
from judgeboard.store.reviews import is_current
from judgeboard.store.runs import Counts, count_query, counts_by
from judgeboard.store.settings import primary_judge, thresholds
from judgeboard.store.sql_compiler import by_index
from judgeboard.store.statements import CURRENT_OF_VERSION, LOGGED, OPEN, count_rows, number_of
from judgeboard.store.tables import (
    CURRENT,
    FEEDBACK,
    FLAG,
    JUDGMENT,
    RESPONSE,
    REVIEW,
    REVIEWER,
    VERSION,
)

_DECIDED = (Decision.CONFIRM, Decision.DISMISS)
_EARLIER = -1

# Queries group by these column names, because PostgreSQL treats two equal expressions with
# parameters as different.
_CLOSED: ColumnElement[int] = literal_column("closed")
_DECIDED_ON: ColumnElement[int] = literal_column("decided")
_MINE: ColumnElement[int] = literal_column("mine")
_INDEX: ColumnElement[int] = literal_column("day_index")


@dataclass(frozen=True, slots=True)
class DayCounts:
    """Counts of answers on a UTC day; ``open_answers`` had open flags at the end. Superseded flags do not count.

    ``flagged`` counts answers that got the first flag. ``decided`` counts an answer once per person
    who decided.
    """

    day: date
    flagged: int
    decided: int
    decided_by_me: int
    open_answers: int


def count_open_flags(connection: Connection, *, before: datetime | None = None) -> int:
    """Return the number of open flags (``before``: only flags that were raised before this time)."""
    query = select(func.count()).select_from(FLAG).where(OPEN)
    if before is not None:
        return number_of(connection, query.where(FLAG.c.created_at < before))
    return number_of(connection, by_index(query, FLAG, "ix_flag_open_rule"))


def day_counts(
    connection: Connection, reviewer_id: int | None, days: Sequence[date]
) -> list[DayCounts]:
    """Return the counts of consecutive days up to now; withdrawn decisions do not count."""
    # Count the answers flagged or decided on these days, by state (open or not), flag day and
    # decision day.
    decided_on = _day_index(REVIEW.c.at, days)
    of_answers = select(REVIEW.c.response_id, func.max(decided_on).label("closed")).where(
        *_decides_since(days)
    )
    closings = by_index(
        of_answers.group_by(REVIEW.c.response_id), REVIEW, "ix_review_at"
    ).subquery()
    flag_day = _day_index(FLAG.c.created_at, days)
    flagged_ids = select(FLAG.c.response_id).where(FLAG.c.created_at >= _start(days[0]))
    flags = (
        select(
            FLAG.c.response_id,
            func.coalesce(func.min(case((OPEN, flag_day))), func.min(flag_day)).label("made"),
            func.max(case((OPEN, 1), else_=0)).label("is_open"),
        )
        .where(
            FLAG.c.state != FlagState.SUPERSEDED,
            FLAG.c.response_id.in_(flagged_ids.union(select(closings.c.response_id))),
        )
        .group_by(FLAG.c.response_id)
        .subquery()
    )
    closing_day = func.coalesce(closings.c.closed, _EARLIER).label("closed")
    rows = select(flags.c.made, flags.c.is_open, closing_day, func.count().label("n")).select_from(
        flags.outerjoin(closings, closings.c.response_id == flags.c.response_id)
    )
    answers = connection.execute(rows.group_by(flags.c.made, flags.c.is_open, _CLOSED)).all()
    decisions = _decisions(connection, reviewer_id, days)
    leading_flags = select(func.count()).select_from(FLAG).where(OPEN, FLAG.c.leads)
    now = number_of(connection, by_index(leading_flags, FLAG, "ix_flag_open_rule"))
    counts = []
    for index, day in enumerate(days):
        today = [each for each in decisions if each.decided == index]
        # Answers flagged later were not open on that day; answers decided later still were.
        open_answers = now - sum(each.n for each in answers if each.is_open and each.made > index)
        open_answers += sum(
            each.n for each in answers if not each.is_open and each.made <= index < each.closed
        )
        counts.append(
            DayCounts(
                day=day,
                flagged=sum(each.n for each in answers if each.made == index),
                decided=sum(each.n for each in today),
                decided_by_me=sum(each.n for each in today if each.mine),
                open_answers=open_answers,
            )
        )
    return counts


def judge_counts(connection: Connection, judge: str, since: date) -> Counts:
    """Return the counts of a judge, all versions together, since the start of a UTC day."""
    versions = select(VERSION.c.id).where(VERSION.c.name == judge)
    query = count_query(JUDGMENT, JUDGMENT.c.judge_version_id).where(
        JUDGMENT.c.judge_version_id.in_(versions), JUDGMENT.c.created_at >= _start(since)
    )
    counts = counts_by(connection, by_index(query, JUDGMENT, "ix_judgment_created"))
    return sum(counts.values(), Counts())


def _decisions(
    connection: Connection, reviewer_id: int | None, days: Sequence[date]
) -> Sequence[Row[Any]]:
    """Count decided answers by the index of the day, each answer once per person."""
    decision_day = _day_index(REVIEW.c.at, days).label("decided")
    by_person = select(decision_day, REVIEW.c.reviewer_id).where(*_decides_since(days))
    by_person = by_person.group_by(_DECIDED_ON, REVIEW.c.reviewer_id, REVIEW.c.response_id)
    answers = by_index(by_person, REVIEW, "ix_review_at").subquery()
    is_mine = case((answers.c.reviewer_id == reviewer_id, 1), else_=0).label("mine")
    query = select(answers.c.decided, is_mine, func.count().label("n"))
    return connection.execute(query.group_by(answers.c.decided, _MINE)).all()


def _decides_since(days: Sequence[date]) -> list[ColumnElement[bool]]:
    """Return the conditions of a current decision since the first day; decisions after a reveal do not count."""
    return [
        REVIEW.c.at >= _start(days[0]),
        REVIEW.c.decision.in_(_DECIDED),
        REVIEW.c.stage.is_distinct_from(Stage.REVEALED),
        is_current(),
    ]


def _day_index(moment: ColumnElement[datetime | None], days: Sequence[date]) -> ColumnElement[int]:
    """Return the index of a moment's day among consecutive days; later moments belong to the last day."""
    ends: list[Any] = [
        (moment < _start(day + timedelta(days=1)), index) for index, day in enumerate(days[:-1])
    ]
    return case((moment < _start(days[0]), _EARLIER), *ends, else_=len(days) - 1)


def _start(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def any_judged(connection: Connection) -> bool:
    """Return whether a judge has judged an answer."""
    return connection.scalar(select(JUDGMENT.c.id).limit(1)) is not None


def count_decided(connection: Connection, day: date) -> int:
    """Return how many answers people decided on a day (UTC)."""
    return sum(each.n for each in _decisions(connection, None, [day]))


def last_flag_at(connection: Connection) -> datetime | None:
    """Return when the newest flag was raised; None without a flag."""
    return connection.scalar(select(FLAG.c.created_at).order_by(FLAG.c.id.desc()).limit(1))


# Two ranges of an index; <> would read every row.
_NOT_LOGGED: ColumnElement[bool] = literal_column(
    "(response.kind < 'log' OR response.kind > 'log')"
)


def quadrant(answers: int, signals: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """Return the number of all logged ``answers`` by (judge side, user side), without empty cells.

    The judge is low, high or none (no usable verdict), the user down, middle, up or none (no
    feedback). Each cell counts the answers of `RowFilter(judge_side=…, user=…)`. ``signals`` are
    the result of `signal_counts`.
    """
    counts = dict(signals)
    counts["none", "none"] = answers - sum(counts.values())
    return {cell: n for cell, n in counts.items() if n}


def signal_counts(connection: Connection) -> dict[tuple[str, str], int]:
    """Return the cells of `quadrant` with a verdict or feedback."""
    # One pass with a counter for each side is several times faster than grouping by an expression.
    sides = quality_side_conditions(CURRENT.c.user_quality)
    of_verdicts: list[Any] = [
        func.count().filter(on_side).label(side) for side, on_side in sides.items()
    ]
    query = by_index(
        select(*of_verdicts).where(*of_judge(connection, RowFilter())),
        CURRENT,
        "ix_current_judgment_score",
    )
    every = connection.execute(query).one()
    low = connection.execute(query.where(is_low(thresholds(connection)))).one()
    counts: dict[tuple[str, str], int] = {}
    for side, n, n_low in zip(sides, every, low, strict=True):
        counts["low", side], counts["high", side] = n_low, n - n_low
    # Feedback on answers without a verdict: all feedback minus the feedback on answers with a
    # verdict.
    other_ids = select(RESPONSE.c.id).where(_NOT_LOGGED)
    of_feedback: list[Any] = [
        func.count().filter(on_side).label(side)
        for side, on_side in feedback_side_conditions().items()
    ]
    query = select(*of_feedback).where(
        is_latest_feedback(), FEEDBACK.c.response_id.not_in(other_ids)
    )
    for user, n in dict(connection.execute(query).one()._asdict()).items():
        counts["none", user] = n - sum(counts.get((judge, user), 0) for judge in ("low", "high"))
    return counts


_DAYS = 7


@dataclass(frozen=True, slots=True)
class Overview:
    """The counts of seven days, oldest first; the last day is the day of the overview.

    ``judge`` is the name of the primary judge, None before the first judgment; ``judged`` has the
    counts of this judge.
    """

    days: tuple[DayCounts, ...]
    judge: str | None
    judged: Counts

    @property
    def today(self) -> DayCounts:
        """The counts of the last day."""
        return self.days[-1]


def overview(connection: Connection, reviewer_id: int | None, today: date) -> Overview:
    """Return the overview of ``today``, a UTC day. Without a reviewer, the figures about own work are 0."""
    days = [today - timedelta(days=back) for back in reversed(range(_DAYS))]
    judge = primary_judge(connection)
    return Overview(
        days=tuple(day_counts(connection, reviewer_id, days)),
        judge=judge,
        judged=Counts() if judge is None else judge_counts(connection, judge, days[0]),
    )


@dataclass(frozen=True, slots=True)
class Grader:
    """A person with the number of current reviews."""

    name: str
    reviews: int


@kept_while_reading
def count_log(connection: Connection, where: RowFilter | None = None) -> int:
    """Return the number of logged answers that match."""
    return count_rows(connection, RESPONSE, *response_conditions(connection, where or RowFilter()))


def count_forgotten(connection: Connection) -> int:
    """Return how many logged answers have no texts any more."""
    return count_rows(connection, RESPONSE, LOGGED, RESPONSE.c.answer.is_(None))


def count_labels(connection: Connection) -> dict[str, int]:
    """Return the number of current reviews by label; both labels are always included."""
    query = select(REVIEW.c.label, func.count()).join(
        RESPONSE, RESPONSE.c.id == REVIEW.c.response_id
    )
    query = query.where(LOGGED, is_current(), REVIEW.c.label.is_not(None)).group_by(REVIEW.c.label)
    return dict.fromkeys(map(str, Label), 0) | dict(connection.execute(query).all())


def count_graders(connection: Connection) -> list[Grader]:
    """Return the people with a current review, by name; a name with two origins has two lines."""
    query = (
        select(REVIEWER.c.name, REVIEWER.c.origin, func.count())
        .join(REVIEW, REVIEW.c.reviewer_id == REVIEWER.c.id)
        .join(RESPONSE, RESPONSE.c.id == REVIEW.c.response_id)
        .where(LOGGED, is_current())
        .group_by(REVIEWER.c.id, REVIEWER.c.name, REVIEWER.c.origin)
    )
    rows = sorted((name, origin, n) for name, origin, n in connection.execute(query))
    return [Grader(name, n) for name, _, n in rows]


def count_judgments(connection: Connection) -> dict[int, Counts]:
    """Return the counts and costs of judgments of logged answers by judge version; every ask and repeat counts."""
    query = count_query(JUDGMENT, JUDGMENT.c.judge_version_id)
    logged_query = query.join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id).where(LOGGED)
    return counts_by(connection, logged_query)


def count_tied(connection: Connection) -> dict[int, int]:
    """Return the number of unparsable judgments of logged answers that are ties of a jury, by judge version."""
    version, of_answer = JUDGMENT.c.judge_version_id, RESPONSE.c.id == JUDGMENT.c.response_id
    query = (
        select(version, func.count())
        .join(RESPONSE, of_answer)
        .where(LOGGED, JUDGMENT.c.error == SPLIT)
    )
    return {version_id: int(n) for version_id, n in connection.execute(query.group_by(version))}


def count_without_groundedness(connection: Connection) -> dict[int, int]:
    """Return the number of logged answers whose current verdict has no groundedness and no label, by judge version.

    Versions that give neither to any answer are left out.
    """
    has_neither = CURRENT.c.groundedness.is_(None) & CURRENT.c.label.is_(None)
    counters: list[Any] = [func.count(), func.count().filter(has_neither)]
    query = select(CURRENT.c.judge_version_id, *counters).where(CURRENT_OF_VERSION)
    rows = connection.execute(query.group_by(CURRENT.c.judge_version_id))
    return {version_id: without for version_id, total, without in rows if 0 < without < total}


def count_open_graded(connection: Connection) -> int:
    """Return the number of open flags on answers that a person graded: an imported grade closes no flag."""
    is_graded = exists().where(REVIEW.c.response_id == FLAG.c.response_id, is_current())
    return count_rows(connection, FLAG, FLAG.c.state == FlagState.OPEN, is_graded)


def count_flags(connection: Connection) -> dict[str, dict[str, int]]:
    """Return the number of flags by rule and state; all states are included."""
    counts: dict[str, Counter[str]] = {}
    query = select(FLAG.c.rule, FLAG.c.state, func.count()).group_by(FLAG.c.rule, FLAG.c.state)
    for rule, state, n in connection.execute(query):
        counts.setdefault(rule, Counter())[state] = n
    return {
        rule: {state.value: states[state.value] for state in FlagState}
        for rule, states in counts.items()
    }

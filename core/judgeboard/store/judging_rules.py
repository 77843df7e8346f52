"""Judging rules, the answers that wait for a rule, and the runs of a day."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    case,
    exists,
    false,
    func,
    insert,
    or_,
    select,
    true,
    update,
)

from judgeboard.domain import RuleState, RunState
from judgeboard.errors import NotFound
from judgeboard.store.events import record_event
from judgeboard.store.jobs import shared_counts, wake_workers
from judgeboard.store.responses import next_by_id
from judgeboard.store.rules import update_rule
from judgeboard.store.runs import (
    PLAIN,
    Counts,
    Destination,
    Selection,
    get_run,
    insert_run,
    mark_running,
    unasked,
)
from judgeboard.store.tables import (
    EVENT,
    JUDGING_RULE,
    JUDGMENT,
    RESPONSE,
    RUN,
    VERSION,
    JudgingRule,
    Run,
    version_title,
)


@dataclass(frozen=True, slots=True)
class EarlierJudge:
    """A judge version that a rule had ``until`` a time; ``title`` is for example "rag v1".

    Rows of rules do not change: ``rule_id`` is the removed row with this judge.
    """

    rule_id: int
    judge_version_id: int
    title: str
    until: datetime


SET_JUDGE = "set_rule_judge"


def earlier_judges(connection: Connection, rule: JudgingRule) -> tuple[EarlierJudge, ...]:
    """Return the earlier judges of a rule, oldest first. Answers that such a judge judged do not wait for the rule."""
    changes = (
        select(EVENT.c.at, EVENT.c.details).where(EVENT.c.kind == SET_JUDGE).order_by(EVENT.c.id)
    )
    until = {event.details["rule"]: event for event in connection.execute(changes)}
    versions = select(JUDGING_RULE.c.judge_version_id, VERSION.c.name, VERSION.c.number).join(
        VERSION, VERSION.c.id == JUDGING_RULE.c.judge_version_id
    )
    earlier: list[EarlierJudge] = []
    rule_id = rule.id
    while (change := until.get(rule_id)) is not None:
        rule_id = change.details["before"]
        version = connection.execute(versions.where(JUDGING_RULE.c.id == rule_id)).one()
        title = version_title(version.name, version.number)
        earlier.insert(0, EarlierJudge(rule_id, version.judge_version_id, title, change.at))
    return tuple(earlier)


def versions_of_rule(connection: Connection, rule: JudgingRule) -> frozenset[int]:
    """Return the ids of the judge version of a rule and of earlier versions of the rule."""
    earlier = earlier_judges(connection, rule)
    return frozenset([rule.judge_version_id, *(each.judge_version_id for each in earlier)])


def judges_of_rules(connection: Connection, judge_version_id: int) -> list[dict[str, Any]]:
    """Return the judge fields of the rules with a judge version, the newest rule first.

    Rules that were removed or got another judge come last.
    """
    rules = select(JUDGING_RULE.c.judge).where(JUDGING_RULE.c.judge_version_id == judge_version_id)
    is_listed = JUDGING_RULE.c.state != RuleState.REMOVED
    return list(
        connection.scalars(rules.order_by(case((is_listed, 0), else_=1), JUDGING_RULE.c.id.desc()))
    )


def set_rule_judge(
    connection: Connection,
    rule: JudgingRule,
    judge_version_id: int,
    judge: dict[str, Any],
    by: str,
    now: datetime,
) -> JudgingRule:
    """Give a judging rule another judge, and return the new row; ``judge`` has fields of `JudgeOptions`.

    The previous row is removed. Workers notice within a second.
    """
    is_listed = JUDGING_RULE.c.state != RuleState.REMOVED
    if not update_rule(connection, rule, is_listed, state=RuleState.REMOVED):
        raise NotFound(f"no judging rule {rule.name!r}: it was changed or removed meanwhile")
    new_rule = rule.changed(id=None, judge_version_id=judge_version_id, judge=judge, problem=None)
    rule_id = connection.scalar(
        insert(JUDGING_RULE).returning(JUDGING_RULE.c.id), new_rule.new_values()
    )
    record_event(connection, SET_JUDGE, by, details={"rule": rule_id, "before": rule.id}, now=now)
    wake_workers(connection)
    return new_rule.changed(id=rule_id)


def _below(rate: float) -> ColumnElement[bool]:
    if rate >= 1:
        return true()
    return RESPONSE.c.content_hash < f"{int(rate * 16**12):012x}" if rate > 0 else false()


def _waiting(connection: Connection, rule: JudgingRule) -> list[ColumnElement[bool]]:
    # The stored hash of the content is the draw, so the database selects without reading every
    # answer.
    by_type = [(RESPONSE.c.query_type == name, _below(rate)) for name, rate in rule.rates.items()]
    conditions = [
        RESPONSE.c.id > rule.after_id,
        *unasked(connection, rule.judge_version_id, Selection(rule.filter, PLAIN, None, 2**62)),
        case(*by_type, else_=_below(rule.rate)) if by_type else _below(rule.rate),
    ]
    for before in earlier_judges(connection, rule):
        # Not the answers that an earlier judge judged before the change, or for this rule in a
        # call that ended later.
        of_rule = select(RUN.c.id).where(
            RUN.c.judge_version_id == before.judge_version_id,
            RUN.c.filter["rule"].as_integer() == before.rule_id,
        )
        is_judged = exists().where(
            JUDGMENT.c.response_id == RESPONSE.c.id,
            JUDGMENT.c.judge_version_id == before.judge_version_id,
            or_(JUDGMENT.c.created_at <= before.until, JUDGMENT.c.run_id.in_(of_rule)),
        )
        conditions.append(~is_judged)
    return conditions


class Waiting(NamedTuple):
    """The number of answers that wait for a rule, and when the first such answer was stored."""

    answers: int
    oldest: datetime | None


def waiting(connection: Connection, rule: JudgingRule) -> Waiting:
    """Count the answers that wait for a rule: selected, and without a judgment of the rule's judge version."""
    query = select(func.count(), func.min(RESPONSE.c.imported_at)).where(
        *_waiting(connection, rule)
    )
    return Waiting(*connection.execute(query).one())


def _due(connection: Connection, rule: JudgingRule, now: datetime) -> list[ColumnElement[bool]]:
    return [
        *_waiting(connection, rule),
        RESPONSE.c.imported_at <= now - timedelta(seconds=rule.delay_s),
    ]


def due_answers(
    connection: Connection,
    rule: JudgingRule,
    *,
    after_id: int,
    up_to: int | None,
    limit: int,
    now: datetime,
) -> list[int]:
    """Return the ids of the next answers above ``after_id`` that can be judged now, none above ``up_to``."""
    conditions = _due(connection, rule, now)
    conditions += [] if up_to is None else [RESPONSE.c.id <= up_to]
    query = select(RESPONSE.c.id).where(*conditions)
    return list(connection.scalars(next_by_id(query, after_id, limit=limit)))


def still_due(
    connection: Connection, rule: JudgingRule, ids: Collection[int], now: datetime
) -> list[int]:
    """Return which of these answers are still to be judged, by id."""
    query = select(RESPONSE.c.id).where(*_due(connection, rule, now), RESPONSE.c.id.in_(ids))
    return list(connection.scalars(query.order_by(RESPONSE.c.id)))


def add_selected(connection: Connection, run_id: int, answers: int) -> None:
    """Add to the number of answers to judge in the run of a day."""
    connection.execute(
        update(RUN).where(RUN.c.id == run_id).values(selected=RUN.c.selected + answers)
    )


def _midnight(now: datetime) -> datetime:
    return datetime.combine(now.astimezone(UTC).date(), time(), UTC)


def _runs(connection: Connection, rule: JudgingRule, *conditions: ColumnElement[bool]) -> list[int]:
    """Return the runs of a rule, also of earlier judges."""
    earlier = earlier_judges(connection, rule)
    ids = {rule.id, *(each.rule_id for each in earlier)}
    versions = {rule.judge_version_id, *(each.judge_version_id for each in earlier)}
    query = select(RUN.c.id, RUN.c.filter).where(RUN.c.judge_version_id.in_(versions), *conditions)
    return [
        id_
        for id_, run_filter in connection.execute(query.order_by(RUN.c.id))
        if run_filter.get("rule") in ids
    ]


def run_of_day(connection: Connection, rule: JudgingRule, now: datetime) -> Run | None:
    """Return the run of a rule with the current judge on the day (UTC) of ``now``, None before the first answer."""
    of_judge = RUN.c.judge_version_id == rule.judge_version_id
    runs = _runs(connection, rule, RUN.c.started_at >= _midnight(now), of_judge)
    return get_run(connection, runs[0]) if runs else None


def begin_run_of_day(
    connection: Connection, rule: JudgingRule, destination: Destination, now: datetime
) -> Run:
    """Return the run of a rule on the day of ``now`` and mark the run as running; the first call makes the run.

    A rule has one run per day and judge, because limits are per day. The run stores the
    sampling rates. Runs of earlier days that a killed worker left running are finished.
    """
    connection.execute(
        select(JUDGING_RULE.c.id).where(JUDGING_RULE.c.id == rule.id).with_for_update()
    )
    conditions = RUN.c.state == RunState.RUNNING, RUN.c.started_at < _midnight(now)
    for run_id in _runs(connection, rule, *conditions):
        pause_run(connection, run_id, None, now)
    run = run_of_day(connection, rule, now)
    if run is not None:
        mark_running(connection, run, destination)
        return run
    question = {"where": rule.filter.as_dict(), "mode": PLAIN.value, "up_to": 0, "rule": rule.id}
    first = Run(
        kind="judge",
        judge_version_id=rule.judge_version_id,
        filter=question | {"rate": rule.rate, "rates": rule.rates},
        actor=rule.by,
        selected=0,
        started_at=now,
        **destination._asdict(),
    )
    return insert_run(connection, first)


def pause_run(connection: Connection, run_id: int, why_stopped: str | None, now: datetime) -> None:
    """Store that nothing is left to judge in the run of a day, or why the run stopped.

    A later answer continues the run. The run ended with the last judgment, also if the end is
    noticed later.
    """
    counts, last_at = shared_counts(connection, run_id)
    state = RunState.DONE if why_stopped is None else RunState.STOPPED
    end = {
        "state": state.value,
        "why_stopped": why_stopped,
        "finished_at": last_at or now,
        "selected": counts.asked,
    }
    connection.execute(update(RUN).where(RUN.c.id == run_id).values(end))


def spent_today(connection: Connection, rule: JudgingRule, now: datetime) -> Counts:
    """Return the counts and the cost of a rule on the day of ``now``, of all judges of this day."""
    return shared_counts(connection, *_runs(connection, rule, RUN.c.started_at >= _midnight(now)))[
        0
    ]


def budget_is_used_up(rule: JudgingRule, spent: Counts) -> bool:
    """Return whether the calls or the cost of a day have reached the limit; unknown costs count as reached."""
    if rule.max_calls is not None and spent.asked >= rule.max_calls:
        return True
    cost = spent.total_cost_micro
    return rule.max_cost is not None and (cost is None or cost >= rule.max_cost * 1_000_000)

"""Judging rules, the answers that wait for them, and their runs of a day."""

from collections.abc import Collection
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, time, timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
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
from judgeboard.errors import BadInput, NotFound
from judgeboard.store.events import record_event
from judgeboard.store.filters import RowFilter, from_dict
from judgeboard.store.jobs import shared_counts, wake_workers
from judgeboard.store.judge_versions import version_title
from judgeboard.store.responses import next_by_id
from judgeboard.store.runs import (
    PLAIN,
    Counts,
    Destination,
    Selection,
    StoredRun,
    get_run,
    insert_run,
    mark_running,
    unasked,
)
from judgeboard.store.statements import insert_or_skip, record_named, record_of
from judgeboard.store.tables import EVENT, JUDGING_RULE, JUDGMENT, RESPONSE, RUN, VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRule:
    """A judging rule before it is stored: it judges answers as they come, with one judge version.

    ``filter`` is a `RowFilter` as JSON, ``judge`` has fields of `JudgeOptions`. ``rate`` is the
    share of the answers that are judged; ``rates`` has other shares by query type. ``max_cost``
    (dollars) and ``max_calls`` are limits per day (UTC). Only answers with an id above ``after_id``
    are judged, at the earliest ``delay_s`` seconds after they were stored.
    """

    name: str
    judge_version_id: int
    filter: dict[str, Any]
    judge: dict[str, Any]
    rate: float
    rates: dict[str, float]
    max_cost: float | None
    max_calls: int | None
    concurrency: int
    delay_s: float
    after_id: int

    @property
    def where(self) -> RowFilter:
        """The filter of answers."""
        return from_dict(self.filter)

    def inclusion_probability(self, query_type: str) -> float:
        """Return the probability that an answer of a query type is selected."""
        return self.rates.get(query_type, self.rate)


@dataclass(frozen=True, slots=True)
class EarlierJudge:
    """A judge version that a rule had ``until`` a time; ``title`` is for example "rag v1".

    Rows of rules do not change: ``rule_id`` is the removed row with this judge.
    """

    rule_id: int
    judge_version_id: int
    title: str
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingRule(NewRule):
    """A stored judging rule; ``problem`` says why workers cannot judge now.

    ``earlier`` are the judges that it had before, oldest first. It judges no answer that one of
    them judged for it.
    """

    id: int
    earlier: tuple[EarlierJudge, ...]
    judge_title: str
    model: str | None
    state: RuleState
    problem: str | None
    by: str
    at: datetime

    @property
    def version_ids(self) -> frozenset[int]:
        """The versions of its judge and of those before."""
        return frozenset([self.judge_version_id, *(each.judge_version_id for each in self.earlier)])


_RULES = select(
    JUDGING_RULE, VERSION.c.name.label("judge_name"), VERSION.c.number, VERSION.c.model
).join(VERSION, VERSION.c.id == JUDGING_RULE.c.judge_version_id)
_LISTED = JUDGING_RULE.c.state != RuleState.REMOVED.value


SET_JUDGE = "set_rule_judge"


def _read(connection: Connection, query: Select[Any]) -> list[JudgingRule]:
    # Setting another judge gives a rule a new id, and keeps the time when it was added. So the time
    # comes first.
    rows = connection.execute(query.order_by(JUDGING_RULE.c.at, JUDGING_RULE.c.id)).all()
    earlier = _earlier_judges(connection) if rows else {}
    return [
        record_of(
            JudgingRule,
            row,
            judge_title=version_title(row.judge_name, row.number),
            earlier=earlier.get(row.id, ()),
        )
        for row in rows
    ]


def _earlier_judges(connection: Connection) -> dict[int, tuple[EarlierJudge, ...]]:
    """Return the judges that rules had before, by rule, oldest first."""
    changes = (
        select(EVENT.c.at, EVENT.c.details).where(EVENT.c.kind == SET_JUDGE).order_by(EVENT.c.id)
    )
    events = connection.execute(changes).all()
    replaced = _RULES.where(JUDGING_RULE.c.id.in_({event.details["before"] for event in events}))
    rows = {row.id: row for row in connection.execute(replaced)} if events else {}
    earlier: dict[int, tuple[EarlierJudge, ...]] = {}
    for at, details in events:
        row = rows[details["before"]]
        judge = EarlierJudge(
            row.id, row.judge_version_id, version_title(row.judge_name, row.number), at
        )
        earlier[details["rule"]] = (*earlier.get(row.id, ()), judge)
    return earlier


def list_rules(connection: Connection) -> list[JudgingRule]:
    """Return the judging rules that are not removed, oldest first."""
    return _read(connection, _RULES.where(_LISTED))


def judges_of_rules(connection: Connection, judge_version_id: int) -> list[dict[str, Any]]:
    """Return the judge fields of the rules with a judge version, the newest rule first.

    Rules that were removed or got another judge come last.
    """
    rules = select(JUDGING_RULE.c.judge).where(JUDGING_RULE.c.judge_version_id == judge_version_id)
    return list(
        connection.scalars(rules.order_by(case((_LISTED, 0), else_=1), JUDGING_RULE.c.id.desc()))
    )


def get_rule(connection: Connection, rule_id: int) -> JudgingRule:
    """Return a judging rule by id, or raise NotFound."""
    rules = _read(connection, _RULES.where(JUDGING_RULE.c.id == rule_id))
    if not rules:
        raise NotFound(f"no judging rule {rule_id}")
    return rules[0]


def rule_named(connection: Connection, name: str) -> JudgingRule:
    """Return the judging rule with this name, or raise NotFound."""
    return record_named(list_rules(connection), name, "judging rule")


def insert_rule(connection: Connection, rule: NewRule, by: str, now: datetime) -> int:
    """Store a judging rule and return its id; raise BadInput if another rule has its name."""
    row = asdict(rule) | {"by": by, "at": now}
    inserted = insert_or_skip(connection, JUDGING_RULE).returning(JUDGING_RULE.c.id)
    rule_id = connection.execute(inserted, row).scalar()
    if rule_id is None:
        raise BadInput(
            f"there is a judging rule {rule.name!r} already: choose another name, or remove it first"
        )
    record_event(connection, "add_rule", by, details={"rule": rule_id}, now=now)
    wake_workers(connection)
    return int(rule_id)


def set_rule_state(connection: Connection, rule: JudgingRule, state: RuleState, by: str) -> None:
    """Pause, resume or remove a judging rule. Workers notice within a second."""
    changed = update(JUDGING_RULE).where(
        JUDGING_RULE.c.id == rule.id, _LISTED, JUDGING_RULE.c.state != state.value
    )
    if connection.execute(changed.values(state=state.value, problem=None)).rowcount:
        record_event(
            connection, "set_rule_state", by, details={"rule": rule.id, "state": state.value}
        )
        wake_workers(connection)


def set_rule_judge(
    connection: Connection,
    rule: JudgingRule,
    judge_version_id: int,
    judge: dict[str, Any],
    by: str,
    now: datetime,
) -> int:
    """Give a judging rule another judge, and return its new id; ``judge`` has fields of `JudgeOptions`.

    The rule gets a new row, and the row before is removed. Workers notice within a second.
    """
    removed = (
        update(JUDGING_RULE)
        .where(JUDGING_RULE.c.id == rule.id, _LISTED)
        .values(state=RuleState.REMOVED.value)
    )
    if not connection.execute(removed).rowcount:
        raise NotFound(f"no judging rule {rule.name!r}: it was changed or removed meanwhile")
    row = {
        name: getattr(rule, name) for name in (*(each.name for each in fields(NewRule)), "by", "at")
    }
    row |= {"judge_version_id": judge_version_id, "judge": judge, "state": rule.state.value}
    rule_id = int(
        connection.execute(insert(JUDGING_RULE).returning(JUDGING_RULE.c.id), row).scalar_one()
    )
    record_event(connection, SET_JUDGE, by, details={"rule": rule_id, "before": rule.id}, now=now)
    wake_workers(connection)
    return rule_id


def set_problem(connection: Connection, rule_id: int, problem: str | None) -> None:
    """Store why workers cannot judge by a rule now; None if they can."""
    connection.execute(
        update(JUDGING_RULE).where(JUDGING_RULE.c.id == rule_id).values(problem=problem)
    )


def _below(rate: float) -> ColumnElement[bool]:
    if rate >= 1:
        return true()
    return RESPONSE.c.content_hash < f"{int(rate * 16**12):012x}" if rate > 0 else false()


def _waiting(connection: Connection, rule: JudgingRule) -> list[ColumnElement[bool]]:
    # The hash of the content is the draw: it is stored, so the database selects without reading
    # every answer.
    by_type = [(RESPONSE.c.query_type == name, _below(rate)) for name, rate in rule.rates.items()]
    return [
        RESPONSE.c.id > rule.after_id,
        *unasked(connection, rule.judge_version_id, Selection(rule.where, PLAIN, None, 2**62)),
        case(*by_type, else_=_below(rule.rate)) if by_type else _below(rule.rate),
        *(~_judged_by(each) for each in rule.earlier),
    ]


def _judged_by(before: EarlierJudge) -> ColumnElement[bool]:
    """Whether an earlier judge judged the answer: before the change, or for this rule in a call that ended later."""
    of_rule = select(RUN.c.id).where(
        RUN.c.judge_version_id == before.judge_version_id,
        RUN.c.filter["rule"].as_integer() == before.rule_id,
    )
    return exists().where(
        JUDGMENT.c.response_id == RESPONSE.c.id,
        JUDGMENT.c.judge_version_id == before.judge_version_id,
        or_(JUDGMENT.c.created_at <= before.until, JUDGMENT.c.run_id.in_(of_rule)),
    )


class Waiting(NamedTuple):
    """The number of answers that wait for a rule, and when the first of them was stored."""

    answers: int
    oldest: datetime | None


def waiting(connection: Connection, rule: JudgingRule) -> Waiting:
    """Count the answers that wait for a rule: selected, and without a judgment of its judge version."""
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
    due = _due(connection, rule, now)
    due += [] if up_to is None else [RESPONSE.c.id <= up_to]
    query = select(RESPONSE.c.id).where(*due)
    return list(connection.execute(next_by_id(query, after_id, limit=limit)).scalars())


def still_due(
    connection: Connection, rule: JudgingRule, ids: Collection[int], now: datetime
) -> list[int]:
    """Return which of these answers are still to be judged, by id."""
    query = select(RESPONSE.c.id).where(*_due(connection, rule, now), RESPONSE.c.id.in_(ids))
    return list(connection.execute(query.order_by(RESPONSE.c.id)).scalars())


def add_selected(connection: Connection, run_id: int, answers: int) -> None:
    """Store that so many more answers are to be judged in the run of a day."""
    connection.execute(
        update(RUN).where(RUN.c.id == run_id).values(selected=RUN.c.selected + answers)
    )


def _midnight(now: datetime) -> datetime:
    return datetime.combine(now.astimezone(UTC).date(), time(), UTC)


def _runs(connection: Connection, rule: JudgingRule, *conditions: ColumnElement[bool]) -> list[int]:
    """Return the runs of a rule, also those of its earlier judges."""
    ids = {rule.id, *(each.rule_id for each in rule.earlier)}
    query = select(RUN.c.id, RUN.c.filter).where(
        RUN.c.judge_version_id.in_(rule.version_ids), *conditions
    )
    return [
        id_
        for id_, stored in connection.execute(query.order_by(RUN.c.id))
        if stored.get("rule") in ids
    ]


def run_of_day(connection: Connection, rule: JudgingRule, now: datetime) -> StoredRun | None:
    """Return the run of a rule and its judge on the day (UTC) of ``now``, None before its first answer."""
    of_judge = RUN.c.judge_version_id == rule.judge_version_id
    runs = _runs(connection, rule, RUN.c.started_at >= _midnight(now), of_judge)
    return get_run(connection, runs[0]) if runs else None


def begin_run_of_day(
    connection: Connection, rule: JudgingRule, destination: Destination, now: datetime
) -> StoredRun:
    """Return the run of a rule on the day of ``now`` and mark it as running; the first call makes the run.

    A rule has one run per day and judge, because its limits are per day. The run stores the
    sampling rates. Runs of earlier days that a killed worker left running are finished.
    """
    connection.execute(
        select(JUDGING_RULE.c.id).where(JUDGING_RULE.c.id == rule.id).with_for_update()
    )
    left = RUN.c.state == RunState.RUNNING.value, RUN.c.started_at < _midnight(now)
    for run_id in _runs(connection, rule, *left):
        pause_run(connection, run_id, None, now)
    run = run_of_day(connection, rule, now)
    if run is not None:
        mark_running(connection, run, destination)
        return run
    question = {"where": rule.filter, "mode": PLAIN.value, "up_to": 0, "rule": rule.id}
    return insert_run(
        connection,
        {
            "kind": "judge",
            "judge_version_id": rule.judge_version_id,
            "filter": question | {"rate": rule.rate, "rates": rule.rates},
            "actor": rule.by,
            "selected": 0,
            "started_at": now,
            **destination._asdict(),
        },
    )


def pause_run(connection: Connection, run_id: int, why_stopped: str | None, now: datetime) -> None:
    """Store that nothing is left to judge in the run of a day, or why it stopped; a later answer continues it.

    The run ended with its last judgment, also if that is noticed later.
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
    """Return the counts and the cost of a rule on the day of ``now``, of all judges that it had on this day."""
    return shared_counts(connection, *_runs(connection, rule, RUN.c.started_at >= _midnight(now)))[
        0
    ]


def budget_is_used_up(rule: JudgingRule, spent: Counts) -> bool:
    """Return whether the calls or the cost of a day have reached the limit; unknown costs count as reached."""
    if rule.max_calls is not None and spent.asked >= rule.max_calls:
        return True
    cost = spent.total_cost_micro
    return rule.max_cost is not None and (cost is None or cost >= rule.max_cost * 1_000_000)

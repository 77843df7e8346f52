"""Raises and supersedes the flags of a few responses, as the rules see them now."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, update

from judgeboard.domain import FlagState, ResponseKind
from judgeboard.flags.rule import Rule, Signals
from judgeboard.flags.rules import Raise, StandingFlag, reasons_for, reconcile
from judgeboard.store.flags.flag_signals import read_signals
from judgeboard.store.judgments.signals import Said, ShortResponse
from judgeboard.store.schema.tables import FLAG
from judgeboard.store.settings_table import RulesInForce

_STANDING = select(FLAG.c.response_id, FLAG.c.id, FLAG.c.rule, FLAG.c.raise_key, FLAG.c.state, FLAG.c.details).where(
    FLAG.c.response_id.in_(bindparam("ids", expanding=True)), FLAG.c.state != FlagState.SUPERSEDED.value
)


_INSERT = insert(FLAG)


@dataclass(slots=True)
class FlagChanges:
    """How many flags were raised and superseded, by rule."""

    raised: Counter[str] = field(default_factory=Counter)
    superseded: Counter[str] = field(default_factory=Counter)

    def add(self, other: "FlagChanges") -> None:
        """Count another batch in."""
        self.raised += other.raised
        self.superseded += other.superseded


def keep_flags(
    connection: Connection, said: Sequence[Said], rules: Sequence[Rule], in_force: RulesInForce, now: datetime
) -> FlagChanges:
    """Bring the flags of ``rules`` on these responses in line; only logged answers are flagged."""
    logged = [one for one in said if one.response.kind == ResponseKind.LOG]
    standing = _standing(connection, [one.response.id for one in logged])
    changes = FlagChanges()
    new: list[dict[str, Any]] = []
    gone: list[int] = []
    with_texts = any(rule.reads_texts for rule in rules)
    all_signals = read_signals(connection, logged, in_force.primary_judge, with_texts=with_texts)
    for one, signals in zip(logged, all_signals, strict=True):
        flags = standing.get(one.response.id, [])
        result = reconcile(reasons_for(signals, in_force.thresholds, rules), flags, rules)
        new += [_row(one.response, signals, raised, now) for raised in result.to_raise]
        gone += result.to_supersede
        changes.raised.update(raised.reason.rule for raised in result.to_raise)
        changes.superseded.update(flag.rule for flag in flags if flag.id in result.to_supersede)
    if gone:
        connection.execute(update(FLAG).where(FLAG.c.id.in_(gone)).values(state=FlagState.SUPERSEDED.value))
    if new:
        connection.execute(_INSERT, new)
    return changes


def count_flags(connection: Connection, rule: str, state: FlagState) -> int:
    """Return how many flags of a rule are in a state."""
    query = select(func.count()).select_from(FLAG).where(FLAG.c.rule == rule, FLAG.c.state == state.value)
    return connection.execute(query).scalar_one()


def _standing(connection: Connection, response_ids: Sequence[int]) -> dict[int, list[StandingFlag]]:
    standing: dict[int, list[StandingFlag]] = {}
    rows = connection.execute(_STANDING, {"ids": response_ids})
    for response_id, id_, rule, raise_key, state, details in rows:
        standing.setdefault(response_id, []).append(StandingFlag(id_, rule, raise_key, FlagState(state), details))
    return standing


def _row(response: ShortResponse, signals: Signals, raised: Raise, now: datetime) -> dict[str, Any]:
    reason, primary = raised.reason, signals.primary
    judge = primary or signals.failed
    return {
        "response_id": response.id,
        "query_type": response.query_type,
        "source": response.source,
        "asked_day": response.asked_day,
        "judge_name": None if judge is None else judge.name,
        "groundedness": None if primary is None else primary.groundedness,
        "quality": None if primary is None else primary.quality,
        "judgment_id": reason.judgment_id,
        "rule": reason.rule,
        "raise_key": reason.raise_key,
        "auto_score": reason.auto_score,
        "params": reason.params,
        "details": reason.details,
        "severity": reason.severity,
        "inclusion_probability": reason.inclusion_probability,
        "decided_before_id": raised.decided_before_id,
        "state": FlagState.OPEN.value,
        "created_at": now,
    }

"""Watches the bad share, the judge's error and unusable verdicts per query type: raises and acknowledges alarms."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from judgeboard.agreement.corrected_trend import (
    TO_LABEL,
    CorrectedTrend,
    Watched,
    changed_words,
    corrected_trend,
)
from judgeboard.agreement.model_changes import MODEL_CHANGED, new_models, with_later_change
from judgeboard.agreement.samples import NO_JUDGE
from judgeboard.errors import BadInput, NotFound
from judgeboard.people.permissions import Action, Actor, actor_name, allowed
from judgeboard.stats.monitor import DIRECTIONS
from judgeboard.store.alarms import Alarm, insert_acknowledgement, insert_alarm, list_alarms
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.statements import record_of
from judgeboard.text import day_words, unstorable
from judgeboard.trends import Change, Period

PERIOD: Period = "week"
LONGEST_NOTE = 2_000  # characters


@dataclass(frozen=True, slots=True)
class Detector:
    """A detector of a figure of a query type, after the newest week that it has read.

    ``weeks`` is the number of weeks that it has read. It raises an alarm if its ``evidence`` reaches ``limit``. A
    change of the size ``seen`` would have been found in 80 % of cases; None with fewer than two weeks. ``alarm`` is the
    number of its open alarm.
    """

    query_type: str
    measure: Watched
    direction: str
    weeks: int
    evidence: float
    limit: float
    seen: float | None
    alarm: int | None


@dataclass(frozen=True, slots=True)
class WatchResult:
    """The detectors with their ``promise`` in words, and the open alarms; ``new`` are the numbers of new alarms."""

    judge: str | None
    promise: str
    detectors: tuple[Detector, ...]
    alarms: tuple[Alarm, ...]
    new: tuple[int, ...]


def watch(store: Store, *, by: str, since: int | None = None, now: datetime | None = None) -> WatchResult:
    """Evaluate the detectors of all query types on the weeks that have ended, and store the new alarms.

    Only answers from the UTC day ``since`` on (days since 1970-01-01; default: all) are read. After an acknowledged
    alarm, both detectors of its figure start anew with the week of the change. A detector with an open alarm raises no
    second alarm, and neither does another change of a judge's model: the open alarm then names both changes.
    """
    at = now or datetime.now(UTC)
    with store.reading() as connection:
        trend = corrected_trend(connection, period=PERIOD, since=since, now=at)
        models = new_models(connection, by, at)
        alarms = open_alarms(connection)
    numbers = _numbers(alarms)
    unreported = [
        (query_type, monitor.watched, monitor.limit, change)
        for query_type, monitor in trend.monitors
        for change in monitor.changes
        if (monitor.watched, change.direction, query_type, trend.version_id) not in numbers
    ]
    new = list[int]()
    if unreported or models:
        rows = [*models, *(_row(trend, *each, by, at) for each in unreported)]
        with store.writing() as connection:
            stored = (_raise_alarm(connection, row) for row in rows)
            new = [id_ for id_ in stored if id_ is not None]
            alarms = open_alarms(connection)
        numbers = _numbers(alarms)
    detectors = (
        record_of(
            Detector,
            monitor,
            query_type=query_type,
            measure=monitor.watched,
            direction=direction,
            weeks=monitor.periods,
            evidence=getattr(monitor, direction),
            alarm=numbers.get((monitor.watched, direction, query_type, trend.version_id)),
        )
        for query_type, monitor in trend.monitors
        for direction in DIRECTIONS
    )
    return WatchResult(trend.judge, promise_words(trend), tuple(detectors), tuple(alarms), tuple(new))


def _numbers(alarms: Iterable[Alarm]) -> dict[tuple[str, str, str, int | None], int]:
    """Return the numbers of open alarms by figure, direction, query type and judge version."""
    return {(each.measure, each.direction, each.query_type, each.judge_version_id): each.id for each in alarms}


def _row(
    trend: CorrectedTrend, query_type: str, watched: Watched, limit: float, change: Change, by: str, at: datetime
) -> dict[str, Any]:
    return {
        "measure": watched,
        "direction": change.direction,
        "query_type": query_type,
        "judge_version_id": trend.version_id,
        "from_day": change.from_day,
        "seen_day": change.seen_day,
        "evidence": change.evidence,
        "evidence_limit": limit,
        "rate_before": change.before.value,
        "rate_after": change.after.value,
        "by": by,
        "at": at,
    }


def _raise_alarm(connection: Connection, row: dict[str, Any]) -> int | None:
    id_ = insert_alarm(connection, row)
    if id_ is not None:
        record_event(connection, "raise_alarm", row["by"], details={"alarm": id_}, now=row["at"])
    return id_


def acknowledge(store: Store, alarm_id: int, note: str, *, by: Actor, now: datetime | None = None) -> Alarm:
    """Acknowledge an alarm with a note. The detectors of its figure then start anew on the day of the change.

    Raises:
        BadInput: The note is empty, too long or cannot be stored, or the alarm is acknowledged already.
        NotAllowed: The actor is not a lead.
        NotFound: No alarm has this number.
    """
    text = note.strip()
    if not text or len(text) > LONGEST_NOTE or unstorable(text):
        raise BadInput(f"the note of an acknowledgement has 1 to {LONGEST_NOTE:,} characters")
    at, name = now or datetime.now(UTC), actor_name(by)
    with allowed(store, by, Action.ACKNOWLEDGE_ALARMS) as connection:
        alarm = _alarm(connection, alarm_id)
        if alarm.acknowledged_by is not None:
            raise BadInput(f"{alarm.acknowledged_by} has already acknowledged alarm {alarm_id}")
        insert_acknowledgement(connection, {"alarm_id": alarm_id, "by": name, "note": text, "at": at})
        record_event(connection, "acknowledge_alarm", name, details={"alarm": alarm_id}, now=at)
        return _alarm(connection, alarm_id)


def _alarm(connection: Connection, alarm_id: int) -> Alarm:
    alarm = next((each for each in list_alarms(connection) if each.id == alarm_id), None)
    if alarm is None:
        raise NotFound(f"there is no alarm {alarm_id}: `judgeboard watch` shows the open alarms")
    return alarm


def open_alarms(connection: Connection) -> list[Alarm]:
    """Return the alarms that nobody has acknowledged, the newest first."""
    return [with_later_change(connection, alarm) for alarm in list_alarms(connection) if alarm.is_open]


def alarm_sentence(alarm: Alarm) -> str:
    """Return for example "The share of bad answers of QA rose in the week of 2 Mar 2026, from 26 % to 58 %."."""
    if alarm.measure == MODEL_CHANGED:
        changed = f"On {day_words(alarm.from_day)}, the model that the provider reports changed: {alarm.direction}."
        if alarm.later_day is None:
            return changed
        return f"{changed} It has changed again since: {alarm.later_model} since {day_words(alarm.later_day)}."
    when = f"in the week of {day_words(alarm.from_day)}"
    return changed_words(alarm.measure, alarm.query_type, alarm.direction, when, alarm.rate_before, alarm.rate_after)


def promise_words(trend: CorrectedTrend) -> str:
    """Return how rarely the detectors raise a false alarm."""
    limits = sorted({monitor.limit for _, monitor in trend.monitors})
    words = []
    if limits:
        weeks = " or ".join(f"{limit:,.0f}" for limit in limits)
        words += [
            f"While nothing changes, each detector raises a false alarm at most once in {weeks} weeks on average.",
            "All detectors of a figure together raise at most one in a year on average.",
        ]
    if trend.judge is None:
        words.append(f"{NO_JUDGE}.")
    if not any(monitor.watched == "bad_share" for _, monitor in trend.monitors):
        words.append(f"No detector of the share of bad answers has data yet. {TO_LABEL}")
    return " ".join(words)

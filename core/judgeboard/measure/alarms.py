"""Alarms: raised if a watched figure of a query type or the model of a judge changes, and acknowledged by people."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import groupby, zip_longest

from sqlalchemy import Connection

from judgeboard.domain import MODEL_CHANGED, Action
from judgeboard.errors import BadInput, NotFound
from judgeboard.measure.changes import ErrorRates, extent
from judgeboard.measure.corrected_trend import (
    WATCH_PERIOD,
    CorrectedTrend,
    Monitor,
    Watched,
    acknowledged_words,
    alarm_words,
    corrected_trend,
    error_code,
    judge_changes,
    latest_acknowledged,
)
from judgeboard.measure.notes import note, paragraph
from judgeboard.measure.trend_figures import ALL_ANSWERS, Change
from judgeboard.people.permissions import Actor, actor_name, allowed
from judgeboard.stats.estimates import measured, points_words
from judgeboard.stats.monitor import DIRECTIONS
from judgeboard.store.alerts import SeenAlarm, insert_acknowledgement, insert_alarm, list_alarms
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.judge_versions import version_titles
from judgeboard.store.judgments import reported_models
from judgeboard.store.statements import record_of
from judgeboard.store.tables import Alarm, AlarmAcknowledgement
from judgeboard.text import day_words, listed_words, unstorable, utc_day

LONGEST_NOTE = 2_000  # characters
_MOST_ALARMS = 3  # sentences about alarms of one day


@dataclass(frozen=True, slots=True)
class Detector:
    """A detector of a figure of a query type, after the newest week read so far.

    ``weeks`` is the number of weeks read. The detector raises an alarm if its ``evidence`` reaches
    ``limit``. A change of the size ``seen`` would have been found in 80 % of cases; None if no
    possible change would have been. ``alarm`` is the number of the detector's open alarm.
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
    alarms: tuple[SeenAlarm, ...]
    new: tuple[int, ...]


def watch(
    store: Store, *, by: str, since: int | None = None, now: datetime | None = None
) -> WatchResult:
    """Evaluate the detectors of all query types on the weeks that have ended, and store the new alarms.

    Only answers from the UTC day ``since`` on (days since 1970-01-01; default: all) are read. After
    an acknowledged alarm, both detectors of the figure start again with the week of the change. A
    detector with an open alarm raises no second alarm, and neither does another change of a judge's
    model: the open alarm then names both changes.
    """
    at = now or utc_now()
    with store.reading() as connection:
        trend = corrected_trend(connection, period=WATCH_PERIOD, since=since, now=at)
        models = _new_models(connection, by, at)
        alarms = open_alarms(connection)
    numbers = _numbers(alarms)
    changes = (
        _row(trend.version_id, query_type, monitor, change, rates, by, at)
        for query_type, monitor in trend.monitors
        for change, rates in zip_longest(monitor.changes, monitor.rates)
        if (monitor.watched, change.direction, query_type, trend.version_id) not in numbers
    )
    new = list[int]()
    if rows := [*models, *changes]:
        with store.writing() as connection:
            for row in rows:
                id_ = insert_alarm(connection, row)
                if id_ is not None:
                    record_event(connection, "raise_alarm", by, details={"alarm": id_}, now=at)
                    new.append(id_)
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
    return WatchResult(
        trend.judge, promise_words(trend), tuple(detectors), tuple(alarms), tuple(new)
    )


def _numbers(alarms: Iterable[SeenAlarm]) -> dict[tuple[str, str, str, int | None], int]:
    """Return the numbers of open alarms by figure, direction, query type and judge version."""
    rows = [each.alarm for each in alarms]
    return {
        (each.measure, each.direction, each.query_type, each.judge_version_id): each.id
        for each in rows
    }


def _row(
    version_id: int | None,
    query_type: str,
    monitor: Monitor,
    change: Change,
    rates: ErrorRates | None,
    by: str,
    at: datetime,
) -> Alarm:
    before, after = change.before, change.after
    explanation = (
        "The size of the change is not known well: there are too few labels for an interval."
    )
    if (
        before.value is not None
        and after.value is not None
        and before.low is not None
        and after.low is not None
    ):
        # "It rose by 33 points [19, 46].", with the 95 % interval of the size.
        size = measured(abs(after.value - before.value), before.n + after.n, extent(change))
        explanation = f"It {change.direction} by {points_words(size)}."
    if rates is not None:
        code = error_code(rates)
        explanation += f" {note(code, part=query_type, day=change.from_day).text}"
    return Alarm(
        measure=monitor.watched,
        direction=change.direction,
        query_type=query_type,
        judge_version_id=version_id,
        from_day=change.from_day,
        seen_day=change.seen_day,
        evidence=change.evidence,
        evidence_limit=monitor.limit,
        rate_before=before.value or 0.0,
        rate_after=after.value or 0.0,
        explanation=explanation,
        by=by,
        at=at,
    )


def _new_models(connection: Connection, by: str, at: datetime) -> list[Alarm]:
    """Return the rows of new alarms: one for each judge version whose provider reports another model name than before.

    The name before is the last one when the version's latest alarm was acknowledged; without an
    alarm, the first one. A version with an open alarm has no new alarm (`_with_later_change`).
    ``evidence`` is the number of judgments with the new name; one is enough. ``rate_before`` and
    ``rate_after`` are the shares of judgments with the new name before the change (0), and of all
    judgments since the acknowledgement.
    """
    of_versions: dict[int | None, list[SeenAlarm]] = {}
    for each in list_alarms(connection):
        if each.alarm.measure == MODEL_CHANGED:
            of_versions.setdefault(each.alarm.judge_version_id, []).append(each)
    titles = version_titles(connection)
    rows = []
    for version_id, of_version in groupby(
        reported_models(connection), key=lambda model: model.judge_version_id
    ):
        models = list(of_version)
        alarms = of_versions.get(version_id, [])
        if len(models) == 1 or any(alarm.is_open for alarm in alarms):
            continue
        before = models[0]
        if times := [
            each.acknowledgement.at for each in alarms if each.acknowledgement is not None
        ]:
            earlier_models = reported_models(connection, version_id, until=max(times))
            before = max(earlier_models, key=lambda model: model.last_at, default=before)
            models = reported_models(connection, version_id, after=max(times))
        model = next((model for model in models if model.model != before.model), None)
        if model is not None:
            models_changed = f"from {before.model} to {model.model}"
            is_known = any(each.alarm.direction.endswith(models_changed) for each in alarms)
            alarm = Alarm(
                measure=MODEL_CHANGED,
                direction=f"{titles[version_id]} {'again ' if is_known else ''}{models_changed}",
                query_type="",
                judge_version_id=version_id,
                from_day=utc_day(model.first_at),
                seen_day=utc_day(at),
                evidence=float(model.judgments),
                evidence_limit=1.0,
                rate_before=0.0,
                rate_after=model.judgments / sum(each.judgments for each in models),
                by=by,
                at=at,
            )
            rows.append(alarm)
    return rows


def _with_later_change(connection: Connection, seen_alarm: SeenAlarm) -> SeenAlarm:
    """Return an open alarm with the latest change of the model, if the model changed again."""
    alarm = seen_alarm.alarm
    if alarm.measure != MODEL_CHANGED or alarm.judge_version_id is None:
        return seen_alarm
    models = sorted(
        reported_models(connection, alarm.judge_version_id), key=lambda model: model.last_at
    )
    if len(models) < 2:
        return seen_alarm
    now, other = models[-1], models[-2]
    since = reported_models(connection, alarm.judge_version_id, after=other.last_at)
    first = next((model.first_at for model in since if model.model == now.model), None)
    if first is None:  # both names were reported at once
        return seen_alarm
    day = utc_day(first)
    if alarm.direction.endswith(f" to {now.model}") and day == alarm.from_day:
        return seen_alarm
    return replace(seen_alarm, later_model=now.model, later_day=day)


def acknowledge(
    store: Store, alarm_id: int, note: str, *, by: Actor, now: datetime | None = None
) -> SeenAlarm:
    """Acknowledge an alarm with a note. The detectors of the figure then start again on the day of the change.

    Raises:
        BadInput: The note is empty, too long or cannot be stored, or the alarm is acknowledged
            already.
        NotAllowed: The actor is not a lead.
        NotFound: No alarm has this number.
    """
    text = note.strip()
    if not text or len(text) > LONGEST_NOTE or unstorable(text):
        raise BadInput(f"the note of an acknowledgement has 1 to {LONGEST_NOTE:,} characters")
    at, name = now or utc_now(), actor_name(by)
    with allowed(store, by, Action.ACKNOWLEDGE_ALARMS) as connection:
        earlier = _alarm(connection, alarm_id).acknowledgement
        if earlier is not None:
            raise BadInput(f"{earlier.by} has already acknowledged alarm {alarm_id}")
        acknowledgement = AlarmAcknowledgement(alarm_id=alarm_id, by=name, note=text, at=at)
        insert_acknowledgement(connection, acknowledgement)
        record_event(connection, "acknowledge_alarm", name, details={"alarm": alarm_id}, now=at)
        return _alarm(connection, alarm_id)


def _alarm(connection: Connection, alarm_id: int) -> SeenAlarm:
    alarm = next((each for each in list_alarms(connection) if each.alarm.id == alarm_id), None)
    if alarm is None:
        raise NotFound(
            f"there is no alarm {alarm_id}: `judgeboard trends watch` shows the open alarms"
        )
    return alarm


def open_alarms(connection: Connection) -> list[SeenAlarm]:
    """Return the open alarms: alarms of all answers first, then of query types, newest first."""

    def place(seen_alarm: SeenAlarm) -> tuple[bool, float, int]:
        alarm = seen_alarm.alarm
        return alarm.query_type not in {"", ALL_ANSWERS}, -alarm.at.timestamp(), alarm.id

    alarms = [
        _with_later_change(connection, each) for each in list_alarms(connection) if each.is_open
    ]
    return sorted(alarms, key=place)


def alarm_sentence(seen_alarm: SeenAlarm) -> str:
    """Return for example "The share of bad answers rose about 12 Oct 2026, from 26 % to 58 %. It rose by …"."""
    alarm = seen_alarm.alarm
    if alarm.measure == MODEL_CHANGED:
        words = f"On {day_words(alarm.from_day)}, the model that the provider reports changed: {alarm.direction}."
        if seen_alarm.later_day is None:
            return words
        return f"{words} It has changed again since: {seen_alarm.later_model} since {day_words(seen_alarm.later_day)}."
    return " ".join(filter(None, [alarm_words(alarm), alarm.explanation]))


@dataclass(frozen=True, slots=True)
class ShareChange:
    """A change of the share of bad answers on the UTC day ``from_day``, found by alarms: a mean hides the change."""

    from_day: int
    alarms: tuple[SeenAlarm, ...]

    @property
    def is_open(self) -> bool:
        """Whether nobody has acknowledged one of the alarms."""
        return any(each.is_open for each in self.alarms)

    @property
    def in_all_answers(self) -> bool:
        """Whether the share of all answers changed, not only the share of a query type."""
        return any(each.alarm.query_type in {"", ALL_ANSWERS} for each in self.alarms)

    @property
    def since(self) -> str:
        """The condition of the answers since the change: "from=2026-08-31"."""
        return f"from={date(1970, 1, 1) + timedelta(days=self.from_day)}"

    @property
    def sentence(self) -> str:
        """Return for example "Alarm 1 is open: The share of bad answers rose about 12 Oct 2026"."""
        alarms = sorted(self.alarms, key=lambda each: not each.is_open)
        sentences = [
            alarm_sentence(each)
            if each.is_open
            else " ".join(filter(None, [acknowledged_words(each.alarm), each.alarm.explanation]))
            for each in alarms[:_MOST_ALARMS]
        ]
        if len(alarms) > _MOST_ALARMS:
            sentences.append("`judgeboard trends watch` shows the others.")
        if numbers := [str(each.alarm.id) for each in alarms if each.is_open]:
            are = (
                f"Alarms {listed_words(numbers)} are"
                if len(numbers) > 1
                else f"Alarm {numbers[0]} is"
            )
            sentences[0] = f"{are} open: {sentences[0]}"
        return " ".join(sentences)


def share_changes(
    connection: Connection, query_types: Collection[str] = ()
) -> Iterator[ShareChange]:
    """Yield the changes of the share of bad answers, in all answers and in these query types, by day.

    Open alarms come before acknowledged alarms. Of the acknowledged alarms, the latest of a query
    type counts, if none is open.
    """
    still_open = open_alarms(connection)
    has_open = {(each.alarm.measure, each.alarm.query_type) for each in still_open}
    acknowledged = latest_acknowledged(list_alarms(connection))
    by_day: dict[int, list[SeenAlarm]] = {}
    for seen_alarm in (
        *still_open,
        *(each for figure, each in acknowledged.items() if figure not in has_open),
    ):
        alarm = seen_alarm.alarm
        if alarm.measure == "bad_share" and alarm.query_type in {"", ALL_ANSWERS, *query_types}:
            by_day.setdefault(alarm.from_day, []).append(seen_alarm)
    yield from (ShareChange(day, tuple(each)) for day, each in by_day.items())


def further_changes(trend: CorrectedTrend, alarms: Iterable[SeenAlarm]) -> list[str]:
    """Return the changes of the judge's error and the rises of unusable verdicts that no open alarm names."""
    rows = [each.alarm for each in alarms]
    open_changes = {(each.measure, each.direction, each.query_type) for each in rows}
    return [
        words.text
        for figure, direction, query_type, words in judge_changes(trend)
        if (figure, direction, query_type) not in open_changes
        and (figure, direction) != ("unusable", "fell")
    ]


def promise_words(trend: CorrectedTrend) -> str:
    """Return how rarely the detectors raise a false alarm, what is missing, and which answers are left out."""
    notes = [note("false_alarms")] if trend.monitors else []
    if not any(monitor.watched == "bad_share" for _, monitor in trend.monitors):
        notes.append(trend.missing)
    if trend.left_out:
        notes.append(
            note("left_out", reasons=[f"{each.n:,} {each.words}" for each in trend.left_out])
        )
    return paragraph(notes)

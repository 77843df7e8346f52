"""What alert rules watch: each condition is a function and a line in ``CONDITIONS``.

Pages show the same figures. A condition returns the subjects that meet the condition now. A subject
is a source, a judge, a judging rule, a slice or an alarm; the subject "" is the whole database.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from types import MappingProxyType

from sqlalchemy import Connection

from judgeboard.alerts.levels import SubjectFigure, level_figures
from judgeboard.domain import RECORDED, AlertCondition
from judgeboard.measure.alarms import alarm_sentence, open_alarms
from judgeboard.measure.notes import note
from judgeboard.registry.judge_kinds import kind_of
from judgeboard.stats.estimates import percent_words, surely_above
from judgeboard.stats.intervals import share_intervals
from judgeboard.store.jobs import live_workers
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.judging_rules import waiting
from judgeboard.store.overview import count_open_flags, judge_counts
from judgeboard.store.rules import active_rules
from judgeboard.store.runs import method_costs_since
from judgeboard.store.tables import AlertRule, JudgingRule
from judgeboard.store.traces import last_spans
from judgeboard.text import counted, money

LEAST_CALLS = 10
"""Minimum number of calls for a share of unusable verdicts."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of alert rules.

    Args:
        words: When the condition is met, for a list of conditions.
        met: Returns the subjects that meet the condition of a rule.
        unit: Unit of the threshold, None without a threshold.
        threshold: Default threshold, None if a rule must have one.
        period: Default period, None if the condition has none.
        subject: What a subject is, None for the whole database.
    """

    words: str
    met: Callable[[Connection, AlertRule, datetime], Iterator[SubjectFigure]]
    unit: str | None = None
    threshold: float | None = None
    period: str | None = None
    subject: str | None = None


def period_words(seconds: float) -> str:
    """Return "2 d", "36 h", "90 min" or "45 s": the largest unit without a remainder."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def moment_words(moment: datetime) -> str:
    """Return "2026-11-23 05:10 UTC"."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _threshold(rule: AlertRule) -> float:
    return rule.threshold or 0.0


def _period(rule: AlertRule) -> timedelta:
    return timedelta(seconds=rule.period_s or 0.0)


def _watched(rule: AlertRule, subject: str) -> bool:
    return not rule.subjects or subject in rule.subjects


def _old_flags(connection: Connection, rule: AlertRule, now: datetime) -> Iterator[SubjectFigure]:
    flags = count_open_flags(connection, before=now - _period(rule))
    if flags > _threshold(rule):
        words = f"{counted(flags, 'open flag')} older than {period_words(rule.period_s or 0)}"
        yield SubjectFigure("", f"{words} (threshold: {_threshold(rule):,.0f}).", flags)


def _open_flags(connection: Connection, rule: AlertRule, _now: datetime) -> Iterator[SubjectFigure]:
    flags = count_open_flags(connection)
    if flags > _threshold(rule):
        yield SubjectFigure(
            "", note("many_open_flags", flags=flags, threshold=_threshold(rule)).text, flags
        )


def _waiting_answers(
    connection: Connection, rule: AlertRule, _now: datetime
) -> Iterator[SubjectFigure]:
    for judging_rule in active_rules(connection, JudgingRule):
        if not _watched(rule, judging_rule.name):
            continue
        backlog = waiting(connection, judging_rule)
        if backlog.answers > _threshold(rule) and backlog.oldest is not None:
            since = moment_words(backlog.oldest)
            waits = note(
                "answers_wait", answers=backlog.answers, rule=judging_rule.name, since=since
            )
            yield SubjectFigure(judging_rule.name, waits.text, backlog.answers)


def _calling_judges(connection: Connection, rule: AlertRule) -> list[str]:
    """Return the judges that the rule watches, without the kinds that make no calls."""
    names = {
        each.name
        for each in list_versions(connection)
        if each.kind != RECORDED and not kind_of(each.kind).combined
    }
    return sorted(judge for judge in names if _watched(rule, judge))


def _unusable_verdicts(
    connection: Connection, rule: AlertRule, now: datetime
) -> Iterator[SubjectFigure]:
    yesterday = now.astimezone(UTC).date() - timedelta(days=1)
    for judge in _calling_judges(connection, rule):
        counts = judge_counts(connection, judge, yesterday)
        if counts.asked < LEAST_CALLS:
            continue
        share = share_intervals(counts.asked - counts.ok, counts.asked)[0]
        if surely_above(share, _threshold(rule) / 100):
            calls, since = counted(counts.asked, "call"), f"since {yesterday:%Y-%m-%d} (UTC)"
            words = f"{judge}: {percent_words(share)} of {calls} {since} gave no usable verdict"
            yield SubjectFigure(
                judge, f"{words} (threshold: {_threshold(rule):g} %).", (share.value or 0.0) * 100
            )


def _spend(connection: Connection, rule: AlertRule, now: datetime) -> Iterator[SubjectFigure]:
    midnight = datetime.combine(now.astimezone(UTC), time(), UTC)
    costs = [
        *(
            judge_counts(connection, judge, midnight.date())
            for judge in _calling_judges(connection, rule)
        ),
        *(
            each
            for judge, each in method_costs_since(connection, midnight).items()
            if _watched(rule, judge)
        ),
    ]
    cost = sum(each.cost_micro or 0 for each in costs)
    unpriced = sum(each.unpriced for each in costs)
    threshold = round(_threshold(rule) * 1_000_000)
    if cost > threshold:
        more = (
            f" {counted(unpriced, 'call')} without a known price are not included."
            if unpriced
            else ""
        )
        words = f"Model calls have cost {money(cost)} today, since midnight UTC (threshold: {money(threshold)})."
        yield SubjectFigure("", words + more, cost / 1_000_000)


def silent_sources(
    connection: Connection, now: datetime, period: timedelta
) -> Iterator[SubjectFigure]:
    """Yield the sources that sent traces, but none for the ``period``; the value is the time since, in seconds."""
    for source, last_at in last_spans(connection).items():
        if now - last_at > period:
            threshold = period_words(period.total_seconds())
            words = f"The source {source} has sent nothing since {moment_words(last_at)} (threshold: {threshold})."
            yield SubjectFigure(source, words, (now - last_at).total_seconds())


def _missing_worker(
    connection: Connection, rule: AlertRule, _now: datetime
) -> Iterator[SubjectFigure]:
    workers = len(live_workers(connection, within=_period(rule)))
    if workers < _threshold(rule):
        period = period_words(rule.period_s or 0)
        yield SubjectFigure(
            "", note("few_workers", workers=workers, period=period, expected=_threshold(rule)).text
        )


CONDITIONS: Mapping[AlertCondition, Condition] = MappingProxyType(
    {
        AlertCondition.ALARM: Condition(
            "An alarm of a rate, a trend or a judge's model is open.",
            lambda connection, _rule, _now: (
                SubjectFigure(f"alarm {each.alarm.id}", alarm_sentence(each))
                for each in open_alarms(connection)
            ),
        ),
        AlertCondition.OLD_FLAGS: Condition(
            "More open flags than the threshold are older than the period.",
            _old_flags,
            "flags",
            0,
            "2d",
        ),
        AlertCondition.OPEN_FLAGS: Condition(
            "More flags than the threshold are open.", _open_flags, "flags"
        ),
        AlertCondition.WAITING_ANSWERS: Condition(
            "More answers than the threshold wait for a judging rule.",
            _waiting_answers,
            "answers",
            subject="judging rule",
        ),
        AlertCondition.UNUSABLE_VERDICTS: Condition(
            "The share of a judge's calls without a usable verdict, of yesterday and today (UTC), is significantly "
            "above the threshold.",
            _unusable_verdicts,
            "%",
            5,
            subject="judge",
        ),
        AlertCondition.SPEND: Condition(
            "The model calls of today (UTC) cost more than the threshold.",
            _spend,
            "$",
            subject="judge",
        ),
        AlertCondition.SILENT_SOURCE: Condition(
            "A source that sent traces has sent none for the period.",
            lambda connection, rule, now: (
                source
                for source in silent_sources(connection, now, _period(rule))
                if _watched(rule, source.subject)
            ),
            period="1h",
            subject="source",
        ),
        AlertCondition.MISSING_WORKER: Condition(
            "Fewer workers than the threshold were alive within the period.",
            _missing_worker,
            "workers",
            1,
            "1min",
        ),
        AlertCondition.LEVEL: Condition(
            "The mean of a score, or the share of low groundedness, of the newest answers is above or below the "
            "threshold.",
            lambda connection, rule, now: (
                figure for figure in level_figures(connection, rule, now) if figure.is_met
            ),
            "score or %",
            subject="slice",
        ),
    }
)
"""The conditions. A new condition is a function, a member of `AlertCondition`, a revision and a line here."""

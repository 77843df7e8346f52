"""Alert rules as people write rules: checks and adds a rule, and describes a rule in words."""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, time, tzinfo
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from judgeboard.alerts.conditions import CONDITIONS, period_words
from judgeboard.alerts.destinations import WEBHOOKS, check_settings, destination_of
from judgeboard.alerts.levels import (
    DEFAULT_WINDOW,
    LEVEL_MEASURES,
    measure_words,
    slice_of,
    window_of,
    window_words,
)
from judgeboard.domain import Action, AlertCondition
from judgeboard.errors import BadInput, MissingSetting
from judgeboard.measure.notes import Note, note
from judgeboard.measure.trend_figures import MEASURES, find_criterion
from judgeboard.people.permissions import Actor, actor_name, allowed
from judgeboard.runs.rules import checked_name
from judgeboard.settings.model import ENVIRONMENT
from judgeboard.settings.sections import AlertSettings, fields_of
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import known_judges
from judgeboard.store.rules import insert_rule
from judgeboard.store.tables import AlertRule, Level
from judgeboard.text import seconds_of, unstorable

LARGEST_THRESHOLD = 1e12
NEVER = "never"
DAILY = "24h"
_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)(?:\s+(\S+))?", re.ASCII)


class QuietHours(NamedTuple):
    """Daily hours without messages, which may include midnight."""

    start: time
    end: time
    zone: tzinfo

    def include(self, moment: datetime) -> bool:
        """Return whether a moment is within these hours."""
        clock = moment.astimezone(self.zone).time()
        if self.start < self.end:
            return self.start <= clock < self.end
        return clock >= self.start or clock < self.end


def quiet_hours(text: str) -> QuietHours:
    """Return quiet hours such as "22:00-07:00" (UTC) or "22:00-07:00 Europe/Berlin"; raise BadInput."""
    match = _HOURS.fullmatch(text.strip())
    if match is None or match.group(1, 2) == match.group(3, 4):
        raise BadInput(
            f"quiet: {text!r} must be hours with an optional time zone: 22:00-07:00 Europe/Berlin"
        )
    try:
        zone = ZoneInfo(match[5]) if match[5] else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadInput(f"quiet: this machine does not know the time zone {match[5]!r}") from None
    return QuietHours(time(int(match[1]), int(match[2])), time(int(match[3]), int(match[4])), zone)


_OF_LEVELS = ("below", "measure", "criterion", "judge", "last")


def _level(settings: AlertSettings) -> tuple[float, Level]:
    """Return the threshold and the level of a level rule."""
    if settings.after is not None:
        raise BadInput(
            "after: the condition level does not use it: write last, such as 200 (answers) or 7d"
        )
    if settings.measure is not None and settings.criterion is not None:
        raise BadInput(
            "criterion: a level is of a measure or of a criterion: leave out one of them"
        )
    name = settings.measure or "groundedness"
    measure = next((each for each in LEVEL_MEASURES if each == name), None)
    if measure is None:
        raise BadInput(
            f"measure: no measure {name!r}; the measures are {', '.join(LEVEL_MEASURES)}"
        )
    if settings.above is not None and settings.below is None:
        direction: Literal["above", "below"] = "above"
        threshold = settings.above
    elif settings.below is not None and settings.above is None:
        direction, threshold = "below", settings.below
    else:
        raise BadInput("above: a level needs one threshold: give either above or below")
    low, high = MEASURES[measure].bounds or (0.0, 100.0)
    if settings.criterion is not None:
        name, low, high = "a criterion", -LARGEST_THRESHOLD, LARGEST_THRESHOLD
    if not low <= threshold <= high:
        reach = f"from {low:g} to {high:g}{' %' if MEASURES[measure].is_share else ''}"
        raise BadInput(f"{direction}: the threshold of {name} must be {reach}, not {threshold:g}")
    for each in settings.only:
        slice_of(each)
    if any(unstorable(text) for text in (settings.criterion, settings.judge) if text):
        raise BadInput("criterion: a name contains a character that cannot be stored")
    answers, days = window_of(settings.last or DEFAULT_WINDOW)
    return threshold, Level(
        measure=measure if settings.criterion is None else None,
        criterion=settings.criterion,
        judge=settings.judge,
        direction=direction,
        answers=answers,
        days=days,
    )


def checked_rule(
    name: str, settings: AlertSettings, by: str = "", now: datetime | None = None
) -> AlertRule:
    """Return the rule that ``by`` adds; raise BadInput, with the name of the field first."""
    name = checked_name(AlertRule, name)
    if settings.when not in CONDITIONS:
        raise BadInput(
            f"when: no condition {settings.when!r}; the conditions are {', '.join(CONDITIONS)}"
        )
    threshold: float | None
    level, period = None, None
    if settings.when == AlertCondition.LEVEL:
        threshold, level = _level(settings)
    else:
        # The threshold and the period are those of the condition, unless the rule has its own.
        condition = CONDITIONS[AlertCondition(settings.when)]
        for field, value, meaning in (
            *((field, getattr(settings, field), None) for field in _OF_LEVELS),
            ("above", settings.above, condition.unit),
            ("after", settings.after, condition.period),
            ("only", settings.only or None, condition.subject),
        ):
            if value is not None and meaning is None:
                raise BadInput(
                    f"{field}: the condition {settings.when} does not use it: leave it out"
                )
        threshold = condition.threshold if settings.above is None else settings.above
        if threshold is None and condition.unit is not None:
            raise BadInput(f"above: {settings.when} needs a threshold ({condition.unit})")
        if threshold is not None and not 0 <= threshold <= LARGEST_THRESHOLD:
            raise BadInput(f"above: the threshold must be 0 or more, not {threshold:g}")
        period = settings.after or condition.period
    if not settings.to:
        raise BadInput("to: an alert rule needs a destination")
    for each in settings.to:
        destination_of(each)
    if any(map(unstorable, settings.only)):
        raise BadInput("only: a name contains a character that cannot be stored")
    if settings.quiet is not None:
        quiet_hours(settings.quiet)
    return AlertRule(
        name=name,
        by=by,
        at=now or utc_now(),
        condition=AlertCondition(settings.when),
        threshold=threshold,
        period_s=None if period is None else seconds_of(period, "after"),
        subjects=tuple(dict.fromkeys(settings.only)),
        destinations=tuple(dict.fromkeys(each.strip() for each in settings.to)),
        remind_s=None if settings.remind == NEVER else seconds_of(settings.remind, "remind"),
        quiet=settings.quiet,
        level=level,
    )


def unset_webhooks(destinations: Iterable[str]) -> Note | None:
    """Return which variables of webhooks are not set for this process; None if all are."""
    parsed_destinations = (destination_of(each) for each in destinations)
    unset = [
        each.value
        for each in parsed_destinations
        if each.kind in WEBHOOKS and not ENVIRONMENT.get(each.value)
    ]
    return note("unset_webhooks", variables=unset) if unset else None


def add_alert_rule(
    store: Store, name: str, settings: AlertSettings, actor: Actor, now: datetime | None = None
) -> AlertRule:
    """Add an alert rule, which workers evaluate from now on.

    Raises BadInput if a field or the name is not usable, NotFound if a level names an unknown judge
    or criterion, and MissingSetting if no message could be sent.
    """
    rule = checked_rule(name, settings, actor_name(actor), now)
    for destination in rule.destinations:
        try:
            check_settings(destination)
        except MissingSetting as missing:
            message = f"to: {destination}: {missing}; set it here and for the worker"
            raise MissingSetting(message, missing.examples) from None
        except BadInput as unusable:
            raise BadInput(f"to: {destination}: {unusable}") from None
    with allowed(store, actor, Action.KEEP_RULES) as connection:
        # A level of an unknown judge or criterion would never have a figure.
        level = rule.level
        if level is not None and level.judge is not None:
            known_judges(connection, [level.judge])
        if level is not None and level.criterion is not None:
            find_criterion(connection, level.criterion, level.judge)
        return insert_rule(connection, rule)


def fault_in_project(fail: Callable[..., BadInput], error: str, *keys: str) -> BadInput:
    """Return an error about the table of a rule in the project file, at the field that `checked_rule` names first."""
    field, _, reason = error.partition(": ")
    if field in fields_of(AlertSettings):
        return fail(f"is not usable: {reason}", *keys, field)
    return fail(f"is not usable: {error}", *keys)


def limits_words(rule: AlertRule) -> str:
    """Return what a rule watches: "old_flags > 0, after 2 d"."""
    level = rule.level
    if level is not None:
        unit = " %" if level.measure is not None and MEASURES[level.measure].is_share else ""
        sign = "<" if level.direction == "below" else ">"
        words = f"{measure_words(level)} {sign} {rule.threshold:g}{unit}, {window_words(level)}"
        words += f", judge {level.judge}" if level.judge else ""
    else:
        unit = CONDITIONS[rule.condition].unit or ""
        words = rule.condition.value
        if rule.threshold is not None:
            words += " < " if rule.condition is AlertCondition.MISSING_WORKER else " > "
            number = f"{rule.threshold:,g}"
            words += f"$ {number}" if unit == "$" else f"{number}{' %' if unit == '%' else ''}"
        words += "" if rule.period_s is None else f", after {period_words(rule.period_s)}"
    return f"{words}, only {', '.join(rule.subjects)}" if rule.subjects else words


def reminder_words(rule: AlertRule) -> str:
    """Return the time between reminders, or "never"."""
    return NEVER if rule.remind_s is None else period_words(rule.remind_s)

"""The level of a measure over the newest answers: the figure that a level rule compares with its threshold."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

import numpy as np
from sqlalchemy import Connection

from judgeboard.clock import utc_now
from judgeboard.domain import Estimate
from judgeboard.errors import BadInput, NotFound
from judgeboard.stats.arrays import TIE, IntArray
from judgeboard.stats.estimates import number_words, percent_words, unmeasured
from judgeboard.store.alerts import Level, LevelMeasure, NewAlertRule
from judgeboard.store.day_sums import NEWEST, NewestValues, newest_values
from judgeboard.store.filters import METADATA, WHERE_FIELDS, RowFilter, parse_where
from judgeboard.store.settings import rules_in_force
from judgeboard.text import counted, utc_day
from judgeboard.trends.measures import MEASURES, GroupedValues, Measure, criterion_measure, find_criterion
from judgeboard.trends.periods import PeriodSums, PlausibleDays
from judgeboard.trends.trend import without_date

LEAST_ANSWERS = 10
"""Minimum number of answers for a level."""
MOST_DAYS = 366
LEVEL_MEASURES: tuple[LevelMeasure, ...] = get_args(LevelMeasure)
DEFAULT_WINDOW = "200"
_WINDOW = re.compile(r"(\d{1,6})\s*(d?)", re.ASCII)
_NO_DAY = -1


def window_of(text: str) -> tuple[int | None, int | None]:
    """Return the window of a text as (answers, days), one of them None: "200" is 200 answers, "7d" is 7 days."""
    match = _WINDOW.fullmatch(text.strip())
    number, is_days = (int(match[1]), bool(match[2])) if match else (0, False)
    if is_days and 1 <= number <= MOST_DAYS:
        return None, number
    if not is_days and LEAST_ANSWERS <= number <= NEWEST:
        return number, None
    raise BadInput(
        f"last: write a number of answers from {LEAST_ANSWERS} to {NEWEST:,}, such as 200, or of days from 1 to "
        f"{MOST_DAYS}, such as 7d, not {text!r}"
    )


def window_words(level: Level) -> str:
    """Return "last 200 answers" or "last 7 days"."""
    return f"last {counted(level.answers, 'answer') if level.answers is not None else counted(level.days or 0, 'day')}"


def measure_words(level: Level) -> str:
    """Return "mean groundedness", "share of low groundedness" or "mean score for completeness"."""
    if level.criterion is not None:
        return f"mean score for {level.criterion}"
    title = MEASURES[level.measure].title
    return f"{title[0].lower()}{title[1:]}" if MEASURES[level.measure].bounds is None else f"mean {title.lower()}"


def slice_of(text: str) -> RowFilter:
    """Return the answers of a slice, such as "query_type=QA" or "metadata.tenant=acme"; raise BadInput otherwise."""
    field, _, value = (part.strip() for part in text.partition("="))
    if not value or (field not in {"query_type", "source"} and not field.startswith(METADATA)):
        proposal = f"; write {METADATA}{field}={value}" if field and value and field not in WHERE_FIELDS else ""
        raise BadInput(f"only: a slice is query_type=VALUE, source=VALUE or metadata.KEY=VALUE, not {text!r}{proposal}")
    return parse_where([text])


@dataclass(frozen=True, slots=True)
class LevelFigure:
    """The figure of one slice (``subject``, "" for all answers) with a sentence; without a value it has too few."""

    subject: str
    estimate: Estimate
    is_met: bool
    sentence: str


def level_figures(connection: Connection, rule: NewAlertRule, now: datetime) -> Iterator[LevelFigure]:
    """Yield the figure of each slice of a level rule now.

    Only the answers with the `NEWEST` highest ids are read, however large the log is. Answers with a date that is not
    plausible do not count; a window of days also leaves out answers without a time.
    """
    level = rule.level
    if level is None:
        return
    rules = rules_in_force(connection)
    judge: str | int | None = level.judge or rules.primary_judge
    measure = MEASURES[level.measure]
    if level.criterion is not None:
        judge, criterion = find_criterion(connection, level.criterion, level.judge)
        measure = criterion_measure(criterion)
    cut = rules.thresholds.low_groundedness if measure.bounds is None else None
    days = PlausibleDays.at(now)
    for subject in rule.subjects or ("",):
        where = slice_of(subject) if subject else None
        if judge is None:
            yield LevelFigure(
                subject,
                unmeasured(0, "no answer is judged yet"),
                False,
                "The primary judge has not judged an answer yet.",
            )
            continue
        newest = newest_values(connection, judge, measure.score, cut, where=where)
        inside, left_out = _window(newest, level, days, utc_day(now))
        estimate = _estimate(measure, newest.at(inside))
        of_slice = f" with {subject}" if subject else ""
        yield _figure(rule, level, subject, estimate, f"{judge}{of_slice}", left_out, share=measure.bounds is None)


def levels_now(connection: Connection, rule: NewAlertRule, now: datetime | None = None) -> list[str]:
    """Return a sentence for each slice of a level rule: its figure now, or why it has none; no sentence for others."""
    try:
        return [figure.sentence for figure in level_figures(connection, rule, now or utc_now())]
    except (BadInput, NotFound) as error:  # no judge has the criterion yet
        return [f"Not available: {error}."]


def _window(newest: NewestValues, level: Level, days: PlausibleDays, today: int) -> tuple[IntArray, str]:
    """Return the positions of the answers in the window, and words about those that were left out."""
    misdated = (newest.days != _NO_DAY) & ((newest.days < days.first) | (newest.days > days.last))
    if level.answers is not None:
        # The day first: a file may have its newest answers first. Answers without a time count as the oldest.
        order = np.lexsort((newest.response_ids, newest.days))[::-1]
        inside = order[~misdated[order]][: level.answers]
        undated = misdated
    else:
        first = today - (level.days or 0) + 1
        inside = np.flatnonzero(~misdated & (newest.days >= first))
        undated = misdated | (newest.days == _NO_DAY)
    counts = Counter(newest.days[undated].tolist())
    by_day = {None if day == _NO_DAY else day: n for day, n in counts.items()}
    words = ", ".join(each.words for each in without_date(by_day, days))
    return inside, f" Left out: {words}." if words else ""


def _estimate(measure: Measure, values: NewestValues) -> Estimate:
    n = len(values.values)
    if n < LEAST_ANSWERS:
        return unmeasured(n, f"too few answers (n = {n:,}, at least {LEAST_ANSWERS} needed)")
    total, squares = float(values.values.sum()), float(values.values @ values.values)
    effect = GroupedValues(values.days, values.values, values.evidence_groups).window_effect()
    (estimate,) = measure.estimates(PeriodSums((0,), (n,), (total,), (squares,)), effect)
    return estimate


def _figure(
    rule: NewAlertRule, level: Level, subject: str, estimate: Estimate, whose: str, left_out: str, *, share: bool
) -> LevelFigure:
    unit = "days (UTC)" if level.days != 1 else "day (UTC)"
    window = f"the last {estimate.n:,} answers" if level.days is None else f"the last {level.days:,} {unit}"
    name = f"{measure_words(level)[0].upper()}{measure_words(level)[1:]}"
    if estimate.value is None:
        sentence = f"{name} of {whose} in {window}: {estimate.reason}.{left_out}"
        if level.days is None:
            sentence = f"{name} of {whose}: {estimate.reason}.{left_out}"
        return LevelFigure(subject, estimate, False, sentence)
    threshold = (rule.threshold or 0.0) / (100 if share else 1)
    away = estimate.value - threshold if level.direction == "above" else threshold - estimate.value
    value = percent_words(estimate) if share else number_words(estimate)
    limit = f"threshold: {level.direction} {rule.threshold or 0:g}{' %' if share else ''}"
    n = "" if level.days is None else f"n = {estimate.n:,}; "
    sentence = f"{name} of {whose} in {window}: {value} ({n}{limit}).{left_out}"
    return LevelFigure(subject, estimate, away > TIE, sentence)

"""The level of a measure over the newest answers: the figure that a level rule compares with the threshold."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import BadInput, NotFound
from judgeboard.measure.notes import note
from judgeboard.measure.periods import PeriodSums, PlausibleDays, counts_by_day
from judgeboard.measure.trend import without_date
from judgeboard.measure.trend_figures import (
    GroupedValues,
    Measure,
    criterion_words,
    find_criterion,
    measure_of,
)
from judgeboard.stats.arrays import TIE, IntArray
from judgeboard.stats.estimates import number_words, percent_words, unmeasured
from judgeboard.store.clock import utc_now
from judgeboard.store.day_sums import NEWEST, NewestValues, are_days_cut, newest_values
from judgeboard.store.filters import METADATA, WHERE_FIELDS, LevelMeasure, RowFilter, parse_where
from judgeboard.store.settings import rules_in_force
from judgeboard.store.statements import NO_DAY
from judgeboard.store.tables import AlertRule, Level
from judgeboard.text import counted, utc_day

LEAST_ANSWERS = 10
"""Minimum number of answers for a level."""
MOST_DAYS = 366
LEVEL_MEASURES: tuple[LevelMeasure, ...] = get_args(LevelMeasure)
DEFAULT_WINDOW = "200"
_WINDOW = re.compile(r"(\d{1,6})\s*(d?)", re.ASCII)


def window_of(text: str) -> tuple[int | None, int | None]:
    """Return the window of a text as (answers, days), either is None: "200" is 200 answers, "7d" is 7 days."""
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
        return criterion_words(level.criterion)
    return measure_of(level.measure, None).words


def slice_of(text: str) -> RowFilter:
    """Return the answers of a slice, such as "query_type=QA" or "metadata.tenant=acme"; raise BadInput otherwise."""
    field, _, value = (part.strip() for part in text.partition("="))
    if not value or (field not in {"query_type", "source"} and not field.startswith(METADATA)):
        proposal = (
            f"; write {METADATA}{field}={value}"
            if field and value and field not in WHERE_FIELDS
            else ""
        )
        raise BadInput(
            f"only: a slice is query_type=VALUE, source=VALUE or metadata.KEY=VALUE, not {text!r}{proposal}"
        )
    return parse_where([text])


@dataclass(frozen=True, slots=True)
class SubjectFigure:
    """The figure of a subject of a rule now, with a sentence. ``is_met``: the figure meets the condition of the rule.

    The subject of a level rule is a slice ("" for all answers). The figure counts ``n`` answers;
    without a ``value``, there are too few answers.
    """

    subject: str
    sentence: str
    value: float | None = None
    n: int = 0
    is_met: bool = True


def level_figures(
    connection: Connection, rule: AlertRule, now: datetime
) -> Iterator[SubjectFigure]:
    """Yield the figure of each slice of a level rule now.

    Only the answers with the `NEWEST` highest ids are read, however large the log is. Answers with
    a date that is not plausible do not count; a window of days also leaves out answers without a
    time.
    """
    level = rule.level
    if level is None:
        return
    rules = rules_in_force(connection)
    judge: str | int | None = level.judge or rules.primary_judge
    criterion = None
    if level.criterion is not None:
        judge, criterion = find_criterion(connection, level.criterion, level.judge)
    measure = measure_of(level.measure, criterion)
    cut = rules.thresholds.low_groundedness if measure.is_share else None
    days, today = PlausibleDays.at(now), utc_day(now)
    window = None
    if level.days is not None:
        # The days; of more answers than are read, the newest.
        is_cut = are_days_cut(connection, today - level.days + 1, today)
        code = "newest_of_days" if is_cut else "last_days"
        window = note(code, newest=NEWEST, days=counted(level.days, "day")).text
    for subject in rule.subjects or ("",):
        where = slice_of(subject) if subject else RowFilter()
        if judge is None:
            no_judgment = "The primary judge has not judged an answer yet."
            yield SubjectFigure(subject, no_judgment, is_met=False)
            continue
        newest = newest_values(
            connection,
            judge,
            measure.score,
            cut,
            query_types=where.query_types,
            sources=where.sources,
            metadata=where.metadata,
        )
        inside, left_out = _window(newest, level, days, today)
        values = newest.at(inside)
        n = len(values.values)
        estimate = unmeasured(n, note("few_answers", n=n, least=LEAST_ANSWERS).text)
        if n >= LEAST_ANSWERS:
            total, squares = float(values.values.sum()), float(values.values @ values.values)
            by_group = GroupedValues(values.days, values.values, values.evidence_groups)
            sums = PeriodSums((0,), (n,), (total,), (squares,))
            (estimate,) = measure.estimates(sums, by_group.window_effect())
        whose = f"{judge} with {subject}" if subject else f"{judge}"
        name = f"{measure.words} of {whose}"
        yield _figure(
            rule,
            level,
            subject,
            estimate,
            f"{name[0].upper()}{name[1:]}",
            window,
            left_out,
            measure,
        )


def levels_now(connection: Connection, rule: AlertRule, now: datetime | None = None) -> list[str]:
    """Return a sentence for each slice of a level rule (none for other rules): the figure now, or why there is none."""
    try:
        return [figure.sentence for figure in level_figures(connection, rule, now or utc_now())]
    except (BadInput, NotFound) as error:  # no judge has the criterion yet
        return [f"Not available: {error}."]


def _window(
    newest: NewestValues, level: Level, days: PlausibleDays, today: int
) -> tuple[IntArray, str]:
    """Return the positions of the answers in the window, and words about the answers that were left out."""
    misdated = days.misdated(newest.days)
    if level.answers is not None:
        # The day first, because a file may have the newest answers first. Answers without a time
        # count as the oldest.
        order = np.lexsort((newest.response_ids, newest.days))[::-1]
        inside = order[~misdated[order]][: level.answers]
        undated = misdated
    else:
        inside = np.flatnonzero(~misdated & (newest.days > today - (level.days or 0)))
        undated = misdated | (newest.days == NO_DAY)
    words = ", ".join(
        f"{each.n:,} {each.words}"
        for each in without_date(counts_by_day(newest.days[undated]), days)
    )
    return inside, f" Left out: {words}." if words else ""


def _figure(
    rule: AlertRule,
    level: Level,
    subject: str,
    estimate: Estimate,
    name: str,
    days_window: str | None,
    left_out: str,
    measure: Measure,
) -> SubjectFigure:
    if estimate.value is None:
        where = "" if days_window is None else f" in {days_window}"
        unknown = note(
            "level_unknown", figure=f"{name}{where}", reason=estimate.reason or "unknown"
        )
        return SubjectFigure(subject, f"{unknown.text}{left_out}", n=estimate.n, is_met=False)
    threshold = (rule.threshold or 0.0) / (100 if measure.is_share else 1)
    away = estimate.value - threshold if level.direction == "above" else threshold - estimate.value
    value = percent_words(estimate) if measure.is_share else number_words(estimate)
    limit = (
        f"threshold: {level.direction} {rule.threshold or 0:g}{' %' if measure.is_share else ''}"
    )
    window = f"the last {estimate.n:,} answers"
    if days_window is not None:
        window, limit = days_window, f"n = {estimate.n:,}; {limit}"
    level_note = note("level", figure=f"{name} in {window}", value=value, limit=limit)
    return SubjectFigure(
        subject, f"{level_note.text}{left_out}", estimate.value, estimate.n, away > TIE
    )

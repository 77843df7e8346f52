"""The share of bad answers over time, corrected by sampled labels: points, changes between windows, and detectors.

All answers come first, then each query type.

Detectors also watch the judge's error and the share of unusable verdicts.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, get_args

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.measure.changes import ErrorRates, Figure, Finding, changes_of
from judgeboard.measure.notes import Note, note
from judgeboard.measure.periods import PERIOD_DAYS, Period, PlausibleDays, counts_by_day, start_of
from judgeboard.measure.result import ALL, About, Result
from judgeboard.measure.samples import (
    LabelledAnswers,
    SampledLabels,
    judging_version,
    labelled_answers,
    no_judge_note,
)
from judgeboard.measure.trend import LeftOut, without_date
from judgeboard.measure.trend_figures import ALL_ANSWERS, Change, alarm_limits
from judgeboard.stats.arrays import FloatArray, IntArray, grouping_of_numbers
from judgeboard.stats.estimates import measured, percent, points_words
from judgeboard.stats.monitor import (
    DIRECTIONS,
    Direction,
    Window,
    detect,
    difference_effect,
    found_changes,
    likeliest_start,
    rate_error,
    smallest_change,
)
from judgeboard.stats.rates import Stratum, influences, rate, weighted_agreement
from judgeboard.stats.sample_size import design_effect_of_mean
from judgeboard.store.alerts import SeenAlarm, list_alarms
from judgeboard.store.clock import utc_now
from judgeboard.store.filters import RowFilter
from judgeboard.store.statements import NO_DAY
from judgeboard.store.strata import BAD, UNUSABLE
from judgeboard.store.tables import Alarm, StoredVersion
from judgeboard.text import counted, day_words, utc_day

Watched = Literal["bad_share", "judge_error", "unusable"]
"""A figure that detectors watch.

``bad_share``: the corrected share of bad answers. ``judge_error``: the share of bad answers
according to the judge, minus the corrected share. ``unusable``: the share of answers with an
unusable verdict.
"""
WATCHED: tuple[Watched, ...] = get_args(Watched)
WATCHED_WORDS: Mapping[str, str] = {
    "bad_share": "share of bad answers",
    "judge_error": "judge's share of bad answers minus the corrected share",
    "unusable": "share of unusable verdicts",
}
WATCH_PERIOD: Period = "week"
"""The period of the detectors that raise alarms."""
BAD_SHARE = Figure("the share of bad answers", "bad")
MISDATED = -2
"""The day of answers whose date is not plausible (`PlausibleDays`)."""


class DatedAnswers:
    """All answers, or the answers of one query type, by UTC day, with their sampled labels."""

    def __init__(self, answers: LabelledAnswers, rows: IntArray, days: IntArray) -> None:
        """Sort the answers by day.

        ``rows`` are positions in ``answers.answers``, ``days`` are the days of these rows, `NO_DAY`
        or `MISDATED`.
        """
        order = np.argsort(days, kind="stable")
        self._answers, self._rows, self.days = answers, rows[order], days[order]
        self.without_time = int((days == NO_DAY).sum())
        self.with_time = int((days >= 0).sum())
        self._samples: dict[tuple[int, int], SampledLabels] = {}
        self._windows: dict[tuple[int, int], Window] = {}
        self._gaps: dict[tuple[int, int], bool] = {}
        self._verdicts = answers.answers.verdicts[self._rows]
        self._groups = grouping_of_numbers(answers.groups[self._rows])

    def sample(self, first: int, last: int) -> SampledLabels:
        """Return the sampled labels of the answers from the day ``first`` to the day ``last``, both included."""
        if (first, last) not in self._samples:
            self._samples[first, last] = self._answers.sample(
                self._rows[self._between(first, last)]
            )
        return self._samples[first, last]

    def hidden(self, first: int, last: int) -> str | None:
        """Return why these days have no figure, and what to do, if too many answers are hidden from the viewer."""
        days = self._between(first, last)
        return (
            self._answers.hidden_sentence()
            if self._answers.hidden(days.stop - days.start)
            else None
        )

    def window(self, first: int, last: int) -> Window:
        """Return the strata of the answers from the day ``first`` to the day ``last``, both included."""
        if (first, last) not in self._windows:
            sample = self.sample(first, last)
            strata = tuple(stratum for stratum in sample.counts if stratum.answers)
            effect = sample.app_effect if len(sample.response_ids) else 1.0
            self._windows[first, last] = Window(strata, effect)
        return self._windows[first, last]

    def figure(self, watched: Watched, first: int, last: int) -> tuple[Estimate, float] | None:
        """Return a figure of the answers from the day ``first`` to the day ``last``, and its standard error for tests.

        The error takes each answer as an evidence group of its own. The figure is None if a stratum
        has no label, or if there is no answer.
        """
        if watched == "unusable":
            days = self._between(first, last)
            unusable = self._verdicts[days] == UNUSABLE
            if not len(unusable):
                return None
            whole = (Stratum(len(unusable), len(unusable), int(unusable.sum())),)
            effect = design_effect_of_mean(
                unusable, self._groups.at(np.arange(days.start, days.stop))
            )
            return rate(whole, "app", effect), rate_error(whole)
        if (first, last) not in self._gaps:
            rows = self._rows[self._between(first, last)]
            self._gaps[first, last] = not len(rows) or self._answers.has_gap(rows)
        if self._gaps[first, last]:
            return None
        sample, window = self.sample(first, last), self.window(first, last)
        if watched == "bad_share":
            return window.rate, rate_error(window.strata)
        counts = zip(
            sample.counts, sample.judged_by.tolist(), sample.judged_bad_by.tolist(), strict=True
        )
        judged_strata = [
            (Stratum(usable, each.labelled, each.bad), bad / usable)
            for each, usable, bad in counts
            if usable
        ]
        if not judged_strata:
            return None
        strata, shares = zip(*judged_strata, strict=True)
        return rate(strata, "app", window.design_effect, shares), rate_error(
            strata, judged_bad=shares
        )

    def change_effect(
        self, watched: Watched, periods: Sequence[tuple[int, int]], errors: Sequence[float]
    ) -> float:
        """Return `difference_effect` for a figure of these periods (first and last day) with these errors."""
        parts = [self._influences(watched, *period) for period in periods]
        days = [self._between(*period) for period in periods]
        numbers = np.repeat(np.arange(len(periods)), [len(each) for each in parts])
        rows = np.concatenate([np.arange(each.start, each.stop) for each in days])
        groups = replace(self._groups, codes=self._groups.codes[rows])
        return difference_effect(np.concatenate(parts), numbers, groups, np.asarray(errors) ** -2.0)

    def _influences(self, watched: Watched, first: int, last: int) -> FloatArray:
        """Return what each answer of these days adds to the error of a figure, in the order of the days."""
        days = self._between(first, last)
        verdicts = self._verdicts[days]
        if watched == "unusable":
            unusable = (verdicts == UNUSABLE).astype(np.float64)
            apart: FloatArray = (unusable - unusable.mean()) / len(unusable)
            return apart
        sample = self.sample(first, last)
        judged_bad = (verdicts == BAD).astype(np.float64) if watched == "judge_error" else None
        return influences(sample.stratum_of, sample.is_sampled, sample.labels.values, judged_bad)

    def badness(self, first: int, last: int) -> tuple[IntArray, FloatArray]:
        """Return the ids of the answers of these days, oldest first, and how bad each is: 0 to 1.

        The badness of a sampled answer is the label (1 bad). The badness of any other answer is the
        share of bad answers in the stratum. The mean is the corrected share. Each stratum has a
        label.
        """
        rows, sample = self._rows[self._between(first, last)], self.sample(first, last)
        shares = np.array([stratum.bad / max(stratum.labelled, 1) for stratum in sample.counts])
        badness = shares[sample.stratum_of]
        badness[sample.is_sampled] = sample.labels.values
        return self._answers.answers.response_ids[rows], badness

    def error_rates(self, since: int, first: int, last: int) -> ErrorRates:
        """Return the judge's rates from the day ``first`` to before ``since``, and from then to ``last``."""
        before, after = (
            weighted_agreement(sample.population, sample.labels, np.nan_to_num(sample.verdicts))
            for sample in (self.sample(first, since - 1), self.sample(since, last))
        )
        return ErrorRates(
            (before["sensitivity"], after["sensitivity"]),
            (before["specificity"], after["specificity"]),
        )

    def judge_share(self, first: int, last: int) -> float | None:
        """Return the share of bad answers according to the judge alone; None without a usable verdict."""
        verdicts = self._verdicts[self._between(first, last)]
        usable = int((verdicts != UNUSABLE).sum())
        return int((verdicts == BAD).sum()) / usable if usable else None

    def _between(self, first: int, last: int) -> slice:
        start, end = np.searchsorted(self.days, [first, last + 1]).tolist()
        return slice(start, end)


def dated_answers(
    connection: Connection, version: StoredVersion | None, now: datetime | None = None
) -> tuple[dict[str, DatedAnswers], tuple[LeftOut, ...]]:
    """Return the answers about which a judge version was asked: all answers, then the largest query type first.

    One query type alone is all answers. The second value counts the answers without a plausible
    date.
    """
    answers = labelled_answers(connection, version)
    names, days, plausible = (
        answers.answers.query_types,
        answers.answers.days,
        PlausibleDays.at(now),
    )
    left_out = tuple(without_date(counts_by_day(days), plausible))
    days = np.where(plausible.misdated(days), MISDATED, days)
    rows = {name: np.flatnonzero(names.codes == code) for code, name in enumerate(names.names)}
    types = sorted(
        (name for name in rows if len(rows[name])), key=lambda name: (-len(rows[name]), name)
    )
    parts = {ALL_ANSWERS: np.arange(len(days))} | (
        {name: rows[name] for name in types} if len(types) > 1 else {}
    )
    by_type = {name: DatedAnswers(answers, part, days[part]) for name, part in parts.items()}
    return by_type, left_out


def version_of(connection: Connection, judge: int | str | None) -> StoredVersion | None:
    """Return the version with an id, or the newest version of a judge (None: the primary judge) that has judged."""
    if isinstance(judge, int):
        return judging_version(connection, judge)
    return judging_version(connection, judge=judge)


@dataclass(frozen=True, slots=True)
class CorrectedPoint:
    """The corrected share of one period, or of several ``periods`` that were joined until each stratum had a label.

    ``start`` and ``end`` are UTC days since 1970-01-01, both included. ``judge_share`` is the share
    of bad answers according to the judge alone. ``z`` is the distance from all points before, in
    standard errors. ``rose`` and ``fell`` are the evidence of the two detectors after the point.
    ``z``, ``rose`` and ``fell`` are None if the period has not ended; ``z`` is also None for the
    first point.
    """

    start: int
    end: int
    periods: int
    share: Estimate
    judge_share: float | None
    strata: tuple[Stratum, ...]
    z: float | None
    rose: float | None
    fell: float | None
    where: RowFilter


@dataclass(frozen=True, slots=True)
class Monitor:
    """The two detectors of one figure of a query type, after the newest of the ``periods`` read so far.

    ``rose`` and ``fell`` are the evidence of the detectors; a detector raises an alarm if its
    evidence reaches ``limit``. A change of the size ``seen`` in the middle of the periods would
    have been found in 80 % of cases; None if no possible change would have been. For the judge's
    error, ``rates`` has one entry per change.
    """

    watched: Watched
    periods: int
    limit: float
    rose: float
    fell: float
    seen: float | None
    changes: tuple[Change, ...]
    rates: tuple[ErrorRates, ...] = ()


@dataclass(frozen=True, slots=True)
class CorrectedPanel:
    """The corrected shares of all answers or of one query type, and the monitors that have read a period.

    ``judge_shares`` are the shares of bad answers according to the judge alone, for each period
    (its first day) with a verdict. ``waiting`` periods have no point, because a stratum has no
    label, or because answers are ``hidden`` from the viewer (a sentence). Answers without a time
    are left out. The detectors of a figure with an ``acknowledged`` alarm begin with the period of
    the change.
    """

    query_type: str
    points: tuple[CorrectedPoint, ...]
    judge_shares: tuple[tuple[int, float], ...]
    waiting: int
    with_time: int
    without_time: int
    monitors: tuple[Monitor, ...]
    acknowledged: Mapping[str, Alarm]
    hidden: str | None = None

    def monitor(self) -> Monitor | None:
        """Return the monitor of the share of bad answers; None if the monitor has read no period."""
        return next((monitor for monitor in self.monitors if monitor.watched == "bad_share"), None)


@dataclass(frozen=True, slots=True)
class CorrectedTrend:
    """The panel of all answers, then of each query type, the largest first; ``judge`` is a version's title.

    ``left_out`` are the answers that no point counts. Without a judge, ``no_judge`` says why.
    """

    period: Period
    judge: str | None
    version_id: int | None
    panels: tuple[CorrectedPanel, ...]
    left_out: tuple[LeftOut, ...]
    no_judge: Note | None = None

    @property
    def monitors(self) -> list[tuple[str, Monitor]]:
        """All monitors with their query types."""
        return [(panel.query_type, each) for panel in self.panels for each in panel.monitors]

    @property
    def missing(self) -> Note:
        """Why the share of bad answers has no trend, and what to do."""
        hidden = next((panel.hidden for panel in self.panels if panel.hidden is not None), None)
        if hidden is not None:
            return note("hidden", why=hidden)
        if self.no_judge is not None:
            return self.no_judge
        without_time = [
            panel for panel in self.panels if panel.without_time and not panel.with_time
        ]
        return note("no_times" if without_time else "no_labels_over_time")

    @property
    def changes(self) -> Result:
        """The changes of the share of bad answers, with changes of the judge as caveats; or why there is no trend."""
        about = About(judges=(self.judge,) if self.judge else (), by="query_type")
        points = [point for panel in self.panels for point in panel.points]
        acknowledged = any("bad_share" in panel.acknowledged for panel in self.panels)
        if not (points and acknowledged) and all(point.z is None for point in points):
            return Result(about=about, headline=self.missing, rows=())
        starts = [point.start for point in points]
        span = counted((max(starts) - min(starts)) // PERIOD_DAYS[self.period] + 1, self.period)
        findings = []
        for panel in self.panels:
            monitor = panel.monitor()
            changes, smallest = ((), None) if monitor is None else (monitor.changes, monitor.seen)
            findings.append(
                Finding(panel.query_type, changes, smallest, panel.acknowledged.get("bad_share"))
            )
        result = changes_of(findings, BAD_SHARE, span, about)
        errors = [
            row
            for name, monitor in self.monitors
            for rates in monitor.rates[-1:]
            for row in rates.rows(ALL if name == ALL_ANSWERS else name)
        ]
        of_judge = [words for *_, words in judge_changes(self)]
        return replace(result, rows=(*result.rows, *errors), caveats=(*of_judge, *result.caveats))


def corrected_trend(
    connection: Connection,
    *,
    period: Period = "week",
    judge: int | str | None = None,
    since: int | None = None,
    now: datetime | None = None,
) -> CorrectedTrend:
    """Return the corrected share of bad answers per period, of all answers and of each query type, with its detectors.

    Each point is measured on the answers and sampled labels of its own periods alone. Answers
    before the UTC day ``since``, and without a plausible date (`PlausibleDays`), are left out.
    Detectors read only periods that have ended. After an acknowledged change, the detectors of the
    same figure and query type begin with the period of the change.
    """
    version = version_of(connection, judge)
    answers, left_out = dated_answers(connection, version, now)
    today = utc_day(now or utc_now())
    acknowledged = latest_acknowledged(list_alarms(connection))
    series = {name: _Series(each, period, since or 0) for name, each in answers.items()}
    limits = {
        watched: alarm_limits(
            (name for name, each in series.items() if each.spans[watched]), period
        )
        for watched in WATCHED
    }
    panels = []
    for name, each in series.items():
        alarms = {
            watched: seen_alarm.alarm
            for (watched, query_type), seen_alarm in acknowledged.items()
            if query_type == name
        }
        begins = {watched: alarm.from_day for watched, alarm in alarms.items()}
        read = {watched: _Read(each, watched, begins.get(watched, 0), today) for watched in WATCHED}
        monitors = [
            of_figure.monitor(limits[watched][name])
            for watched, of_figure in read.items()
            if of_figure.spans
        ]
        panels.append(_panel(name, each, read["bad_share"], monitors, alarms))
    if version is None:
        why = no_judge_note(connection, judge if isinstance(judge, str) else None)
        return CorrectedTrend(period, None, None, tuple(panels), left_out, why)
    return CorrectedTrend(period, version.title, version.id, tuple(panels), left_out)


def latest_acknowledged(alarms: Iterable[SeenAlarm]) -> dict[tuple[str, str], SeenAlarm]:
    """Return the acknowledged alarm with the latest change, by watched figure and query type."""
    acknowledged = (each for each in alarms if not each.is_open)
    by_change = sorted(acknowledged, key=lambda each: each.alarm.from_day)
    return {(each.alarm.measure, each.alarm.query_type): each for each in by_change}


@dataclass(frozen=True, slots=True)
class _Span:
    """One period, or several that were joined, with a figure and its standard error for tests.

    The error takes each answer as an evidence group of its own.
    """

    start: int
    end: int
    periods: int
    figure: Estimate
    error: float


class _Series:
    """The spans of a query type. ``waiting`` periods have no corrected share; ``hidden`` may say why."""

    def __init__(self, answers: DatedAnswers, period: Period, first_day: int) -> None:
        length = PERIOD_DAYS[period]
        first = max(start_of(first_day, period), 0)
        days = np.flatnonzero(np.bincount(answers.days[answers.days >= first]))
        starts = np.unique(start_of(days, period)).tolist()
        spans = {watched: _joined(answers, watched, starts, length) for watched in WATCHED}
        shares = ((start, answers.judge_share(start, start + length - 1)) for start in starts)
        self.answers = answers
        self.judge_shares = tuple((start, share) for start, share in shares if share is not None)
        self.spans = {watched: of_figure for watched, (of_figure, _) in spans.items()}
        self.waiting = spans["bad_share"][1]
        self.hidden = next(
            (why for start in starts if (why := answers.hidden(start, start + length - 1))), None
        )


def _joined(
    answers: DatedAnswers, watched: Watched, starts: Iterable[int], length: int
) -> tuple[list[_Span], int]:
    """Return the periods, joined until each stratum has a label, and the number of periods that have no figure.

    A period with enough labels of its own does not wait for earlier periods that lack labels.
    """
    spans, waiting, without_figure = list[_Span](), list[int](), 0
    for start in starts:
        waiting.append(start)
        end = start + length - 1
        joined_span, alone = _span(answers, watched, waiting[0], end, length), None
        if joined_span is None and len(waiting) > 1:
            alone = _span(answers, watched, start, end, length)
        if joined_span is not None or alone is not None:
            spans += [each for each in (joined_span, alone) if each is not None]
            without_figure += 0 if alone is None else len(waiting) - 1
            waiting = []
    return spans, without_figure + len(waiting)


def _span(
    answers: DatedAnswers, watched: Watched, start: int, end: int, length: int
) -> _Span | None:
    """Return the span of these days, None if a stratum has no label."""
    figure = answers.figure(watched, start, end)
    return None if figure is None else _Span(start, end, (end + 1 - start) // length, *figure)


class _Read:
    """The spans that the detectors of a figure have read, and the state of each detector after each span.

    ``rates`` are pairs of a figure and its standard error for tests. The errors count the evidence
    groups within a span, and the evidence groups that spans share.
    """

    def __init__(self, series: _Series, watched: Watched, begin: int, today: int) -> None:
        self.answers, self.watched = series.answers, watched
        self.spans = [
            span for span in series.spans[watched] if begin <= span.start and span.end < today
        ]
        errors = [span.error for span in self.spans]
        if self.spans:
            effect = self.answers.change_effect(
                watched, [(span.start, span.end) for span in self.spans], errors
            )
            errors = [error * math.sqrt(effect) for error in errors]
        values = (span.figure.value or 0.0 for span in self.spans)
        self.rates = list(zip(values, errors, strict=True))
        self.states = {direction: detect(self.rates, direction) for direction in DIRECTIONS}

    def monitor(self, limit: float) -> Monitor:
        """Return the two detectors of the figure, which raise an alarm at this evidence."""
        answers, watched, spans = self.answers, self.watched, self.spans
        changes, rates = list[Change](), list[ErrorRates]()
        for change in found_changes(self.states, limit):
            since = spans[likeliest_start(self.rates, change)].start
            before = answers.figure(watched, spans[0].start, since - 1)
            after = answers.figure(watched, since, spans[-1].end)
            if before is not None and after is not None:
                sides = before[0], after[0]
                changes.append(
                    Change(
                        change.direction, since, spans[change.seen].start, change.evidence, *sides
                    )
                )
                if watched == "judge_error":
                    rates.append(answers.error_rates(since, spans[0].start, spans[-1].end))
        shares = [value for value, _ in self.rates]
        if (
            watched == "judge_error"
        ):  # while the share of bad answers stays, the error moves as far as the judge's own share
            shares = [answers.judge_share(span.start, span.end) or 0.0 for span in spans]
        level = math.fsum(shares) / len(shares)
        return Monitor(
            watched,
            sum(span.periods for span in spans),
            limit,
            self.states["rose"][-1].evidence,
            self.states["fell"][-1].evidence,
            smallest_change([error for _, error in self.rates], limit, max(level, 1 - level)),
            tuple(changes),
            tuple(rates),
        )


def _panel(
    query_type: str,
    series: _Series,
    read: _Read,
    monitors: Iterable[Monitor],
    acknowledged: Mapping[str, Alarm],
) -> CorrectedPanel:
    rose, fell = (
        dict(zip((span.start for span in read.spans), read.states[direction], strict=True))
        for direction in DIRECTIONS
    )
    types = () if query_type == ALL_ANSWERS else (query_type,)
    points = []
    for span in series.spans["bad_share"]:
        state = rose.get(span.start)
        points.append(
            CorrectedPoint(
                span.start,
                span.end,
                span.periods,
                span.figure,
                series.answers.judge_share(span.start, span.end),
                series.answers.window(span.start, span.end).strata,
                z=None if state is None else state.z,
                rose=None if state is None else state.evidence,
                fell=None if state is None else fell[span.start].evidence,
                where=RowFilter(query_types=types, day_from=span.start, day_to=span.end),
            )
        )
    return CorrectedPanel(
        query_type,
        tuple(points),
        series.judge_shares,
        series.waiting,
        series.answers.with_time,
        series.answers.without_time,
        tuple(monitors),
        acknowledged,
        series.hidden,
    )


def alarm_words(alarm: Alarm) -> str:
    """Return the change of an alarm in words, with the rates at that time (`changed_words`)."""
    first, last = (
        points_words(measured(each, 0), sign=True)
        if alarm.measure == "judge_error"
        else percent(each)
        for each in (alarm.rate_before, alarm.rate_after)
    )
    where = "" if alarm.query_type == ALL_ANSWERS else f" in query type {alarm.query_type}"
    what = f"{WATCHED_WORDS[alarm.measure]}{where} {alarm.direction}"
    return f"The {what} about {day_words(alarm.from_day)}, from {first} to {last}."


def acknowledged_words(alarm: Alarm) -> str:
    """Return the change of an acknowledged alarm in words, with the number of the alarm."""
    return f"{alarm_words(alarm)[:-1]} (alarm {alarm.id}, acknowledged)."


def judge_changes(trend: CorrectedTrend) -> Iterator[tuple[Watched, Direction, str, Note]]:
    """Yield the changes of the judge's error and of unusable verdicts: figure, direction, query type and note."""
    for query_type, monitor in trend.monitors:
        for place, change in enumerate(monitor.changes):
            code = f"unusable_{change.direction}"
            if monitor.watched == "judge_error":
                code = error_code(monitor.rates[place])
            if monitor.watched != "bad_share":
                words = note(code, part=query_type, day=change.from_day)
                yield monitor.watched, change.direction, query_type, words


def error_code(rates: ErrorRates) -> str:
    """Return the code of a change of the judge's error: whether its sensitivity or specificity moved."""
    return "judge_errs_differently" if rates.have_moved else "judge_errs_alike"

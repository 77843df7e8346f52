"""The share of bad answers over time, corrected by sampled labels: points, changes between windows, and detectors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.samples import LabelledAnswers, SampledLabels, judging_version
from judgeboard.domain import Estimate
from judgeboard.errors import BadInput
from judgeboard.stats.arrays import AnyArray, IntArray
from judgeboard.stats.estimates import number_words, percent_words, two_decimals
from judgeboard.stats.monitor import Direction, Window, WindowChange, detect, smallest_change, window_change
from judgeboard.stats.paired import holm
from judgeboard.stats.rates import Stratum, design_effect
from judgeboard.store.alarms import Alarm, list_alarms
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.overview import asked_days
from judgeboard.text import day_words, utc_day
from judgeboard.trends import PERIOD_DAYS, Period, period_words, start_of

PERIODS_A_YEAR: Mapping[Period, int] = {"week": 52, "day": 365}
DIRECTIONS: tuple[Direction, ...] = ("rose", "fell")
NO_DAY = -1
TO_LABEL = (
    "Labels count if their answers were drawn at random: raise `random_share`, run `judgeboard flag`, and review the "
    "flags of the rule `random_sample`."
)
"""How to get labels for corrected shares."""


class TypeAnswers:
    """The answers of one query type by UTC day, with their sampled labels."""

    def __init__(self, labelled: LabelledAnswers, rows: IntArray, days: IntArray) -> None:
        """``rows`` are positions in ``labelled.answers``, ``days`` are their days (`NO_DAY`: no time)."""
        order = np.argsort(days, kind="stable")
        self._labelled, self._rows, self.days = labelled, rows[order], days[order]
        self.without_time = int((days == NO_DAY).sum())
        whole = self._sample(self._rows)
        self.design_effect = design_effect(whole.population, whole.labels) if len(whole.response_ids) else 1.0

    def __len__(self) -> int:
        return len(self._rows)

    def sample(self, first: int, last: int) -> SampledLabels:
        """Return the sampled labels of the answers from the day ``first`` to the day ``last``, both included."""
        start, end = np.searchsorted(self.days, [first, last + 1])
        return self._sample(self._rows[start:end])

    def window(self, first: int, last: int) -> Window:
        """Return the strata of the answers from the day ``first`` to the day ``last``, both included."""
        return self.window_of(self.sample(first, last))

    def window_of(self, sampled: SampledLabels) -> Window:
        """Return the strata of sampled labels, with the design effect of the query type."""
        return Window(tuple(stratum for stratum in sampled.counts if stratum.answers), self.design_effect)

    def _sample(self, rows: AnyArray) -> SampledLabels:
        inside = np.zeros(len(self._labelled.answers.response_ids), dtype=np.bool_)
        inside[rows] = True
        return self._labelled.sample(inside)


def answers_by_type(connection: Connection, version: StoredVersion | None) -> dict[str, TypeAnswers]:
    """Return the answers that a judge version was asked about, the query type with most answers first."""
    labelled = LabelledAnswers(connection, version)
    ids, names = labelled.answers.response_ids, labelled.answers.query_types
    known, known_days = asked_days(connection)
    days = known_days[np.searchsorted(known, ids)]
    rows = {name: np.flatnonzero(names.codes == code) for code, name in enumerate(names.names)}
    ordered = sorted(rows, key=lambda name: (-len(rows[name]), name))
    return {name: TypeAnswers(labelled, rows[name], days[rows[name]]) for name in ordered if len(rows[name])}


def _version(connection: Connection, judge: int | str | None) -> StoredVersion | None:
    """Return the version with an id, or the newest version of a judge (None: the primary judge) that has judged."""
    if isinstance(judge, int):
        return judging_version(connection, judge)
    return judging_version(connection, judge=judge)


@dataclass(frozen=True, slots=True)
class CorrectedPoint:
    """The corrected share of one period, or of several ``periods`` that were joined until each stratum had a label.

    ``start`` and ``end`` are UTC days since 1970-01-01, both included. ``judge_share`` is the share of bad answers
    according to the judge alone. ``z`` is the distance from all points before, in standard errors. ``rose`` and
    ``fell`` are the evidence of the two detectors after the point. All three are None if the period has not ended;
    ``z`` is also None for the first point.
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
class Change:
    """A change that a detector found, dated to the period that starts on ``from_day``.

    The detector's evidence reached its limit in the period that starts on ``seen_day``. ``before`` and ``after`` are
    the shares before the change and since it.
    """

    direction: Direction
    from_day: int
    seen_day: int
    evidence: float
    before: Estimate
    after: Estimate


@dataclass(frozen=True, slots=True)
class CorrectedPanel:
    """The corrected shares of one query type.

    ``waiting`` is the number of periods that have no point, because a stratum has no label. A change of the
    size ``seen`` in the middle of the periods would have been found in 80 % of cases; None with fewer than two points.
    """

    query_type: str
    points: tuple[CorrectedPoint, ...]
    waiting: int
    without_time: int
    design_effect: float
    seen: float | None
    changes: tuple[Change, ...]

    @property
    def watched(self) -> tuple[CorrectedPoint, ...]:
        """The points that the detectors have read."""
        return tuple(point for point in self.points if point.rose is not None)


@dataclass(frozen=True, slots=True)
class CorrectedTrend:
    """The panels of all query types, the type with most answers first; ``judge`` is a version's title.

    A detector raises an alarm if its evidence reaches ``limit``.
    """

    period: Period
    judge: str | None
    version_id: int | None
    limit: float
    panels: tuple[CorrectedPanel, ...]

    @property
    def detectors(self) -> int:
        """The number of detectors: two for each query type with a point."""
        return len(DIRECTIONS) * sum(bool(panel.points) for panel in self.panels)


def corrected_trend(
    connection: Connection,
    *,
    period: Period = "week",
    judge: int | str | None = None,
    since: int | None = None,
    now: datetime | None = None,
) -> CorrectedTrend:
    """Return the corrected share of bad answers per query type and period, with its detectors.

    Each point is measured on the answers and sampled labels of its own periods; nothing is borrowed from other periods.
    Answers before the UTC day ``since`` are left out. Detectors read only periods that have ended. If a change was
    acknowledged, the detectors of its query type begin with the period of the change.
    """
    version = _version(connection, judge)
    answers = answers_by_type(connection, version)
    today = utc_day(now or datetime.now(UTC))
    spans = {name: _joined(each, period, since or 0) for name, each in answers.items()}
    # On average at most one false alarm a year for all detectors together.
    limit = float(len(DIRECTIONS) * max(sum(bool(each) for each, _ in spans.values()), 1) * PERIODS_A_YEAR[period])
    starts = reference_starts(list_alarms(connection))
    panels = (_panel(name, each, *spans[name], limit, starts.get(name, 0), today) for name, each in answers.items())
    title, id_ = (None, None) if version is None else (version.title, version.id)
    return CorrectedTrend(period, title, id_, limit, tuple(panels))


def reference_starts(alarms: Iterable[Alarm]) -> dict[str, int]:
    """Return the day of the latest acknowledged change of each query type."""
    starts: dict[str, int] = {}
    for alarm in alarms:
        if not alarm.is_open:
            starts[alarm.query_type] = max(alarm.from_day, starts.get(alarm.query_type, alarm.from_day))
    return starts


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    periods: int
    window: Window
    judge_share: float | None


def _joined(answers: TypeAnswers, period: Period, first_day: int) -> tuple[list[_Span], int]:
    """Return the periods, joined until each stratum has a label, and the number of periods that have no point.

    A period with enough labels of its own does not wait for periods before it that lack labels.
    """
    length = PERIOD_DAYS[period]
    days = answers.days[answers.days >= max(start_of(first_day, period), 0)]
    spans, waiting, left = list[_Span](), list[int](), 0
    for start in np.unique(start_of(days, period)).tolist():
        waiting.append(start)
        end = start + length - 1
        joined, alone = _span(answers, waiting[0], end, length), None
        if joined is None and len(waiting) > 1:
            alone = _span(answers, start, end, length)
        if joined is not None or alone is not None:
            spans += [each for each in (joined, alone) if each is not None]
            left += 0 if alone is None else len(waiting) - 1
            waiting = []
    return spans, left + len(waiting)


def _span(answers: TypeAnswers, start: int, end: int, length: int) -> _Span | None:
    """Return the span of these days, None if a stratum has no label."""
    sampled = answers.sample(start, end)
    window = answers.window_of(sampled)
    if any(not stratum.labelled for stratum in window.strata):
        return None
    judge_share = sampled.judged_bad / sampled.judged if sampled.judged else None
    return _Span(start, end, (end + 1 - start) // length, window, judge_share)


def _panel(
    query_type: str, answers: TypeAnswers, spans: Sequence[_Span], waiting: int, limit: float, begin: int, today: int
) -> CorrectedPanel:
    points = [_point(query_type, span) for span in spans]
    places = [place for place, span in enumerate(spans) if begin <= span.start and span.end < today]
    watched = [spans[place] for place in places]
    rates = [(points[place].share.value or 0.0, spans[place].window.error) for place in places]
    states = {direction: detect(rates, direction) for direction in DIRECTIONS}
    changes = list[Change]()
    for direction, found in states.items():
        at = next((number for number, state in enumerate(found) if state.evidence >= limit), None)
        if at is not None:
            since = watched[found[at].since + 1].start
            before, after = answers.window(watched[0].start, since - 1), answers.window(since, watched[-1].end)
            changes.append(Change(direction, since, watched[at].start, found[at].evidence, before.rate, after.rate))
    for place, rose, fell in zip(places, states["rose"], states["fell"], strict=True):
        points[place] = replace(points[place], z=rose.z, rose=rose.evidence, fell=fell.evidence)
    return CorrectedPanel(
        query_type,
        tuple(points),
        waiting,
        answers.without_time,
        answers.design_effect,
        smallest_change([error for _, error in rates], limit),
        tuple(changes),
    )


def _point(query_type: str, span: _Span) -> CorrectedPoint:
    where = RowFilter(query_types=(query_type,), day_from=span.start, day_to=span.end)
    window, states = span.window, dict.fromkeys(("z", "rose", "fell"))
    return CorrectedPoint(
        span.start, span.end, span.periods, window.rate, span.judge_share, window.strata, where=where, **states
    )


def change_sentence(query_type: str, change: Change, period: Period) -> str:
    """Return for example "The share of bad answers of QA rose in the week of 2 Mar 2026, from 26 % … to 58 % …."."""
    when = f"{'in' if period == 'week' else 'on'} {period_words(change.from_day, period, year=True)}"
    shares = f"from {percent_words(change.before)} to {percent_words(change.after)}"
    return f"The share of bad answers of {query_type} {change.direction} {when}, {shares}."


def corrected_sentence(trend: CorrectedTrend) -> str:
    """Return sentences about the changes that the detectors found, or about the changes that they would have found."""
    watched = [panel for panel in trend.panels if panel.seen is not None]
    sentences = [
        change_sentence(panel.query_type, change, trend.period) for panel in watched for change in panel.changes
    ]
    still = [panel.seen for panel in watched if not panel.changes and panel.seen is not None]
    if not watched:
        sentences.append(f"No query type has sampled labels in two {trend.period}s that have ended. {TO_LABEL}")
    elif still:
        others = "No other change" if sentences else "No change"
        sentences.append(f"{others} that these labels can show; {_seen_words(max(still))}.")
    return " ".join(sentences)


def _seen_words(seen: float) -> str:
    if seen >= 1:
        return "they are too few to show any change"
    return f"a change of {two_decimals(seen)} would have been seen"


@dataclass(frozen=True, slots=True)
class WindowLine:
    """The shares of a query type in two windows, and their change; ``p`` is corrected by Holm's method."""

    query_type: str
    before: Estimate
    after: Estimate
    change: WindowChange
    p: float | None


@dataclass(frozen=True, slots=True)
class WindowComparison:
    """Two windows (first and last UTC day since 1970-01-01), and a line for each query type."""

    judge: str | None
    before: tuple[int, int]
    after: tuple[int, int]
    lines: tuple[WindowLine, ...]


def compare_windows(
    connection: Connection, before: tuple[int, int], after: tuple[int, int], *, judge: int | str | None = None
) -> WindowComparison:
    """Compare the corrected shares of two windows of UTC days, per query type.

    Raises:
        BadInput: A window ends before it begins, or the second does not begin after the end of the first.
    """
    for first, last in (before, after):
        if last < first:
            raise BadInput(f"the window from {day_words(first)} to {day_words(last)} ends before it begins")
    if after[0] <= before[1]:
        raise BadInput("the second window must begin after the end of the first")
    version = _version(connection, judge)
    lines = []
    for name, answers in answers_by_type(connection, version).items():
        first_window, second_window = answers.window(*before), answers.window(*after)
        change = window_change(first_window, second_window)
        lines.append(WindowLine(name, first_window.rate, second_window.rate, change, change.p))
    tested = [line for line in lines if line.p is not None]
    corrected = dict(zip((line.query_type for line in tested), holm([line.p or 0.0 for line in tested]), strict=True))
    return WindowComparison(
        None if version is None else version.title,
        before,
        after,
        tuple(replace(line, p=corrected.get(line.query_type)) for line in lines),
    )


def window_sentence(line: WindowLine) -> str:
    """Return whether a share rose or fell between two windows, or which change would have been seen."""
    change = line.change
    if change.change.value is None or change.seen is None or line.p is None:
        return f"{line.query_type}: not available ({change.change.reason})."
    if line.p < 0.05:
        verb = "rose" if change.change.value > 0 else "fell"
        shares = f"from {percent_words(line.before)} to {percent_words(line.after)}"
        return (
            f"{line.query_type}: the share of bad answers {verb} {shares}, by {number_words(change.change, sign=True)}."
        )
    return f"{line.query_type}: no change that these labels can show; {_seen_words(change.seen)}."

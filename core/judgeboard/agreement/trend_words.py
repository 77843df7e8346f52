"""Sentences about trends: what changed in all answers, which groups differ, and what would have been seen."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple

from judgeboard.domain import Estimate
from judgeboard.stats.estimates import number_words, percent_words, two_decimals
from judgeboard.text import counted, day_words
from judgeboard.trends import (
    ALL_ANSWERS,
    CLEAR,
    MEASURES,
    PERIOD_DAYS,
    Change,
    Measure,
    Panel,
    Period,
    Trend,
    VersionMark,
)

_MOST_CHANGES = 3  # sentences about groups
_MOST_NAMES = 4
_COUNTED = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")

WOULD_HAVE_BEEN_SEEN = (
    '"Would have been seen": a change of this size, in the middle of the periods, is found in 80 % of cases.'
)


def period_words(start: int, period: Period, *, year: bool = False) -> str:
    """Return "the week of 2 Mar" or "2 Mar"."""
    return f"{'the week of ' if period == 'week' else ''}{day_words(start, year=year)}"


@dataclass(frozen=True, slots=True)
class Figure:
    """What a trend shows: a figure with its ``name`` ("the share of bad answers"), from ``counts`` ("labels").

    ``scale`` is the length of its scale. Changes of a ``share`` are in points, of other figures in their own unit.
    """

    name: str
    counts: str
    scale: float = 1.0
    share: bool = True

    def size(self, change: float) -> str:
        """Return "15 points" or "0.15"."""
        return counted(math.ceil(change * 100), "point") if self.share else two_decimals(change)

    def is_clear(self, seen: float | None) -> bool:
        """Return whether "no clear change" may be said: whether a change of 15 % of the scale would have been seen."""
        return seen is not None and seen <= CLEAR * self.scale

    def unchanged(self, name: str, seen: float | None, span: str) -> str:
        """Return "All answers: no clear change of groundedness in these 3 weeks; …", or that the data are too few."""
        if seen is not None and self.is_clear(seen):
            return f"{name}: no clear change of {self.name} {span}; a change of {self.size(seen)} would have been seen."
        few = f"{name}: too few {self.counts} to show a change of {self.name} {span}"
        if seen is None or seen >= self.scale:
            return f"{few}."
        return f"{few}; only {self.size(seen)} or more would have been seen."


class Finding(NamedTuple):
    """The changes that the detectors of a panel found, and the smallest change that they would have found."""

    panel: str
    changes: Sequence[Change] = ()
    seen: float | None = None


def trend_sentence(trend: Trend) -> str:
    """Return sentences about the changes that a detector found, or say that nothing changed."""
    drawn = [panel for panel in trend.panels if panel.points]
    if not drawn:
        timeless = sum(panel.without_time for panel in trend.panels if panel.group == ALL_ANSWERS)
        if timeless:
            none = "The only answer has no time" if timeless == 1 else f"None of these {timeless:,} answers has a time"
            return f"{none}. To import a column of times: `--map YOURS=asked_at`"
        if trend.judge is None:
            return "No answer is judged yet. Judge them: `judgeboard judge --judge lexical`"
        return f"{trend.judge} gave no {'quality' if trend.measure == 'quality' else 'groundedness'} to any answer."
    figure = _figure(MEASURES[trend.measure])
    starts = [point.start for panel in drawn for point in panel.points]

    def changed(group: str, change: Change) -> str:
        when = when_words(change.from_day, trend.period, year=_several_years(starts))
        before, after = map(percent_words if figure.share else number_words, (change.before, change.after))
        return f"{group}: {figure.name} {change.direction} {when}, from {before} to {after}."

    findings = [Finding(panel.group, () if panel.change is None else (panel.change,), panel.seen) for panel in drawn]
    sentences = [*findings_words(findings, changed, figure, f"in {span_words(starts, trend.period)}")]
    changes = [change for finding in findings for change in finding.changes]
    if changes and trend.marks:
        sentences.append(_mark_words(changes[0], trend.marks, trend.period))
    return " ".join(sentences)


def _figure(measure: Measure) -> Figure:
    name = f"{measure.title[0].lower()}{measure.title[1:]}"
    share = measure.bounds is None
    return Figure(f"the {name}" if share else name, "answers", measure.span, share)


def findings_words(
    findings: Sequence[Finding], changed: Callable[[str, Change], str], figure: Figure, span: str
) -> Iterator[str]:
    """Yield a sentence on all answers (the first finding), then on groups that differ, then on groups that are small.

    ``changed`` puts a change of a panel in words. ``span`` are the periods ("in these 3 weeks").
    """
    whole, *groups = findings
    if not whole.changes:
        yield figure.unchanged(whole.panel, whole.seen, span)
    yield from changes_words(findings, changed)
    still = [group for group in groups if not group.changes]
    if whole.changes and (clear := [group for group in still if figure.is_clear(group.seen)]):
        yield f"No clear change in {_sized(clear, figure, '')}."
    if small := [group for group in still if not figure.is_clear(group.seen)]:
        yield f"Too few {figure.counts} to tell for {_sized(small, figure, ' or more')}."


def changes_words(findings: Sequence[Finding], changed: Callable[[str, Change], str]) -> Iterator[str]:
    """Yield the changes of all answers (the first finding), then those of the groups that differ from them."""
    whole, *groups = findings
    yield from (changed(whole.panel, change) for change in whole.changes)
    differing = [
        (group.panel, change) for group in groups for change in group.changes if _differs(change, whole.changes)
    ]
    yield from (changed(*each) for each in differing[:_MOST_CHANGES])
    shown = {panel for panel, _ in differing[:_MOST_CHANGES]}
    if more := len({panel for panel, _ in differing} - shown):
        yield f"{_counted(more).capitalize()} more {'group' if more == 1 else 'groups'} changed."


def _differs(change: Change, of_whole: Sequence[Change]) -> bool:
    """Return whether a change has another direction than those of all answers, or is clearly larger.

    It is clearly larger if the intervals of the two changes have no value in common.
    """
    alike = [each for each in of_whole if each.direction == change.direction]
    least, _ = _extent(change)
    return all(least > most for _, most in map(_extent, alike))


def _extent(change: Change) -> tuple[float, float]:
    """Return the interval of the size of a change, by the MOVER; a side without an interval counts as exact."""
    low, high = (change.before, change.after) if change.direction == "rose" else (change.after, change.before)
    (low_from, low_value, low_to), (high_from, high_value, high_to) = map(_ends, (low, high))
    size = high_value - low_value
    return (
        size - math.hypot(high_value - high_from, low_to - low_value),
        size + math.hypot(high_to - high_value, low_value - low_from),
    )


def _ends(side: Estimate) -> tuple[float, float, float]:
    value = side.value or 0.0
    return (value, value, value) if side.low is None or side.high is None else (side.low, value, side.high)


def _sized(groups: Sequence[Finding], figure: Figure, more: str) -> str:
    """Return "sql (47 points or more would have been seen), table (50 points or more) and rare"."""
    sizes = sorted(
        (group.seen, group.panel) for group in groups if group.seen is not None and group.seen < figure.scale
    )
    if len(groups) > _MOST_NAMES:
        if not sizes:
            return f"{len(groups)} groups"
        least, most = (figure.size(seen) for seen, _ in (sizes[0], sizes[-1]))
        between = least if least == most else f"{least.split()[0]} to {most}"
        some = f" in {len(sizes)} of them" if len(sizes) < len(groups) else ""
        return f"{len(groups)} groups ({between}{more} would have been seen{some})"
    names = [f"{panel} ({figure.size(seen)}{more})" for seen, panel in sizes]
    if names:
        names[0] = f"{names[0][:-1]} would have been seen)"
    known = {panel for _, panel in sizes}
    names += [group.panel for group in groups if group.panel not in known]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def panel_caption(panel: Panel, trend: Trend) -> str:
    """Return for example "336 answers judged, 18 to 44 per week. No judged answers in the week of 9 Feb."."""
    if not panel.points:
        return "These answers have no time." if panel.without_time else "No answers."
    sizes = [point.estimate.n for point in panel.points]
    each = f"{min(sizes):,}" if min(sizes) == max(sizes) else f"{min(sizes):,} to {max(sizes):,}"
    counts = MEASURES[trend.measure].counts
    words = counts.replace("answers", "answer") if panel.n == 1 else counts
    caption = f"{panel.n:,} {words}, {each} per {trend.period}."
    if not panel.empty:
        return caption
    year = _several_years([point.start for point in panel.points])
    none = "No judged answers" if MEASURES[trend.measure].of_judge else "No answers"
    if len(panel.empty) == 1:
        return f"{caption} {none} {when_words(panel.empty[0], trend.period, year=year)}."
    return f"{caption} {none} in {len(panel.empty)} other {trend.period}s."


def _mark_words(change: Change, marks: Sequence[VersionMark], period: Period) -> str:
    """Return when the nearest change of the judge version happened. The sentence claims no cause, only the time."""
    nearest = min(marks, key=lambda mark: abs(mark.start - change.from_day))
    apart = (nearest.start - change.from_day) // PERIOD_DAYS[period]
    if apart == 0:
        return f"The judge version changed in that {period}, to {nearest.title}."
    count = f"{_counted(abs(apart))} {period}{'' if abs(apart) == 1 else 's'}"
    return f"The judge version changed {count} {'before' if apart < 0 else 'after'}, not in that {period}."


def span_words(starts: Sequence[int], period: Period) -> str:
    """Return "these 10 weeks"."""
    periods = (max(starts) - min(starts)) // PERIOD_DAYS[period] + 1
    return f"this {period}" if periods == 1 else f"these {periods:,} {period}s"


def when_words(start: int, period: Period, *, year: bool) -> str:
    """Return "in the week of 2 Mar" or "on 2 Mar"."""
    return f"{'in' if period == 'week' else 'on'} {period_words(start, period, year=year)}"


def _several_years(starts: Sequence[int]) -> bool:
    years = {(date(1970, 1, 1) + timedelta(days=start)).year for start in starts}
    return len(years) > 1


def _counted(n: int) -> str:
    return _COUNTED[n] if n < len(_COUNTED) else f"{n:,}"

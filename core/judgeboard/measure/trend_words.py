"""Sentences about trends: what changed in all answers, which groups differ, and which changes would have been found."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from judgeboard.domain import Estimate
from judgeboard.measure.periods import PERIOD_DAYS, Period
from judgeboard.measure.trend import CLEAR, WRONG_DATES, LeftOut, Panel, Trend, VersionMark
from judgeboard.measure.trend_figures import ALL_ANSWERS, Change, Measure
from judgeboard.stats.estimates import number_words, percent_words, two_decimals
from judgeboard.text import counted, day_words, listed_words

_TO_LABEL = (
    "Labels count if their answers were drawn at random: raise `random_share`, run `judgeboard flags apply`, and "
    "review the flags of the rule `random_sample`."
)
_MOST_CHANGES = 3  # sentences about groups
_MOST_NAMES = 4
_COUNTED = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")

WOULD_HAVE_BEEN_FOUND = "would have been found"


def period_words(start: int, period: Period) -> str:
    """Return "the week of 2 Mar 2026" or "2 Mar 2026"."""
    return f"{'the week of ' if period == 'week' else ''}{day_words(start)}"


def about_words(start: int, period: Period) -> str:
    """Return "in about the week of 2 Mar 2026" or "on about 2 Mar 2026": the time of a change is an estimate."""
    return f"{'in' if period == 'week' else 'on'} about {period_words(start, period)}"


def power_words(period: Period) -> str:
    """Return how often, and until when, a change of the smallest detectable size is found (`smallest_change`)."""
    return f"a change of this size that began in the middle {period} is found by the last {period} in 8 of 10 cases"


def found_note(sentences: str, period: Period) -> str | None:
    """Return what "would have been found" means; None if the sentences do not use it."""
    return f'"Would have been found": {power_words(period)}.' if WOULD_HAVE_BEEN_FOUND in sentences else None


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
        """Return whether "no clear change" may be said: whether a change of 15 % of the scale would have been found."""
        return seen is not None and seen <= CLEAR * self.scale

    def _limit(self, seen: float) -> str:
        return f"a change of {self.size(seen)} or more {WOULD_HAVE_BEEN_FOUND}"

    def unchanged(self, name: str, seen: float | None, span: str) -> str:
        """Return "All answers: no clear change of groundedness in these 3 weeks. …", or that the data are too few."""
        if seen is None:
            return f"{name}: too few {self.counts} to find any change of {self.name} {span}."
        limit = self._limit(seen)
        if self.is_clear(seen):
            return f"{name}: no clear change of {self.name} {span}. {limit[0].upper()}{limit[1:]}."
        return f"{name}: too few {self.counts} to tell whether {self.name} changed {span}. Only {limit}."

    def unchanged_since(self, periods: int, period: Period, seen: float | None) -> str:
        """Return "In the 11 weeks since then: no clear change; …", or that the data are too few.

        ``periods`` are those that the detectors have read since an acknowledged change.
        """
        if not periods:
            return f"No {period} with {self.counts} has ended since then."
        since = f"In the {period if periods == 1 else f'{periods:,} {period}s'} since then"
        if seen is None:
            return f"{since}: too few {self.counts} to find any change."
        limit = self._limit(seen)
        if self.is_clear(seen):
            return f"{since}: no clear change; {limit}."
        return f"{since}: too few {self.counts} to tell; only {limit}."


class Finding(NamedTuple):
    """The changes that the detectors of a panel found, and the smallest change that they would have found.

    ``seen`` is None if they would have found no possible change. Both are of the time since a ``known`` change (a
    sentence), with which the detectors begin.
    """

    panel: str
    changes: Sequence[Change] = ()
    seen: float | None = None
    known: str | None = None

    @property
    def changed(self) -> bool:
        """Whether there is a change, known or new."""
        return bool(self.changes) or self.known is not None


def trend_sentence(trend: Trend) -> str:
    """Return sentences about the changes that a detector found, or say that nothing changed."""
    drawn = [panel for panel in trend.panels if panel.points]
    if not drawn:
        timeless = sum(panel.without_time for panel in trend.panels if panel.group == ALL_ANSWERS)
        if timeless:
            return no_time_words(timeless)
        if misdated := misdated_words(trend.left_out):
            return f"No answer has a plausible date: {' '.join(misdated)}"
        if trend.own_label is not None:
            return f"No answer has the own label {trend.own_label.field} yet."
        if trend.judge is None:
            return "No answer is judged yet. Judge them: `judgeboard judge --judge lexical`"
        score = trend.of_measure.score
        named = f"a {score}" if isinstance(score, str) else f"a score of {score.name}"
        return f"No answer has {named} from the judge {trend.judge}."
    figure = _figure(trend.of_measure)
    starts = [point.start for panel in drawn for point in panel.points]

    def changed(group: str, change: Change) -> str:
        before, after = map(percent_words if figure.share else number_words, (change.before, change.after))
        when = about_words(change.from_day, trend.period)
        return f"{group}: {figure.name} {change.direction} {when}, from {before} to {after}."

    findings = [Finding(panel.group, () if panel.change is None else (panel.change,), panel.seen) for panel in drawn]
    sentences = [*findings_words(findings, changed, figure, f"in {span_words(starts, trend.period)}")]
    changes = [change for finding in findings for change in finding.changes]
    if changes and trend.marks:
        sentences.append(_mark_words(changes[0], trend.marks, trend.period))
    return " ".join(sentences)


def no_time_words(answers: int, so: str = "") -> str:
    """Return that none of these ``answers`` has a time, ``so`` what follows from it, and how to import times."""
    none = "The only answer has no time" if answers == 1 else f"None of these {answers:,} answers has a time"
    return f"{none}{so}. To import a column of times: `--map YOURS=asked_at`"


def timeless_words(answers: int) -> str:
    """Return "48 answers have no time and are left out."."""
    return f"{counted(answers, 'answer')} {'has no time and is' if answers == 1 else 'have no time and are'} left out."


def misdated_words(left_out: Iterable[LeftOut]) -> list[str]:
    """Return "1 answer dated before 2002 is left out." and the like; answers without a time are not misdated."""
    return [
        f"{counted(each.n, 'answer')} {WRONG_DATES[each.reason]} {'is' if each.n == 1 else 'are'} left out."
        for each in left_out
        if each.reason in WRONG_DATES
    ]


def missing_words(missing: str, with_time: int, without_time: int) -> str:
    """Return what is ``missing`` and how to get it: times, or labels of answers that have a time."""
    if without_time and not with_time:
        return no_time_words(without_time, ", so they are left out, and more labels do not help")
    if not without_time:
        return f"{missing} {_TO_LABEL}"
    return f"{missing} {_TO_LABEL} {timeless_words(without_time)} Labels of these do not help."


def source_words(trend: Trend) -> str | None:
    """Return whose verdicts a trend shows; None if it shows no verdicts."""
    drawn = any(panel.points for panel in trend.panels)
    if not drawn or trend.judge is None or not trend.of_measure.of_judge:
        return None
    figure = trend.of_measure.name
    return f"These figures of {figure} come from the judge “{trend.judge}” only, and are not corrected by labels."


def _figure(measure: Measure) -> Figure:
    name = f"the {measure.name}" if measure.is_share else measure.name
    return Figure(name, "answers", measure.span, measure.is_share)


def findings_words(
    findings: Sequence[Finding], changed: Callable[[str, Change], str], figure: Figure, span: str
) -> Iterator[str]:
    """Yield a sentence on all answers (the first finding), then on groups that differ, then on groups that are small.

    ``changed`` puts a change of a panel in words. ``span`` are the periods ("in these 3 weeks").
    """
    whole, *groups = findings
    if not whole.changed:
        yield figure.unchanged(whole.panel, whole.seen, span)
    yield from changes_words(findings, changed)
    still = [group for group in groups if not group.changed]
    if whole.changed and (clear := [group for group in still if figure.is_clear(group.seen)]):
        yield f"No clear change in {_names(clear)}: {_sizes(clear, figure)}."
    if small := [group for group in still if group.seen is not None and not figure.is_clear(group.seen)]:
        yield f"Too few {figure.counts} to tell for {_names(small)}: only {_sizes(small, figure)}."
    if none := [group for group in still if group.seen is None]:
        yield f"Too few {figure.counts} to find any change in {_names(none)}."


def changes_words(findings: Sequence[Finding], changed: Callable[[str, Change], str]) -> Iterator[str]:
    """Yield the changes of all answers (the first finding), then those of the groups that differ from them.

    The known change of a group always counts as different, because its alarm has no intervals to compare.
    """
    whole, *groups = findings
    if whole.known is not None:
        yield whole.known
    yield from (changed(whole.panel, change) for change in whole.changes)
    differing = [
        (group.panel, changed(group.panel, change))
        for group in groups
        for change in group.changes
        if _differs(change, whole.changes)
    ]
    differing += [(group.panel, group.known) for group in groups if group.known is not None]
    yield from (sentence for _, sentence in differing[:_MOST_CHANGES])
    shown = {panel for panel, _ in differing[:_MOST_CHANGES]}
    if more := len({panel for panel, _ in differing} - shown):
        yield f"{_counted(more).capitalize()} more {'group' if more == 1 else 'groups'} changed."


def _differs(change: Change, of_whole: Sequence[Change]) -> bool:
    """Return whether a change has another direction than those of all answers, or is clearly larger.

    It is clearly larger if the intervals of the two changes have no value in common.
    """
    alike = [each for each in of_whole if each.direction == change.direction]
    least, _ = extent(change)
    return all(least > most for _, most in map(extent, alike))


def extent(change: Change) -> tuple[float, float]:
    """Return the 95 % interval of the size of a change, by the MOVER; a side without an interval counts as exact."""
    low, high = (change.before, change.after) if change.direction == "rose" else (change.after, change.before)
    (low_from, low_value, low_to), (high_from, high_value, high_to) = map(ends_or_value, (low, high))
    size = high_value - low_value
    return (
        size - math.hypot(high_value - high_from, low_to - low_value),
        size + math.hypot(high_to - high_value, low_value - low_from),
    )


def ends_or_value(side: Estimate) -> tuple[float, float, float]:
    """Return the lower end, the value and the upper end; without an interval, each of them is the value."""
    value = side.value or 0.0
    return (value, value, value) if side.low is None or side.high is None else (side.low, value, side.high)


def _names(groups: Sequence[Finding]) -> str:
    """Return "sql, table and rare" in the order of `_sizes`, or "7 groups"."""
    if len(groups) > _MOST_NAMES:
        return f"{len(groups)} groups"
    return listed_words([group.panel for group in sorted(groups, key=_by_size)])


def _sizes(groups: Sequence[Finding], figure: Figure) -> str:
    """Return "a change of 47 points or more in sql and of 50 points or more in table would have been found"."""
    sizes = [(figure.size(group.seen), group.panel) for group in sorted(groups, key=_by_size) if group.seen is not None]
    least, most = sizes[0][0], sizes[-1][0]
    if len(sizes) == 1:
        change = f"a change of {least} or more"
    elif least == most:
        change = f"a change of {least} or more in each"
    elif len(sizes) > _MOST_NAMES:
        change = f"a change of {least.split()[0]} to {most} or more, depending on the group,"
    else:
        change = f"a change {listed_words([f'of {size} or more in {panel}' for size, panel in sizes])}"
    return f"{change} {WOULD_HAVE_BEEN_FOUND}"


def _by_size(group: Finding) -> tuple[float, str]:
    return math.inf if group.seen is None else group.seen, group.panel


def panel_caption(panel: Panel, trend: Trend) -> str:
    """Return for example "336 answers judged, 18 to 44 per week. No judged answers in the week of 9 Feb 2026."."""
    if not panel.points:
        return "These answers have no time." if panel.without_time else "No answers."
    sizes = [point.estimate.n for point in panel.points]
    each = f"{min(sizes):,}" if min(sizes) == max(sizes) else f"{min(sizes):,} to {max(sizes):,}"
    counts = trend.of_measure.counts
    words = counts.replace("answers", "answer") if panel.n == 1 else counts
    caption = f"{panel.n:,} {words}, {each} per {trend.period}."
    if not panel.empty:
        return caption
    none = "No judged answers" if trend.of_measure.of_judge else "No answers"
    if len(panel.empty) == 1:
        when = f"{'in' if trend.period == 'week' else 'on'} {period_words(panel.empty[0], trend.period)}"
        return f"{caption} {none} {when}."
    return f"{caption} {none} in {len(panel.empty)} other {trend.period}s."


def _mark_words(change: Change, marks: Sequence[VersionMark], period: Period) -> str:
    """Return when the nearest change of the judge version happened. The sentence claims no cause, only the time."""
    nearest = min(marks, key=lambda mark: abs(mark.start - change.from_day))
    apart = (nearest.start - change.from_day) // PERIOD_DAYS[period]
    if apart == 0:
        return f"The judge version changed in the same {period}, to {nearest.title}."
    count = f"{_counted(abs(apart))} {period}{'' if abs(apart) == 1 else 's'}"
    when = "earlier" if apart < 0 else "later"
    return f"The nearest change of the judge version was {count} {when}, to {nearest.title}."


def span_words(starts: Sequence[int], period: Period) -> str:
    """Return "these 10 weeks"."""
    periods = (max(starts) - min(starts)) // PERIOD_DAYS[period] + 1
    return f"this {period}" if periods == 1 else f"these {periods:,} {period}s"


def _counted(n: int) -> str:
    return _COUNTED[n] if n < len(_COUNTED) else f"{n:,}"


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """The judge's sensitivity and specificity in all answers, before a change of its error and since it.

    Its error also moves if they stay the same, because more answers are bad.
    """

    sensitivity: tuple[Estimate, Estimate]
    specificity: tuple[Estimate, Estimate]

    @property
    def sentence(self) -> str:
        """Whether one of them moved: whether their intervals have no value in common."""
        parts = [
            f"{name} {percent_words(before)} before, {percent_words(after)} since"
            for name, (before, after) in (("sensitivity", self.sensitivity), ("specificity", self.specificity))
        ]
        moved = any(_apart(*each) for each in (self.sensitivity, self.specificity))
        start = (
            "The judge errs differently than before"
            if moved
            else "The judge is not shown to err differently on bad or on good answers: the share of bad answers moved"
        )
        return f"{start} ({'; '.join(parts)})."


def _apart(one: Estimate, other: Estimate) -> bool:
    if one.value is None or other.value is None:
        return False
    # Without an interval, all labels of the class are judged alike.
    (low, _, high), (other_low, _, other_high) = map(ends_or_value, (one, other))
    return high < other_low or other_high < low

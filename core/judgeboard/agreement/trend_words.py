"""Sentences about trends: what changed, and what would have been seen."""

import math
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from judgeboard.stats.estimates import number_words, percent_words, two_decimals
from judgeboard.text import day_words
from judgeboard.trends import (
    ALL_ANSWERS,
    CLEAR,
    MEASURES,
    PERIOD_DAYS,
    Change,
    Panel,
    Period,
    Trend,
    VersionMark,
)

_MOST_CHANGES = 3  # sentences
_COUNTED = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def period_words(start: int, period: Period, *, year: bool = False) -> str:
    """Return "the week of 2 Mar" or "2 Mar"."""
    return f"{'the week of ' if period == 'week' else ''}{day_words(start, year=year)}"


def trend_sentence(trend: Trend) -> str:
    """Return sentences about the changes that a detector found, or say that nothing changed."""
    drawn = [panel for panel in trend.panels if panel.points]
    if not drawn:
        timeless = sum(panel.without_time for panel in trend.panels)
        if timeless:
            return f"None of these {timeless:,} answers has a time. To import a column of times: `--map YOURS=asked_at`"
        if trend.judge is None:
            return "No answer is judged yet. Judge them: `judgeboard judge --judge lexical`"
        return f"{trend.judge} gave no {'quality' if trend.measure == 'quality' else 'groundedness'} to any answer."
    measure = MEASURES[trend.measure]
    changes = [panel.change for panel in drawn if panel.change is not None]
    words = [_change_words(panel, panel.change, trend) for panel in drawn if panel.change is not None]
    still = [(panel.group, panel.seen) for panel in drawn if panel.change is None]
    sentences = [*words[:_MOST_CHANGES]]
    if len(words) > _MOST_CHANGES:
        sentences.append(f"{_counted(len(words) - _MOST_CHANGES).capitalize()} more changed.")
    span = span_words([point.start for panel in drawn for point in panel.points], trend.period)
    sentences += unchanged_words(
        still, CLEAR * measure.span, share=measure.bounds is None, span="" if changes else f" in {span}"
    )
    if changes and trend.marks:
        sentences.append(_mark_words(changes[0], trend.marks, trend.period))
    return " ".join(sentences)


def unchanged_words(
    still: Sequence[tuple[str, float | None]], clear: float, *, share: bool, span: str = ""
) -> Iterator[str]:
    """Yield what the unchanged panels, each with the smallest change that it would have shown, allow to say.

    "No clear change" stands only where a change of the size ``clear`` would have been seen. ``span`` are the periods
    (" in these 3 weeks"), if nothing changed.
    """
    sure = {name: seen for name, seen in still if seen is not None and seen <= clear}
    small = {name: seen for name, seen in still if seen is None or seen > clear}
    if sure:
        names = f": {_listed(list(sure))}" if small or not span else ""
        yield f"No clear change{span}{names}; a change of {_size(max(sure.values()), share)} would have been seen."
    if small:
        names = f" of {_listed(list(small))}" if sure or not span or len(small) < len(still) else ""
        sizes = [seen for seen in small.values() if seen is not None and seen < clear / CLEAR]
        yield f"Too few answers to show a change{'' if sure else span}{names}" + (
            f": only {_size(min(sizes), share)} or more would have been seen." if sizes else "."
        )


def _size(change: float, share: bool) -> str:
    return f"{math.ceil(change * 100):,} points" if share else two_decimals(change)


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


def _change_words(panel: Panel, change: Change, trend: Trend) -> str:
    when = when_words(change.from_day, trend.period, year=_several_years([point.start for point in panel.points]))
    shown = MEASURES[trend.measure]
    before, after = map(percent_words if shown.bounds is None else number_words, (change.before, change.after))
    what = f"{panel.group}: {shown.title[0].lower()}{shown.title[1:]}"
    return f"{what} {change.direction} {when}, from {before} to {after}."


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


def _listed(names: Sequence[str]) -> str:
    names = ["all answers" if name == ALL_ANSWERS else name for name in names]
    if len(names) > 4:
        names = [names[0], f"{len(names) - 1} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _counted(n: int) -> str:
    return _COUNTED[n] if n < len(_COUNTED) else f"{n:,}"

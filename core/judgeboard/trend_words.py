"""What a trend says in words: the sentence over the charts, the caption under each, never a cause."""

from collections.abc import Sequence
from datetime import date, timedelta

from judgeboard.domain import Estimate
from judgeboard.stats.words import number_words, percent_words
from judgeboard.trend_measures import MEASURES
from judgeboard.trend_periods import PERIOD_DAYS, Period
from judgeboard.trends import Panel, Trend, VersionMark

_COUNTED = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def day_words(day: int, *, year: bool = False) -> str:
    """Return a UTC day (days since 1970-01-01) as "2 March", with its year where asked for."""
    shown = date(1970, 1, 1) + timedelta(days=day)
    return f"{shown.day} {shown:%B} {shown.year}" if year else f"{shown.day} {shown:%B}"


def period_words(start: int, period: Period, *, year: bool = False) -> str:
    """Return "the week of 2 March" or "2 March"."""
    return f"{'the week of ' if period == 'week' else ''}{day_words(start, year=year)}"


def trend_sentence(trend: Trend) -> str:
    """Return what moved beyond its interval, from what to what and when, or that nothing did."""
    drawn = [panel for panel in trend.panels if panel.points]
    if not drawn:
        return _nothing_drawn(trend)
    moved = [panel for panel in drawn if panel.move is not None]
    if not moved:
        return f"Nothing moved beyond its interval in {_span(drawn, trend.period)}."
    still = [panel.query_type for panel in drawn if panel.move is None]
    sentences = [_moved_words(panel, trend) for panel in moved[:2]]
    if len(moved) > 2:
        sentences.append(f"{_counted(len(moved) - 2).capitalize()} more moved.")
    if still:
        sentences.append(f"{_listed(still)} did not move.")
    if trend.marks:
        sentences.append(_mark_words(moved[0], trend.marks, trend.period))
    return " ".join(sentences)


def panel_caption(panel: Panel, trend: Trend) -> str:
    """Return "336 answers judged, 18 to 44 a week. No judged answer was asked in the week of 9 February."."""
    if not panel.points:
        return "None of these answers says when it was asked." if panel.without_time else "No answers."
    sizes = [point.estimate.n for point in panel.points]
    each = f"{min(sizes):,}" if min(sizes) == max(sizes) else f"{min(sizes):,} to {max(sizes):,}"
    caption = f"{panel.n:,} {MEASURES[trend.measure].counts}, {each} a {trend.period}."
    if not panel.empty:
        return caption
    year = _several_years([point.start for point in panel.points])
    none = "No judged answer" if MEASURES[trend.measure].of_judge else "Nothing"
    if len(panel.empty) == 1:
        return f"{caption} {none} was asked {_in(panel.empty[0], trend.period, year=year)}."
    return f"{caption} {none} was asked in {len(panel.empty)} {trend.period}s between."


def _nothing_drawn(trend: Trend) -> str:
    n = trend.without_time
    if n:
        return f"None of these {n:,} answers says when it was asked. Import with --map YOURS=asked_at"
    if trend.judge is None:
        return "No answer was judged yet: `judgeboard judge --judge lexical`"
    return f"{trend.judge} gave no answer a {'quality' if trend.measure == 'quality' else 'groundedness'}."


def _moved_words(panel: Panel, trend: Trend) -> str:
    if panel.move is None or panel.moved_at is None:
        raise ValueError(f"{panel.query_type} did not move")
    year = _several_years([point.start for point in panel.points])
    verb = "fell" if panel.move.fell else "rose"
    before, after = (_value_words(each, trend) for each in (panel.move.before, panel.move.after))
    shown = MEASURES[trend.measure]
    what = panel.query_type if shown.bounds else f"The {shown.title[0].lower()}{shown.title[1:]} of {panel.query_type}"
    return f"{what} {verb} {_in(panel.moved_at, trend.period, year=year)}, from {before} to {after}."


def _value_words(estimate: Estimate, trend: Trend) -> str:
    return percent_words(estimate) if MEASURES[trend.measure].bounds is None else number_words(estimate)


def _mark_words(panel: Panel, marks: Sequence[VersionMark], period: Period) -> str:
    """Where the nearest change of the judge version lies: in time only, since a coincidence is no cause."""
    moved_at = panel.moved_at or 0
    nearest = min(marks, key=lambda mark: abs(mark.start - moved_at))
    apart = (nearest.start - moved_at) // PERIOD_DAYS[period]
    if apart == 0:
        return f"The judge version changed in that {period}, to {nearest.title}."
    count = f"{_counted(abs(apart))} {period}{'' if abs(apart) == 1 else 's'}"
    return f"The judge version changed {count} {'before' if apart < 0 else 'after'}, not in that {period}."


def _span(panels: Sequence[Panel], period: Period) -> str:
    starts = [point.start for panel in panels for point in panel.points]
    periods = (max(starts) - min(starts)) // PERIOD_DAYS[period] + 1
    return f"this {period}" if periods == 1 else f"these {periods:,} {period}s"


def _in(start: int, period: Period, *, year: bool) -> str:
    return f"{'in' if period == 'week' else 'on'} {period_words(start, period, year=year)}"


def _several_years(starts: Sequence[int]) -> bool:
    years = {(date(1970, 1, 1) + timedelta(days=start)).year for start in starts}
    return len(years) > 1


def _listed(names: Sequence[str]) -> str:
    if len(names) > 4:
        return f"The other {len(names)}"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _counted(n: int) -> str:
    return _COUNTED[n] if n < len(_COUNTED) else f"{n:,}"

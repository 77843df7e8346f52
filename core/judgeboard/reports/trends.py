"""Trends, comparisons of windows and detectors as tables, and as lines for a terminal."""

from collections.abc import Iterator, Sequence

from judgeboard.agreement.alarms import Detector, WatchResult
from judgeboard.agreement.corrected_trend import (
    BAD_SHARE,
    WATCHED_WORDS,
    CorrectedPanel,
    CorrectedTrend,
    WindowComparison,
    WindowLine,
    corrected_sentence,
    window_sentence,
)
from judgeboard.agreement.notes import p_words
from judgeboard.agreement.trend_words import period_words, trend_sentence
from judgeboard.reports.output import Column, Columns, Format, Table, text_lines
from judgeboard.stats.estimates import points_words, two_decimals
from judgeboard.text import counted, day_words
from judgeboard.trends import MEASURES, QUERY_TYPE, Panel, Period, Trend


def trend_table(trend: Trend, panels: Sequence[Panel]) -> Table:
    """Return the points of these panels, one per row."""
    measure = MEASURES[trend.measure]
    number: Format = "share" if measure.bounds is None else "number"
    columns = (
        Column("Query type" if trend.by == QUERY_TYPE else trend.by),
        *(Column("Asked in"), Column("Answers", "count")),
        *(Column(title, number) for title in (measure.title, "95 % from", "to")),
    )
    rows = (
        (panel.group, period_words(point.start, trend.period, year=True), each.n, each.value, each.low, each.high)
        for panel in panels
        for point in panel.points
        for each in (point.estimate,)
    )
    return Table(columns, tuple(rows))


def trend_lines(trend: Trend) -> Iterator[str]:
    """Yield the sentence, every point, and what is left out."""
    yield trend_sentence(trend)
    yield from text_lines(trend_table(trend, trend.panels))
    if trend.left_out:
        yield f"left out: {', '.join(each.words for each in trend.left_out)}"


def corrected_lines(trend: CorrectedTrend) -> Iterator[str]:
    """Yield the sentence, every point, and the periods that wait for labels."""
    yield corrected_sentence(trend)
    panels = [panel for panel in trend.panels if panel.points]
    if panels:
        yield from text_lines(corrected_table(trend, panels))
        yield evidence_sentence(trend.period)
    for panel in trend.panels:
        if panel.waiting:
            yield (
                f"{panel.query_type}: {counted(panel.waiting, trend.period)} without a point, because a stratum "
                "has no sampled label."
            )
        if panel.without_time:
            yield f"{panel.query_type}: {counted(panel.without_time, 'answer')} without a time left out."


def corrected_table(trend: CorrectedTrend, panels: Sequence[CorrectedPanel]) -> Table:
    """Return the points of these panels, one per row."""
    columns = (
        *(Column("Query type"), Column("Asked in"), Column(f"{trend.period.capitalize()}s", "count")),
        *(Column("Answers", "count"), Column("Labels", "count")),
        *(Column("Bad, corrected", "share"), Column("95 % from", "share"), Column("to", "share")),
        *(Column("Judge alone", "share"), Column("z", "number")),
        *(Column("Evidence rose"), Column("fell")),
    )
    rows = (
        (
            *(panel.query_type, period_words(point.start, trend.period, year=True), point.periods),
            *(sum(stratum.answers for stratum in point.strata), point.share.n),
            *(point.share.value, point.share.low, point.share.high, point.judge_share),
            *(point.z, evidence_words(point.rose), evidence_words(point.fell)),
        )
        for panel in panels
        for point in panel.points
    )
    return Table(columns, tuple(rows))


_MOST_EVIDENCE = 1_000  # more makes nobody surer


def evidence_sentence(period: Period) -> str:
    """Return what evidence means: how rarely chance alone reaches it."""
    return f"Evidence of 100: while nothing changes, a detector reaches it at most once in 100 {period}s on average."


def evidence_words(evidence: float | None) -> str | None:
    """Return the evidence of a detector: "4.15", or "over 1,000"."""
    if evidence is None:
        return None
    return two_decimals(evidence) if evidence <= _MOST_EVIDENCE else f"over {_MOST_EVIDENCE:,}"


def windows_lines(comparison: WindowComparison) -> Iterator[str]:
    """Yield a sentence for each query type, and the shares in both windows."""
    yield from map(window_sentence, comparison.lines)
    yield from text_lines(windows_table(comparison))


def windows_table(comparison: WindowComparison) -> Table:
    """Return the two shares, the change and its p-value, one query type per row."""
    before, after = (
        f"{day_words(first)} to {day_words(last)}" for first, last in (comparison.before, comparison.after)
    )
    columns = (
        *(Column("Query type"), Column(before, "share estimate"), Column(after, "share estimate")),
        *(Column("Change"), Column("p (Holm)")),
    )
    rows = (
        (line.query_type, line.before, line.after, _change_words(line), None if line.p is None else p_words(line.p))
        for line in comparison.lines
    )
    return Table(columns, tuple(rows))


def _change_words(line: WindowLine) -> str | None:
    change = line.change.change
    return None if change.value is None else points_words(change, sign=True)


def detectors_table(result: WatchResult) -> Table:
    """Return the detectors, one per row."""
    columns: Columns[Detector] = {
        Column("Query type"): lambda each: each.query_type,
        Column("Figure"): lambda each: WATCHED_WORDS[each.measure],
        Column("Change"): lambda each: each.direction,
        Column("Weeks", "count"): lambda each: each.weeks,
        Column("Evidence"): lambda each: evidence_words(each.evidence),
        Column("Alarm at", "count"): lambda each: round(each.limit),
        Column("Would have seen"): lambda each: (
            None if each.seen is None or each.seen >= 1 else BAD_SHARE.size(each.seen)  # no share changes by more
        ),
        Column("Open alarm", "integer"): lambda each: each.alarm,
    }
    return Table.of(result.detectors, columns)

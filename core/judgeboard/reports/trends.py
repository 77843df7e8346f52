"""Trends, comparisons of windows and detectors as tables, and as lines for a terminal."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from judgeboard.formats.output import Column, Columns, Format, Table, text_lines
from judgeboard.measure.alarms import Detector, WatchResult
from judgeboard.measure.corrected_trend import (
    BAD_SHARE,
    WATCH_PERIOD,
    WATCHED_WORDS,
    CorrectedPanel,
    CorrectedTrend,
    corrected_sentence,
)
from judgeboard.measure.samples import no_share_words
from judgeboard.measure.trend import QUERY_TYPE, LeftOut, Panel, Trend
from judgeboard.measure.trend_figures import ALL_ANSWERS
from judgeboard.measure.trend_words import (
    WOULD_HAVE_BEEN_FOUND,
    found_note,
    period_words,
    power_words,
    source_words,
    trend_sentence,
)
from judgeboard.measure.window_comparison import WindowComparison, WindowLine, window_sentence
from judgeboard.stats.estimates import points_words, two_decimals
from judgeboard.text import counted, day_words


def trend_table(trend: Trend, panels: Sequence[Panel]) -> Table:
    """Return the points of these panels, one per row."""
    measure = trend.of_measure
    number: Format = "share" if measure.is_share else "number"
    columns = (
        Column("Query type" if trend.by == QUERY_TYPE else trend.by),
        *(Column("Asked in"), Column("Answers", "count")),
        *(Column(title, number) for title in (measure.title, "95 % from", "to")),
    )
    rows = (
        (panel.group, period_words(point.start, trend.period), each.n, each.value, each.low, each.high)
        for panel in panels
        for point in panel.points
        for each in (point.estimate,)
    )
    return Table(columns, tuple(rows))


def trend_lines(trend: Trend, *, all_seen: bool = True) -> Iterator[str]:
    """Yield the sentence, if ``all_seen`` answers, whose scores they are, every point, and what is left out.

    Answers that are hidden may have changed, so that nothing is said of a change without them.
    """
    words = trend_sentence(trend) if all_seen else ""
    if words:
        yield words
    if source := source_words(trend):
        yield f"{source} For the share of bad answers by labels: `judgeboard trends --corrected`."
    if any(panel.points for panel in trend.panels):
        yield from text_lines(trend_table(trend, trend.panels))
    if note := found_note(words, trend.period):
        yield note
    yield from _left_out_lines(trend.left_out)


def corrected_lines(trend: CorrectedTrend) -> Iterator[str]:
    """Yield the sentence, every point, and the periods that wait for labels."""
    words = corrected_sentence(trend)
    yield words
    panels = [panel for panel in trend.panels if panel.points]
    if panels:
        yield from text_lines(corrected_table(trend, panels))
        yield evidence_sentence(trend)
    if note := found_note(words, trend.period):
        yield note
    for panel in trend.panels:
        if panel.waiting:
            why = "a stratum has no sampled label" if panel.hidden is None else "answers are hidden from you"
            yield f"{panel.query_type}: {counted(panel.waiting, trend.period)} without a point, because {why}."
    yield from _left_out_lines(trend.left_out)


def _left_out_lines(left_out: Sequence[LeftOut]) -> Iterator[str]:
    if left_out:
        yield f"left out: {', '.join(each.words for each in left_out)}"


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
            *(panel.query_type, period_words(point.start, trend.period), point.periods),
            *(sum(stratum.answers for stratum in point.strata), point.share.n),
            *(point.share.value, point.share.low, point.share.high, point.judge_share),
            *(point.z, evidence_words(point.rose), evidence_words(point.fell)),
        )
        for panel in panels
        for point in panel.points
    )
    return Table(columns, tuple(rows))


_MOST_EVIDENCE = 1_000  # more makes nobody surer


def evidence_sentence(trend: CorrectedTrend) -> str:
    """Return what z and evidence mean, when a change is found, and which points have neither."""
    limits: dict[str, float] = {}
    for query_type, monitor in trend.monitors:
        if monitor.watched == "bad_share":
            limits["all answers" if query_type == ALL_ANSWERS else "a query type"] = monitor.limit
    named = len(limits) > 1
    at = " or ".join(f"{limit:,.0f}{f' for {whose}' if named else ''}" for whose, limit in limits.items())
    words = ["z: distance from all points before, in standard errors."]
    if at:
        words.append(f"A change is found when the evidence reaches {at}.")
    acknowledged = [(panel.query_type, panel.acknowledged.get("bad_share")) for panel in trend.panels if panel.points]
    begins = [
        f"{query_type}: the detectors begin with {period_words(alarm.from_day, WATCH_PERIOD)}, because alarm "
        f"{alarm.id} is acknowledged."
        for query_type, alarm in acknowledged
        if alarm is not None
    ]
    if begins:
        words += [*begins, "Earlier points have no z and no evidence."]
    return " ".join(words)


def evidence_words(evidence: float | None) -> str | None:
    """Return the evidence of a detector: "4.15", or "over 1,000"."""
    if evidence is None:
        return None
    return two_decimals(evidence) if evidence <= _MOST_EVIDENCE else f"over {_MOST_EVIDENCE:,}"


def windows_lines(comparison: WindowComparison) -> Iterator[str]:
    """Yield a sentence for each query type, and the shares in both windows."""
    known = (line for line in comparison.lines if comparison.hidden is None or line.change.change.value is not None)
    sentences = [window_sentence(line) for line in known]
    if len(sentences) < len(comparison.lines) and comparison.hidden is not None:
        yield no_share_words(comparison.hidden)
    yield from sentences
    yield from text_lines(windows_table(comparison))
    if any(WOULD_HAVE_BEEN_FOUND in each for each in sentences):
        yield '"Would have been found": a change of this size is found in 8 of 10 cases.'


def windows_table(comparison: WindowComparison) -> Table:
    """Return the two shares and the change, one query type per row."""
    before, after = (
        f"{day_words(first)} to {day_words(last)}" for first, last in (comparison.before, comparison.after)
    )
    columns = (
        *(Column("Query type"), Column(before, "share estimate"), Column(after, "share estimate")),
        Column("Change" if comparison.tested < 2 else f"Change (95 % CI of all {comparison.tested} together)"),
    )
    rows = ((line.query_type, line.before, line.after, _change_words(line)) for line in comparison.lines)
    return Table(columns, tuple(rows))


def _change_words(line: WindowLine) -> str | None:
    change = line.change.change
    return None if change.value is None else points_words(change, sign=True)


DETECTABLE = f"Smallest detectable change: {power_words(WATCH_PERIOD)}."


def detectors_table(result: WatchResult) -> Table:
    """Return the watched figures, one per row, each with its two detectors (for a rise and a fall)."""
    figures = [list(both) for _, both in groupby(result.detectors, lambda each: (each.query_type, each.measure))]
    columns: Columns[list[Detector]] = {
        Column("Query type"): lambda both: both[0].query_type,
        Column("Figure"): lambda both: WATCHED_WORDS[both[0].measure],
        Column("Weeks read", "count"): lambda both: both[0].weeks,
        Column("Smallest detectable change"): lambda both: _detectable(both[0]),
        Column("Open alarm"): lambda both: (
            ", ".join(f"{each.alarm} ({each.direction})" for each in both if each.alarm is not None) or None
        ),
    }
    return Table.of(figures, columns)


def _detectable(detector: Detector) -> str:
    if detector.seen is not None:
        return BAD_SHARE.size(detector.seen)
    return f"too few {'answers' if detector.measure == 'unusable' else BAD_SHARE.counts}"

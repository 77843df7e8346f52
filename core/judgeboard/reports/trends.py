"""Trends, comparisons of windows and detectors as tables, and as lines for a terminal."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from judgeboard.formats.output import Column, Columns, Format, Table, text_lines
from judgeboard.measure.alarms import Detector, WatchResult
from judgeboard.measure.changes import ERRORS
from judgeboard.measure.corrected_trend import (
    BAD_SHARE,
    WATCHED_WORDS,
    CorrectedPanel,
    CorrectedTrend,
)
from judgeboard.measure.notes import Note, note
from judgeboard.measure.periods import period_words
from judgeboard.measure.result import Result
from judgeboard.measure.trend import QUERY_TYPE, LeftOut, Panel, Trend
from judgeboard.stats.estimates import two_decimals


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
        (
            panel.group,
            period_words(point.start, trend.period),
            each.n,
            each.value,
            each.low,
            each.high,
        )
        for panel in panels
        for point in panel.points
        for each in (point.estimate,)
    )
    return Table(columns, tuple(rows))


def changes_lines(result: Result) -> Iterator[str]:
    """Yield the headline, the changes of each group, and the caveats."""
    figures = list(dict.fromkeys(row.figure for row in result.rows if row.figure not in ERRORS))
    return result.lines(figures, ERRORS)


def trend_lines(trend: Trend, *, all_seen: bool = True) -> Iterator[str]:
    """Yield the changes, if ``all_seen`` answers, then every point, and what is left out.

    Hidden answers may have changed, so that no change is reported without the hidden answers.
    """
    if all_seen:
        yield from changes_lines(trend.changes)
    if any(panel.points for panel in trend.panels):
        yield from text_lines(trend_table(trend, trend.panels))
    yield from left_out_lines(trend.left_out)


def corrected_lines(trend: CorrectedTrend) -> Iterator[str]:
    """Yield the changes, every point, and the periods that wait for labels."""
    yield from changes_lines(trend.changes)
    panels = [panel for panel in trend.panels if panel.points]
    if panels:
        yield from text_lines(corrected_table(trend, panels))
        yield from (each.text for each in evidence_notes(trend))
    for panel in trend.panels:
        if panel.waiting:
            code = "points_unlabelled" if panel.hidden is None else "points_hidden"
            yield note(code, part=panel.query_type, n=panel.waiting).text
    yield from left_out_lines(trend.left_out)


def left_out_lines(left_out: Sequence[LeftOut]) -> Iterator[str]:
    """Yield the answers that no point counts, if there are any."""
    if left_out:
        yield note("left_out", reasons=[f"{each.n:,} {each.words}" for each in left_out]).text


def corrected_table(trend: CorrectedTrend, panels: Sequence[CorrectedPanel]) -> Table:
    """Return the points of these panels, one per row."""
    columns = (
        *(
            Column("Query type"),
            Column("Asked in"),
            Column(f"{trend.period.capitalize()}s", "count"),
        ),
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


def evidence_notes(trend: CorrectedTrend) -> list[Note]:
    """Return the meaning of z, and the evidence at which a change is found."""
    limits = [
        note("evidence", part=name, limit=monitor.limit)
        for name, monitor in trend.monitors
        if monitor.watched == "bad_share"
    ]
    return [note("z"), *limits[:2]]  # all query types have the same limit


def evidence_words(evidence: float | None) -> str | None:
    """Return the evidence of a detector: "4.15", or "over 1,000"."""
    if evidence is None:
        return None
    return two_decimals(evidence) if evidence <= _MOST_EVIDENCE else f"over {_MOST_EVIDENCE:,}"


def detectors_table(result: WatchResult) -> Table:
    """Return the watched figures, one per row, each with its two detectors (for a rise and a fall)."""
    figures = [
        list(both)
        for _, both in groupby(result.detectors, lambda each: (each.query_type, each.measure))
    ]
    columns: Columns[list[Detector]] = {
        Column("Query type"): lambda both: both[0].query_type,
        Column("Figure"): lambda both: WATCHED_WORDS[both[0].measure],
        Column("Weeks read", "count"): lambda both: both[0].weeks,
        Column("Smallest detectable change"): lambda both: (
            "too few answers" if both[0].seen is None else BAD_SHARE.size(both[0].seen)
        ),
        Column("Open alarm"): lambda both: (
            ", ".join(f"{each.alarm} ({each.direction})" for each in both if each.alarm is not None)
            or None
        ),
    }
    return Table.of(figures, columns)

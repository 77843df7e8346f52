"""The first page of an agreement report: the log, three figures, two charts and the verdict, for decision makers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from html import escape

from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.formats.output import to_html
from judgeboard.measure.agreement_result import AgreementResult, answers_words, shown_rows, shown_statistics
from judgeboard.measure.corrected_trend import corrected_trend
from judgeboard.measure.news import COINCIDENCES, SHARES, news
from judgeboard.measure.notes import Note
from judgeboard.measure.rates import RateChoice, rate_of
from judgeboard.measure.reliance import Reliance, reliance_of, verdict
from judgeboard.measure.result import Result
from judgeboard.measure.samples import judging_version
from judgeboard.measure.trend import Trend, trend
from judgeboard.reports.lead_questions import now_note
from judgeboard.stats.estimates import interval, percent, percent_interval, two_decimals
from judgeboard.stats.pair_statistics import STATISTICS
from judgeboard.store.clock import utc_now
from judgeboard.store.judge_versions import get_version
from judgeboard.store.overview import count_responses
from judgeboard.store.response_pages import logged_values
from judgeboard.store.settings import primary_judge
from judgeboard.text import counted, day_words, some_of

_RATED = {
    "agreement": "of the answers get the same grade from judge and people",
    "missed": "of the answers that people call bad are missed by the judge",
    "at_most_one_apart": "of the answers get grades at most one level apart",
    "mean_absolute_difference": "is the mean difference between judge and people, on a scale from 0 to 1",
    "spearman": "is the rank correlation of judge and people: 1 means the same order",
    "false_alarms": "of the answers that people call good raise a false alarm",
    "alpha": "is Krippendorff's alpha: 1 means full agreement, 0 agreement by chance",
}
"""The words after the value of a figure, in the order of importance."""

CHART_STYLE = """
svg{width:100%;max-width:46rem;height:auto;font:12px system-ui,sans-serif;fill:var(--ink)}
svg .axis{stroke:var(--line)}svg .mark{stroke:var(--bar);stroke-width:2;fill:none}svg .dot{fill:var(--bar)}
.figure{display:flex;gap:1rem;align-items:baseline;margin:.5rem 0}.figure b{font-size:1.7rem;min-width:6.5rem}
.verdict{font-size:1.1rem;border:1px solid var(--line);border-radius:6px;padding:.6rem .9rem;margin:1rem 0}
@media print{:root{color-scheme:light}body{margin:0;max-width:none;font-size:11pt}.wide{overflow:visible}
table{font-size:8pt}tr,svg,.figure,.verdict{break-inside:avoid}h2,h3{break-after:avoid}
.appendix{break-before:page}@page{size:A4;margin:16mm}}
"""


@dataclass(frozen=True, slots=True)
class LogSummary:
    """The log behind a report: its sources, the number of answers, and the trend of low groundedness.

    ``now`` is the share of bad answers, since its latest change if one was found, which is then the ``news``.
    """

    made: date
    sources: tuple[str, ...]
    answers: int
    low: Trend
    now: Note
    news: Result | None


def log_summary(connection: Connection, results: Sequence[AgreementResult]) -> LogSummary:
    """Return the log behind results. The trend is of the first judge in the results, or else of the primary judge."""
    measured = next((each.title for each in results if each.of == "judge" and each.unit == "responses"), None)
    judge = get_version(connection, measured).id if measured else primary_judge(connection)
    low = trend(connection, measure="low_share", judge=judge)
    version, shares = judging_version(connection, judge if measured else None), corrected_trend(connection)
    return LogSummary(
        utc_now().date(),
        logged_values(connection, "source"),
        count_responses(connection),
        low,
        now_note(rate_of(connection, version, RateChoice()), shares.changes),
        news(connection, shares),
    )


def front_page(result: AgreementResult, log: LogSummary) -> Iterator[str]:
    """Yield the HTML of the first page; a chart without values is left out."""
    weeks = _by_week(log.low)
    days = [point.start for panel in log.low.panels for point in panel.points]
    span = f", weeks of {day_words(min(days))} to {day_words(max(days))}" if days else ""
    yield "<h1>Judgeboard report: the answers and their judge</h1>\n"
    yield _paragraph(
        f"Log: {some_of(log.sources)}, {counted(log.answers, 'answer')}{span}. "
        f"Report created on {log.made.day} {log.made:%b %Y}.",
        "quiet",
    )
    if log.news is not None:
        yield f"<h2>What changed</h2>\n<p><b>{_escaped(log.news.sentence)}</b></p>\n"
        yield to_html(log.news.table(*SHARES))
        for caveat in log.news.caveats:
            yield f"<h3>What else changed in these answers at that time</h3>\n{_paragraph(caveat.text, 'quiet')}"
            yield to_html(log.news.table(*COINCIDENCES))
    yield f"<h2>How good are the answers now?</h2>\n{_paragraph(log.now.text, '')}"
    notes = filter(None, (verdict(result), result.headline))
    yield f'<p class="verdict"><b>Verdict.</b> {" ".join(_escaped(each.text) for each in notes)}</p>\n'
    yield from _figures(result)
    if len(weeks) > 1:
        yield f"<h2>Share of answers below groundedness {log.low.threshold:g}, by week</h2>\n"
        yield _chart(weeks, connected=True)
    rows = shown_rows(result)
    for name in ("agreement", "mean_absolute_difference", "alpha"):
        drawn = [(row.slice or "All", row.estimate) for row in rows if row.figure == name]
        missing = [(part, each.reason) for part, each in drawn if each.value is None]
        has_values = len(missing) < len(drawn)
        if drawn:
            by = f" by {result.about.by.replace('_', ' ')}" if result.about.by and result.slices else ""
            yield f"<h2>{escape(STATISTICS[name].name + by)}</h2>\n"
            yield _paragraph(f"All: {answers_words(result.n, result.answers)}.", "quiet")
            if has_values:
                yield _chart(drawn)
            yield from (_paragraph(f"{part}: {reason}.", "quiet") for part, reason in missing)
            break
    if result.caveats:
        yield "<h2>Caveats</h2>\n"
        yield from (_paragraph(each.text, "note") for each in result.caveats)


def _figures(result: AgreementResult) -> Iterator[str]:
    """Yield two figures of how far the raters agree, if these are of all answers."""
    statistics = shown_statistics(result.statistics)
    if result.of == "judge" and reliance_of(result) is Reliance.UNKNOWN:
        return  # a figure of the graded answers alone, in large type, would be read as one of all answers
    for name in [name for name in _RATED if name in statistics and statistics[name].value is not None][:2]:
        estimate = statistics[name]
        written, bounds = (percent, percent_interval) if STATISTICS[name].share else (two_decimals, interval)
        words = _RATED[name] if result.of == "judge" else _RATED[name].replace("judge and people", "two raters")
        yield _figure(written(estimate.value or 0.0), words, bounds(estimate), estimate)


def _figure(value: str, words: str, bounds: str | None, estimate: Estimate) -> str:
    details = [f"95 % CI {bounds}", f"n = {estimate.n:,}"] if bounds else [f"n = {estimate.n:,}", estimate.reason]
    inside = ", ".join(filter(None, details))
    return f'<p class="figure"><b>{value}</b><span>{_escaped(f"{words} ({inside}).")}</span></p>\n'


def _paragraph(text: str, kind: str) -> str:
    return f'<p class="{kind}">{_escaped(text)}</p>\n'


def _escaped(text: str) -> str:
    return escape(text).replace(" %", "\N{NO-BREAK SPACE}%")


def _by_week(shares: Trend) -> list[tuple[str, Estimate]]:
    """Return the share of each week, oldest first."""
    return [
        (day_words(point.start, year=False), point.estimate) for panel in shares.panels[:1] for point in panel.points
    ]


def _chart(rows: Sequence[tuple[str, Estimate]], *, connected: bool = False) -> str:
    """Return an SVG chart of shares with their 95 % intervals, one column each; ``connected`` joins them by a line."""
    wide, top, tall = 720, 12, 160
    step = (wide - 60) / len(rows)
    every = -(-len(rows) * 90 // (wide - 60))  # a name needs 90 px

    def height(share: float) -> float:
        return round(top + tall * (1 - min(max(share, 0.0), 1.0)), 1)

    parts = [
        f'<line class="axis" x1="50" x2="{wide}" y1="{height(share)}" y2="{height(share)}"/>'
        f'<text x="42" y="{height(share) + 4}" text-anchor="end">{percent(share)}</text>'
        for share in (0.0, 0.5, 1.0)
    ]
    line = []
    for place, (name, each) in enumerate(rows):
        x = round(55 + step * (place + 0.5), 1)
        if place % every == 0:
            shown = escape(name if len(name) <= 18 else f"{name[:17]}…")
            parts.append(f'<text x="{x}" y="{top + tall + 18}" text-anchor="middle">{shown}</text>')
        if each.value is None:
            continue
        line.append(f"{x},{height(each.value)}")
        if each.low is not None and each.high is not None:
            parts.append(f'<path class="mark" d="M{x} {height(each.low)}V{height(each.high)}"/>')
        words = f"{escape(name)}: {percent(each.value)} (n = {each.n:,})"
        parts.append(f'<circle class="dot" cx="{x}" cy="{height(each.value)}" r="4"><title>{words}</title></circle>')
    if connected:
        parts.append(f'<polyline class="mark" points="{" ".join(line)}"/>')
    return f'<svg viewBox="0 0 {wide} {top + tall + 26}" role="img">{"".join(parts)}</svg>\n'

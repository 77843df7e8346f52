"""The first page of an agreement report: the log, three figures, two charts and the verdict, for decision makers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from xml.etree.ElementTree import Element, SubElement, tostring

from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.formats.output import Column, Table, to_html
from judgeboard.measure.agreement_result import (
    AgreementResult,
    answers_words,
    shown_rows,
    shown_statistics,
)
from judgeboard.measure.corrected_trend import corrected_trend
from judgeboard.measure.news import COINCIDENCES, SHARES, news
from judgeboard.measure.notes import Note, paragraph
from judgeboard.measure.rates import RateChoice, rate_of
from judgeboard.measure.reliance import Reliance, reliance_of, verdict
from judgeboard.measure.result import Result
from judgeboard.measure.samples import judging_version
from judgeboard.measure.trend import Trend, trend
from judgeboard.reports.lead_questions import now_note
from judgeboard.stats.estimates import number_words, percent, percent_words
from judgeboard.stats.pair_statistics import STATISTICS
from judgeboard.store.clock import utc_now
from judgeboard.store.judge_versions import get_version
from judgeboard.store.overview import count_log
from judgeboard.store.response_pages import logged_values
from judgeboard.store.settings import primary_judge
from judgeboard.text import day_words, shortened, some_of

_RATED = (
    "agreement",
    "missed",
    "at_most_one_apart",
    "mean_absolute_difference",
    "spearman",
    "false_alarms",
    "alpha",
)
"""Figures of how far raters agree, in the order of importance."""

Part = Table | Element | tuple[str, str]
"""A part of a page: a table, a chart, or the kind and the text of a heading or paragraph."""

CHART_STYLE = """
svg{width:100%;max-width:46rem;height:auto;font:12px system-ui,sans-serif;fill:var(--ink)}
svg .axis{stroke:var(--line)}svg .mark{stroke:var(--bar);stroke-width:2;fill:none}svg .dot{fill:var(--bar)}
.lead{font-weight:600}
.verdict{font-size:1.1rem;border:1px solid var(--line);border-radius:6px;padding:.6rem .9rem;margin:1rem 0}
@media print{:root{color-scheme:light}body{margin:0;max-width:none;font-size:11pt}.wide{overflow:visible}
table{font-size:8pt}tr,svg,.verdict{break-inside:avoid}h2,h3{break-after:avoid}
.appendix{break-before:page}@page{size:A4;margin:16mm}}
"""


@dataclass(frozen=True, slots=True)
class LogSummary:
    """The log behind a report: its sources, the number of answers, and the trend of low groundedness.

    ``now`` is the share of bad answers, since the latest change if one was found. ``news`` is that
    change.
    """

    made: date
    sources: tuple[str, ...]
    answers: int
    low: Trend
    now: Note
    news: Result | None


def log_summary(connection: Connection, results: Sequence[AgreementResult]) -> LogSummary:
    """Return the log behind results. The trend is of the first judge in the results, or else of the primary judge."""
    title = next(
        (each.title for each in results if each.of == "judge" and each.unit == "responses"), None
    )
    judge = get_version(connection, title).id if title else primary_judge(connection)
    low = trend(connection, measure="low_share", judge=judge)
    version, shares = (
        judging_version(connection, judge if title else None),
        corrected_trend(connection),
    )
    return LogSummary(
        utc_now().date(),
        logged_values(connection, "source"),
        count_log(connection),
        low,
        now_note(rate_of(connection, version, RateChoice()), shares.changes),
        news(connection, shares),
    )


def html_of(part: Part) -> str:
    """Return a part of a page as HTML; every text is escaped."""
    if isinstance(part, Table):
        return to_html(part)
    if not isinstance(part, Element):
        kind, text = part
        part = Element(kind) if kind in {"h1", "h2", "h3"} else Element("p", {"class": kind})
        part.text = text.replace(" %", "\N{NO-BREAK SPACE}%")
    return f"{tostring(part, encoding='unicode', method='html')}\n"


def front_page(result: AgreementResult, log: LogSummary) -> Iterator[Part]:
    """Yield the parts of the first page; a chart without values is left out."""
    yield "h1", "Judgeboard report: the answers and their judge"
    days = [point.start for panel in log.low.panels for point in panel.points]
    first, last = (day_words(min(days)), day_words(max(days))) if days else (None, None)
    columns = (
        Column("Log"),
        Column("Answers", "count"),
        Column("First week"),
        Column("Last week"),
        Column("Created"),
    )
    day = f"{log.made.day} {log.made:%b %Y}"
    yield Table(columns, ((some_of(log.sources), log.answers, first, last, day),))
    if log.news is not None:
        yield "h2", "What changed"
        yield "lead", log.news.sentence
        yield log.news.table(*SHARES)
        for caveat in log.news.caveats:
            yield "h3", "What else changed in these answers at that time"
            yield "quiet", caveat.text
            yield log.news.table(*COINCIDENCES)
    yield "h2", "How good are the answers now?"
    yield "now", log.now.text
    yield "verdict", paragraph((verdict(result), result.headline))
    yield from _figures(result)
    weeks = [
        (day_words(point.start, year=False), point.estimate)
        for panel in log.low.panels[:1]
        for point in panel.points
    ]
    if len(weeks) > 1:
        yield "h2", "Share of answers with low groundedness, by week"
        yield _chart(weeks, connected=True)
    rows = shown_rows(result)
    for name in ("agreement", "mean_absolute_difference", "alpha"):
        chart_rows = [(row.slice or "All", row.estimate) for row in rows if row.figure == name]
        without_value = [(part, each.reason) for part, each in chart_rows if each.value is None]
        has_values = len(without_value) < len(chart_rows)
        if chart_rows:
            by = (
                f" by {result.about.by.replace('_', ' ')}"
                if result.about.by and result.slices
                else ""
            )
            yield "h2", f"{STATISTICS[name].name}{by}"
            yield "quiet", f"All: {answers_words(result.n, result.answers)}."
            if has_values:
                yield _chart(chart_rows)
            yield from (("quiet", f"{part}: {reason}.") for part, reason in without_value)
            break
    if result.caveats:
        yield "h2", "Caveats"
        yield from (("note", each.text) for each in result.caveats)


def _figures(result: AgreementResult) -> Iterator[Table]:
    """Yield two figures of how far the raters agree, if the figures describe all answers."""
    statistics = shown_statistics(result.statistics)
    names = [name for name in _RATED if name in statistics and statistics[name].value is not None]
    if not names or (result.of == "judge" and reliance_of(result) is Reliance.UNKNOWN):
        return  # readers would take a figure of the graded answers alone for one of all answers
    rows = (
        (
            STATISTICS[name].name,
            (percent_words if STATISTICS[name].share else number_words)(each),
            each.n,
        )
        for name, each in ((name, statistics[name]) for name in names[:2])
    )
    yield Table((Column("Figure"), Column("Value"), Column("n", "count")), tuple(rows))


def _chart(rows: Sequence[tuple[str, Estimate]], *, connected: bool = False) -> Element:
    """Return an SVG chart of shares with their 95 % intervals, one column each; ``connected`` joins them by a line."""
    wide, top, tall = 720, 12, 160
    step = (wide - 60) / len(rows)
    every = -(-len(rows) * 90 // (wide - 60))  # a name needs 90 px
    chart = Element("svg", {"viewBox": f"0 0 {wide} {top + tall + 26}", "role": "img"})

    def draw(name: str, text: str | None = None, **attributes: object) -> Element:
        shape = SubElement(
            chart,
            name,
            {key.rstrip("_").replace("_", "-"): str(at) for key, at in attributes.items()},
        )
        shape.text = text
        return shape

    def height(share: float) -> float:
        return round(top + tall * (1 - min(max(share, 0.0), 1.0)), 1)

    for share in (0.0, 0.5, 1.0):
        draw("line", class_="axis", x1=50, x2=wide, y1=height(share), y2=height(share))
        draw("text", percent(share), x=42, y=height(share) + 4, text_anchor="end")
    line = []
    for place, (name, each) in enumerate(rows):
        x = round(55 + step * (place + 0.5), 1)
        if place % every == 0:
            draw("text", shortened(name, 18), x=x, y=top + tall + 18, text_anchor="middle")
        if each.value is None:
            continue
        line.append(f"{x},{height(each.value)}")
        if each.low is not None and each.high is not None:
            draw("path", class_="mark", d=f"M{x} {height(each.low)}V{height(each.high)}")
        dot = draw("circle", class_="dot", cx=x, cy=height(each.value), r=4)
        SubElement(dot, "title").text = f"{name}: {percent(each.value)} (n = {each.n:,})"
    if connected:
        draw("polyline", class_="mark", points=" ".join(line))
    return chart

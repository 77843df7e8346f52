"""A trend as a table, and as lines for a terminal."""

from collections.abc import Iterator, Sequence

from judgeboard.reports.output import Column, Format, Table, text_lines
from judgeboard.trends import MEASURES, QUERY_TYPE, Panel, Trend, period_words, trend_sentence


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

"""The page Failure modes: how often people tag answers with each, by query type, judge version or week."""

import streamlit as st

from judgeboard.reports.output import Column, Table
from judgeboard.reviews.failure_modes import GROUPS, FailureModeCount, failure_mode_counts
from judgeboard.store.failure_modes import list_modes
from judgeboard.trends import Point
from judgeboard_dashboard.session import page, reading
from judgeboard_dashboard.widgets.charts.trend import HEIGHT, TrendAxis, trend_chart, trend_points
from judgeboard_dashboard.widgets.navigation import clickable_chart, follow, responses
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import caption, count, empty, heading, sentence

MOST_PANELS = 6


def failure_modes() -> None:
    """Show the counts as a table, and by week also as charts."""
    follow("failure_modes", own=("by",))
    titles = {title: by for by, title in GROUPS.items()}
    title = st.segmented_control(
        "Count by", list(titles), default=GROUPS["query_type"], required=True, key="by", bind="query-params"
    )
    by = titles.get(title or "", "query_type")
    with reading() as connection:
        counts = failure_mode_counts(connection, by)
        listed = list_modes(connection)
    if not counts:
        what = "People have not tagged answers yet." if listed else "There are no failure modes yet."
        empty(what, "Leads keep the list on Settings. Reviewers choose failure modes on the review screen.")
        return
    by_mode: dict[str, list[FailureModeCount]] = {}
    for each in counts:
        by_mode.setdefault(each.mode, []).append(each)
    most = next(iter(by_mode))
    answers = sum(each.answers for each in by_mode[most])
    if by != "judge_version":  # an answer has a verdict of several versions
        sentence(f"on {count(answers, 'answer')}.", lead=f"Most frequent: {most},")
    if by == "week":
        _charts(by_mode)
    found = [each for each in counts if each.answers]
    columns = (
        Column(GROUPS[by], width=180),
        Column("Failure mode", width=220),
        Column("Answers", "count", width=90),
        Column("Share of reviewed answers", "share estimate", width=230),
    )
    table(
        Table(columns, tuple((each.group, each.mode, each.answers, each.share) for each in found)),
        [responses(each.where) for each in found],
        key=f"failure_modes_by_{by}",
        under=("Click a line to open its answers. An answer counts once per failure mode.",),
    )


def _charts(by_mode: dict[str, list[FailureModeCount]]) -> None:
    """Show the share per week of the most frequent modes on the same axis."""
    panels = {
        mode: [
            Point(each.where.day_from, each.where.day_to or 0, each.share, 0, each.where)
            for each in counts
            if each.where.day_from is not None
        ]
        for mode, counts in list(by_mode.items())[:MOST_PANELS]
    }
    points = [point for each in panels.values() for point in each]
    if not points:
        return
    starts, tops = [point.start for point in points], [point.estimate.high or 0 for point in points]
    axis = TrendAxis(
        "Share of reviewed",
        0.0,
        next(top for top in (0.2, 0.4, 0.6, 0.8, 1.0) if max(tops) <= top or top == 1),
        share=True,
        days=7,
        first=min(starts),
        last=max(starts),
        most=max(point.estimate.n for point in points),
    )
    columns = st.columns(min(3, len(panels)), gap="medium")
    for place, (mode, each) in enumerate(panels.items()):
        with columns[place % len(columns)]:
            heading(mode)
            clickable_chart(
                trend_chart(trend_points(each, "week", year=axis.last - axis.first > 300), (), axis),
                HEIGHT,
                [responses(point.where) for point in each],
                key=f"failure_mode_trend_{place}",
                says=f"Share of reviewed answers with {mode} per week, {len(each)} points with 95 % intervals",
            )
    caption("Line: share of the reviewed answers of a week (UTC), band: 95 % interval, grey bars: reviewed answers.")


with page("Failure modes"):
    failure_modes()

"""The overview: what waits, whether the judge is healthy, where the two signals collide."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import streamlit as st

from judgeboard.reports.tables import Column, Table
from judgeboard.store.filters import RowFilter
from judgeboard.store.open_flags import open_counts
from judgeboard.store.overview import Overview
from judgeboard.store.overview import overview as overview_of
from judgeboard_dashboard.evidence import as_label
from judgeboard_dashboard.session import as_query, current_reviewer, page, reading
from judgeboard_dashboard.widgets.charts import grid
from judgeboard_dashboard.widgets.navigation import follow, item, responses
from judgeboard_dashboard.widgets.overview import (
    confirmed_days,
    confirmed_words,
    cost_words,
    done_words,
    signals_words,
    since_yesterday,
    usable_days,
    usable_help,
    usable_words,
    usual_words,
    waiting_table,
    waiting_words,
)
from judgeboard_dashboard.widgets.tables import figure, table
from judgeboard_dashboard.widgets.texts import capital, caption, count, empty, heading, rule_words, sentence, when

FAILED = ["unparsable", "refused", "error"]
Kind = Literal["line", "bar"]


def overview() -> None:
    """Show the desk as it stands now."""
    follow("overview", own=["table"])
    reviewer = current_reviewer()
    with reading() as connection:
        found = overview_of(connection, reviewer.id if reviewer else None, datetime.now(UTC).date())
        counts = open_counts(connection)
    answers = sum(found.quadrant.values())
    if not answers:
        empty("No answers yet. Import a log: `judgeboard import FILE`", "Or try the sample: `judgeboard demo`")
        return
    if found.judge is None:
        empty(f"{count(answers, 'answer')}, none judged.", "Judge them: `judgeboard judge --judge lexical`")
        return
    sentence(done_words(found, named=reviewer is not None), lead=waiting_words(found))
    _cards(found)
    with st.container(key="stack_overview"):
        left, right = st.columns([1.05, 1], gap="medium")
    with left:
        heading("What waits")
        waiting_table(counts)
    with right:
        _signals(found.quadrant)
    if reviewer is not None:
        _decisions(found)


def _cards(found: Overview) -> None:
    """Five numbers with their last seven days; each leads to its rows."""
    judged = found.judged_in_all
    usable, not_usable = usable_words(judged)
    cost, each = cost_words(judged)
    confirmed, rests_on = confirmed_words(found)
    costs = [day.cost_micro / 1e6 for day in found.judged if day.cost_micro is not None]
    with st.container(horizontal=True, key="metrics", gap="small"):
        _card(
            "waiting",
            "Waiting",
            f"{found.waiting:,}",
            since_yesterday(found),
            [day.waiting for day in found.days],
            after="since yesterday",
            colour="inverse",
            leads=("queue", "Open the queue", {}),
            tip="Open flags, and how many were open at the end of each of the last 7 days (UTC)",
        )
        _card(
            "decided",
            "Decided today",
            f"{found.decided_today:,}",
            usual_words(found),
            [day.decided for day in found.days],
            kind="bar",
            leads=("responses", "Open all decided", {"state": ["confirmed", "dismissed"]}),
            tip="Flags that people confirmed or dismissed today (UTC)",
        )
        _card(
            "confirmed",
            "Confirmed of decided",
            confirmed,
            rests_on,
            confirmed_days(found),
            leads=("responses", "Open the confirmed", {"state": ["confirmed"]}),
            tip="Of all decided flags the share that people confirmed, with its 95 % interval",
        )
        _card(
            "usable",
            "Judge usable, 7 days",
            usable,
            not_usable,
            usable_days(found.judged),
            leads=("responses", "Open the unusable", {"status": FAILED, "judge": found.judge}),
            tip=as_label(f"{found.judge}. {usable_help(judged)}"),
        )
        _card(
            "cost",
            "Judge cost, 7 days",
            as_label(cost),
            as_label(each),
            costs,
            kind="bar",
            leads=("responses", "Open the judged", {"judge": found.judge}),
            tip=as_label(f"What {found.judge} cost; requests of unknown price are counted, never taken for free"),
        )


def _card(
    key: str,
    name: str,
    value: str,
    below: str | None,
    days: Sequence[float],
    *,
    leads: tuple[str, str, Mapping[str, Any]],
    tip: str,
    kind: Kind = "line",
    after: str | None = None,
    colour: Literal["inverse", "off"] = "off",
) -> None:
    with st.container(border=True, height="stretch", key=f"card_{key}", gap="xsmall"):
        st.metric(
            name,
            value,
            below,
            delta_color=colour,
            delta_arrow="auto" if colour == "inverse" else "off",
            delta_description=after,
            chart_data=list(days) if len(days) > 1 and any(days) else None,
            chart_type=kind,
            help=tip,
        )
        page_name, label, query = leads
        st.page_link(f"views/{page_name}.py", label=label, query_params=as_query(query))


def _signals(counts: Mapping[tuple[str, str], int]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="signals_head"):
        heading("Two signals")
        as_table = st.toggle("Table", key="table", bind="query-params", width="content")
    sides = grid.quadrant_sides(counts)
    figure(
        lambda: grid.quadrant_chart(counts),
        grid.QUADRANT_HEIGHT,
        Table(
            (Column("Judge"), Column("User"), Column("Answers", "count")),
            tuple((grid.JUDGE[judge], grid.USER[user], counts.get((judge, user), 0)) for judge, user in sides),
        ),
        [responses(RowFilter(judge_side=judge, user=user)) for judge, user in sides],
        key="signals",
        says="Answers by what the judge and the user said",
        as_table=as_table,
        under=(signals_words(counts),),
    )


def _decisions(found: Overview) -> None:
    heading("Your last decisions")
    if not found.last_decisions:
        caption("None yet.")
        return
    table(
        Table(
            tuple(map(Column, ("When", "Question", "Decision", "Flagged for", "Id"))),
            tuple(
                (when(each.at), each.question, each.decision, capital(rule_words(each.rule)), each.external_id)
                for each in found.last_decisions
            ),
        ),
        [item(each.response_id) for each in found.last_decisions],
        key="last_decisions",
        under=("Click a line to open it.",),
    )


with page("Overview"):
    overview()

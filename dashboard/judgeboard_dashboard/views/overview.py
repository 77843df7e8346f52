"""The overview: open flags, the health of the judge, and where its signals and those of users differ."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import streamlit as st

from judgeboard.reports.output import Column, Table
from judgeboard.store.filters import RowFilter
from judgeboard.store.first_steps import first_steps
from judgeboard.store.open_flags import open_counts
from judgeboard.store.overview import Overview
from judgeboard.store.overview import overview as overview_of
from judgeboard_dashboard.evidence import as_label
from judgeboard_dashboard.review.queues import your_queues
from judgeboard_dashboard.session import as_query, current_reviewer, page, reading
from judgeboard_dashboard.widgets.first_steps import checklist
from judgeboard_dashboard.widgets.navigation import follow, item, responses
from judgeboard_dashboard.widgets.overview import (
    average_words,
    confirmed_words,
    cost_words,
    decided_words,
    open_flags_table,
    open_flags_words,
    signals_words,
    since_yesterday,
    usable_help,
    usable_words,
)
from judgeboard_dashboard.widgets.tables import figure, table
from judgeboard_dashboard.widgets.texts import (
    caption,
    heading,
    rules_words,
    sentence,
    when,
)

FAILED = ["unparsable", "refused", "error"]
Kind = Literal["line", "bar"]


def overview() -> None:
    """Show the current state of the queue, the judge and the log."""
    follow("overview", own=["table"])
    reviewer = current_reviewer()
    with reading() as connection:
        steps = first_steps(connection)
    if steps.next is not None:
        checklist(steps)
    if not steps.judged:
        return
    with reading() as connection:
        state = overview_of(connection, reviewer.id if reviewer else None, datetime.now(UTC).date())
        counts = open_counts(connection)
    your_queues(reviewer)
    if state.judge is None:
        return
    sentence(decided_words(state, named=reviewer is not None), lead=open_flags_words(state))
    _cards(state)
    with st.container(key="stack_overview"):
        left, right = st.columns([1.05, 1], gap="medium")
    with left:
        heading("Open flags")
        open_flags_table(counts)
    with right:
        _signals(state.quadrant)
    if reviewer is not None:
        _decisions(state)


def _cards(state: Overview) -> None:
    judged = state.judged_in_all
    usable, unusable = usable_words(judged)
    cost, cost_per_answer = cost_words(judged)
    confirmed, basis = confirmed_words(state)
    with st.container(horizontal=True, key="metrics", gap="small"):
        _card(
            "open_flags",
            "Answers with open flags",
            f"{state.today.open_answers:,}",
            since_yesterday(state),
            [day.open_answers for day in state.days],
            after="since yesterday",
            colour="inverse",
            leads=("queue", "Open the queue", {}),
            tip="Answers with open flags now, and at the end of each of the last 7 days (UTC)",
        )
        _card(
            "decided",
            "Decisions today",
            f"{state.today.decided:,}",
            average_words(state),
            [day.decided for day in state.days],
            kind="bar",
            leads=("responses", "Open decided answers", {"state": ["confirmed", "dismissed"]}),
            tip="Answers that people decided today (UTC), each counted once per person",
        )
        _card(
            "confirmed",
            "Confirmed flags",
            confirmed,
            basis,
            [day.confirmed / day.decided * 100 for day in state.days if day.decided],
            leads=("responses", "Open confirmed answers", {"state": ["confirmed"]}),
            tip="Share of decided flags that people confirmed, with its 95 % interval",
        )
        _card(
            "usable",
            "Usable verdicts, 7 days",
            usable,
            unusable,
            [day.ok / day.asked * 100 for day in state.judged if day.asked],
            leads=("responses", "Open unusable verdicts", {"status": FAILED, "judge": state.judge}),
            tip=as_label(f"{state.judge}. {usable_help(judged)}"),
        )
        _card(
            "cost",
            "Judge cost, 7 days",
            as_label(cost),
            as_label(cost_per_answer),
            [day.cost_micro / 1e6 for day in state.judged if day.cost_micro is not None],
            kind="bar",
            leads=("responses", "Open judged answers", {"judge": state.judge}),
            tip=as_label(f"Cost of {state.judge}. Requests of unknown price are counted separately."),
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
    from judgeboard_dashboard.widgets.charts import grid  # slow to import: the figures above do not wait for it

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
        says="Answers by the signals of judge and user",
        as_table=as_table,
        under=(signals_words(counts),),
    )


def _decisions(state: Overview) -> None:
    heading("Your last decisions")
    if not state.last_decisions:
        caption("None yet.")
        return
    table(
        Table(
            tuple(map(Column, ("When", "Question", "Decision", "Flagged for", "Id"))),
            tuple(
                (when(each.at), each.question, each.decision, rules_words(each.rules), each.external_id)
                for each in state.last_decisions
            ),
        ),
        [item(each.response_id) for each in state.last_decisions],
        key="last_decisions",
        under=("Click a row to open it.",),
    )


with page("Overview"):
    overview()

"""The page Overview: open flags, key figures of the judge, and answers by the signals of judge and user."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

import streamlit as st

from judgeboard.agreement.flag_worth import flag_precision
from judgeboard.domain import Estimate
from judgeboard.reports.output import Column, Columns, Table
from judgeboard.stats.estimates import MIN_PAIRS, percent, percent_interval
from judgeboard.store.clock import utc_now
from judgeboard.store.filters import RowFilter
from judgeboard.store.first_steps import first_steps
from judgeboard.store.flags import DecidedFlags
from judgeboard.store.open_flags import answers_done_by, open_counts
from judgeboard.store.overview import JudgeDay, LastDecision, Overview, sum_of_days
from judgeboard.store.overview import overview as overview_of
from judgeboard.store.strata import rate_mark
from judgeboard.store.traces import UnusedTraces, unused_traces
from judgeboard.text import money, shortened
from judgeboard_dashboard.evidence import as_label
from judgeboard_dashboard.review.queues import your_queues
from judgeboard_dashboard.session import (
    as_query,
    current_reviewer,
    kept_until_new_rows,
    page,
    reading,
    stacking_columns,
)
from judgeboard_dashboard.widgets.filters import table_switch
from judgeboard_dashboard.widgets.first_steps import checklist
from judgeboard_dashboard.widgets.navigation import Rows, cell_clicked, follow, item, open_button, queue, responses
from judgeboard_dashboard.widgets.notifications import show_alarms
from judgeboard_dashboard.widgets.tables import data_frame, figure, foot, one_line, table
from judgeboard_dashboard.widgets.texts import (
    RULES_HELP,
    capital,
    caption,
    count,
    day,
    heading,
    note,
    rule_words,
    rules_words,
    sentence,
    when,
)

FAILED = ["unparsable", "refused", "error"]
UNUSED_DAYS = 7
LONGEST_PACE = 60  # days ahead; later dates are too uncertain
MOST_TYPES = 6
LONGEST_TYPE = 20  # characters of a query type in the head of its column
OPEN_FLAGS = "open_flags"
DECISION_COLUMNS: Columns[LastDecision] = {
    Column("When"): lambda last: when(last.at),
    Column("Question"): lambda last: last.question,
    Column("Decision"): lambda last: last.decision,
    Column("Flagged for", help=RULES_HELP): lambda last: rules_words(last.rules, 36),
    Column("Id"): lambda last: last.external_id,
}


def overview() -> None:
    """Show the current state of the queue, the judge and the log."""
    follow("overview", own=["table"])
    reviewer = current_reviewer()
    with reading() as connection:
        steps = first_steps(connection)
        unused = unused_traces(connection, utc_now() - timedelta(days=UNUSED_DAYS))
    if steps.next is not None:
        checklist(steps)
    if unused is not None:
        _unused_traces(unused)
    if not steps.judged:
        return
    with reading() as connection:
        state = overview_of(connection, reviewer.id if reviewer else None, utc_now().date())
        counts = open_counts(connection)
        done = answers_done_by(connection, reviewer.id) if reviewer else 0
    show_alarms()
    your_queues(reviewer)
    if state.judge is None:
        return
    left_out = f" The queue leaves out {count(done, 'answer')} that you have reviewed." if done else ""
    sentence(decided_words(state, named=reviewer is not None) + left_out, lead=open_flags_words(state))
    _cards(state, kept_until_new_rows(rate_mark, flag_precision, ("flag_precision",)))
    left, right = stacking_columns("overview", [1.05, 1])
    with left:
        _open_flags(counts)
    with right:
        _signals(state.quadrant)
    if reviewer is not None:
        _decisions(state)


def _unused_traces(unused: UnusedTraces) -> None:
    """Show how many traces gave no answer and why, with a link to them."""
    with st.container(key="unused_traces", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        note(unused_words(unused), lead=unused_lead(unused))
        open_button("Open traces", Rows("sources", {"source": unused.source, "unused": "true"}), key="unused_open")


def unused_lead(unused: UnusedTraces) -> str:
    """Return "12 traces have no answer."."""
    return f"{count(unused.traces, 'trace')} {'has' if unused.traces == 1 else 'have'} no answer."


def unused_words(unused: UnusedTraces) -> str:
    """Return when the traces were received and why they have no answer.

    "Received in the last 7 days, 9 of them from shop. The model only asked for the tool search."
    """
    of_source = f"from {unused.source}"
    if unused.of_source < unused.traces:
        of_source = f"{unused.of_source:,} of them {of_source}"
    reason = f" Reason: {one_line(unused.reason)}" if unused.reason else ""
    return f"Received in the last {UNUSED_DAYS} days, {of_source}.{reason}"


def _cards(state: Overview, precision: Estimate) -> None:
    judged = sum_of_days(state.judged)
    cost, cost_per_judgment = map(as_label, cost_words(sum_of_days(state.judged_by_all)))
    with st.container(horizontal=True, key="metrics", gap="small"):
        _card(
            "open_flags",
            "Answers with open flags",
            f"{state.today.open_answers:,}",
            since_yesterday(state),
            [day.open_answers for day in state.days],
            after="since yesterday",
            colour="inverse",
            leads=("open_flags", "Open the queue", {}),
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
            "precision",
            "Flag precision",
            *precision_words(precision, state.decided_flags),
            [],
            leads=("agreement", "Open shares by rule", {}),
            tip="Share of bad answers among the answers that a rule flagged, with its 95 % interval. n counts the "
            "labels that count. They are weighted as in `judgeboard labels rate`.",
        )
        _card(
            "usable",
            "Usable replies, 7 days",
            *usable_words(judged, state.without_verdict),
            [day.ok / day.asked * 100 for day in state.judged if day.asked],
            leads=("responses", "Open unusable replies", {"status": FAILED, "judge": state.judge}),
            tip=as_label(f"{state.judge}. {usable_help(judged, state.without_verdict)}"),
        )
        _card(
            "cost",
            "Judge cost, 7 days",
            cost,
            cost_per_judgment,
            [day.cost_micro / 1e6 for day in state.judged_by_all if day.cost_micro is not None],
            kind="bar",
            leads=("runs", "Open runs", {}),
            tip="Cost of the judgments of all judges. Recorded judgments, comparisons, audits and other calls are not "
            "included. Judgments of unknown price are counted separately.",
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
    kind: Literal["line", "bar"] = "line",
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


def _open_flags(counts: Sequence[tuple[str, str, int]]) -> None:
    """Show ``counts`` (rule, query type, answers): one row per rule, one column for each of six query types."""
    heading("Open flags")
    if not counts:
        caption("No open flags.")
        return
    rules, types, rows = _totals(counts, 0), types_of(counts), rows_of(counts)
    names = {f"type_{place}": name for place, name in enumerate(types)}
    targets: list[dict[str, Rows]] = [
        {
            "rule": queue(rule=rule),
            "all": queue(rule=rule),
            **{column: queue(rule=rule, query_type=name) for column, name in names.items()},
        }
        for rule, _ in rules
    ]
    data_frame(
        rows,
        key=OPEN_FLAGS,
        selection_mode="single-cell",
        on_select=cell_clicked(OPEN_FLAGS, targets),
        columns={
            "rule": st.column_config.TextColumn("Rule", width=140),
            # Query types come from the log. As column names, they could collide with each other or with ours.
            **{
                column: st.column_config.NumberColumn(shortened(name, LONGEST_TYPE) or " ", format="localized")
                for column, name in names.items()
            },
            "all": st.column_config.ProgressColumn(
                "All types", min_value=0, max_value=rules[0][1], format="%d", width=150
            ),
        },
    )
    left_out = len(_totals(counts, 1)) - len(types)
    foot(
        Table((Column("rule"), Column("query_type"), Column("answers", "integer")), tuple(counts)),
        "open_flags",
        "Answers with an open flag, by rule. Click a number to open them in the queue.",
        f"The last column includes {count(left_out, 'more query type')}." if left_out else None,
    )


def types_of(counts: Sequence[tuple[str, str, int]]) -> list[str]:
    """Return the six most frequent query types, the most frequent first."""
    return [name for name, _ in _totals(counts, 1)[:MOST_TYPES]]


def rows_of(counts: Sequence[tuple[str, str, int]]) -> Table:
    """Return one row per rule; a cell without open flags is empty."""
    known = {(rule, query_type): flags for rule, query_type, flags in counts}
    types = types_of(counts)
    numbers = (Column(name, "count") for name in (*(f"type_{place}" for place in range(len(types))), "all"))
    rows = (
        (capital(rule_words(rule)), *(known.get((rule, name)) for name in types), total)
        for rule, total in _totals(counts, 0)
    )
    return Table((Column("rule"), *numbers), tuple(rows))


def _totals(counts: Sequence[tuple[str, str, int]], place: Literal[0, 1]) -> list[tuple[str, int]]:
    """Return the number of answers for each rule (0) or query type (1), the largest number first."""
    totals = Counter[str]()
    for count_ in counts:
        totals[count_[place]] += count_[2]
    return sorted(totals.items(), key=lambda total: (-total[1], total[0]))


def _signals(counts: Mapping[tuple[str, str], int]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="signals_head"):
        heading("Two signals")
        as_table = table_switch()
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
        Table.of(state.last_decisions, DECISION_COLUMNS),
        [item(each.response_id) for each in state.last_decisions],
        key="last_decisions",
        under=("Click a row to open it.",),
    )


def open_flags_words(state: Overview) -> str:
    """Return "193 answers have open flags."."""
    answers = state.today.open_answers
    return (
        f"{count(answers, 'answer')} {'has' if answers == 1 else 'have'} open flags." if answers else "No open flags."
    )


def decided_words(state: Overview, *, named: bool) -> str:
    """Return "118 decisions today, 37 of them yours. At this week's pace the queue is empty on Thursday."."""
    words = "No decisions yet today."
    if state.today.decided:
        yours = f", {state.today.decided_by_me:,} of them yours" if named else ""
        words = f"{count(state.today.decided, 'decision')} today{yours}."
    return " ".join(filter(None, (words, pace_words(state))))


def pace_words(state: Overview) -> str | None:
    """Return when the queue is empty at the pace of the last seven days; None if it does not become shorter."""
    shorter = sum(each.decided - each.flagged for each in state.days) / len(state.days)
    if not state.today.open_answers or shorter <= 0:
        return None
    days = math.ceil(state.today.open_answers / shorter - 1e-9)
    if days > LONGEST_PACE:
        return None
    on = state.days[-1].day + timedelta(days=days)
    empty_on = "tomorrow" if days == 1 else f"on {on:%A}" if days < 7 else f"on {day(on)}"
    return f"At this week’s pace the queue is empty {empty_on}."


def since_yesterday(state: Overview) -> str | None:
    """Return how many more answers have open flags than yesterday ("-31", "+1,850"); None if unknown."""
    if len(state.days) < 2:
        return None
    more = state.today.open_answers - state.days[-2].open_answers
    return f"{more:+,}" if more else "0"


def average_words(state: Overview) -> str | None:
    """Return "+12 vs. daily average" (of the days before); None if there were no decisions on these days."""
    before = [each.decided for each in state.days[:-1]]
    if not any(before):
        return None
    return f"{state.today.decided - round(sum(before) / len(before)):+,} vs. daily average"


def precision_words(precision: Estimate, decided: DecidedFlags) -> tuple[str, str]:
    """Return the precision of flags and its basis: ("64 %", "n = 611, [60, 68]").

    With too few labels that count, return the decided flags: ("9 of 11", "decided flags confirmed (7 answers)").
    """
    if precision.value is not None and precision.n >= MIN_PAIRS:
        return percent(precision.value), ", ".join(filter(None, (f"n = {precision.n:,}", percent_interval(precision))))
    if not decided.flags:
        return "–", "none decided yet"
    flags = "decided flag" if decided.flags == 1 else "decided flags"
    return f"{decided.confirmed:,} of {decided.flags:,}", f"{flags} confirmed ({count(decided.answers, 'answer')})"


def usable_words(judged: JudgeDay, without_verdict: int = 0) -> tuple[str, str]:
    """Return the share of usable replies and the unusable ones: ("99 %", "39 of 3,012 unusable")."""
    if not judged.asked:
        return "–", "no requests in 7 days"
    unusable = judged.asked - judged.ok
    words = f"{unusable:,} of {judged.asked:,} unusable"
    if without_verdict:
        words += f", {count(without_verdict, 'answer')} without groundedness"
    return percent(judged.ok / judged.asked), words


def usable_help(judged: JudgeDay, without_verdict: int = 0) -> str:
    """Return the number of requests as a sum over their results, and what answers without groundedness are."""
    words = (
        f"Last 7 days: {judged.asked:,} asked = {judged.ok:,} ok + {judged.unparsable:,} unparsable + "
        f"{judged.refused:,} refused + {judged.error:,} error"
    )
    if without_verdict:
        words += (
            f". In the whole log, {count(without_verdict, 'answer')} got a reply without groundedness. Agreement and "
            "rates count them as answers without a usable verdict"
        )
    return words


def cost_words(judged: JudgeDay) -> tuple[str, str]:
    """Return the cost of judgments in 7 days and of one: ("$ 4.18", "$ 0.0014 per judgment"), or "unknown".

    Judgments that cost nothing are not in the cost of one.
    """
    if not judged.asked:
        return "–", "no requests in 7 days"
    if judged.cost_micro is None:
        return "unknown", "no price known"
    paid = judged.asked - judged.unpriced - judged.free
    judgment = "paid judgment" if judged.free else "judgment"
    each = f"{money(round(judged.cost_micro / paid))} per {judgment}" if judged.cost_micro and paid else "no cost"
    return money(judged.cost_micro), f"{each}, {judged.unpriced:,} unknown" if judged.unpriced else each


def signals_words(counts: Mapping[tuple[str, str], int]) -> str:
    """Return the meaning of the quadrant, and the number of answers in its last row."""
    without = sum(n for (judge, _), n in counts.items() if judge == "none")
    words = "A problem is corroborated if both judge and user report it. It is confirmed if a person confirms it."
    if without:
        words += f" The last row has {count(without, 'answer')} without a usable reply of the judge."
    return f"{words} Click a cell to open its answers."


with page():
    overview()

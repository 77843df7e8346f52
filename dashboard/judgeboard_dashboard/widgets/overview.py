"""The sentences of the overview, and its table of open flags."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Literal

import streamlit as st

from judgeboard.reports.output import Column, Table
from judgeboard.stats.estimates import MIN_PAIRS, percent, percent_interval, too_few
from judgeboard.store.overview import JudgeDay, Overview
from judgeboard.text import money
from judgeboard_dashboard.widgets.navigation import Rows, cell_clicked, queue
from judgeboard_dashboard.widgets.tables import csv_button, data_frame
from judgeboard_dashboard.widgets.texts import capital, caption, count, day, rule_words

LONGEST_PACE = 60  # days ahead; later dates are too uncertain


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
    """Return when the queue is empty at the pace of the last seven days, None if it does not get shorter."""
    shorter = sum(each.decided - each.flagged for each in state.days) / len(state.days)
    if not state.today.open_answers or shorter <= 0:
        return None
    days = math.ceil(state.today.open_answers / shorter - 1e-9)
    if days > LONGEST_PACE:
        return None
    on = state.days[-1].day + timedelta(days=days)
    when = "tomorrow" if days == 1 else f"on {on:%A}" if days < 7 else f"on {day(on)}"
    return f"At this week’s pace the queue is empty {when}."


def since_yesterday(state: Overview) -> str | None:
    """Return how many more answers have open flags than yesterday ("-31", "+1,850"), None without a yesterday."""
    if len(state.days) < 2:
        return None
    more = state.today.open_answers - state.days[-2].open_answers
    return f"{more:+,}" if more else "0"


def average_words(state: Overview) -> str | None:
    """Return "+12 vs. daily average": today and the mean of the days before, None without decisions then."""
    before = [each.decided for each in state.days[:-1]]
    if not any(before):
        return None
    return f"{state.today.decided - round(sum(before) / len(before)):+,} vs. daily average"


def confirmed_words(state: Overview) -> tuple[str, str]:
    """Return the share of confirmed flags and its basis: ("64 %", "n = 611, [60, 68]")."""
    share = state.confirmed
    if share.value is None or share.n < MIN_PAIRS:
        return "–", too_few(share.n) if share.n else "none decided yet"
    return percent(share.value), ", ".join(filter(None, (f"n = {share.n:,}", percent_interval(share))))


def usable_words(judged: JudgeDay) -> tuple[str, str]:
    """Return the share of usable verdicts and the number of others: ("99 %", "39 of 3,012 unusable")."""
    if not judged.asked:
        return "–", "no requests in 7 days"
    unusable = judged.asked - judged.ok
    return percent(judged.ok / judged.asked), f"{unusable:,} of {judged.asked:,} unusable"


def usable_help(judged: JudgeDay) -> str:
    """Return how the number of requests adds up."""
    return (
        f"Last 7 days: {judged.asked:,} asked = {judged.ok:,} ok + {judged.unparsable:,} unparsable + "
        f"{judged.refused:,} refused + {judged.error:,} error"
    )


def cost_words(judged: JudgeDay) -> tuple[str, str]:
    """Return the judge's cost in 7 days and per answer: ("$ 4.18", "$ 0.0014 per answer"); unknown is never 0."""
    if not judged.asked:
        return "–", "no requests in 7 days"
    if judged.cost_micro is None:
        return "unknown", "no price known"
    priced = judged.asked - judged.unpriced
    per_answer = f"{money(round(judged.cost_micro / priced))} per answer" if judged.cost_micro and priced else "no cost"
    return money(judged.cost_micro), f"{per_answer}, {judged.unpriced:,} unknown" if judged.unpriced else per_answer


def signals_words(counts: Mapping[tuple[str, str], int]) -> str:
    """Return the meaning of the quadrant, and the number of answers in its last row."""
    without = sum(n for (judge, _), n in counts.items() if judge == "none")
    words = "A problem is corroborated if both judge and user report it. It is confirmed if a person confirms it."
    if without:
        words += f" The last row has {count(without, 'answer')} without a usable verdict."
    return f"{words} Click a cell to open its answers."


MOST_TYPES = 6
KEY = "open_flags"


def open_flags_table(counts: Sequence[tuple[str, str, int]]) -> None:
    """Show the table of (rule, query type, answers): one row per rule, the six largest query types as columns."""
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
        key=KEY,
        selection_mode="single-cell",
        on_select=cell_clicked(KEY, targets),
        columns={
            "rule": st.column_config.TextColumn("Rule", width=140),
            # Query types are texts of the log: as column names two of them, or one of ours, could collide.
            **{
                column: st.column_config.NumberColumn(name or " ", format="localized") for column, name in names.items()
            },
            "all": st.column_config.ProgressColumn(
                "All types", min_value=0, max_value=rules[0][1], format="%d", width=150
            ),
        },
    )
    left_out = len(_totals(counts, 1)) - len(types)
    with st.container(key="foot_open_flags", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        caption(
            "Answers with an open flag, by rule. Click a number to open them in the queue.",
            f"The last column includes {left_out} more query types." if left_out else None,
        )
        columns = (Column("rule"), Column("query_type"), Column("answers", "integer"))
        csv_button(Table(columns, tuple(counts)), "open-flags", key="open_flags_csv")


def types_of(counts: Sequence[tuple[str, str, int]]) -> list[str]:
    """Return the six query types with most answers, the most first."""
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
    """Return the answers of every rule (0) or query type (1), the most first."""
    totals = Counter[str]()
    for count_ in counts:
        totals[count_[place]] += count_[2]
    return sorted(totals.items(), key=lambda total: (-total[1], total[0]))

"""The sentences and the table of open flags on the overview."""

import math
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.stats.estimates import percent, percent_interval
from judgeboard.store.overview import JudgeDay, Overview
from judgeboard_dashboard.widgets.navigation import Rows, cell_clicked, queue
from judgeboard_dashboard.widgets.tables import ROW_HEIGHT, csv_button, frame, height
from judgeboard_dashboard.widgets.texts import capital, caption, count, day, money, rule_words

LONGEST_PACE = 60  # days ahead; beyond that a date would be a promise
FEW = 10
TOO_FEW = f"too few to say (under {FEW})"


def waiting_words(found: Overview) -> str:
    """Return "212 flags wait for a person."."""
    if not found.waiting:
        return "Nothing waits for a person."
    return f"{count(found.waiting, 'flag')} {'waits' if found.waiting == 1 else 'wait'} for a person."


def done_words(found: Overview, *, named: bool) -> str:
    """Return "You decided 37 today, the desk 118. At this week's pace the queue is empty on Thursday."."""
    if not found.decided_today:
        said = "Nothing was decided today yet."
    elif named:
        said = f"You decided {found.decided_today_by_me:,} today, the desk {found.decided_today:,}."
    else:
        said = f"The desk decided {found.decided_today:,} today."
    pace = pace_words(found)
    return f"{said} {pace}" if pace else said


def pace_words(found: Overview) -> str | None:
    """Return when the queue is empty if every day goes as the last seven did, None where it does not get shorter."""
    shorter = sum(each.decided - each.raised for each in found.days) / len(found.days)
    if not found.waiting or shorter <= 0:
        return None
    days = math.ceil(found.waiting / shorter - 1e-9)
    if days > LONGEST_PACE:
        return None
    on = found.days[-1].day + timedelta(days=days)
    when = "tomorrow" if days == 1 else f"on {on:%A}" if days < 7 else f"on {day(on)}"
    return f"At this week’s pace the queue is empty {when}."


def since_yesterday(found: Overview) -> str | None:
    """Return how many more flags wait than yesterday evening ("-31", "+1,850"), None without a yesterday."""
    if len(found.days) < 2:
        return None
    more = found.waiting - found.days[-2].waiting
    return f"{more:+,}" if more else "0"


def usual_words(found: Overview) -> str | None:
    """Return "+12 on a usual day": today against the mean of the days before, None where nothing was decided then."""
    before = [each.decided for each in found.days[:-1]]
    if not any(before):
        return None
    return f"{found.decided_today - round(sum(before) / len(before)):+,} on a usual day"


def confirmed_words(found: Overview) -> tuple[str, str]:
    """Return the share of confirmed flags and what it rests on: ("64 %", "n = 611, [60, 68]")."""
    each = found.confirmed
    if each.value is None or each.n < FEW:
        return "–", TOO_FEW if each.n else "none decided yet"
    return percent(each.value), ", ".join(filter(None, (f"n = {each.n:,}", percent_interval(each))))


def confirmed_days(found: Overview) -> list[float]:
    """Return the share confirmed of each day on which anything was decided."""
    return [each.confirmed / each.decided * 100 for each in found.days if each.decided]


def usable_words(judged: JudgeDay) -> tuple[str, str]:
    """Return the share of usable verdicts and the others: ("98.7 %", "39 of 3,012 not")."""
    if not judged.asked:
        return "–", "nothing asked in 7 days"
    not_usable = judged.asked - judged.ok
    share = f"{judged.ok / judged.asked:.1%}".replace("%", " %")
    if not_usable and share == "100.0 %":
        share = "over 99.9 %"
    return share.replace("100.0 %", "100 %"), f"{not_usable:,} of {judged.asked:,} not"


def usable_help(judged: JudgeDay) -> str:
    """Return how the number of requests adds up."""
    return (
        f"Last 7 days: {judged.asked:,} asked = {judged.ok:,} ok + {judged.unparsable:,} unparsable + "
        f"{judged.refused:,} refused + {judged.error:,} error"
    )


def usable_days(days: Sequence[JudgeDay]) -> list[float]:
    """Return the usable share of each day on which anything was asked."""
    return [each.ok / each.asked * 100 for each in days if each.asked]


def cost_words(judged: JudgeDay) -> tuple[str, str]:
    """Return what the judge cost in 7 days and an answer: ("$ 4.18", "$ 0.0014 an answer"); unknown is never 0."""
    if not judged.asked:
        return "–", "nothing asked in 7 days"
    if judged.cost_micro is None:
        return "unknown", "no price known"
    priced = judged.asked - judged.unpriced
    each = f"{money(round(judged.cost_micro / priced))} an answer" if judged.cost_micro and priced else "no cost"
    return money(judged.cost_micro), f"{each}, {judged.unpriced:,} unknown" if judged.unpriced else each


def signals_words(counts: Mapping[tuple[str, str], int]) -> str:
    """Return what the quadrant means, and which answers stand in its last row."""
    without = sum(n for (judge, _), n in counts.items() if judge == "none")
    said = "A problem is corroborated when judge and user both say so, confirmed when a person does."
    if without:
        said += f" {count(without, 'answer')} without a usable verdict {'stands' if without == 1 else 'stand'} below."
    return f"{said} Click a cell to open its answers."


MOST_TYPES = 6
KEY = "what_waits"
_RULE, _ALL = "rule", "all"


def waiting_table(counts: Sequence[tuple[str, str, int]]) -> None:
    """Show the table of (rule, query type, open flags)."""
    if not counts:
        caption("Nothing waits.")
        return
    rules, types = lines_of(counts), types_of(counts)
    rows = rows_of(counts)
    most = max(total for _, total in rules)
    st.dataframe(
        rows,
        key=KEY,
        hide_index=True,
        placeholder="",
        row_height=ROW_HEIGHT,
        height=height(len(rows)),
        selection_mode="single-cell",
        on_select=cell_clicked(KEY, [_RULE, *rows.columns[1:]], _targets(rules, types)),
        column_config={
            _RULE: st.column_config.TextColumn("Rule", width=140),
            # Query types are texts of the log: as names of columns two of them, or one of ours, could collide.
            **{
                f"type_{place}": st.column_config.NumberColumn(name or " ", format="localized")
                for place, name in enumerate(types)
            },
            _ALL: st.column_config.ProgressColumn("All types", min_value=0, max_value=most, format="%d", width=150),
        },
    )
    left_out = len({query_type for _, query_type, _ in counts}) - len(types)
    with st.container(key="foot_waits", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        caption(
            "Click a number to open those flags in the queue.",
            f"{left_out} more query types are counted in the last column." if left_out else None,
        )
        csv_button(_file(counts), "what-waits", key="waits_csv")


def lines_of(counts: Sequence[tuple[str, str, int]]) -> list[tuple[str, int]]:
    """Return (rule, open flags) of every rule, the most first."""
    totals: dict[str, int] = {}
    for rule, _, waiting in counts:
        totals[rule] = totals.get(rule, 0) + waiting
    return sorted(totals.items(), key=lambda line: (-line[1], line[0]))


def types_of(counts: Sequence[tuple[str, str, int]]) -> list[str]:
    """Return the six query types with most open flags, the most first."""
    totals: dict[str, int] = {}
    for _, query_type, waiting in counts:
        totals[query_type] = totals.get(query_type, 0) + waiting
    return sorted(totals, key=lambda name: (-totals[name], name))[:MOST_TYPES]


def rows_of(counts: Sequence[tuple[str, str, int]]) -> pd.DataFrame:
    """Return one line per rule; an empty cell where nothing waits."""
    known = {(rule, query_type): waiting for rule, query_type, waiting in counts}
    types = types_of(counts)
    columns = {_RULE: "str", **{f"type_{place}": "Int64" for place in range(len(types))}, _ALL: "Int64"}
    lines: list[tuple[Any, ...]] = [
        (capital(rule_words(rule)), *(known.get((rule, name)) for name in types), total)
        for rule, total in lines_of(counts)
    ]
    return frame(columns, lines)


def _targets(rules: Sequence[tuple[str, int]], types: Sequence[str]) -> list[dict[str, Rows]]:
    return [
        {
            _RULE: queue(rule=rule),
            _ALL: queue(rule=rule),
            **{f"type_{place}": queue(rule=rule, query_type=name) for place, name in enumerate(types)},
        }
        for rule, _ in rules
    ]


def _file(counts: Sequence[tuple[str, str, int]]) -> pd.DataFrame:
    return frame({"rule": "str", "query_type": "str", "open_flags": "Int64"}, counts)

"""People with people, judges with judges, a judge with its repeats: all together, then pair by pair."""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from judgeboard.agreement.names import STATISTICS, is_share, left_out_words, statistic_name
from judgeboard.agreement.rater_cells import ALL, RaterCell, Raters
from judgeboard.agreement.result import AgreementResult
from judgeboard.answer_pairs import GRADES, GradeName
from judgeboard.stats.rater_agreement import RaterPair
from judgeboard_dashboard.charts.whisker import Slice, whisker_chart, whisker_height
from judgeboard_dashboard.drill import rater_rows
from judgeboard_dashboard.estimates import file_of, in_percent, interval_words, value_words
from judgeboard_dashboard.figure import figure, table
from judgeboard_dashboard.picking import Rows
from judgeboard_dashboard.saying import caption, heading, instead
from judgeboard_dashboard.tables import frame

COLUMNS = {
    "Agree": st.column_config.ProgressColumn(min_value=0, max_value=100, format="%.0f %%", color="primary", width=96),
    "95 %": st.column_config.TextColumn(width=96),
    "95 % ": st.column_config.TextColumn(width=100),
    **{
        statistic_name(name): st.column_config.NumberColumn(format="%.2f")
        for name in ("kappa", "weighted_kappa", "spearman")
    },
}
_BEYOND_CHANCE = ("kappa", "weighted_kappa", "spearman")
_RATERS: dict[str, Raters] = {"people": "people", "judges": "judges"}


def show_raters(found: AgreementResult, ids: Mapping[str, int], *, as_tables: bool) -> None:
    """Show a result of several raters; ``ids`` of people, or of judge versions, by name."""
    with st.container(key="stack_raters"):
        left, right = st.columns([1.45, 1], gap="medium")
    with left:
        _pairs(found, ids)
        _themselves(found, ids)
        _gold(found, ids)
    with right:
        _together(found)
        _slices(found, as_tables=as_tables)


def _together(found: AgreementResult) -> None:
    heading("All together")
    lead = found.statistics["alpha"]
    names = [
        name
        for name in STATISTICS
        if name in found.statistics and (name == "alpha" or found.statistics[name] is not lead)
    ]
    rows = frame(
        {"Figure": "str", "Value": "str", "95 %": "str", "Answers": "Int64"},
        (
            (
                statistic_name(name),
                value_words(each, share=is_share(name)),
                interval_words(each, share=is_share(name)),
                each.n,
            )
            for name in names
            for each in (found.statistics[name],)
        ),
    )
    left_out = [f"Left out: {n:,} {left_out_words(why)}." for why, n in found.left_out.items()]
    units = {each.unit for each in found.statistics.values()} - {None}
    table(
        rows,
        [_all_of(found)] * len(rows),
        key="raters_together",
        under=(f"Intervals: 95 %, by {units.pop()}." if len(units) == 1 else None, *left_out),
        csv=file_of({"Figure": "str"}, (((statistic_name(name),), found.statistics[name]) for name in names)),
    )


def _pairs(found: AgreementResult, ids: Mapping[str, int]) -> None:
    heading("Pair by pair")
    if not found.raters:
        caption("No two of them rated the same answer.")
        return
    raters = _RATERS.get(found.choice.of)
    table(
        _pair_table(found.raters, two=True),
        [_rows(raters, found.grade, ids, each.first, each.second) for each in found.raters],
        key=f"raters_{found.choice.of}",
        under=("Click a line to read the answers that both rated.",) if raters else (),
        columns=COLUMNS,
        csv=file_of(
            {"First": "str", "Second": "str", "Figure": "str"},
            (
                ((each.first, each.second, statistic_name(name)), estimate)
                for each in found.raters
                for name, estimate in each.statistics.items()
            ),
        ),
    )


def _themselves(found: AgreementResult, ids: Mapping[str, int]) -> None:
    if not found.themselves:
        return
    heading("People with themselves")
    table(
        _pair_table(found.themselves, two=False),
        [_rows("twice", found.grade, ids, each.first, each.first) for each in found.themselves],
        key="raters_twice",
        under=("Answers that a queue served somebody again: the first grade and the one given then.",),
        columns=COLUMNS,
    )


def _gold(found: AgreementResult, ids: Mapping[str, int]) -> None:
    if not found.against_gold:
        return
    heading("People beside what a lead settled")
    rows = frame(
        {"Person": "str", "Answers": "Int64", "Agree": "Float64", "95 %": "str"},
        (
            (
                each.name,
                each.n,
                in_percent(each.statistics.agreement),
                interval_words(each.statistics.agreement, share=True),
            )
            for each in found.against_gold
        ),
    )
    targets = [_rows("gold", found.grade, ids, each.name, each.name) for each in found.against_gold]
    table(rows, targets, key="raters_gold", under=("Click a line to read those answers.",), columns=COLUMNS)


def _slices(found: AgreementResult, *, as_tables: bool) -> None:
    if not found.slices:
        return
    heading(f"By {(found.choice.by or '').replace('_', ' ')}")
    lead = "alpha"
    if found.statistics[lead].value is None:
        instead(f"{statistic_name(lead)}: {found.statistics[lead].reason}.")
        return
    lines = [("All", found.n, found.statistics[lead])]
    lines += [(one.name, one.n, one.statistics[lead]) for one in sorted(found.slices, key=lambda each: -each.n)[:8]]
    figure(
        lambda: whisker_chart([Slice(*line) for line in lines], f"{statistic_name(lead)}, 95 % interval"),
        whisker_height(len(lines)),
        frame(
            {"Slice": "str", "Answers": "Int64", statistic_name(lead): "str", "95 %": "str"},
            ((name, n, value_words(each, share=False), interval_words(each, share=False)) for name, n, each in lines),
        ),
        [
            _all_of(found),
            *(_all_of(found, name) for name, _, _ in lines[1:]),
        ],
        key=f"raters_slices_{found.choice.of}",
        says=f"{statistic_name(lead)} with 95 % interval by slice",
        as_table=as_tables,
        under=("0 is what chance would give, 1 is full agreement.",),
    )


def _all_of(found: AgreementResult, name: str | None = None) -> Rows | None:
    """Return the answers that two raters or more rated, or those of them in a slice."""
    raters = _RATERS.get(found.choice.of)
    grade = next((each for each in GRADES if each == found.grade), None)
    if raters is None or grade is None:
        return None
    return rater_rows(RaterCell(raters, grade, ALL, ALL, None if name is None else found.choice.by, name))


def _pair_table(pairs: Sequence[RaterPair], *, two: bool) -> pd.DataFrame:
    """Return a line per pair of raters: how often they agree, and beyond chance or in order."""
    lead = next((name for name in _BEYOND_CHANCE if any(name in each.statistics for each in pairs)), "spearman")
    if any("weighted_kappa" in each.statistics for each in pairs):
        lead = "weighted_kappa"
    shares = any("agreement" in each.statistics for each in pairs)
    names = {"First": "str", "Second": "str"} if two else {"Person": "str"}
    agree = {"Agree": "Float64", "95 %": "str"} if shares else {}
    columns = {**names, "Answers": "Int64", **agree, statistic_name(lead): "Float64", "95 % ": "str"}
    rows = []
    for each in pairs:
        who = (each.first, each.second) if two else (each.first,)
        agreed = each.statistics.get("agreement")
        share = (in_percent(agreed), interval_words(agreed, share=True)) if shares and agreed else ()
        led = each.statistics[lead]
        rows.append((*who, each.n, *share, led.value, interval_words(led, share=False)))
    return frame(columns, rows)


def _rows(raters: Raters | None, grade: str, ids: Mapping[str, int], first: str, second: str) -> Rows | None:
    known: GradeName | None = next((each for each in GRADES if each == grade), None)
    if raters is None or known is None or first not in ids or second not in ids:
        return None
    return rater_rows(RaterCell(raters, known, ids[first], ids[second]))

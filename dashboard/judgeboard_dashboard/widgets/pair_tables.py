"""The tables of the page Pairs."""

from collections.abc import Mapping, Sequence
from typing import Any

from judgeboard.domain import Estimate
from judgeboard.methods.pair_report import ALL, PairGroup, PairLine, figures_of
from judgeboard.reports.output import UNKNOWN, Column, Table
from judgeboard.stats.estimates import percent_words
from judgeboard.store.comparisons import PairHead
from judgeboard_dashboard.review.pairs import people_words, stored_words, verdict_words
from judgeboard_dashboard.widgets.tables import file_of, one_line

# Slice, pairs and the four shares are visible at a width of 800 px; the counts follow.
GROUP_COLUMNS = (
    Column("Slice", width=195),
    Column("Aspect", width=165),
    Column("Pairs", "count", width=55),
    Column("Same in both orders", width=128, help="Share of pairs with the same preference in both orders"),
    Column("Prefers first", width=105, help="Ties excluded. 50 % means no position bias."),
    Column("Accuracy", width=128, help="Agreement with gold, mean of both orders"),
    Column("If consistent", width=128, help="Accuracy on the pairs with the same preference in both orders"),
    Column("With people", width=125, help="Agreement with the majority of people"),
    Column("A better", "count", width=70),
    Column("B better", "count", width=70),
    Column("Tie", "count", width=50),
    Column(
        "Change with order", "count", width=125, help="Number of pairs with A in one order and B in the other (flips)"
    ),
    Column("Tie in one order", "count", width=112, help="Number of pairs with a tie in one order only"),
    Column("No verdict", "count", width=95),
)
_OF_TWO_ORDERS = ("Same in both orders", "Prefers first", "If consistent", "Change with order", "Tie in one order")
LINE_COLUMNS = (
    Column("A first", width=60, help="The judge's preference when answer A was shown first"),
    Column("B first", width=60, help="The judge's preference when answer B was shown first"),
    Column("Judge", width=95),
    Column("Gold", width=55),
    Column("People", width=75),
    Column("Overruled", width=82),
    Column("Question", width=300),
    Column("Type", width=185),
    Column("Answer A by", width=120),
    Column("Answer B by", width=120),
    Column("Pair", width=170),
)


def groups_table(groups: Sequence[PairGroup]) -> Table:
    """Return the figures with their intervals, and with n if it differs from the number of measured pairs.

    Columns without information are left out: a single slice or aspect, no gold, no people, or figures of two orders
    for a judge that was asked in one.
    """
    aspects = {group.aspect for group in groups}
    left_out = {
        ("Slice",): len(aspects) > 1 and all(group.slice == ALL for group in groups),
        ("Aspect",): len(aspects) == 1,
        ("With people",): all(group.people.value is None for group in groups),
        ("Accuracy", "If consistent"): all(group.accuracy_orders_mean.value is None for group in groups),
        _OF_TWO_ORDERS: all(group.one_order for group in groups),
    }
    rows = Table(GROUP_COLUMNS, tuple(map(_group_line, groups)))
    return rows.without({name for names, away in left_out.items() if away for name in names})


def groups_file(groups: Sequence[PairGroup]) -> Table:
    """Return the statistics as plain numbers, one per row."""
    rows = (((group.slice, group.aspect, name), each) for group in groups for name, each in figures_of(group))
    return file_of(("Slice", "Aspect", "Statistic"), rows)


def lines_table(lines: Sequence[PairLine], heads: Mapping[int, PairHead]) -> Table:
    """Return the pairs; empty columns are left out."""
    return Table(LINE_COLUMNS, tuple(_line(line, heads[line.pair_id]) for line in lines)).without_empty()


def _group_line(group: PairGroup) -> tuple[Any, ...]:
    counts = group.counts
    measured = counts.pairs - counts.unmeasured
    return (
        "All pairs" if group.slice == ALL else group.slice,
        group.aspect,
        counts.pairs,
        _share(group.self_consistency, measured),
        _share(group.first_position, group.first_position.n),
        *(_share(each, measured) for each in (group.accuracy_orders_mean, group.accuracy_consistent, group.people)),
        *(counts.wins_a, counts.wins_b, counts.ties, counts.flips, counts.tie_win, counts.unmeasured),
    )


def _share(estimate: Estimate, expected: int) -> str:
    if estimate.value is None:
        return UNKNOWN
    words = percent_words(estimate)
    return words if estimate.n == expected else f"{words}, n {estimate.n:,}"


def _line(line: PairLine, head: PairHead) -> tuple[Any, ...]:
    return (
        stored_words(line.ab),
        stored_words(line.ba),
        verdict_words(line),
        stored_words(line.gold),
        people_words(line),
        stored_words(line.overruled),
        one_line(head.question or ""),
        line.query_type,
        head.model_a,
        head.model_b,
        head.external_id,
    )

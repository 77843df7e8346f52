"""The tables of the agreement page: one line per judge version, rule, statistic, cell."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from judgeboard.agreement import AgreementRow
from judgeboard.agreement.names import STATISTICS, is_share, statistic_name
from judgeboard.agreement.page import SameAnswers, TimePoint
from judgeboard.agreement.statistics import of_grade
from judgeboard.answer_pairs import GradeName
from judgeboard.domain import Estimate
from judgeboard.flag_worth import FlagsWorth
from judgeboard.stats.calibration import Tenth
from judgeboard.stats.confusion import Confusion
from judgeboard.trend_words import day_words
from judgeboard_dashboard.estimates import both_words, file_of, in_percent, interval_words, value_words
from judgeboard_dashboard.tables import frame
from judgeboard_dashboard.words import capital, rule_words

# Their complements stand in their place: what is missed, and what is a false alarm.
_NOT_SHOWN = {"sensitivity", "specificity"}
HEADLINES: dict[GradeName, str] = {
    "label": "Cohen's kappa",
    "quality": "Weighted kappa",
    "groundedness": "Spearman rank correlation",
}


def statistics_of(row: AgreementRow) -> dict[str, Estimate]:
    """Return by name the statistics that the row's grade has, in the order in which they are shown."""
    found = of_grade(row.statistics)
    if "sensitivity" in found:
        found |= {"missed": row.missed, "false_alarms": row.false_alarms}
    return {name: found[name] for name in STATISTICS if name in found.keys() - _NOT_SHOWN - {"accuracy"}}


def figures_table(row: AgreementRow) -> pd.DataFrame:
    """Return every statistic of a row with its interval and n."""
    return frame(
        {"Figure": "str", "Value": "str", "95 %": "str", "Answers": "Int64"},
        (
            (
                statistic_name(name),
                value_words(each, share=is_share(name)),
                interval_words(each, share=is_share(name)),
                each.n,
            )
            for name, each in statistics_of(row).items()
        ),
    )


def figures_file(rows: Sequence[tuple[str, AgreementRow]]) -> pd.DataFrame:
    """Return every statistic of rows, each with the name of its slice, as plain numbers."""
    return file_of(
        {"Judge version": "str", "Grade": "str", "Slice": "str", "Figure": "str"},
        (
            ((row.version.title, row.grade, name, statistic_name(figure)), estimate)
            for name, row in rows
            for figure, estimate in statistics_of(row).items()
        ),
    )


def versions_table(same: SameAnswers, grade: GradeName) -> pd.DataFrame:
    """Return all judge versions on the same answers, one a line."""
    columns, of_row = _VERSION_LINES[grade]
    return frame(
        {"Judge version": "str", "Answers": "Int64", **columns, "Weakest on": "str"},
        (
            (row.version.title, row.n, *of_row(row), weakest)
            for row, weakest in zip(same.rows, same.weakest, strict=True)
        ),
    )


def flags_table(flags: FlagsWorth) -> pd.DataFrame:
    """Return what each rule's flags are worth; the random draw that no other rule raised comes last."""
    rows: list[tuple[Any, ...]] = [
        (
            capital(rule_words(each.rule)),
            each.confirmed.n,
            in_percent(each.confirmed),
            interval_words(each.confirmed, share=True),
            each.minutes,
        )
        for each in flags.rules
    ]
    if flags.random_bad.n:
        bad = flags.random_bad
        rows.append(("Random, no other rule", bad.n, in_percent(bad), interval_words(bad, share=True), None))
    return frame(
        {"Rule": "str", "Decided": "Int64", "Confirmed": "Float64", "95 %": "str", "Minutes each": "Float64"}, rows
    )


def confusion_table(table: Confusion) -> pd.DataFrame:
    """Return one line per cell, in the order of the chart's marks."""
    return frame(
        {"People say": "str", "Judge says": "str", "Answers": "Int64", "% of row": "Float64"},
        (
            (table.categories[row], table.categories[column], count, None if share is None else share * 100)
            for row, (counts, shares) in enumerate(zip(table.counts, table.row_shares, strict=True))
            for column, (count, share) in enumerate(zip(counts, shares, strict=True))
        ),
    )


def slices_table(lines: Sequence[tuple[str, int, Estimate]], grade: GradeName, by: str) -> pd.DataFrame:
    """Return the headline statistic per slice."""
    return frame(
        {by: "str", "Answers": "Int64", HEADLINES[grade]: "str", "95 %": "str"},
        (
            (
                name,
                n,
                value_words(estimate, share=False),
                interval_words(estimate, share=False),
            )
            for name, n, estimate in lines
        ),
    )


def calibration_table(tenths: Sequence[Tenth]) -> pd.DataFrame:
    """Return the tenths that hold any answer."""
    return frame(
        {"Judge scores": "str", "Mean": "Float64", "Answers": "Int64", "People: grounded": "str", "95 %": "str"},
        (
            (
                f"{tenth.low:.1f} to {tenth.high:.1f}",
                tenth.mean_score,
                tenth.share_grounded.n,
                value_words(tenth.share_grounded, share=True),
                interval_words(tenth.share_grounded, share=True),
            )
            for tenth in tenths
            if tenth.mean_score is not None
        ),
    )


def time_table(points: Sequence[TimePoint], *, share: bool) -> pd.DataFrame:
    """Return agreement by the week in which the answers were asked."""
    return frame(
        {"Asked in": "str", "Answers": "Int64", "Value": "str", "95 %": "str"},
        (
            (
                f"the week of {day_words(point.start, year=True)}",
                point.estimate.n,
                value_words(point.estimate, share=share),
                interval_words(point.estimate, share=share),
            )
            for point in points
        ),
    )


def _label_line(row: AgreementRow) -> tuple[Any, ...]:
    agreement, kappa = row.statistics.agreement, row.statistics.kappa
    return (
        in_percent(agreement),
        interval_words(agreement, share=True),
        kappa.value,
        interval_words(kappa, share=False),
        both_words(row.missed, share=True),
        both_words(row.false_alarms, share=True),
    )


def _quality_line(row: AgreementRow) -> tuple[Any, ...]:
    said = row.statistics
    return (
        in_percent(said.agreement),
        interval_words(said.agreement, share=True),
        said.weighted_kappa.value,
        interval_words(said.weighted_kappa, share=False),
        both_words(said.at_most_one_apart, share=True),
    )


def _groundedness_line(row: AgreementRow) -> tuple[Any, ...]:
    said = row.statistics
    return (
        said.mean_absolute_difference.value,
        interval_words(said.mean_absolute_difference, share=False),
        said.spearman.value,
        interval_words(said.spearman, share=False),
        both_words(said.bias, share=False),
    )


_VERSION_LINES: dict[GradeName, tuple[dict[str, str], Any]] = {
    "label": (
        {
            "Agree": "Float64",
            "95 %": "str",
            "Kappa": "Float64",
            "95 % ": "str",
            "Bad answers missed": "str",
            "False alarms": "str",
        },
        _label_line,
    ),
    "quality": (
        {
            "Same quality": "Float64",
            "95 %": "str",
            "Weighted kappa": "Float64",
            "95 % ": "str",
            "At most one apart": "str",
        },
        _quality_line,
    ),
    "groundedness": (
        {
            "Mean difference": "Float64",
            "95 %": "str",
            "Rank correlation": "Float64",
            "95 % ": "str",
            "Judge minus people": "str",
        },
        _groundedness_line,
    ),
}

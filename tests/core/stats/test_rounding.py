"""A score is the same number wherever it is read."""

import pytest

from judgeboard.domain import Estimate
from judgeboard.flags.rule import shown as flag_number
from judgeboard.formats.output import Table
from judgeboard.stats.estimates import interval, two_decimals
from judgeboard_dashboard.views.suites import DIMENSION_COLUMNS


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (0.475, "0.48"),
        (4.125, "4.13"),
        (3.625, "3.63"),
        (2.675, "2.68"),
        (4.124, "4.12"),
        (5.0, "5.00"),
        (0.0, "0.00"),
    ],
)
def test_a_half_is_rounded_up_in_words_in_tables_and_in_charts(score, said):
    mean = Estimate(score, score, score, 24)
    assert two_decimals(score) == said
    assert float(flag_number(score)) == float(said)
    (row,) = Table.of([("tone", mean)], DIMENSION_COLUMNS).rows
    assert list(row) == ["tone", said, f"[{said}, {said}]", 24]


def test_a_change_is_rounded_alike_in_both_directions():
    assert [two_decimals(change) for change in (0.125, -0.125, -0.001)] == ["0.13", "-0.13", "0.00"]
    assert interval(Estimate(0.0, -0.125, 0.125, 2)) == "[-0.13, 0.13]"


def test_what_was_not_measured_keeps_its_reason():
    reason = "no case was scored"
    (row,) = Table.of(
        [("tone", Estimate(None, None, None, 0, reason=reason))], DIMENSION_COLUMNS
    ).rows
    assert row[2] == reason

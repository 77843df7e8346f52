"""Estimates in words and in numbers."""

import sys

import numpy as np
import pytest

from judgeboard.domain import Estimate
from judgeboard.measure.agreement_notes import luck
from judgeboard.measure.agreement_result import AgreementResult, rows_of
from judgeboard.measure.notes import note
from judgeboard.measure.result import About
from judgeboard.stats.estimates import (
    Z,
    far_from_others,
    interval,
    kappa_word,
    kappa_words,
    more_pairs,
    number_words,
    one_in,
    percent,
    percent_interval,
    percent_words,
    points_words,
    t_quantile,
)


@pytest.mark.parametrize(
    ("kappa", "word"),
    [
        (-0.3, "poor"),
        (0.1999, "poor"),
        (0.2, "fair"),
        (0.4, "moderate"),
        (0.56, "moderate"),
        (0.6, "substantial"),
        (0.7999, "substantial"),
        (0.8, "very good"),
        (1, "very good"),
    ],
)
def test_kappa_has_a_word(kappa, word):
    assert kappa_word(kappa) == word


def test_an_interval_has_a_strength_only_if_all_of_it_has_the_same():
    assert kappa_words(Estimate(0.7, 0.62, 0.77, n=300)).endswith(" (substantial)")
    assert kappa_words(Estimate(0.58, 0.44, 0.7, n=208)) == "0.58 [0.44, 0.70]"
    assert kappa_words(Estimate(0.7, n=12)) == "0.70"


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.24, "1 in 4"),
        (0.19, "1 in 5"),
        (0.04, "1 in 25"),
        (0.52, "1 in 2"),
        (0.39, "39 %"),
        (0.6, "60 %"),
        (0.039, "4 %"),
        (0.61, "61 %"),
        (0, "0 %"),
        (0.003, "under 1 %"),
        (0.998, "over 99 %"),
        (1, "100 %"),
    ],
)
def test_one_in_n_only_where_it_reads_well(share, words):
    assert one_in(share) == words


def test_percent_and_intervals_read_as_on_the_page():
    got = Estimate(0.793, 0.7704, 0.8151, n=1344)
    assert percent(got.value) == "79 %"
    assert percent_interval(got) == "[77, 82]"
    assert interval(Estimate(0.56, 0.5174, 0.6051, n=1344)) == "[0.52, 0.61]"
    assert interval(Estimate(0, -0.001, 0.2, n=12)) == "[0.00, 0.20]"
    assert percent_interval(Estimate(None)) is None
    assert interval(Estimate(None)) is None


def test_more_pairs_narrow_the_interval_with_the_root_of_n():
    assert more_pairs(Estimate(0.6, 0.37, 0.83, n=34)) == 150
    assert more_pairs(Estimate(0.6, 0.55, 0.65, n=900)) == 0
    assert more_pairs(Estimate(1, n=12)) is None


def slices(*kappas):
    parts = [
        rows_of(50, {"kappa": Estimate(*each, n=50)}, f"judge {n}")
        for n, each in enumerate(kappas, start=1)
    ]
    rows = tuple(row for part in parts for row in part)
    return AgreementResult(
        about=About(), headline=note("no_verdict"), rows=rows, of="judge", unit="responses"
    )


ALIKE = ((0.64, 0.55, 0.73), (0.8, 0.72, 0.88), (0.93, 0.88, 0.98))


def test_four_slices_deceive_one_time_in_five():
    (found,) = luck(slices(*ALIKE, (0.6, 0.5, 0.7)), "kappa")
    assert (found.code, found.values["chance"]) == ("slices", pytest.approx(0.185, abs=0.001))
    assert list(luck(slices((0.6, 0.5, 0.7), *ALIKE[:2]), "kappa")) == []


def test_a_slice_far_from_all_others_is_named_with_its_interval():
    (found,) = luck(slices(*ALIKE, (0.25, 0.14, 0.36)), "kappa")
    assert found.code == "slice_apart"
    assert found.values["figure"].value == 0.25


def test_only_an_interval_that_is_apart_after_correction_is_far_from_the_others():
    near, other = Estimate(0.4, 0.3, 0.5), Estimate(0.6, 0.51, 0.69)
    # Apart at 95 %, but one of three.
    assert far_from_others({"a": near, "b": other, "c": other}) is None
    far = Estimate(0.1, 0.05, 0.15)
    assert far_from_others({"a": far, "b": other, "c": near}) == "a"
    # Of two, neither is the odd one.
    assert far_from_others({"a": far, "b": other}) is None
    assert far_from_others({"a": Estimate(0.1), "b": other, "c": near}) is None
    assert far_from_others({}) is None


def test_an_undefined_statistic_is_its_reason_never_none():
    assert percent_words(Estimate(None, reason="no pairs")) == "no pairs"
    assert number_words(Estimate(None)) == "unknown"
    assert number_words(Estimate(-0.001, -0.1, 0.1)) == "0.00 [-0.10, 0.10]"
    assert percent_words(Estimate(0.5)) == "50 %"


def test_quantiles_equal_scipy_from_one_degree_of_freedom_on():
    from scipy.stats import t

    df = np.concatenate((np.arange(1, 300), [1_000, 50_000, 10**7]))
    assert t_quantile(df) == pytest.approx(t.ppf(0.975, df), abs=1e-7)


@pytest.mark.parametrize("df", [300, 301.5, 1_000, 20_000.25, 10**7])
def test_one_large_number_needs_no_scipy_and_gives_the_same_quantile(df, monkeypatch):
    (expected,) = t_quantile([df])
    monkeypatch.setitem(sys.modules, "scipy.special", None)  # importing it fails
    assert float(t_quantile(df)) == pytest.approx(expected, abs=1e-12)


def test_many_degrees_of_freedom_are_the_normal_distribution():
    assert float(t_quantile(10**9)) == pytest.approx(Z, abs=1e-8)


@pytest.mark.parametrize(
    ("difference", "sign", "words"),
    [
        (Estimate(0.15, 0.09, 0.21, n=9), False, "15 points [9, 21]"),
        (Estimate(-0.011, -0.2, 0.1, n=9), True, "-1 point [-20, +10]"),
        (Estimate(0.0, n=3), True, "0 points"),
        (Estimate(0.03, 0.004, 0.056, n=9), True, "+3.0 points [+0.4, +5.6]"),
        (Estimate(0.03, -0.02, 0.08, n=9, level=0.99), True, "+3 points [-2, +8] (99 % CI)"),
        (Estimate(None, n=0, reason="no answers"), False, "no answers"),
    ],
)
def test_a_difference_of_shares_is_in_points(difference, sign, words):
    assert points_words(difference, sign=sign) == words

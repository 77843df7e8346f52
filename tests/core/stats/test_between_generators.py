"""Correlations of the generators' mean scores, as published for metrics of summaries."""

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from judgeboard.stats import between_generators as module
from judgeboard.stats.arrays import FloatArray, grouping
from judgeboard.stats.between_generators import between_generators
from judgeboard.stats.intervals import Patterns, resampled

DOCUMENTS, GENERATORS = 30, 8
RANDOM = np.random.default_rng(3)
CODES = np.tile(np.arange(GENERATORS), DOCUMENTS)
GROUPS = grouping(np.repeat(np.arange(DOCUMENTS), GENERATORS), DOCUMENTS * GENERATORS)
PEOPLE = RANDOM.normal(0, 1, len(CODES)) + CODES / 3
JUDGE = PEOPLE + RANDOM.normal(0, 1, len(CODES)) + RANDOM.normal(0, 0.7, GENERATORS)[CODES]


def test_the_means_of_generators_are_compared() -> None:
    figures = between_generators(JUDGE, PEOPLE, CODES, GROUPS)
    means = [[side[code == CODES].mean() for code in range(GENERATORS)] for side in (JUDGE, PEOPLE)]
    published = {"pearson": pearsonr, "spearman": spearmanr, "kendall": kendalltau}
    for name, coefficient in published.items():
        estimate = figures[f"{name}_between"]
        assert estimate.value == pytest.approx(coefficient(*means).statistic)
        assert (estimate.n, estimate.unit) == (GENERATORS, "evidence group")
        assert estimate.low is not None
        assert estimate.high is not None
        assert -1 <= estimate.low < estimate.value <= estimate.high <= 1
    moved = between_generators(1e-5 * JUDGE + 0.5, PEOPLE, CODES, GROUPS)
    assert moved["pearson_between"].value == pytest.approx(figures["pearson_between"].value)


def test_answers_without_a_generator_are_left_out_and_two_or_hundreds_of_generators_are_not_compared() -> None:
    known = np.where(CODES < 3, CODES, -1)
    figures = between_generators(JUDGE, PEOPLE, known, GROUPS)
    rows = known >= 0
    alone = between_generators(JUDGE[rows], PEOPLE[rows], CODES[rows], GROUPS.at(rows))
    assert figures["pearson_between"].value == pytest.approx(alone["pearson_between"].value)
    assert figures["pearson_between"].left_out == (("answers without a generator", 150),)
    few = between_generators(JUDGE, PEOPLE, np.where(CODES < 2, CODES, -1), GROUPS)["kendall_between"]
    assert (few.value, few.reason) == (None, "fewer than 3 generators")
    many = between_generators(JUDGE, PEOPLE, np.arange(len(CODES)), GROUPS)["kendall_between"]
    assert (many.value, many.reason) == (None, "more than 100 generators")
    same = between_generators(np.ones(len(CODES)), PEOPLE, CODES, GROUPS)["spearman_between"]
    assert same.reason == "a side gave all generators the same mean score"


def test_a_resample_of_a_large_log_joins_groups_and_keeps_value_and_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.tile(np.arange(3), 2_000)
    people = RANDOM.normal(0, 1, len(codes)) + codes / 20
    judge = people + RANDOM.normal(0, 1, len(codes))
    drawn: list[int] = []

    def counted(of: Patterns) -> FloatArray:
        drawn.append(len(of.counts))
        return resampled(of)

    monkeypatch.setattr(module, "resampled", counted)
    exact = between_generators(judge, people, codes, grouping(None, len(codes)))["pearson_between"]
    monkeypatch.setattr(module, "_MOST_GROUPS", 500)
    joined = between_generators(judge, people, codes, grouping(None, len(codes)))["pearson_between"]
    assert drawn == [4_000, 500]
    assert joined.value == pytest.approx(exact.value)
    assert (joined.low, joined.high) == (pytest.approx(exact.low, abs=0.05), pytest.approx(exact.high, abs=0.01))

import gc
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.significance import benjamini_yekutieli, holm, mcnemar, wilcoxon_below


@given(st.integers(0, 3000), st.integers(0, 3000))
@settings(max_examples=60)
def test_mcnemars_p_equals_the_exact_binomial_test(first, second):
    from scipy.stats import binomtest

    expected = binomtest(first, first + second).pvalue if first + second else 1
    assert mcnemar(first, second) == pytest.approx(expected, rel=1e-8)
    assert mcnemar(first, second) == mcnemar(second, first)


def test_without_discordant_cases_nothing_speaks_against_equality():
    assert mcnemar(0, 0) == 1


def test_counts_below_zero_are_refused():
    with pytest.raises(ValueError, match="not be negative"):
        mcnemar(-1, 3)


@given(st.lists(st.sampled_from([-1.2, -0.2, 0.8, 0.0, 0.3]), min_size=1, max_size=9))
@settings(max_examples=50)
def test_wilcoxons_test_counts_all_signs_of_the_ranks_at_hand(differences):
    from scipy.stats import rankdata

    moved = np.array([each for each in differences if each])
    if not len(moved):
        assert wilcoxon_below(np.array(differences)) == 1
        return
    ranks = rankdata(np.abs(moved))
    seen = ranks[moved > 0].sum()
    sums = [ranks[np.array(signs)].sum() for signs in product((False, True), repeat=len(moved))]
    assert wilcoxon_below(np.array(differences)) == pytest.approx(
        np.mean(np.array(sums) <= seen + 1e-9)
    )


def test_wilcoxons_test_without_ties_equals_scipy():
    from scipy.stats import wilcoxon

    differences = np.random.default_rng(2).normal(-0.2, 1, 25)
    expected = wilcoxon(differences, alternative="less", method="exact").pvalue
    assert wilcoxon_below(differences) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.floats(0, 1) | st.floats(0, 0.02), min_size=1, max_size=40))
def test_false_discoveries_reject_what_statsmodels_rejects(p):
    from statsmodels.stats.multitest import multipletests

    assert np.array_equal(benjamini_yekutieli(p), multipletests(p, alpha=0.05, method="fdr_by")[0])


def test_no_tests_reject_nothing():
    assert benjamini_yekutieli([]).tolist() == []


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_equals_statsmodels(p_values):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    gc.freeze()  # statsmodels collects garbage on each call, and there are many objects beside
    assert holm(p_values) == pytest.approx(
        multitest.multipletests(p_values, method="holm")[1].tolist()
    )


def test_holm_keeps_the_order():
    assert holm([0.007981, 0.2847, 0.01532]) == pytest.approx([0.023943, 0.2847, 0.03064])
    assert holm([]) == []

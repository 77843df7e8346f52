from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.proportions import wilcoxon_below


@given(st.lists(st.sampled_from([-1.2, -0.2, 0.8, 0.0, 0.3]), min_size=1, max_size=9))
@settings(max_examples=50, deadline=None)
def test_it_counts_all_signs_of_the_ranks_at_hand(differences):
    from scipy.stats import rankdata

    moved = np.array([each for each in differences if each])
    if not len(moved):
        assert wilcoxon_below(np.array(differences)) == 1
        return
    ranks = rankdata(np.abs(moved))
    seen = ranks[moved > 0].sum()
    sums = [ranks[np.array(signs)].sum() for signs in product((False, True), repeat=len(moved))]
    assert wilcoxon_below(np.array(differences)) == pytest.approx(np.mean(np.array(sums) <= seen + 1e-9))


def test_without_ties_it_equals_scipy():
    from scipy.stats import wilcoxon

    differences = np.random.default_rng(2).normal(-0.2, 1, 25)
    expected = wilcoxon(differences, alternative="less", method="exact").pvalue
    assert wilcoxon_below(differences) == pytest.approx(expected, rel=1e-9)

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.proportions import benjamini_yekutieli


@given(st.lists(st.floats(0, 1) | st.floats(0, 0.02), min_size=1, max_size=40))
@settings(max_examples=100, deadline=None)
def test_it_rejects_what_statsmodels_rejects(p):
    from statsmodels.stats.multitest import multipletests

    assert np.array_equal(benjamini_yekutieli(p), multipletests(p, alpha=0.05, method="fdr_by")[0])


def test_no_tests_reject_nothing():
    assert benjamini_yekutieli([]).tolist() == []

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.proportions import mcnemar


@given(st.integers(0, 3000), st.integers(0, 3000))
@settings(max_examples=60, deadline=None)
def test_p_equals_the_exact_binomial_test(first, second):
    from scipy.stats import binomtest

    expected = binomtest(first, first + second).pvalue if first + second else 1
    assert mcnemar(first, second) == pytest.approx(expected, rel=1e-8)
    assert mcnemar(first, second) == mcnemar(second, first)


def test_without_discordant_cases_nothing_speaks_against_equality():
    assert mcnemar(0, 0) == 1


def test_counts_below_zero_are_refused():
    with pytest.raises(ValueError, match="not be negative"):
        mcnemar(-1, 3)

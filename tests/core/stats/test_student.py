import numpy as np
import pytest

from judgeboard.stats.estimates import Z, t_lower_tail, t_quantile


def test_quantiles_equal_scipy_from_one_degree_of_freedom_on():
    from scipy.stats import t

    df = np.concatenate((np.arange(1, 300), [1_000, 50_000, 10**7]))
    assert t_quantile(df) == pytest.approx(t.ppf(0.975, df), abs=1e-7)


def test_many_degrees_of_freedom_are_the_normal_distribution():
    assert float(t_quantile(10**9)) == pytest.approx(Z, abs=1e-8)


def test_no_degrees_of_freedom_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        t_quantile([3, 0])


@pytest.mark.parametrize("df", [1, 2, 5, 29, 998, 100_000])
def test_the_lower_tail_is_that_of_scipy(df):
    from scipy.stats import t as student

    for at in (-40.0, -6.0, -1.96, -0.1, 0.0, 0.3, 2.5, 9.0):
        assert t_lower_tail(at, df) == pytest.approx(student.cdf(at, df), rel=1e-9, abs=1e-300)

import sys

import numpy as np
import pytest

from judgeboard.stats.estimates import Z, t_quantile


def test_quantiles_equal_scipy_from_one_degree_of_freedom_on():
    from scipy.stats import t

    df = np.concatenate((np.arange(1, 300), [1_000, 50_000, 10**7]))
    assert t_quantile(df) == pytest.approx(t.ppf(0.975, df), abs=1e-7)


@pytest.mark.parametrize("df", [300, 301.5, 1_000, 20_000.25, 10**7])
def test_one_large_number_needs_no_scipy_and_gives_the_same_quantile(df: float, monkeypatch: pytest.MonkeyPatch):
    (expected,) = t_quantile([df])
    monkeypatch.setitem(sys.modules, "scipy.special", None)  # importing it fails
    assert float(t_quantile(df)) == pytest.approx(expected, abs=1e-12)


def test_many_degrees_of_freedom_are_the_normal_distribution():
    assert float(t_quantile(10**9)) == pytest.approx(Z, abs=1e-8)

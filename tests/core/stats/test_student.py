import sys

import numpy as np
import pytest

from judgeboard.stats.estimates import Z, t_quantile


def test_quantiles_equal_scipy_from_one_degree_of_freedom_on():
    from scipy.stats import t

    df = np.concatenate((np.arange(1, 300), [1.01, 1.5, 2.3, 77.7, 299.9, 300.1, 1_000, 20_000.25, 50_000, 10**7]))
    assert t_quantile(df) == pytest.approx(t.ppf(0.975, df), abs=1e-11)


def test_the_shape_is_kept_and_no_scipy_is_loaded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "scipy.special", None)  # importing it fails
    assert float(t_quantile(1)) == pytest.approx(12.706204736, abs=1e-9)
    assert t_quantile(np.full((2, 3), 39)).shape == (2, 3)
    assert t_quantile([]).shape == (0,)


def test_many_degrees_of_freedom_are_the_normal_distribution():
    assert float(t_quantile(10**9)) == pytest.approx(Z, abs=1e-8)

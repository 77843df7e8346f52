"""Plain, slow ways to the same intervals, for comparison."""

import numpy as np
import pytest


def _plain_bootstrap(statistic, columns, groups, resamples=800, seed=5):
    """Draw whole groups with replacement, one sample after the other."""
    rng = np.random.default_rng(seed)
    rows_of = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    draws = []
    for _ in range(resamples):
        chosen = rng.integers(0, len(rows_of), len(rows_of))
        rows = np.concatenate([rows_of[index] for index in chosen])
        draws.append(statistic(*(column[rows] for column in columns)))
    return np.array(draws)


@pytest.fixture
def rng():
    """Random numbers, which are the same in each run."""
    return np.random.default_rng(7)


@pytest.fixture
def agrees_with_plain_bootstrap():
    """Compare an interval with a loop over groups, within four Monte-Carlo errors of both."""

    def check(estimate, statistic, columns, groups, extra=0.0, resamples=800):
        draws = _plain_bootstrap(statistic, columns, groups, resamples)
        draws = draws[~np.isnan(draws)]
        # The error of an extreme quantile of R draws is 2.68 standard deviations / sqrt(R) (normal
        # density at 1.96).
        error = 2.68 * np.sqrt(1 / resamples + 1 / 2000) * draws.std()
        low, high = np.quantile(draws, (0.025, 0.975))
        assert estimate.low == pytest.approx(low, abs=4 * error + extra)
        assert estimate.high == pytest.approx(high, abs=4 * error + extra)

    return check

"""An estimate from its bootstrap draws, and what to say where the draws cannot carry an interval.

The percentile interval (B. Efron, R. Tibshirani, *An Introduction to the Bootstrap*, 1993, 13.3) is too narrow where
there are few groups; it is expanded by taking quantiles further out, as T. Hesterberg, "What teachers should know
about the bootstrap" (The American Statistician, 2015), 4.2, proposes. From a hundred groups on that is hardly seen.
"""

import math
from statistics import NormalDist

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray
from judgeboard.stats.estimates import measured
from judgeboard.stats.grouping import Grouping
from judgeboard.stats.student import t_quantile
from judgeboard.stats.wilson import wilson

_UNDEFINED_DRAWS = 0.05  # above this share of undefined draws the rest would describe another population
_NO_SPREAD = 1e-12


def bootstrapped(value: float, n: int, draws: FloatArray, groups: Grouping, named: str = "") -> Estimate:
    """Return ``value`` of ``n`` rows with the percentile interval of its ``draws``.

    Args:
        value: The statistic of the sample itself.
        n: How many rows it rests on.
        draws: The statistic of each resample, NaN where it was undefined. Up to 5 % of such draws are left out, which
            the method says; beyond, there is no interval.
        groups: What was resampled.
        named: What else the method must say, with its own "; ".
    """
    if groups.count == 1:
        return measured(value, n, reason="no interval: one evidence group only")
    defined = draws[~np.isnan(draws)]
    undefined = draws.size - defined.size
    if defined.size == 0 or undefined > _UNDEFINED_DRAWS * draws.size:
        return measured(value, n, reason=f"no interval: undefined in {undefined:,} of {draws.size:,} resamples")
    if np.ptp(defined) < _NO_SPREAD:
        return measured(value, n, reason="no interval: every resample gives the same value")
    tail = _tail(groups.count)
    low, high = np.quantile(defined, (tail, 1 - tail))
    left_out = f", {undefined:,} undefined left out" if undefined else ""
    method = f"{named}expanded percentile bootstrap, {draws.size:,} resamples{left_out}"
    return measured(value, n, (float(low), float(high)), method=method, unit=groups.unit)


def _tail(groups: int) -> float:
    """Return the share of draws to leave at either end: 2.5 % for many groups, less for few."""
    reach = math.sqrt(groups / (groups - 1)) * float(t_quantile(groups - 1))
    return NormalDist().cdf(-reach)


def wilson_on_groups(value: float, n: int, groups: int, unit: str) -> Estimate:
    """Return a share of 0 or 1 of ``n`` rows, with Wilson's interval on the number of groups that they stand on.

    There every resample equals the sample, which would pass for certainty. All rows of a group are taken for one, so
    that the interval is never too narrow.
    """
    low, high = wilson(value, groups)
    method = "Wilson" if groups == n else f"Wilson on {groups:,} {unit}s"
    return measured(value, n, (float(low), float(high)), method=method, unit=unit)

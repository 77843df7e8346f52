"""The jackknife over evidence groups, for statistics that depend on their rows through sums only.

Sources: J. W. Tukey, "Bias and confidence in not quite large samples" (1958); B. Efron, C. Stein, "The jackknife
estimate of variance" (Annals of Statistics, 1981). With Student's t on Fisher's z scale, corrected for skew, it holds
the truth also where groups are few, which the infinitesimal jackknife (``influence``) of a skewed coefficient does not.
"""

import math
from collections.abc import Callable

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray, IntArray
from judgeboard.stats.estimates import measured
from judgeboard.stats.grouping import Grouping
from judgeboard.stats.influence import Scale, estimate_with_error
from judgeboard.stats.leaving_one_out import WithoutOne
from judgeboard.stats.resampling import SEED

_JACKKNIFE_CHUNK = 1 << 20  # numbers held at once
_DECIMALS = 9  # what is left of a sum where everything was taken away is rounding


def jackknifed(
    sums: FloatArray, statistic: Callable[[FloatArray], FloatArray], groups: Grouping, n: int, *, alike: str
) -> Estimate:
    """Return the ``statistic`` of the summed rows, with its interval by evidence group on Fisher's z scale.

    Args:
        sums: What each row adds, shape (rows, d).
        statistic: From sums of shape (..., d) to values of shape (...), NaN where it is undefined; defined on all rows.
        groups: The evidence group of each row.
        n: What the estimate says that it rests on.
        alike: Why there is no interval where the statistic is 1.
    """
    total = sums.sum(axis=0)
    value = float(statistic(total))
    if math.isclose(value, 1):
        return measured(value, n, reason=f"no interval: {alike}")
    if groups.count == 1:
        return measured(value, n, reason=f"no interval: one {groups.group} only")
    of_group = np.stack([groups.sums(column) for column in sums.T], axis=1)
    distinct, times = _distinct(of_group)
    rows = max(_JACKKNIFE_CHUNK // sums.shape[1], 1)
    without = np.concatenate(
        [
            statistic(np.round(total - distinct[start : start + rows], _DECIMALS))
            for start in range(0, len(distinct), rows)
        ]
    )
    if np.isnan(without).any():
        return measured(value, n, reason=f"no interval: undefined without one of the {groups.unit}s")
    left = WithoutOne(without, times)
    error = math.sqrt((groups.count - 1) / groups.count * left.spread)
    scale: Scale | None = "Fisher's z" if abs(value) < 1 else None
    return estimate_with_error(value, n, error, groups, scale, "jackknife", skew=left.skew)


def _distinct(rows: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct rows and how often each occurs: most groups are like others.

    Each row is told by one number, its sum with weights at random: sorting numbers is many times faster than rows.
    """
    weights = np.random.default_rng(SEED).random(rows.shape[1])
    _, first, times = np.unique((rows * weights).sum(axis=1), return_index=True, return_counts=True)
    return rows[first], times

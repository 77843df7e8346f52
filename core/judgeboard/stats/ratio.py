"""The ratio of two totals with its interval, from sums that a database added up.

Source: W. G. Cochran, *Sampling Techniques* (3rd edition, 1977), 6.3: the linearised ratio estimator.
"""

import math
from dataclasses import dataclass

from judgeboard.domain import Estimate
from judgeboard.stats.estimates import measured, unmeasured
from judgeboard.stats.student import t_quantile


@dataclass(frozen=True, slots=True)
class RatioSums:
    """Sums over ``n`` rows of an upper and a lower amount, of their squares and of their product."""

    n: int
    upper: float
    lower: float
    upper_squared: float
    lower_squared: float
    product: float


def ratio_of_totals(sums: RatioSums) -> Estimate:
    """Return the total of the upper amounts over that of the lower ones; undefined where the latter is 0."""
    if sums.n == 0 or sums.lower <= 0:
        return unmeasured(sums.n, "the lower total is 0" if sums.n else "no rows")
    value = sums.upper / sums.lower
    if sums.n == 1:
        return measured(value, 1, reason="no interval: a single row")
    squares = sums.upper_squared - 2 * value * sums.product + value**2 * sums.lower_squared
    # What the subtraction leaves of equal ratios is rounding, not spread.
    spread = squares if squares > 1e-12 * max(sums.upper_squared, 1e-300) else 0.0
    reach = float(t_quantile(sums.n - 1)) * math.sqrt(sums.n / (sums.n - 1) * spread) / sums.lower
    return measured(value, sums.n, (max(value - reach, 0), value + reach), method="ratio estimator", unit="response")

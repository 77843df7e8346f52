"""Student's t: the 97.5 % quantile, which 95 % intervals of means stand on, and the lower tail, for one-sided tests.

Closed forms for few degrees of freedom, the expansion in 1/df beyond: Abramowitz and Stegun, *Handbook of
Mathematical Functions* (1964), 26.7.3, 26.7.4 and 26.7.5. Right to 1e-7. The tail is 26.7.1 with the incomplete
beta function by its continued fraction, 26.5.8, right to 1e-9 of itself.
"""

import math
from functools import cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from judgeboard.stats.arrays import FloatArray

Z = NormalDist().inv_cdf(0.975)
"""The same quantile of the normal distribution, 1.95996."""

_EXPANSION_FROM = 40
_MOST_STEPS = 10_000
_CLOSE = 1e-15


def t_quantile(df: npt.ArrayLike) -> FloatArray:
    """Return the 97.5 % quantile for each whole number of degrees of freedom in ``df`` (any shape, each >= 1)."""
    degrees = np.asarray(df)
    if (degrees < 1).any():
        raise ValueError("Student's t needs at least one degree of freedom")
    few = _few()[np.minimum(degrees, _EXPANSION_FROM - 1).astype(np.int64)]
    return np.where(degrees < _EXPANSION_FROM, few, _expansion(np.maximum(degrees, 1).astype(np.float64)))


def t_lower_tail(t: float, df: int) -> float:
    """Return the probability that Student's t with ``df`` >= 1 degrees of freedom lies below ``t``."""
    if df < 1:
        raise ValueError("Student's t needs at least one degree of freedom")
    beyond = _incomplete_beta(df / (df + t * t), df / 2, 0.5) / 2
    return beyond if t < 0 else 1 - beyond


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function of x in 0..1, by its continued fraction (Lentz's method)."""
    if x in {0.0, 1.0}:
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    upper, lower = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = lower
    for m in range(1, _MOST_STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            lower, upper = 1 / (1 + term * lower), 1 + term / upper
            fraction *= upper * lower
        if abs(upper * lower - 1) < _CLOSE:
            break
    return front * fraction


def _expansion(df: FloatArray) -> FloatArray:
    z = Z
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum((term / df**power for power, term in enumerate(terms, start=1)), np.zeros_like(df))


@cache
def _few() -> FloatArray:
    """Return the quantiles for 0 (never asked for) to 39 degrees of freedom."""
    return np.array([math.nan, *(_quantile(df) for df in range(1, _EXPANSION_FROM))])


def _quantile(df: int) -> float:
    """Return the t with 95 % of the distribution between -t and t, by halving the angle atan(t / sqrt(df))."""
    low, high = 0.0, math.pi / 2
    while (middle := (low + high) / 2) not in {low, high}:
        low, high = (middle, high) if _central_probability(middle, df) < 0.95 else (low, middle)
    return math.sqrt(df) * math.tan(low)


def _central_probability(angle: float, df: int) -> float:
    """Return the probability that t lies within sqrt(df) tan(angle) of 0, a finite sum of powers of its cosine."""
    sine, cosine = math.sin(angle), math.cos(angle)
    if df % 2:
        term, total = cosine, 0.0
        for power in range(1, df - 1, 2):
            total += term
            term *= cosine**2 * (power + 1) / (power + 2)
        return 2 / math.pi * (angle + sine * total)
    term, total = 1.0, 0.0
    for power in range(0, df - 1, 2):
        total += term
        term *= cosine**2 * (power + 1) / (power + 2)
    return sine * total

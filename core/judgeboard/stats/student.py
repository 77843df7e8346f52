"""Student's t: the 97.5 % quantile, which 95 % intervals of means stand on, and the lower tail, for one-sided tests."""

from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from judgeboard.stats.arrays import FloatArray

Z = NormalDist().inv_cdf(0.975)
"""The same quantile of the normal distribution, 1.95996."""


def t_quantile(df: npt.ArrayLike) -> FloatArray:
    """Return the 97.5 % quantile for each number of degrees of freedom in ``df`` (any shape, each >= 1)."""
    from scipy.special import stdtrit

    quantile: FloatArray = stdtrit(_degrees(df), 0.975)
    return quantile


def t_lower_tail(t: float, df: int) -> float:
    """Return the probability that Student's t with ``df`` >= 1 degrees of freedom lies below ``t``."""
    from scipy.special import stdtr

    return float(stdtr(_degrees(df), t))


def _degrees(df: npt.ArrayLike) -> FloatArray:
    degrees = np.asarray(df, dtype=np.float64)
    if (degrees < 1).any():
        raise ValueError("Student's t needs at least one degree of freedom")
    return degrees

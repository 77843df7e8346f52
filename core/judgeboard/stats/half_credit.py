"""The mean of scores of 0, ½ and 1, as of verdicts that are wrong, split between two orders, or right.

The interval is Wilson's on that mean: with halves the scores vary less than zeros and ones of the same mean, so it is
never too narrow, and it is there too where every score is the same.
"""

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray, finite_floats
from judgeboard.stats.estimates import measured, unmeasured
from judgeboard.stats.wilson import wilson


def half_credit(scores: FloatArray, *, unit: str = "pair", undefined: str = "nothing was measured") -> Estimate:
    """Return the mean of ``scores``, one per ``unit``.

    Args:
        scores: 0, 0.5 or 1 of each, none missing.
        unit: What each score stands for.
        undefined: The reason where there is none.

    Raises:
        ValueError: A score is none of the three.
    """
    values = finite_floats(scores)
    if not len(values):
        return unmeasured(0, undefined)
    if not set(values.tolist()) <= {0.0, 0.5, 1.0}:
        raise ValueError("a score is 0, 0.5 or 1")
    value = float(values.mean())
    low, high = wilson(value, len(values))
    method = "Wilson, splits half" if (values == 0.5).any() else "Wilson"
    return measured(value, len(values), (float(low), float(high)), method=method, unit=unit)

"""Which of many tests stand when they are looked at together, however they depend on each other.

Source: Y. Benjamini, D. Yekutieli, "The control of the false discovery rate in multiple testing under dependency"
(Annals of Statistics, 2001).
"""

import numpy as np
import numpy.typing as npt

from judgeboard.stats.arrays import BoolArray


def benjamini_yekutieli(p: npt.ArrayLike, q: float = 0.05) -> BoolArray:
    """Return which of the tests with these ``p`` are rejected at a false discovery rate of ``q``."""
    values = np.asarray(p, dtype=np.float64)
    m = values.size
    rejected = np.zeros(m, dtype=np.bool_)
    if not m:
        return rejected
    order = np.argsort(values, kind="stable")
    rank = np.arange(1, m + 1)
    low_enough = np.flatnonzero(values[order] <= rank * q / (m * float((1 / rank).sum())))
    if len(low_enough):
        rejected[order[: low_enough[-1] + 1]] = True
    return rejected

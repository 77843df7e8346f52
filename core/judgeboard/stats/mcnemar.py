"""McNemar's exact test: did two treatments of the same cases pass equally many?

Source: Q. McNemar, "Note on the sampling error of the difference between correlated proportions" (1947), with the
exact binomial distribution.
"""

import math

import numpy as np


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p from the two discordant counts; 1 without discordant cases.

    Args:
        only_first: Cases that only the first treatment passed.
        only_second: Cases that only the second treatment passed.
    """
    if min(only_first, only_second) < 0:
        raise ValueError("counts of cases are not below 0")
    n, fewer = only_first + only_second, min(only_first, only_second)
    if 2 * fewer == n:
        return 1.0
    step = np.arange(1, fewer + 1)
    log_terms = np.concatenate(([0.0], np.cumsum(np.log((n - step + 1) / step)))) - n * math.log(2)
    largest = float(log_terms.max())
    tail = math.exp(largest) * float(np.exp(log_terms - largest).sum())
    return min(2 * tail, 1.0)

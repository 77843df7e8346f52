"""McNemar's exact test: did two treatments of the same cases pass equally many?

Source: Q. McNemar, "Note on the sampling error of the difference between correlated proportions" (1947), with the
exact binomial distribution.
"""


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p from the two discordant counts; 1 without discordant cases.

    Args:
        only_first: Cases that only the first treatment passed.
        only_second: Cases that only the second treatment passed.
    """
    from scipy.special import bdtr

    if min(only_first, only_second) < 0:
        raise ValueError("counts of cases are not below 0")
    n, fewer = only_first + only_second, min(only_first, only_second)
    return 1.0 if 2 * fewer == n else min(2 * float(bdtr(fewer, n, 0.5)), 1.0)

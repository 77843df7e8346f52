"""How many more graded answers an interval needs, and how easily many slices deceive."""

import math

from judgeboard.domain import Estimate


def more_pairs(estimate: Estimate, half_width: float = 0.1) -> int | None:
    """Return about how many more pairs bring the interval to plus or minus ``half_width``.

    An interval narrows with the square root of n. Rounded up to two digits; 0 where it is there already, None without
    an interval.
    """
    if estimate.low is None or estimate.high is None:
        return None
    wanted = estimate.n * ((estimate.high - estimate.low) / 2 / half_width) ** 2 - estimate.n
    if wanted <= 0:
        return 0
    step = int(max(10.0 ** (math.floor(math.log10(wanted)) - 1), 1))
    return math.ceil(wanted / step) * step


def luck_of_slices(slices: int) -> float:
    """Return the chance that at least one of ``slices`` independent 95 % intervals misses by luck alone."""
    return 1 - 0.95**slices

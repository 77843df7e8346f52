"""Bland and Altman's limits of agreement: between them lie 95 % of the differences of judge and people.

Source: J. M. Bland, D. G. Altman, "Measuring agreement in method comparison studies" (Statistical Methods in Medical
Research, 1999): bias plus and minus 1.96 standard deviations of the differences.
"""

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import TIE, FloatArray
from judgeboard.stats.estimates import unmeasured
from judgeboard.stats.grouping import Grouping
from judgeboard.stats.influence import influence_estimate
from judgeboard.stats.student import Z


def limits_of_agreement(judge: FloatArray, people: FloatArray, groups: Grouping) -> tuple[Estimate, Estimate]:
    """Return the lower and the upper limit of judge - people, each with its own interval, in units of the score."""
    n = len(judge)
    if n < 2:
        nothing = unmeasured(n, "undefined: one difference has no spread" if n else "no pairs")
        return nothing, nothing
    apart = judge - people
    centred = apart - apart.mean()
    spread = float(np.sqrt(np.square(centred).sum() / (n - 1)))
    moves_spread = np.square(centred) / (2 * spread) if spread > TIE else np.zeros(n)
    lower, upper = (
        influence_estimate(float(apart.mean()) + side * spread, centred + side * moves_spread, groups)
        for side in (-Z, Z)
    )
    return lower, upper

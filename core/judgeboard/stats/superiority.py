"""How often a score is higher before a change than after it: P(before > after) + ½ P(equal).

The interval is Wilson's on that mean: values of 0, ½ and 1 vary less than 0 and 1 with the same mean, so it is never
too narrow, and it is there too where every value is the same.
"""

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray, same_length, tie_codes
from judgeboard.stats.estimates import measured, unmeasured
from judgeboard.stats.grouping import Grouping
from judgeboard.stats.wilson import wilson


def superiority(before: FloatArray, after: FloatArray, groups: Grouping) -> Estimate:
    """Return P(before > after) + ½ P(equal) of pairs of scores, rounded to 1e-9 first; 0.5 is no difference."""
    n = same_length(before, after)
    if n == 0:
        return unmeasured(0, "no pairs")
    value = float((np.sign(tie_codes(before) - tie_codes(after)) + 1).mean() / 2)
    low, high = wilson(value, groups.count)
    method = "Wilson, ties half" if groups.all_distinct else f"Wilson on {groups.count:,} {groups.unit}s, ties half"
    return measured(value, n, (float(low), float(high)), method=method, unit=groups.unit)

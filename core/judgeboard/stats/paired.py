"""The mean change between two measurements of the same cases, with its paired-bootstrap interval."""

import numpy as np
import numpy.typing as npt

from judgeboard.domain import Estimate
from judgeboard.stats.bootstrap import bootstrapped
from judgeboard.stats.estimates import measured, unmeasured
from judgeboard.stats.grouping import grouping
from judgeboard.stats.resampling import resampled_tables

_DECIMALS = 9


def mean_change(changes: npt.ArrayLike) -> Estimate:
    """Return the mean of ``changes`` (second less first, one per case) with the interval of resampled cases.

    Resampling cases keeps the two measurements of a case together, which is what makes the bootstrap paired.
    """
    given = np.round(np.asarray(changes, dtype=np.float64), _DECIMALS)
    if given.size == 0:
        return unmeasured(0, "no case was measured in both")
    value = float(given.mean())
    if given.size == 1:
        return measured(value, 1, reason="no interval: a single case")
    distinct, cells = np.unique(given, return_inverse=True)
    groups = grouping(None, given.size)
    drawn = resampled_tables(cells.astype(np.int64), distinct.size, groups)
    return bootstrapped(value, given.size, drawn @ distinct / given.size, groups, "paired; ")

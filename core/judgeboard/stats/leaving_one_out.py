"""A statistic with one group left out after the other: how it spreads, and how skewed their influence is."""

import math
from dataclasses import dataclass

import numpy as np

from judgeboard.stats.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class WithoutOne:
    """A statistic without one group: its distinct ``values``, and how many ``groups`` leave each behind."""

    values: FloatArray
    groups: IntArray

    @property
    def spread(self) -> float:
        """The sum over groups of squared distances from their mean; NaN where a value is undefined."""
        return float((self.groups * np.square(self._apart)).sum())

    @property
    def skew(self) -> float:
        """The skewness of the sum of the groups' influence, 0 where a value is undefined or all are equal."""
        spread = self.spread
        if not spread > 0:  # NaN is not
            return 0.0
        return float((self.groups * self._apart**3).sum()) / math.sqrt(spread) ** 3

    @property
    def _apart(self) -> FloatArray:
        apart: FloatArray = np.average(self.values, weights=self.groups) - self.values
        return apart

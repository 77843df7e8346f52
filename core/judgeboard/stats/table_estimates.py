"""Estimates of everything that a confusion table holds, all from the same resampled tables."""

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats import kappa as kappas
from judgeboard.stats.arrays import IntArray
from judgeboard.stats.bootstrap import bootstrapped, wilson_on_groups
from judgeboard.stats.detection import TableShare
from judgeboard.stats.estimates import unmeasured
from judgeboard.stats.grouping import Grouping
from judgeboard.stats.resampling import RESAMPLES, SEED, resampled_tables


class TableEstimates:
    """One k x k confusion table with its bootstrap over evidence groups, drawn once for all statistics."""

    def __init__(
        self, cells: IntArray, k: int, groups: Grouping, *, resamples: int = RESAMPLES, seed: int = SEED
    ) -> None:
        """Count and resample pairs given by their cell in the flattened table, people in the rows."""
        self._cells = cells
        self._groups = groups
        self._observed = np.bincount(cells, minlength=k * k).reshape(k, k).astype(np.float64)
        drawn = resampled_tables(cells, k * k, groups, resamples=resamples, seed=seed)
        self._resampled = drawn.reshape(resamples, k, k)

    def kappa(self, weights: kappas.Weights = "nominal") -> Estimate:
        """Return Cohen's kappa; undefined only where expected agreement is 1."""
        n = len(self._cells)
        if n == 0:
            return unmeasured(0, "no pairs")
        value = float(kappas.kappa(self._observed, weights))
        if np.isnan(value):
            return unmeasured(n, "undefined: people and judge gave one and the same category throughout")
        named = "" if weights == "nominal" else f"{weights} weights; "
        return bootstrapped(value, n, kappas.kappa(self._resampled, weights), self._groups, named)

    def share(self, share: TableShare) -> Estimate:
        """Return a share of the table; its n is the number of pairs that it is a share of."""
        hits, size = (int(count) for count in share.counts(self._observed))
        if size == 0:
            return unmeasured(0, share.undefined)
        if hits in {0, size}:
            touched = self._groups.touched(share.of.ravel()[self._cells])
            return wilson_on_groups(hits / size, size, touched, self._groups.unit)
        return bootstrapped(hits / size, size, share.value(self._resampled), self._groups)

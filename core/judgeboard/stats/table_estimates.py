"""Estimates of everything that a confusion table holds, all from the same resampled tables."""

from collections.abc import Callable
from functools import partial

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray, IntArray
from judgeboard.stats.bootstrap import bootstrapped, wilson_on_groups
from judgeboard.stats.detection import TableShare
from judgeboard.stats.estimates import unmeasured
from judgeboard.stats.grouping import Grouping
from judgeboard.stats.influence import Scale
from judgeboard.stats.kappa import Weights, kappa
from judgeboard.stats.leaving_one_out import WithoutOne
from judgeboard.stats.resampling import RESAMPLES, SEED, patterns, resampled

ONE_CATEGORY = "both gave one and the same category throughout"


class TableEstimates:
    """One k x k confusion table with its bootstrap over evidence groups, drawn once for all statistics."""

    def __init__(
        self, cells: IntArray, k: int, groups: Grouping, *, resamples: int = RESAMPLES, seed: int = SEED
    ) -> None:
        """Count and resample pairs given by their cell in the flattened table, people in the rows."""
        self._cells = cells
        self._groups = groups
        self._patterns = patterns(cells, k * k, groups)
        self._observed = np.bincount(cells, minlength=k * k).reshape(k, k).astype(np.float64)
        self._resampled = resampled(self._patterns, resamples=resamples, seed=seed).reshape(resamples, k, k)

    def kappa(self, weights: Weights = "nominal") -> Estimate:
        """Return Cohen's kappa; undefined only where expected agreement is 1."""
        named = "" if weights == "nominal" else f"{weights} weights; "
        return self.coefficient(partial(kappa, weights=weights), ONE_CATEGORY, named)

    def coefficient(self, of_tables: Callable[[FloatArray], FloatArray], undefined: str, named: str = "") -> Estimate:
        """Return a ``statistic`` that lies between -1 and 1, whose interval is taken on Fisher's z scale."""
        return self.statistic(of_tables, undefined, named, scale="Fisher's z")

    def statistic(
        self,
        of_tables: Callable[[FloatArray], FloatArray],
        undefined: str,
        named: str = "",
        *,
        scale: Scale | None = None,
    ) -> Estimate:
        """Return a statistic of tables of shape (..., k, k), NaN where it is undefined, for the reason given."""
        n = len(self._cells)
        if n == 0:
            return unmeasured(0, "no pairs")
        value = float(of_tables(self._observed))
        if np.isnan(value):
            return unmeasured(n, f"undefined: {undefined}")
        return self._bootstrapped(value, n, of_tables, named, scale if abs(value) < 1 else None)

    def share(self, share: TableShare) -> Estimate:
        """Return a share of the table; its n is the number of pairs that it is a share of."""
        hits, size = (int(count) for count in share.counts(self._observed))
        if size == 0:
            return unmeasured(0, share.undefined)
        if hits in {0, size}:
            touched = self._groups.touched(share.of.ravel()[self._cells])
            return wilson_on_groups(hits / size, size, touched, self._groups.unit)
        return self._bootstrapped(hits / size, size, share.value)

    def _bootstrapped(
        self,
        value: float,
        n: int,
        of_tables: Callable[[FloatArray], FloatArray],
        named: str = "",
        scale: Scale | None = None,
    ) -> Estimate:
        left = self._observed - self._patterns.counts.reshape(-1, *self._observed.shape)
        without = WithoutOne(of_tables(left), self._patterns.shared_by)
        return bootstrapped(value, n, of_tables(self._resampled), self._groups, named, without=without, scale=scale)

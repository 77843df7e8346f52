"""Intervals by evidence group: the bootstrap, influence functions, the jackknife, Wilson's interval."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import AnyArray, FloatArray, Grouping, IntArray
from judgeboard.stats.estimates import Z, measured, t_quantile, unmeasured

RESAMPLES = 2_000
SEED = 20_260_101

_SHARED_BY = (
    16  # drawing a pattern's count costs about as much as drawing this many groups one by one
)
_SETUP = 1_500  # starting to draw one by one costs about as much as drawing this many groups
_CHUNK = 1 << 18  # numbers in memory at once
_UNTHREADED = 1 << 17  # multiplications below which OpenBLAS stays in one thread


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """The distinct patterns of groups (counts by cell, shape (patterns, n_cells)), and the number of groups of each."""

    counts: FloatArray
    shared_by: IntArray


def patterns(cells: IntArray, n_cells: int, groups: Grouping) -> Patterns:
    """Return the patterns of rows in ``cells`` (0 to ``n_cells`` - 1), the most frequent pattern first."""
    filled = np.flatnonzero(np.bincount(cells, minlength=n_cells))
    position = np.zeros(n_cells, dtype=np.int64)
    position[filled] = np.arange(filled.size)
    if groups.all_distinct:
        distinct, shared_by = (
            np.eye(filled.size),
            np.bincount(position[cells], minlength=filled.size),
        )
    else:
        in_cells = np.bincount(
            groups.codes * filled.size + position[cells], minlength=groups.count * filled.size
        )
        distinct, shared_by = _distinct(
            in_cells.reshape(groups.count, filled.size).astype(np.float64)
        )
    order = np.argsort(-shared_by, kind="stable")
    counts = np.zeros((len(distinct), n_cells))
    counts[:, filled] = distinct[order]
    return Patterns(counts, shared_by[order])


def resampled_tables(
    cells: IntArray, n_cells: int, groups: Grouping, *, resamples: int = RESAMPLES
) -> FloatArray:
    """Return counts by cell of bootstrap samples of whole groups, shape (resamples, n_cells), for rows in any order."""
    return resampled(patterns(cells, n_cells, groups), resamples=resamples)


def resampled(of: Patterns, *, resamples: int = RESAMPLES) -> FloatArray:
    """Return counts by cell of bootstrap samples of groups with these patterns, shape (resamples, n_cells)."""
    tables = np.zeros((resamples, of.counts.shape[1]))
    filled = np.flatnonzero(of.counts.any(axis=0))
    if not filled.size:
        return tables
    patterns, shared_by = np.ascontiguousarray(of.counts[:, filled]), of.shared_by
    groups = int(shared_by.sum())
    often = max(int((shared_by >= _SHARED_BY).sum()), 1)
    if (len(shared_by) - often) * _SHARED_BY <= shared_by[often:].sum() + _SETUP:
        often = len(shared_by)
    # Single precision is exact for small whole numbers and takes half the time.
    kind = np.float32 if groups * patterns.max() < 1 << 24 else np.float64
    rare = np.repeat(patterns[often:].astype(kind), shared_by[often:], axis=0)
    chances = np.append(shared_by[:often], len(rare)) / groups
    chunk = max(_CHUNK // max(often + 1, len(rare)), 1)
    rng = np.random.Generator(np.random.SFC64(SEED))
    for start in range(0, resamples, chunk):
        times = rng.multinomial(groups, chances, size=min(chunk, resamples - start))
        sums = _product(times[:, :-1].astype(np.float64), patterns[:often])
        if len(rare):
            # The groups with a rare pattern are drawn one by one.
            of_rare = np.empty((len(times), len(rare)), dtype=kind)
            for sample, size in enumerate(times[:, -1].tolist()):
                rows = rng.integers(0, len(rare), size=size)
                of_rare[sample] = np.bincount(rows, minlength=len(rare))
            sums += _product(of_rare, rare)
        tables[start : start + chunk, filled] = sums
    return tables


def _product(times: AnyArray, patterns: AnyArray) -> AnyArray:
    """Return ``times @ patterns`` in blocks too small for BLAS to start threads.

    On a busy machine, threads wait for one another four times as long as the work takes.
    """
    block = max(_UNTHREADED // (len(times) * patterns.shape[1]), 1)
    total = np.zeros((len(times), patterns.shape[1]), dtype=patterns.dtype)
    for start in range(0, len(patterns), block):
        total += times[:, start : start + block] @ patterns[start : start + block]
    return total


METHOD = "influence function"

_NO_ERROR = 1e-9


def standard_error(influence: FloatArray, groups: Grouping) -> float:
    """Return the standard error of a statistic from the influence of each row and the groups of the rows."""
    by_group = groups.sums(influence - influence.mean())
    return math.sqrt(groups.count / (groups.count - 1) * float(np.square(by_group).sum())) / len(
        influence
    )


def mean_estimate(values: FloatArray, groups: Grouping) -> Estimate:
    """Return the mean of ``values`` (one per row, at least one) with an interval by evidence group."""
    return influence_estimate(float(values.mean()), values, groups)


def correlation_estimate(value: float, influence: FloatArray, groups: Grouping) -> Estimate:
    """Return a correlation with an interval on Fisher's z scale, so that the interval stays within -1 and 1."""
    if (
        abs(value) > 1 + _NO_ERROR
    ):  # agreement corrected for chance may be below -1 on very few rows
        return influence_estimate(value, influence, groups)
    return influence_estimate(min(max(value, -1.0), 1.0), influence, groups, scale="Fisher's z")


def share_estimate(value: float, influence: FloatArray, groups: Grouping) -> Estimate:
    """Return a number from 0 to 1 with an interval on the logit scale, so that the interval stays within 0 and 1."""
    return influence_estimate(value, influence, groups, scale="the logit")


Transform = Literal["Fisher's z", "the logit"]


def influence_estimate(
    value: float, influence: FloatArray, groups: Grouping, *, scale: Transform | None = None
) -> Estimate:
    """Return a statistic with an interval from the influence of each row, computed on ``scale`` (None: unchanged).

    ``influence`` is how much each row changes the statistic, times the number of rows.
    """
    n = len(influence)
    if groups.count == 1:
        return measured(value, n, reason=groups.only_one)
    return estimate_with_error(value, n, standard_error(influence, groups), groups, scale, METHOD)


def estimate_with_error(
    value: float,
    n: int,
    error: float,
    groups: Grouping,
    scale: Transform | None,
    method: str,
    *,
    skew: float = 0.0,
    variance_above: float = 0.0,
) -> Estimate:
    """Return a statistic with the Student's t interval of the standard ``error`` on ``scale``.

    If a statistic depends on few groups, the influence of groups is skewed to the right (``skew``,
    the skewness of the summed influence, is above 0): a sample without these few groups has both a
    low value and a small error. The upper end is then moved outwards by the correction of N. J.
    Johnson, "Modified t tests and confidence intervals for asymmetrical populations" (JASA, 1978).
    The lower end is not moved, because the scale has corrected that side. ``variance_above`` is
    added to the variance of the upper end only.
    """
    slope, to, back = TRANSFORMS[scale](value) if scale else (1.0, float, float)
    if error < _NO_ERROR or slope < _NO_ERROR:
        return measured(value, n, reason=_WITHOUT_SPREAD[scale])
    t = float(t_quantile(groups.count - 1))
    upper = t + max(skew, 0.0) * (2 * t * t + 1) / 6
    error_above = math.hypot(error, math.sqrt(variance_above))
    interval = back(to(value) - t * error / slope), back(to(value) + upper * error_above / slope)
    return measured(
        value,
        n,
        interval,
        method=method if scale is None else f"{method} on {scale}",
        unit=groups.unit,
    )


_WITHOUT_SPREAD: dict[Transform | None, str] = {
    None: "no interval: all values are equal",
    "Fisher's z": "no interval: all points lie on one line",
    "the logit": "no interval: all rows have the same value",
}
TRANSFORMS: dict[
    Transform, Callable[[float], tuple[float, Callable[[float], float], Callable[[float], float]]]
] = {
    "Fisher's z": lambda value: (1 - value**2, math.atanh, math.tanh),
    "the logit": lambda value: (
        value * (1 - value),
        lambda share: math.log(share / (1 - share)),
        lambda x: (1 + math.tanh(x / 2)) / 2,
    ),
}
"""For each scale: the inverse of the slope at a value, the function to the scale, and the function back."""


@dataclass(frozen=True, slots=True, eq=False)
class WithoutOne:
    """A statistic without one group, for each group: distinct ``values``, and ``groups``, the number of each."""

    values: FloatArray
    groups: IntArray

    @property
    def spread(self) -> float:
        """The sum over groups of squared distances from the mean; NaN if a value is undefined."""
        return float((self.groups * np.square(self._apart)).sum())

    @property
    def skew(self) -> float:
        """The skewness of the sum of the groups' influence, 0 if a value is undefined or all are equal."""
        spread = self.spread
        if not spread > 0:  # 0 or NaN
            return 0.0
        return float((self.groups * self._apart**3).sum()) / math.sqrt(spread) ** 3

    @property
    def _apart(self) -> FloatArray:
        return np.average(self.values, weights=self.groups) - self.values


@dataclass(frozen=True, slots=True, eq=False)
class Unseen:
    """Possible kinds of rows that no group has: ``rows`` of shape (kinds, ...), in the form that a statistic sums.

    ``chances`` (kinds,) are proportional to how often each kind occurs if raters agree by chance
    alone.
    """

    rows: FloatArray
    chances: FloatArray

    def variance_above(
        self,
        value: float,
        statistic: Callable[[FloatArray], FloatArray],
        total: FloatArray,
        size: float,
    ) -> float:
        """Return the variance that the bootstrap and the jackknife cannot find, because both see only these groups.

        ``value`` is the statistic of ``total``, the sum of all rows. If few answers are bad and no
        two raters call the same answer bad, agreement is near 0 in every sample. So the number of
        further groups, of ``size`` equal rows, is taken as a Poisson variable with mean 1. Only
        kinds of rows that raise the statistic count.
        """
        changes = statistic(total + size * self.rows) - value
        is_rise = changes > 0
        chances = self.chances[is_rise]
        return (
            float(chances @ np.square(changes[is_rise]) / chances.sum()) if chances.any() else 0.0
        )


_JACKKNIFE_CHUNK = 1 << 20  # numbers in memory at once
_DECIMALS = (
    9  # sums are rounded to this, because subtracting all of a sum leaves noise instead of 0
)


def jackknifed(
    sums: FloatArray,
    statistic: Callable[[FloatArray], FloatArray],
    groups: Grouping,
    n: int,
    *,
    alike: str,
    unseen: Unseen | None = None,
) -> Estimate:
    """Return the ``statistic`` of the summed rows, with an interval by evidence group on Fisher's z scale.

    ``sums`` has the terms of each row, shape (rows, d). The statistic takes sums of shape (..., d)
    and returns values of shape (...), NaN if undefined. ``alike`` is the reason why there is no
    interval if the value is 1. ``unseen`` are the terms of kinds of rows that do not occur.
    """
    total = sums.sum(axis=0)
    value = float(statistic(total))
    if math.isclose(value, 1):
        return measured(value, n, reason=f"no interval: {alike}")
    if groups.count == 1:
        return measured(value, n, reason=groups.only_one)
    of_group = np.stack([groups.sums(column) for column in sums.T], axis=1)
    distinct, times = _distinct(of_group)
    rows = max(_JACKKNIFE_CHUNK // sums.shape[1], 1)
    without = np.concatenate(
        [
            statistic(np.round(total - distinct[start : start + rows], _DECIMALS))
            for start in range(0, len(distinct), rows)
        ]
    )
    if np.isnan(without).any():
        return measured(
            value, n, reason="no interval: the figure is not available without one of the groups"
        )
    without_group = WithoutOne(without, times)
    error = math.sqrt((groups.count - 1) / groups.count * without_group.spread)
    scale: Transform | None = "Fisher's z" if abs(value) < 1 else None
    above = (
        0.0
        if unseen is None
        else unseen.variance_above(value, statistic, total, len(sums) / groups.count)
    )
    return estimate_with_error(
        value, n, error, groups, scale, "jackknife", skew=without_group.skew, variance_above=above
    )


def _distinct(rows: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct rows in a fixed order, and how often each row occurs.

    Rows are compared by a random projection, because sorting numbers is many times faster than
    sorting rows.
    """
    weights = np.random.default_rng(SEED).random(rows.shape[1])
    _, first, times = np.unique((rows * weights).sum(axis=1), return_index=True, return_counts=True)
    order = np.lexsort(rows[first].T[::-1])
    return rows[first[order]], times[order]


def wilson(share: npt.ArrayLike, n: npt.ArrayLike, z: float = Z) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of the intervals of shares (0 to 1) of ``n`` > 0 rows each; shapes broadcast.

    ``z`` is the quantile of the confidence (default: 95 %).
    """
    p, size = np.asarray(share, dtype=np.float64), np.asarray(n, dtype=np.float64)
    spread = z * np.sqrt(p * (1 - p) / size + (z / (2 * size)) ** 2)
    centre, scale = p + z**2 / (2 * size), 1 + z**2 / size
    # For a share of 0 or 1, one bound is exactly that number; the formula in floats would miss it
    # by one bit.
    low = np.where(p == 0, 0.0, np.maximum((centre - spread) / scale, 0))
    high = np.where(p == 1, 1.0, np.minimum((centre + spread) / scale, 1))
    return low, high


_SMALL = 50  # rows
_TAIL = 0.05


def modified_wilson(share: npt.ArrayLike, n: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's bounds, moved outwards if few rows are hits, or few are not; shapes broadcast.

    Wilson's interval of one hit in 15 rows begins above 1 %, so for a true share of 1 % the
    interval holds the truth in 91 of 100 draws. With few hits or misses, the bound is the bound of
    a Poisson variable. Source: L. D. Brown, T. T. Cai, A. DasGupta, "Interval Estimation for a
    Binomial Proportion" (Statistical Science, 2001), 4.1.1.
    """
    from scipy.special import gammaincinv  # loads slowly

    p, size = np.asarray(share, dtype=np.float64), np.asarray(n, dtype=np.float64)
    low, high = wilson(p, size)
    few = np.where(size <= _SMALL, 2.5, 3.5)  # two hits, three of more rows
    hits, misses = p * size, (1 - p) * size
    of_hits, of_misses = (
        gammaincinv(np.clip(each, _NO_ERROR, few), _TAIL) / size for each in (hits, misses)
    )
    low = np.where((hits > 0) & (hits < few), np.minimum(low, of_hits), low)
    high = np.where((misses > 0) & (misses < few), np.maximum(high, 1 - of_misses), high)
    return low, high


def share_intervals(
    hits: npt.ArrayLike, n: npt.ArrayLike, design_effect: float = 1.0
) -> tuple[Estimate, ...]:
    """Return one estimate per pair of counts: ``hits`` of ``n`` responses, both of shape (points,).

    ``design_effect`` is how many times larger the variance is than for independent responses.
    """
    counts, sizes = (
        np.atleast_1d(np.asarray(hits, dtype=np.int64)),
        np.atleast_1d(np.asarray(n, dtype=np.int64)),
    )
    if counts.shape != sizes.shape or (counts < 0).any() or (counts > sizes).any():
        raise ValueError("hits and n must have the same length, with 0 <= hits <= n")
    divisor = np.maximum(sizes, 1)
    shares = counts / divisor
    low, high = wilson(shares, divisor / design_effect)
    rows = zip(shares.tolist(), sizes.tolist(), low.tolist(), high.tolist(), strict=True)
    return tuple(
        measured(value, size, (lower, upper), method="Wilson", unit="response")
        if size
        else unmeasured(0, "no answers")
        for value, size, lower, upper in rows
    )


_UNDEFINED_DRAWS = (
    0.05  # above this share of undefined draws the rest would describe another population
)
_NO_SPREAD = 1e-12
_LEAST = 1e-3
_NORMAL = NormalDist()


def bootstrapped(
    value: float,
    n: int,
    draws: FloatArray,
    groups: Grouping,
    prefix: str = "",
    *,
    without: WithoutOne | None = None,
    scale: Transform | None = None,
    variance_above: float = 0.0,
) -> Estimate:
    """Return ``value`` of ``n`` rows with an interval from bootstrap ``draws``.

    The interval is a t interval with ``scale``, else a BCa interval with ``without``, else a
    percentile interval. Undefined draws (NaN) are left out; with more than 5 % undefined draws,
    there is no interval. ``prefix`` is the start of the name of the method. A t interval adds
    ``variance_above`` to the variance of the upper end.
    """
    if groups.count == 1:
        return measured(value, n, reason=groups.only_one)
    defined = draws[~np.isnan(draws)]
    undefined_count = draws.size - defined.size
    if defined.size == 0 or undefined_count > _UNDEFINED_DRAWS * draws.size:
        return measured(value, n, reason="no interval: too many resamples have no value")
    if np.ptp(defined) < _NO_SPREAD:
        return measured(value, n, reason="no interval: every resample gives the same value")
    left_out = f", {undefined_count:,} without a value left out" if undefined_count else ""
    words = f"{draws.size:,} resamples{left_out}"
    wider = math.sqrt(groups.count / (groups.count - 1))
    if scale is not None:
        error, skew = wider * float(defined.std()), 0.0 if without is None else without.skew
        method = f"{prefix}bootstrap error, {words},"
        return estimate_with_error(
            value, n, error, groups, scale, method, skew=skew, variance_above=variance_above
        )
    reach = wider * float(t_quantile(groups.count - 1))
    # The tails are the shares of draws below the interval's ends.
    if without is None:
        tails = [_NORMAL.cdf(at) for at in (-reach, reach)]
    else:
        twice = np.mean(defined < value - _NO_SPREAD) + np.mean(defined <= value + _NO_SPREAD)
        bias = _NORMAL.inv_cdf(min(max(float(twice) / 2, _LEAST), 1 - _LEAST))
        acceleration = without.skew / 6
        # Beyond the pole, the correction would change sign. The end is then as far out as the draws
        # go.
        tails = [
            _NORMAL.cdf(bias + at / max(1 - acceleration * at, _LEAST))
            for at in (bias - reach, bias + reach)
        ]
    low, high = np.quantile(defined, tails)
    kind = "percentile" if without is None else "BCa"
    method = f"{prefix}expanded {kind} bootstrap, {words}"
    return measured(value, n, (float(low), float(high)), method=method, unit=groups.unit)


def wilson_on_groups(value: float, n: int, groups: int, unit: str) -> Estimate:
    """Return a share of 0 or 1 with Wilson's interval on the groups. A bootstrap would draw equal samples only."""
    low, high = wilson(value, groups)
    method = "Wilson" if groups == n else f"Wilson on {groups:,} {unit}s"
    return measured(value, n, (float(low), float(high)), method=method, unit=unit)

"""Correlations between generators: of the mean scores that the judge and people gave to each generator's answers."""

from collections.abc import Callable, Mapping

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray, Grouping, IntArray, ratio, row_sums
from judgeboard.stats.correlation import signs, tau_of_signs
from judgeboard.stats.estimates import MIN_PAIRS, leaving_out, too_few, unmeasured
from judgeboard.stats.intervals import RESAMPLES, SEED, Patterns, bootstrapped, resampled

FEWEST = 3
"""Two means always have a correlation of -1 or 1."""

MOST = 100
"""With more generators, comparing any two of them in every resample takes too long."""

_MOST_GROUPS = 4_000  # more groups are joined at random, because a resample of all groups of a large log takes too long
_CHUNK = 1 << 20  # numbers in memory at once
_DIGITS = 6  # resampled sums have single precision


def between_generators(
    judge: FloatArray, people: FloatArray, generators: IntArray, groups: Grouping
) -> Mapping[str, Estimate]:
    """Return Pearson's, Spearman's and Kendall's correlation of the mean scores of generators; n counts generators.

    ``generators`` has the code of each row's generator, below 0 if it is not known. The correlations are undefined for
    fewer than ``FEWEST`` or more than ``MOST`` generators. Source: "system-level correlation" with the interval
    "Boot-Inputs" in D. Deutsch, R. Dror, D. Roth, "A Statistical Analysis of Summarization Evaluation Metrics Using
    Resampling Methods" (TACL, 2021).
    """
    known = generators >= 0
    names, codes = np.unique(generators[known], return_inverse=True)
    k, n = len(names), int(known.sum())
    left_out = ("answers without a generator", len(judge) - n)
    if n < MIN_PAIRS or not FEWEST <= k <= MOST:
        of_generators = f"fewer than {FEWEST} generators" if k < FEWEST else f"more than {MOST} generators"
        reason = too_few(n) if n < MIN_PAIRS else of_generators
        return {name: leaving_out(unmeasured(k, reason), left_out) for name in _COEFFICIENTS}
    within = groups.at(known)
    count = min(within.count, _MOST_GROUPS)
    joined = np.random.default_rng(SEED).permutation(within.count) % count
    cells = joined[within.codes] * k + codes
    columns = (np.ones(n), judge[known] - judge.mean(), people[known] - people.mean())
    cubes = [np.bincount(cells, column, count * k).reshape(-1, k) for column in columns]
    sums: FloatArray = np.stack(cubes, axis=1).astype(np.float64)
    drawn = resampled(Patterns(sums.reshape(count, -1), np.ones(count, dtype=np.int64)))
    of_judge, of_people = _means(drawn.reshape(RESAMPLES, 3, k))
    total = _means(sums.sum(axis=0)[None])
    estimates = {}
    for name, coefficient in _COEFFICIENTS.items():
        value = float(coefficient(*total, 9)[0])
        if np.isnan(value):
            estimates[name] = unmeasured(k, "a side gave all generators the same mean score")
            continue
        rows = max(_CHUNK // (k * k), 1)
        parts = [
            coefficient(of_judge[at : at + rows], of_people[at : at + rows], _DIGITS)
            for at in range(0, RESAMPLES, rows)
        ]
        estimates[name] = leaving_out(bootstrapped(value, k, np.concatenate(parts), within), left_out)
    return estimates


def _means(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean scores of the judge and of people for each generator, NaN for generators without an answer."""
    counts, judge, people = np.moveaxis(sums, 1, 0)
    return ratio(judge, counts), ratio(people, counts)


def _pearson(x: FloatArray, y: FloatArray, _digits: int) -> FloatArray:
    x, y = (side - side.mean(axis=-1, keepdims=True) for side in (x, y))
    spread: FloatArray = row_sums(x * x) * row_sums(y * y)
    return ratio(row_sums(x * y), np.sqrt(spread), above=1e-15)


def _spearman(x: FloatArray, y: FloatArray, digits: int) -> FloatArray:
    # The sum of a value's signs is its rank, up to a factor and a constant.
    of_x, of_y = (signs(np.round(side, digits)).sum(axis=-1) for side in (x, y))
    return _pearson(of_x, of_y, digits)


def _kendall(x: FloatArray, y: FloatArray, digits: int) -> FloatArray:
    return tau_of_signs(*(signs(np.round(side, digits)) for side in (x, y)))


_COEFFICIENTS: Mapping[str, Callable[[FloatArray, FloatArray, int], FloatArray]] = {
    "pearson_between": _pearson,
    "spearman_between": _spearman,
    "kendall_between": _kendall,
}

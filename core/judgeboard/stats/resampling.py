"""The bootstrap over evidence groups for every statistic that depends only on how many rows fall in each cell.

Drawing groups with replacement, then adding up their rows by cell, is the same as drawing how often each *pattern*
(a group's counts by cell) comes: a multinomial over the distinct patterns. Patterns that few groups share are
cheaper drawn one by one, so both ways are used, each where it is the faster; neither is an approximation.
"""

import math
from dataclasses import dataclass

import numpy as np

from judgeboard.stats.arrays import AnyArray, FloatArray, IntArray
from judgeboard.stats.grouping import Grouping

RESAMPLES = 2_000
SEED = 20_260_101

_SHARED_BY = 16  # drawing a pattern's count costs about as much as drawing this many groups one by one
_SETUP = 1_500  # and beginning to draw one by one, about as much as drawing this many groups
_CHUNK = 1 << 18  # numbers held at once
_UNTHREADED = 1 << 17  # multiplications below which OpenBLAS stays in one thread


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """The distinct groups as counts by cell, shape (patterns, n_cells), and how many groups share each."""

    counts: FloatArray
    shared_by: IntArray


def patterns(cells: IntArray, n_cells: int, groups: Grouping) -> Patterns:
    """Return the patterns of rows that lie in ``cells`` (0 to ``n_cells`` - 1), the most shared first."""
    filled = np.flatnonzero(np.bincount(cells, minlength=n_cells))
    position = np.zeros(n_cells, dtype=np.int64)
    position[filled] = np.arange(filled.size)
    found, shared_by = _patterns(position[cells], filled.size, groups)
    counts = np.zeros((len(found), n_cells))
    counts[:, filled] = found
    return Patterns(counts, shared_by)


def resampled_tables(
    cells: IntArray, n_cells: int, groups: Grouping, *, resamples: int = RESAMPLES, seed: int = SEED
) -> FloatArray:
    """Return the counts by cell of ``resamples`` bootstrap samples of whole groups, shape (resamples, n_cells).

    Args:
        cells: The cell of each row, 0 to ``n_cells`` - 1.
        n_cells: How many cells there are, also those that stay empty.
        groups: The evidence group of each row.
        resamples: How many samples to draw.
        seed: Equal seeds on equal rows, in any order, give equal counts.
    """
    return resampled(patterns(cells, n_cells, groups), resamples=resamples, seed=seed)


def resampled(of: Patterns, *, resamples: int = RESAMPLES, seed: int = SEED) -> FloatArray:
    """Return the counts by cell of bootstrap samples of groups with these patterns, as ``resampled_tables``."""
    tables = np.zeros((resamples, of.counts.shape[1]))
    filled = np.flatnonzero(of.counts.any(axis=0))
    if filled.size:
        rng = np.random.Generator(np.random.SFC64(seed))
        tables[:, filled] = _draw(np.ascontiguousarray(of.counts[:, filled]), of.shared_by, resamples, rng)
    return tables


def _patterns(cells: IntArray, n_cells: int, groups: Grouping) -> tuple[FloatArray, IntArray]:
    """Return the distinct groups' counts by cell, and how many groups have each, the most shared first."""
    if groups.all_distinct:
        found, shared_by = np.eye(n_cells, dtype=np.int64), np.bincount(cells, minlength=n_cells)
    else:
        counts = np.bincount(groups.codes * n_cells + cells, minlength=groups.count * n_cells)
        found, shared_by = _distinct_rows(counts.reshape(groups.count, n_cells))
    order = np.argsort(-shared_by, kind="stable")
    return found[order].astype(np.float64), shared_by[order]


def _distinct_rows(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct rows of ``counts`` in a fixed order, and how often each occurs."""
    radix = [int(top) + 1 for top in counts.max(axis=0)]
    if math.prod(radix) >= 1 << 63:
        rows, occurs = np.unique(counts, axis=0, return_counts=True)
        return rows, occurs
    # Each row as one number in mixed radix: sorting numbers is many times faster than sorting rows.
    place = np.array([math.prod(radix[index + 1 :]) for index in range(len(radix))], dtype=np.int64)
    _, first, occurs = np.unique(counts @ place, return_index=True, return_counts=True)
    return counts[first], occurs


def _draw(patterns: FloatArray, shared_by: IntArray, resamples: int, rng: np.random.Generator) -> FloatArray:
    """Return the summed patterns of ``resamples`` samples of as many groups as there are."""
    groups = int(shared_by.sum())
    often = max(int((shared_by >= _SHARED_BY).sum()), 1)
    if (len(shared_by) - often) * _SHARED_BY <= shared_by[often:].sum() + _SETUP:
        often = len(shared_by)
    # Small whole numbers are exact in single precision too, at half the time.
    kind = np.float32 if groups * patterns.max() < 1 << 24 else np.float64
    rare = np.repeat(patterns[often:].astype(kind), shared_by[often:], axis=0)
    chances = np.append(shared_by[:often], len(rare)) / groups
    tables = np.empty((resamples, patterns.shape[1]))
    chunk = max(_CHUNK // max(often + 1, len(rare)), 1)
    for start in range(0, resamples, chunk):
        times = rng.multinomial(groups, chances, size=min(chunk, resamples - start))
        drawn = _product(times[:, :-1].astype(np.float64), patterns[:often])
        if len(rare):
            drawn += _one_by_one(times[:, -1], rng, rare)
        tables[start : start + chunk] = drawn
    return tables


def _one_by_one(wanted: IntArray, rng: np.random.Generator, groups: AnyArray) -> AnyArray:
    """Return the sum of ``wanted[i]`` draws from the rows of ``groups``, for each i."""
    times = np.empty((len(wanted), len(groups)), dtype=groups.dtype)
    for sample, size in enumerate(wanted.tolist()):
        times[sample] = np.bincount(rng.integers(0, len(groups), size=size), minlength=len(groups))
    return _product(times, groups)


def _product(times: AnyArray, patterns: AnyArray) -> AnyArray:
    """Return ``times @ patterns`` in blocks too small for BLAS to start threads.

    On a busy machine its threads wait for one another four times as long as the work takes.
    """
    block = max(_UNTHREADED // (len(times) * patterns.shape[1]), 1)
    total = np.zeros((len(times), patterns.shape[1]), dtype=patterns.dtype)
    for start in range(0, len(patterns), block):
        total += times[:, start : start + block] @ patterns[start : start + block]
    return total

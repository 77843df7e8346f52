"""Shares of rows with their interval: Wilson's for independent rows, the bootstrap for evidence groups."""

import numpy as np
import numpy.typing as npt

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import AnyArray
from judgeboard.stats.bootstrap import bootstrapped, wilson_on_groups
from judgeboard.stats.estimates import measured, unmeasured
from judgeboard.stats.grouping import grouping
from judgeboard.stats.resampling import RESAMPLES, resampled_tables
from judgeboard.stats.wilson import wilson


def share(
    hits: npt.ArrayLike, groups: AnyArray | None = None, *, at_least: int = 1, resamples: int = RESAMPLES
) -> Estimate:
    """Return the share of true ``hits``, one per row.

    Args:
        hits: True or false of each row.
        groups: The evidence group of each row; where all differ, or without them, the interval is Wilson's.
        at_least: With fewer rows the share is undefined ("too few").
        resamples: How many samples of groups the bootstrap draws.
    """
    said = np.asarray(hits, dtype=np.bool_)
    n, k = said.size, int(said.sum())
    if n < at_least:
        return unmeasured(n, f"too few to say (under {at_least})" if n else "no answers")
    by_group = grouping(groups, n)
    if by_group.all_distinct:
        return share_intervals(k, n)[0]
    if k in {0, n}:
        return wilson_on_groups(k / n, n, by_group.count, by_group.unit)
    drawn = resampled_tables(said.astype(np.int64), 2, by_group, resamples=resamples)
    return bootstrapped(k / n, n, drawn[:, 1] / drawn.sum(axis=1), by_group)


def share_intervals(hits: npt.ArrayLike, n: npt.ArrayLike) -> tuple[Estimate, ...]:
    """Return one estimate per pair of counts: ``hits`` of ``n`` independent responses, both of shape (points,)."""
    counts, sizes = np.atleast_1d(np.asarray(hits, dtype=np.int64)), np.atleast_1d(np.asarray(n, dtype=np.int64))
    if counts.shape != sizes.shape or (counts < 0).any() or (counts > sizes).any():
        raise ValueError("hits and n must be equally many counts with 0 <= hits <= n")
    divisor = np.maximum(sizes, 1)
    shares = counts / divisor
    low, high = wilson(shares, divisor)
    rows = zip(shares.tolist(), sizes.tolist(), low.tolist(), high.tolist(), strict=True)
    return tuple(
        measured(value, size, (lower, upper), method="Wilson", unit="response") if size else unmeasured(0, "no answers")
        for value, size, lower, upper in rows
    )

"""Intraclass correlations: how far the scores of several raters, or repeats, depend on the items."""

from collections.abc import Callable

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import BoolArray, FloatArray, Grouping, ratio, row_sums
from judgeboard.stats.chance_corrected import EVERY_VALUE_THE_SAME
from judgeboard.stats.estimates import leaving_out, unmeasured
from judgeboard.stats.intervals import jackknifed


def intraclass_correlation(values: FloatArray, groups: Grouping) -> Estimate:
    """Return the one-way ICC(1) of ``values`` (items, repeats): the share of the variance that is between items.

    Repeats are exchangeable: the second repeat of one item has nothing to do with the second repeat
    of another. Source: P. E. Shrout, J. L. Fleiss, "Intraclass correlations: uses in assessing
    rater reliability" (Psychological Bulletin, 1979), ICC(1,1).
    """

    def of_sums(sums: FloatArray) -> FloatArray:
        n, k = sums[..., 0], values.shape[1]
        total, total_squared, squares = np.moveaxis(sums[..., 1:], -1, 0)
        between: FloatArray = ratio(total_squared / k - ratio(total * total, n * k), n - 1)
        within = ratio(squares - total_squared / k, n * (k - 1))
        return ratio(between - within, between + (k - 1) * within, above=1e-9)

    return _of_repeats(
        values,
        groups,
        lambda x: (x.sum(axis=1), x.sum(axis=1) ** 2, np.square(x).sum(axis=1)),
        of_sums,
    )


def cronbach_alpha(values: FloatArray, groups: Grouping) -> Estimate:
    """Return Cronbach's alpha of ``values`` (items, repeats): the reliability of the mean of all repeats.

    Source: L. J. Cronbach, "Coefficient alpha and the internal structure of tests" (Psychometrika,
    1951).
    """

    def of_sums(sums: FloatArray) -> FloatArray:
        n, k = sums[..., :1], values.shape[1]
        sums, squares = (
            sums[..., 1 : k + 2],
            sums[..., k + 2 :],
        )  # of each repeat, then of the total
        spread = squares - ratio(sums * sums, n)
        unshared = ratio(row_sums(spread[..., :k]), spread[..., k], above=1e-9)
        value: FloatArray = (1 - unshared) * k / (k - 1)
        return value

    def columns(x: FloatArray) -> tuple[FloatArray, ...]:
        with_total = np.column_stack((x, x.sum(axis=1)))
        return with_total, np.square(with_total)

    return _of_repeats(values, groups, columns, of_sums)


def _of_repeats(
    values: FloatArray,
    groups: Grouping,
    columns: Callable[[FloatArray], tuple[FloatArray, ...]],
    of_sums: Callable[[FloatArray], FloatArray],
) -> Estimate:
    """Return a statistic of the summed ``columns``, after the number of items, on the items without a missing value."""
    complete: BoolArray = np.asarray(~np.isnan(values).any(axis=1))
    x, n = values[complete], int(complete.sum())
    if n < 2 or x.shape[1] < 2:
        return unmeasured(n, "fewer than two items without a missing value")
    x = (
        x - x.mean()
    )  # Only differences count. Values are centred and scaled so that sums lose no digits.
    spread = float(np.sqrt(np.square(x).mean()))
    if np.isclose(spread, 0):
        return unmeasured(n, EVERY_VALUE_THE_SAME)
    sums = np.column_stack((np.ones(n), *columns(x / spread)))
    if np.isnan(of_sums(sums.sum(axis=0))):
        return unmeasured(n, "the items do not differ")
    estimate = jackknifed(
        sums, of_sums, groups.at(complete), n, alike="all differences are between items"
    )
    return leaving_out(estimate, ("items with a missing value", len(values) - n))

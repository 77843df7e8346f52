"""Statistics that a confusion table holds beside shares and kappa: macro averages, Matthews' correlation.

Each maps tables of shape (..., k, k), people in the rows, to values of shape (...), NaN where it is undefined, so that
it serves the table itself and its resamples alike.

Source: J. Gorodkin, "Comparing two K-category assignments by a K-category correlation coefficient" (Computational
Biology and Chemistry, 2004).
"""

import numpy as np

from judgeboard.stats.arrays import FloatArray, column_sums, row_sums


def macro_precision(tables: FloatArray) -> FloatArray:
    """Return the mean precision over the categories that either side gave; undefined where the judge gave not all."""
    return _macro(_right(tables), column_sums(tables), tables)


def macro_recall(tables: FloatArray) -> FloatArray:
    """Return the mean recall over the categories that either side gave; undefined where people gave not all."""
    return _macro(_right(tables), row_sums(tables), tables)


def macro_f1(tables: FloatArray) -> FloatArray:
    """Return the mean F1 over the categories that either side gave; undefined where that is only one."""
    return _macro(2 * _right(tables), row_sums(tables) + column_sums(tables), tables)


def matthews(tables: FloatArray) -> FloatArray:
    """Return Matthews' correlation coefficient, for k categories as Gorodkin has it; undefined where a side is one."""
    people, judge = row_sums(tables), column_sums(tables)
    n = row_sums(people)
    covariance = row_sums(_right(tables)) * n - row_sums(people * judge)
    spreads = [n * n - row_sums(np.square(side)) for side in (people, judge)]
    return _ratio(covariance, np.sqrt(spreads[0] * spreads[1]))


def _right(tables: FloatArray) -> FloatArray:
    return np.diagonal(tables, axis1=-2, axis2=-1)


def _macro(hits: FloatArray, of: FloatArray, tables: FloatArray) -> FloatArray:
    """Return the mean of hits / of over the categories that occur, NaN where one of those has nothing in ``of``.

    Over a single category it would be 1 whatever the judge can tell apart: NaN too.
    """
    occurs = row_sums(tables) + column_sums(tables) > 0
    shares = np.divide(hits, of, out=np.full(of.shape, np.nan), where=of > 0)
    categories = row_sums(occurs.astype(np.float64))
    return _ratio(row_sums(np.where(occurs, shares, 0.0)), np.where(categories > 1, categories, 0.0))


def _ratio(upper: FloatArray, lower: FloatArray) -> FloatArray:
    ratio: FloatArray = np.divide(upper, lower, out=np.full(np.shape(lower), np.nan), where=lower > 0)
    return ratio

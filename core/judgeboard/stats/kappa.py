"""Cohen's kappa, plain and weighted: agreement corrected for what chance would give.

Sources: J. Cohen, "A coefficient of agreement for nominal scales" (1960); "Weighted kappa" (1968).
"""

from typing import Literal

import numpy as np

from judgeboard.stats.arrays import FloatArray, column_sums, row_sums

Weights = Literal["nominal", "linear", "quadratic"]


def disagreement_weights(k: int, weights: Weights) -> FloatArray:
    """Return how far apart each two of ``k`` ordered categories count, shape (k, k), zeros on the diagonal."""
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64)
    match weights:
        case "nominal":
            return np.minimum(apart, 1)
        case "linear":
            return apart
        case "quadratic":
            return apart**2


def agreement_weights(k: int, weights: Weights) -> FloatArray:
    """Return how much each two of ``k`` ordered categories agree, 1 on the diagonal, 0 at the greatest distance."""
    apart = disagreement_weights(k, weights)
    return 1 - apart / max(float(apart.max()), 1.0)


def kappa(tables: FloatArray, weights: Weights = "nominal") -> FloatArray:
    """Return kappa of each confusion table: shape (..., k, k) of counts in, (...) out.

    NaN where expected agreement is 1, that is where both sides put everything in one and the same category; an
    estimate turns it into *undefined*. The scale is all ``k`` categories, whichever occur.
    """
    apart = disagreement_weights(tables.shape[-1], weights)
    rows, columns = row_sums(tables), column_sums(tables)
    observed = row_sums(row_sums(tables * apart)) * row_sums(rows)
    expected = row_sums((rows @ apart) * columns)
    ratio: FloatArray = np.divide(observed, expected, out=np.full(expected.shape, np.nan), where=expected > 0)
    return 1 - ratio

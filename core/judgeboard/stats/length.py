"""How a score goes with the length of what is scored: its slope, and its correlation among rows of equal quality.

Sources: the cluster-robust slope of K.-Y. Liang, S. L. Zeger (Biometrika, 1986); ranks within strata as in
P. H. van Elteren (Bulletin of the ISI, 1960).
"""

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import TIE, AnyArray, FloatArray
from judgeboard.stats.correlation import pearson
from judgeboard.stats.estimates import measured, unmeasured
from judgeboard.stats.grouping import Grouping, grouping
from judgeboard.stats.influence import METHOD, standard_error
from judgeboard.stats.ranks import mid_ranks
from judgeboard.stats.student import t_quantile


def slope(score: FloatArray, length: FloatArray, groups: Grouping) -> Estimate:
    """Return by how much the score rises per unit of length (least squares), with its interval by evidence group."""
    n = len(score)
    centred = length - length.mean() if n else length
    spread = float(np.mean(centred * centred)) if n else 0.0
    if spread < TIE:
        return unmeasured(n, "undefined: all are equally long" if n else "no answers")
    value = float(np.mean(centred * score)) / spread
    residual = score - score.mean() - value * centred
    influence = centred * residual / spread
    if groups.count == 1:
        return measured(value, n, reason="no interval: one evidence group only")
    reach = float(t_quantile(groups.count - 1)) * standard_error(influence, groups)
    return measured(value, n, (value - reach, value + reach), method=METHOD, unit=groups.unit)


def correlation_within(score: FloatArray, length: FloatArray, strata: AnyArray, groups: AnyArray | None) -> Estimate:
    """Return the correlation of score and length among rows of one stratum, over all strata together.

    Both are ranked within their stratum, so that what lies between strata (better answers are longer) does not count,
    and neither does the shape of either distribution. Strata of one row are left out.

    Args:
        score: One per row.
        length: One per row.
        strata: What must be equal: the human grade of each row.
        groups: The evidence group of each row, or None.
    """
    _, codes, counts = np.unique(strata, return_inverse=True, return_counts=True)
    kept = counts[codes] > 1
    score, length, codes = score[kept], length[kept], codes[kept]
    if not len(score):
        return unmeasured(0, "no two answers have the same grade")
    of_score, of_length = np.empty(len(score)), np.empty(len(score))
    for code in np.unique(codes):
        rows = codes == code
        of_score[rows], of_length[rows] = (mid_ranks(side[rows]).shares for side in (score, length))
    estimate = pearson(of_score, of_length, grouping(None if groups is None else groups[kept], len(score)))
    if estimate.value is None:
        return unmeasured(estimate.n, "undefined: within a grade all scores, or all lengths, are equal")
    return estimate

"""AUPRC: the precision that a score keeps while it finds more and more of the bad answers.

Step-wise, which is average precision: the mean, over the bad answers, of the precision at their score. Straight lines
between the steps would promise too much (J. Davis, M. Goadrich, ICML 2006). Interval on the logit scale, as
K. Boyd, K. H. Eng, C. D. Page, "Area under the precision-recall curve: point estimates and confidence intervals"
(ECML 2013) advise, from the influence of each row. What no judge at all would reach is the share of bad answers.
"""

import math

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import BoolArray, FloatArray
from judgeboard.stats.auroc import SEPARATED, missing_class
from judgeboard.stats.estimates import measured, unmeasured
from judgeboard.stats.grouping import Grouping
from judgeboard.stats.influence import share_estimate
from judgeboard.stats.ranks import mid_ranks


def auprc(score: FloatArray, bad: BoolArray, groups: Grouping) -> Estimate:
    """Return the average precision of ``score`` (lower is worse, as groundedness is) for finding ``bad`` rows.

    Undefined where one of both classes is empty; its n counts all rows. Equal scores are found together.
    """
    if (reason := missing_class(bad)) is not None:
        return unmeasured(len(score), reason)
    n = len(score)
    ranks = mid_ranks(score)
    bad_at = np.bincount(ranks.levels, weights=bad, minlength=ranks.counts.size) / n
    bad_found, found = np.cumsum(bad_at), np.cumsum(ranks.counts) / n
    precision, share_bad = bad_found / found, float(bad.mean())
    value = float((bad_at * precision).sum()) / share_bad
    if math.isclose(value, 1):
        return measured(value, n, reason=SEPARATED)
    # A row moves the precision at its own score and at every higher one; a bad one counts there itself too.
    found_later, found_bad_later = (
        np.cumsum(each[::-1])[::-1] for each in (bad_at / found, bad_at * precision / found)
    )
    level = ranks.levels
    influence: FloatArray = (bad * (precision[level] + found_later[level] - value) - found_bad_later[level]) / share_bad
    return share_estimate(value, influence, groups)

"""Anchoring: how far people move to the judge's score after they have seen it.

The least-squares slope through the origin of m = revealed - blind on d = judge - blind: 0 if nobody moves, 1 if
everybody adopts the judge's score. The interval is a jackknife over responses (B. Efron, C. Stein, Annals of
Statistics, 1981), since several people on one response move together. Few responses carry most weight, and few of
them move where anchoring is small. The interval is therefore taken on the logit scale, with half a response added on
either side (F. J. Anscombe, "On estimating binomial response relations", Biometrika, 1956). Without that it covered
the truth in only 70 to 90 of 100 simulations.
"""

import math

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import TIE, FloatArray, Grouping, same_length
from judgeboard.stats.estimates import leaving_out, measured, t_quantile, unmeasured

_METHOD = "jackknife"


def anchoring(judge: FloatArray, blind: FloatArray, revealed: FloatArray, responses: Grouping) -> Estimate:
    """Return sum(d m) / sum(d d) of grades that people gave blind, and again after they saw the judge's.

    ``responses`` groups the rows by response. Rows on which both agreed before are left out of n.
    """
    same_length(judge, blind, revealed, responses.codes)
    apart, moved = judge - blind, revealed - blind
    differing = np.abs(apart) > TIE
    n, agreed = int(differing.sum()), int((~differing).sum())
    if not n:
        return unmeasured(0, "nobody differed from the judge" if agreed else "no grades before and after")
    apart, moved, groups = apart[differing], moved[differing], responses.at(differing)
    upper, lower = groups.sums(apart * moved), groups.sums(apart * apart)
    value = float(upper.sum() / lower.sum())
    return leaving_out(
        _with_interval(value, n, upper, lower, groups), ("agreed with the judge before seeing it", agreed)
    )


def _with_interval(value: float, n: int, upper: FloatArray, lower: FloatArray, groups: Grouping) -> Estimate:
    """Return the share with its interval, from each group's sums of d m and of d d."""
    if groups.count < 2:
        return measured(value, n, reason=f"no interval: one {groups.group} only")
    t = float(t_quantile(groups.count - 1))
    if not 0 <= value <= 1:  # people moved away from the judge, or beyond it
        error = _error(upper, lower)
        return measured(value, n, (value - t * error, value + t * error), method=_METHOD, unit=groups.unit)
    half = float(np.square(lower).sum() / lower.sum()) / 2
    upper, lower = np.append(upper, (0.0, half)), np.append(lower, (half, half))
    share = float(upper.sum() / lower.sum())
    centre, reach = math.log(share / (1 - share)), t * _error(upper, lower) / (share * (1 - share))
    low, high = ((1 + math.tanh(end / 2)) / 2 for end in (centre - reach, centre + reach))
    method = f"{_METHOD} on the logit, half a {groups.group} added either way"
    return measured(value, n, (min(low, value), max(high, value)), method=method, unit=groups.unit)


def _error(upper: FloatArray, lower: FloatArray) -> float:
    """Return the jackknife's standard error of the ratio of two totals."""
    without = (upper.sum() - upper) / (lower.sum() - lower)
    return math.sqrt((len(upper) - 1) / len(upper) * float(np.square(without - without.mean()).sum()))

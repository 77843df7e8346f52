"""Calibration: does a groundedness of 0.7 mean that people call 70 % of such answers grounded?"""

from dataclasses import dataclass, replace

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import TIE, BoolArray, FloatArray, IntArray, same_length
from judgeboard.stats.estimates import unmeasured
from judgeboard.stats.grouping import Grouping
from judgeboard.stats.influence import influence_estimate
from judgeboard.stats.proportions import share_intervals

MIN_CALIBRATION = 100
"""Below this many pairs a page shows a sentence instead of the curve."""

TENTHS = 10


@dataclass(frozen=True, slots=True)
class Tenth:
    """The answers whose score lies from ``low`` up to below ``high`` (the last one with 1 itself).

    ``mean_score`` is None where there are none; ``share_grounded`` carries n and Wilson's interval.
    """

    low: float
    high: float
    mean_score: float | None
    share_grounded: Estimate


def calibration(score: FloatArray, grounded: BoolArray) -> tuple[Tenth, ...]:
    """Return the ten tenths of ``score`` (0 to 1) with the share of their answers that people call ``grounded``."""
    same_length(score, grounded)
    tenth = _tenths(score)
    n = np.bincount(tenth, minlength=TENTHS)
    hits = np.bincount(tenth, weights=grounded, minlength=TENTHS).astype(np.int64)
    means = (np.bincount(tenth, weights=score, minlength=TENTHS) / np.maximum(n, 1)).tolist()
    return tuple(
        Tenth(index / TENTHS, (index + 1) / TENTHS, round(mean, 12) if share.n else None, share)
        for index, (mean, share) in enumerate(zip(means, share_intervals(hits, n), strict=True))
    )


def expected_calibration_error(score: FloatArray, grounded: BoolArray, groups: Grouping) -> Estimate:
    """Return the mean distance, over answers, of a tenth's mean ``score`` and the share that people call ``grounded``.

    A judge without any error of calibration gets more than 0 too, the more the fewer answers a tenth holds. Source:
    M. P. Naeini, G. F. Cooper, M. Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning"
    (AAAI 2015), with equally wide bins.
    """
    if not same_length(score, grounded):
        return unmeasured(0, "no pairs")
    tenth, above = _tenths(score), grounded - score
    gaps = np.bincount(tenth, weights=above, minlength=TENTHS)
    value = float(np.abs(gaps).sum()) / len(score)
    found = influence_estimate(value, np.sign(gaps)[tenth] * above, groups)
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))


def _tenths(score: FloatArray) -> IntArray:
    return np.clip(np.floor((score + TIE) * TENTHS), 0, TENTHS - 1).astype(np.int64)

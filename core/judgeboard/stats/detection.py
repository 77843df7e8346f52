"""How well a score detects bad answers: AUROC, calibration."""

import math
from dataclasses import dataclass, replace

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import (
    TIE,
    BoolArray,
    FloatArray,
    Grouping,
    IntArray,
    mid_ranks,
    same_length,
)
from judgeboard.stats.estimates import measured, t_quantile, unmeasured, within_range
from judgeboard.stats.intervals import (
    TRANSFORMS,
    influence_estimate,
    mean_estimate,
    share_intervals,
)

SEPARATED = "no interval: the scores separate the classes completely"
ALL_EQUAL = "no interval: all scores are equal"


def auroc(score: FloatArray, bad: BoolArray, groups: Grouping) -> Estimate:
    """Return the AUROC of ``score`` (lower is worse) for ``bad`` rows; undefined if all rows are bad or none is.

    The error is Obuchowski's. The interval is on the logit scale, with Student's t of as many
    degrees of freedom as the smaller class has groups, less one: near 1, and with few rows of a
    class, the normal interval is too narrow.
    """
    n = len(score)
    if (reason := missing_class(bad)) is not None:
        return unmeasured(n, reason)
    # For each row the share of rows of the other class on the correct side; ties count half.
    ranks = mid_ranks(score)
    good_above, bad_above = (
        ranks.mean_above(rows.astype(np.float64)) / rows.mean() for rows in (~bad, bad)
    )
    wins: FloatArray = np.where(bad, good_above, 1 - bad_above)
    value = float(wins[bad].mean())
    # For each class, the number of groups with such an answer.
    counts = [groups.touched(rows) for rows in (bad, ~bad)]
    if min(counts) < 2:
        return measured(
            value, n, reason="no interval: all answers of one class are in one evidence group"
        )
    # Obuchowski's variance: of each class, and of the two classes in common.
    within, by_group = 0.0, []
    for rows, count in zip((bad, ~bad), counts, strict=True):
        by_group.append(groups.sums(np.where(rows, wins - value, 0.0)) / int(rows.sum()))
        within += count / (count - 1) * float(np.square(by_group[-1]).sum())
    between = float((by_group[0] * by_group[1]).sum())
    variance = within + 2 * groups.count / (groups.count - 1) * between
    if variance < 1e-18:
        return measured(value, n, reason=ALL_EQUAL if np.ptp(score) <= TIE else SEPARATED)
    slope, to, back = TRANSFORMS["the logit"](value)
    reach = float(t_quantile(min(counts) - 1)) * math.sqrt(variance) / slope
    method = (
        "DeLong, t on the logit"
        if groups.all_distinct
        else "DeLong, clustered (Obuchowski), t on the logit"
    )
    ends = back(to(value) - reach), back(to(value) + reach)
    return measured(value, n, ends, method=method, unit=groups.unit)


def missing_class(bad: BoolArray) -> str | None:
    """Return the reason why nothing can be detected: no ``bad`` answers, or no good answers; otherwise None."""
    if not len(bad):
        return "no pairs"
    if bad.all():
        return "people found no good answer here"
    return None if bad.any() else "people found no bad answer here"


MIN_CALIBRATION = 100
"""Below this many pairs a page shows a sentence instead of the curve."""
_FEW_CALIBRATION = f"no interval: fewer than {MIN_CALIBRATION} answers"

TENTHS = 10


@dataclass(frozen=True, slots=True)
class Tenth:
    """The answers with a score from ``low`` up to below ``high`` (the last tenth includes 1)."""

    low: float
    high: float
    mean_score: float | None
    share_grounded: Estimate


def calibration(score: FloatArray, grounded: BoolArray) -> tuple[Tenth, ...]:
    """Return ten tenths of ``score`` (0 to 1), each with the share of answers that people call ``grounded``."""
    same_length(score, grounded)
    tenth = tenths(score)
    n = np.bincount(tenth, minlength=TENTHS)
    hits = np.bincount(tenth, weights=grounded, minlength=TENTHS).astype(np.int64)
    means = (np.bincount(tenth, weights=score, minlength=TENTHS) / np.maximum(n, 1)).tolist()
    return tuple(
        Tenth(index / TENTHS, (index + 1) / TENTHS, round(mean, 12) if share.n else None, share)
        for index, (mean, share) in enumerate(zip(means, share_intervals(hits, n), strict=True))
    )


def expected_calibration_error(
    score: FloatArray, grounded: BoolArray, groups: Grouping
) -> Estimate:
    """Return the mean distance, over answers, between mean ``score`` and share of ``grounded`` in the answer's tenth.

    Source: M. P. Naeini, G. F. Cooper, M. Hauskrecht, "Obtaining well calibrated probabilities
    using Bayesian binning" (AAAI 2015), with equally wide bins. Even a calibrated judge gets more
    than 0, especially with few answers.
    """
    if not same_length(score, grounded):
        return unmeasured(0, "no pairs")
    tenth, above = tenths(score), grounded - score
    gaps = np.bincount(tenth, weights=above, minlength=TENTHS)
    value = float(np.abs(gaps).sum()) / len(score)
    if len(score) < MIN_CALIBRATION:  # few answers raise the value and the interval by chance
        return measured(value, len(score), reason=_FEW_CALIBRATION)
    estimate = influence_estimate(value, np.sign(gaps)[tenth] * above, groups)
    if estimate.low is None or estimate.high is None:
        return estimate
    return replace(estimate, low=max(estimate.low, 0.0), high=min(estimate.high, 1.0))


def brier(score: FloatArray, grounded: BoolArray, groups: Grouping) -> Estimate:
    """Return the mean squared distance between ``score`` (0 to 1) and ``grounded`` (0 or 1); lower is better.

    Source: G. W. Brier, "Verification of forecasts expressed in terms of probability" (Monthly
    Weather Review, 1950), for one of two classes.
    """
    return within_range(mean_estimate(np.square(score - grounded), groups), 0, 1)


def tenths(score: FloatArray) -> IntArray:
    """Return the tenth of each score from 0 to 1, as 0 to 9; float noise below a border does not count."""
    return np.clip(np.floor((score + TIE) * TENTHS), 0, TENTHS - 1).astype(np.int64)

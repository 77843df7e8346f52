"""Maps from a judge's score to the probability that people call the answer grounded: what a score of 0.7 means.

Methods: J. Platt, "Probabilistic outputs for support vector machines" (1999), on the logit of the
score; isotonic regression by pooling adjacent violators (B. Zadrozny, C. Elkan, 2002). A map never
changes a stored score.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray, Grouping, IntArray, same_length
from judgeboard.stats.detection import TENTHS, missing_class, tenths
from judgeboard.stats.estimates import measured, t_quantile, unmeasured
from judgeboard.stats.intervals import SEED, influence_estimate
from judgeboard.stats.rates import OPEN, OPEN_REASON

How = Literal["platt", "isotonic"]
HOWS: tuple[How, ...] = get_args(How)

LEAST_LABELS = 50
"""With fewer labels, a map is worse than the raw score."""

ISOTONIC_LABELS = 400
"""With fewer labels, the isotonic map is worse than Platt's."""

FOLDS = 5
LUCK_DRAWS = 200

_CUT = 1e-4  # Platt: scores nearer to 0 or 1 count as this near
_STEPS = 100
_SMALL_STEP = 1e-12


@dataclass(frozen=True, slots=True)
class ScoreMap:
    """A map from scores (0 to 1) to probabilities.

    Platt's map has a ``slope`` and an ``offset`` on the logit scale. The isotonic map interpolates
    between points (``scores``, ``probabilities``).
    """

    how: How
    slope: float | None = None
    offset: float | None = None
    scores: tuple[float, ...] = ()
    probabilities: tuple[float, ...] = ()

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return the probability of each score."""
        if self.slope is not None and self.offset is not None:
            mapped: FloatArray = _expit(self.slope * _logit(scores) + self.offset)
            return mapped
        return np.interp(scores, self.scores, self.probabilities)


def _expit(logits: FloatArray) -> FloatArray:
    from scipy.special import expit  # loads slowly

    shares: FloatArray = expit(logits)
    return shares


def _logit(scores: FloatArray) -> FloatArray:
    kept = np.clip(scores, _CUT, 1 - _CUT)
    return np.log(kept / (1 - kept))


def fit_map(
    how: How, scores: FloatArray, good: FloatArray, weights: FloatArray | None = None
) -> ScoreMap:
    """Return the map that fits the labels.

    ``good`` is 1 if people call the answer grounded, otherwise 0; it must have both. ``weights``
    (default: 1) tell how many answers each label stands for.
    """
    same_length(scores, good)
    weight = np.ones(len(scores)) if weights is None else weights * (len(weights) / weights.sum())
    return (_platt if how == "platt" else _isotonic)(scores, good, weight)


def _platt(scores: FloatArray, good: FloatArray, weight: FloatArray) -> ScoreMap:
    n_good, n_bad = float(weight @ good), float(weight @ (1 - good))
    flat = np.array([0.0, np.log((n_good + 1) / (n_bad + 1))])
    if not np.ptp(scores):
        return ScoreMap("platt", *flat.tolist())
    targets = np.where(good > 0, (n_good + 1) / (n_good + 2), 1 / (n_bad + 2))
    columns = np.stack([_logit(scores), np.ones(len(scores))])
    line = flat.copy()
    for _ in range(_STEPS):  # Newton's method
        p = _expit(line @ columns)
        gradient = columns @ (weight * (p - targets))
        hessian = (columns * (weight * p * (1 - p))) @ columns.T + 1e-12 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        line -= step
        if np.abs(step).max() < _SMALL_STEP:
            break
    # A negative slope would say that a higher score is worse. The best map that never falls is then
    # flat.
    slope, offset = (line if line[0] >= 0 else flat).tolist()
    return ScoreMap("platt", slope, offset)


def _isotonic(scores: FloatArray, good: FloatArray, weight: FloatArray) -> ScoreMap:
    from scipy.optimize import isotonic_regression  # loads slowly, and only this map needs it

    levels, at = np.unique(scores, return_inverse=True)
    total = np.bincount(at, weights=weight)
    means = np.bincount(at, weights=weight * good) / total
    fitted = isotonic_regression(means, weights=total).x
    return ScoreMap("isotonic", scores=tuple(levels.tolist()), probabilities=tuple(fitted.tolist()))


def platt_at(
    score_map: ScoreMap,
    at: FloatArray,
    scores: FloatArray,
    good: FloatArray,
    groups: Grouping,
    weights: FloatArray,
) -> tuple[Estimate, ...]:
    """Return the probability that Platt's map gives to each score in ``at``, with its interval by evidence group.

    The map was fitted to ``scores``, ``good`` and ``weights``, one per label. The error is that of
    the fitted line (the sandwich of P. J. Huber, 1967), with Satterthwaite's degrees of freedom,
    because few labels may stand for most answers. The interval does not cover a wrong form of the
    map.
    """
    same_length(scores, good, weights, groups.codes)
    n, probabilities, fitted = len(scores), score_map(scores), score_map(at)
    if groups.count == 1:
        return tuple(measured(each, n, reason=groups.only_one) for each in fitted.tolist())
    columns, points = (np.stack([_logit(each), np.ones(len(each))]) for each in (scores, at))
    if not score_map.slope:
        columns, points = columns[1:], points[1:]
    bread = (columns * (weights * probabilities * (1 - probabilities))) @ columns.T
    moved = np.linalg.solve(bread, columns * (weights * (good - probabilities)))
    estimates = []
    for value, point in zip(fitted.tolist(), points.T, strict=True):
        of_groups = groups.sums(point @ moved)
        squares = np.square(of_groups - of_groups.mean())
        error = math.sqrt(groups.count / (groups.count - 1) * float(squares.sum()))
        df = max(float(squares.sum()) ** 2 / float(np.square(squares).sum()) - 1, 1.0)
        centre, reach = math.log(value / (1 - value)), float(t_quantile(df)) * error
        low, high = _expit(np.array([centre - reach, centre + reach])).tolist()
        if high - low > OPEN:
            estimates.append(measured(value, n, reason=OPEN_REASON))
        else:
            estimates.append(
                measured(value, n, (low, high), method="sandwich, t on the logit", unit=groups.unit)
            )
    return tuple(estimates)


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """A map of all labels (``score_map``), and the cross-fitted ``probabilities`` that it is measured with.

    Brier scores and calibration errors (ECE, ten equally wide bins) are before and after; lower is
    better. ``brier_change`` is after minus before. ``ece_by_luck`` is the error that the scores
    would have with these labels if they were calibrated, whatever the map; ``ece_after_by_luck`` is
    the same for the ``probabilities``. ``constant_brier`` is the Brier score of one probability for
    all answers.
    """

    score_map: ScoreMap
    probabilities: FloatArray
    brier_before: float
    brier_after: float
    brier_change: Estimate
    ece_before: float
    ece_after: float
    ece_by_luck: float
    ece_after_by_luck: float
    constant_brier: float


def calibrate(
    how: How,
    scores: FloatArray,
    good: FloatArray,
    folds: IntArray,
    groups: Grouping,
    weights: FloatArray | None = None,
) -> Calibrated:
    """Fit a map and measure it cross-fitted: each fold gets the map of the other folds.

    On its own labels a map would look better than it is: the isotonic map has a calibration error
    of 0 by construction. Answers of one evidence group must be in one fold. Raises ValueError if a
    map cannot be fitted.
    """
    if (reason := missing_class(good < 1)) is not None:
        raise ValueError(reason)
    weight = np.ones(len(scores)) if weights is None else weights / weights.mean()
    probabilities = np.empty(len(scores))
    for fold in np.unique(folds):
        inside = folds == fold
        if (reason := missing_class(good[~inside] < 1)) is not None:
            raise ValueError(
                f"one fifth of the evidence groups has all answers of one label: {reason}"
            )
        probabilities[inside] = fit_map(how, scores[~inside], good[~inside], weight[~inside])(
            scores[inside]
        )
    before, after = np.square(scores - good), np.square(probabilities - good)
    share = float(weight @ good) / len(good)
    return Calibrated(
        score_map=fit_map(how, scores, good, weight),
        probabilities=probabilities,
        brier_before=_mean(before, weight),
        brier_after=_mean(after, weight),
        brier_change=weighted_mean(after - before, weight, groups),
        ece_before=calibration_error(scores, good, weight),
        ece_after=calibration_error(probabilities, good, weight),
        ece_by_luck=error_by_luck(scores, weight),
        ece_after_by_luck=error_by_luck(probabilities, weight),
        constant_brier=share * (1 - share),
    )


def weighted_mean(values: FloatArray, weights: FloatArray, groups: Grouping) -> Estimate:
    """Return the mean of ``values`` with these ``weights`` (their mean is 1), with its interval by evidence group."""
    if not len(values):
        return unmeasured(0, "no labelled answers")
    mean = _mean(values, weights)
    return influence_estimate(mean, weights * (values - mean), groups)


def calibration_error(probabilities: FloatArray, good: FloatArray, weights: FloatArray) -> float:
    """Return the mean distance between the mean probability and the share of good answers, in ten equally wide bins."""
    bins = tenths(probabilities)
    gaps = np.bincount(bins, weights=weights * (good - probabilities), minlength=TENTHS)
    return float(np.abs(gaps).sum() / weights.sum())


def error_by_luck(probabilities: FloatArray, weights: FloatArray) -> float:
    """Return the mean calibration error of labels that are drawn with exactly these probabilities (200 draws).

    The order of the rows does not change the draws: databases return rows in different orders.
    """
    # Rounded, because sums in another order move the last digits of a probability.
    order = np.lexsort((np.round(weights, 9), np.round(probabilities, 9)))
    probabilities, weights = probabilities[order], weights[order]
    rng = np.random.default_rng(SEED)
    errors = [
        calibration_error(
            probabilities,
            (rng.random(len(probabilities)) < probabilities).astype(np.float64),
            weights,
        )
        for _ in range(LUCK_DRAWS)
    ]
    return float(np.mean(errors))


def _mean(values: FloatArray, weights: FloatArray) -> float:
    return float(weights @ values) / float(weights.sum())

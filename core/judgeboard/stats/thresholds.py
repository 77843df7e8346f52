"""Thresholds of a judge's score with a guarantee: at most a given share of the verdicts beyond the threshold are wrong.

The guarantee holds with a confidence of 1 - ``delta`` over sets of labels. Methods: fixed-sequence
tests (P. Bauer, "Multiple testing in clinical trials", 1991; J. Jung, F. Brahman, Y. Choi, "Trust
or Escalate", ICLR 2025; A. N. Angelopoulos et al., "Learn then Test", 2021) with one-sided
Clopper-Pearson bounds and a design effect by evidence group (E. L. Korn, B. I. Graubard, 1998).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray
from judgeboard.stats.intervals import wilson

STARTS = 4
"""Places of the sequence at which tests begin, each with an equal part of ``delta``."""

DELTA = 0.05
"""Share of sets of labels for which the guarantee may fail."""

FEWEST_FLAGGED = 30
"""Labels at the first threshold that is tested for precision, after the design effect."""

_MOST_LABELS = 100_000  # no plan asks for more


@dataclass(frozen=True, slots=True)
class Passed:
    """A threshold that passed the test.

    ``n`` verdicts count for the test, and ``wrong`` verdicts are wrong. ``bound`` is the upper
    bound of the wrong share at the confidence of the test.
    """

    threshold: float
    n: int
    wrong: int
    bound: float
    design_effect: float


def wrong_bound(wrong: float, n: float, delta: float, design_effect: float = 1.0) -> float:
    """Return the upper Clopper-Pearson bound of a share at confidence 1 - ``delta``; 1 if every row is wrong."""
    from scipy.special import betaincinv  # loads slowly

    if wrong >= n:
        return 1.0
    return float(betaincinv(wrong / design_effect + 1, (n - wrong) / design_effect, 1 - delta))


def score_grid(scores: FloatArray) -> FloatArray:
    """Return the 99th to the 1st percentile of the scores of all judged answers, descending and without repeats.

    The grid depends on no label, so that the tests may use all labels.
    """
    if not len(scores):
        return np.empty(0)
    return np.unique(np.percentile(scores, np.arange(1, 100), method="inverted_cdf"))[::-1]


def confidence_threshold(
    thresholds: FloatArray,
    confidence: FloatArray,
    wrong: BoolArray,
    *,
    risk: float,
    delta: float = DELTA,
    design_effect: float = 1.0,
    starts: int = STARTS,
) -> Passed | None:
    """Return the lowest threshold with at most a share ``risk`` of wrong verdicts at or above it, None if none.

    ``thresholds`` are descending; ``confidence`` and ``wrong`` have one row per labelled answer.
    From each of the ``starts`` the thresholds are tested in order, until one fails. Thresholds with
    too few labels to pass without an error are not tested.
    """
    order = np.argsort(-confidence, kind="stable")
    errors = np.append(0, np.cumsum(wrong[order]))
    counts = np.searchsorted(-confidence[order], -thresholds, side="right")
    labels = [(n, int(errors[n]), design_effect) for n in counts.tolist()]
    return lowest_passing(thresholds, labels, risk=risk, delta=delta, starts=starts)


def lowest_passing(
    thresholds: FloatArray,
    labels: Sequence[tuple[int, int, float]],
    *,
    risk: float,
    delta: float = DELTA,
    starts: int = 1,
    fewest: float = 0,
) -> Passed | None:
    """Return the same as `confidence_threshold` from the ``labels`` at or above each threshold.

    Each entry has the number of labels, the number of wrong verdicts, and the design effect. The
    labels may be different samples of the answers at or above the threshold: each test is valid
    alone. Thresholds with fewer than ``fewest`` labels are not tested.
    """
    least = max(fewest, math.log(delta / starts) / math.log(1 - risk))
    best: Passed | None = None
    for start in range(starts):
        for at in range(start * len(thresholds) // starts, len(thresholds)):
            n, wrong, effect = labels[at]
            if n / effect < least:
                continue
            bound = wrong_bound(wrong, n, delta / starts, effect)
            if bound > risk:
                break
            if best is None or thresholds[at] < best.threshold:
                best = Passed(float(thresholds[at]), n, wrong, bound, effect)
    return best


def recall_threshold(
    thresholds: FloatArray,
    badness: FloatArray,
    *,
    risk: float,
    delta: float = DELTA,
    design_effect: float = 1.0,
) -> Passed | None:
    """Return the highest threshold that misses at most ``risk`` of the bad answers, None if none passes.

    ``thresholds`` are descending; ``badness`` has one row per answer labelled bad. An answer is
    missed if the badness is below the threshold. Tests begin at the lowest threshold and end at the
    first that fails.
    """
    best: Passed | None = None
    n, ascending = len(badness), thresholds[::-1]
    below = np.searchsorted(np.sort(badness), ascending, side="left")
    for threshold, missed_count in zip(ascending.tolist(), below.tolist(), strict=True):
        bound = wrong_bound(missed_count, n, delta, design_effect)
        if bound > risk:
            break
        best = Passed(threshold, n, missed_count, bound, design_effect)
    return best


def mistakes(flagged: BoolArray, bad: BoolArray, cost: float) -> FloatArray:
    """Return the cost of each answer: 1 if flagged, ``cost`` if bad and not flagged, otherwise 0."""
    return np.where(flagged, 1.0, cost * bad)


def cheapest_threshold(
    thresholds: FloatArray, badness: FloatArray, bad: BoolArray, cost: float
) -> float:
    """Return the threshold with the lowest mean cost (`mistakes`); of several the lowest, which misses least."""
    ordered = np.sort(thresholds)
    means = [
        float(mistakes(badness >= threshold, bad, cost).mean()) for threshold in ordered.tolist()
    ]
    return float(ordered[int(np.argmin(np.round(means, 12)))])


def fewest_labels(risk: float, delta: float = DELTA) -> int:
    """Return the number of labels with which a threshold passes if no verdict is wrong."""
    return math.ceil(math.log(delta) / math.log(1 - risk) - 1e-9)


def labels_to_pass(risk: float, delta: float = DELTA) -> int:
    """Return the number of labels with which a threshold passes if half as many are wrong as ``risk`` allows."""
    first = fewest_labels(risk, delta)
    return next(
        (
            n
            for n in range(first, _MOST_LABELS)
            if wrong_bound(math.floor(n * risk / 2 + 1e-9), n, delta) <= risk
        ),
        max(first, _MOST_LABELS),
    )


def equal_chances(answers: IntArray, labelled: IntArray) -> FloatArray:
    """Return the share of each stratum's labels to keep, so that every answer is labelled with the same chance.

    ``answers`` and ``labelled`` are counts by stratum, each with a label. The stratum with the
    smallest labelled share keeps all labels. Another stratum keeps fewer only if chance does not
    explain the larger share.
    """
    shares = labelled / answers
    low, high = wilson(np.minimum(shares, 1.0), answers)
    rarest = int(np.argmin(shares))
    return np.where(low > high[rarest], shares[rarest] / np.where(shares > 0, shares, 1.0), 1.0)

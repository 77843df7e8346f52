"""Rates of all answers: a judge's verdicts on all answers, people's labels on a sample.

Methods: post-stratification (Cochran, Sampling Techniques, 1977, 5A.9) with intervals by the MOVER
(Zou, Donner, 2008) and Kish's design effect (1965); prediction-powered inference (Angelopoulos et
al., 2023) with power tuning, stratified (Fisch et al., 2024); Rogan and Gladen (1978) with the
interval of Lang and Reiczigel (2014).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import AnyArray, BoolArray, FloatArray, IntArray, same_length
from judgeboard.stats.confusion import FEWEST_OF_CLASS, cells_of
from judgeboard.stats.estimates import MIN_PAIRS, Z, measured, t_quantile, too_few, unmeasured
from judgeboard.stats.intervals import TRANSFORMS, Transform, modified_wilson, wilson
from judgeboard.stats.pair_statistics import STATISTICS_OF_ALL

Target = Literal["app", "these"]
"""What a rate describes: the app (the answers are a sample of the app's answers), or only these answers."""

UNLABELLED = "a part of the answers has no label that counts"
FEWEST_OF_RARER = 5
"""With fewer labels of the rarer class, the interval of a predicted share held the truth in 61 to 75 of 100 draws."""
MODIFIED_UP_TO = 3
"""With as few labels of the rarer class, Wilson's interval of these answers held the truth in 90 to 93 of 100 draws."""
FEWEST_OF_STRATUM = 10
"""With fewer labels of a larger stratum that is not wholly labelled, kappa held the truth in 62 of 100 draws."""
SMALL_STRATUM = 0.05
"""The share of all answers up to which a stratum may have fewer labels, but two at least."""
TOO_SMALL = f"a part of the answers has fewer than {FEWEST_OF_STRATUM} labels"
FEW_GROUPS = 30
"""With fewer groups, the variance is uncertain too: Student's t replaces the normal quantile."""

_FLAT = 1e-12
_NO_CLASS = "no answer of the class that it divides by"
NO_BETTER_THAN_CHANCE = "this judge cannot be corrected: it is no better than chance"
OPEN = 0.99
"""The part of all possible values from which an interval says nothing."""
OPEN_REASON = "no interval: these labels do not narrow it down"


@dataclass(frozen=True, slots=True)
class Stratum:
    """One class of answers: the number of ``answers``, the number ``labelled``, and the number labelled ``bad``."""

    answers: int
    labelled: int
    bad: int


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Sums over all answers, for H strata.

    ``answers``, ``scores`` and ``squares`` are the number of answers, the sum of the judge's scores
    and the sum of squared scores by stratum, shape (H,). Each evidence group has a row of 2 H
    numbers: answers by stratum, then scores by stratum. ``moments`` is the sum over all ``groups``
    of the products of a row's numbers, shape (2 H, 2 H). ``of_labelled`` has the rows of the groups
    with a label, shape (L, 2 H).
    """

    answers: FloatArray
    scores: FloatArray
    squares: FloatArray
    groups: int
    moments: FloatArray
    of_labelled: FloatArray

    @property
    def count(self) -> int:
        """The number of strata."""
        return len(self.answers)

    @property
    def total(self) -> float:
        """The number of answers."""
        return float(self.answers.sum())

    def with_alone(self, answers: IntArray, bad: IntArray) -> "Population":
        """Return the sums with more answers by stratum, each a separate group: ``bad`` have the score 1, others 0."""
        moments = np.block([[np.diag(answers), np.diag(bad)], [np.diag(bad), np.diag(bad)]])
        return Population(
            self.answers + answers,
            self.scores + bad,
            self.squares + bad,
            self.groups + int(answers.sum()),
            self.moments + moments,
            self.of_labelled,
        )

    @property
    def means(self) -> FloatArray:
        """The mean score of each stratum, 0 if empty."""
        return self.scores / np.maximum(self.answers, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Labelled answers, one row each: stratum, row of the evidence group in ``of_labelled``, judge's score, label."""

    strata: IntArray
    groups: IntArray
    scores: FloatArray
    values: FloatArray


def summed(
    strata: IntArray,
    scores: FloatArray,
    groups: IntArray,
    count: int,
    labelled: BoolArray,
    values: FloatArray,
) -> tuple[Population, Labels]:
    """Return the sums over answers (one row each), and the labels.

    ``groups`` are evidence groups as small numbers, which may have gaps. ``count`` is the number of
    strata. ``values`` has the labels of the rows that are ``labelled``, in the order of the rows.
    """
    same_length(strata, scores, groups, labelled)
    sizes = np.bincount(groups)
    has_label = np.zeros(len(sizes), dtype=np.bool_)
    has_label[groups[labelled]] = True
    at = (np.cumsum(has_label) - 1)[groups[labelled]]
    # A group of one answer without a label has only two numbers, which are added without a row.
    needs_row = (sizes > 1) | has_label
    place, inside = np.cumsum(needs_row) - 1, needs_row[groups]
    some: BoolArray | slice = slice(None) if inside.all() else inside  # without a copy
    cells, shape = place[groups[some]] * count + strata[some], (int(needs_row.sum()), count)
    rows = np.concatenate(
        [
            np.bincount(cells, weights=weights, minlength=shape[0] * count)
            .astype(np.float64)
            .reshape(shape)
            for weights in (None, scores[some])
        ],
        axis=1,
    )
    answers, total, squares = _by_stratum(strata, scores, count)
    alone, alone_total, alone_squares = map(
        np.diag, _by_stratum(strata[~inside], scores[~inside], count)
    )
    moments = rows.T @ rows + np.block([[alone, alone_total], [alone_total, alone_squares]])
    population = Population(
        answers, total, squares, int((sizes > 0).sum()), moments, rows[place[has_label]]
    )
    return population, Labels(strata[labelled], at.astype(np.int64), scores[labelled], values)


def _by_stratum(strata: IntArray, scores: FloatArray, count: int) -> list[FloatArray]:
    """Return the number of answers, the sum of scores, and the sum of squared scores by stratum."""
    weights = (None, scores, np.square(scores))
    return [
        np.bincount(strata, weights=each, minlength=count).astype(np.float64) for each in weights
    ]


def strata_of(population: Population, labels: Labels) -> tuple[Stratum, ...]:
    """Return the counts of each stratum; the values of labels are 1 (bad) or 0."""
    n_labels = np.bincount(labels.strata, minlength=population.count)
    bad = np.bincount(labels.strata, weights=labels.values, minlength=population.count)
    rows = zip(population.answers.tolist(), n_labels.tolist(), bad.tolist(), strict=True)
    return tuple(Stratum(round(answers), n, round(k)) for answers, n, k in rows)


def influences(
    strata: IntArray, labelled: BoolArray, values: FloatArray, judged_bad: FloatArray | None = None
) -> FloatArray:
    """Return what each answer adds to the error of `rate`, one per answer; the sum is 0.

    ``strata`` has small numbers, ``values`` the labels of the rows that are ``labelled``. With
    ``judged_bad`` (1 where the judge calls the answer bad), the error is the error of the judge's
    share minus the rate.
    """
    of_labels, count = strata[labelled], int(strata.max(initial=-1)) + 1
    shares = _means(of_labels, values, count)
    levels = shares[strata] if judged_bad is None else shares[strata] - judged_bad
    parts = levels - levels.mean()
    factors = np.bincount(strata, minlength=count) / np.maximum(
        np.bincount(of_labels, minlength=count), 1
    )
    parts[labelled] += factors[of_labels] * (values - shares[of_labels])
    whole: FloatArray = parts / max(len(strata), 1)
    return whole


def bounds(
    strata: IntArray,
    sampled: BoolArray,
    values: FloatArray,
    groups: IntArray,
    target: Target = "these",
) -> tuple[float, float]:
    """Return the lower end of the rate if all unknown answers are good, and the upper end if all are bad.

    Each array has a row per answer. ``strata`` and evidence ``groups`` are small numbers.
    ``values`` has the labels (1 bad, 0 good, NaN unknown). The ``sampled`` labels are a random
    sample of each stratum. In a stratum without such a label, every other label counts for one
    answer only. The result is the outer ends of the two intervals, with the sampling error of the
    labels and, for the app, of the answers.
    """
    count = int(strata.max(initial=-1)) + 1
    is_unsampled = np.bincount(strata, weights=sampled, minlength=count)[strata] == 0
    counting = sampled | is_unsampled
    population, labels = summed(
        strata, np.zeros(len(strata)), groups, count, counting, values[counting]
    )
    ends = []
    for assumed in (0.0, 1.0):
        guesses = replace(labels, values=np.where(np.isnan(labels.values), assumed, labels.values))
        ends.append(rate(strata_of(population, guesses), target, app_effect(population, guesses)))
    low, high = ends
    return low.low or 0.0, 1.0 if high.high is None else high.high


def rate(
    strata: Sequence[Stratum],
    target: Target = "app",
    design_effect: float = 1.0,
    judged_bad: Sequence[float] | None = None,
    *,
    z: float = Z,
) -> Estimate:
    """Return the share of bad answers among all: the shares of the strata, weighted by size.

    Labels must be a random sample of each stratum. A stratum without a bad answer still adds to the
    width. The value is undefined if a stratum has no label; `bounds` tells what is known then. With
    ``judged_bad``, the share of each stratum with answers that the judge calls bad, the result is
    the judge's share minus the rate, -1 to 1. For the target ``app``, ``z`` is the quantile of the
    interval's confidence (default: 95 %).
    """
    filled = [each for each in strata if each.answers]
    n = sum(each.labelled for each in filled)
    if not filled:
        return unmeasured(0, "no answers")
    if any(not each.labelled for each in filled):
        return unmeasured(n, UNLABELLED)
    answers, labels, bad = (
        np.array([getattr(each, name) for each in filled], dtype=np.float64)
        for name in ("answers", "labelled", "bad")
    )
    shares, weights = bad / labels, answers / answers.sum()
    value = float(weights @ shares)
    of_judge = (
        np.zeros(len(filled)) if judged_bad is None else np.asarray(judged_bad, dtype=np.float64)
    )
    apart = of_judge - shares - (weights @ of_judge - value)
    between = 0.0
    if target == "app":
        low, high = wilson(shares, labels / design_effect, z)
        between = z**2 * design_effect * float(weights @ np.square(apart)) / float(answers.sum())
    else:
        low, high = shares.copy(), shares.copy()
        part = labels < answers
        # With more labels of both classes, Wilson's bounds hold, and are narrower.
        share_bounds = (
            modified_wilson if min(bad.sum(), n - bad.sum()) <= MODIFIED_UP_TO else wilson
        )
        sizes = labels[part] / (1 - labels[part] / answers[part])
        low[part], high[part] = share_bounds(shares[part], sizes)
    below = math.sqrt(float(np.square(weights * (shares - low)).sum()) + between)
    above = math.sqrt(float(np.square(weights * (high - shares)).sum()) + between)
    if judged_bad is None:
        ends = max(value - below, 0.0), min(value + above, 1.0)
    else:
        value = float(weights @ of_judge) - value
        ends = max(value - above, -1.0), min(value + below, 1.0)
    return measured(value, n, ends, method="post-stratified, MOVER", unit="response")


def design_effect(population: Population, labels: Labels) -> float:
    """Return how many times larger the variance of `rate` is by evidence group than by answer, at least 1."""
    shares = _means(labels.strata, labels.values, population.count)
    by_group = linearised(population, labels, labels.values, shares).error
    answers, total = population.answers, population.total
    n_labels = np.bincount(labels.strata, minlength=population.count)
    apart = shares - float(answers @ shares) / max(total, 1)
    factors = answers / np.maximum(n_labels, 1)
    influence = (
        factors[labels.strata] * (labels.values - shares[labels.strata]) + apart[labels.strata]
    )
    squares = float(np.square(influence).sum() + ((answers - n_labels) * np.square(apart)).sum())
    variance = squares / (total * (total - 1)) if total > 1 else 0.0
    return max(1.0, by_group**2 / variance) if variance > _FLAT**2 else 1.0


def app_effect(population: Population, labels: Labels) -> float:
    """Return the `design_effect` for an interval of the app.

    With few groups the variance is uncertain too: Student's t then replaces the normal quantile.
    """
    groups = len(population.of_labelled)
    wider = (float(t_quantile(groups - 1)) / Z) ** 2 if 1 < groups < FEW_GROUPS else 1.0
    return design_effect(population, labels) * wider


@dataclass(frozen=True, slots=True)
class Linearised:
    """A weighted mean with the standard error and the degrees of freedom of this error."""

    value: float
    error: float
    df: float


def _means(strata: IntArray, values: FloatArray, count: int) -> FloatArray:
    totals = np.bincount(strata, weights=values, minlength=count)
    return totals / np.maximum(np.bincount(strata, minlength=count), 1)


def linearised(
    population: Population,
    labels: Labels,
    residuals: FloatArray,
    levels: FloatArray,
    slopes: FloatArray | None = None,
    target: Target = "app",
) -> Linearised:
    """Return the weighted mean of ``levels`` (one per stratum) with the standard error.

    ``residuals`` are the values of the labels minus ``slopes`` times the scores. For the app the
    error is by evidence group. The degrees of freedom are Satterthwaite's.
    """
    answers, total = population.answers, max(population.total, 1.0)
    value = float(answers @ levels) / total
    n_labels = np.bincount(labels.strata, minlength=population.count)
    apart = residuals - _means(labels.strata, residuals, population.count)[labels.strata]
    if target == "these":
        squares = np.bincount(labels.strata, weights=np.square(apart), minlength=population.count)
        spread = squares / np.maximum(n_labels - 1, 1)
        parts = (
            (answers / total) ** 2
            * (1 - n_labels / np.maximum(answers, 1))
            * spread
            / np.maximum(n_labels, 1)
        )
        variance, freedom = float(parts.sum()), n_labels
    else:
        # The contribution of a group, apart from the labels, is linear in the row of the group: a
        # factor per answer and a factor per score of a stratum.
        factors = np.zeros((population.count, 2 * population.count))
        each = np.arange(population.count)
        slope = np.zeros(population.count) if slopes is None else slopes
        factors[each, each] = levels - value - slope * population.means
        factors[each, population.count + each] = slope
        unlabelled = population.moments - population.of_labelled.T @ population.of_labelled
        sums = population.of_labelled @ factors.T
        weighted = (answers / np.maximum(n_labels, 1))[labels.strata] * apart
        np.add.at(sums, (labels.groups, labels.strata), weighted)
        parts = (
            np.einsum("hi,ij,hj->h", factors, unlabelled, factors) + np.square(sums).sum(axis=0)
        ) / total**2
        whole = factors.sum(axis=0)
        variance = float(whole @ unlabelled @ whole + np.square(sums.sum(axis=1)).sum()) / total**2
        variance *= population.groups / max(population.groups - 1, 1)
        with_label = np.zeros(sums.shape, dtype=np.bool_)
        with_label[labels.groups, labels.strata] = True
        freedom = with_label.sum(axis=0)
    varies = parts > _FLAT**2
    weights = np.square(parts[varies]) / np.maximum(freedom[varies] - 1, 1)
    df = float(parts[varies].sum()) ** 2 / float(weights.sum()) if varies.any() else 1.0
    # Sums that cancel out may leave noise below zero.
    return Linearised(value, math.sqrt(max(variance, 0.0)), max(df, 1.0))


def predicted_mean(
    population: Population,
    labels: Labels,
    *,
    target: Target = "app",
    share: bool,
) -> Estimate:
    """Return the mean value of all answers from the judge's scores and the labels (prediction-powered inference).

    The interval is on the logit scale for a ``share``, and Student's t otherwise. The slope of the
    scores is tuned to the least variance, for a share within 0 and N / (N - n).
    """
    count, answers, means = population.count, population.answers, population.means
    n_labels = np.bincount(labels.strata, minlength=count)
    n = int(n_labels.sum())
    if not population.total:
        return unmeasured(0, "no answers")
    if (n_labels[answers > 0] < 2).any():
        return unmeasured(n, "a part of the answers has fewer than 2 labels")
    full = answers / np.maximum(answers - n_labels, 1)
    rarer = min(float(labels.values.sum()), n - float(labels.values.sum()))
    spread = (population.squares - answers * np.square(means)) / np.maximum(answers - 1, 1)
    products = (
        labels.values - _means(labels.strata, labels.values, count)[labels.strata]
    ) * labels.scores
    slopes = _means(labels.strata, products, count) / np.where(spread > _FLAT, spread, math.inf)
    slopes = np.clip(slopes, 0, full) if share else np.maximum(slopes, 0)
    residuals = labels.values - slopes[labels.strata] * labels.scores
    levels = _means(labels.strata, residuals, count) + slopes * means
    mean = linearised(population, labels, residuals, levels, slopes, target)
    scale: Transform | None = "the logit" if share else None
    if share and rarer < FEWEST_OF_RARER:
        end = 0 if float(labels.values.sum()) == rarer else 1
        few = (
            f"no interval: the labels differ from {end} by {rarer:.3g} in all, and at "
            f"least {FEWEST_OF_RARER} is needed"
        )
        return measured(min(max(mean.value, 0.0), 1.0), n, reason=few)
    return _estimate(mean, n, scale, "prediction-powered", _without_error(population, n, target))


_FEW_EVIDENCE_GROUPS = f"no interval: fewer than {MIN_PAIRS} evidence groups"


def judge_alone(
    population: Population,
    scored: BoolArray,
    hits: tuple[IntArray, IntArray] | None,
    scale: Transform | None,
    target: Target,
) -> Estimate:
    """Return the judge's mean score of the answers in the strata ``scored``, without labels.

    The interval covers chance only, not the judge's errors: for the app, the chance which answers
    the app gave; for these answers, there is no chance. With ``hits``, the numbers of answers of a
    stratum that the judge calls bad and that the judge judged, the result is a share with the
    Wilson interval, like `rate` with verdicts in place of labels. Other means have Student's t on
    ``scale``. Both intervals are by evidence group.
    """
    answers, total = (float(sums[scored].sum()) for sums in (population.answers, population.scores))
    n = round(answers) if hits is None else int(hits[1].sum())
    if not n:
        return unmeasured(0, "no usable verdict")
    value = total / answers if hits is None else float(hits[0].sum()) / n
    groups = population.groups
    if target == "these":
        return measured(value, n, (value, value), method="no chance: all answers are judged")
    if groups < MIN_PAIRS:
        return measured(value, n, reason=_FEW_EVIDENCE_GROUPS)
    if hits is None:
        factors = np.concatenate([-value * scored, scored])
    else:
        factors = np.concatenate(
            [(hits[0] / np.maximum(hits[1], 1) - value) * scored, np.zeros(population.count)]
        )
    by_group = max(float(factors @ population.moments @ factors), 0.0) * groups / (groups - 1)
    if hits is None:
        mean = Linearised(value, math.sqrt(by_group) / answers, groups - 1)
        return _estimate(mean, n, scale, "chance only, by evidence group", "all scores are equal")
    by_answer = answers * value * (1 - value) * answers / max(answers - 1, 1)
    effect = max(1.0, by_group / by_answer) if by_answer > _FLAT else 1.0
    wider = (float(t_quantile(groups - 1)) / Z) ** 2 if groups < FEW_GROUPS else 1.0
    (low,), (high,) = wilson([value], [n / (effect * wider)])
    return measured(
        value, n, (float(low), float(high)), method="Wilson, chance only, by evidence group"
    )


def weighted_agreement(
    population: Population,
    labels: Labels,
    verdicts: FloatArray,
    target: Target = "app",
    judged_bad: int | None = None,
    *,
    too_small: str = TOO_SMALL,
) -> dict[str, Estimate]:
    """Return each of ``STATISTICS_OF_ALL`` of the judge in all answers.

    ``verdicts`` has 1 for each label whose answer the judge called bad, otherwise 0. Each label
    stands for the answers of a stratum. If all ``judged_bad`` answers are labelled, the recall in
    these answers, and the interval, depend only on the number of bad answers that the judge missed.
    ``too_small`` is the reason if a stratum has too few labels for an interval.
    """
    count, answers = population.count, population.answers
    cells = cells_of(labels.values, verdicts)
    cell_counts = np.bincount(labels.strata * 4 + cells, minlength=4 * count).reshape(count, 4)
    n_labels, n = cell_counts.sum(axis=1), len(cells)
    if not n or (n_labels[answers > 0] == 0).any():
        return dict.fromkeys(
            STATISTICS_OF_ALL, unmeasured(n, UNLABELLED if population.total else "no answers")
        )
    if n < MIN_PAIRS:
        return dict.fromkeys(STATISTICS_OF_ALL, unmeasured(n, too_few(n)))
    inside = cell_counts / np.maximum(n_labels, 1)[:, None]
    shares = answers @ inside / answers.sum()
    results = {}
    rarer = min(labels.values.sum(), n - labels.values.sum())
    few_of_class = (
        f"a class has fewer than {FEWEST_OF_CLASS} labels" if rarer < FEWEST_OF_CLASS else None
    )
    for name, statistic in STATISTICS_OF_ALL.items():
        value, slopes = statistic.of_shares(shares)
        counting = int(cell_counts.sum(axis=0) @ statistic.counted)
        few = f"only {counting} labels count, and at least {FEWEST_OF_RARER} are needed"
        few_labels = (
            few_of_class if statistic.of_classes else few if counting < FEWEST_OF_RARER else None
        )
        why_none = too_small if missing_of_strata(answers, n_labels) else few_labels
        if value is None:
            results[name] = unmeasured(counting, _NO_CLASS)
        elif why_none is not None:
            results[name] = measured(value, counting, reason=f"no interval: {why_none}")
        else:
            mean = linearised(population, labels, slopes[cells], inside @ slopes, target=target)
            mean = replace(_with_unseen(mean, cell_counts, answers, slopes, target), value=value)
            without_error = _without_error(population, n, target)
            if name == "precision" and target == "these" and counting == judged_bad:
                without_error = f"all {counting:,} answers that the judge calls bad are labelled, so the value is exact"
            results[name] = _estimate(
                mean, counting, statistic.scale, "weighted by stratum", without_error
            )
    if target == "these" and judged_bad == verdicts.sum():
        results["sensitivity"] = _recall(population, labels, verdicts) or results["sensitivity"]
    return results


def missing_of_strata(answers: AnyArray, labelled: IntArray) -> int:
    """Return the number of further labels that the strata need until figures of all answers have an interval."""
    return int(missing_by_stratum(answers, labelled).sum())


def missing_by_stratum(answers: AnyArray, labelled: IntArray) -> IntArray:
    """Return the number of further labels that each stratum needs until figures of all answers have an interval."""
    least = np.where(answers > SMALL_STRATUM * answers.sum(), FEWEST_OF_STRATUM, 2)
    return np.maximum(np.minimum(least, answers) - labelled, 0).astype(np.int64)


def _with_unseen(
    mean: Linearised, counts: IntArray, answers: FloatArray, slopes: FloatArray, target: Target
) -> Linearised:
    """Add the error from strata whose labels are all in one cell, though not all answers are labelled.

    One more label of either kind is counted, because the next label may be of the other kind.
    """
    n_labels, cells = counts.sum(axis=1), counts.argmax(axis=1)
    alike = (counts.max(axis=1) == n_labels) & (n_labels < answers)
    variances = (n_labels + 1) / (n_labels + 2) ** 2 / np.maximum(n_labels, 1)  # p (1 - p) / n
    if target == "these":
        variances = variances * (1 - n_labels / np.maximum(answers, 1))
    apart = np.square(slopes[cells] - slopes[cells ^ 2])  # people could have said the other
    parts = (np.square(answers / answers.sum()) * variances * apart)[alike]
    variance = mean.error**2 + float(parts.sum())
    if variance < _FLAT**2:
        return mean
    squares = mean.error**4 / mean.df + float(
        (np.square(parts) / np.maximum(n_labels[alike] - 1, 1)).sum()
    )
    return Linearised(mean.value, math.sqrt(variance), variance**2 / squares)


def _recall(population: Population, labels: Labels, verdicts: FloatArray) -> Estimate | None:
    """Return the recall if all answers judged bad are labelled, from the rate among other answers; None without a rate.

    With one stratum of other answers, the interval has the Wilson ends of the share of that stratum.
    """
    flagged, caught = (
        np.bincount(labels.strata, weights=each, minlength=population.count)
        .round()
        .astype(np.int64)
        .tolist()
        for each in (verdicts, labels.values * verdicts)
    )
    judged_good = [
        Stratum(each.answers - judged, each.labelled - judged, each.bad - bad)
        for each, judged, bad in zip(strata_of(population, labels), flagged, caught, strict=True)
    ]
    hits, answers, missed = (
        sum(caught),
        sum(each.answers for each in judged_good),
        rate(judged_good, "these"),
    )
    if not hits or missed.value is None or missed.low is None or missed.high is None:
        return None
    value, low, high = (
        hits / (hits + answers * share) for share in (missed.value, missed.high, missed.low)
    )
    return measured(
        value, len(verdicts), (low, high), method="Wilson's interval of the missed bad answers"
    )


def _without_error(population: Population, n: int, target: Target) -> str:
    """Return why a figure of ``n`` labels may have no error."""
    if target == "these" and n == round(population.total):
        return "all answers are labelled"
    if target == "app" and len(population.of_labelled) == 1:
        return "all labelled answers are in one evidence group"
    return "all labelled answers have the same value"


def _estimate(
    mean: Linearised, n: int, scale: Transform | None, method: str, without_error: str
) -> Estimate:
    least, most = {"the logit": (0.0, 1.0), "Fisher's z": (-1.0, 1.0), None: (-math.inf, math.inf)}[
        scale
    ]
    value = min(max(mean.value, least), most)
    if mean.error < _FLAT:
        return measured(value, n, reason=f"no interval: {without_error}")
    reach = float(t_quantile(mean.df)) * mean.error
    if scale is None or not least < value < most:
        low, high, method = (
            max(value - reach, least),
            min(value + reach, most),
            f"{method}, Student's t",
        )
    else:
        slope, to, back = TRANSFORMS[scale](value)
        low, high = back(to(value) - reach / slope), back(to(value) + reach / slope)
        method = f"{method}, t on {scale}"
    if high - low > OPEN * (most - least):
        return measured(value, n, reason=OPEN_REASON)
    return measured(value, n, (low, high), method=method)


def rogan_gladen(
    judged_bad: int, answers: int, bad: int, found: int, good: int, passed: int
) -> Estimate:
    """Return the rate that explains the judge's own share, if errors are as frequent as on labels of other answers.

    Of ``bad`` answers among these, the judge ``found`` so many; of ``good`` ones, it ``passed`` so
    many. Only for labels that are no sample of these answers: with a sample, `rate` has a narrower
    interval.
    """
    n = bad + good
    if not answers:
        return unmeasured(n, "no answers")
    if not bad:
        return unmeasured(n, "no label for the judge's errors says bad")
    if not good:
        return unmeasured(n, "no label for the judge's errors says good")
    recall, specificity = found / bad, passed / good
    if recall + specificity <= 1:
        return unmeasured(n, NO_BETTER_THAN_CHANCE)
    value = min(
        max((judged_bad / answers + specificity - 1) / (recall + specificity - 1), 0.0), 1.0
    )
    share = (judged_bad + Z**2 / 2) / (answers + Z**2)
    recall, specificity = (
        (found + 1) / (bad + 2),
        (passed + 1) / (good + 2),
    )
    gain = recall + specificity - 1
    if gain <= 0:
        return unmeasured(n, NO_BETTER_THAN_CHANCE)
    middle = (share + specificity - 1) / gain
    of_recall = recall * (1 - recall) / (bad + 2)
    of_specificity = specificity * (1 - specificity) / (good + 2)
    shift = 2 * Z**2 * (middle * of_recall - (1 - middle) * of_specificity)
    variance = (
        share * (1 - share) / (answers + Z**2)
        + middle**2 * of_recall
        + (1 - middle) ** 2 * of_specificity
    )
    reach = Z * math.sqrt(variance) / gain
    low, high = (min(max(middle + shift + side * reach, 0.0), 1.0) for side in (-1, 1))
    return measured(value, n, (low, high), method="Rogan-Gladen, Lang-Reiczigel")

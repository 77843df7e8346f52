"""Paired comparisons: two versions on the same answers, the change with an interval, and the conclusion."""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import NormalDist

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import BoolArray, FloatArray, Grouping, IntArray
from judgeboard.stats.estimates import Z, measured, t_quantile, unmeasured, within_range
from judgeboard.stats.intervals import influence_estimate, mean_estimate, standard_error, wilson
from judgeboard.stats.pair_statistics import STATISTICS_OF_ALL
from judgeboard.stats.rates import FEWEST_OF_RARER, Stratum, app_effect, rate, strata_of, summed
from judgeboard.stats.sample_size import POWER, kappa_influence
from judgeboard.stats.significance import mcnemar

WITHIN = 0.02
"""The loss that still counts as "as good", as a share."""

MIN_GROUPS = 10
"""The minimum number of evidence groups for a conclusion."""


class Conclusion(StrEnum):
    """What a comparison shows. ``as_good``: not worse by more than was allowed."""

    BETTER = "better"
    AS_GOOD = "as_good"
    WORSE = "worse"
    NOT_SHOWN = "not_shown"

    @property
    def exit_code(self) -> int:
        """0 better or as good, 1 worse, 2 not shown yet."""
        return {Conclusion.WORSE: 1, Conclusion.NOT_SHOWN: 2}.get(self, 0)


def conclusion(change: Estimate, within: float = 0.0) -> Conclusion:
    """Return what the interval of a change shows; a change above 0 is an improvement.

    ``within`` is the loss that still counts as "as good". With 0, nothing is "as good".
    """
    if change.low is None or change.high is None:
        return Conclusion.NOT_SHOWN
    if change.low > 0:
        return Conclusion.BETTER
    if change.high < 0:
        return Conclusion.WORSE
    return Conclusion.AS_GOOD if change.low > -within else Conclusion.NOT_SHOWN


@dataclass(frozen=True, slots=True)
class PairedShares:
    """Two versions on the same ``n`` answers.

    ``only_first`` and ``only_second`` count the answers that only one version got right. ``change``
    is the share right of the second version minus the share right of the first. ``p`` is by
    evidence group (None if there is no difference at all), ``p_mcnemar`` is McNemar's exact p by
    answer. A test at 5 % finds this change with a power of 80 % from ``labels_needed`` labels; the
    versions differ on about ``differing_needed`` of these labels. ``as_good_needed`` labels show
    with the same power that the second version is as good; None if the measured loss is too large.
    """

    n: int
    first_right: int
    second_right: int
    only_first: int
    only_second: int
    change: Estimate
    p: float | None
    p_mcnemar: float | None
    labels_needed: int | None
    differing_needed: int | None
    as_good_needed: int | None


def paired_shares(
    first_right: BoolArray, second_right: BoolArray, groups: Grouping, within: float = WITHIN
) -> PairedShares:
    """Compare two versions by the answers that each got right.

    ``groups`` are the evidence groups of the answers. ``within`` is the loss that still counts as
    "as good".
    """
    changes = second_right.astype(np.float64) - first_right.astype(np.float64)
    n = len(changes)
    only_first, only_second = int((changes < 0).sum()), int((changes > 0).sum())
    by_group = groups.sums(changes)
    spread = float(np.square(by_group).sum())
    labels_needed = differing_needed = as_good_needed = None
    if only_first + only_second and groups.count > 1:
        mean, reach = float(changes.mean()), POWER * standard_error(changes, groups)
        labels_needed = math.ceil((reach / mean) ** 2 * n) if mean else None
        differing_needed = (
            math.ceil(labels_needed * (only_first + only_second) / n) if labels_needed else None
        )
        as_good_needed = math.ceil((reach / (mean + within)) ** 2 * n) if mean > -within else None
    return PairedShares(
        n=n,
        first_right=int(first_right.sum()),
        second_right=int(second_right.sum()),
        only_first=only_first,
        only_second=only_second,
        change=change_of_shares(changes, groups),
        p=2 * NormalDist().cdf(-abs(float(by_group.sum())) / math.sqrt(spread)) if spread else None,
        p_mcnemar=mcnemar(only_first, only_second),
        labels_needed=labels_needed or None,
        differing_needed=differing_needed,
        as_good_needed=as_good_needed or None,
    )


def without_plan(shares: PairedShares) -> PairedShares:
    """Return a comparison whose labels do not tell how many more are needed."""
    return replace(shares, labels_needed=None, differing_needed=None, as_good_needed=None)


def change_of_shares(changes: FloatArray, groups: Grouping) -> Estimate:
    """Return the mean of changes of -1, 0 or 1 (one per row) with an interval by evidence group.

    If all changes are equal, the interval is Wilson's for the share of groups that change, in
    either direction.
    """
    if not len(changes):
        return unmeasured(0, "no answers")
    estimate = mean_estimate(changes, groups)
    if estimate.low is not None or groups.count < 2:
        return estimate
    return without_spread(float(changes[0]), len(changes), groups)


def without_spread(value: float, n: int, groups: Grouping) -> Estimate:
    """Return a change of -1, 0 or 1 that all ``n`` rows have, with Wilson's interval on the groups."""
    low, high = (float(end) for end in wilson(abs(value), groups.count))
    ends = (-high, high) if value == 0 else (low, high) if value > 0 else (-high, -low)
    return measured(
        value, n, ends, method=f"Wilson on {groups.count:,} {groups.unit}s", unit=groups.unit
    )


def after_looks(shares: PairedShares, groups: Grouping, looks: int) -> PairedShares:
    """Return a comparison corrected for the number of looks at the same labels (Bonferroni)."""
    change = simultaneous(shares.change, groups.count - 1, looks) if looks > 1 else shares.change
    p = None if shares.p is None else min(1.0, looks * shares.p)
    p_mcnemar = None if shares.p_mcnemar is None else min(1.0, looks * shares.p_mcnemar)
    return replace(shares, change=within_range(change, -1, 1), p=p, p_mcnemar=p_mcnemar)


def weighted_by_stratum(
    shares: PairedShares,
    strata: IntArray,
    labelled: BoolArray,
    second_right: BoolArray,
    groups: Grouping,
    answers: int,
    within: float,
) -> PairedShares:
    """Return the ``shares`` of labelled answers on which two versions differ, as the change in all ``answers``.

    The arrays have one row for each answer on which the versions differ. Other answers add nothing
    to the change, because both versions are right or both are wrong. Labels are a random sample of
    each stratum (small numbers), and each stratum has a label. ``second_right`` is read where an
    answer is ``labelled``. The share of answers that only the second version gets right is
    post-stratified (`judgeboard.stats.rates.rate`), and has the interval of a share.
    """
    count, n = int(strata.max()) + 1, int(labelled.sum())
    gains = np.where(second_right, 1.0, -1.0)[labelled]
    population, labels = summed(strata, np.zeros(len(strata)), groups.codes, count, labelled, gains)
    effect = app_effect(population, labels)
    columns = (strata, strata[labelled], strata[labelled & second_right])
    counts = [
        Stratum(*map(int, each))
        for each in zip(*(np.bincount(of, minlength=count) for of in columns), strict=True)
    ]
    # The change is twice the rate minus the share that differs: half of these answers minus the
    # rate, times -2.
    half = rate(counts, "app", effect, judged_bad=[0.5] * count)
    if half.value is None or half.low is None or half.high is None:
        change = unmeasured(n, half.reason or "no labels")
        return without_plan(replace(shares, change=change, p=None, p_mcnemar=None))
    part, value, low, high = len(strata) / answers, -2 * half.value, -2 * half.high, -2 * half.low
    of_part = Z * abs(value) * math.sqrt(part * (1 - part) * effect / answers)
    ends = [
        part * value + side * math.hypot(part * (end - value), of_part)
        for side, end in ((-1, low), (1, high))
    ]
    estimate = measured(part * value, n, (ends[0], ends[1]), method=half.method, unit=groups.group)
    change, mean = within_range(estimate, -1, 1), part * value
    variance = (part - mean**2) * effect * POWER**2
    label_count = math.ceil(variance / mean**2) if mean else None
    return replace(
        shares,
        change=change,
        p=None,
        p_mcnemar=None,
        labels_needed=label_count,
        differing_needed=math.ceil(label_count * part) if label_count else None,
        as_good_needed=math.ceil(variance / (mean + within) ** 2) if mean > -within else None,
    )


def changes_by_class(
    first: BoolArray, second: BoolArray, people: BoolArray, groups: Grouping
) -> dict[str, Estimate]:
    """Return the changes of kappa, recall and specificity from the first to the second version.

    ``first``, ``second`` and ``people`` tell which answers each called bad.
    """
    gains = (second == people).astype(np.float64) - (first == people).astype(np.float64)
    # The change of kappa.
    if any(len(np.unique((each, people))) < 2 for each in (first, second)):
        kappa = unmeasured(len(people), "all labels are the same")
    else:
        (before, of_before), (after, of_after) = (
            kappa_influence(each, people) for each in (first, second)
        )
        kappa = influence_estimate(after - before, of_after - of_before, groups)
    value, low, high = kappa.value, kappa.low, kappa.high
    if value is not None and low is not None and high is not None:
        # Few rows of a class have most of the weight: Student's t has the degrees of freedom of
        # that class, as for the AUROC.
        freedom = min(groups.touched(people), groups.touched(~people)) - 1
        if freedom < 1:
            kappa = measured(
                value,
                kappa.n,
                reason="no interval: all answers of one class are in one evidence group",
            )
        else:
            wider = float(t_quantile(freedom) / t_quantile(groups.count - 1))
            low, high = (value + wider * (end - value) for end in (low, high))
            kappa = within_range(replace(kappa, low=low, high=high), -2, 2)
    # The changes of the share that is judged right in each class.
    changes = {"kappa": kappa}
    for name, inside, kind in (("sensitivity", people, "bad"), ("specificity", ~people, "good")):
        changes[name] = (
            within_range(change_of_shares(gains[inside], groups.at(inside)), -1, 1)
            if inside.any()
            else unmeasured(0, f"people found no {kind} answer")
        )
    return changes


def weighted_changes_by_class(
    first: BoolArray,
    second: BoolArray,
    strata: IntArray,
    labelled: BoolArray,
    bad: BoolArray,
    groups: Grouping,
) -> dict[str, Estimate]:
    """Return the figures of `changes_by_class` in all answers, one row each, from labels on some answers.

    Labels are a random sample of each stratum (small numbers), and each stratum has a label.
    ``bad`` is read where an answer is ``labelled``. Within a stratum and both verdicts, only the
    share of bad answers is unknown. The interval of this share is Wilson's, and the MOVER (see
    `judgeboard.stats.rates`) combines these intervals.
    """
    values, n = bad[labelled].astype(np.float64), int(labelled.sum())
    of_strata = np.bincount(strata[labelled], weights=values) / np.maximum(
        np.bincount(strata[labelled]), 1
    )
    kinds, strata = np.unique(4 * strata + 2 * first + second, return_inverse=True)
    count = len(kinds)
    population, labels = summed(
        strata, np.zeros(len(strata)), groups.codes, count, labelled, values
    )
    counts = strata_of(population, labels)
    sizes = np.array([each.labelled for each in counts])
    shares = np.array([each.bad for each in counts]) / np.maximum(sizes, 1)
    shares = np.where(sizes > 0, shares, of_strata[kinds // 4])
    weights = population.answers / population.total
    good_cells = (
        4 * (kinds // 2 % 2) + kinds % 2
    )  # the first version's verdict, people's label, the second's verdict
    cells = good_cells[labels.strata] + 2 * values.astype(np.int64)

    def cube(of_bad: FloatArray) -> FloatArray:
        """Return the share of all answers in each cell, from the shares of bad answers."""
        cell_shares = np.bincount(good_cells, weights * (1 - of_bad), 8) + np.bincount(
            good_cells + 2, weights * of_bad, 8
        )
        return cell_shares.astype(np.float64, copy=False).reshape(2, 2, 2)

    changes = {}
    for name, counting in (
        ("kappa", n),
        ("sensitivity", int(values.sum())),
        ("specificity", int(n - values.sum())),
    ):
        value, slopes = _change_of_cells(name, cube(shares))
        if value is None:
            changes[name] = unmeasured(counting, "all labels are the same")
            continue
        effect = app_effect(population, replace(labels, values=slopes[cells]))
        low, high = wilson(shares, np.maximum(sizes, 1) / effect)
        bounds = np.where(sizes > 0, low, 0.0), np.where(sizes > 0, high, 1.0)
        moved = [np.where(np.eye(count) > 0, each, shares) for each in bounds]
        ends = np.array(
            [[_change_of_cells(name, cube(row))[0] for row in rows] for rows in moved],
            dtype=np.float64,
        )
        if counting < FEWEST_OF_RARER or np.isnan(ends).any():
            changes[name] = measured(
                value, counting, reason=f"no interval: only {counting} labels count"
            )
            continue
        levels = (1 - shares) * slopes[good_cells] + shares * slopes[good_cells + 2]
        between = (
            Z**2 * effect * float(weights @ np.square(levels - weights @ levels)) / population.total
        )
        below, above = (
            math.sqrt(
                float(np.square(np.maximum(side * (ends - value), 0).max(axis=0)).sum()) + between
            )
            for side in (-1, 1)
        )
        estimate = measured(
            value, counting, (value - below, value + above), method=_MOVER, unit=groups.group
        )
        changes[name] = within_range(estimate, *((-2, 2) if name == "kappa" else (-1, 1)))
    return changes


_MOVER = "post-stratified, MOVER"


def _change_of_cells(name: str, cube: FloatArray) -> tuple[float | None, FloatArray]:
    """Return the change of a statistic from the shares of the cells, and the slope for each cell.

    The axes are the first version's verdict, people's label and the second version's verdict. None
    if undefined.
    """
    statistic = STATISTICS_OF_ALL[name].of_shares
    before, of_before = statistic(cube.sum(axis=2).T.ravel())
    after, of_after = statistic(cube.sum(axis=0).ravel())
    slopes = of_after.reshape(1, 2, 2) - of_before.reshape(2, 2).T[:, :, None]
    return None if before is None or after is None else after - before, slopes.ravel()


def _error(change: Estimate, df: int) -> float | None:
    """Return the standard error of a mean change with Student's t interval of ``df`` degrees of freedom."""
    if change.value is None or change.high is None:
        return None
    return (change.high - change.value) / float(t_quantile(df))


def p_of_change(change: Estimate, df: int) -> float | None:
    """Return the two-sided p value of no change; None without a standard error."""
    from scipy.special import stdtr  # loads slowly

    error = _error(change, df)
    if change.value is None or not error:
        return None
    return float(2 * stdtr(df, -abs(change.value) / error))


def simultaneous(change: Estimate, df: int, tests: int) -> Estimate:
    """Return a mean change with an interval that holds for ``tests`` changes at once (Bonferroni)."""
    from scipy.special import stdtrit  # loads slowly

    error = _error(change, df)
    if change.value is None or not error:
        return change
    reach = float(stdtrit(df, 1 - 0.025 / tests)) * error
    low, high = (round(change.value + side * reach, 12) for side in (-1, 1))
    return replace(change, low=low, high=high, level=1 - 0.05 / tests)

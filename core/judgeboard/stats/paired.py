"""Paired comparisons: two versions on the same answers, the change with its interval, and the conclusion from it."""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import NormalDist

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import BoolArray, FloatArray, Grouping
from judgeboard.stats.estimates import measured, t_quantile, unmeasured, within_range
from judgeboard.stats.intervals import influence_estimate, mean_estimate, standard_error, wilson
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

    ``only_first`` and ``only_second`` count the answers that only one version got right. ``change`` is the share right
    of the second version minus that of the first. ``p`` is by evidence group (None if there is no difference at all),
    ``p_mcnemar`` is McNemar's exact p by answer. A test at 5 % finds this change with a power of 80 % from
    ``labels_needed`` labels; the versions differ on about ``differing_needed`` of them. ``as_good_needed`` labels show
    with the same power that the second version is as good; None if the loss that was measured is too large.
    """

    n: int
    first_right: int
    second_right: int
    only_first: int
    only_second: int
    change: Estimate
    p: float | None
    p_mcnemar: float
    labels_needed: int | None
    differing_needed: int | None
    as_good_needed: int | None


def paired_shares(
    first_right: BoolArray, second_right: BoolArray, groups: Grouping, within: float = WITHIN
) -> PairedShares:
    """Compare two versions by the answers that each got right.

    ``groups`` are the evidence groups of the answers. ``within`` is the loss that still counts as "as good".
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
        differing_needed = math.ceil(labels_needed * (only_first + only_second) / n) if labels_needed else None
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


def change_of_shares(changes: FloatArray, groups: Grouping) -> Estimate:
    """Return the mean of changes of -1, 0 or 1 (one per row) with its interval by evidence group.

    If all changes are equal, the interval is Wilson's for the share of groups that change, in either direction.
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
    return measured(value, n, ends, method=f"Wilson on {groups.count:,} {groups.unit}s", unit=groups.unit)


def after_looks(shares: PairedShares, groups: Grouping, looks: int) -> PairedShares:
    """Return a comparison corrected for the number of looks at the same labels (Bonferroni)."""
    change = MeanChange(shares.change, groups.count - 1).simultaneous(looks) if looks > 1 else shares.change
    p = None if shares.p is None else min(1.0, looks * shares.p)
    return replace(shares, change=within_range(change, -1, 1), p=p, p_mcnemar=min(1.0, looks * shares.p_mcnemar))


def changes_by_class(first: BoolArray, second: BoolArray, people: BoolArray, groups: Grouping) -> dict[str, Estimate]:
    """Return the changes of kappa, recall and specificity from the first to the second version.

    ``first``, ``second`` and ``people`` tell which answers each called bad.
    """
    gains = (second == people).astype(np.float64) - (first == people).astype(np.float64)
    changes = {"kappa": _kappa_change(first, second, people, groups)}
    for name, inside, kind in (("sensitivity", people, "bad"), ("specificity", ~people, "good")):
        changes[name] = (
            within_range(change_of_shares(gains[inside], groups.at(inside)), -1, 1)
            if inside.any()
            else unmeasured(0, f"people found no {kind} answer")
        )
    return changes


def _kappa_change(first: BoolArray, second: BoolArray, people: BoolArray, groups: Grouping) -> Estimate:
    if any(len(np.unique((each, people))) < 2 for each in (first, second)):
        return unmeasured(len(people), "all labels are the same")
    (before, of_before), (after, of_after) = (kappa_influence(each, people) for each in (first, second))
    change = influence_estimate(after - before, of_after - of_before, groups)
    if change.value is None or change.low is None or change.high is None:
        return change
    # Few rows of a class have most of the weight: Student's t is the one of that class, as for the AUROC.
    freedom = min(groups.touched(people), groups.touched(~people)) - 1
    if freedom < 1:
        return measured(
            change.value, change.n, reason="no interval: all answers of one class are in one evidence group"
        )
    wider = float(t_quantile(freedom) / t_quantile(groups.count - 1))
    low, high = (change.value + wider * (end - change.value) for end in (change.low, change.high))
    return within_range(replace(change, low=low, high=high), -2, 2)


@dataclass(frozen=True, slots=True)
class MeanChange:
    """A mean change with Student's t interval of ``df`` degrees of freedom; None: no interval, or of another kind."""

    change: Estimate
    df: int | None = None

    @property
    def error(self) -> float | None:
        """The standard error."""
        if self.df is None or self.change.value is None or self.change.high is None:
            return None
        return (self.change.high - self.change.value) / float(t_quantile(self.df))

    @property
    def p(self) -> float | None:
        """The two-sided p value of no change; None without a standard error."""
        from scipy.special import stdtr

        if self.df is None or self.change.value is None or not self.error:
            return None
        return float(2 * stdtr(self.df, -abs(self.change.value) / self.error))

    @property
    def labels_needed(self) -> int | None:
        """The number of labels that finds a change of this size with a power of 80 %."""
        if not self.change.value or not self.error:
            return None
        return math.ceil((POWER * self.error / self.change.value) ** 2 * self.change.n)

    def simultaneous(self, tests: int) -> Estimate:
        """Return the change with an interval that holds for ``tests`` changes at once (Bonferroni)."""
        from scipy.special import stdtrit

        if self.df is None or self.change.value is None or not self.error:
            return self.change
        reach = float(stdtrit(self.df, 1 - 0.025 / tests)) * self.error
        low, high = (round(self.change.value + side * reach, 12) for side in (-1, 1))
        return replace(self.change, low=low, high=high, level=1 - 0.05 / tests)

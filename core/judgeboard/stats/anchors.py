"""A judge's verdicts on the same answers at two times: how many changed, in which direction, and whether to worse."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import BoolArray, FloatArray, Grouping
from judgeboard.stats.estimates import measured, unmeasured, within_range
from judgeboard.stats.intervals import mean_estimate
from judgeboard.stats.paired import PairedShares, after_looks, p_of_change, paired_shares
from judgeboard.stats.significance import holm, mcnemar
from judgeboard.stats.thresholds import wrong_bound

LEVEL = 0.05
"""The probability of any false "drift", over all looks at an anchor set together."""

LOOKS = 52
"""The default number of looks: one a week for a year."""

_CHANCE = 0.8  # the probability with which a change of the size ``seen`` is found


@dataclass(frozen=True, slots=True)
class AnchorChange:
    """The change from a judge's earlier to newer verdicts, on ``n`` answers with usable verdicts at both times.

    ``to_bad`` and ``to_good`` count the verdicts that changed. ``agreement`` compares the verdicts
    with people's labels (before: first, now: second). ``score_shift`` is the mean change of
    groundedness. ``p_values`` has a value for each test by name: ``direction`` (as many changed to
    bad as to good, exact binomial), ``agreement`` (McNemar's exact test), ``score`` (Student's t by
    evidence group) and ``flips`` (not more changed than between repeats of the judge, Fisher's exact
    test). Tests that are not available are missing.
    """

    n: int
    to_bad: int
    to_good: int
    flip_rate: Estimate
    agreement: PairedShares
    score_shift: Estimate
    p_values: dict[str, float]


def anchor_change(
    bad_before: BoolArray,
    bad_now: BoolArray,
    *,
    groups: Grouping,
    labelled: BoolArray,
    people_bad: BoolArray,
    score_changes: FloatArray,
    repeat_flips: BoolArray | None = None,
) -> AnchorChange:
    """Compare verdicts; all arrays have one row per answer.

    ``people_bad`` counts only for ``labelled`` answers. ``score_changes`` are NaN where a score is
    missing. ``repeat_flips`` has a row per answer with repeats: whether the first two differ.
    """
    n = len(bad_before)
    to_bad, to_good = int((bad_now & ~bad_before).sum()), int((bad_before & ~bad_now).sum())
    right = [(bad == people_bad)[labelled] for bad in (bad_before, bad_now)]
    agreement = after_looks(
        paired_shares(right[0], right[1], groups.at(labelled)), groups.at(labelled), looks=1
    )
    rows = ~np.isnan(score_changes)
    of_scores = groups.at(rows)
    shift = (
        mean_estimate(score_changes[rows], of_scores) if rows.any() else unmeasured(0, "no scores")
    )
    p_values = {}
    if n:
        p_values["direction"] = mcnemar(to_good, to_bad)
    if agreement.n and agreement.p_mcnemar is not None:
        p_values["agreement"] = agreement.p_mcnemar
    p_score = p_of_change(shift, of_scores.count - 1) if of_scores.count > 1 else None
    if p_score is not None:
        p_values["score"] = p_score
    if n and repeat_flips is not None and len(repeat_flips):
        p_values["flips"] = more_often(bad_before != bad_now, repeat_flips)
    shift = within_range(shift, -1, 1)
    return AnchorChange(
        n, to_bad, to_good, flip_rate(to_bad + to_good, n), agreement, shift, p_values
    )


def flip_rate(flips: int, n: int) -> Estimate:
    """Return the share of verdicts that changed, with Clopper and Pearson's exact interval (1934)."""
    if not n:
        return unmeasured(0, "no answer has a usable verdict at both times")
    ends = 1 - wrong_bound(n - flips, n, 0.025), wrong_bound(flips, n, 0.025)
    return measured(flips / n, n, ends, method="Clopper-Pearson", unit="response")


def more_often(now: BoolArray, reference: BoolArray) -> float:
    """Return Fisher's exact one-sided p-value of a larger share of True in ``now`` than in ``reference``."""
    n, of_reference, flips_now = len(now), len(reference), int(now.sum())
    flips = flips_now + int(reference.sum())
    ways = (
        math.comb(n, k) * math.comb(of_reference, flips - k)
        for k in range(flips_now, min(n, flips) + 1)
    )
    return sum(ways) / math.comb(n + of_reference, flips)


def shown_tests(changes: Sequence[AnchorChange], looks: int = LOOKS) -> list[tuple[str, ...]]:
    """Return for each change the names of the tests that show drift, with a level that all tests and looks share."""
    adjusted = iter(holm([p for change in changes for p in change.p_values.values()]))
    return [
        tuple(name for name in change.p_values if next(adjusted) <= LEVEL / looks)
        for change in changes
    ]


def seen_share(n: int, tests: int, looks: int = LOOKS) -> float | None:
    """Return the share of ``n`` verdicts that must change in one direction, so that drift is shown in 80 % of cases.

    None if even a change of all verdicts would not show drift. ``tests`` share the level
    (`shown_tests`).
    """
    from scipy.special import betaincinv  # loads slowly

    fewest = math.ceil(math.log2(2 * max(tests, 1) * looks / LEVEL))
    return float(betaincinv(fewest, n - fewest + 1, _CHANCE)) if fewest <= n else None


def one_flip_share(n: int) -> float:
    """Return the share of affected answers from which a change flips one of ``n`` verdicts with 95 % probability."""
    return 1 - math.exp(math.log(LEVEL) / n)

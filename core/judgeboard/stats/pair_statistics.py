"""Everything that is said of one judge against people on one grade: one row per statistic."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import AnyArray
from judgeboard.stats.confusion import Confusion, confusion_of_cells
from judgeboard.stats.estimates import unmeasured
from judgeboard.stats.grouping import Grouping
from judgeboard.stats.pair_rows import NOT_FOR_GRADE, ROWS, estimate
from judgeboard.stats.pairs import Pairs
from judgeboard.stats.resampling import RESAMPLES
from judgeboard.stats.scales import Scale

__all__ = ["NOT_ASKED", "NOT_FOR_GRADE", "SYMMETRIC", "PairStatistics", "estimates", "pair_statistics"]

NOT_ASKED = "not asked for"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairStatistics:
    """One judge against people on one grade.

    Every statistic is an estimate; where the grade does not have it, or there are too few pairs, it is undefined and
    says so. ``agreement`` is what others call accuracy. ``weighted_kappa`` and ``ac2`` have the weights of the scale,
    quadratic ones. Differences and ``lower_limit``, ``upper_limit`` (of agreement, after Bland and Altman) of ordered
    categories are in levels. ``confusion`` is None for continuous scores; ``unit`` is what the intervals resample.
    """

    grade: str
    n: int
    unit: str
    confusion: Confusion | None
    agreement: Estimate
    at_most_one_apart: Estimate
    kappa: Estimate
    linear_kappa: Estimate
    weighted_kappa: Estimate
    alpha_nominal: Estimate
    alpha_ordinal: Estimate
    alpha_interval: Estimate
    ac1: Estimate
    ac2: Estimate
    sensitivity: Estimate
    specificity: Estimate
    precision: Estimate
    macro_precision: Estimate
    macro_recall: Estimate
    macro_f1: Estimate
    mcc: Estimate
    auroc: Estimate
    auprc: Estimate
    expected_calibration_error: Estimate
    pearson: Estimate
    spearman: Estimate
    kendall: Estimate
    mean_absolute_difference: Estimate
    bias: Estimate
    lower_limit: Estimate
    upper_limit: Estimate


SYMMETRIC = (
    "agreement",
    "at_most_one_apart",
    "kappa",
    "linear_kappa",
    "weighted_kappa",
    "alpha_nominal",
    "alpha_ordinal",
    "alpha_interval",
    "ac1",
    "ac2",
    "pearson",
    "spearman",
    "kendall",
    "mean_absolute_difference",
)
"""The statistics that take neither side for the truth: those for people with people, or judges with judges."""


def pair_statistics(
    judge: AnyArray,
    people: AnyArray,
    scale: Scale,
    groups: AnyArray | Grouping | None = None,
    *,
    scores: AnyArray | None = None,
    resamples: int = RESAMPLES,
    only: Collection[str] | None = None,
) -> PairStatistics:
    """Return the statistics of pairs, one per response.

    Args:
        judge: What the judge gave each response, on ``scale``.
        people: What people gave it (``people.human_values``).
        scale: The grade with its declared categories (``scales``).
        groups: The evidence group of each response (same query and passages); without it each stands alone. Where
            people are stacked, with several rows of one response, it is never left out.
        scores: The judge's groundedness of the same responses, NaN where it gave none, for the AUROC of labels.
        resamples: How many samples of groups the bootstrap draws.
        only: The names of those to compute, where not all are needed; the others are undefined, "not asked for".

    Raises:
        ValueError: Arrays of unequal length, a value outside the scale, a missing value.
    """
    pairs = Pairs(judge, people, scale, groups, scores=scores, resamples=resamples)
    return PairStatistics(
        grade=scale.grade,
        n=pairs.n,
        unit=pairs.groups.unit,
        confusion=None if scale.categories is None else confusion_of_cells(pairs.cells, scale.categories),
        **{
            name: unmeasured(pairs.n, NOT_ASKED) if only is not None and name not in only else estimate(row, pairs)
            for name, row in ROWS.items()
        },
    )


def estimates(pairs: Pairs, names: Iterable[str]) -> dict[str, Estimate]:
    """Return the named ones of the statistics of ``PairStatistics``."""
    return {name: estimate(ROWS[name], pairs) for name in names}

"""Everything that is said of one judge against people on one grade: one row per statistic."""

from collections.abc import Callable
from dataclasses import dataclass

from judgeboard.domain import Estimate
from judgeboard.stats import correlation, detection
from judgeboard.stats.arrays import AnyArray
from judgeboard.stats.auroc import auroc
from judgeboard.stats.confusion import Confusion, confusion_of_cells
from judgeboard.stats.estimates import MIN_PAIRS, TOO_FEW, unmeasured
from judgeboard.stats.pairs import Pairs
from judgeboard.stats.resampling import RESAMPLES
from judgeboard.stats.scales import Scale

NOT_FOR_GRADE = "not a statistic of this grade"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairStatistics:
    """One judge against people on one grade.

    Every statistic is an estimate; where the grade does not have it, or there are too few pairs, it is undefined and
    says so. ``confusion`` is None for continuous scores; ``unit`` is what the intervals resample.
    """

    grade: str
    n: int
    unit: str
    confusion: Confusion | None
    agreement: Estimate
    at_most_one_apart: Estimate
    kappa: Estimate
    weighted_kappa: Estimate
    sensitivity: Estimate
    specificity: Estimate
    precision: Estimate
    auroc: Estimate
    pearson: Estimate
    spearman: Estimate
    mean_absolute_difference: Estimate
    bias: Estimate


def pair_statistics(
    judge: AnyArray,
    people: AnyArray,
    scale: Scale,
    groups: AnyArray | None = None,
    *,
    scores: AnyArray | None = None,
    resamples: int = RESAMPLES,
) -> PairStatistics:
    """Return the statistics of pairs, one per response.

    Args:
        judge: What the judge gave each response, on ``scale``.
        people: What people gave it (``people.one_value_per_response``).
        scale: The grade with its declared categories (``scales``).
        groups: The evidence group of each response (same query and passages); without it each stands alone.
        scores: The judge's groundedness of the same responses, NaN where it gave none, for the AUROC of labels.
        resamples: How many samples of groups the bootstrap draws.

    Raises:
        ValueError: Arrays of unequal length, a value outside the scale, a missing value.
    """
    pairs = Pairs(judge, people, scale, groups, scores=scores, resamples=resamples)
    return PairStatistics(
        grade=scale.grade,
        n=pairs.n,
        unit=pairs.groups.unit,
        confusion=None if scale.categories is None else confusion_of_cells(pairs.cells, scale.categories),
        **{name: _estimate(row, pairs) for name, row in _ROWS.items()},
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """A statistic: the scales that have it, and how it is computed."""

    applies: Callable[[Scale], bool]
    compute: Callable[[Pairs], Estimate]


def _estimate(row: _Row, pairs: Pairs) -> Estimate:
    if not row.applies(pairs.scale):
        return unmeasured(pairs.n, NOT_FOR_GRADE)
    return row.compute(pairs) if pairs.n >= MIN_PAIRS else unmeasured(pairs.n, TOO_FEW)


def _categorical(scale: Scale) -> bool:
    return scale.categories is not None


def _ordered(scale: Scale) -> bool:
    return scale.weights is not None


def _detects(scale: Scale) -> bool:
    return scale.bad is not None


def _continuous(scale: Scale) -> bool:
    return scale.categories is None


def _ranked(scale: Scale) -> bool:
    return _ordered(scale) or _continuous(scale)


def _weighted_kappa(pairs: Pairs) -> Estimate:
    return pairs.table.kappa(pairs.scale.weights or "nominal")


def _share_of_bad(share: Callable[[int, int], detection.TableShare]) -> Callable[[Pairs], Estimate]:
    return lambda pairs: pairs.table.share(share(pairs.k, pairs.scale.bad or 0))


def _auroc(pairs: Pairs) -> Estimate:
    score, bad, groups = pairs.scored
    if score.size == 0:
        return unmeasured(0, "the judge gives no score")
    return auroc(score, bad, groups) if score.size >= MIN_PAIRS else unmeasured(score.size, TOO_FEW)


_ROWS = {
    "agreement": _Row(_categorical, lambda pairs: pairs.table.share(detection.exact_agreement(pairs.k))),
    "at_most_one_apart": _Row(_ordered, lambda pairs: pairs.table.share(detection.at_most_apart(pairs.k, 1))),
    "kappa": _Row(_categorical, lambda pairs: pairs.table.kappa()),
    "weighted_kappa": _Row(_ordered, _weighted_kappa),
    "sensitivity": _Row(_detects, _share_of_bad(detection.sensitivity)),
    "specificity": _Row(_detects, _share_of_bad(detection.specificity)),
    "precision": _Row(_detects, _share_of_bad(detection.precision)),
    "auroc": _Row(_detects, _auroc),
    "pearson": _Row(_continuous, lambda pairs: correlation.pearson(pairs.judge, pairs.people, pairs.groups)),
    "spearman": _Row(_ranked, lambda pairs: correlation.spearman(pairs.judge, pairs.people, pairs.groups)),
    "mean_absolute_difference": _Row(
        _continuous, lambda pairs: correlation.mean_absolute_difference(pairs.judge, pairs.people, pairs.groups)
    ),
    "bias": _Row(_continuous, lambda pairs: correlation.bias(pairs.judge, pairs.people, pairs.groups)),
}

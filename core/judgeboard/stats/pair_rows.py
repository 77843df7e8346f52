"""The statistics of pairs, one row each: the scales that have it, and how it is computed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats import correlation, detection
from judgeboard.stats import table_statistics as tables
from judgeboard.stats.arrays import BoolArray, FloatArray
from judgeboard.stats.auprc import auprc
from judgeboard.stats.auroc import auroc
from judgeboard.stats.calibration import expected_calibration_error
from judgeboard.stats.estimates import MIN_PAIRS, TOO_FEW, leaving_out, unmeasured
from judgeboard.stats.grouping import Grouping
from judgeboard.stats.gwet import gwet_of_tables
from judgeboard.stats.kendall import kendall
from judgeboard.stats.krippendorff import EVERY_VALUE_THE_SAME, Metric, alpha, alpha_of_tables
from judgeboard.stats.limits_of_agreement import limits_of_agreement
from judgeboard.stats.pairs import Pairs
from judgeboard.stats.scales import Scale
from judgeboard.stats.table_estimates import ONE_CATEGORY

NOT_FOR_GRADE = "not a statistic of this grade"


@dataclass(frozen=True, slots=True)
class Row:
    """A statistic: whether a scale has it, and how it is computed."""

    applies: Callable[[Scale], bool]
    compute: Callable[[Pairs], Estimate]


def estimate(row: Row, pairs: Pairs) -> Estimate:
    """Return the statistic of a row; undefined where the grade does not have it, or there are too few pairs."""
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


def _of_score(pairs: Pairs, compute: Callable[[FloatArray, BoolArray, Grouping], Estimate]) -> Estimate:
    score, bad, groups = pairs.scored
    if score.size == 0:
        return unmeasured(0, "the judge gives no score")
    found = compute(score, bad, groups) if score.size >= MIN_PAIRS else unmeasured(score.size, TOO_FEW)
    return leaving_out(found, ("without a score of the judge", pairs.n - score.size))


def _macro(compute: Callable[[FloatArray], FloatArray], undefined: str) -> Callable[[Pairs], Estimate]:
    def of_table(pairs: Pairs) -> Estimate:
        several = len(np.union1d(pairs.judge, pairs.people)) > 1
        return pairs.table.statistic(compute, undefined if several else ONE_CATEGORY)

    return of_table


def _coefficient(compute: Callable[[FloatArray], FloatArray], undefined: str) -> Callable[[Pairs], Estimate]:
    return lambda pairs: pairs.table.coefficient(compute, undefined)


def _alpha(metric: Metric) -> Callable[[Pairs], Estimate]:
    of_tables = _coefficient(partial(alpha_of_tables, metric=metric), EVERY_VALUE_THE_SAME)
    return lambda pairs: of_tables(pairs) if pairs.k else alpha(pairs.as_ratings, metric)


def _ac2(pairs: Pairs) -> Estimate:
    weights = pairs.scale.weights or "nominal"
    return pairs.table.coefficient(partial(gwet_of_tables, weights=weights), "no pairs", f"{weights} weights; ")


def _of_values(compute: Callable[[FloatArray, FloatArray, Grouping], Estimate]) -> Callable[[Pairs], Estimate]:
    return lambda pairs: compute(pairs.judge, pairs.people, pairs.groups)


def _limit(upper: bool) -> Callable[[Pairs], Estimate]:
    return _of_values(lambda judge, people, groups: limits_of_agreement(judge, people, groups)[upper])


def _calibration_error(score: FloatArray, bad: BoolArray, groups: Grouping) -> Estimate:
    return expected_calibration_error(score, ~bad, groups)


_NEVER_GAVE = "never gave a category that the other side gave"

ROWS = {
    "agreement": Row(_categorical, lambda pairs: pairs.table.share(detection.exact_agreement(pairs.k))),
    "at_most_one_apart": Row(_ordered, lambda pairs: pairs.table.share(detection.at_most_apart(pairs.k, 1))),
    "kappa": Row(_categorical, lambda pairs: pairs.table.kappa()),
    "linear_kappa": Row(_ordered, lambda pairs: pairs.table.kappa("linear")),
    "weighted_kappa": Row(_ordered, _weighted_kappa),
    "alpha_nominal": Row(_categorical, _alpha("nominal")),
    "alpha_ordinal": Row(_ranked, _alpha("ordinal")),
    "alpha_interval": Row(_ranked, _alpha("interval")),
    "ac1": Row(_categorical, _coefficient(gwet_of_tables, "no pairs")),
    "ac2": Row(_ordered, _ac2),
    "sensitivity": Row(_detects, _share_of_bad(detection.sensitivity)),
    "specificity": Row(_detects, _share_of_bad(detection.specificity)),
    "precision": Row(_detects, _share_of_bad(detection.precision)),
    "macro_precision": Row(_categorical, _macro(tables.macro_precision, f"the judge {_NEVER_GAVE}")),
    "macro_recall": Row(_categorical, _macro(tables.macro_recall, f"people {_NEVER_GAVE}")),
    "macro_f1": Row(_categorical, _macro(tables.macro_f1, ONE_CATEGORY)),
    "mcc": Row(_categorical, _coefficient(tables.matthews, "one side gave the same category throughout")),
    "auroc": Row(_detects, lambda pairs: _of_score(pairs, auroc)),
    "auprc": Row(_detects, lambda pairs: _of_score(pairs, auprc)),
    "expected_calibration_error": Row(_detects, lambda pairs: _of_score(pairs, _calibration_error)),
    "pearson": Row(_continuous, _of_values(correlation.pearson)),
    "spearman": Row(_ranked, _of_values(correlation.spearman)),
    "kendall": Row(_ranked, _of_values(kendall)),
    "mean_absolute_difference": Row(_ranked, _of_values(correlation.mean_absolute_difference)),
    "bias": Row(_ranked, _of_values(correlation.bias)),
    "lower_limit": Row(_ranked, _limit(upper=False)),
    "upper_limit": Row(_ranked, _limit(upper=True)),
}

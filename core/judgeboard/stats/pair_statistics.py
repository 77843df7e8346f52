"""The statistics of agreement, one row each in ``STATISTICS``: name, scales, computation."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import (
    AnyArray,
    BoolArray,
    FloatArray,
    Grouping,
    IntArray,
    grouping,
    same_length,
)
from judgeboard.stats.chance_corrected import (
    EVERY_VALUE_THE_SAME,
    Metric,
    alpha,
    alpha_of_tables,
    fleiss,
    gwet,
    gwet_of_tables,
    percent_agreement,
)
from judgeboard.stats.confusion import (
    FEWEST_OF_CLASS,
    ONE_CATEGORY,
    CellStatistic,
    Confusion,
    TableEstimates,
    TableShare,
    at_most_apart,
    confusion_of_cells,
    detection_shares,
    f1_of,
    kappa_of_cells,
    macro_f1,
    macro_precision,
    macro_recall,
    matthews,
    ratio_of_cells,
    table_of_cells,
)
from judgeboard.stats.correlation import kendall, pearson, root_mean_square, spearman
from judgeboard.stats.detection import auroc, brier, expected_calibration_error
from judgeboard.stats.estimates import (
    MIN_PAIRS,
    leaving_out,
    measured,
    too_few,
    unmeasured,
    within_range,
)
from judgeboard.stats.intervals import RESAMPLES, mean_estimate
from judgeboard.stats.intraclass import cronbach_alpha, intraclass_correlation
from judgeboard.stats.ratings import Ratings, Scale, positions


class Pairs:
    """Rating pairs with the resampled table that several statistics share.

    ``judge`` and ``people`` are positions among the declared categories, or continuous scores
    (`positions`). ``scores`` is the judge's groundedness in addition to the labels, NaN if there is
    none.
    """

    def __init__(
        self,
        judge: FloatArray,
        people: FloatArray,
        scale: Scale,
        groups: AnyArray | Grouping | None = None,
        *,
        scores: AnyArray | None = None,
        resamples: int = RESAMPLES,
    ) -> None:
        self.n = (
            same_length(judge, people) if scores is None else same_length(judge, people, scores)
        )
        self.scale = scale
        self.groups = groups if isinstance(groups, Grouping) else grouping(groups, self.n)
        self.judge, self.people = judge, people
        self.scores = (
            np.full(self.n, np.nan) if scores is None else np.asarray(scores, dtype=np.float64)
        )
        self._resamples = resamples

    @property
    def cells(self) -> IntArray:
        """Each pair's cell in the flattened table, people in the rows."""
        return (self.people * self.scale.k + self.judge).astype(np.int64)

    @cached_property
    def table(self) -> TableEstimates:
        """The confusion table with resamples, drawn on first use."""
        return TableEstimates(self.cells, self.scale.k, self.groups, resamples=self._resamples)


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic of agreement: the ``name`` on pages, the scales to which it applies, and the computation.

    If a statistic is ``symmetric``, neither side counts as the truth, so the statistic applies to
    two people or two judges too. A ``share`` is shown in percent. Short tables show only the
    statistics with ``leads``. A correlation compares different ``scales`` too. A statistic with
    ``of_cells`` has a figure of all answers, from labels on a sample.
    """

    name: str
    applies: Callable[[Scale], bool] = lambda _: True
    of_pairs: Callable[[Pairs], Estimate] | None = None
    of_raters: Callable[[Ratings], Estimate] | None = None
    symmetric: bool = False
    share: bool = False
    leads: bool = False
    scales: bool = False
    of_cells: CellStatistic | None = None


class NamedEstimates:
    """Estimates by name. Each estimate is also an attribute."""

    __slots__ = ()
    estimates: Mapping[str, Estimate]

    def __getattr__(self, name: str) -> Estimate:
        if name in STATISTICS and name in self.estimates:
            return self.estimates[name]
        raise AttributeError(f"no statistic {name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairStatistics(NamedEstimates):
    """One judge and people on one grade; each estimate is also an attribute: ``statistics.kappa``.

    ``weighted_kappa`` uses the weights of the scale. Differences of ordered categories are in
    levels. If the categories are unordered and no statistics were named, ``classes`` has each
    category, the number of answers with this category by people, and the judge's precision, recall
    and F1.
    """

    n: int
    confusion: Confusion | None
    estimates: Mapping[str, Estimate]
    classes: tuple[tuple[str, int, dict[str, Estimate]], ...] = ()


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
    """Return `statistics_of` two sides whose grades are values of ``scale``, one pair per response.

    ``groups`` are evidence groups, required if people are stacked (several rows of a response).
    ``scores`` is the judge's groundedness for the AUROC of labels, or NaN. Raises
    ValueError if arrays differ in length, a value is outside the scale, or a value is missing.
    """
    judge, people = positions(judge, scale), positions(people, scale)
    return statistics_of(
        Pairs(judge, people, scale, groups, scores=scores, resamples=resamples), only
    )


def statistics_of(pairs: Pairs, only: Collection[str] | None = None) -> PairStatistics:
    """Return the statistics of rating pairs, or ``only`` the named ones."""
    categories = pairs.scale.categories
    return PairStatistics(
        n=pairs.n,
        confusion=None if categories is None else confusion_of_cells(pairs.cells, categories),
        estimates=estimates(pairs, only),
        classes=tuple(class_statistics(pairs)) if only is None else (),
    )


def class_statistics(pairs: Pairs) -> Iterator[tuple[str, int, dict[str, Estimate]]]:
    """Yield the statistics of each category that a side gave, if the categories are unordered."""
    if not pairs.scale.names_classes or pairs.n < MIN_PAIRS:
        return
    k = pairs.scale.k
    for place, category in enumerate(pairs.scale.categories or ()):
        of_people, of_judge = pairs.people == place, pairs.judge == place
        if of_people.any() or of_judge.any():
            shares = detection_shares(k, place)
            precision_share = replace(
                shares["precision"], undefined="the judge never gave this class"
            )
            recall_share = replace(shares["sensitivity"], undefined="people never gave this class")
            figures = {
                "precision": pairs.table.share(precision_share),
                "recall": pairs.table.share(recall_share),
                "f1": pairs.table.statistic(partial(f1_of, category=place), ONE_CATEGORY),
            }
            yield str(category), int(of_people.sum()), figures


def estimates(pairs: Pairs, names: Collection[str] | None = None) -> dict[str, Estimate]:
    """Return the statistics of two sides that apply to the scale, or only the statistics in ``names``."""
    return {
        name: unmeasured(pairs.n, reason)
        if (reason := why_not(row, pairs.scale, pairs.n))
        else row.of_pairs(pairs)
        for name, row in STATISTICS.items()
        if row.of_pairs is not None
        and row.applies(pairs.scale)
        and (names is None or name in names)
    }


def why_not(row: Statistic, scale: Scale, n: int) -> str | None:
    """Return why a statistic of ``n`` items is not available for any values; None if it may be available."""
    if n < MIN_PAIRS:
        return too_few(n)
    return "scores on different scales" if scale.different and not row.scales else None


def _categorical(scale: Scale) -> bool:
    return scale.categories is not None


def _ordered(scale: Scale) -> bool:
    return scale.weights is not None


def _detects(scale: Scale) -> bool:
    return scale.bad is not None


def _ranked(scale: Scale) -> bool:
    return _ordered(scale) or scale.categories is None


def _share_of_cells(share: TableShare) -> CellStatistic:
    return ratio_of_cells(share.hits.ravel(), share.of.ravel())


def _detection(name: str, share: str) -> Statistic:
    """Return the statistic of one of `detection_shares`."""
    return Statistic(
        name,
        _detects,
        lambda pairs: pairs.table.share(
            detection_shares(pairs.scale.k, pairs.scale.bad or 0)[share]
        ),
        share=True,
        of_cells=_share_of_cells(detection_shares(2, bad=1)[share]),
    )


def _of_score(
    pairs: Pairs, compute: Callable[[FloatArray, BoolArray, Grouping], Estimate]
) -> Estimate:
    rows = ~np.isnan(pairs.scores)
    n = int(rows.sum())
    if n == 0:
        return unmeasured(0, "the judge gives no score")
    if n < MIN_PAIRS:
        estimate = unmeasured(n, too_few(n))
    else:
        estimate = compute(
            pairs.scores[rows], pairs.people[rows] == pairs.scale.bad, pairs.groups.at(rows)
        )
    return leaving_out(estimate, ("answers without a score of the judge", pairs.n - n))


_SMALL_CLASS = f"no interval: a class has fewer than {FEWEST_OF_CLASS} rows"


def _macro(
    compute: Callable[[FloatArray], FloatArray], undefined: str
) -> Callable[[Pairs], Estimate]:
    def of_table(pairs: Pairs) -> Estimate:
        several = len(np.union1d(pairs.judge, pairs.people)) > 1
        estimate = pairs.table.statistic(compute, undefined if several else ONE_CATEGORY)
        rarest = min(
            int(np.unique(side, return_counts=True)[1].min())
            for side in (pairs.judge, pairs.people)
        )
        if estimate.value is None or rarest >= FEWEST_OF_CLASS:
            return estimate
        return measured(estimate.value, estimate.n, reason=_SMALL_CLASS)

    return of_table


def _coefficient(
    compute: Callable[[FloatArray], FloatArray], undefined: str
) -> Callable[[Pairs], Estimate]:
    return lambda pairs: pairs.table.statistic(compute, undefined, scale="Fisher's z")


def _alpha(name: str, applies: Callable[[Scale], bool], metric: Metric) -> Statistic:
    of_tables = _coefficient(partial(alpha_of_tables, metric=metric), EVERY_VALUE_THE_SAME)

    def of_pairs(pairs: Pairs) -> Estimate:
        if pairs.scale.k:
            return of_tables(pairs)
        sides = np.stack((pairs.people, pairs.judge), axis=1)
        return alpha(Ratings(sides, ("people", "judge"), pairs.scale, pairs.groups), metric)

    return Statistic(name, applies, of_pairs, partial(alpha, metric=metric), symmetric=True)


def _of_values(
    compute: Callable[[FloatArray, FloatArray, Grouping], Estimate],
) -> Callable[[Pairs], Estimate]:
    return lambda pairs: compute(pairs.judge, pairs.people, pairs.groups)


def _of_table(compute: Callable[[FloatArray, Grouping], Estimate], ratings: Ratings) -> Estimate:
    """Return a statistic of the items that all raters rated."""
    n = int((ratings.per_item == ratings.values.shape[1]).sum())
    if n >= MIN_PAIRS:
        return compute(ratings.values, ratings.groups)
    return leaving_out(
        unmeasured(n, too_few(n)), ("items with a missing value", len(ratings.values) - n)
    )


_NEVER_GAVE = "never gave a category that the other side gave"

STATISTICS: Mapping[str, Statistic] = {
    "agreement": Statistic(
        "Same grade",
        _categorical,
        lambda pairs: pairs.table.share(at_most_apart(pairs.scale.k, 0)),
        percent_agreement,
        symmetric=True,
        share=True,
        leads=True,
        of_cells=_share_of_cells(at_most_apart(2, 0)),
    ),
    "accuracy": Statistic("Accuracy", share=True),
    "at_most_one_apart": Statistic(
        "At most one apart",
        _ordered,
        lambda pairs: pairs.table.share(at_most_apart(pairs.scale.k, 1)),
        symmetric=True,
        share=True,
    ),
    "self_consistency": Statistic("Same verdict every time", share=True),
    "changed_with_order": Statistic("Preference changed with the order", share=True, leads=True),
    "unusable_verdicts": Statistic("Unusable verdicts", share=True),
    "kappa": Statistic(
        "Cohen's kappa",
        _categorical,
        lambda pairs: pairs.table.kappa(),
        symmetric=True,
        leads=True,
        of_cells=CellStatistic(kappa_of_cells, "Fisher's z"),
    ),
    "weighted_kappa": Statistic(
        "Weighted kappa",
        _ordered,
        lambda pairs: pairs.table.kappa(pairs.scale.weights or "nominal"),
        symmetric=True,
        leads=True,
    ),
    "fleiss_kappa": Statistic("Fleiss' kappa", _categorical, of_raters=fleiss),
    "alpha": Statistic("Krippendorff's alpha", leads=True),
    "alpha_nominal": _alpha("Alpha, nominal", _categorical, "nominal"),
    "alpha_ordinal": _alpha("Alpha, ordinal", _ranked, "ordinal"),
    "alpha_interval": _alpha("Alpha, interval", _ranked, "interval"),
    "ac1": Statistic(
        "Gwet's AC1",
        _categorical,
        _coefficient(gwet_of_tables, "no pairs"),
        gwet,
        symmetric=True,
        of_cells=table_of_cells(gwet_of_tables, "Fisher's z"),
    ),
    "missed": Statistic("Bad answers missed", share=True),
    "false_alarms": Statistic("False alarms on good answers", share=True),
    "sensitivity": _detection("Bad answers caught", "sensitivity"),
    "specificity": _detection("Good answers recognised", "specificity"),
    "precision": _detection("Precision on bad answers", "precision"),
    "f1": Statistic(
        "F1 on bad answers",
        _detects,
        lambda pairs: pairs.table.statistic(
            partial(f1_of, category=pairs.scale.bad or 0), "neither side called an answer bad"
        ),
        share=True,
        of_cells=ratio_of_cells((0, 0, 0, 2), (0, 1, 1, 2), counted=(0, 1, 1, 1)),
    ),
    "macro_precision": Statistic(
        "Macro precision", _categorical, _macro(macro_precision, f"the judge {_NEVER_GAVE}")
    ),
    "macro_recall": Statistic(
        "Macro recall (balanced accuracy)",
        _categorical,
        _macro(macro_recall, f"people {_NEVER_GAVE}"),
        of_cells=table_of_cells(macro_recall, "the logit", of_classes=True),
    ),
    "macro_f1": Statistic("Macro F1", _categorical, _macro(macro_f1, ONE_CATEGORY)),
    "mcc": Statistic(
        "Matthews correlation",
        _categorical,
        _coefficient(matthews, "one side gave only one category"),
        of_cells=table_of_cells(matthews, "Fisher's z"),
    ),
    "auroc": Statistic("AUROC of the score", _detects, lambda pairs: _of_score(pairs, auroc)),
    "expected_calibration_error": Statistic(
        "Expected calibration error",
        _detects,
        lambda pairs: _of_score(
            pairs, lambda score, bad, groups: expected_calibration_error(score, ~bad, groups)
        ),
    ),
    "brier": Statistic(
        "Brier score",
        _detects,
        lambda pairs: _of_score(pairs, lambda score, bad, groups: brier(score, ~bad, groups)),
    ),
    "pearson": Statistic(
        "Pearson correlation", _ranked, _of_values(pearson), symmetric=True, leads=True, scales=True
    ),
    "spearman": Statistic(
        "Spearman rank correlation",
        _ranked,
        _of_values(spearman),
        symmetric=True,
        leads=True,
        scales=True,
    ),
    "kendall": Statistic(
        "Kendall's tau-b", _ranked, _of_values(kendall), symmetric=True, scales=True
    ),
    "mean_absolute_difference": Statistic(
        "Mean absolute difference",
        _ranked,
        lambda pairs: within_range(
            mean_estimate(np.abs(pairs.judge - pairs.people), pairs.groups), 0, math.inf
        ),
        symmetric=True,
    ),
    "rmse": Statistic(
        "Root mean square difference", _ranked, _of_values(root_mean_square), symmetric=True
    ),
    "bias": Statistic(
        "Mean of judge minus people",
        _ranked,
        lambda pairs: mean_estimate(pairs.judge - pairs.people, pairs.groups),
    ),
    "first_position": Statistic("Prefers the answer shown first", share=True),
    "spread": Statistic("Spread of repeats"),
    "icc": Statistic(
        "Intraclass correlation ICC(1)",
        _ranked,
        of_raters=partial(_of_table, intraclass_correlation),
    ),
    "cronbach_alpha": Statistic(
        "Cronbach's alpha", _ranked, of_raters=partial(_of_table, cronbach_alpha)
    ),
    "set_alpha": Statistic("Alpha of sets (MASI)", leads=True),
    "span_f1": Statistic("F1 of spans, by character", share=True, leads=True),
    "word_alpha": Statistic("Alpha of spans, by word", leads=True),
    "ranking_tau": Statistic("Kendall's tau-b of rankings", leads=True),
}
"""Every statistic of agreement by name, in display order.

Rows without a function have only the title here, and are computed elsewhere (complements, repeats,
pairs in both orders).
"""

STATISTICS_OF_ALL: Mapping[str, CellStatistic] = {
    name: row.of_cells for name, row in STATISTICS.items() if row.of_cells is not None
}
"""The statistics that have a figure of all answers (`judgeboard.stats.rates.weighted_agreement`)."""

SYMMETRIC = tuple(name for name, row in STATISTICS.items() if row.symmetric)
"""The statistics of two raters, neither of whom counts as the truth."""

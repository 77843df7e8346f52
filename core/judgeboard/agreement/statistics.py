"""The statistics of agreement by name: those that a grade has, with the figures that lead."""

from collections.abc import Sequence

from judgeboard.agreement.rating_source import HeldAgainst, ItemRatings, Unit, grouping_of
from judgeboard.domain import Estimate
from judgeboard.stats.confusion import Confusion
from judgeboard.stats.pair_statistics import NOT_ASKED, NOT_FOR_GRADE, PairStatistics, pair_statistics
from judgeboard.stats.people import Human
from judgeboard.stats.rater_agreement import OverallAgreement, RaterPair
from judgeboard.stats.resampling import RESAMPLES
from judgeboard.stats.scales import Scale

_OF_NUMBERS = ("alpha_ordinal", "alpha_interval", "pearson", "spearman", "kendall")


def alpha_of(scale: Scale) -> str:
    """Return which of Krippendorff's alphas leads on a scale: nominal for unordered categories, else interval."""
    return "alpha_nominal" if scale.categories is not None and scale.weights is None else "alpha_interval"


def of_grade(statistics: PairStatistics) -> dict[str, Estimate]:
    """Return the statistics that the grade has; ``accuracy`` is another name of ``agreement``."""
    found = {name: each for name, each in statistics.estimates.items() if each.reason not in {NOT_FOR_GRADE, NOT_ASKED}}
    if "agreement" in found:
        found = {"agreement": found["agreement"], "accuracy": found["agreement"], **found}
    return found


def of_raters(agreed: OverallAgreement, scale: Scale, pairs: Sequence[RaterPair]) -> dict[str, Estimate]:
    """Return the statistics of all raters together that the grade has, ``alpha`` the one that leads.

    Where there are two raters in all, what is said of them stands beside it.
    """
    found = {"alpha": agreed.estimates[alpha_of(scale)]}
    found |= {name: each for name, each in agreed.estimates.items() if each.reason != NOT_FOR_GRADE}
    if len(pairs) == 1 and agreed.raters == 2:
        found = {**pairs[0].statistics, **found}
    return found


def with_numbers(categories: dict[str, Estimate], numbers: dict[str, Estimate]) -> dict[str, Estimate]:
    """Return the statistics of sides with those of the grades that stand behind them: correlations, interval alpha."""
    return categories | {name: numbers[name] for name in _OF_NUMBERS if name in numbers and name not in categories}


def measured(held: HeldAgainst, unit: Unit, human: Human, *, resamples: int = RESAMPLES) -> PairStatistics:
    """Return every statistic of a judge version held against people, on what both said something usable of."""
    pairs = held.pairs
    return pair_statistics(
        pairs.judge,
        pairs.people,
        pairs.scale,
        grouping_of(pairs, unit, human),
        scores=pairs.scores if pairs.grade == "label" else None,
        resamples=resamples,
    )


def counting_wrong(
    found: dict[str, Estimate], held: HeldAgainst, unit: Unit, human: Human
) -> tuple[dict[str, Estimate], Confusion | None]:
    """Return the statistics, and the table, with unusable verdicts counted as wrong where there are any.

    That is said of how often the judge is right; what needs the judge's own categories stays as it is without them.
    """
    if held.wrong is None:
        return found, None
    rows = held.wrong
    counted = pair_statistics(rows.judge, rows.people, rows.scale, grouping_of(rows, unit, human))
    return found | {"agreement": counted.agreement, "accuracy": counted.agreement}, counted.confusion


def common(rated: ItemRatings) -> ItemRatings:
    """Return the items that two raters or more rated."""
    return rated.at(rated.ratings.per_item >= 2)

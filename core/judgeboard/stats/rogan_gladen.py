"""The share of bad answers that a judge's own share implies, with errors known from labels of other answers."""

import math
from dataclasses import dataclass

from judgeboard.domain import Estimate
from judgeboard.stats.estimates import Z, measured, unmeasured

NO_BETTER_THAN_CHANCE = "this judge cannot be corrected: it is no better than chance"


@dataclass(frozen=True, slots=True)
class JudgeErrors:
    """Counts of other labels: ``bad`` answers, those the judge ``found``, ``good`` answers, those it ``passed``."""

    bad: int
    found: int
    good: int
    passed: int


def rogan_gladen(judged_bad: int, answers: int, errors: JudgeErrors) -> Estimate:
    """Return the rate that explains the judge's own share, if errors are as frequent as on the labels of ``errors``.

    Only for labels that are no sample of these answers: with a sample, `rate` has a narrower interval.
    """
    n = errors.bad + errors.good
    if not answers:
        return unmeasured(n, "no answers")
    if not errors.bad:
        return unmeasured(n, "no label for the judge's errors says bad")
    if not errors.good:
        return unmeasured(n, "no label for the judge's errors says good")
    recall, specificity = errors.found / errors.bad, errors.passed / errors.good
    if recall + specificity <= 1:
        return unmeasured(n, NO_BETTER_THAN_CHANCE)
    value = min(
        max((judged_bad / answers + specificity - 1) / (recall + specificity - 1), 0.0), 1.0
    )
    share = (judged_bad + Z**2 / 2) / (answers + Z**2)
    recall, specificity = (
        (errors.found + 1) / (errors.bad + 2),
        (errors.passed + 1) / (errors.good + 2),
    )
    gain = recall + specificity - 1
    if gain <= 0:
        return unmeasured(n, NO_BETTER_THAN_CHANCE)
    middle = (share + specificity - 1) / gain
    of_recall = recall * (1 - recall) / (errors.bad + 2)
    of_specificity = specificity * (1 - specificity) / (errors.good + 2)
    shift = 2 * Z**2 * (middle * of_recall - (1 - middle) * of_specificity)
    variance = (
        share * (1 - share) / (answers + Z**2)
        + middle**2 * of_recall
        + (1 - middle) ** 2 * of_specificity
    )
    reach = Z * math.sqrt(variance) / gain
    low, high = (min(max(middle + shift + side * reach, 0.0), 1.0) for side in (-1, 1))
    return measured(value, n, (low, high), method="Rogan-Gladen, Lang-Reiczigel")

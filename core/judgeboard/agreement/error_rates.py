"""The judge's sensitivity and specificity before and since a change of its error."""

from dataclasses import dataclass

from judgeboard.agreement.trend_words import ends_or_value
from judgeboard.domain import Estimate
from judgeboard.stats.estimates import percent_words


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """The judge's sensitivity and specificity in all answers, before a change of its error and since it.

    Its error also moves if they stay the same, because more answers are bad.
    """

    sensitivity: tuple[Estimate, Estimate]
    specificity: tuple[Estimate, Estimate]

    @property
    def sentence(self) -> str:
        """Whether one of them moved: whether their intervals have no value in common."""
        parts = [
            f"{name} {percent_words(before)} before, {percent_words(after)} since"
            for name, (before, after) in (("sensitivity", self.sensitivity), ("specificity", self.specificity))
        ]
        moved = any(_apart(*each) for each in (self.sensitivity, self.specificity))
        start = (
            "The judge errs differently than before"
            if moved
            else "The judge is not shown to err differently on bad or on good answers: the share of bad answers moved"
        )
        return f"{start} ({'; '.join(parts)})."


def _apart(one: Estimate, other: Estimate) -> bool:
    if one.value is None or other.value is None:
        return False
    # Without an interval, all labels of the class are judged alike.
    (low, _, high), (other_low, _, other_high) = map(ends_or_value, (one, other))
    return high < other_low or other_high < low

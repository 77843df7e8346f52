"""Reads the scale of a number as files write it: "1-5", "0..1", "-2..2 (positive: answer 2 better)"."""

import math
import re
from dataclasses import dataclass

from judgeboard.importers.cells import Unusable

_NUMBER = r"([+-]?\d+(?:\.\d+)?)"
_SCALE = re.compile(rf"\s*{_NUMBER}\s*(?:\.\.+|-|–|to)\s*{_NUMBER}\s*(\(.*\))?\s*", re.DOTALL)
_A_IS_ABOVE = re.compile(r"positive\b.*\b(?:answer|response|output)?[ _]?(?:1|a|first)\b.*\bbetter", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NumberScale:
    """From where to where grades go; ``a_is_above`` says that numbers above 0 speak for the first answer."""

    low: float
    high: float
    a_is_above: bool = False

    def __str__(self) -> str:
        return f"{self.low:g}..{self.high:g}" if self.low < 0 else f"{self.low:g}-{self.high:g}"

    def checked(self, field: str, value: object) -> float:
        """Return a number of this scale.

        Raises:
            Unusable: It is none, or lies outside.
        """
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise Unusable(field, f"{str(value)[:60]!r} is no number of the scale {self}")
        if not self.low <= value <= self.high:
            raise Unusable(field, f"{value:g} lies outside the scale {self}")
        return float(value)


GRADES_OF_PAIRS = NumberScale(-2, 2)
"""What a person's number for a pair means where no scale is given: -2 A is much better, 2 B is much better."""


def scale_in(field: str, text: str) -> NumberScale:
    """Return the scale that a text describes.

    Raises:
        Unusable: It describes none.
    """
    found = _SCALE.fullmatch(text)
    if found is None or float(found[1]) >= float(found[2]):
        raise Unusable(field, f"{text[:60]!r} is no scale: write it like 1-5 or -2..2")
    return NumberScale(float(found[1]), float(found[2]), bool(found[3] and _A_IS_ABOVE.search(found[3])))


def scale_of_pairs(field: str, text: str | None) -> NumberScale:
    """Return the scale of people's grades of pairs: 0 is a tie, numbers above it speak for B.

    Raises:
        Unusable: The text describes another one.
    """
    if text is None:
        return GRADES_OF_PAIRS
    scale = scale_in(field, text)
    if not scale.low < 0 < scale.high:
        raise Unusable(field, f"on the scale {scale} of a pair 0 is no tie: write it like -2..2, above 0 for B")
    if scale.a_is_above:
        raise Unusable(field, "numbers above 0 must speak for B: change their sign")
    return scale

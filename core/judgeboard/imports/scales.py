"""Number scales in files ("1-5", "-2..2"), and the scores of a row on such a scale."""

import math
import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from judgeboard.domain import DimensionScore, checked_groundedness
from judgeboard.imports.fields import Cells, Unusable, checked

_NUMBER = r"([+-]?\d+(?:\.\d+)?)"
_SCALE = re.compile(rf"\s*{_NUMBER}\s*(?:\.\.+|-|–|to)\s*{_NUMBER}\s*(\(.*\))?\s*", re.DOTALL)
_A_IS_ABOVE = re.compile(
    r"positive\b.*\b(?:answer|response|output)?[ _]?(?:1|a|first)\b.*\bbetter", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class NumberScale:
    """The lowest and the highest grade. With ``a_is_above``, numbers above 0 mean that the first answer is better."""

    low: float
    high: float
    a_is_above: bool = False

    def __str__(self) -> str:
        return f"{self.low:g}..{self.high:g}" if self.low < 0 else f"{self.low:g}-{self.high:g}"

    def checked(self, field: str, value: object) -> float:
        """Return a number of this scale."""
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise Unusable(field, f"{str(value)[:60]!r} is not a number on the scale {self}")
        if not self.low <= value <= self.high:
            raise Unusable(field, f"{value:g} lies outside the scale {self}")
        return float(value)

    def has_most(self, numbers: Collection[float]) -> bool:
        """Whether at least 95 % of numbers are on this scale."""
        return sum(self.low <= number <= self.high for number in numbers) >= 0.95 * len(numbers)

    def share(self, field: str, value: object) -> float:
        """Return a number of this scale as a number from 0 to 1."""
        return (self.checked(field, value) - self.low) / (self.high - self.low)


GRADES_OF_PAIRS = NumberScale(-2, 2)
"""The default scale of people's grades of pairs: -2 means A is much better, 2 means B is much better."""


USUAL = [NumberScale(*ends) for ends in ((0, 1), (1, 5), (1, 10), (0, 10), (0, 100))]
"""The scales that numbers without a scale may have."""


def possible_scale(numbers: Collection[float]) -> NumberScale:
    """Return the first usual scale that has all these numbers, else the scale from the lowest to the highest."""
    low, high = min(numbers), max(numbers)
    return next(
        (scale for scale in USUAL if scale.low <= low and high <= scale.high),
        NumberScale(low, high),
    )


def shown_scale(numbers: Collection[float]) -> NumberScale | None:
    """Return the scale that numbers show: whole numbers from 1 to 5 or 10, or fractions from 0 to 1; else None."""
    scale = possible_scale(numbers)
    if all(number == round(number) for number in numbers):
        return scale if scale.low == 1 and {scale.low, scale.high} <= {*numbers} else None
    return scale if scale == USUAL[0] else None


def scale_in(field: str, text: str) -> NumberScale:
    """Return the scale that a text describes."""
    match = _SCALE.fullmatch(text)
    if match is None or float(match[1]) >= float(match[2]):
        raise Unusable(field, f"{text[:60]!r} is not a scale: write it like 1-5 or -2..2")
    return NumberScale(
        float(match[1]), float(match[2]), bool(match[3] and _A_IS_ABOVE.search(match[3]))
    )


def scale_of_pairs(field: str, text: str | None) -> NumberScale:
    """Return the scale of people's grades of pairs: 0 is a tie, and above 0 B is better."""
    if text is None:
        return GRADES_OF_PAIRS
    scale = scale_in(field, text)
    if not scale.low < 0 < scale.high:
        raise Unusable(
            field,
            f"the scale of a pair needs 0 for a tie, for example -2..2 with B above 0, not {scale}",
        )
    if scale.a_is_above:
        raise Unusable(field, "numbers above 0 must mean that B is better: change their sign")
    return scale


SCORE = "score"
"""The dimension of a score without a name."""

_QUALITY = "1-4"


def own_scale(cells: Cells) -> NumberScale | None:
    """Return the scale of the row's numbers; None without a scale, or if it is the scale of quality (1-4)."""
    text = cells.text("scale")
    scale = None if text is None else scale_in("scale", text)
    return None if scale is None or str(scale) == _QUALITY else scale


def groundedness_in(cells: Cells) -> float | None:
    """Return the groundedness of a row. If the row has a ``scale``, the number is converted to 0–1."""
    value, scale = cells.number("groundedness"), cells.text("scale")
    if value is None or scale is None:
        return checked("groundedness", checked_groundedness, value)
    of_row = scale_in("scale", scale)
    try:
        return of_row.share("groundedness", value)
    except Unusable as fault:
        reason = f'{fault.reason}; if only other numbers are on it, write each as {{"value": 4, "scale": "{of_row}"}}'
        raise Unusable("groundedness", reason) from None


def scores_in(cells: Cells, scale: NumberScale | None, field: str) -> tuple[DimensionScore, ...]:
    """Return the scores of a row on ``scale``: the quality, and the numbers by name in ``field``.

    A score may name another scale, and a ``reasoning``: ``{"value": 4, "scale": "1-5"}``. In a
    list, each score names its ``dimension``. If ``field`` is absent, the judge's reply (``raw``) is
    used, if all its values are numbers on this scale.
    """
    values: dict[str, Any] | None
    if isinstance(cells.json(field), list):
        values = {}
        for score in cells.objects(field) or ():
            name = score.get("dimension")
            if not isinstance(name, str) or not name.strip() or name in values:
                raise Unusable(field, "each score in a list needs a dimension of its own")
            values[name] = {key: value for key, value in score.items() if key != "dimension"}
    else:
        values = cells.object(field)
    if values is None and scale is not None and isinstance(raw := cells.get("raw"), dict):
        with suppress(Unusable):
            values = {name: scale.checked("raw", value) for name, value in raw.items()}
    values_by_name = [(field, name, value) for name, value in (values or {}).items()]
    if scale is not None and cells.get("quality") is not None:
        values_by_name.insert(0, ("quality", SCORE, cells.number("quality")))
    scores: list[DimensionScore] = []
    for place, name, value in values_by_name:
        of_score, number, reasoning = scale, value, None
        if isinstance(value, dict) and value.keys() - {"reasoning"} == {"value", "scale"}:
            reasoning, of_score = value.get("reasoning"), scale_in(place, str(value["scale"]))
            number = value["value"]
            if reasoning is not None and not isinstance(reasoning, str):
                raise Unusable(place, f"the reasoning of {name} is not a text")
        if of_score is None:
            raise Unusable("scale", f"{place} need their scale, written like 0-1")
        number = None if number is None else of_score.checked(place, number)
        scores.append(DimensionScore(name, number, str(of_score), reasoning))
    return tuple(scores)

"""Number scales in files ("1-5", "-2..2"), and the scores of a row on such a scale.

In a file of grades, scores may also be one in each row (long form), or in columns with names of
dimensions: `Dimensions`.
"""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from judgeboard.domain import DimensionScore, checked_groundedness
from judgeboard.imports.fields import Cells, ColumnUse, Unusable, checked, simple_name
from judgeboard.imports.values import is_missing

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


_PARTS = frozenset({"label", "groundedness", "quality", "aspects", "failure_modes", "fields"})
_HOW = "a column of numbers"
_HIGHEST = 10  # of a column of scores beside others; one with higher numbers rather has durations
_NO_SCORES = frozenset(
    {"id", "index", "unnamed", "column", "row", "count", "seconds", "ms", "duration", "age", "year"}
)
"""A column with one of these words in the name has no scores."""


@dataclass(slots=True)
class Dimensions:
    """The dimensions of a file and the ``scales`` that the first rows show. Each of the ``columns`` is a dimension.

    The numbers of ``unclear`` columns beside a label or such show no scale and are not stored.
    """

    columns: list[str] = field(default_factory=list)
    scales: dict[str, NumberScale] = field(default_factory=dict)
    unclear: list[str] = field(default_factory=list)

    def look(self, rows: Sequence[Cells]) -> dict[str, str]:
        """Find the dimensions and scales. Return the likely scale if the numbers do not show the scale."""
        column_of = {ours: theirs for cells in rows for ours, theirs in cells.taken.items()}
        is_graded = not _PARTS.isdisjoint(column_of)
        if "dimension" not in column_of:
            others = () if is_graded else (name for cells in rows for name in cells.extra)
            likely = (
                name for name in others if _NO_SCORES.isdisjoint(simple_name(name).split("_"))
            )
            self.columns = list(
                dict.fromkeys(
                    [*likely, *(column_of[name] for name in ("score",) if name in column_of)]
                )
            )
        values: dict[str, list[Any]] = defaultdict(list)
        scales: set[NumberScale] = set()
        for cells in rows:
            with suppress(Unusable):  # such a row is rejected later
                scales |= {scale_in("scale", text) for text in (cells.text("scale"),) if text}
                for name, value in self._numbers(cells).items():
                    values[name].append(value)
        numbers = {
            name: [value for value in each if type(value) in {int, float}]
            for name, each in values.items()
        }
        numbers = {
            name: each for name, each in numbers.items() if 2 * len(each) > len(values[name])
        }
        if scales:
            of_all = [
                name for name in numbers if any(scale.has_most(numbers[name]) for scale in scales)
            ]
            self.columns = [name for name in self.columns if name in of_all]
            return {}
        self.scales = {
            name: scale for name, each in numbers.items() if (scale := shown_scale(each))
        }
        unclear = [name for name in numbers if name not in self.scales]
        self.unclear = (
            [name for name in unclear if max(numbers[name]) <= _HIGHEST] if self.scales else unclear
        )
        self.columns = [name for name in self.columns if name in self.scales]
        if self.unclear and not is_graded:
            return {
                "scale": str(
                    possible_scale([number for each in numbers.values() for number in each])
                )
            }
        return {}

    def messages(self) -> Iterator[str]:
        """Yield the scales that the numbers show, and the scores that are not stored because no scale is shown."""
        if self.scales:
            yield f"scales, as the numbers show: {', '.join(f'{name} {each}' for name, each in self.scales.items())}"
        if self.unclear:
            yield f"not stored, because the numbers do not show their scale: {', '.join(self.unclear)}"

    def uses(self, columns: Sequence[ColumnUse]) -> tuple[ColumnUse, ...]:
        """Return the report on the columns, with the columns of scores."""
        return tuple(
            replace(use, ours=f"aspects.{use.theirs}", how=_HOW, unasked=False)
            if use.theirs in self.columns
            else use
            for use in columns
        )

    def read(self, cells: Cells) -> Cells:
        """Return a row with the scores on dimensions in ``aspects``, each with a scale."""
        text = cells.text("scale")
        scores: dict[str, Any] = {}
        for name, number in self._numbers(cells).items():
            scale = self.scales.get(name) if text is None else scale_in("scale", text)
            if scale is None:
                raise Unusable("scale", f"{name} needs its scale, written like 1-5")
            scores[name] = {"value": scale.checked(name, number), "scale": str(scale)}
        if not scores:
            return cells
        aspects = {**(cells.object("aspects") or {}), **scores}
        return replace(
            cells,
            values={**cells.values, "aspects": aspects},
            taken={**cells.taken, "aspects": "aspects"},
        )

    def _numbers(self, cells: Cells) -> dict[str, Any]:
        """Return the number of each dimension in a row."""
        aspects = cells.json("aspects")
        pairs = aspects.items() if isinstance(aspects, dict) else ()
        numbers = {name: number for name, number in pairs if type(number) in {int, float}}
        columns = {name: name for name in self.columns if name in cells.values}
        if "dimension" in cells.taken:
            columns = {cells.required_name("dimension"): cells.taken.get("score", "")}
        for name, column in columns.items():
            numbers[name] = replace(cells, taken={"score": column} if column else {}).number(
                "score"
            )
            if is_missing(numbers[name]) and "dimension" in cells.taken:
                raise Unusable("score", "no score")
        return {name: number for name, number in numbers.items() if not is_missing(number)}

"""Scores on dimensions in a file of grades: one in each row (long form), or in columns with names of dimensions."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from judgeboard.imports.fields import Cells, ColumnUse, Unusable, simple_name
from judgeboard.imports.scales import NumberScale, possible_scale, scale_in, shown_scale
from judgeboard.imports.values import is_missing

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

"""Scores on dimensions in a file of grades: one in each row (long form), or in columns with names of dimensions."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from judgeboard.errors import BadInput
from judgeboard.imports.fields import Cells, ColumnNames, ColumnUse, Unusable, simple_name
from judgeboard.imports.scales import NumberScale, possible_scale, scale_in, shown_scale
from judgeboard.imports.values import is_missing

_WHOLE_GRADES = frozenset({"label", "groundedness", "quality", "aspects", "failure_modes", "fields"})
# A column of numbers with one of these words in its name has no scores.
_NO_SCORES = frozenset(
    {
        "id",
        "index",
        "unnamed",
        "column",
        "row",
        "number",
        "count",
        "seconds",
        "ms",
        "duration",
        "time",
        "length",
        "age",
        "year",
    }
)
_HIGHEST = 10  # of a column of scores beside others; higher numbers are rather durations than scores
_ENOUGH = 0.95  # the share of the values of such a column that are scores


class Dimensions:
    """The dimensions of a file and their scales, as its first rows show them. ``names`` are the names of fields."""

    def __init__(self, names: ColumnNames) -> None:
        self._names = names
        self._columns: list[str] = []
        self._score: str | None = None  # the column of the scores in long form, if its name says nothing
        self._scales: dict[str, NumberScale] = {}
        self._unclear: dict[str, NumberScale] = {}

    def look(self, rows: Sequence[Cells], file: str) -> None:
        """Find the dimensions and their scales. Raises BadInput if the numbers of a dimension do not show its scale."""
        taken = {field: theirs for cells in rows for field, theirs in cells.taken.items()}
        graded = taken.keys() & _WHOLE_GRADES
        numeric = [
            name
            for name in dict.fromkeys(name for cells in rows for name in cells.extra)
            if name and _NO_SCORES.isdisjoint(simple_name(name).split("_")) and _are_numbers(rows, name)
        ]
        if "dimension" in taken:
            self._score = numeric[0] if "score" not in taken and len(numeric) == 1 else None
        else:
            self._columns = [name for name in (taken.get("score"),) if name] + ([] if graded else numeric)
        numbers: dict[str, list[float]] = defaultdict(list)
        for cells in rows:
            with suppress(Unusable):  # such a row is rejected when it is read
                for name, (_, number) in self._numbers(cells).items():
                    if type(number) in {int, float}:
                        numbers[name].append(number)
        scales = {text for cells in rows if isinstance(text := cells.raw("scale"), str)}
        if len(scales) == 1:
            with suppress(Unusable):
                scale = scale_in("scale", scales.pop())
                self._columns = [name for name in self._columns if scale.has_most(numbers[name], _ENOUGH)]
        if "scale" in taken:
            return
        self._scales = {name: scale for name, each in numbers.items() if (scale := shown_scale(each))}
        unclear = {name: each for name, each in numbers.items() if name not in self._scales}
        if self._scales and self._columns:
            unclear = {name: each for name, each in unclear.items() if min(each) >= 0 and max(each) <= _HIGHEST}
        self._columns = [name for name in self._columns if name in self._scales]
        if unclear and not graded:
            example = possible_scale([number for each in numbers.values() for number in each])
            names = ", ".join(map(repr, unclear))
            raise BadInput(
                f"{file}: the numbers of {names} do not show their scale. Nothing was stored. Give the scale, for "
                f"example --set scale={example}"
            )
        self._unclear = {name: possible_scale(each) for name, each in unclear.items()}

    def messages(self) -> Iterator[str]:
        """Yield the scales that the numbers show, and the dimensions that are not stored because they show none."""
        for scale in dict.fromkeys(self._scales.values()):
            names = ", ".join(name for name, own in self._scales.items() if own == scale)
            yield f"scale {scale}, as the numbers show: {names}"
        for name, scale in self._unclear.items():
            yield f"not stored: {name}, whose numbers do not show their scale; give it, for example --set scale={scale}"

    def uses(self, columns: Sequence[ColumnUse]) -> tuple[ColumnUse, ...]:
        """Return the report on the columns with those that are read as scores."""
        ours = {name: f"aspects.{name}" for name in self._columns} | {self._score: "score"}
        return tuple(
            replace(use, ours=ours[use.theirs], how="a column of numbers", unasked=False)
            if use.ours is None and use.theirs in ours
            else use
            for use in columns
        )

    def read(self, cells: Cells) -> Cells:
        """Return a row whose scores on dimensions stand in ``aspects``, each with its scale.

        In long form, a label and a groundedness stand in their own fields.
        """
        text = cells.text("scale")
        values, taken = dict(cells.values), dict(cells.taken)
        scores: dict[str, Any] = {}
        for name, (column, number) in self._numbers(cells).items():
            scale = self._scales.get(name) if text is None else scale_in("scale", text)
            ours = next((each for each in ("label", "groundedness") if simple_name(name) in self._names[each]), None)
            if ours is not None and "dimension" in taken:
                taken[ours] = column
                if scale is not None:
                    values["scale"], taken["scale"] = str(scale), "scale"
            elif scale is None:
                raise Unusable("scale", f"{name} needs its scale, written like 1-5: use --set scale=1-5")
            else:
                scores[name] = {"value": scale.checked(name, number), "scale": str(scale)}
        if scores:
            values["aspects"] = {**(cells.object("aspects") or {}), **scores}
            taken["aspects"] = "aspects"
        return replace(cells, values=values, taken=taken) if len(taken) > len(cells.taken) or scores else cells

    def _numbers(self, cells: Cells) -> dict[str, tuple[str, Any]]:
        """Return the column and the value of each dimension that a row scores."""
        columns = {name: name for name in self._columns}
        column = cells.taken.get("score", self._score)
        if "dimension" in cells.taken:
            if column is None:
                raise Unusable("score", "no score: a row with a dimension needs a number on it")
            columns = {cells.required_name("dimension"): column}
        scored = {name: (column, _number(cells, column)) for name, column in columns.items()}
        if "dimension" in cells.taken and (column, None) in scored.values():
            raise Unusable("score", "no score")
        by_name = cells.json("aspects")
        if isinstance(by_name, dict):
            scored |= {name: ("aspects", value) for name, value in by_name.items() if type(value) in {int, float}}
        return {name: score for name, score in scored.items() if score[1] is not None}


def _number(cells: Cells, column: str) -> Any:
    """Return the number, or another value, in a column; None if it is absent or stands for a missing value."""
    if column not in cells.values:
        return None
    number = replace(cells, taken={"score": column}).number("score")
    return None if is_missing(number) else number


def _are_numbers(rows: Sequence[Cells], column: str) -> bool:
    values = [number for cells in rows if (number := _number(cells, column)) is not None]
    return bool(values) and sum(type(value) in {int, float} for value in values) >= _ENOUGH * len(values)

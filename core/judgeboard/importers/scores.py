"""Reads the numbers of a row that are on a scale of their own, which no quality from 1 to 4 is."""

from judgeboard.domain import DimensionScore
from judgeboard.importers.cells import Cells, Unusable
from judgeboard.importers.json_text import json_kind
from judgeboard.importers.scales import NumberScale, scale_in

SCORE = "score"
"""The dimension of a number on a scale of its own that names none."""

_QUALITY = "1-4"


def own_scale(cells: Cells) -> NumberScale | None:
    """Return the scale that the row's numbers are on, None where it is that of quality.

    Raises:
        Unusable: What stands there describes no scale.
    """
    text = cells.text("scale")
    scale = None if text is None else scale_in("scale", text)
    return None if scale is None or str(scale) == _QUALITY else scale


def scores_in(cells: Cells, scale: NumberScale | None, field: str) -> tuple[DimensionScore, ...]:
    """Return the row's quality as a score on a scale of its own, and the numbers by name in ``field``.

    Raises:
        Unusable: A number without its scale, or outside of it.
    """
    given = cells.json(field)
    if given is not None and not isinstance(given, dict):
        raise Unusable(field, f"{json_kind(given)} where an object should be")
    if given and scale is None:
        raise Unusable("scale", f"{field} need their scale, written like 0-1")
    if scale is None:
        return ()
    named = [(field, name, value) for name, value in (given or {}).items()]
    if cells.get("quality") is not None:
        named.insert(0, ("quality", SCORE, cells.number("quality")))
    return tuple(
        DimensionScore(name, None if value is None else scale.checked(place, value), str(scale))
        for place, name, value in named
    )

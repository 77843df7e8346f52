"""Reads the numbers of a row that are on a scale of their own, which no quality from 1 to 4 is."""

from typing import Any

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

    Without ``field``, what the judge really said (``raw``) is read where it is nothing but numbers by name on the
    row's scale.

    Raises:
        Unusable: A number without its scale, or outside of it.
    """
    given = cells.json(field)
    if given is not None and not isinstance(given, dict):
        raise Unusable(field, f"{json_kind(given)} where an object should be")
    if given is None and scale is not None:
        given = _numbers_by_name(cells.get("raw"), scale)
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


def _numbers_by_name(raw: Any, scale: NumberScale) -> dict[str, Any] | None:
    if not isinstance(raw, dict):
        return None
    try:
        return {name: scale.checked("raw", value) for name, value in raw.items()}
    except Unusable:
        return None

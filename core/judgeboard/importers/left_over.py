"""Keeps what of a row is no field of ours, so that nothing of a log is lost."""

from typing import Any

from judgeboard.importers.cells import Cells, Unusable
from judgeboard.importers.json_text import json_kind


def metadata_in(cells: Cells, **more: Any) -> dict[str, Any]:
    """Return the row's metadata with every column that is no field, and with ``more`` where it is not None.

    Raises:
        Unusable: The metadata is no object.
    """
    given = cells.json("metadata")
    if given is not None and not isinstance(given, dict):
        raise Unusable("metadata", f"{json_kind(given)} where an object should be")
    metadata = dict(given or {})
    for name, value in {**{name: cells.values[name] for name in cells.extra}, **more}.items():
        if value is not None and not (cells.textual and value == ""):
            metadata[_free_key(metadata, name)] = value
    return metadata


def _free_key(metadata: dict[str, Any], name: str) -> str:
    while name in metadata:
        name += " (column)"
    return name

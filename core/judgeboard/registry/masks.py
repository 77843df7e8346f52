"""The way to the masks, which replace personal data in texts before anything is stored.

Whatever brings texts from outside calls `masked`. The folder of the masks is loaded by name when
the settings ask for masks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from judgeboard.registry.methods import KNOWN_ROOMS, load_object
from judgeboard.registry.plugins import Registry

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from judgeboard.domain import Response

T = TypeVar("T")
_ARE_HERE = "masks" in KNOWN_ROOMS


@dataclass(frozen=True, slots=True, order=True)
class MaskTotal:
    """How many different values of a kind each of some answers has, in sum, by one version of the masks."""

    kind: str
    version: str
    masked: int
    answers: int


def masks_in_force() -> Any:
    """Return the `Masks` that the settings ask for, None without masks."""
    from judgeboard.settings.model import load_settings  # pydantic is slow to load

    settings = load_settings()
    return (
        None if settings.masks is None else load_object("judgeboard.masks.rules:masks_of")(settings)
    )


def masked(value: T) -> T:
    """Return a text, a JSON value or a record as it may be stored: with personal data masked."""
    masks = masks_in_force()
    result: T = value if masks is None else masks.masked(value)
    return result


def count_masks(connection: "Connection", answers: "Mapping[int, Response]") -> None:
    """Store how many values are masked in answers that are stored now, by id."""
    masks = masks_in_force()
    if masks is not None:
        load_object("judgeboard.masks.counts:store_counts")(connection, masks, answers)


def mask_totals(connection: "Connection") -> list[MaskTotal]:
    """Return how many values are masked, by kind and version of the masks."""
    if not _ARE_HERE:
        return []
    totals: list[MaskTotal] = load_object("judgeboard.masks.counts:mask_totals")(connection)
    return totals


def mask_kinds() -> tuple[Registry[Any], ...]:
    """Return the table of the kinds of masks, with kinds of other packages; nothing if the masks were taken away."""
    return (load_object("judgeboard.masks.rules:MASKS"),) if _ARE_HERE else ()

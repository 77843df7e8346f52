"""Presets of a new queue: rules that leads often need."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from judgeboard.domain import QueueOrder


class Preset(NamedTuple):
    """Rules of a queue, and the words that describe them to leads."""

    words: str
    rules: Mapping[str, Any]


_BLIND = {"blind_people": True, "blind_judge": True, "order": QueueOrder.RANDOM}
PRESETS: dict[str, Preset] = {
    "random": Preset(
        "100 random answers, two reviewers, blind",
        {"flagged_only": False, "max_items": 100, "needed": 2, **_BLIND},
    ),
    "calibration": Preset(
        "30 random answers, three reviewers, blind",
        {"flagged_only": False, "max_items": 30, "needed": 3, **_BLIND},
    ),
    "worst": Preset("50 worst flagged answers, one reviewer", {"max_items": 50, "order": QueueOrder.SEVERITY}),
    "judges-differ": Preset(
        "50 answers on which judges differ most, two reviewers",
        {"flagged_only": False, "max_items": 50, "order": QueueOrder.DISAGREEMENT, "needed": 2, "blind_people": True},
    ),
}

"""The list of what workers do again and again beside judging, a line each."""

from functools import cache
from typing import Any

from judgeboard.registry.methods import load_object

DUTIES = (
    "judgeboard.tools.push:PUSHES",
    "judgeboard.alerts.events:ALERTS",
    "judgeboard.runs.retention:RETENTION",
)
"""The place of each `Duty`. Duties are loaded by name, because duties use packages above the workers."""


@cache
def duties() -> dict[str, Any]:
    """Return each `Duty` by the kind of the entries."""
    return {duty.kind: duty for duty in map(load_object, DUTIES)}

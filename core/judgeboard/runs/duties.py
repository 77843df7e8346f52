"""What workers do again and again beside judging: follow rules, and forget texts."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from sqlalchemy import Connection

from judgeboard.registry.methods import load_object
from judgeboard.store.engine import Store
from judgeboard.store.tables import RULES

DUTIES = (
    *(rules.duty for rules in RULES.values() if rules.duty is not None),
    "judgeboard.runs.retention:RETENTION",
)
"""The place of each `Duty`. Duties are loaded by name, because duties use packages above the workers."""


@dataclass(frozen=True, slots=True)
class Duty:
    """What workers do again and again beside judging, one worker at a time for each key.

    Args:
        kind: The kind of the duty's entries.
        due: Returns the keys that are due now, None if nothing is set up that could be due; called
            in the leading worker.
        do: Does one key for a worker (an executor id), and ends early when the event is set.
    """

    kind: str
    due: Callable[[Connection], list[str] | None]
    do: Callable[[Store, str, str, threading.Event], None]


@cache
def duties() -> dict[str, Duty]:
    """Return each `Duty` by the kind of the entries."""
    return {duty.kind: duty for duty in map(load_object, DUTIES)}

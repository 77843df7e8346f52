"""What a check says: its state, the figure it rests on, a sentence, and the command that measures it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from judgeboard.domain import Estimate
from judgeboard.stats.estimates import as_json, unmeasured


class State(StrEnum):
    """What a check came to; what could not be measured is never taken for sound."""

    OK = "ok"
    WARNING = "warning"
    NOT_MEASURED = "not_measured"


@dataclass(frozen=True, slots=True)
class Check:
    """One possible fault of a judge.

    Attributes:
        name: A key of ``CHECKS``.
        state: What it came to.
        statistic: The figure that decides, with its n and 95 % interval; undefined with its reason.
        sentence: What it says, for a person; commands in backquotes.
        command: What to type to measure it, or to look further; None where there is nothing to type.
        share: Whether the figure is a share, shown in percent.
        also: Further figures by name.
        response_ids: Answers that show it, the clearest first.
    """

    name: str
    state: State
    statistic: Estimate
    sentence: str
    command: str | None = None
    share: bool = False
    also: Mapping[str, Estimate] = field(default_factory=dict)
    response_ids: tuple[int, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values; ``also`` only where there is any."""
        shown: dict[str, Any] = {
            "name": self.name,
            "state": self.state.value,
            "statistic": as_json(self.statistic),
            "sentence": self.sentence,
            "command": self.command,
        }
        more = {name: as_json(estimate) for name, estimate in self.also.items()}
        return shown | {"also": more} if more else shown


def not_measured(name: str, why: str, command: str | None, n: int = 0) -> Check:
    """Return a check that could not be made: ``why`` as a sentence, and the command that would measure it."""
    return Check(name, State.NOT_MEASURED, unmeasured(n, why.rstrip(".")), why, command)


def state_of(*, warns: bool) -> State:
    """Return warning or ok."""
    return State.WARNING if warns else State.OK

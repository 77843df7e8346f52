"""What a check says: its state, the figure it rests on, a sentence, and the command that measures it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from judgeboard.domain import Estimate
from judgeboard.stats.estimates import unmeasured
from judgeboard.stats.words import interval, number_words

SMALL = 0.1
"""Below this two digits would hide whether an effect is there."""


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
        applies: Whether a judge of this kind can have the fault at all; where not, the state is ok and says nothing.
    """

    name: str
    state: State
    statistic: Estimate
    sentence: str
    command: str | None = None
    share: bool = False
    also: Mapping[str, Estimate] = field(default_factory=dict)
    response_ids: tuple[int, ...] = ()
    applies: bool = True


def not_measured(name: str, why: str, command: str | None, n: int = 0) -> Check:
    """Return a check that could not be made: ``why`` as a sentence, and the command that would measure it."""
    return Check(name, State.NOT_MEASURED, unmeasured(n, why.rstrip(".")), why, command)


def not_applicable(name: str, why: str, sentence: str, *, share: bool = False, n: int = 0) -> Check:
    """Return a check of a fault that a judge of this kind cannot have."""
    return Check(name, State.OK, unmeasured(n, why), f"Does not apply: {sentence}", share=share, applies=False)


def effect_words(estimate: Estimate) -> str:
    """Return a figure of a check with its interval: small ones with three digits, wherever they are said."""
    if estimate.value is None or abs(estimate.value) >= SMALL or interval(estimate) is None:
        return number_words(estimate)
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def state_of(*, warns: bool) -> State:
    """Return warning or ok."""
    return State.WARNING if warns else State.OK

"""Which ask of the same thing comes next: what is paid for once is not asked again unasked."""

from dataclasses import dataclass
from typing import Protocol


class EarlierAsk(Protocol):
    """The latest ask of one thing by one judge version."""

    @property
    def ask(self) -> int:
        """Its number, from 0."""
        ...

    @property
    def usable(self) -> bool:
        """Whether it, or one before it, gave a usable answer."""
        ...

    @property
    def run_id(self) -> int | None:
        """The run that made it; None of recorded ones."""
        ...


@dataclass(frozen=True, slots=True)
class Again:
    """That what failed is asked again; what the run ``run_id`` asked itself counts as done in it."""

    run_id: int | None = None

    def opens(self, run_id: int | None) -> bool:
        """Whether a step of this run that failed is to be asked again."""
        return self.run_id is None or run_id != self.run_id


def next_ask(earlier: EarlierAsk | None, again: Again | None) -> int | None:
    """Return the number of the next ask; None where there is nothing to ask.

    Args:
        earlier: The latest ask; None where there was none.
        again: Given where failed ones are to be asked again.
    """
    if earlier is None:
        return 0
    if again is None or earlier.usable or not again.opens(earlier.run_id):
        return None
    return earlier.ask + 1

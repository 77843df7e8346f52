"""What became of asks of a judge, by status."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from judgeboard.domain import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class AskCounts:
    """How many asks ended in which status; ``asked`` is always the sum of the four."""

    asked: int = field(init=False)
    ok: int = 0
    unparsable: int = 0
    refused: int = 0
    error: int = 0

    def __post_init__(self) -> None:
        """Count what was asked in all."""
        object.__setattr__(self, "asked", self.ok + self.unparsable + self.refused + self.error)

    @classmethod
    def of(cls, counts: Mapping[Any, int], **others: int) -> Self:
        """Return the counts by status; ``others`` are further fields."""
        return cls(**{status.value: counts.get(status, 0) for status in Status}, **others)

    @property
    def by_status(self) -> dict[str, int]:
        """The four counts by their status."""
        return {"ok": self.ok, "unparsable": self.unparsable, "refused": self.refused, "error": self.error}

    def words(self, asked: str = "asked") -> str:
        """Return the sum in words: "10 asked = 8 ok + 1 unparsable + 0 refused + 1 error"."""
        return f"{self.asked:,} {asked} = {' + '.join(f'{n:,} {status}' for status, n in self.by_status.items())}"

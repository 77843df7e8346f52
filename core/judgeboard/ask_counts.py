"""What became of asks of a judge, by status."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class AskCounts:
    """How many asks ended in which status; ok + unparsable + refused + error = asked, always."""

    ok: int = 0
    unparsable: int = 0
    refused: int = 0
    error: int = 0
    asked: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "asked", self.ok + self.unparsable + self.refused + self.error)

    @property
    def by_status(self) -> dict[str, int]:
        """The four counts by their status."""
        return {"ok": self.ok, "unparsable": self.unparsable, "refused": self.refused, "error": self.error}

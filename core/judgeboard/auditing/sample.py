"""Which judgments an audit looks at: a fixed share, drawn by what an answer is called."""

from dataclasses import dataclass, field
from typing import Any

from judgeboard.errors import BadInput
from judgeboard.filters import RowFilter
from judgeboard.flags.random_sample import draw
from judgeboard.store.audits.judgment_reviews import AuditedJudgment


@dataclass(frozen=True, slots=True)
class AuditSample:
    """A share (above 0, up to 1) of the answers that ``where`` means; equal seeds draw equal answers.

    A larger share of the same seed holds the smaller one, and a second run draws nothing more: the draw hangs on
    seed, source and outside id alone.

    Raises:
        BadInput: The share is outside its range.
    """

    share: float = 1.0
    seed: int = 0
    where: RowFilter = field(default_factory=RowFilter)

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise BadInput(f"--sample must lie above 0 and be at most 1, not {self.share:g}")

    def drawn(self, judgments: list[AuditedJudgment]) -> list[AuditedJudgment]:
        """Return those of the judgments that are drawn."""
        seed = str(self.seed)
        return [each for each in judgments if draw(seed, each.source, each.external_id) < self.share]

    def as_dict(self) -> dict[str, Any]:
        """Return what was asked for as JSON values."""
        return {"where": self.where.as_dict(), "sample": self.share, "seed": self.seed}

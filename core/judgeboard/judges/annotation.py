"""What a reader of an answer should be told of its groundedness."""

from dataclasses import dataclass
from enum import StrEnum

from judgeboard.domain import checked_groundedness

WARNING_LINE = "⚠️ Some content may go beyond available data"
DISCLAIMER_LINE = "❓ Insufficient data for this answer, use with caution"
FULL_FROM = 0.8
WARNING_FROM = 0.6


class Level(StrEnum):
    """How far an answer may be trusted; ``unmeasured`` is neither high nor low."""

    FULL = "full"
    WARNING = "warning"
    DISCLAIMER = "disclaimer"
    UNMEASURED = "unmeasured"


@dataclass(frozen=True, slots=True)
class Annotation:
    """An answer as it should be shown, and why."""

    text: str
    level: Level


def annotate(answer: str, groundedness: float | None) -> Annotation:
    """Put a line before ``answer`` that says how far it rests on its passages.

    From 0.8 the answer stays as it is, from 0.6 a warning comes first, below a disclaimer, each followed by a blank
    line. ``groundedness`` None (no usable judgment) changes nothing. Thresholds are compared after rounding to 1e-9.
    Source: "Self-Reflection + LLM-as-Judge: Having AI Evaluate Its Own Answers" (2026); the level and the blank line
    after the warning are ours.

    Raises:
        ValueError: ``groundedness`` is not a number from 0 to 1.
    """
    checked = checked_groundedness(groundedness)
    if checked is None:
        return Annotation(answer, Level.UNMEASURED)
    rounded = round(checked, 9)
    if rounded >= FULL_FROM:
        return Annotation(answer, Level.FULL)
    if rounded >= WARNING_FROM:
        return Annotation(f"{WARNING_LINE}\n\n{answer}", Level.WARNING)
    return Annotation(f"{DISCLAIMER_LINE}\n\n{answer}", Level.DISCLAIMER)

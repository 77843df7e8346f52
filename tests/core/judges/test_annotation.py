"""What a reader is told before an answer."""

import pytest

from judgeboard.judges.evidence_alignment import Level, annotate

WARNING = "⚠️ Some content may go beyond available data\n\nThe answer."
DISCLAIMER = "❓ Insufficient data for this answer, use with caution\n\nThe answer."


@pytest.mark.parametrize(
    ("groundedness", "text", "level"),
    [
        (1, "The answer.", Level.FULL),
        (0.8, "The answer.", Level.FULL),
        (0.1 + 0.7, "The answer.", Level.FULL),  # 0.7999999999999999 in floats
        (0.79, WARNING, Level.WARNING),
        (0.6, WARNING, Level.WARNING),
        (0.59, DISCLAIMER, Level.DISCLAIMER),
        (0, DISCLAIMER, Level.DISCLAIMER),
        (None, "The answer.", Level.UNMEASURED),
    ],
)
def test_annotation_by_groundedness(groundedness: float | None, text: str, level: Level) -> None:
    annotation = annotate("The answer.", groundedness)
    assert (annotation.text, annotation.level) == (text, level)


@pytest.mark.parametrize("value", [85, -0.1, True, float("nan")])
def test_what_is_no_groundedness_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="groundedness"):
        annotate("The answer.", value)

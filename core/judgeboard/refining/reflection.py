"""Self-reflection's rules: which answers are made anew, and which of the two is kept."""

from dataclasses import dataclass
from enum import StrEnum

from judgeboard.domain import Verdict, checked_quality
from judgeboard.errors import BadInput


class Outcome(StrEnum):
    """What came of making an answer anew; only ``kept_new`` puts another in the place of the original."""

    KEPT_NEW = "kept_new"
    KEPT_ORIGINAL = "kept_original"
    SECOND_FAILED = "second_failed"
    IDENTICAL = "identical"
    NO_ANSWER = "no_answer"


@dataclass(frozen=True, slots=True)
class ReflectRule:
    """Which answers are worth a second try.

    Source: "Self-Reflection + LLM-as-Judge: Having AI Evaluate Its Own Answers" (2026).

    Attributes:
        max_quality: Quality of at most this, 1 to 4.
        min_chars: Characters of at least this: a very short answer means that the context was empty.
        query_types: Of these types alone: for simple and SQL questions low quality is usually missing data.

    Raises:
        BadInput: One of them is out of its range.
    """

    max_quality: int = 2
    min_chars: int = 50
    query_types: tuple[str, ...] = ("complex",)

    def __post_init__(self) -> None:
        try:
            checked_quality(self.max_quality)
        except ValueError as error:
            raise BadInput(str(error)) from error
        if self.min_chars < 0:
            raise BadInput(f"an answer has 0 characters or more, not {self.min_chars}")
        object.__setattr__(self, "query_types", tuple(sorted(set(self.query_types))))

    def concerns(self, answer: str, query_type: str) -> bool:
        """Whether an answer is of a kind that is made anew, whatever its quality."""
        return len(answer) >= self.min_chars and query_type in self.query_types

    def wants_another(self, before: Verdict) -> bool:
        """Whether a verdict calls for another answer; one that leaves a score unmeasured does not."""
        measured = before.quality is not None and before.groundedness is not None
        return measured and before.quality is not None and before.quality <= self.max_quality


def is_same(original: str, new: str) -> bool:
    """Whether a new answer is the old one; white space around it does not count."""
    return original.strip() == new.strip()


def outcome_of(before: float | None, after: float | None) -> Outcome:
    """Return which of two answers is kept, by their groundedness: the new one only where it is strictly higher.

    Args:
        before: Of the original, by the same judge version.
        after: Of the new answer; None where its judgment failed, or left it unmeasured.
    """
    if after is None or before is None:
        return Outcome.SECOND_FAILED
    return Outcome.KEPT_NEW if after > before else Outcome.KEPT_ORIGINAL

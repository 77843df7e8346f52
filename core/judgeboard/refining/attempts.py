"""Attempts of self-refine: what each one came to, when they end, which answer is kept."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from judgeboard.domain import Status, StepRecord
from judgeboard.errors import BadInput
from judgeboard.judges.rating import Rated
from judgeboard.judges.rating_reply import Rating
from judgeboard.llm.generator import Generated

Keeping = Literal["last", "best"]


@dataclass(frozen=True, slots=True)
class Refinement:
    """One attempt: the answer and its rating, as far as they came; ``number`` counts from 1.

    ``answer`` is None where the call gave none; ``rating`` is None where it was not rated or not usably, and
    ``status`` and ``error`` say why.
    """

    number: int
    answer: str | None
    answering: StepRecord
    rating: Rating | None = None
    judging: StepRecord | None = None

    @classmethod
    def answered(cls, number: int, generated: Generated) -> "Refinement":
        """Return an attempt that was not rated yet."""
        return cls(number, generated.text, generated.record)

    def rated(self, said: Rated) -> "Refinement":
        """Return the attempt with what the judge said of it."""
        return replace(self, rating=said.rating, judging=said.record)

    @property
    def complete(self) -> bool:
        """Whether nothing of it is left to do: it is rated, or there is no answer to rate."""
        return self.answer is None or self.judging is not None

    @property
    def latest(self) -> StepRecord:
        """The step that came last: the rating, else the answer."""
        return self.judging or self.answering

    @property
    def status(self) -> Status:
        """What became of it; ok exactly where it has a rating."""
        return self.latest.status

    @property
    def error(self) -> str | None:
        """Why it has no rating."""
        return self.latest.error

    @property
    def feedback(self) -> str | None:
        """What the judge wants changed; None without a usable rating."""
        return None if self.rating is None else self.rating.feedback

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values; what is not there is null."""
        said = self.rating
        return {
            "rating": None if said is None else said.rating,
            "evaluation": None if said is None else said.evaluation,
            "feedback": None if said is None else said.feedback,
            "status": self.status.value,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class RefineRule:
    """When attempts end and which answer is kept.

    Source: Spring AI, "LLM-as-a-Judge with recursive advisors" (2025), whose example repeats 15 times; the default 3
    and ``keep`` are ours.

    Attributes:
        success_rating: An answer rated so, from 1 to 4, or better is returned.
        max_repeats: Further attempts after the first; the number of attempts is one more.
        keep: Where none was good enough: the ``last`` answer, or the ``best`` rated one (of equals the later).

    Raises:
        BadInput: One of them is out of its range.
    """

    success_rating: int = 4
    max_repeats: int = 3
    keep: Keeping = "last"

    def __post_init__(self) -> None:
        if self.success_rating not in {1, 2, 3, 4}:
            raise BadInput(f"the rating that is a success is one of 1, 2, 3, 4, not {self.success_rating!r}")
        if self.max_repeats < 0:
            raise BadInput(f"attempts are repeated 0 times or more, not {self.max_repeats}")
        if self.keep not in {"last", "best"}:
            raise BadInput(f"the last or the best answer is kept, not {self.keep!r}")

    def succeeds(self, rating: int | None) -> bool:
        """Whether an answer with this rating is good enough; one without a rating never is."""
        return rating is not None and rating >= self.success_rating

    def over(self, attempts: Sequence[Refinement]) -> bool:
        """Whether nothing is left to do: the last one passed, or was the last that is allowed."""
        if not attempts or not attempts[-1].complete:
            return False
        return self.passed(attempts) or len(attempts) > self.max_repeats

    def passed(self, attempts: Sequence[Refinement]) -> bool:
        """Whether the last attempt is good enough."""
        said = attempts[-1].rating if attempts else None
        return self.succeeds(None if said is None else said.rating)

    def kept(self, attempts: Sequence[Refinement]) -> Refinement | None:
        """Return the attempt whose answer is given out; None where no attempt gave an answer."""
        answered = [one for one in attempts if one.answer is not None]
        number = self.kept_number([(one.number, one.rating.rating if one.rating else None) for one in answered])
        return next((one for one in answered if one.number == number), None)

    def kept_number(self, rated: Sequence[tuple[int, int | None]]) -> int | None:
        """Return the number of the attempt that is given out, of (number, rating) of those with an answer, in order."""
        if not rated:
            return None
        if self.keep == "last" or self.succeeds(rated[-1][1]):
            return rated[-1][0]
        return max(rated, key=lambda one: (one[1] or 0, one[0]))[0]

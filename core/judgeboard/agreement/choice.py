"""What somebody asks of agreement: of whom, on what, held against whom, by which slices."""

from dataclasses import dataclass
from typing import Literal, get_args

from judgeboard.answer_pairs import GRADES
from judgeboard.errors import BadInput
from judgeboard.stats.both_orders import UNUSABLE_AS, UnusableAs
from judgeboard.stats.people import HUMANS, Human

Unit = Literal["responses", "pairs"]
UNITS: tuple[Unit, ...] = get_args(Unit)

Of = Literal["people", "judge", "judges", "repeats"]
OF: tuple[Of, ...] = get_args(Of)

By = Literal["query_type", "judge_version", "generator", "source", "time", "length", "rule"]
BY: tuple[By, ...] = get_args(By)

PREFERENCE = "preference"

_OF_PAIRS: frozenset[By] = frozenset({"query_type", "source", "judge_version"})


@dataclass(frozen=True, slots=True)
class AgreementChoice:
    """Whose agreement is measured, on what.

    ``judge_versions`` name one (``of`` judge and repeats) or several (judges); none means the one that is meant
    unasked, or all. For repeats a judge's bare name means all its versions together. ``grade`` None is the label of
    answers, which of two is better of pairs, and of repeats what they give most. ``epsilon`` asks for the alternative
    annotator test. With ``reviewer_id`` a judge is compared with this person alone.

    Raises:
        BadInput: A value is none of its field's, or fields that do not go together.
    """

    of: Of = "judge"
    judge_versions: tuple[int | str, ...] = ()
    unit: Unit = "responses"
    aspect: str | None = None
    grade: str | None = None
    human: Human = "gold"
    unusable: UnusableAs = "drop"
    by: By | None = None
    epsilon: float | None = None
    reviewer_id: int | None = None

    def __post_init__(self) -> None:
        _one_of("of", self.of, OF)
        _one_of("unit", self.unit, UNITS)
        _one_of("human", self.human, HUMANS)
        _one_of("unusable", self.unusable, UNUSABLE_AS)
        if self.by is not None:
            _one_of("by", self.by, BY)
        if self.unit == "responses":
            self._check_responses()
        else:
            self._check_pairs()
        if self.epsilon is not None and self.of != "judge":
            raise BadInput("the alternative annotator test asks whether a judge may stand in for a person: --of judge")
        if self.epsilon is not None and not 0 <= self.epsilon <= 1:
            raise BadInput(f"epsilon lies from 0 to 1, not {self.epsilon:g}")
        if self.reviewer_id is not None and (self.of != "judge" or self.unit != "responses"):
            raise BadInput("one person alone is compared with a judge, on answers")
        if self.by == "judge_version" and self.of != "judge":
            raise BadInput("judge versions are slices of a judge against people: --of judge")
        if self.by is not None and self.of == "repeats":
            raise BadInput("repeats are not sliced")
        if self.of in {"judge", "repeats"} and len(self.judge_versions) > 1:
            raise BadInput(f"--of {self.of} takes one judge version, --of judges several")

    @property
    def things(self) -> str:
        """What is rated, in the plural."""
        return "answers" if self.unit == "responses" else "pairs"

    def _check_responses(self) -> None:
        if self.aspect is not None:
            raise BadInput("an aspect is of pairs: --unit pairs")
        if self.unusable != "drop":
            raise BadInput("unusable verdicts on answers are unmeasured: --unusable is for --unit pairs")
        if self.grade == PREFERENCE:
            raise BadInput("a preference is of pairs: --unit pairs")

    def _check_pairs(self) -> None:
        if self.grade in GRADES:
            raise BadInput(f"a {self.grade} is of answers, not of pairs; pairs have a preference by --aspect")
        if self.by is not None and self.by not in _OF_PAIRS:
            raise BadInput(f"pairs have no {self.by}: slice them by {', '.join(sorted(_OF_PAIRS))}")


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise BadInput(f"{name} is one of {', '.join(known)}, not {value!r}")

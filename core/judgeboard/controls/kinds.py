"""The kinds of controls: what each changes, and what a sound judge makes of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from judgeboard.controls.hedges_removed import hedges_removed
from judgeboard.controls.numbers_changed import numbers_changed
from judgeboard.controls.other_answer import other_answer
from judgeboard.controls.passages_removed import passages_removed
from judgeboard.controls.passages_reordered import passages_reordered
from judgeboard.controls.text import AnswerText
from judgeboard.controls.truncated import truncated


class Effect(StrEnum):
    """What a control is: surely worse than its original, or as good."""

    KNOWN_BAD = "known_bad"
    NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class ControlKind:
    """One kind of control.

    Attributes:
        name: As it is written in commands and ids.
        words: What they are, for sentences: "answers that break off".
        effect: What a sound judge makes of it.
        change: The change of an answer, given another answer of the log; None where it does not apply.
        lowers: The score that a known-bad one must lower; None for a neutral one.
    """

    name: str
    words: str
    effect: Effect
    change: Callable[[AnswerText, AnswerText], AnswerText | None]
    lowers: str | None = None


def _alone(change: Callable[[AnswerText], AnswerText | None]) -> Callable[[AnswerText, AnswerText], AnswerText | None]:
    return lambda original, _donor: change(original)


_BAD, _NEUTRAL = Effect.KNOWN_BAD, Effect.NEUTRAL
CONTROLS: Mapping[str, ControlKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            ControlKind(
                "passages_removed",
                "answers whose passages were removed",
                _BAD,
                _alone(passages_removed),
                "groundedness",
            ),
            ControlKind("other_answer", "answers to another question", _BAD, other_answer, "quality"),
            ControlKind("truncated", "answers that break off", _BAD, _alone(truncated), "quality"),
            ControlKind(
                "numbers_changed", "answers whose numbers were changed", _BAD, _alone(numbers_changed), "groundedness"
            ),
            ControlKind(
                "passages_reordered",
                "answers whose passages come in reverse order",
                _NEUTRAL,
                _alone(passages_reordered),
            ),
            ControlKind("hedges_removed", "answers without their hedges", _NEUTRAL, _alone(hedges_removed)),
        )
    }
)
"""Name to kind; a new one is one file and one line here. Source of the list: "LLM-as-Judge", AI Engineering Patterns
(2026), as Judgeboard extends it."""

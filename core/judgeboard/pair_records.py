"""The value types of pairs: what is compared, and what people and judges elsewhere said of it; without I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from judgeboard.domain import Preference, Shown

OVERALL = "overall"
"""The aspect of a preference that names none."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to one question, before they are stored; without answers it is a question that was sampled.

    ``response_a``/``response_b`` are outside ids of logged responses that the answers were taken from. ``sides`` are
    the ids of two stored responses where these are themselves the answers: no copies are stored then.
    """

    source: str
    external_id: str
    question: str
    answer_a: str | None = None
    answer_b: str | None = None
    query_type: str = "unspecified"
    options: tuple[str, ...] | None = None
    reference: str | None = None
    model_a: str | None = None
    model_b: str | None = None
    response_a: str | None = None
    response_b: str | None = None
    gold: Preference | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    sides: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if (self.answer_a is None) != (self.answer_b is None):
            raise ValueError("a pair has two answers, or none where only samples were recorded")


@dataclass(frozen=True, slots=True)
class AspectPreference:
    """What a person says of a pair on one aspect: a side, a grade on a scale (above 0: B is better), or both."""

    preference: Preference | None = None
    value: float | None = None
    scale: str | None = None

    def __post_init__(self) -> None:
        if self.preference is None and self.value is None:
            raise ValueError("no preference: name a side, a tie or a grade")
        if (self.value is None) != (self.scale is None):
            raise ValueError("a grade needs its scale")


@dataclass(frozen=True, slots=True)
class GivenPreference:
    """A person's preference from a file: what they said by aspect, in which order the answers were ``shown``."""

    annotator: str
    aspects: Mapping[str, AspectPreference]
    shown: Shown | None = None
    note: str | None = None
    at: datetime | None = None

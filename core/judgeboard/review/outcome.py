"""What the reviews of one queue item come to: more are needed, they agree, or they split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from judgeboard.domain import Decision, ItemState, Stage

QUALITY_SPLIT = 2  # steps of quality, or of a rubric's dimension, from which two people differ
GROUNDEDNESS_SPLIT = 0.4
ALL_UNSURE = "all unsure"


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a review that stands says; ``decision`` is a Decision on an answer, a preference on a pair."""

    reviewer_id: int
    decision: str | None = None
    label: str | None = None
    quality: int | None = None
    groundedness: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    stage: Stage | None = None

    @property
    def counts(self) -> bool:
        """Whether it counts towards the reviews that an item needs: not where unsure, nor after the judge was seen."""
        return self.decision != Decision.UNSURE and self.stage not in {Stage.REVEALED, Stage.ADJUDICATION}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state that reviews make of an item, how many more it needs, and on what they differ."""

    state: ItemState
    more: int = 0
    differ_on: tuple[str, ...] = ()


def outcome(reviews: Sequence[Spoken], needed: int) -> Outcome:
    """Return what the standing reviews of an item that needs ``needed`` come to.

    An adjudication ends it. Where all are unsure, and as many as were needed, a lead decides; where some are, others
    are asked in their place.
    """
    if any(one.stage is Stage.ADJUDICATION for one in reviews):
        return Outcome(ItemState.ADJUDICATED, differ_on=differences(reviews))
    counted = [one for one in reviews if one.counts]
    unsure = sum(one.decision == Decision.UNSURE and one.stage is not Stage.REVEALED for one in reviews)
    if len(counted) >= needed:
        differ_on = differences(counted)
        return Outcome(ItemState.SPLIT if differ_on else ItemState.SETTLED, differ_on=differ_on)
    if not counted:
        if unsure >= needed:
            return Outcome(ItemState.SPLIT, differ_on=(ALL_UNSURE,))
        return Outcome(ItemState.OPEN, more=needed - unsure)
    return Outcome(ItemState.OPEN, more=needed - len(counted))


def differences(reviews: Sequence[Spoken]) -> tuple[str, ...]:
    """Return on what the reviews that count are too far apart: decision, label, quality, groundedness, dimensions."""
    counted = [one for one in reviews if one.counts]
    found = [
        name
        for name in ("decision", "label")
        if len({getattr(one, name) for one in counted if getattr(one, name) is not None}) > 1
    ]
    if _apart([one.quality for one in counted if one.quality is not None]) >= QUALITY_SPLIT:
        found.append("quality")
    if _apart([one.groundedness for one in counted if one.groundedness is not None]) >= GROUNDEDNESS_SPLIT:
        found.append("groundedness")
    dimensions = sorted({name for one in counted for name in one.scores})
    found += [
        name
        for name in dimensions
        if _apart([one.scores[name] for one in counted if name in one.scores]) >= QUALITY_SPLIT
    ]
    return tuple(found)


def _apart(values: Sequence[float]) -> float:
    """How far values lie apart, rounded as thresholds are compared: 0.9 - 0.5 is 0.4."""
    return round(max(values) - min(values), 9) if values else 0.0

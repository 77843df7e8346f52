"""What the reviews of a queue item come to, and the state of items and flags that follows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection

from judgeboard.domain import Decision, FlagState, ItemState, Stage
from judgeboard.store.queue_filling import follow_queues
from judgeboard.store.queue_items import (
    QueueItem,
    QueueReview,
    decided_state,
    flags_of,
    item_by_id,
    reviews_on,
    set_item_state,
    unfinished_beside,
)
from judgeboard.store.reviews import LockedFlag, lock_flag, newer_flag_is_open, set_flag_state

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
        return Outcome(ItemState.CONFLICT if differ_on else ItemState.AGREED, differ_on=differ_on)
    if not counted:
        if unsure >= needed:
            return Outcome(ItemState.CONFLICT, differ_on=(ALL_UNSURE,))
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


def update_flag_state(connection: Connection, flag: LockedFlag) -> FlagState:
    """Bring a flag to what was decided on it; where nothing decides it any more it waits again.

    A superseded flag stays so, and one that would wait beside a newer flag of its rule is superseded by that.
    """
    if flag.state is FlagState.SUPERSEDED:
        return flag.state
    state = decided_state(connection, flag.id)
    if state is None:
        waits = flag.state is FlagState.OPEN or not newer_flag_is_open(connection, flag)
        state = FlagState.OPEN if waits else FlagState.SUPERSEDED
    if state is not flag.state:
        set_flag_state(connection, flag.id, state)
    return state


def update_item_state(connection: Connection, item_id: int, now: datetime) -> Outcome:
    """Bring a locked item to what its reviews come to, with its unused places, then the flags it stands for."""
    item = item_by_id(connection, item_id)
    come_to = _outcome(connection, item)
    state = come_to.state
    if state is ItemState.OPEN and item.state is not ItemState.OPEN and unfinished_beside(connection, item):
        state = ItemState.LEFT  # a later flag brought the same answer in anew: it waits there
    set_item_state(connection, item, state, now, places=come_to.more if state is ItemState.OPEN else 0)
    if item.repeat_for is None and item.response_id is not None:
        for flag_id in sorted(flags_of(connection, [item_id])[item_id]):
            update_flag_state(connection, lock_flag(connection, flag_id))
        follow_queues(connection, [item.response_id], now)
    return come_to


def spoken(word: QueueReview) -> Spoken:
    """Return a stored word as what the rules of splitting read."""
    return Spoken(word.reviewer_id, word.decision, word.label, word.quality, word.groundedness, word.scores, word.stage)


def _outcome(connection: Connection, item: QueueItem) -> Outcome:
    return outcome([spoken(review) for review in reviews_on(connection, item.id)], item.reviews_needed)

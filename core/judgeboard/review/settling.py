"""Brings items and flags to the state that the reviews which stand make of them."""

from datetime import datetime

from sqlalchemy import Connection

from judgeboard.domain import FlagState, ItemState
from judgeboard.review.outcome import Outcome, Spoken, outcome
from judgeboard.store.queues.flag_states import decided_state
from judgeboard.store.queues.item_reviews import QueueReview, reviews_on
from judgeboard.store.queues.item_rows import (
    QueueItem,
    flags_of,
    item_by_id,
    set_item_state,
    unfinished_beside,
)
from judgeboard.store.queues.joining import follow_queues
from judgeboard.store.reviews.reviews import LockedFlag, lock_flag, newer_flag_is_open, set_flag_state


def settle_flag(connection: Connection, flag: LockedFlag) -> FlagState:
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


def settle_item(connection: Connection, item_id: int, now: datetime) -> Outcome:
    """Bring a locked item to what its reviews come to, with its unused places, then the flags it stands for."""
    item = item_by_id(connection, item_id)
    come_to = _outcome(connection, item)
    state = come_to.state
    if state is ItemState.OPEN and item.state is not ItemState.OPEN and unfinished_beside(connection, item):
        state = ItemState.LEFT  # a later flag brought the same answer in anew: it waits there
    set_item_state(connection, item, state, now, places=come_to.more if state is ItemState.OPEN else 0)
    if item.again_for is None and item.response_id is not None:
        for flag_id in sorted(flags_of(connection, [item_id])[item_id]):
            settle_flag(connection, lock_flag(connection, flag_id))
        follow_queues(connection, [item.response_id], now)
    return come_to


def spoken(word: QueueReview) -> Spoken:
    """Return a stored word as what the rules of splitting read."""
    return Spoken(word.reviewer_id, word.decision, word.label, word.quality, word.groundedness, word.scores, word.stage)


def _outcome(connection: Connection, item: QueueItem) -> Outcome:
    return outcome([spoken(review) for review in reviews_on(connection, item.id)], item.reviews_needed)

"""What follows a preference in a queue: the rest is shown to its author, or they take it back."""

from dataclasses import dataclass
from datetime import UTC, datetime

from judgeboard.domain import ItemState
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.people import Action, allowed
from judgeboard.review.checks import checked_key
from judgeboard.review.settling import settle_item
from judgeboard.review.undoing import UNDO_HOLDS
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.pairs.desk_preferences import (
    has_replacement,
    lock_pair,
    preference_by_id,
    row_by_key,
)
from judgeboard.store.pairs.preferences import insert_preferences
from judgeboard.store.queues.item_rows import item_by_id, lock_item
from judgeboard.store.queues.leases import JUDGE, PEOPLE, hand_back_pair, lease_of, note_reveal
from judgeboard.store.queues.queue_rows import queue_by_id
from judgeboard.store.reviews.reviewers import Reviewer


@dataclass(frozen=True, slots=True)
class UndonePair:
    """A preference taken back, and the state it left its item in."""

    pair_id: int
    item_id: int
    state: ItemState


def reveal_pair(store: Store, preference_id: int, *, reviewer: Reviewer, now: datetime | None = None) -> None:
    """Note that the author of a blind preference in a queue is shown models, gold, judge and others from now on.

    Raises:
        DecisionRefused: It is somebody else's, not blind, taken back, or its queue keeps the rest hidden.
        NotAllowed: No admin lets this person review.
    """
    at = now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        said = preference_by_id(connection, preference_id)
        own = said is not None and said.reviewer_id == reviewer.id and said.blind
        if said is None or not own or said.queue_item_id is None:
            raise DecisionRefused(
                "Only a blind preference of your own in a queue can be followed by a look at the rest."
            )
        if not queue_by_id(connection, item_by_id(connection, said.queue_item_id).queue_id).reveal:
            raise DecisionRefused("This queue keeps hidden what others and the judge said.")
        lease = lease_of(connection, said.queue_item_id, reviewer.id)
        if lease is None or lease.preference_id != preference_id:
            raise DecisionRefused("This preference was taken back.")
        if lease.revealed_at is None:
            note_reveal(connection, lease.id, at)
            details = {"preference": preference_id, "item": said.queue_item_id}
            record_event(connection, "reveal", reviewer.name, details=details, now=at)


def undo_pair(
    store: Store, preference_id: int, *, reviewer: Reviewer, request_key: str, now: datetime | None = None
) -> UndonePair:
    """Take back a preference that somebody gave in a queue; the item is theirs again for a while.

    What had been revealed to them after it stays known: their next word on the pair is not blind.

    Raises:
        DecisionRefused: It is somebody else's, or does not stand any more.
        NotAllowed: No admin lets this person review.
        NotFound: No such preference in a queue.
        BadInput: The request key cannot be used.
    """
    key, at = checked_key(request_key), now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        said = preference_by_id(connection, preference_id)
        if said is None or said.queue_item_id is None:
            raise NotFound(f"no preference {preference_id} in a queue")
        lock_pair(connection, said.pair_id)
        item = lock_item(connection, said.queue_item_id)
        if said.reviewer_id != reviewer.id:
            raise DecisionRefused("This is somebody else's preference: only they can take it back.")
        known = row_by_key(connection, key)
        if known is not None:
            if known[1] != preference_id:
                raise BadInput("this request key belongs to another preference: every press needs its own")
            return UndonePair(said.pair_id, item.id, item.state)
        if has_replacement(connection, preference_id):
            raise DecisionRefused("This is undone already.")
        lease = lease_of(connection, item.id, reviewer.id)
        revealed = lease is not None and lease.revealed_at is not None
        row = {
            "pair_id": said.pair_id,
            "reviewer_id": reviewer.id,
            "blind": said.blind,
            "withdrawn": True,
            "replaces": preference_id,
            "request_key": key,
            "at": at,
            "queue_item_id": item.id,
            "seen": [JUDGE, PEOPLE] if revealed else None,
        }
        (withdrawal,) = insert_preferences(connection, [row], [{}])
        if lease is not None and lease.preference_id == preference_id:
            hand_back_pair(connection, lease.id, until=at + UNDO_HOLDS)
        state = settle_item(connection, item.id, at).state
        details = {"preference": withdrawal, "undone": preference_id, "item": item.id}
        record_event(connection, "undo_pair", reviewer.name, details=details, now=at)
        return UndonePair(said.pair_id, item.id, state)

"""Stores which answer of a pair a reviewer finds better, from the place at the item that they hold."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Grade, ItemState, Preference, Stage
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.pair_records import OVERALL, AspectPreference
from judgeboard.pairs.preferring import checked_note, order_for, stored_side
from judgeboard.people import Action, allowed
from judgeboard.queues.refusing import refusal
from judgeboard.queues.tokens import split_token
from judgeboard.review.checks import checked_key, checked_seconds
from judgeboard.review.sentences import kept
from judgeboard.review.settling import settle_item
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.pairs.desk_preferences import (
    DeskPreference,
    lock_pair,
    preference_by_key,
    row_by_key,
    saw_the_rest,
)
from judgeboard.store.pairs.preferences import insert_preferences
from judgeboard.store.queues.item_rows import QueueItem, item_by_id, lock_item
from judgeboard.store.queues.leases import JUDGE, PEOPLE, lease_by_token, use_place
from judgeboard.store.queues.queue_rows import Queue, queue_by_id
from judgeboard.store.reviews.reviewers import Reviewer


@dataclass(frozen=True, slots=True)
class DecidedPair:
    """A stored preference on an item, and the state it left it in; ``repeated`` when the same request had stored it.

    ``reveal`` says that what was hidden may be shown now (`reveal_pair`).
    """

    preference_id: int
    item_id: int
    lease_id: int
    state: ItemState
    reveal: bool
    repeated: bool


def decide_pair(
    store: Store,
    token: str,
    *,
    reviewer: Reviewer,
    preference: Preference,
    note: str | None = None,
    seconds: float | None = None,
    request_key: str,
    now: datetime | None = None,
) -> DecidedPair:
    """Store which answer of the pair that a reviewer holds by ``token`` they find better, on the whole.

    The pair was shown in the order of `order_for`; ``preference`` is in terms of the stored answers
    (`preference_at` translates a side). It is blind, unless gold, models, others or a judge had been revealed to them
    on this pair before.

    Raises:
        DecisionRefused: The item is not held by that token any more, or its queue is closed. A note that came with it
            is kept.
        NotAllowed: No admin lets this person review.
        NotFound: No such item.
        BadInput: The item is an answer, or the note or the request key cannot be used.
    """
    key, spent, why = checked_key(request_key), checked_seconds(seconds), checked_note(note)
    at = now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        item_id, secret = split_token(token)
        pair_id = _pair_of(item_by_id(connection, item_id))
        lock_pair(connection, pair_id)
        item = lock_item(connection, item_id)
        queue, lease = queue_by_id(connection, item.queue_id), lease_by_token(connection, secret, lock=True)
        stored = preference_by_key(connection, key)
        if stored is not None:
            check_same_preference(stored, reviewer, same=(stored.pair_id, stored.preference) == (pair_id, preference))
            lease_id = 0 if lease is None else lease.id
            return DecidedPair(stored.id, item_id, lease_id, item.state, queue.reveal and stored.blind, repeated=True)
        seen = (JUDGE, PEOPLE) if saw_the_rest(connection, pair_id, reviewer.id) else ()
        row = {
            "pair_id": pair_id,
            "reviewer_id": reviewer.id,
            "shown": order_for(pair_id, reviewer.id).value,
            "blind": not seen,
            "note": why,
            "seconds": spent,
            "request_key": key,
            "at": at,
            "queue_item_id": item_id,
            "stage": None if seen else Stage.BLIND.value,
            "seen": list(seen),
        }
        refused = refusal(connection, lease, item, queue, reviewer, at)
        if lease is not None and refused is None:
            (preference_id,) = insert_preferences(connection, [row], [{OVERALL: AspectPreference(preference)}])
            use_place(connection, lease.id, preference_id=preference_id)
            state = settle_item(connection, item_id, at).state
            _record(connection, "decide_pair", preference_id, item, queue, reviewer, at)
            return DecidedPair(preference_id, item_id, lease.id, state, queue.reveal and not seen, repeated=False)
        message = f"{refused}{_keep_draft(connection, row, item, queue, reviewer)}"
    raise DecisionRefused(message)  # after the commit: the note stays


def preference_at(store: Store, token: str, reviewer: Reviewer, side: str) -> Preference:
    """Return which stored answer stands at a side (left, tie, right) of the pair that a token is for.

    Raises:
        NotFound: No such item.
        BadInput: It is no token, or its item is an answer.
    """
    with store.reading() as connection:
        pair_id = _pair_of(item_by_id(connection, split_token(token)[0]))
    return stored_side(side, order_for(pair_id, reviewer.id))


def check_same_preference(stored: DeskPreference, reviewer: Reviewer, *, same: bool) -> None:
    """Refuse a request key that wrote something else before.

    Raises:
        BadInput: It did.
    """
    if not same or stored.reviewer_id != reviewer.id:
        raise BadInput("this request key belongs to another preference: every press needs its own")


def _pair_of(item: QueueItem) -> int:
    if item.pair_id is None:
        raise BadInput("this item is an answer: confirm it, dismiss it, or say that you are unsure")
    return item.pair_id


def _keep_draft(
    connection: Connection, refused: dict[str, Any], item: QueueItem, queue: Queue, reviewer: Reviewer
) -> str:
    """Store the note of a refused decision as a row that prefers nothing."""
    if refused["note"] is None:
        return ""
    key = f"{refused['request_key']}:kept"
    if row_by_key(connection, key) is None:
        draft = refused | {"queue_item_id": None, "request_key": key}
        (draft_id,) = insert_preferences(connection, [draft], [{}])
        _record(connection, "keep_draft", draft_id, item, queue, reviewer, refused["at"])
    return kept(Grade(note=refused["note"]))


def _record(
    connection: Connection,
    kind: str,
    preference_id: int,
    item: QueueItem,
    queue: Queue,
    reviewer: Reviewer,
    now: datetime,
) -> None:
    details = {"preference": preference_id, "queue": queue.name, "item": item.id, "pair": item.pair_id}
    record_event(connection, kind, reviewer.name, details=details, now=now)

"""Makes queues, closes them, gives them to people: what leads do."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from judgeboard.domain import QueueState
from judgeboard.errors import BadInput
from judgeboard.people import Action, Actor, actor_name, allowed
from judgeboard.queues.asked_for import check_flags
from judgeboard.queues.rules import QueueRules
from judgeboard.review.settling import settle_flag
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.queues.item_rows import decided_flags_in
from judgeboard.store.queues.joining import Joined, fill_queue
from judgeboard.store.queues.pair_items import fill_with_pairs
from judgeboard.store.queues.queue_rows import (
    PAIRS,
    Queue,
    assign,
    find_queue,
    insert_queue,
    queue_by_id,
    queue_named,
    set_queue_state,
    unassign,
)
from judgeboard.store.reviews.reviewers import Reviewer
from judgeboard.store.reviews.reviews import lock_flag


@dataclass(frozen=True, slots=True)
class Made:
    """A new queue, how many answers joined it, how many of them were drawn, how many could not be."""

    queue: Queue
    joined: int
    sampled: int
    short: int


def create_queue(
    store: Store,
    rules: QueueRules,
    *,
    by: Actor,
    assigned: Sequence[Reviewer] = (),
    now: datetime | None = None,
) -> Made:
    """Make a queue and take in everything that it is for.

    Args:
        store: The open database.
        rules: What it holds and how it is reviewed.
        by: Who makes it; a lead.
        assigned: To whom it is given; nobody: everybody may take from it.
        now: When; the present by default.

    Raises:
        NotAllowed: Only leads make queues.
        BadInput: There is a queue of this name, or no flag can ever match it.
    """
    at = now or datetime.now(UTC)
    with allowed(store, by, Action.MAKE_QUEUES) as connection:
        if find_queue(connection, rules.name) is not None:
            raise BadInput(f"there is a queue {rules.name!r} already: choose another name")
        if rules.subject != PAIRS:
            check_flags(connection, rules.where)
        row = rules.as_row() | {"state": QueueState.OPEN.value, "made_by": actor_name(by), "created_at": at}
        queue = queue_by_id(connection, insert_queue(connection, row))
        assign(connection, queue.id, [one.id for one in assigned])
        filled = fill_with_pairs(connection, queue, at) if queue.subject == PAIRS else fill_queue(connection, queue, at)
        details = {
            "queue": queue.name,
            "items": filled.joined + filled.sampled,
            "given_to": [one.id for one in assigned],
        }
        record_event(connection, "make_queue", actor_name(by), details=details, now=at)
        return _made(queue, filled)


def close_queue(store: Store, name: str, *, by: Actor, now: datetime | None = None) -> Queue:
    """Close a queue: it hands out nothing more, and flags that only it kept open follow what was decided on them.

    What was said in it stands. A closed queue stays closed.

    Raises:
        NotAllowed: Only leads close queues.
        NotFound: No such queue.
    """
    at = now or datetime.now(UTC)
    with allowed(store, by, Action.MAKE_QUEUES) as connection:
        queue = queue_named(connection, name)
        if queue.state is QueueState.CLOSED:
            return queue
        decided = decided_flags_in(connection, queue.id)
        set_queue_state(connection, queue.id, QueueState.CLOSED)
        for flag_id in decided:
            settle_flag(connection, lock_flag(connection, flag_id))
        details = {"queue": queue.name, "flags": len(decided)}
        record_event(connection, "close_queue", actor_name(by), details=details, now=at)
        return queue_by_id(connection, queue.id)


def assign_queue(
    store: Store,
    name: str,
    *,
    by: Actor,
    add: Sequence[Reviewer] = (),
    remove: Sequence[Reviewer] = (),
    now: datetime | None = None,
) -> Queue:
    """Give a queue to people, take others off it.

    Raises:
        NotAllowed: Only leads assign.
        NotFound: No such queue.
        BadInput: It is closed.
    """
    at = now or datetime.now(UTC)
    with allowed(store, by, Action.ASSIGN) as connection:
        queue = queue_named(connection, name)
        check_open(queue)
        assign(connection, queue.id, [one.id for one in add])
        unassign(connection, queue.id, [one.id for one in remove])
        details = {"queue": queue.name, "given_to": [one.id for one in add], "taken_from": [one.id for one in remove]}
        record_event(connection, "assign_queue", actor_name(by), details=details, now=at)
        return queue


def check_open(queue: Queue) -> None:
    """Refuse what needs an open queue.

    Raises:
        BadInput: It is closed.
    """
    if queue.state is QueueState.CLOSED:
        raise BadInput(f"the queue {queue.name!r} is closed")


def _made(queue: Queue, filled: Joined) -> Made:
    return Made(queue, filled.joined + filled.sampled, filled.sampled, filled.short)

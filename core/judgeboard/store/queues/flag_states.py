"""The state of a flag as reviews and queues make it: open while any queue still needs a review of its answer."""

from collections.abc import Collection

from sqlalchemy import Connection, exists, select

from judgeboard.domain import Decision, FlagState, ItemState, QueueState, Stage
from judgeboard.store.queues.item_rows import ITEM, LINK, UNFINISHED
from judgeboard.store.queues.queue_rows import QUEUE
from judgeboard.store.reviews.reviews import FLAG, STATE_AFTER, set_flag_state
from judgeboard.store.reviews.standing import REVIEW, standing


def holding_queues(connection: Connection, flag_id: int) -> list[str]:
    """Return the names of the open queues in which an item keeps a flag open."""
    query = (
        select(QUEUE.c.name)
        .join(ITEM, ITEM.c.queue_id == QUEUE.c.id)
        .join(LINK, LINK.c.queue_item_id == ITEM.c.id)
        .where(LINK.c.flag_id == flag_id, QUEUE.c.state == QueueState.OPEN.value, ITEM.c.state.in_(UNFINISHED))
        .order_by(QUEUE.c.name)
    )
    return list(dict.fromkeys(connection.execute(query).scalars()))


def decided_state(connection: Connection, flag_id: int) -> FlagState | None:
    """Return what the reviews that count make of a flag, None where nothing decides it yet.

    While a queue needs more, nothing does. Else the latest of: a decision on the flag outside any queue, the word
    with which the reviews of a settled item agreed, an adjudication. What somebody said after the judge was revealed
    to them does not count.
    """
    if holding_queues(connection, flag_id):
        return None
    in_queue = exists().where(
        LINK.c.flag_id == flag_id,
        LINK.c.queue_item_id == REVIEW.c.queue_item_id,
        ITEM.c.id == REVIEW.c.queue_item_id,
        ITEM.c.again_for.is_(None),
        ITEM.c.state.in_((ItemState.SETTLED.value, ItemState.ADJUDICATED.value)),
        (ITEM.c.state == ItemState.SETTLED.value) | (REVIEW.c.stage == Stage.ADJUDICATION.value),
    )
    outside = (REVIEW.c.flag_id == flag_id) & REVIEW.c.queue_item_id.is_(None)
    response = select(FLAG.c.response_id).where(FLAG.c.id == flag_id).scalar_subquery()
    query = (
        select(REVIEW.c.decision)
        .where(
            REVIEW.c.response_id == response,
            REVIEW.c.decision.in_(tuple(STATE_AFTER)),
            REVIEW.c.stage.is_distinct_from(Stage.REVEALED.value),
            outside | in_queue,
            standing(),
        )
        .order_by(REVIEW.c.id.desc())
        .limit(1)
    )
    said = connection.execute(query).scalar_one_or_none()
    return None if said is None else STATE_AFTER[Decision(said)]


def close_flags(connection: Connection, flag_ids: Collection[int]) -> None:
    """Bring open flags that a queue holds no more to what was decided on them meanwhile."""
    query = select(FLAG.c.id).where(FLAG.c.id.in_(flag_ids), FLAG.c.state == FlagState.OPEN.value)
    for flag_id in connection.execute(query.order_by(FLAG.c.id)).scalars().all():
        state = decided_state(connection, flag_id)
        if state is not None:
            set_flag_state(connection, flag_id, state)

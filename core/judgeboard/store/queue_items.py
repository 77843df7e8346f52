"""Queue items, the flags that they keep open, their standing reviews, and what their reviewers had seen before."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, exists, func, insert, select, update

from judgeboard.domain import OVERALL, Decision, FlagState, ItemState, QueueState, Stage
from judgeboard.errors import NotFound
from judgeboard.store.leases import JUDGE, PEOPLE, fit_leases, insert_leases, move_leases, seen_since
from judgeboard.store.method_tables import PREFERENCE_SCORE
from judgeboard.store.queue_tables import LEASE, QUEUE, QUEUE_ITEM, QUEUE_ITEM_FLAG
from judgeboard.store.queues import ASSIGNMENT
from judgeboard.store.reviews import SCORE, STATE_AFTER, StoredReview, review_by_id, set_flag_state, standing
from judgeboard.store.row_filter import by_index, with_hidden_rows
from judgeboard.store.statements import batches, insert_or_skip
from judgeboard.store.tables import FLAG, RESPONSE, REVIEW, REVIEWER

ITEM = QUEUE_ITEM
LINK = QUEUE_ITEM_FLAG

UNFINISHED = (ItemState.OPEN.value, ItemState.SPLIT.value)


@dataclass(frozen=True, slots=True)
class QueueItem:
    """An answer (or a pair) in a queue, as stored."""

    id: int
    queue_id: int
    response_id: int | None
    pair_id: int | None
    reviews_needed: int
    position: float
    sampled: bool
    again_for: int | None
    state: ItemState


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item to be stored, with the flags it stands for."""

    position: float
    reviews_needed: int = 1
    response_id: int | None = None
    pair_id: int | None = None
    flag_ids: tuple[int, ...] = ()
    sampled: bool = False
    again_for: int | None = None


_COLUMNS = tuple(ITEM.c[name] for name in QueueItem.__dataclass_fields__)


def insert_items(connection: Connection, queue_id: int, items: Sequence[NewItem], now: datetime) -> list[int]:
    """Store items with their flags and a place for each review they need; return their ids in order."""
    ids: list[int] = []
    for some in batches(items):
        rows = [
            {
                "queue_id": queue_id,
                "response_id": item.response_id,
                "pair_id": item.pair_id,
                "reviews_needed": item.reviews_needed,
                "position": item.position,
                "sampled": item.sampled,
                "again_for": item.again_for,
                "state": ItemState.OPEN.value,
                "joined_at": now,
            }
            for item in some
        ]
        returning = insert(ITEM).returning(ITEM.c.id, sort_by_parameter_order=True)
        stored = list(connection.execute(returning, rows).scalars())
        insert_leases(connection, [row | {"id": id_} for id_, row in zip(stored, rows, strict=True)])
        link_flags(connection, {id_: item.flag_ids for id_, item in zip(stored, some, strict=True)})
        ids += stored
    return ids


def link_flags(connection: Connection, flags: dict[int, tuple[int, ...]]) -> None:
    """Let items (by id) stand for flags, as well as for those they stood for."""
    rows = [{"queue_item_id": item, "flag_id": flag} for item, ids in flags.items() for flag in ids]
    if rows:
        connection.execute(insert_or_skip(connection, LINK, "queue_item_id", "flag_id"), rows)


def unlink_flags(connection: Connection, item_id: int, flag_ids: Collection[int]) -> None:
    """Let an item stand for these flags no more."""
    connection.execute(delete(LINK).where(LINK.c.queue_item_id == item_id, LINK.c.flag_id.in_(flag_ids)))


def flags_of(connection: Connection, item_ids: Collection[int]) -> dict[int, set[int]]:
    """Return the flags that each of these items stands for."""
    found: dict[int, set[int]] = {id_: set() for id_ in item_ids}
    for item_id, flag_id in connection.execute(
        select(LINK.c.queue_item_id, LINK.c.flag_id).where(LINK.c.queue_item_id.in_(item_ids))
    ):
        found[item_id].add(flag_id)
    return found


def decided_flags_in(connection: Connection, queue_id: int) -> list[int]:
    """Return the flags that waiting items of a queue stand for and somebody decided all the same, answer by answer.

    Answers are locked in the order of their ids wherever several are.
    """
    decided = exists().where(REVIEW.c.response_id == ITEM.c.response_id, REVIEW.c.decision.is_not(None))
    query = (
        select(LINK.c.flag_id)
        .join(ITEM, ITEM.c.id == LINK.c.queue_item_id)
        .where(ITEM.c.queue_id == queue_id, ITEM.c.state.in_(UNFINISHED), decided)
        .order_by(ITEM.c.response_id, LINK.c.flag_id)
    )
    return list(connection.execute(query).scalars())


def lock_item(connection: Connection, item_id: int) -> QueueItem:
    """Read an item and hold it; its response or pair comes first, as where judgments are stored.

    Raises:
        NotFound: No such item.
    """
    row = connection.execute(select(*_COLUMNS).where(ITEM.c.id == item_id).with_for_update()).one_or_none()
    if row is None:
        raise NotFound(f"no queue item {item_id}")
    return _item(row)


def item_by_id(connection: Connection, item_id: int) -> QueueItem:
    """Return an item.

    Raises:
        NotFound: No such item.
    """
    row = connection.execute(select(*_COLUMNS).where(ITEM.c.id == item_id)).one_or_none()
    if row is None:
        raise NotFound(f"no queue item {item_id}")
    return _item(row)


def unfinished_items(connection: Connection, queue_id: int, response_ids: Collection[int]) -> dict[int, QueueItem]:
    """Return the items of these answers in a queue that wait, else those that left last, by answer."""
    waiting = (
        select(*_COLUMNS)
        .where(
            ITEM.c.queue_id == queue_id,
            ITEM.c.response_id.in_(response_ids),
            ITEM.c.again_for.is_(None),
            ITEM.c.state.in_((*UNFINISHED, ItemState.LEFT.value)),
        )
        .order_by(ITEM.c.state.in_(UNFINISHED), ITEM.c.id)
    )
    query = by_index(waiting, ITEM, "ix_queue_item_of_response")  # by itself SQLite reads all that wait
    return {row.response_id: _item(row) for row in connection.execute(query)}


def waiting_items_on(connection: Connection, subject: ColumnElement[bool]) -> list[QueueItem]:
    """Return the items on these answers or pairs that wait, in any queue, served again or not."""
    query = select(*_COLUMNS).where(subject, ITEM.c.state.in_(UNFINISHED)).order_by(ITEM.c.id)
    return [_item(row) for row in connection.execute(query)]


def finished_flags(connection: Connection, queue_id: int, response_ids: Collection[int]) -> set[int]:
    """Return the flags for which these answers were in a queue and are done there."""
    done = (
        select(LINK.c.flag_id)
        .join(ITEM, ITEM.c.id == LINK.c.queue_item_id)
        .where(
            ITEM.c.queue_id == queue_id,
            ITEM.c.response_id.in_(response_ids),
            ITEM.c.state.in_((ItemState.SETTLED.value, ItemState.ADJUDICATED.value)),
        )
    )
    query = by_index(done, ITEM, "ix_queue_item_of_response")  # by itself SQLite reads all that is done
    return set(connection.execute(query).scalars())


def touched_items(connection: Connection, item_ids: Collection[int], now: datetime) -> set[int]:
    """Return those of these items that somebody holds or reviewed."""
    held = LEASE.c.done.is_(True) | (LEASE.c.until > now)
    query = select(LEASE.c.queue_item_id).where(LEASE.c.queue_item_id.in_(item_ids), held)
    return set(connection.execute(query).scalars())


def set_item_state(
    connection: Connection, item: QueueItem, state: ItemState, now: datetime, *, places: int = 0
) -> None:
    """Store what has become of an item, and bring its unused places to as many as it still needs reviews."""
    if state is not item.state:
        connection.execute(update(ITEM).where(ITEM.c.id == item.id).values(state=state.value))
    fit_leases(connection, asdict(item), places, now)


def move_item(connection: Connection, item_id: int, position: float) -> None:
    """Put an item elsewhere in the order."""
    connection.execute(update(ITEM).where(ITEM.c.id == item_id).values(position=position))
    move_leases(connection, item_id, position)


def unfinished_beside(connection: Connection, item: QueueItem) -> bool:
    """Whether the same answer or pair waits in the same queue as another item; not beside what is served again."""
    if item.again_for is not None:
        return False
    other = exists().where(
        ITEM.c.queue_id == item.queue_id,
        ITEM.c.id != item.id,
        ITEM.c.response_id.is_not_distinct_from(item.response_id),
        ITEM.c.pair_id.is_not_distinct_from(item.pair_id),
        ITEM.c.again_for.is_(None),
        ITEM.c.state.in_(UNFINISHED),
    )
    return bool(connection.execute(select(other)).scalar())


def _item(row: Row[Any]) -> QueueItem:
    values = dict(zip(row._fields, row, strict=True))
    return QueueItem(**values | {"state": ItemState(values["state"])})


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


@dataclass(frozen=True, slots=True)
class QueueReview:
    """One person's standing review of an item; ``decision`` is a preference where the item is a pair."""

    id: int
    reviewer_id: int
    reviewer: str
    stage: Stage | None
    decision: str | None
    label: str | None
    groundedness: float | None
    quality: int | None
    scores: dict[str, float]
    note: str | None
    seconds: float | None
    at: datetime


def reviews_on(connection: Connection, item_id: int) -> list[QueueReview]:
    """Return the standing reviews of an item, the oldest first."""
    return reviews_on_items(connection, [item_id])[item_id]


def reviews_on_items(connection: Connection, item_ids: Collection[int]) -> dict[int, list[QueueReview]]:
    """Return the standing reviews of each of at most 1,000 items, the oldest first."""
    names = ("id", "reviewer_id", "stage", "label", "groundedness", "quality", "note", "seconds", "at")
    query = (
        select(
            REVIEW.c.queue_item_id,
            *(REVIEW.c[name] for name in names),
            func.coalesce(REVIEW.c.decision, PREFERENCE_SCORE.c.preference).label("decision"),
            REVIEWER.c.name.label("reviewer"),
        )
        .join(REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id)
        .join(
            PREFERENCE_SCORE,
            and_(PREFERENCE_SCORE.c.review_id == REVIEW.c.id, PREFERENCE_SCORE.c.aspect == OVERALL),
            isouter=True,
        )
        .where(REVIEW.c.queue_item_id.in_(item_ids), standing())
        .order_by(REVIEW.c.id)
    )
    rows = connection.execute(query).mappings().all()
    scores = _scores(connection, [row["id"] for row in rows])
    reviews: dict[int, list[QueueReview]] = {item_id: [] for item_id in item_ids}
    for row in rows:
        stage = None if row["stage"] is None else Stage(row["stage"])
        values = dict(row) | {"stage": stage, "scores": scores.get(row["id"], {})}
        reviews[values.pop("queue_item_id")].append(QueueReview(**values))
    return reviews


def has_seen(connection: Connection, reviewer_id: int, response_id: int, what: str) -> bool:
    """Whether a person had ever seen the judge's (or other people's) words on an answer, as far as is stored.

    It is stored with what they say of it, and where the rest was revealed to them after a blind review.
    """
    own = and_(REVIEW.c.response_id == response_id, REVIEW.c.reviewer_id == reviewer_id)
    said = connection.execute(select(REVIEW.c.seen).where(own, REVIEW.c.seen.is_not(None))).scalars()
    if any(what in seen for seen in said):
        return True
    revealed = select(REVIEW.c.id).join(LEASE, LEASE.c.review_id == REVIEW.c.id).where(own)
    return any(what in (seen_since(connection, id_) or ()) for id_ in connection.execute(revealed).scalars().all())


def revealed_review(connection: Connection, item_id: int, reviewer_id: int) -> StoredReview | None:
    """Return what a person said of an item after the reveal and still stands."""
    query = select(REVIEW.c.id).where(
        REVIEW.c.queue_item_id == item_id,
        REVIEW.c.reviewer_id == reviewer_id,
        REVIEW.c.stage == Stage.REVEALED.value,
        standing(),
    )
    found = connection.execute(query).scalar_one_or_none()
    return None if found is None else review_by_id(connection, found)


def _scores(connection: Connection, review_ids: Collection[int]) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    if not review_ids:
        return found
    query = select(SCORE.c.review_id, SCORE.c.dimension, SCORE.c.value).where(
        SCORE.c.review_id.in_(review_ids), SCORE.c.value.is_not(None)
    )
    for review_id, dimension, value in connection.execute(query):
        found.setdefault(review_id, {})[dimension] = value
    return found


_HIDES = {JUDGE: QUEUE.c.blind_judge, PEOPLE: QUEUE.c.blind_people}


def had_all_reviews(connection: Connection, item: QueueItem, reviewer_id: int) -> bool:
    """Whether an item that waits now was done before, by others, so that nothing of it was hidden from anybody.

    It waits again because somebody took their word back.
    """
    columns = (REVIEW.c.id, REVIEW.c.reviewer_id, REVIEW.c.decision, REVIEW.c.replaces)
    query = select(*columns).where(REVIEW.c.queue_item_id == item.id, REVIEW.c.reviewer_id != reviewer_id)
    standing: dict[int, int] = {}
    for row in connection.execute(query.order_by(REVIEW.c.id)):
        if row.decision == Decision.WITHDRAWN.value and len(set(standing.values())) >= item.reviews_needed:
            return True
        standing.pop(row.replaces, None)
        if row.decision != Decision.WITHDRAWN.value:
            standing[row.id] = row.reviewer_id
    return False


def held_in_sight(connection: Connection, item: QueueItem, reviewer_id: int, what: str, taken_at: datetime) -> bool:
    """Whether a person took the same answer in a queue that shows ``what`` before it was hidden from them here.

    That is when the item joined, where its queue is given to them, else when they took it (``taken_at``).
    """
    given = exists().where(ASSIGNMENT.c.queue_id == item.queue_id, ASSIGNMENT.c.reviewer_id == reviewer_id)
    joined = connection.execute(select(ITEM.c.joined_at).where(ITEM.c.id == item.id, given)).scalar_one_or_none()
    in_sight = (
        select(ITEM.c.id)
        .join(QUEUE, QUEUE.c.id == ITEM.c.queue_id)
        .where(ITEM.c.response_id == item.response_id, ITEM.c.id != item.id, _HIDES[what].is_(False))
    )
    # From the few items of this answer, not from all that its reviewer ever took.
    elsewhere = select(LEASE.c.id).where(
        LEASE.c.queue_item_id.in_(in_sight),
        LEASE.c.reviewer_id == reviewer_id,
        LEASE.c.taken_at <= (joined or taken_at),
    )
    return connection.execute(elsewhere.limit(1)).first() is not None


@dataclass(frozen=True, slots=True)
class AnswerText:
    """An answer as it is read; texts are None once forgotten, ``passages`` also where the log carried none."""

    response_id: int
    external_id: str
    query_type: str
    question: str | None
    passages: tuple[str, ...] | None
    answer: str | None


def answer_texts(connection: Connection, response_ids: Collection[int]) -> dict[int, AnswerText]:
    """Return the texts of these answers by id."""
    columns = ("id", "external_id", "query_type", "query", "passages", "answer")
    query = select(*(RESPONSE.c[name] for name in columns))
    found = {}
    for some in batches(sorted(set(response_ids))):
        for id_, external_id, query_type, question, passages, answer in connection.execute(
            with_hidden_rows(query.where(RESPONSE.c.id.in_(some)))
        ):
            read = None if passages is None else tuple(passages)
            found[id_] = AnswerText(id_, external_id, query_type, question, read, answer)
    return found

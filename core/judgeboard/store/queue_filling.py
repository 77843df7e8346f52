"""Fills queues with answers and pairs in order, and updates open queues when flags change."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import nsmallest
from operator import itemgetter
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, exists, func, select, update

from judgeboard.domain import FlagState, ItemState, QueueOrder, Status
from judgeboard.errors import BadInput
from judgeboard.flags.rules import RANDOM_SAMPLE, sampling_number
from judgeboard.store.filter_conditions import flag_conditions, pair_conditions, response_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.queue_items import (
    NewItem,
    close_flags,
    finished_flags,
    flags_of,
    insert_items,
    link_flags,
    set_item_state,
    touched_items,
    unfinished_items,
)
from judgeboard.store.queues import ANSWERS, PAIRS, list_queues
from judgeboard.store.reviews import is_current, lock_free_responses
from judgeboard.store.statements import (
    LOGGED,
    OPEN,
    any_row,
    batches,
    columns_of,
    count_rows,
    listed,
    number_of,
    record_of,
    rows_with,
)
from judgeboard.store.strata import Candidate
from judgeboard.store.tables import (
    CURRENT,
    FLAG,
    JUDGMENT,
    JUDGMENT_SCORE,
    LEASE,
    PAIR,
    QUEUE_ITEM,
    QUEUE_ITEM_FLAG,
    RESPONSE,
    REVIEW,
    REVIEW_SCORE,
    Queue,
    QueueItem,
)

UNDATED = 9_999_999.0  # answers without a time come last, as on the queue page
PAIR_ORDERS = (QueueOrder.OLDEST, QueueOrder.RANDOM)
READ_AT_ONCE = 10_000  # answers
_OF_ANSWER = tuple(RESPONSE.c[name] for name in ("id", "source", "external_id", "asked_day"))


@dataclass(frozen=True, slots=True)
class CreatedQueue:
    """A new queue, with the number of items (``joined``), ``sampled`` items and missing sampled items (``short``).

    ``labelled`` items of a planned draw already have a label from people, but not from a random
    sample.
    """

    queue: Queue
    joined: int
    sampled: int = 0
    short: int = 0
    labelled: int = 0


def fill_queue(connection: Connection, queue: Queue, now: datetime) -> CreatedQueue:
    """Fill a new queue with everything that matches, and with the random sample, up to the maximum number of items."""
    if queue.subject == PAIRS:
        # Add every pair with two answers that matches the queue's filter (query type, source and
        # external id).
        conditions = _pair_conditions(queue.filter)
        if queue.sort not in PAIR_ORDERS:
            raise BadInput(f"pairs are ordered by oldest or random, not {queue.sort.value}")
        query = (
            select(PAIR.c.id, PAIR.c.source, PAIR.c.external_id)
            .where(*conditions)
            .order_by(PAIR.c.id)
        )
        new = [
            NewItem(
                pair_id=id_,
                position=float(id_)
                if queue.sort is QueueOrder.OLDEST
                else sampling_number(f"{queue.seed}:order", *key),
                reviews_needed=reviews_needed(queue, *key),
            )
            for id_, *key in connection.execute(query)
        ]
        if queue.max_items is not None:
            new = nsmallest(queue.max_items, new, key=lambda item: (item.position, item.pair_id))
        insert_items(connection, queue.id, new, now)
        return CreatedQueue(queue, len(new))
    if not queue.flagged_only:
        # Add the first answers in the queue's order, flagged or not; in random order, these are a
        # simple random sample.
        first: list[tuple[tuple[float, float, int], Candidate]] = []
        for rows in connection.execute(
            select(*_OF_ANSWER).where(*_answer_conditions(connection, queue.filter)),
            execution_options={"yield_per": READ_AT_ONCE},
        ).partitions():
            answers = [Candidate(*row) for row in rows]
            position_of = positions(connection, queue, answers)
            first += [(_place(answer, position_of), answer) for answer in answers]
            first = nsmallest(queue.max_items or 0, first, key=itemgetter(0))
        answer_by_id = {answer.response_id: answer for _, answer in first}
        _add_flags(connection, answer_by_id)
        is_random = queue.sort is QueueOrder.RANDOM
        new = [
            _new_item(queue, answer_by_id[id_], position, sampled=is_random)
            for (position, _, id_), _ in first
        ]
        insert_items(connection, queue.id, new, now)
        return CreatedQueue(queue, len(new))
    answers = matching_answers(connection, queue)
    position_of = positions(connection, queue, answers)
    # Items of the same position are leased in stored order.
    answers.sort(key=lambda answer: _place(answer, position_of))
    if queue.max_items is not None:
        answers = answers[: int(queue.max_items * (1 - queue.sampling_rate))]
    joined = _join(connection, queue, answers, now)
    sampled, short = top_up(connection, queue, now)
    return CreatedQueue(queue, joined + sampled, sampled, short)


def _place(answer: Candidate, position_of: Mapping[int, float]) -> tuple[float, float, int]:
    """Return the sort key of an answer in a new queue: position, then day of the question, then id."""
    day = UNDATED if answer.asked_day is None else answer.asked_day
    return position_of[answer.response_id], day, answer.response_id


def add_drawn(
    connection: Connection, queue: Queue, candidates: Sequence[Candidate], now: datetime
) -> CreatedQueue:
    """Add the answers of a planned draw to the new queue, flagged or not."""
    answers = {each.response_id: each for each in candidates}
    _add_flags(connection, answers)
    new = [
        replace(
            _new_item(queue, answers[each.response_id], each.position, sampled=True),
            stratum=each.stratum,
        )
        for each in candidates
    ]
    insert_items(connection, queue.id, new, now)
    conditions = (
        REVIEW.c.response_id.in_(listed(connection, list(answers))),
        REVIEW.c.label.is_not(None),
        is_current(),
    )
    return CreatedQueue(
        queue,
        len(new),
        labelled=number_of(
            connection, select(func.count(REVIEW.c.response_id.distinct())).where(*conditions)
        ),
    )


def add_answers(
    connection: Connection, queue: Queue, response_ids: Collection[int], bulk: str, now: datetime
) -> int:
    """Add at most 1,000 answers to a queue; return how many items come from this action.

    The answers stay in the queue even if the filter of the queue does not match. Forgotten answers
    and answers that are already in the queue are not added.
    """
    items = unfinished_items(connection, queue.id, response_ids)
    items_in_queue = {id_: item for id_, item in items.items() if item.state is not ItemState.LEFT}
    query = select(*_OF_ANSWER).where(
        RESPONSE.c.id.in_(set(response_ids) - items_in_queue.keys()), RESPONSE.c.answer.is_not(None)
    )
    answers = {row.id: Candidate(*row) for row in connection.execute(query)}
    _add_flags(connection, answers)
    position_of = positions(connection, queue, answers.values())
    new = [
        replace(_new_item(queue, answer, position_of[id_]), bulk=bulk)
        for id_, answer in answers.items()
    ]
    insert_items(connection, queue.id, new, now)
    return len(new) + sum(item.bulk == bulk for item in items_in_queue.values())


def _add_flags(connection: Connection, answers: dict[int, Candidate]) -> None:
    """Replace the answers that have open flags by records with these flags."""
    flagged_answers = _answers(
        connection, [OPEN, FLAG.c.response_id.in_(listed(connection, tuple(answers)))]
    )
    answers.update({answer.response_id: answer for answer in flagged_answers})


def count_matching(
    connection: Connection, where: RowFilter, *, subject: str = ANSWERS, flagged_only: bool = True
) -> int:
    """Return how many answers or pairs a new queue with this filter can have, without a random sample."""
    if subject == PAIRS:
        return count_rows(connection, PAIR, *_pair_conditions(where))
    if flagged_only:
        own, elsewhere = flag_conditions(connection, where)
        query = select(func.count(FLAG.c.response_id.distinct())).join(
            RESPONSE, RESPONSE.c.id == FLAG.c.response_id
        )
        return number_of(
            connection, query.where(OPEN, *own, *elsewhere, RESPONSE.c.answer.is_not(None))
        )
    return count_rows(connection, RESPONSE, *_answer_conditions(connection, where))


def follow_queues(connection: Connection, response_ids: Collection[int], now: datetime) -> None:
    """Update every open queue to agree with the open flags of these answers.

    An answer that no longer matches leaves the queue, unless somebody has leased or reviewed the
    item. The random sample is updated only if these answers can change the sample, because an
    update reads the whole queue.
    """
    if not response_ids:
        return
    for queue in list_queues(connection, only_open=True, subject=ANSWERS):
        if queue.training:
            continue
        is_changed = False
        for batch in batches(sorted(response_ids)):
            is_changed |= _follow(connection, queue, batch, now)
            if queue.sampling_rate and not is_changed:
                # Whether any of these answers may join the random sample.
                in_queue = exists().where(
                    QUEUE_ITEM.c.response_id == FLAG.c.response_id,
                    QUEUE_ITEM.c.queue_id == queue.id,
                )
                is_changed = any_row(
                    connection,
                    FLAG.c.response_id.in_(batch),
                    FLAG.c.state == FlagState.OPEN,
                    FLAG.c.rule == RANDOM_SAMPLE,
                    ~in_queue,
                )
        if queue.sampling_rate and is_changed:
            top_up(connection, queue, now)


def matching_answers(
    connection: Connection, queue: Queue, response_ids: Collection[int] | None = None
) -> list[Candidate]:
    """Return the answers (None: of all) whose open flags match the queue, without the random sample."""
    own, elsewhere = flag_conditions(connection, queue.filter.without("response_ids"))
    conditions = [OPEN, *own, *elsewhere]
    if queue.sampling_rate and RANDOM_SAMPLE not in queue.filter.rules:
        conditions.append(FLAG.c.rule != RANDOM_SAMPLE)
    if queue.filter.response_ids is not None:
        filter_ids = set(queue.filter.response_ids)
        response_ids = sorted(
            filter_ids if response_ids is None else filter_ids & set(response_ids)
        )
    if response_ids is not None:
        conditions.append(FLAG.c.response_id.in_(response_ids))
    return _answers(connection, conditions)


def positions(
    connection: Connection, queue: Queue, answers: Iterable[Candidate]
) -> dict[int, float]:
    """Return the position of each answer in a queue: the lowest comes first."""
    answers = list(answers)
    match queue.sort:
        case QueueOrder.SEVERITY:
            return {answer.response_id: -answer.severity for answer in answers}
        case QueueOrder.OLDEST:
            return {
                answer.response_id: UNDATED if answer.asked_day is None else answer.asked_day
                for answer in answers
            }
        case QueueOrder.RANDOM:
            return {
                answer.response_id: sampling_number(
                    f"{queue.seed}:order", answer.source, answer.external_id
                )
                for answer in answers
            }
        case QueueOrder.DISAGREEMENT:
            spread = _spread(connection, answers, CURRENT, CURRENT.c.is_current.is_(True))
        case QueueOrder.INSTABILITY:
            by_version = JUDGMENT.c.judge_version_id
            spread = _spread(
                connection, answers, JUDGMENT, JUDGMENT.c.status == Status.OK, by=(by_version,)
            )
    return {answer.response_id: -spread.get(answer.response_id, 0.0) for answer in answers}


def reviews_needed(queue: Queue, source: str, external_id: str) -> int:
    """Return how many reviews an answer or a pair needs in a queue. Seed and id decide what is in the overlap."""
    in_overlap = sampling_number(f"{queue.seed}:overlap", source, external_id) < queue.overlap
    return queue.reviews_needed if in_overlap else 1


def count_sampled(connection: Connection, queue: Queue) -> tuple[int, int]:
    """Return how many randomly sampled answers are in a queue, and how many are missing for the sampling rate."""
    query = select(QUEUE_ITEM.c.sampled, func.count()).where(
        QUEUE_ITEM.c.queue_id == queue.id,
        QUEUE_ITEM.c.state != ItemState.LEFT,
        QUEUE_ITEM.c.repeat_for.is_(None),
    )
    counts = {
        bool(is_sampled): count
        for is_sampled, count in connection.execute(query.group_by(QUEUE_ITEM.c.sampled))
    }
    sample_size = counts.get(True, 0)
    return sample_size, max(wanted(queue.sampling_rate, counts.get(False, 0)) - sample_size, 0)


def wanted(rate: float, others: int) -> int:
    """Return how many sampled answers make up the share ``rate`` (0 to below 1) if ``others`` are not sampled."""
    return round(rate / (1 - rate) * others)


def top_up(connection: Connection, queue: Queue, now: datetime) -> tuple[int, int]:
    """Add the missing answers of a queue's random sample; return the number of added and of still missing answers.

    The answers have open random-sample flags, and the query types, sources and days of the queue's
    own answers. Only the seed and the answer decide the order. Each sampled answer gets the
    position of one of the queue's own answers, so that reviewers cannot recognise the sample.
    """
    shortage = count_sampled(connection, queue)[1]
    if not shortage:
        return 0, 0
    queued_ids = _in_queue(connection, queue)
    # A filter for the query types, sources and days of the queue's own answers.
    own_answers = (
        select(RESPONSE)
        .join(QUEUE_ITEM, QUEUE_ITEM.c.response_id == RESPONSE.c.id)
        .where(_own(queue))
        .subquery()
    )
    types = connection.scalars(select(own_answers.c.query_type).distinct()).all()
    sources = connection.scalars(select(own_answers.c.source).distinct()).all()
    first, last = connection.execute(
        select(func.min(own_answers.c.asked_day), func.max(own_answers.c.asked_day))
    ).one()
    own, elsewhere = flag_conditions(
        connection,
        RowFilter(
            query_types=tuple(types),
            sources=tuple(sources),
            day_from=first,
            day_to=last,
            rules=(RANDOM_SAMPLE,),
        ),
    )
    answers = _answers(connection, [OPEN, *own, *elsewhere])
    candidates = [answer for answer in answers if answer.response_id not in queued_ids]
    if not candidates:
        return 0, shortage
    candidates.sort(
        key=lambda answer: sampling_number(
            f"{queue.seed}:sample", answer.source, answer.external_id
        )
    )
    free_ids = lock_free_responses(
        connection, [answer.response_id for answer in candidates[:shortage]]
    ) - _in_queue(connection, queue)
    shortage = count_sampled(connection, queue)[
        1
    ]  # another transaction may have added some before the lock
    sample = [answer for answer in candidates if answer.response_id in free_ids][:shortage]
    in_order = select(QUEUE_ITEM.c.position).where(_own(queue)).order_by(QUEUE_ITEM.c.position)
    own_positions = connection.scalars(in_order).all()
    new = []
    for answer in sample:
        number = sampling_number(f"{queue.seed}:place", answer.source, answer.external_id)
        position = own_positions[int(number * len(own_positions))]
        new.append(_new_item(queue, answer, position, sampled=True))
    if new:
        insert_items(connection, queue.id, new, now)
    return len(new), shortage - len(new)


def values_without_rows(
    connection: Connection, column: str, values: Collection[str], *, of_pairs: bool = False
) -> list[str]:
    """Return the values that occur nowhere yet.

    ``column`` is rule (of flags), dimension (scored by a judge or a person), or a column of logged
    answers or of pairs.
    """
    columns = {
        "rule": (FLAG.c.rule,),
        "dimension": (JUDGMENT_SCORE.c.dimension, REVIEW_SCORE.c.dimension),
    }.get(column) or ((PAIR if of_pairs else RESPONSE).c[column],)
    conditions = (LOGGED,) if columns[0].table is RESPONSE else ()
    return [
        value
        for value in values
        if not any(any_row(connection, each == value, *conditions) for each in columns)
    ]


def any_pairs(connection: Connection) -> bool:
    """Return whether there is a pair with two answers."""
    return any_row(connection, PAIR.c.response_a_id.is_not(None), PAIR.c.response_b_id.is_not(None))


def _follow(
    connection: Connection, queue: Queue, response_ids: Sequence[int], now: datetime
) -> bool:
    """Update a queue for these answers; return whether any answer joined or left."""
    items = unfinished_items(connection, queue.id, response_ids)
    is_full = queue.max_items is not None  # nothing joins such a queue after its creation
    if is_full and not items:
        return False
    candidates = matching_answers(connection, queue, response_ids)
    # The flags of finished items do not count: only another queue keeps these flags open.
    finished_ids = finished_flags(connection, queue.id, response_ids) if candidates else set()
    answers: dict[int, Candidate] = {}
    for answer in candidates:
        flag_ids = tuple(flag for flag in answer.flag_ids if flag not in finished_ids)
        if flag_ids:
            answers[answer.response_id] = replace(answer, flag_ids=flag_ids)
    new = (
        []
        if is_full
        else [answer for response_id, answer in answers.items() if response_id not in items]
    )
    is_changed = _join(connection, queue, new, now) > 0
    answers_in_queue = {
        response_id: answer for response_id, answer in answers.items() if response_id in items
    }
    if not items:
        return is_changed
    flags = flags_of(connection, [item.id for item in items.values()])
    link_flags(
        connection, {items[id_].id: answer.flag_ids for id_, answer in answers_in_queue.items()}
    )
    position_of = positions(connection, queue, answers_in_queue.values())
    for response_id in answers_in_queue:
        item = items[response_id]
        if item.state is ItemState.LEFT:
            set_item_state(connection, item, ItemState.OPEN, now, leases=item.reviews_needed)
            is_changed = True
        if not item.sampled and position_of[response_id] < item.position:
            # Move an item and the leases to another position in the queue.
            position = position_of[response_id]
            connection.execute(
                update(QUEUE_ITEM).where(QUEUE_ITEM.c.id == item.id).values(position=position)
            )
            connection.execute(
                update(LEASE).where(LEASE.c.queue_item_id == item.id).values(position=position)
            )
    if not queue.flagged_only:
        return is_changed
    return _leave(connection, list(items.values()), answers_in_queue, flags, now) or is_changed


def _leave(
    connection: Connection,
    items: Sequence[QueueItem],
    answers: dict[int, Candidate],
    flags: dict[int, set[int]],
    now: datetime,
) -> bool:
    """Remove the items that no longer match; return whether any item left."""
    candidates = [item for item in items if item.state is not ItemState.LEFT and item.bulk is None]
    stale: dict[int, set[int]] = {}
    for item in candidates:
        answer = answers.get(item.response_id or 0)
        stale[item.id] = flags[item.id] - set(() if answer is None else answer.flag_ids)
    # An open flag of the random sample keeps the item in the queue.
    sample_ids = {flag for item in candidates if item.sampled for flag in stale[item.id]}
    if sample_ids:
        query = select(FLAG.c.id).where(
            FLAG.c.id.in_(sample_ids), FLAG.c.rule == RANDOM_SAMPLE, FLAG.c.state == FlagState.OPEN
        )
        sample_ids = set(connection.scalars(query))
    suspects = [item for item in candidates if stale[item.id] - sample_ids]
    busy_ids = touched_items(connection, [item.id for item in suspects], now) if suspects else set()
    has_left = False
    for item in suspects:
        if item.id in busy_ids:
            continue
        # Unlink these flags from an item.
        links = (
            QUEUE_ITEM_FLAG.c.queue_item_id == item.id,
            QUEUE_ITEM_FLAG.c.flag_id.in_(stale[item.id] - sample_ids),
        )
        connection.execute(delete(QUEUE_ITEM_FLAG).where(*links))
        if (
            not flags[item.id] - (stale[item.id] - sample_ids)
            and (item.response_id or 0) not in answers
        ):
            set_item_state(connection, item, ItemState.LEFT, now)
            close_flags(connection, stale[item.id] - sample_ids)
            has_left = True
    return has_left


def _join(connection: Connection, queue: Queue, answers: Sequence[Candidate], now: datetime) -> int:
    if not answers:
        return 0
    position_of = positions(connection, queue, answers)
    new = [_new_item(queue, answer, position_of[answer.response_id]) for answer in answers]
    return len(insert_items(connection, queue.id, new, now))


def _answer_conditions(connection: Connection, where: RowFilter) -> list[ColumnElement[bool]]:
    return [*response_conditions(connection, where), RESPONSE.c.answer.is_not(None)]


def _pair_conditions(where: RowFilter) -> list[ColumnElement[bool]]:
    return [
        PAIR.c.response_a_id.is_not(None),
        PAIR.c.response_b_id.is_not(None),
        *pair_conditions(where),
    ]


def _new_item(
    queue: Queue, answer: Candidate, position: float, *, sampled: bool = False
) -> NewItem:
    return NewItem(
        response_id=answer.response_id,
        position=position,
        reviews_needed=reviews_needed(queue, answer.source, answer.external_id),
        flag_ids=answer.flag_ids,
        sampled=sampled,
    )


def _answers(
    connection: Connection, conditions: Collection[ColumnElement[bool]]
) -> list[Candidate]:
    query = (
        select(FLAG.c.id, *columns_of(Candidate, FLAG, RESPONSE))
        .join(RESPONSE, RESPONSE.c.id == FLAG.c.response_id)
        .where(*conditions, RESPONSE.c.answer.is_not(None))  # a forgotten answer cannot be reviewed
        .order_by(FLAG.c.id)
    )
    by_response: dict[int, Candidate] = {}
    for row in connection.execute(query):
        candidate = by_response.get(row.response_id) or record_of(Candidate, row, flag_ids=())
        severity = max(candidate.severity, row.severity)
        by_response[row.response_id] = replace(
            candidate, severity=severity, flag_ids=(*candidate.flag_ids, row.id)
        )
    return list(by_response.values())


def _spread(
    connection: Connection,
    answers: Sequence[Candidate],
    table: Table,
    condition: ColumnElement[bool],
    by: Sequence[ColumnElement[Any]] = (),
) -> dict[int, float]:
    """Return the highest minus the lowest groundedness by answer; with ``by``, the largest difference in a group."""
    score, response_id = table.c.groundedness, table.c.response_id
    query = select(response_id, func.max(score) - func.min(score)).where(
        condition, score.is_not(None)
    )
    query = query.group_by(response_id, *by)
    spread: dict[int, float] = {}
    for id_, difference in rows_with(
        connection, query, response_id, [answer.response_id for answer in answers]
    ):
        spread[id_] = max(difference, spread.get(id_, 0.0))
    return spread


def _in_queue(connection: Connection, queue: Queue) -> set[int]:
    return set(
        connection.scalars(
            select(QUEUE_ITEM.c.response_id).where(QUEUE_ITEM.c.queue_id == queue.id)
        )
    )


def _own(queue: Queue) -> ColumnElement[bool]:
    first_time = and_(QUEUE_ITEM.c.sampled.is_(False), QUEUE_ITEM.c.repeat_for.is_(None))
    return and_(QUEUE_ITEM.c.queue_id == queue.id, first_time, QUEUE_ITEM.c.state != ItemState.LEFT)

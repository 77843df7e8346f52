"""The list of answers with open flags, one line per answer (for the worst flag), and lists of flags by id."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    func,
    literal_column,
    null,
    or_,
    select,
)
from sqlalchemy.sql.util import ClauseAdapter

from judgeboard.domain import LISTED, FlagState, with_fields
from judgeboard.errors import BadInput
from judgeboard.flags.rules import why
from judgeboard.store.filter_conditions import flag_conditions
from judgeboard.store.filters import Facets, RowFilter
from judgeboard.store.listing import KeyedList, LinePage, ListPosition, Neighbours, Order
from judgeboard.store.responses import ANSWER, QUESTION, latest_feedback
from judgeboard.store.reviews import (
    HAS_WORSE,
    STATE_AFTER,
    WORSE,
    each_judge_rules,
    is_current,
)
from judgeboard.store.settings import primary_judge
from judgeboard.store.sql_compiler import by_index
from judgeboard.store.statements import (
    CURRENT_OF_NAME,
    OPEN,
    count_rows,
    grouped,
    record_of,
    rows_with,
)
from judgeboard.store.tables import CURRENT, FLAG, LEASE, RESPONSE, REVIEW, REVIEW_FLAG

_UNSURE: ColumnElement[bool] = literal_column("review.decision = 'unsure'")


def queue_list(
    connection: Connection, where: RowFilter, sort: str, reviewer_id: int | None = None
) -> KeyedList:
    """Return the worst matching open flag of each answer.

    Flags that the reviewer has decided are left out. Such a flag is still open if the decision was
    unsure, or if a queue needs more reviews of the answer.
    """
    order = order_named(sort)
    own, elsewhere = flag_conditions(connection, where)
    # No worse flag of the answer matches the filter. The flags of one answer differ only in rule,
    # judge and scores.
    of_flag = (
        where.rules,
        where.judge,
        where.min_score,
        where.max_score,
        where.min_quality,
        where.max_quality,
    )
    if all(value in (None, ()) for value in of_flag):
        own.append(FLAG.c.leads)
    # Not needed for one rule that is not of each judge: an answer has at most one open flag of it.
    elif len(where.rules) != 1 or where.rules[0] in each_judge_rules():
        conditions = [ClauseAdapter(WORSE).traverse(condition) for condition in own]
        own.append(or_(FLAG.c.leads, ~HAS_WORSE.where(*conditions)))
    if where.states and FlagState.OPEN not in where.states:
        own.append(FLAG.c.state.in_(where.states))  # no result: the list has open flags only
    # The index for counting; rule and query type have a narrower index than the orders.
    count_filter = RowFilter(rules=where.rules, query_types=where.query_types)
    return KeyedList(
        connection,
        FLAG,
        order,
        own=[OPEN, *own],
        elsewhere=elsewhere,
        aside=None if reviewer_id is None else _done_by(connection, reviewer_id),
        count_index="ix_flag_open_rule"
        if replace(where, states=()) == count_filter
        else "ix_flag_open_newest",
        gather_index=order.index,
    )


def _done_by(connection: Connection, reviewer_id: int) -> Select[Any] | None:
    """Select the open flags that a reviewer has finished; None (the usual case) if there are none."""
    in_queue = (
        select(REVIEW_FLAG.c.flag_id)
        .join(LEASE, LEASE.c.review_id == REVIEW_FLAG.c.review_id)
        .join(FLAG, FLAG.c.id == REVIEW_FLAG.c.flag_id)
        .where(
            LEASE.c.reviewer_id == reviewer_id,
            LEASE.c.done.is_(True),
            FLAG.c.state == FlagState.OPEN,
        )
    )
    unsure_flags = (
        select(REVIEW_FLAG.c.flag_id)
        .join(REVIEW, REVIEW.c.id == REVIEW_FLAG.c.review_id)
        .where(_UNSURE, REVIEW.c.reviewer_id == reviewer_id, is_current())
    )
    # Start at the person's own reviews: a person has fewer reviews than there are open flags.
    decided_flags = (
        select(REVIEW_FLAG.c.flag_id)
        .join(REVIEW, REVIEW.c.id == REVIEW_FLAG.c.review_id)
        .join(FLAG, FLAG.c.id == REVIEW_FLAG.c.flag_id)
        .where(
            REVIEW.c.reviewer_id == reviewer_id,
            REVIEW.c.queue_item_id.is_(None),
            REVIEW.c.decision.in_(list(STATE_AFTER)),
            is_current(),
            FLAG.c.state == FlagState.OPEN,
        )
    )
    queries = [
        query
        for query in (in_queue, unsure_flags, decided_flags)
        if connection.scalar(query.limit(1)) is not None
    ]
    if len(queries) < 2:
        return queries[0] if queries else None
    return select(FLAG.c.id).where(or_(*(FLAG.c.id.in_(query) for query in queries)))


def answers_done_by(connection: Connection, reviewer_id: int) -> int:
    """Return how many answers with open flags `queue_list` leaves out for a reviewer."""
    query = _done_by(connection, reviewer_id)
    if query is None:
        return 0
    return count_rows(connection, FLAG, OPEN, FLAG.c.leads, FLAG.c.id.in_(query))


def open_counts(connection: Connection) -> list[tuple[str, str, int]]:
    """Return (rule, query type, answers with an open flag of the rule) for every combination that occurs, sorted."""
    columns = FLAG.c.rule, FLAG.c.query_type
    counts = (
        select(*columns, func.count())
        .where(OPEN, FLAG.c.rule.not_in(each_judge_rules()))
        .group_by(*columns)
    )
    distinct = func.count(FLAG.c.response_id.distinct())
    of_judges = (
        select(*columns, distinct)
        .where(OPEN, FLAG.c.rule.in_(each_judge_rules()))
        .group_by(*columns)
    )
    rows = [*connection.execute(counts), *connection.execute(of_judges)]
    return sorted((rule, query_type, count) for rule, query_type, count in rows)


def flags_after(
    connection: Connection,
    state: FlagState,
    *,
    rule: str | None,
    source: str | None,
    after: int,
    limit: int,
) -> list[int]:
    """Return the ids of the next flags above ``after`` in a state, of a rule and a source (None: of any)."""
    query = select(FLAG.c.id).where(FLAG.c.id > after).order_by(FLAG.c.id).limit(limit)
    # Few flags stay open: the index of open flags is much shorter than the table.
    is_open = state is FlagState.OPEN
    query = (
        by_index(query.where(OPEN), FLAG, "ix_flag_open_newest")
        if is_open
        else query.where(FLAG.c.state == state)
    )
    for column, value in ((FLAG.c.rule, rule), (FLAG.c.source, source)):
        query = query if value is None else query.where(column == value)
    return list(connection.scalars(query))


def queue_facets(connection: Connection) -> Facets:
    """Return the values by which the queue can be filtered."""
    counts = open_counts(connection)
    rows = connection.execute(select(FLAG.c.source, FLAG.c.judge_name).where(OPEN).distinct()).all()
    return Facets(
        rules=tuple(sorted({rule for rule, _, _ in counts})),
        parts={
            "query_type": tuple(sorted({query_type for _, query_type, _ in counts})),
            "source": tuple(sorted({source for source, _ in rows})),
        },
        judges=tuple(sorted({judge for _, judge in rows if judge is not None})),
    )


# The engines place NULLs differently, so coalesce puts a missing score or time last. The indexes
# use the same expressions.
_GROUNDEDNESS: ColumnElement[Any] = literal_column("coalesce(flag.groundedness, 2)")
_ASKED: ColumnElement[Any] = literal_column("coalesce(flag.asked_day, 9999999)")
ORDERS: dict[str, Order] = {
    order.name: order
    for order in (
        Order(
            "worst",
            "most doubtful first",
            FLAG.c.severity,
            FLAG.c.id,
            "ix_flag_open_severity",
            descending=True,
            then=_ASKED,
        ),
        Order(
            "lowest",
            "lowest groundedness first",
            _GROUNDEDNESS,
            FLAG.c.id,
            "ix_flag_open_groundedness",
        ),
        Order("oldest", "oldest first", _ASKED, FLAG.c.id, "ix_flag_open_asked"),
    )
}


def order_named(name: str) -> Order:
    """Return an order of the list. Raises BadInput for an unknown name."""
    if name not in ORDERS:
        raise BadInput(f"the order of the queue must be one of {', '.join(ORDERS)}, not {name!r}")
    return ORDERS[name]


@dataclass(frozen=True, slots=True)
@with_fields(LISTED, str | None, None)
class QueueLine:
    """An answer with the open flags, the worst first; ``flag_id`` is the worst flag that matches the filter.

    The scores are the primary judge's scores when that flag was raised. If there were none then,
    the scores are the judge's current scores.
    """

    flag_id: int
    response_id: int
    external_id: str
    source: str
    rules: tuple[str, ...]
    why: tuple[str, ...]
    severity: float
    groundedness: float | None
    quality: int | None
    user_feedback: str | None
    question: str | None
    answer: str | None
    query_type: str
    asked_at: datetime | None


def queue_page(
    connection: Connection,
    where: RowFilter,
    sort: str = "worst",
    *,
    after: str | None = None,
    before: str | None = None,
    limit: int = 50,
    reviewer_id: int | None = None,
) -> LinePage[QueueLine]:
    """Return a page of answers with open flags (`KeyedList.page`), without finished answers of ``reviewer_id``."""
    answer_list = queue_list(connection, where, sort, reviewer_id)
    return answer_list.page(after, before, limit, partial(_lines, connection))


def listed_answers(
    connection: Connection,
    where: RowFilter,
    sort: str = "worst",
    *,
    most: int,
    reviewer_id: int | None = None,
) -> tuple[int, ...]:
    """Return the answers of the first ``most`` lines of the list, by id."""
    flag_ids = queue_list(connection, where, sort, reviewer_id).page(None, None, most, tuple).lines
    query = select(FLAG.c.response_id)
    return tuple(
        sorted({row.response_id for row in rows_with(connection, query, FLAG.c.id, flag_ids)})
    )


def neighbours(
    connection: Connection,
    where: RowFilter,
    sort: str,
    flag_id: int,
    reviewer_id: int | None = None,
) -> Neighbours | None:
    """Return the position of a flag's answer in a list and the flags beside it, or None if there is no such flag."""
    position = _position(connection, sort, flag_id)
    return (
        None
        if position is None
        else queue_list(connection, where, sort, reviewer_id).around(position)
    )


def flag_after(
    connection: Connection,
    where: RowFilter,
    sort: str,
    flag_id: int,
    reviewer_id: int | None = None,
) -> int | None:
    """Return the flag after a decided flag in a list; at the end of the list, the previous flag; otherwise None."""
    position = _position(connection, sort, flag_id)
    return (
        None
        if position is None
        else queue_list(connection, where, sort, reviewer_id).next_to(position)
    )


def _position(connection: Connection, sort: str, flag_id: int) -> ListPosition | None:
    order = order_named(sort)
    then = null() if order.then is None else order.then
    row = connection.execute(
        select(order.value, FLAG.c.id, then).where(FLAG.c.id == flag_id)
    ).one_or_none()
    return None if row is None else ListPosition(order.name, *row)


def _lines(connection: Connection, flag_ids: Sequence[int]) -> tuple[QueueLine, ...]:
    own = (
        FLAG.c[name]
        for name in (
            "id",
            "response_id",
            "severity",
            "groundedness",
            "quality",
            "query_type",
            "judge_name",
        )
    )
    of_answer = (RESPONSE.c[name] for name in ("external_id", "source", "asked_at", *LISTED))
    query = select(*own, *of_answer, QUESTION, ANSWER)
    query = query.join(RESPONSE, RESPONSE.c.id == FLAG.c.response_id).where(FLAG.c.id.in_(flag_ids))
    rows = connection.execute(query).all()
    response_ids = [row.response_id for row in rows]
    feedback = latest_feedback(connection, response_ids)
    # A random-sample flag is raised before the answer has scores: the list has the current scores of
    # the primary judge instead.
    current_scores: dict[int, Any] = {}
    if unscored_ids := [row.response_id for row in rows if row.judge_name is None]:
        scores_query = select(CURRENT.c.response_id, CURRENT.c.groundedness, CURRENT.c.quality)
        scores_query = scores_query.where(
            CURRENT.c.response_id.in_(unscored_ids),
            CURRENT.c.judge_name == primary_judge(connection),
            CURRENT_OF_NAME,
        )
        current_scores = {row.response_id: row for row in connection.execute(scores_query)}
    flag_columns = (
        FLAG.c[name] for name in ("id", "response_id", "severity", "rule", "details", "params")
    )
    open_flags = select(*flag_columns).where(OPEN, FLAG.c.response_id.in_(response_ids))
    worst_first = sorted(connection.execute(open_flags), key=lambda flag: (-flag.severity, flag.id))
    reasons = grouped((reason.response_id, reason) for reason in worst_first)
    by_id = {
        row.id: record_of(
            QueueLine,
            row,
            flag_id=row.id,
            rules=tuple(dict.fromkeys(reason.rule for reason in reasons[row.response_id])),
            why=tuple(
                why(reason.rule, reason.details, reason.params)
                for reason in reasons[row.response_id]
            ),
            groundedness=scores.groundedness,
            quality=scores.quality,
            user_feedback=feedback.get(row.response_id),
        )
        for row in rows
        for scores in (current_scores.get(row.response_id, row),)
    }
    return tuple(by_id[flag_id] for flag_id in flag_ids)

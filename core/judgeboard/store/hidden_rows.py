"""Hides from reviewers what they are to review blind and have not yet: the answers, and what was said of them.

An item is blind for a reviewer who has a lease on it, or to whom its queue is assigned, until they have reviewed it.
Whole rows are left out of whatever a connection reads: a list, a figure, a search or an export cannot tell what it does
not read. The texts that a reviewer needs are read by the few functions that ask for hidden rows too
(`row_filter.with_hidden_rows`).
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    Select,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    or_,
    select,
    true,
    union,
)
from sqlalchemy import cast as sql_cast

from judgeboard.domain import ItemState, QueueState
from judgeboard.store.columns import METADATA, BigId
from judgeboard.store.engine import Store
from judgeboard.store.queue_tables import LEASE, QUEUE, QUEUE_ASSIGNMENT, QUEUE_ITEM
from judgeboard.store.row_filter import filter_rows

ASSIGNMENT = QUEUE_ASSIGNMENT
ITEM = QUEUE_ITEM

# Which rows of a table are hidden: by the columns that name an answer or a pair, or a hidden row of another table.
ANSWERS: Mapping[str, tuple[str, ...]] = {
    "response": ("id",),
    "user_feedback": ("response_id",),
    "judgment": ("response_id",),
    "current_judgment": ("response_id",),
    "flag": ("response_id",),
    "review": ("response_id",),
    "comment": ("response_id",),
    "event": ("response_id",),
    "generation": ("response_id",),
    "refinement": ("response_id", "root_response_id"),
    "suite_case": ("response_id",),
}
PAIRS: Mapping[str, tuple[str, ...]] = {
    "pair": ("id",),
    "comparison": ("pair_id",),
    "sample": ("pair_id",),
    "review": ("pair_id",),
    "comment": ("pair_id",),
}
PARTS: Mapping[str, tuple[str, str]] = {
    "judgment_score": ("judgment_id", "judgment"),
    "judgment_review": ("judgment_id", "judgment"),
    "review_score": ("review_id", "review"),
    "comparison_score": ("comparison_id", "comparison"),
    "preference_score": ("review_id", "review"),
}
# Nothing in these tells what anybody said of one answer.
OPEN: frozenset[str] = frozenset(
    {
        *("setting", "import_batch", "judge_version", "run", "suite_run", "job", "worker", "reviewer"),
        *("queue", "queue_assignment", "queue_item", "queue_item_flag", "lease", "skip", "standing_attempt"),
    }
)
_SEARCH_INDEX = "response_search"  # finds ids alone, which are read from the response

_VIEWER = "judgeboard_viewer"
_FEW = 1_000  # so many ids stand in a statement itself; more are worked out by it

Reading = AbstractContextManager[Connection]
"""A transaction that only reads."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A database as ``viewer``, a reviewer's id, may see it; None sees everything.

    Programs that act (judge, flag, import, lease items) need the `Store`: what they do must not depend on who asked.
    """

    store: Store
    viewer: int | None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads what the viewer may see."""
        with self.store.reading() as connection:
            hide_rows(connection, self.viewer)
            yield connection


@dataclass(frozen=True, slots=True)
class Hidden:
    """What of an answer is hidden: everything that judges made of it, what other people said, or both.

    ``own``: what the viewers said themselves too, since nothing may remind them of an item that is served again.
    ``queues`` names those that hold it for them.
    """

    judge: bool = False
    people: bool = False
    own: bool = False
    queues: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.judge or self.people


NOTHING_HIDDEN = Hidden()


def hidden_of(
    connection: Connection, reviewer_id: int | None, *, response_id: int | None = None, pair_id: int | None = None
) -> Hidden:
    """Return what of an answer or a pair is hidden from a reviewer; nothing from a reader without a name."""
    if reviewer_id is None:
        return NOTHING_HIDDEN
    of = ITEM.c.pair_id == pair_id if response_id is None else ITEM.c.response_id == response_id
    columns = (QUEUE.c.name, QUEUE.c.blind_judge, QUEUE.c.blind_people, ITEM.c.repeat_for)
    rows = connection.execute(_blind_items(reviewer_id, *columns).where(of)).all()
    return Hidden(
        judge=any(row.blind_judge for row in rows),
        people=any(row.blind_people or row.repeat_for is not None for row in rows),
        own=any(row.repeat_for is not None for row in rows),
        queues=tuple(sorted({row.name for row in rows})),
    )


def hide_rows(connection: Connection, viewer: int | None) -> None:
    """Let a connection read from here on as a reviewer may.

    Somebody without a name, or with nothing to review blind, sees everything.
    """
    read_as(connection, viewer)
    if viewer is not None and connection.execute(_blind_items(viewer, ITEM.c.id).limit(1)).first() is not None:
        filter_rows(connection, _RowsLeft(connection, viewer).of_table)


def read_as(connection: Connection, viewer: int | None) -> None:
    """Name the reviewer as whom a connection reads, without leaving rows out of its statements.

    For what asks by itself what of its one answer is hidden (`load_item`): it is as quick in a queue of any size.
    """
    connection.execution_options(**{_VIEWER: viewer})


def viewer_of(connection: Connection) -> int | None:
    """Return the reviewer as whom a connection reads, None where it reads everything."""
    viewer: int | None = connection.get_execution_options().get(_VIEWER)
    return viewer


def count_hidden(connection: Connection) -> int:
    """Return how many answers in queues are left out of what a connection reads."""
    viewer = viewer_of(connection)
    if viewer is None:
        return 0
    return int(connection.execute(_blind_items(viewer, func.count(ITEM.c.response_id.distinct()))).scalar_one())


def _blind_items(reviewer_id: int, *columns: Any) -> Select[Any]:
    """The open items of open blind queues that a reviewer has a lease on or is assigned, and has not reviewed.

    An item in conflict is leased to nobody any more: a lead looks at all of it.
    """
    # Sets, not conditions on each item: the leases and assignments of others are then not even looked at.
    leased = select(LEASE.c.queue_item_id).where(LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(False))
    assigned = select(ASSIGNMENT.c.queue_id).where(ASSIGNMENT.c.reviewer_id == reviewer_id)
    reviewed = exists().where(
        LEASE.c.queue_item_id == ITEM.c.id, LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(True)
    )
    return (
        select(*columns)
        .select_from(ITEM)
        .join(QUEUE, QUEUE.c.id == ITEM.c.queue_id)
        .where(
            QUEUE.c.state == QueueState.OPEN.value,
            or_(QUEUE.c.blind_judge.is_(True), QUEUE.c.blind_people.is_(True), ITEM.c.repeat_for.is_not(None)),
            ITEM.c.state == ItemState.OPEN.value,
            or_(ITEM.c.repeat_for.is_(None), ITEM.c.repeat_for == reviewer_id),
            or_(ITEM.c.id.in_(leased), ITEM.c.queue_id.in_(assigned)),
            ~reviewed,
        )
    )


class _RowsLeft:
    """What is left of each table for one reviewer."""

    def __init__(self, connection: Connection, viewer: int) -> None:
        self._postgresql = connection.dialect.name != "sqlite"
        self._gone = _hidden_ids(viewer)
        self._few: dict[str, list[int] | None] = {}
        for name, gone in self._gone.items():
            ids = list(connection.execute(select(gone.c.id).limit(_FEW + 1)).scalars())
            self._few[name] = None if len(ids) > _FEW else ids

    def of_table(self, name: str) -> Select[Any] | None:
        """The query of the rows of a table that are left, None where all are."""
        if name in OPEN or name == _SEARCH_INDEX:
            return None
        if not (name in ANSWERS or name in PAIRS or name in PARTS):
            raise ValueError(f"nothing says which rows of {name} are hidden")
        stored = _stored(name)
        conditions = self._outside(name, stored)
        if name in PARTS:
            column, whole = PARTS[name]
            conditions.append(stored.c[column].not_in(self._hidden_rows(whole)))
        if name == "event":  # those of pairs name the review
            review = sql_cast(stored.c.details["review"].as_string(), BigId)
            conditions.append(or_(review.is_(None), review.not_in(self._hidden_rows("review"))))
        return select(literal_column("*")).select_from(stored).where(*conditions) if conditions else None

    def _hidden_rows(self, name: str) -> Select[Any]:
        stored = _stored(name)
        return select(stored.c.id).where(~and_(true(), *self._outside(name, stored)))

    def _outside(self, name: str, stored: FromClause) -> list[ColumnElement[bool]]:
        named = [(column, "answer") for column in ANSWERS.get(name, ())]
        named += [(column, "pair") for column in PAIRS.get(name, ())]
        return [self._not_among(stored.c[column], kind) for column, kind in named if self._few[kind] != []]

    def _not_among(self, named: ColumnElement[Any], kind: str) -> ColumnElement[bool]:
        few, gone = self._few[kind], self._gone[kind]
        if few is None and self._postgresql:  # it would walk a long list for every row
            return ~exists().where(gone.c.id == named)
        ids: Any = select(gone.c.id)
        if few is not None:
            ids = bindparam(None, few, BigInteger, unique=True, expanding=True, literal_execute=True)
        outside = named.not_in(ids)
        return or_(named.is_(None), outside) if getattr(named, "nullable", True) else outside


def _hidden_ids(viewer: int) -> dict[str, FromClause]:
    """The ids that are hidden: answers with what was made from them, pairs with their sides.

    Each is worked out once a statement.
    """

    def worked_out(query: Any, name: str) -> FromClause:
        cte: FromClause = query.cte(name).prefix_with("MATERIALIZED")
        return cte

    response, pair = _stored("response").c, _stored("pair").c
    blind = worked_out(_blind_items(viewer, ITEM.c.response_id, ITEM.c.pair_id), "blind_item").c
    sides = (pair.response_a_id, pair.response_b_id)
    of_item = pair.id.in_(select(blind.pair_id).where(blind.pair_id.is_not(None)))
    side = worked_out(
        union(*(select(each.label("id")).where(of_item, each.is_not(None)) for each in sides)), "hidden_side"
    )
    in_item = select(blind.response_id).where(blind.response_id.is_not(None))
    in_side = select(side.c.id)
    answer = worked_out(
        union(
            select(blind.response_id.label("id")).where(blind.response_id.is_not(None)),
            in_side,
            select(response.derived_from).where(response.id.in_(in_side), response.derived_from.is_not(None)),
            select(response.id).where(response.derived_from.in_(in_item)),
            select(response.id).where(response.derived_from.in_(in_side)),
        ),
        "hidden_answer",
    )
    hidden_pair = worked_out(
        union(
            select(blind.pair_id.label("id")).where(blind.pair_id.is_not(None)),
            *(select(pair.id).where(each.in_(select(answer.c.id))) for each in sides),
        ),
        "hidden_pair",
    )
    return {"answer": answer, "pair": hidden_pair}


@cache
def _stored(name: str) -> FromClause:
    """The table itself, under a name that no other statement uses: nothing of it correlates with a statement's own."""
    return METADATA.tables[name].alias(f"stored_{name}")

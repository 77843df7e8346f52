"""Hides rows of answers and pairs that a reviewer has to review blind and has not reviewed yet.

An item is blind for a reviewer who may still review the item, until the review. If the queue is
assigned to people, these people may review the item, otherwise everybody may. An item is also blind
for a reviewer with a lease on the item. Every query of a connection leaves out whole rows, so that
lists, figures, searches and exports cannot show hidden rows. Alarms and alerts that were stored
from all rows are left out too. A few functions read the texts for the review with
`sql_compiler.with_hidden_rows`.

A person or an API key may be limited to some sources. Then everything of other sources is always
hidden (`visible_sources`), also from these functions.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Connection,
    FromClause,
    Select,
    and_,
    bindparam,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
    union,
    union_all,
)
from sqlalchemy import cast as sql_cast

from judgeboard.domain import MODEL_CHANGED, AlertCondition, ItemState, QueueState
from judgeboard.store.columns import BigId, row_of
from judgeboard.store.engine import Store, forget_kept, kept_while_reading
from judgeboard.store.sql_compiler import (
    filter_rows,
    hides_blind_rows,
    limit_changes,
    with_hidden_rows,
)
from judgeboard.store.statements import LOGGED
from judgeboard.store.tables import (
    ALERT_RULE,
    COMMENT,
    LEASE,
    METADATA,
    QUEUE,
    QUEUE_ASSIGNMENT,
    QUEUE_ITEM,
    RESPONSE,
    REVIEW,
)
from judgeboard.store.visible_sources import (
    SUBJECTS,
    VisibleSources,
    references,
    visible_queues,
    visible_sources,
)

_OF_ALL = frozenset({"response_search", "sqlite_master", "pg_indexes"})
"""Tables that contain only ids of responses, whose rows are filtered, and names of indexes."""

_UNASSIGNED = QUEUE.alias("unassigned")
_VIEWER = "judgeboard_viewer"
_REVIEWER = bindparam("hidden_from", type_=BigInteger)
_COUNT_NO_ANSWERS = (AlertCondition.SILENT_SOURCE.value, AlertCondition.MISSING_WORKER.value)
_FEW = 1_000  # up to this number, the statement lists the ids; above, a subquery selects the ids

Reads = Connection
"""The first argument of a function that reads."""

Reading = AbstractContextManager[Reads]
"""A transaction that only reads."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A database as ``viewer``, a reviewer's id, may see it; None sees everything.

    ``source`` is the only source that an API key may see, None for all. Code that acts (judge,
    flag, import, lease items) needs the `Store`: the result must not depend on the viewer.
    """

    store: Store
    viewer: int | None
    source: str | None = None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads what the viewer may see."""
        with self.store.reading() as connection:
            hide_rows(connection, self.viewer, self.source)
            yield connection


@dataclass(frozen=True, slots=True)
class Hidden:
    """The hidden parts of an answer: judgments and flags (``judge``), other people's reviews (``people``), or both.

    ``own`` means that the viewer's own reviews are hidden too, because the item is a repeat for
    the viewer. ``queues`` are the names of the blind queues that contain the item.
    """

    judge: bool = False
    people: bool = False
    own: bool = False
    queues: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.judge or self.people


NOTHING_HIDDEN = Hidden()


def hidden_of(
    connection: Connection,
    reviewer_id: int | None,
    *,
    response_id: int | None = None,
    pair_id: int | None = None,
    own_first: bool = False,
) -> Hidden:
    """Return the parts of an answer or a pair that are hidden from a reviewer; None sees everything.

    With ``own_first``, reviews and comments of other people are hidden until the reviewer's own
    review, also outside of queues.
    """
    if reviewer_id is None:
        return NOTHING_HIDDEN
    of = (
        QUEUE_ITEM.c.pair_id == pair_id
        if response_id is None
        else QUEUE_ITEM.c.response_id == response_id
    )
    columns = (QUEUE.c.name, QUEUE.c.blind_judge, QUEUE.c.blind_people, QUEUE_ITEM.c.repeat_for)
    rows = connection.execute(_blind_items(*columns).where(of), {_REVIEWER.key: reviewer_id}).all()
    hides_people = any(row.blind_people or row.repeat_for is not None for row in rows)
    if own_first and not hides_people:
        # Whether others reviewed the answer or commented on it, and this reviewer never reviewed it.
        reviewers, authors = (
            set(connection.scalars(with_hidden_rows(query)))
            for query in (
                select(each.c.reviewer_id).where(each.c.response_id == response_id)
                for each in (REVIEW, COMMENT)
            )
        )
        hides_people = reviewer_id not in reviewers and not reviewers | authors <= {reviewer_id}
    return Hidden(
        judge=any(row.blind_judge for row in rows),
        people=hides_people,
        own=any(row.repeat_for is not None for row in rows),
        queues=tuple(sorted({row.name for row in rows})),
    )


def hidden_answers(
    connection: Connection, reviewer_id: int, response_ids: Collection[int]
) -> set[int]:
    """Return which of these answers have any part that is hidden from a reviewer (`hidden_of`)."""
    query = _blind_items(QUEUE_ITEM.c.response_id).where(QUEUE_ITEM.c.response_id.in_(response_ids))
    return set(connection.scalars(query, {_REVIEWER.key: reviewer_id}))


def hide_rows(connection: Connection, viewer: int | None, source: str | None = None) -> None:
    """Limit a connection to the rows that the viewer may see; a viewer of None sees everything.

    ``source`` is the only source that may be seen, None for all sources of the viewer.
    """
    visible = read_as(connection, viewer, source)
    of_viewer = {_REVIEWER.key: viewer}
    if viewer is None or connection.scalar(_any_blind_item(), of_viewer) is None:
        return
    ids: dict[str, list[int]] = {kind: [] for kind in _hidden_ids()}
    for kind, id_ in connection.execute(_some_hidden_ids(), of_viewer):
        ids[kind].append(id_)
    forms = {kind: _Form.of(len(of_kind)) for kind, of_kind in ids.items()}
    # Of many hidden rows, the statements select the ids: here only some are known.
    parameters = {
        _parameter(kind, form): None if form is _Form.MANY else tuple(sorted(ids[kind]))
        for kind, form in forms.items()
    }
    rows = _VisibleRows(forms, connection.dialect.name == "sqlite", visible)
    of_sources = {} if visible is None else visible.parameters
    filter_rows(connection, rows.of_table, of_viewer | parameters | of_sources)


def read_as(
    connection: Connection, viewer: int | None, source: str | None = None
) -> VisibleSources | None:
    """Set the viewer of a connection and hide other sources, but not blind rows, which `load_item` checks.

    Returns the visible sources, None if all are visible.
    """
    sources = visible_sources(connection, viewer, source)
    connection.execution_options(**{_VIEWER: viewer})
    forget_kept(connection)
    if sources is None:
        return None
    is_sqlite = connection.dialect.name == "sqlite"
    visible = VisibleSources(sources, visible_queues(connection, sources), is_sqlite)
    rows = _VisibleRows({}, is_sqlite, visible)
    filter_rows(connection, rows.of_table, visible.parameters, always=True)
    return visible


def change_as(connection: Connection, sources: tuple[str, ...]) -> None:
    """Limit the changes of a transaction to answers of these sources; other answers are not found."""
    is_sqlite = connection.dialect.name == "sqlite"
    rows = _VisibleRows({}, is_sqlite, VisibleSources(sources, is_sqlite=is_sqlite, changes=True))
    limit_changes(connection, lambda name: rows.of_table(name) if name in METADATA.tables else None)


def viewer_of(connection: Connection) -> int | None:
    """Return the viewer of a connection, None if the connection reads everything."""
    viewer: int | None = connection.get_execution_options().get(_VIEWER)
    return viewer


@kept_while_reading
def count_hidden(connection: Connection) -> int:
    """Return the number of logged answers that are hidden from a connection."""
    if not hides_blind_rows(connection):
        return 0
    # Only logged answers: the number of attempts of a hidden answer would tell what the judge
    # found.
    query = select(func.count()).where(
        LOGGED, RESPONSE.c.id.in_(select(_hidden_ids()["response"].c.id))
    )
    return connection.scalar(with_hidden_rows(query), {_REVIEWER.key: viewer_of(connection)}) or 0


@cache
def _any_blind_item() -> Select[Any]:
    return _blind_items(QUEUE_ITEM.c.id).limit(1)


@cache  # building the query takes longer than running the query
def _blind_items(*columns: Any) -> Select[Any]:
    """Select the open blind items that a reviewer leases or may lease and has not reviewed.

    An item in conflict is not blind: a lead sees the whole item.
    """
    # Subqueries instead of conditions on each item, to read only the reviewer's own leases and
    # assignments.
    leases = select(LEASE.c.queue_item_id).where(
        LEASE.c.reviewer_id == _REVIEWER, LEASE.c.done.is_(False)
    )
    queues = select(QUEUE_ASSIGNMENT.c.queue_id).where(QUEUE_ASSIGNMENT.c.reviewer_id == _REVIEWER)
    # The rules of a queue tell whether the queue can have blind items. Other queues are not read
    # item by item.
    anybody = select(_UNASSIGNED.c.id).where(
        _UNASSIGNED.c.state == QueueState.OPEN.value,
        or_(
            _UNASSIGNED.c.blind_judge.is_(True),
            _UNASSIGNED.c.blind_people.is_(True),
            _UNASSIGNED.c.repeat_rate > 0,
            _UNASSIGNED.c.test_rate > 0,
        ),
        ~exists().where(QUEUE_ASSIGNMENT.c.queue_id == _UNASSIGNED.c.id),
    )
    is_reviewed = exists().where(
        LEASE.c.queue_item_id == QUEUE_ITEM.c.id,
        LEASE.c.reviewer_id == _REVIEWER,
        LEASE.c.done.is_(True),
    )
    return (
        select(*columns)
        .select_from(QUEUE_ITEM)
        .join(QUEUE, QUEUE.c.id == QUEUE_ITEM.c.queue_id)
        .where(
            QUEUE.c.state == QueueState.OPEN.value,
            or_(
                QUEUE.c.blind_judge.is_(True),
                QUEUE.c.blind_people.is_(True),
                QUEUE_ITEM.c.repeat_for.is_not(None),
            ),
            QUEUE_ITEM.c.state == ItemState.OPEN.value,
            or_(QUEUE_ITEM.c.repeat_for.is_(None), QUEUE_ITEM.c.repeat_for == _REVIEWER),
            or_(QUEUE_ITEM.c.id.in_(leases), QUEUE_ITEM.c.queue_id.in_(queues.union_all(anybody))),
            ~is_reviewed,
        )
    )


class _Form(StrEnum):
    """How a statement leaves out the hidden ids of a kind: not at all, as a list, or by a subquery."""

    NONE = "none"
    FEW = "few"
    MANY = "many"

    @classmethod
    def of(cls, ids: int) -> "_Form":
        return cls.NONE if ids == 0 else cls.FEW if ids <= _FEW else cls.MANY


def _parameter(kind: str, form: _Form) -> str:
    return f"hidden_{kind}_{form}"


@dataclass(frozen=True, slots=True)
class _VisibleRows:
    """The visible rows of each table; ``forms`` is by kind, "response" or "pair", and empty if none is blind."""

    forms: Mapping[str, _Form]
    is_sqlite: bool
    sources: VisibleSources | None

    def of_table(self, name: str) -> Select[Any] | None:
        """The query of the visible rows of a table, None if all are visible."""
        if name in _OF_ALL:
            return None
        if name not in METADATA.tables:
            raise ValueError(f"no rule tells which rows of {name} are hidden")
        table = _stored(name)
        conditions = self._not_blind(name, table) if self.forms else []
        if self.sources is not None:
            conditions += self.sources.conditions(name, table)
        if not conditions:
            return None
        return select(literal_column("*")).select_from(table).where(*conditions)

    def _not_blind(self, name: str, table: FromClause) -> list[ColumnElement[bool]]:
        # The stored figures and sentences of these rows count the hidden answers too.
        if name == "alarm":
            return [table.c.measure == MODEL_CHANGED]
        if name in {"alert_event", "alert_delivery"}:
            rules = select(ALERT_RULE.c.id).where(ALERT_RULE.c.condition.in_(_COUNT_NO_ANSWERS))
            return [table.c.alert_rule_id.in_(rules)]
        if not row_of(METADATA.tables[name]).has_hidden_rows:
            return []
        conditions = self._outside(name, table)
        if not hidden_by(name):
            column, whole = part_of(name)
            conditions.append(table.c[column].not_in(self._hidden_rows(whole)))
        if name == "event":  # events of pairs refer to the review
            review = sql_cast(table.c.details["review"].as_string(), BigId)
            conditions.append(or_(review.is_(None), review.not_in(self._hidden_rows("review"))))
        return conditions

    def _hidden_rows(self, name: str) -> Select[Any]:
        table = _stored(name)
        return select(table.c.id).where(~and_(true(), *self._outside(name, table)))

    def _outside(self, name: str, table: FromClause) -> list[ColumnElement[bool]]:
        columns = hidden_by(name).items()
        return [
            self._not_among(table.c[column], kind)
            for column, kind in columns
            if self.forms[kind] is not _Form.NONE
        ]

    def _not_among(self, column: ColumnElement[Any], kind: str) -> ColumnElement[bool]:
        form, hidden_ids = self.forms[kind], _hidden_ids()[kind]
        if (
            form is _Form.MANY and not self.is_sqlite
        ):  # PostgreSQL would scan a long list for every row
            return ~exists().where(hidden_ids.c.id == column)
        ids: Any = select(hidden_ids.c.id)
        if form is _Form.FEW:
            ids = bindparam(
                _parameter(kind, form), type_=BigInteger, expanding=True, literal_execute=True
            )
        outside = column.not_in(ids)
        return or_(column.is_(None), outside) if getattr(column, "nullable", True) else outside


@cache
def _some_hidden_ids() -> CompoundSelect[Any]:
    """Select the kinds and ids of hidden answers and pairs, at most `_FEW` + 1 of each kind."""
    some = {
        kind: select(rows.c.id).limit(_FEW + 1).subquery() for kind, rows in _hidden_ids().items()
    }
    return union_all(*(select(literal(kind), ids.c.id) for kind, ids in some.items()))


@cache
def _hidden_ids() -> dict[str, FromClause]:
    """Return two subqueries of hidden ids: answers (including derived answers and sides of pairs), and pairs."""

    def worked_out(query: Any, name: str) -> FromClause:
        cte: FromClause = query.cte(name).prefix_with("MATERIALIZED")
        return cte

    response, pair = _stored("response").c, _stored("pair").c
    blind = worked_out(_blind_items(QUEUE_ITEM.c.response_id, QUEUE_ITEM.c.pair_id), "blind_item").c
    sides = (pair.response_a_id, pair.response_b_id)
    of_item = pair.id.in_(select(blind.pair_id).where(blind.pair_id.is_not(None)))
    side = worked_out(
        union(*(select(each.label("id")).where(of_item, each.is_not(None)) for each in sides)),
        "hidden_side",
    )
    in_item = select(blind.response_id.label("id")).where(blind.response_id.is_not(None))
    in_side = select(side.c.id)
    answer = worked_out(
        union(
            in_item,
            in_side,
            select(response.derived_from).where(
                response.id.in_(in_side), response.derived_from.is_not(None)
            ),
            *(
                select(response.id).where(response.derived_from.in_(each))
                for each in (in_item, in_side)
            ),
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
    return {"response": answer, "pair": hidden_pair}


def hidden_by(name: str) -> dict[str, str]:
    """Return the columns of a table that refer to an answer or a pair, each with the table ("response" or "pair")."""
    if name in SUBJECTS:
        return {"id": name}
    return {each.column: each.whole for each in references(name) if each.whole in SUBJECTS}


def part_of(name: str) -> tuple[str, str]:
    """Return the column that refers to the judgment, review or comparison of a row, and the table of that row."""
    return next(
        (each.column, each.whole)
        for each in references(name)
        if each.whole in {"judgment", "review", "comparison"}
    )


@cache
def _stored(name: str) -> FromClause:
    """Return a table under a unique alias, so that SQLAlchemy does not correlate the table with the statement."""
    return METADATA.tables[name].alias(f"stored_{name}")

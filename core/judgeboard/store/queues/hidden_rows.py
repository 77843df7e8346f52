"""Leaves what is hidden from a reviewer out of all that a connection reads: the answers and what was said of them.

Whole rows go, whatever asks for them: a list, a figure, a search or an export cannot tell what it does not read. To
somebody who is to review an answer blind it is not there, nor is what was made from it, until they reviewed it. What
they need to review it (its texts) is read by the few functions that ask for the whole row (`shadows.whole`).
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    MetaData,
    Select,
    and_,
    column,
    exists,
    func,
    literal_column,
    or_,
    select,
    table,
    true,
    union,
)
from sqlalchemy import Table as TableOf
from sqlalchemy import cast as sql_cast

from judgeboard.store.queues.hidden import blind_items, hides_anything
from judgeboard.store.queues.item_rows import ITEM
from judgeboard.store.schema.column_types import BigId
from judgeboard.store.schema.table_base import Table
from judgeboard.store.sql.shadows import Shadows, cast

# Which rows of a table go: by the columns that name an answer or a pair, or a row of another table that goes.
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

_VIEWER = "judgeboard_viewer"
_FEW = 1_000  # so many ids stand in a statement itself; more are worked out by it

BLIND = table("blind_item", column("response_id"), column("pair_id"))
SIDE = table("hidden_side", column("id"))
ANSWER = table("hidden_answer", column("id"))
PAIR = table("hidden_pair", column("id"))


def hide_rows(connection: Connection, viewer: int | None) -> None:
    """Let a connection read from here on as a reviewer may.

    Somebody without a name, or with nothing to review blind, sees everything.
    """
    connection.execution_options(**{_VIEWER: viewer})
    if viewer is not None and hides_anything(connection, viewer):
        cast(connection, _Views(connection, viewer).shadows())


def read_as(connection: Connection, viewer: int) -> None:
    """Name the reviewer as whom a connection reads, without leaving rows out of its statements.

    For what asks by itself what of its one answer is hidden (`load_item`): it is as quick in a queue of any size.
    """
    connection.execution_options(**{_VIEWER: viewer})


def viewer_of(connection: Connection) -> int | None:
    """Return the reviewer as whom a connection reads, None where it reads everything."""
    viewer: int | None = connection.get_execution_options().get(_VIEWER)
    return viewer


def count_hidden(connection: Connection) -> int:
    """Return how many answers that wait in queues are left out of what a connection reads."""
    viewer = viewer_of(connection)
    if viewer is None:
        return 0
    query = blind_items(viewer).with_only_columns(func.count(ITEM.c.response_id.distinct()))
    return int(connection.execute(query).scalar_one())


class _Views:
    """What is left of each table for one reviewer."""

    def __init__(self, connection: Connection, viewer: int) -> None:
        self._dialect = connection.dialect
        schema = "main" if self._dialect.name == "sqlite" else self._dialect.default_schema_name or "public"
        self._stored = _stored(schema)
        hidden = self._hidden(viewer)
        self._sets = {name: self._text(query) for name, query in hidden.items()}
        self._few: dict[str, list[int] | None] = {}
        for gone in (ANSWER, PAIR):
            query = select(gone.c.id).limit(_FEW + 1).add_cte(*(each.cte(name) for name, each in hidden.items()))
            ids = list(connection.execute(query).scalars())
            self._few[gone.name] = None if len(ids) > _FEW else ids

    def shadows(self) -> Shadows:
        return Shadows({name: self._text(self._left(name)) for name in {**ANSWERS, **PAIRS, **PARTS}}, self._sets)

    def _hidden(self, viewer: int) -> dict[str, Select[Any] | CompoundSelect[Any]]:
        """The ids that are hidden: answers with what was made from them, pairs with their sides."""
        response, pair = self._stored["response"].c, self._stored["pair"].c
        sides = (pair.response_a_id, pair.response_b_id)
        of_item = pair.id.in_(select(BLIND.c.pair_id).where(BLIND.c.pair_id.is_not(None)))
        side = select(SIDE.c.id)
        item = select(BLIND.c.response_id).where(BLIND.c.response_id.is_not(None))
        return {
            BLIND.name: blind_items(viewer).with_only_columns(ITEM.c.response_id, ITEM.c.pair_id),
            SIDE.name: union(*(select(each.label("id")).where(of_item, each.is_not(None)) for each in sides)),
            ANSWER.name: union(
                select(BLIND.c.response_id.label("id")).where(BLIND.c.response_id.is_not(None)),
                side,
                select(response.derived_from).where(response.id.in_(side), response.derived_from.is_not(None)),
                select(response.id).where(response.derived_from.in_(item)),
                select(response.id).where(response.derived_from.in_(side)),
            ),
            PAIR.name: union(
                select(BLIND.c.pair_id.label("id")).where(BLIND.c.pair_id.is_not(None)),
                *(select(pair.id).where(each.in_(select(ANSWER.c.id))) for each in sides),
            ),
        }

    def _left(self, name: str) -> Select[Any]:
        stored = self._stored[name]
        query: Select[Any] = select(literal_column("*")).select_from(stored)
        if name == "event":  # those of pairs name the review
            said = sql_cast(stored.c.details["review"].as_string(), BigId)
            return query.where(self._outside(name), or_(said.is_(None), said.not_in(self._gone("review"))))
        if name not in PARTS:
            return query.where(self._outside(name))
        of, whole = PARTS[name]
        return query.where(stored.c[of].not_in(self._gone(whole)))

    def _gone(self, name: str) -> Select[Any]:
        return select(self._stored[name].c.id).where(~self._outside(name))

    def _outside(self, name: str) -> ColumnElement[bool]:
        stored = self._stored[name].c
        answers = (self._not_among(stored[each], ANSWER) for each in ANSWERS.get(name, ()))
        pairs = (self._not_among(stored[each], PAIR) for each in PAIRS.get(name, ()))
        return and_(*answers, *pairs)

    def _not_among(self, named: Any, gone: Any) -> ColumnElement[bool]:
        few = self._few[gone.name]
        if few == []:
            return true()
        if few is None and self._dialect.name != "sqlite":  # PostgreSQL would walk a long list for every row
            return ~exists().where(gone.c.id == named)
        outside = named.not_in(select(gone.c.id) if few is None else few)
        return or_(named.is_(None), outside) if named.nullable else outside

    def _text(self, query: Select[Any] | CompoundSelect[Any]) -> str:
        return str(query.compile(dialect=self._dialect, compile_kwargs={"literal_binds": True}))


@cache
def _stored(schema: str) -> dict[str, TableOf]:
    """The tables by name. Named with their schema they are what they are behind the views."""
    apart = MetaData()
    return {name: one.to_metadata(apart, schema=schema) for name, one in Table.metadata.tables.items()}

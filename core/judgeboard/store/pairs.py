"""Stored pairs: found by their outside ids, read by id with both answers, and up to which rows they are stored."""

from collections.abc import Collection
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, func, select

from judgeboard.domain import PairItem, Preference
from judgeboard.store.method_tables import COMPARISON, PAIR, SAMPLE
from judgeboard.store.row_filter import with_hidden_rows
from judgeboard.store.statements import batches
from judgeboard.store.tables import EVENT, RESPONSE, REVIEW


class NamedPair(NamedTuple):
    """A pair that answers to an outside id."""

    id: int
    source: str


def load_pairs(connection: Connection, ids: Collection[int], *, hidden_too: bool = False) -> list[PairItem]:
    """Return these pairs by id; one that is not stored is left out.

    With ``hidden_too`` those are among them that the reader is to review blind: who asks shows the texts alone.
    """
    a, b = RESPONSE.alias(), RESPONSE.alias()
    query = (
        select(
            PAIR,
            a.c.answer.label("answer_a"),
            b.c.answer.label("answer_b"),
            a.c.generator_model.label("model_a"),
            b.c.generator_model.label("model_b"),
            a.c.passages.label("passages_a"),
            b.c.passages.label("passages_b"),
        )
        .join(a, a.c.id == PAIR.c.response_a_id, isouter=True)
        .join(b, b.c.id == PAIR.c.response_b_id, isouter=True)
        .order_by(PAIR.c.id)
    )
    wanted, items = sorted(set(ids)), []
    for some in batches(wanted):
        items += [
            PairItem(
                id=row.id,
                source=row.source,
                external_id=row.external_id,
                query_type=row.query_type,
                question=row.question,
                options=None if row.options is None else tuple(row.options),
                reference=row.reference,
                answer_a=row.answer_a,
                answer_b=row.answer_b,
                model_a=row.model_a,
                model_b=row.model_b,
                response_a_id=row.response_a_id,
                response_b_id=row.response_b_id,
                gold=None if row.gold is None else Preference(row.gold),
                passages=None if row.passages_a is None or row.passages_a != row.passages_b else tuple(row.passages_a),
            )
            for row in connection.execute(_these(query.where(PAIR.c.id.in_(some)), hidden_too=hidden_too))
        ]
    return items


def _these(query: Select[Any], *, hidden_too: bool) -> Select[Any]:
    return with_hidden_rows(query) if hidden_too else query


def pair_ids(
    connection: Connection,
    *,
    source: str | None = None,
    query_type: str | None = None,
    with_answers: bool = False,
    after: int = 0,
    up_to: int | None = None,
    limit: int | None = None,
) -> list[int]:
    """Return ids of pairs in order, behind ``after`` and not behind ``up_to``.

    Args:
        connection: A transaction.
        source: Only pairs of this source.
        query_type: Only pairs of this query type.
        with_answers: Only pairs that have both sides.
        after: The last id of the page before.
        up_to: The highest id that counts: what a run fixes at its start.
        limit: At most so many.
    """
    query = select(PAIR.c.id).where(PAIR.c.id > after).order_by(PAIR.c.id)
    if source is not None:
        query = query.where(PAIR.c.source == source)
    if query_type is not None:
        query = query.where(PAIR.c.query_type == query_type)
    if with_answers:
        query = query.where(PAIR.c.response_a_id.is_not(None), PAIR.c.response_b_id.is_not(None))
    if up_to is not None:
        query = query.where(PAIR.c.id <= up_to)
    return list(connection.execute(query if limit is None else query.limit(limit)).scalars())


def ids_of_pairs(connection: Connection, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return the ids of those pairs, by (source, outside id), that are stored."""
    wanted = sorted({external_id for _, external_id in keys})
    found: dict[tuple[str, str], int] = {}
    for some in batches(wanted):
        for external_id, named in pairs_named(connection, some).items():
            found |= {(one.source, external_id): one.id for one in named}
    return {key: found[key] for key in keys if key in found}


def pairs_named(connection: Connection, external_ids: Collection[str]) -> dict[str, list[NamedPair]]:
    """Return, for each outside id that is stored, the pairs of every source that have it, the oldest first."""
    found: dict[str, list[NamedPair]] = {}
    query = select(PAIR.c.external_id, PAIR.c.id, PAIR.c.source).order_by(PAIR.c.id)
    for external_id, pair_id, source in connection.execute(query.where(PAIR.c.external_id.in_(external_ids))):
        found.setdefault(external_id, []).append(NamedPair(pair_id, source))
    return found


class LastRows(NamedTuple):
    """The highest id of each table, 0 where it is empty.

    Rows are added and never changed but by forgetting, which writes an event: equal ids are equal contents.
    """

    pair: int
    comparison: int
    review: int
    sample: int
    event: int


def last_rows(connection: Connection) -> LastRows:
    """Return up to which rows there are, each a look at the end of its primary key."""
    tables = (PAIR, COMPARISON, REVIEW, SAMPLE, EVENT)
    highest = (func.coalesce(select(func.max(each.c.id)).scalar_subquery(), 0) for each in tables)
    return LastRows._make(connection.execute(select(*highest)).one())

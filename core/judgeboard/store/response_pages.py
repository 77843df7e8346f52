"""Pages of logged answers with a filter and an order, the choices of the filter, and columns of facts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote

from sqlalchemy import ColumnElement, Connection, Select, func, literal_column, select

from judgeboard.domain import LISTED, FlagState, with_fields
from judgeboard.errors import BadInput
from judgeboard.stats.arrays import IntArray
from judgeboard.store.filter_conditions import (
    SHORTEST,
    day_conditions,
    indexed_matches,
    of_judge,
    other_text_conditions,
    subquery_conditions,
    text_conditions,
    verdict_conditions,
)
from judgeboard.store.filters import (
    METADATA,
    PARTS,
    SCORE_FIELDS,
    Facets,
    RowFilter,
    metadata_field,
    metadata_path,
)
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.listing import KeyedList, LinePage, Order, occurring_values
from judgeboard.store.metadata import (
    as_stored,
    index_name,
    indexed_fields,
    metadata_value,
    with_metadata,
)
from judgeboard.store.responses import ANSWER, QUESTION, latest_feedback
from judgeboard.store.reviews import is_current
from judgeboard.store.statements import (
    LOGGED,
    NO_DAY,
    OPEN,
    TextColumn,
    any_row,
    columns_of,
    listed,
    read_columns,
    record_of,
)
from judgeboard.store.tables import CURRENT, FLAG, RESPONSE, REVIEW, VERSION, version_title
from judgeboard.store.verdict_pairs import OneVerdict

# The expression of the index. Answers without a time come first in the index, and last if the
# newest answers come first.
_ASKED: ColumnElement[Any] = literal_column(f"coalesce(response.asked_day, {NO_DAY})")
_LAST_DAY = 9_999_999
# The columns of answers that the list reads from the index alone, and the columns for counts.
_LISTED, _COUNTED = (
    next(index.columns for index in RESPONSE.indexes if index.name == name)
    for name in ("ix_response_asked", "ix_response_share")
)
_FEW = 5_000  # looking up so many ids is faster than reading an index of the whole log

NEWEST = Order(
    "newest", "newest first", _ASKED, RESPONSE.c.id, "ix_response_asked", descending=True
)
LOWEST = Order(
    "lowest",
    "lowest groundedness first",
    CURRENT.c.groundedness,
    CURRENT.c.response_id,
    "ix_current_judgment_score",
)
OLDEST = replace(NEWEST, name="oldest", words="oldest first", descending=False)
HIGHEST = replace(LOWEST, name="highest", words="highest groundedness first", descending=True)
ORDERS: dict[str, Order] = {order.name: order for order in (NEWEST, OLDEST, LOWEST, HIGHEST)}
DESCENDING = "-"  # before the name of a metadata field in an order


def order_of(connection: Connection, where: RowFilter, sort: str) -> Order:
    """Return the order with this name; newest first if the filter's answers lack the groundedness for the order.

    ``metadata.tenant`` sorts by this field, ``-metadata.tenant`` in descending order.
    """
    field = sort.removeprefix(DESCENDING)
    if field.startswith(METADATA):
        descending = sort != field
        field = metadata_field(metadata_path(field.removeprefix(METADATA)))
        return Order(
            f"{DESCENDING if descending else ''}{METADATA}{quote(field)}",
            f"by {field}{', descending' if descending else ''}, only answers that have it",
            metadata_value(connection, field),
            RESPONSE.c.id,
            index_name(field) if field in indexed_fields(connection) else None,
            descending=descending,
            stored=partial(as_stored, connection),
        )
    if sort not in ORDERS:
        raise BadInput(f"the order of answers must be one of {', '.join(ORDERS)}, not {sort!r}")
    order = ORDERS[sort]
    without_score = where.judge_side == "none" or where.unscored == "groundedness"
    return NEWEST if without_score and order.value is LOWEST.value else order


def response_list(connection: Connection, where: RowFilter, sort: str) -> KeyedList:
    """Return the list in an order. Sorted by groundedness or metadata, the list has only answers with a value."""
    order = order_of(connection, where, sort)
    narrow = where.response_ids is not None or bool(where.ids)
    searches: list[tuple[Select[Any], dict[str, Any]]] = []
    if (
        where.text is not None
        and len(where.text) >= SHORTEST
        and connection.dialect.name == "sqlite"
    ):
        searches.append((indexed_matches(where.text), {"text": None}))
    if where.metadata:
        searches.append((with_metadata(connection, where), {"metadata": ()}))
    for search, without in searches:
        matches = connection.scalars(search.limit(_FEW + 1)).all()
        if len(matches) <= _FEW:
            ids = matches if where.response_ids is None else set(matches) & set(where.response_ids)
            where, narrow = replace(where, **without, response_ids=tuple(ids)), True
    # By groundedness: a list of current judgments, not of answers.
    if order.value is LOWEST.value:
        own = [CURRENT.c.groundedness.is_not(None), *verdict_conditions(connection, where)]
        of_answers = where.without("judge_side", "unscored", "user", *SCORE_FIELDS)
        if not where.statuses:
            of_answers = of_answers.without("judge", "judge_version")
        elsewhere = subquery_conditions(connection, of_answers, CURRENT.c.response_id)
        elsewhere += other_text_conditions(where, CURRENT.c, CURRENT.c.response_id)
        # The index of scores is by judge name; the verdicts of one version are sorted without an
        # index.
        by_name = where.judge_version is None
        read_index = LOWEST.index if by_name else "ix_current_judgment_version_trend"
        return KeyedList(
            connection,
            CURRENT,
            order if by_name else replace(order, index=None),
            own=own,
            elsewhere=elsewhere,
            count_index=read_index,
            gather_index="ix_current_judgment_response" if narrow else read_index,
        )
    by_time = order.value is NEWEST.value
    own = text_conditions(where, _LISTED) + day_conditions(where, RESPONSE.c.asked_day)
    if where.day_from is not None or where.day_to is not None:
        own.append(
            _ASKED.between(where.day_from or 0, _LAST_DAY if where.day_to is None else where.day_to)
        )
    elsewhere = subquery_conditions(connection, where, RESPONSE.c.id)
    elsewhere += other_text_conditions(where, _LISTED, RESPONSE.c.id)
    only_share = by_time and all(name in _COUNTED for name in where.texts)
    return KeyedList(
        connection,
        RESPONSE,
        order,
        own=[LOGGED, *own, *([] if by_time else [order.value.is_not(None)])],
        elsewhere=elsewhere,
        count_index="ix_response_share" if only_share else order.index,
        gather_index=None if narrow else order.index,
    )


def response_facets(connection: Connection) -> Facets:
    """Return the choices of the filter, at most 200 of each kind, with one index seek per value."""
    return Facets(
        parts={each.name: logged_values(connection, column) for column, each in PARTS.items()},
        judges=tuple(sorted({version.name for version in list_versions(connection)})),
    )


def logged_values(connection: Connection, part: str) -> tuple[str, ...]:
    """Return the values of logged answers in one of the `PARTS`, without other kinds, such as suite answers."""
    column = RESPONSE.c[part]
    if part == "query_type":  # the index of query types begins with the kind
        return occurring_values(connection, column, LOGGED)
    return tuple(
        value
        for value in occurring_values(connection, column)
        if any_row(connection, column == value, LOGGED)
    )


@dataclass(frozen=True, slots=True)
@with_fields(LISTED, str | None, None)
class ResponseLine:
    """An answer in the list; ``judged`` is the verdict of the filter's judge, by default the primary judge's.

    ``judges`` counts the judge names with a usable verdict, ``reviews`` the people with a current
    review; ``flag_id`` is the open flag with the highest severity.
    """

    response_id: int
    external_id: str
    source: str
    query_type: str
    question: str | None
    answer: str | None
    generator_model: str | None
    asked_at: datetime | None
    user_feedback: str | None
    judged: OneVerdict | None
    judges: int
    reviews: int
    flag_id: int | None


def response_page(
    connection: Connection,
    where: RowFilter,
    sort: str = "newest",
    *,
    after: str | None = None,
    before: str | None = None,
    limit: int = 50,
) -> LinePage[ResponseLine]:
    """Return a page of the answers (`KeyedList.page`) in one of ``ORDERS``. Raises BadInput for another order."""
    return response_list(connection, where, sort).page(
        after, before, limit, partial(_lines, connection, where)
    )


def _lines(
    connection: Connection, where: RowFilter, ids: Sequence[int]
) -> tuple[ResponseLine, ...]:
    names = dict.fromkeys(
        ("id", "external_id", "source", "query_type", "generator_model", "asked_at", *LISTED)
    )
    query = select(*(RESPONSE.c[name] for name in names), QUESTION, ANSWER).where(
        RESPONSE.c.id.in_(ids)
    )
    feedback = latest_feedback(connection, ids)
    verdicts: Select[Any] = (
        select(
            CURRENT.c.response_id,
            *columns_of(OneVerdict, CURRENT),
            VERSION.c.name,
            VERSION.c.number,
        )
        .join(VERSION, VERSION.c.id == CURRENT.c.judge_version_id)
        .where(CURRENT.c.response_id.in_(ids), *of_judge(connection, where))
        .order_by(CURRENT.c.judgment_id)
    )
    verdict_lines = {
        row.response_id: record_of(
            OneVerdict, row, version_title=version_title(row.name, row.number)
        )
        for row in connection.execute(verdicts)
    }
    counts = select(CURRENT.c.response_id, func.count()).group_by(CURRENT.c.response_id)
    judges = _by_id(
        connection, counts.where(CURRENT.c.response_id.in_(ids), CURRENT.c.is_current.is_(True))
    )
    people = func.count(REVIEW.c.reviewer_id.distinct())
    reviewer_counts = select(REVIEW.c.response_id, people).group_by(REVIEW.c.response_id)
    reviews = _by_id(connection, reviewer_counts.where(REVIEW.c.response_id.in_(ids), is_current()))
    open_flags = select(FLAG.c.response_id, FLAG.c.id).order_by(FLAG.c.severity, FLAG.c.id.desc())
    flags = _by_id(connection, open_flags.where(FLAG.c.response_id.in_(ids), OPEN))
    lines = {
        row.id: record_of(
            ResponseLine,
            row,
            response_id=row.id,
            user_feedback=feedback.get(row.id),
            judged=verdict_lines.get(row.id),
            judges=judges.get(row.id, 0),
            reviews=reviews.get(row.id, 0),
            flag_id=flags.get(row.id),
        )
        for row in connection.execute(query)
    }
    return tuple(lines[id_] for id_ in ids)


def _by_id(connection: Connection, query: Select[Any]) -> dict[int, int]:
    return {row[0]: row[1] for row in connection.execute(query)}


UNKNOWN = "unknown"  # the generator model if the log has none


@dataclass(frozen=True, slots=True, eq=False)
class ResponseFacts:
    """Columns of responses by id, ascending; ``days`` count from 1970-01-01 (below 0: no time)."""

    ids: IntArray
    evidence_groups: IntArray
    query_types: TextColumn
    sources: TextColumn
    generators: TextColumn
    days: IntArray


def response_facts(connection: Connection, ids: IntArray) -> ResponseFacts:
    """Return the facts of responses, ascending by id."""
    columns = (
        RESPONSE.c.id,
        RESPONSE.c.evidence_group,
        RESPONSE.c.query_type,
        RESPONSE.c.source,
        func.coalesce(RESPONSE.c.generator_model, UNKNOWN),
        func.coalesce(RESPONSE.c.asked_day, NO_DAY),
    )
    query = (
        select(*columns)
        .where(RESPONSE.c.id.in_(listed(connection, ids.tolist())))
        .order_by(RESPONSE.c.id)
    )
    return ResponseFacts(*read_columns(connection, query))


def rules_of(connection: Connection, ids: IntArray) -> dict[str, IntArray]:
    """Return the ids of the responses that have a flag of a rule, ascending, by rule; superseded flags do not count."""
    conditions = (
        FLAG.c.response_id.in_(listed(connection, ids.tolist())),
        FLAG.c.state != FlagState.SUPERSEDED,
    )
    query = (
        select(FLAG.c.rule, FLAG.c.response_id)
        .where(*conditions)
        .distinct()
        .order_by(FLAG.c.response_id)
    )
    rules, response_ids = read_columns(connection, query)
    return {rule: response_ids[rules.codes == code] for code, rule in enumerate(rules.names)}

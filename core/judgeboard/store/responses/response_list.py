"""The list behind the Responses page: logged answers under a filter, in an order."""

from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, literal_column, select

from judgeboard.errors import BadInput
from judgeboard.filters import RowFilter
from judgeboard.store.filters.filter_columns import on_days, one_of
from judgeboard.store.filters.filter_sets import picked_elsewhere
from judgeboard.store.filters.filter_sql import RESPONSE
from judgeboard.store.filters.filter_verdicts import verdict_conditions
from judgeboard.store.filters.judge_sides import CURRENT
from judgeboard.store.filters.search import few_matches
from judgeboard.store.listing import KeyedList, Order
from judgeboard.store.sql.literal_conditions import LOGGED

# As the index holds it: answers without a time come before all others there, and so last where the newest are first.
_ASKED: ColumnElement[Any] = literal_column("coalesce(response.asked_day, -1)")
_LAST_DAY = 9_999_999
_FEW = 5_000  # so many ids are looked up faster than an index of the whole log is walked

NEWEST = Order(
    "newest", "newest first", _ASKED, RESPONSE.c.id, "ix_response_asked", descending=True, id_descending=True
)
LOWEST = Order(
    "lowest",
    "lowest groundedness first",
    CURRENT.c.groundedness,
    CURRENT.c.response_id,
    "ix_current_judgment_score",
)
ORDERS: dict[str, Order] = {order.name: order for order in (NEWEST, LOWEST)}


def order_of(given: RowFilter, sort: str) -> Order:
    """Return the order that a list is in where ``sort`` is asked for.

    Where answers without a verdict or a groundedness are asked for, there is none to sort by: the newest come first.

    Raises:
        BadInput: There is no such order.
    """
    if sort not in ORDERS:
        raise BadInput(f"answers are sorted by one of {', '.join(ORDERS)}, not {sort!r}")
    return NEWEST if given.judge_side == "none" or given.unscored == "groundedness" else ORDERS[sort]


def response_list(connection: Connection, given: RowFilter, sort: str) -> KeyedList:
    """Return the list as `order_of` sorts it; ``lowest`` holds only answers with a groundedness of the judge meant.

    Raises:
        BadInput: There is no such order.
    """
    order = order_of(given, sort)
    narrow = given.response_ids is not None or bool(given.ids)
    if given.text is not None:
        matches = few_matches(connection, given.text, _FEW)
        if matches is not None:
            wanted = matches if given.response_ids is None else tuple(set(matches) & set(given.response_ids))
            given, narrow = replace(given, text=None, response_ids=wanted), True
    if order is LOWEST:
        return _by_score(connection, given, narrow=narrow)
    return _by_time(connection, given, narrow=narrow)


def _by_time(connection: Connection, given: RowFilter, *, narrow: bool) -> KeyedList:
    own = one_of(
        (given.query_types, RESPONSE.c.query_type),
        (given.sources, RESPONSE.c.source),
        (given.models, RESPONSE.c.generator_model),
    )
    own += on_days(given, RESPONSE.c.asked_day)
    if given.day_from is not None or given.day_to is not None:
        own.append(_ASKED.between(given.day_from or 0, _LAST_DAY if given.day_to is None else given.day_to))
    elsewhere = picked_elsewhere(connection, given, RESPONSE.c.id)
    if given.ids:
        elsewhere.append(_named(given, RESPONSE.c.id))
    only_share = not given.sources and not given.models
    return KeyedList(
        connection,
        RESPONSE,
        NEWEST,
        own=[LOGGED, *own],
        elsewhere=elsewhere,
        count_index="ix_response_share" if only_share else NEWEST.index,
        gather_index=None if narrow else NEWEST.index,
    )


def _by_score(connection: Connection, given: RowFilter, *, narrow: bool) -> KeyedList:
    own = [CURRENT.c.groundedness.is_not(None), *verdict_conditions(connection, given)]
    of_answers = replace(
        given,
        judge=given.judge if given.statuses else None,
        judge_version=given.judge_version if given.statuses else None,
        judge_side=None,
        unscored=None,
        user=None,
        min_score=None,
        max_score=None,
        min_quality=None,
        max_quality=None,
    )
    elsewhere = picked_elsewhere(connection, of_answers, CURRENT.c.response_id)
    if given.ids:
        elsewhere.append(_named(given, CURRENT.c.response_id))
    if given.models:
        written = select(RESPONSE.c.id).where(RESPONSE.c.generator_model.in_(given.models))
        elsewhere.append(CURRENT.c.response_id.in_(written))
    # The index of scores is one of judges by name; a version's verdicts are sorted as they are found.
    by_name = given.judge_version is None
    walked = LOWEST.index if by_name else "ix_current_judgment_version_trend"
    return KeyedList(
        connection,
        CURRENT,
        LOWEST if by_name else replace(LOWEST, index=None),
        own=own,
        elsewhere=elsewhere,
        count_index=walked,
        gather_index="ix_current_judgment_response" if narrow else walked,
    )


def _named(given: RowFilter, response_id: ColumnElement[int]) -> ColumnElement[bool]:
    named = RESPONSE.alias("named")
    return response_id.in_(select(named.c.id).where(named.c.external_id.in_(given.ids)))

"""The shared filter as conditions of SQL: on responses, on open flags."""

from dataclasses import replace
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from judgeboard.filters import RowFilter
from judgeboard.store.filters.filter_columns import on_days, one_of, within
from judgeboard.store.filters.filter_sets import picked_elsewhere
from judgeboard.store.schema.tables import FLAG, RESPONSE
from judgeboard.store.sql.literal_conditions import LOGGED


class Narrowing(NamedTuple):
    """Conditions on the columns of the row itself, and those that other tables decide."""

    own: list[ColumnElement[bool]]
    elsewhere: list[ColumnElement[bool]]


def response_conditions(connection: Connection, where: RowFilter) -> list[ColumnElement[bool]]:
    """Return the conditions that a row of response must meet: of the log or the kinds named, and all that narrows.

    A status and a judge in one filter mean that judge's latest judgment, usable or not.
    """
    own = one_of(
        (where.query_types, RESPONSE.c.query_type),
        (where.sources, RESPONSE.c.source),
        (where.models, RESPONSE.c.generator_model),
        (where.ids, RESPONSE.c.external_id),
    )
    own += on_days(where, RESPONSE.c.asked_day)
    kind = RESPONSE.c.kind.in_(where.kinds) if where.kinds else LOGGED
    return [kind, *own, *picked_elsewhere(connection, where, RESPONSE.c.id)]


def flag_narrowing(connection: Connection, where: RowFilter) -> Narrowing:
    """Return what the filter asks of an open flag; ``states`` asks nothing, since the queue holds open ones.

    Rule, judge, score, day, source and query type are the flag's own copies, which the indexes of the queue hold; a
    judge's side, a missing score and a judge version are looked up.
    """
    own = one_of(
        (where.rules, FLAG.c.rule),
        (where.query_types, FLAG.c.query_type),
        (where.sources, FLAG.c.source),
        ((where.judge,) if where.judge else (), FLAG.c.judge_name),
    )
    own += on_days(where, FLAG.c.asked_day)
    own += within(where, FLAG.c.groundedness, FLAG.c.quality)
    looked_up = replace(where, rules=(), states=(), min_score=None, max_score=None, min_quality=None, max_quality=None)
    if where.judge_side is None and where.unscored is None and where.judge_version is None:
        looked_up = replace(looked_up, judge=None)
    elsewhere = picked_elsewhere(connection, looked_up, FLAG.c.response_id)
    named = one_of((where.models, RESPONSE.c.generator_model), (where.ids, RESPONSE.c.external_id))
    if named:
        elsewhere.append(FLAG.c.response_id.in_(select(RESPONSE.c.id).where(*named)))
    return Narrowing(own, elsewhere)

"""Answers picked by what stands in other tables: verdicts, reviews, feedback, flags, texts."""

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    exists,
    select,
)

from judgeboard.domain import FlagState, Status
from judgeboard.filters import RowFilter
from judgeboard.store.filters.filter_verdicts import asks_verdict, unjudged, verdict_conditions
from judgeboard.store.filters.judge_sides import CURRENT
from judgeboard.store.filters.search import text_condition
from judgeboard.store.filters.user_sides import FEEDBACK, feedback_sides, is_latest
from judgeboard.store.reviews.standing import REVIEW, has_grade, standing
from judgeboard.store.schema.tables import FLAG, JUDGMENT, VERSION
from judgeboard.store.sql.batches import listed
from judgeboard.store.sql.literal_conditions import NOT_OK


def picked_elsewhere(
    connection: Connection, where: RowFilter, response_id: ColumnElement[int]
) -> list[ColumnElement[bool]]:
    """Return the conditions on the response that ``response_id`` names.

    Each is a set of responses that the engine works out once for a statement, whatever the number of rows.
    """
    conditions: list[ColumnElement[bool]] = []
    if where.rules or where.states:
        conditions.append(response_id.in_(_flagged(where)))
    if asks_verdict(where):
        scored = select(CURRENT.c.response_id).where(*verdict_conditions(connection, where))
        conditions.append(response_id.in_(scored))
    elif where.user is not None:
        conditions.append(_user_side(where.user, response_id))
    if where.judge_side == "none":
        conditions.append(unjudged(connection, where, response_id))
    if where.statuses:
        conditions.append(response_id.in_(_last_said(where)))
    if where.graded is not None:
        graded = select(REVIEW.c.response_id).where(has_grade(), standing())
        conditions.append(response_id.in_(graded) if where.graded else response_id.not_in(graded))
    if where.response_ids is not None:
        conditions.append(response_id.in_(listed(connection, where.response_ids)))
    if where.text is not None:
        conditions.append(text_condition(connection, response_id, where.text))
    return conditions


def _user_side(side: str, response_id: ColumnElement[int]) -> ColumnElement[bool]:
    """By the latest feedback, whether or not a judge spoke."""
    if side == "none":
        return response_id.not_in(select(FEEDBACK.c.response_id))
    return response_id.in_(select(FEEDBACK.c.response_id).where(feedback_sides()[side], is_latest()))


def _flagged(where: RowFilter) -> Select[tuple[int]]:
    query = select(FLAG.c.response_id)
    if where.rules:
        query = query.where(FLAG.c.rule.in_(where.rules))
    states = where.states or tuple(state.value for state in FlagState if state is not FlagState.SUPERSEDED)
    return query.where(FLAG.c.state.in_(states))


def _last_said(where: RowFilter) -> Select[tuple[int]]:
    """Responses on which the latest judgment of a version has one of the statuses."""
    later = JUDGMENT.alias()
    newer = exists().where(
        later.c.response_id == JUDGMENT.c.response_id,
        later.c.judge_version_id == JUDGMENT.c.judge_version_id,
        later.c.repeat == 0,
        later.c.id > JUDGMENT.c.id,
    )
    query = select(JUDGMENT.c.response_id).where(JUDGMENT.c.status.in_(where.statuses), JUDGMENT.c.repeat == 0, ~newer)
    if Status.OK.value not in where.statuses:
        query = query.where(NOT_OK)
    if where.judge_version is not None:
        query = query.where(JUDGMENT.c.judge_version_id == where.judge_version)
    elif where.judge is not None:
        named = select(VERSION.c.id).where(VERSION.c.name == where.judge)
        query = query.where(JUDGMENT.c.judge_version_id.in_(named))
    return query

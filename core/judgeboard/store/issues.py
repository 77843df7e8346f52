"""Stores issues, and counts the answers of a filter by day and the flags on them by state."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from judgeboard.domain import FlagState, IssueState
from judgeboard.errors import BadInput, NotFound
from judgeboard.store.filter_conditions import response_conditions, value_conditions
from judgeboard.store.filters import RowFilter, from_dict
from judgeboard.store.reviews import is_current
from judgeboard.store.statements import insert_or_skip, record_of
from judgeboard.store.tables import FLAG, ISSUE, RESPONSE, REVIEW


@dataclass(frozen=True, slots=True)
class Issue:
    """A systemic problem: a title, and the filter ``where``, which also matches answers that are stored later.

    ``fixed_day`` counts from 1970-01-01 in UTC. Every change is a new ``version``; ``by`` and ``at`` tell who made it
    and when. An issue has the number 0 until it is stored.
    """

    title: str
    where: RowFilter
    description: str | None = None
    owner: str | None = None
    state: IssueState = IssueState.OPEN
    fixed_day: int | None = None
    number: int = 0
    version: int = 0
    by: str = ""
    at: datetime | None = None


def list_issues(connection: Connection, *, closed: bool = True) -> list[Issue]:
    """Return the issues, the newest first; without ``closed`` only open and fixed ones."""
    latest = select(func.max(ISSUE.c.id)).group_by(ISSUE.c.number)
    query = select(ISSUE).where(ISSUE.c.id.in_(latest)).order_by(ISSUE.c.number.desc())
    if not closed:
        query = query.where(ISSUE.c.state != IssueState.CLOSED.value)
    return [record_of(Issue, row, where=from_dict(row.filter)) for row in connection.execute(query)]


def get_issue(connection: Connection, number: int) -> Issue:
    """Return an issue, or raise NotFound."""
    issue = next((each for each in list_issues(connection) if each.number == number), None)
    if issue is None:
        raise NotFound(f"there is no issue {number}: `judgeboard issue list` shows all")
    return issue


def insert_issue(connection: Connection, issue: Issue) -> None:
    """Store a version of an issue; raise BadInput if somebody else stored this version first."""
    columns = {name: getattr(issue, name) for name in Issue.__dataclass_fields__ if name != "where"}
    statement = insert_or_skip(connection, ISSUE).returning(ISSUE.c.id)
    if connection.execute(statement, {**columns, "filter": issue.where.as_dict()}).scalar() is None:
        raise BadInput(f"somebody else has just changed issue {issue.number}: load it again")


def answers_by_day(connection: Connection, where: RowFilter, *, reviewed: bool = False) -> dict[int | None, int]:
    """Return the number of a filter's answers by UTC day since 1970-01-01; ``reviewed`` limits it to reviewed ones."""
    conditions = response_conditions(connection, where)
    if reviewed:
        conditions.append(RESPONSE.c.id.in_(select(REVIEW.c.response_id).where(is_current())))
    query = select(RESPONSE.c.asked_day, func.count()).where(*conditions).group_by(RESPONSE.c.asked_day)
    return dict(connection.execute(query).all())


def flags_by_state(connection: Connection, where: RowFilter) -> dict[str, int]:
    """Return the number of flags on a filter's answers by state. If the filter has rules, other flags do not count."""
    answers = select(RESPONSE.c.id).where(*response_conditions(connection, where))
    query = select(FLAG.c.state, func.count()).where(
        FLAG.c.state != FlagState.SUPERSEDED.value,
        FLAG.c.response_id.in_(answers),
        *value_conditions((where.rules, FLAG.c.rule)),
    )
    counts = {state.value: n for state, n in connection.execute(query.group_by(FLAG.c.state))}
    return {"open": 0, "confirmed": 0, "dismissed": 0} | counts

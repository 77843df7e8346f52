"""Stores failure modes, with which reviewers tag answers, and issues; counts answers and flags of both."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
)

from judgeboard.domain import FlagState, IssueState, Label
from judgeboard.errors import BadInput, NotFound
from judgeboard.store.filter_conditions import response_conditions, rule_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.reviews import is_current
from judgeboard.store.statements import (
    CURRENT_OF_VERSION,
    LOGGED,
    grouped,
    insert_or_skip,
    rows_of,
    rows_with,
)
from judgeboard.store.tables import (
    CURRENT,
    FAILURE_MODE,
    FLAG,
    ISSUE,
    RESPONSE,
    REVIEW,
    REVIEW_FAILURE_MODE,
    FailureMode,
    Issue,
)

LONGEST_MODE, LONGEST_TITLE = (
    60,
    100,
)  # characters of the name of a failure mode, of the title of an issue
KEYS = "ABDEFGHIJKLMNOPQSTUVWXYZ"
"""The letters that can be keys of failure modes. Streamlit itself uses C and R."""


def list_issues(connection: Connection) -> list[Issue]:
    """Return the issues, the newest first, and closed ones last."""
    latest = select(func.max(ISSUE.c.id)).group_by(ISSUE.c.number)
    query = (
        select(Issue)
        .where(ISSUE.c.id.in_(latest))
        .order_by(ISSUE.c.state == IssueState.CLOSED, ISSUE.c.number.desc())
    )
    return rows_of(connection, query)


def get_issue(connection: Connection, number: int) -> Issue:
    """Return an issue, or raise NotFound."""
    issue = next((each for each in list_issues(connection) if each.number == number), None)
    if issue is None:
        raise NotFound(f"there is no issue {number}: the page Problems shows all")
    return issue


def insert_issue(connection: Connection, issue: Issue) -> None:
    """Store a version of an issue; raise BadInput if somebody else stored this version first."""
    statement = insert_or_skip(connection, ISSUE).returning(ISSUE.c.id)
    if connection.scalar(statement, issue.new_values()) is None:
        raise BadInput(f"somebody else has just changed issue {issue.number}: load it again")


def answers_by_day(
    connection: Connection, where: RowFilter, *, reviewed: bool = False
) -> dict[int | None, int]:
    """Return the number of a filter's answers by UTC day since 1970-01-01; ``reviewed``: only of reviewed answers."""
    conditions = response_conditions(connection, where)
    if reviewed:
        conditions.append(RESPONSE.c.id.in_(select(REVIEW.c.response_id).where(is_current())))
    query = (
        select(RESPONSE.c.asked_day, func.count()).where(*conditions).group_by(RESPONSE.c.asked_day)
    )
    return dict(connection.execute(query).all())


def flags_by_state(connection: Connection, where: RowFilter) -> dict[str, int]:
    """Return the number of flags on a filter's answers by state. If the filter has rules, other flags do not count."""
    answers = select(RESPONSE.c.id).where(*response_conditions(connection, where))
    query = select(FLAG.c.state, func.count()).where(
        FLAG.c.state != FlagState.SUPERSEDED,
        FLAG.c.response_id.in_(answers),
        *rule_conditions(where),
    )
    counts = {state.value: n for state, n in connection.execute(query.group_by(FLAG.c.state))}
    return {"open": 0, "confirmed": 0, "dismissed": 0} | counts


Group = Literal["query_type", "judge_version", "week"]
MOST_NOTES = 1_000  # only the latest are read; suggestions do not need older notes


def list_modes(connection: Connection) -> dict[str, FailureMode]:
    """Return all failure modes by name, the oldest first, retired ones too."""
    return {
        mode.name: mode
        for mode in rows_of(connection, select(FailureMode).order_by(FAILURE_MODE.c.id))
    }


def insert_mode(connection: Connection, mode: FailureMode) -> None:
    """Store a failure mode, which replaces an earlier row with the same name."""
    connection.execute(insert(FAILURE_MODE), mode.new_values())


def ensure_modes(connection: Connection, names: Iterable[str], by: str, now: datetime) -> None:
    """Add the failure modes that are not in the list yet."""
    for name in sorted(set(names) - list_modes(connection).keys()):
        insert_mode(connection, FailureMode(name=name, description=None, key=None, by=by, at=now))


def count_tagged(
    connection: Connection, by: Group
) -> tuple[dict[Any, int], dict[tuple[Any, str], int]]:
    """Return the number of reviewed logged answers by group, and of tagged answers by group and failure mode.

    Only current reviews count, and each answer counts once. A group is a query type, the id of a
    judge version, or the first UTC day of a week (in days since 1970-01-01; None if the answer has
    no time).
    """
    group: ColumnElement[Any] = {
        "query_type": RESPONSE.c.query_type,
        "judge_version": CURRENT.c.judge_version_id,
        "week": literal_column("response.asked_day - (response.asked_day + 3) % 7"),
    }[by]
    answers, mode = func.count(REVIEW.c.response_id.distinct()), REVIEW_FAILURE_MODE.c.mode
    reviews = (
        select(group, answers)
        .select_from(REVIEW)
        .join(RESPONSE, RESPONSE.c.id == REVIEW.c.response_id)
    )
    reviews = reviews.where(LOGGED, is_current()).group_by(group)
    if by == "judge_version":
        reviews = reviews.join(CURRENT, CURRENT.c.response_id == RESPONSE.c.id).where(
            CURRENT_OF_VERSION
        )
    tags = reviews.join(REVIEW_FAILURE_MODE, REVIEW_FAILURE_MODE.c.review_id == REVIEW.c.id)
    counts = connection.execute(tags.with_only_columns(group, mode, answers).group_by(mode))
    return dict(connection.execute(reviews).all()), {(each, name): n for each, name, n in counts}


def modes_of_answers(
    connection: Connection, response_ids: Sequence[int]
) -> dict[int, frozenset[str]]:
    """Return the failure modes in the current reviews of these answers, without answers that have none."""
    query = (
        select(REVIEW.c.response_id, REVIEW_FAILURE_MODE.c.mode)
        .join(REVIEW_FAILURE_MODE, REVIEW_FAILURE_MODE.c.review_id == REVIEW.c.id)
        .where(is_current())
    )
    rows = rows_with(connection, query, REVIEW.c.response_id, response_ids)
    modes = grouped((row.response_id, row.mode) for row in rows)
    return {response_id: frozenset(of_answer) for response_id, of_answer in modes.items()}


def untagged_notes(connection: Connection) -> list[str]:
    """Return the latest notes about problems, from current reviews without a failure mode."""
    has_tag = exists().where(REVIEW_FAILURE_MODE.c.review_id == REVIEW.c.id)
    decision, label, quality = REVIEW.c.decision, REVIEW.c.label, REVIEW.c.quality
    ungraded = and_(decision.is_(None), label.is_(None), quality.is_(None))
    problem = or_(
        decision.in_(("confirm", "unsure")),
        label == Label.HALLUCINATED,
        quality < 4,
        ungraded,
    )
    query = select(REVIEW.c.note).where(
        REVIEW.c.note.is_not(None),
        REVIEW.c.response_id.is_not(None),
        is_current(),
        ~has_tag,
        problem,
    )
    return list(connection.scalars(query.order_by(REVIEW.c.id.desc()).limit(MOST_NOTES)))

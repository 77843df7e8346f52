"""Counts of the whole database for monitoring: traces, answers, judgments, costs, flags, reviews and jobs."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, func, or_, select

from judgeboard.store.judge_versions import version_titles
from judgeboard.store.runs import Counts
from judgeboard.store.sql_compiler import by_index
from judgeboard.store.statements import LOGGED, OPEN
from judgeboard.store.tables import (
    FLAG,
    JOB,
    JUDGMENT,
    RESPONSE,
    REVIEW,
    RUN,
    STEP_TABLES,
    TRACE,
    VERSION,
)


class TraceCount(NamedTuple):
    """The traces of a source in one state, with their spans and log records and the arrival of the latest one."""

    source: str
    state: str
    traces: int
    spans: int
    last_at: datetime


def count_traces(connection: Connection) -> Sequence[TraceCount]:
    """Return the traces by source and state, also the forgotten ones."""
    keys = TRACE.c.source, TRACE.c.state
    query = select(
        *keys, func.count(), func.sum(TRACE.c.spans), func.max(TRACE.c.last_at)
    ).group_by(*keys)
    return [
        TraceCount(source, state, n, int(spans), at)
        for source, state, n, spans, at in connection.execute(query)
    ]


def count_answers(connection: Connection) -> dict[str, int]:
    """Return the number of logged answers by source."""
    query = select(RESPONSE.c.source, func.count()).where(LOGGED).group_by(RESPONSE.c.source)
    return dict(connection.execute(by_index(query, RESPONSE, "ix_response_asked")).all())


class JudgmentCount(NamedTuple):
    """The judgments of a judge version (its title) with one status; ``unpriced`` have no known cost."""

    judge: str
    status: str
    judgments: int
    unpriced: int
    cost_micro: int


def count_all_judgments(connection: Connection) -> Sequence[JudgmentCount]:
    """Return the judgments by judge version and status; every ask and repeat counts, of any kind of answer."""
    keys = JUDGMENT.c.judge_version_id, JUDGMENT.c.status
    sums = (
        func.count(),
        func.count(JUDGMENT.c.cost_micro),
        func.coalesce(func.sum(JUDGMENT.c.cost_micro), 0),
    )
    grouped = by_index(select(*keys, *sums).group_by(*keys), JUDGMENT, "ix_judgment_created")
    rows = connection.execute(
        grouped
    ).all()  # before the titles: a version may be added between the two queries
    titles = version_titles(connection)
    return [
        JudgmentCount(titles[id_], status, n, n - priced, int(cost))
        for id_, status, n, priced, cost in rows
    ]


def method_costs(connection: Connection) -> dict[str, int]:
    """Return the known cost of the calls of each table of steps other than judgments, in millionths."""
    return {
        steps.name: int(
            connection.execute(select(func.coalesce(func.sum(steps.c.cost_micro), 0))).scalar_one()
        )
        for steps in STEP_TABLES
    }


def method_costs_since(connection: Connection, since: datetime) -> dict[str, Counts]:
    """Return the cost of comparisons, audits, generated answers and other calls since a time, by the run's judge."""
    costs: dict[str, Counts] = {}
    for steps in STEP_TABLES:
        # The runs first: a table of steps has an index of its runs, and none of its times.
        running = (
            or_(RUN.c.finished_at.is_(None), RUN.c.finished_at >= since),
            RUN.c.kind != "import",
        )
        run_ids = connection.execute(select(RUN.c.id).where(*running)).scalars().all()
        keys = VERSION.c.name, steps.c.status
        cost_micro = steps.c.cost_micro
        query = (
            select(*keys, func.count(), func.count(cost_micro), func.sum(cost_micro))
            .join_from(steps, RUN, RUN.c.id == steps.c.run_id)
            .join(VERSION, VERSION.c.id == RUN.c.judge_version_id)
            .where(steps.c.run_id.in_(run_ids), steps.c.created_at >= since)
        )
        for name, status, calls, priced, cost in connection.execute(query.group_by(*keys)):
            of_status = Counts.of_status(status, calls, priced=priced, cost_micro=int(cost or 0))
            costs[name] = costs.get(name, Counts()) + of_status
    return costs


def oldest_open_flags(connection: Connection) -> dict[str, datetime]:
    """Return when the oldest open flag of each rule was raised."""
    first = by_index(
        select(func.min(FLAG.c.id)).where(OPEN).group_by(FLAG.c.rule), FLAG, "ix_flag_open_newest"
    )  # the index alone has rule and id
    query = select(FLAG.c.rule, FLAG.c.created_at).where(
        FLAG.c.id.in_(connection.execute(first).scalars().all())
    )
    return dict(connection.execute(query).all())


def count_all_reviews(connection: Connection) -> int:
    """Return the number of stored reviews, also replaced and withdrawn ones."""
    return int(connection.execute(select(func.count()).select_from(REVIEW)).scalar_one())


def count_failed_jobs(connection: Connection) -> int:
    """Return the number of jobs that could not start, could not go on, or stopped because something failed."""
    return int(
        connection.execute(select(func.count()).where(JOB.c.failed.is_not(None))).scalar_one()
    )

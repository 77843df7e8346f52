"""The cost of calls other than judgments, for alerts."""

from datetime import datetime

from sqlalchemy import Connection, or_, select

from judgeboard.store.runs import Counts, count_query, counts_by
from judgeboard.store.tables import RUN, STEP_TABLES, VERSION


def method_costs_since(connection: Connection, since: datetime) -> dict[str, Counts]:
    """Return the cost of comparisons, audits, generated answers and other calls since a time, by the run's judge."""
    costs: dict[str, Counts] = {}
    for steps in STEP_TABLES:
        # The runs first: a table of steps has an index by run, and no index by time.
        conditions = (
            or_(RUN.c.finished_at.is_(None), RUN.c.finished_at >= since),
            RUN.c.kind != "import",
        )
        run_ids = connection.scalars(select(RUN.c.id).where(*conditions)).all()
        query = (
            count_query(steps, VERSION.c.name)
            .join_from(steps, RUN, RUN.c.id == steps.c.run_id)
            .join(VERSION, VERSION.c.id == RUN.c.judge_version_id)
            .where(steps.c.run_id.in_(run_ids), steps.c.created_at >= since)
        )
        for name, of_judge in counts_by(connection, query).items():
            costs[name] = costs.get(name, Counts()) + of_judge
    return costs

"""How many flags wait by rule and query type, with what the filters of the queue can name."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from judgeboard.store.desk.queue_order import FLAG
from judgeboard.store.sql.literal_conditions import OPEN


@dataclass(frozen=True, slots=True)
class QueueFacets:
    """What occurs among open flags, sorted."""

    rules: tuple[str, ...]
    query_types: tuple[str, ...]
    judges: tuple[str, ...]
    sources: tuple[str, ...]


def open_counts(connection: Connection) -> list[tuple[str, str, int]]:
    """Return (rule, query type, open flags) for every pair that occurs, sorted."""
    rows = connection.execute(
        select(FLAG.c.rule, FLAG.c.query_type, func.count()).where(OPEN).group_by(FLAG.c.rule, FLAG.c.query_type)
    )
    return sorted((rule, query_type, waiting) for rule, query_type, waiting in rows)


def queue_facets(connection: Connection) -> QueueFacets:
    """Return what the queue can be filtered by."""
    counts = open_counts(connection)
    rows = connection.execute(select(FLAG.c.source, FLAG.c.judge_name).where(OPEN).distinct()).all()
    return QueueFacets(
        rules=tuple(sorted({rule for rule, _, _ in counts})),
        query_types=tuple(sorted({query_type for _, query_type, _ in counts})),
        judges=tuple(sorted({judge for _, judge in rows if judge is not None})),
        sources=tuple(sorted({source for source, _ in rows})),
    )

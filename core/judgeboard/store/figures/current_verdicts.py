"""What judge versions gave the logged answers: the one place where agreement reads verdicts, as arrays."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, func, select

from judgeboard.stats.arrays import AnyArray, IntArray
from judgeboard.store.reviews.ratings import Given, given_columns, given_of
from judgeboard.store.reviews.standing import REVIEW
from judgeboard.store.schema.tables import CURRENT, JUDGMENT_SCORE
from judgeboard.store.sql.column_arrays import Texts, read_columns
from judgeboard.store.sql.literal_conditions import CURRENT_OF_VERSION

SCORE = JUDGMENT_SCORE

NO_DAY = -1
"""Stands for a response without a time."""


@dataclass(frozen=True, slots=True, eq=False)
class CurrentVerdicts:
    """Each version's latest usable verdict (repeat 0) on each logged answer, one row each.

    ``days`` count from 1970-01-01 (``NO_DAY``: no time).
    """

    version_ids: IntArray
    response_ids: IntArray
    query_types: Texts
    days: IntArray
    evidence_groups: IntArray
    given: Given

    def at(self, rows: AnyArray) -> "CurrentVerdicts":
        """Return some of the rows, by a mask or by positions."""
        types = Texts(self.query_types.names, self.query_types.codes[rows])
        return CurrentVerdicts(
            self.version_ids[rows],
            self.response_ids[rows],
            types,
            self.days[rows],
            self.evidence_groups[rows],
            self.given.at(rows),
        )


def current_verdicts(
    connection: Connection,
    dimension: str | None = None,
    *,
    of_reviewed: bool = False,
    version_ids: Collection[int] | None = None,
) -> CurrentVerdicts:
    """Return the current verdicts of judge versions on the log.

    Args:
        connection: An open transaction.
        dimension: Only verdicts with a score on this dimension, which is in ``given.scores``.
        of_reviewed: Only those on answers that somebody reviewed: walks an index instead of the whole log.
        version_ids: Only of these versions.
    """
    query = select(
        CURRENT.c.judge_version_id,
        CURRENT.c.response_id,
        CURRENT.c.query_type,
        func.coalesce(CURRENT.c.asked_day, NO_DAY),
        CURRENT.c.evidence_group,
        *given_columns(CURRENT.c, None if dimension is None else SCORE.c.value),
    ).where(CURRENT_OF_VERSION)
    if of_reviewed:
        query = query.where(CURRENT.c.response_id.in_(select(REVIEW.c.response_id)))
    if version_ids is not None:
        query = query.where(CURRENT.c.judge_version_id.in_(version_ids))
    if dimension is not None:
        query = query.join(SCORE, SCORE.c.judgment_id == CURRENT.c.judgment_id).where(
            SCORE.c.dimension == dimension, SCORE.c.value.is_not(None)
        )
    versions, responses, types, days, groups, *given = read_columns(connection, query)
    return CurrentVerdicts(versions, responses, types, days, groups, given_of(given, len(versions)))


def aligned(known: IntArray, response_ids: IntArray, given: Given) -> Given:
    """Return verdicts on ``response_ids`` as rows of ``known`` (ascending), empty where there is none."""
    at = np.searchsorted(known, response_ids)
    n = len(known)
    columns = Given(np.zeros(n, dtype=np.int64), np.full(n, np.nan), np.zeros(n, dtype=np.int64), np.full(n, np.nan))
    for column in ("labels", "groundedness", "quality", "scores"):
        getattr(columns, column)[at] = getattr(given, column)
    return columns

"""Stores anchors, a fixed set of answers, and reads the verdicts of judge versions on anchors."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy import Connection, func, insert, select

from judgeboard.domain import ResponseKind, Status
from judgeboard.methods.anchors.tables import ANCHOR, ANCHOR_SET, AnchorSet
from judgeboard.stats.arrays import IntArray
from judgeboard.store.grades import Grades, grade_columns, with_scores
from judgeboard.store.statements import (
    Columns,
    TextColumn,
    first_row,
    listed,
    read_columns,
    rows_of,
)
from judgeboard.store.tables import ANCHOR_JUDGMENT, JUDGMENT, RESPONSE, RUN, Run


def insert_anchor_set(
    connection: Connection, response_ids: Collection[int], seed: str, by: str, now: datetime
) -> None:
    """Store a set of anchors, which replaces the earlier set."""
    new = AnchorSet(seed=seed, by=by, at=now)
    inserted = insert(ANCHOR_SET).returning(ANCHOR_SET.c.id)
    set_id = connection.scalar(inserted, new.new_values())
    connection.execute(
        insert(ANCHOR), [{"anchor_set_id": set_id, "response_id": id_} for id_ in response_ids]
    )


def newest_anchors(connection: Connection) -> AnchorSet | None:
    """Return the newest set, None if there is no set."""
    return first_row(connection, select(AnchorSet).order_by(ANCHOR_SET.c.id.desc()))


def anchor_ids(connection: Connection, anchors: AnchorSet) -> tuple[int, ...]:
    """Return the ids of the answers of a set, ascending, without answers that are forgotten."""
    answers = select(ANCHOR.c.response_id).join(RESPONSE, RESPONSE.c.id == ANCHOR.c.response_id)
    query = answers.where(ANCHOR.c.anchor_set_id == anchors.id, RESPONSE.c.answer.is_not(None))
    return tuple(connection.scalars(query.order_by(ANCHOR.c.response_id)))


@dataclass(frozen=True, slots=True, eq=False)
class AnchorCandidates(Columns):
    """Logged answers that may become anchors, by id."""

    response_ids: IntArray
    evidence_groups: IntArray
    query_types: TextColumn


def anchor_candidates(
    connection: Connection, response_ids: Collection[int] | None
) -> AnchorCandidates:
    """Return the logged answers with these ids (None: all) that are not forgotten."""
    query = select(RESPONSE.c.id, RESPONSE.c.evidence_group, RESPONSE.c.query_type).where(
        RESPONSE.c.kind == ResponseKind.LOG.value, RESPONSE.c.answer.is_not(None)
    )
    if response_ids is not None:
        query = query.where(RESPONSE.c.id.in_(listed(connection, response_ids)))
    return AnchorCandidates(*read_columns(connection, query.order_by(RESPONSE.c.id)))


def anchor_runs(
    connection: Connection, response_ids: Collection[int], version_id: int | None = None
) -> list[Run]:
    """Return the runs, of one version or of all, with a usable verdict on any of these anchors, the newest first."""
    columns = ANCHOR_JUDGMENT.c
    run_ids = select(columns.run_id).where(
        columns.response_id.in_(listed(connection, response_ids)),
        columns.status == Status.OK.value,
    )
    query = select(Run).where(RUN.c.id.in_(run_ids)).order_by(RUN.c.id.desc())
    if version_id is not None:
        query = query.where(RUN.c.judge_version_id == version_id)
    return rows_of(connection, query)


def verdicts_of_run(connection: Connection, run_id: int) -> Grades:
    """Return the usable verdicts of one run, by answer."""
    columns = ANCHOR_JUDGMENT.c
    query = select(columns.response_id, *grade_columns(columns)).where(
        columns.run_id == run_id, columns.status == Status.OK.value
    )
    ids, *grades = read_columns(connection, query.order_by(columns.response_id))
    return Grades(*with_scores(*grades), ids)


def first_verdicts(
    connection: Connection, version_id: int, response_ids: Collection[int], before_run: int
) -> Grades:
    """Return a version's first usable verdict on each answer, in the log or in a run on anchors before a run."""
    answer_ids = listed(connection, response_ids)
    judgments = JUDGMENT.c
    in_log = select(judgments.response_id, judgments.created_at, *grade_columns(judgments)).where(
        judgments.judge_version_id == version_id,
        judgments.response_id.in_(answer_ids),
        judgments.status == Status.OK.value,
        judgments.repeat == 0,
    )
    anchor_judgments = ANCHOR_JUDGMENT.c
    as_anchors = select(
        anchor_judgments.response_id, anchor_judgments.created_at, *grade_columns(anchor_judgments)
    ).where(
        anchor_judgments.judge_version_id == version_id,
        anchor_judgments.response_id.in_(answer_ids),
        anchor_judgments.status == Status.OK.value,
        anchor_judgments.run_id < before_run,
    )
    rows = [row for query in (in_log, as_anchors) for row in connection.execute(query)]
    first = {row[0]: row for row in sorted(rows, key=lambda row: row[1], reverse=True)}
    ids = sorted(first)
    labels, groundedness, quality = (
        np.array([first[id_][place] for id_ in ids]) for place in (2, 3, 4)
    )
    grades = with_scores(
        labels.astype(np.int64), groundedness.astype(np.float64), quality.astype(np.int64)
    )
    return Grades(*grades, np.array(ids, dtype=np.int64))


def anchor_groups(connection: Connection) -> frozenset[int]:
    """Return the evidence groups of the newest anchors. No prompt is made or chosen with these groups."""
    newest = select(func.max(ANCHOR_SET.c.id)).scalar_subquery()
    groups = select(RESPONSE.c.evidence_group).join(ANCHOR, ANCHOR.c.response_id == RESPONSE.c.id)
    return frozenset(connection.scalars(groups.where(ANCHOR.c.anchor_set_id == newest)))

"""Answers as columns for figures about all of them: a judge version's verdicts, flags, and how people got to them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    case,
    cast,
    func,
    literal,
    select,
)

from judgeboard.domain import Decision, FlagState, Label, QueueOrder, ResponseKind, Status
from judgeboard.flags.rule import Cuts
from judgeboard.flags.rules import RANDOM_SAMPLE
from judgeboard.stats.arrays import FloatArray, IntArray
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.queues import ANSWERS, list_queues
from judgeboard.store.reviews import is_current, is_test
from judgeboard.store.statements import (
    CURRENT_OF_VERSION,
    NOT_OK,
    PICKED,
    Columns,
    TextColumn,
    below_cut,
    last_ids,
    listed,
    read_columns,
    read_numbers,
)
from judgeboard.store.tables import CURRENT, EVENT, FLAG, JUDGMENT, QUEUE_ITEM, RESPONSE, REVIEW, SETTING, SKIP

GOOD, BAD, UNUSABLE = 0, 1, 2
"""The codes of ``JudgedAnswers.verdicts``."""

_NO_SCORE = -1
_STEPS = 1e9


@dataclass(frozen=True, slots=True, eq=False)
class JudgedAnswers(Columns):
    """Logged answers that a judge version was asked about, one row each.

    ``scores`` are the judge's groundedness or quality, NaN if there is none or if they were not read.
    ``evidence_groups`` are 0 if they were not read.
    """

    response_ids: IntArray
    evidence_groups: IntArray
    verdicts: IntArray
    scores: FloatArray
    query_types: TextColumn


def judged_answers(
    connection: Connection,
    version_id: int | None,
    cuts: Cuts,
    where: RowFilter | None = None,
    score: str | None = "groundedness",
    *,
    groups: bool = True,
) -> JudgedAnswers:
    """Return the answers with their verdicts; without a version all answers, each with the verdict ``UNUSABLE``.

    A verdict is the judge's label. Without a label, it is BAD if the groundedness is below its cut. ``score`` names the
    scores to read (None: none), ``groups`` tells whether to read the evidence groups: each takes a fifth of the time.
    """
    of_response = select(
        RESPONSE.c.query_type,
        _packed(RESPONSE.c.id, literal(UNUSABLE)),
        *((RESPONSE.c.evidence_group,) if groups else ()),
        *(() if score is None else (literal(_NO_SCORE).label("score"),)),
    )
    conditions = response_conditions(connection, where or RowFilter())
    if version_id is None:
        return _read(connection, of_response.where(*conditions))
    usable = select(
        CURRENT.c.query_type,
        _packed(CURRENT.c.response_id, _verdict(cuts)),
        *((CURRENT.c.evidence_group,) if groups else ()),
        *(() if score is None else (_steps(CURRENT.c[score]),)),
    ).where(CURRENT_OF_VERSION, CURRENT.c.judge_version_id == version_id)
    answered = CURRENT.c.response_id == JUDGMENT.c.response_id, CURRENT.c.judge_version_id == version_id
    failed = select(JUDGMENT.c.response_id).where(
        JUDGMENT.c.judge_version_id == version_id,
        # Both conditions: SQLite uses the partial index for the first, and prefers it to others for the second.
        NOT_OK,
        JUDGMENT.c.status.in_([each.value for each in Status if each is not Status.OK]),
        ~select(CURRENT.c.response_id).where(*answered).exists(),
    )
    unusable = of_response.where(RESPONSE.c.id.in_(failed)).distinct()
    if where in {None, RowFilter()}:
        # An expression, because the index of `kind` would lead through the whole log.
        return _read(connection, usable, unusable.where(RESPONSE.c.kind.concat("") == ResponseKind.LOG.value))
    matching = select(RESPONSE.c.id).where(*conditions)
    return _read(
        connection, usable.where(CURRENT.c.response_id.in_(matching)), unusable.where(RESPONSE.c.id.in_(matching))
    )


def evidence_groups(connection: Connection, version_id: int, response_ids: IntArray) -> IntArray:
    """Return the evidence group of each answer; each has a usable judgment of this version."""
    # From the verdicts, because an index has their groups; a response has its group behind its long texts.
    columns = select(CURRENT.c.response_id, CURRENT.c.evidence_group).order_by(CURRENT.c.response_id)
    named = CURRENT.c.response_id.in_(listed(connection, response_ids.tolist()))
    ids, groups = read_columns(connection, columns.where(named, CURRENT.c.judge_version_id == version_id))
    found: IntArray = groups[np.searchsorted(ids, response_ids)]
    return found


def _packed(response_id: ColumnElement[int], verdict: ColumnElement[int]) -> ColumnElement[int]:
    """Return both in one number, because each column of a million answers takes a tenth of a second to read."""
    return (response_id * 4 + verdict).label("packed")


def _steps(score: ColumnElement[Any]) -> ColumnElement[int]:
    """Return a score as a whole number of steps, because whole numbers are read fast. Closer scores count as equal."""
    return func.coalesce(cast(func.round(score * _STEPS), BigInteger), _NO_SCORE).label("score")


def _read(connection: Connection, *queries: Select[Any]) -> JudgedAnswers:
    types, columns = read_numbers(connection, *queries)
    by_name = dict(zip(queries[0].selected_columns.keys()[1:], columns, strict=True))
    packed = by_name["packed"]
    groups = by_name.get("evidence_group", np.zeros(len(packed), dtype=np.int64))
    steps = by_name.get("score", np.full(len(packed), _NO_SCORE))
    return JudgedAnswers(packed >> 2, groups, packed & 3, np.where(steps < 0, np.nan, steps / _STEPS), types)


def _verdict(cuts: Cuts) -> ColumnElement[int]:
    return case(
        (CURRENT.c.label == Label.HALLUCINATED.value, literal(BAD)),
        (CURRENT.c.label.is_not(None), literal(GOOD)),
        (CURRENT.c.groundedness.is_(None), literal(UNUSABLE)),
        (below_cut(CURRENT.c.groundedness, CURRENT.c.query_type, cuts), literal(BAD)),
        else_=literal(GOOD),
    )


def rate_mark(connection: Connection) -> tuple[int, ...]:
    """Return a mark; as long as it is unchanged, the rates are unchanged."""
    return last_ids(connection, RESPONSE, JUDGMENT, FLAG, REVIEW, SKIP, QUEUE_ITEM, SETTING, EVENT)


def count_log(connection: Connection, where: RowFilter | None = None) -> int:
    """Return the number of logged answers that match."""
    query = select(func.count()).select_from(RESPONSE).where(*response_conditions(connection, where or RowFilter()))
    return int(connection.execute(query).scalar_one())


def picked_answers(connection: Connection) -> IntArray:
    """Return the ids, ascending, of answers that a rule other than the random sample flagged, once per flag."""
    _, (ids,) = read_numbers(connection, select(FLAG.c.query_type, FLAG.c.response_id).where(PICKED))
    return np.sort(ids)  # np.unique takes ten times as long


def severities(connection: Connection) -> tuple[IntArray, FloatArray]:
    """Return the ids of ``picked_answers`` with the severity of the worst of these flags."""
    worst = func.max(FLAG.c.severity).label("severity")
    query = select(FLAG.c.response_id, worst).where(PICKED).group_by(FLAG.c.response_id)
    ids, values = read_columns(connection, query)
    order = np.argsort(ids)
    return ids[order], values[order]


def drawn_answers(connection: Connection) -> IntArray:
    """Return the ids, ascending, of answers in the random sample of the log."""
    drawn = FLAG.c.rule == RANDOM_SAMPLE, FLAG.c.state != FlagState.SUPERSEDED.value
    (ids,) = read_columns(connection, select(FLAG.c.response_id).where(*drawn))
    return np.unique(ids)


def reviewed_in_random_queues(connection: Connection) -> list[tuple[RowFilter, IntArray]]:
    """Return the filters of queues in random order, each with the ids, ascending, of answers reviewed as their items.

    Items that a person added, repeats and tests do not count, and no queue of answers on which two judges differ.
    """
    by_filter: dict[RowFilter, list[int]] = {}
    for queue in list_queues(connection, subject=ANSWERS):
        if queue.sort is QueueOrder.RANDOM and not queue.training and not queue.of_difference:
            by_filter.setdefault(queue.filter, []).append(queue.id)
    query = (
        select(QUEUE_ITEM.c.response_id)
        .join(REVIEW, REVIEW.c.queue_item_id == QUEUE_ITEM.c.id)
        .where(QUEUE_ITEM.c.repeat_for.is_(None), QUEUE_ITEM.c.test.is_(False), QUEUE_ITEM.c.bulk.is_(None))
    )
    return [
        (where, np.unique(read_columns(connection, query.where(QUEUE_ITEM.c.queue_id.in_(queues)))[0]))
        for where, queues in by_filter.items()
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Undecided:
    """The ids, ascending, of answers with an unsure review, and of answers that somebody skipped in a queue."""

    unsure: IntArray
    skipped: IntArray


def undecided_answers(connection: Connection) -> Undecided:
    """Return the answers that people did not decide. They may have labels by other people."""
    unsure = select(REVIEW.c.response_id).where(
        REVIEW.c.decision == Decision.UNSURE.value, REVIEW.c.response_id.is_not(None), is_current(), ~is_test()
    )
    skipped = (
        select(QUEUE_ITEM.c.response_id)
        .join(SKIP, SKIP.c.queue_item_id == QUEUE_ITEM.c.id)
        .where(QUEUE_ITEM.c.response_id.is_not(None))
    )
    return Undecided(*(np.unique(read_columns(connection, query)[0]) for query in (unsure, skipped)))

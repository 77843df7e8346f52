"""Loads what people and every judge version gave the answers that people graded, as arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, Connection, case, func, select

from judgeboard.domain import Label, ResponseKind
from judgeboard.judges.examples import example_responses
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray, among
from judgeboard.store.reviews.standing import REVIEW, has_grade, standing
from judgeboard.store.schema.tables import CurrentJudgmentRow, JudgeVersionRow, ResponseRow
from judgeboard.store.sql.batches import batches
from judgeboard.store.sql.column_arrays import read_columns
from judgeboard.store.sql.literal_conditions import CURRENT_OF_VERSION

CURRENT = CurrentJudgmentRow.__table__
RESPONSE = ResponseRow.__table__
VERSION = JudgeVersionRow.__table__

NO_DAY = -1
"""Stands for a response without a time."""

LABELS = ("", Label.GROUNDED.value, Label.HALLUCINATED.value)
"""What the positions in ``Given.labels`` stand for; the first is no label."""

_CHUNK = 5_000  # far below the 32,766 variables of a statement


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """Grades or verdicts as columns of one length.

    ``labels`` are positions in ``LABELS``. What was not given is 0 there, NaN in ``groundedness``, 0 in ``quality``.
    """

    labels: IntArray
    groundedness: FloatArray
    quality: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class StandingReviews:
    """Reviews that stand and carry a grade, one row each, the oldest first."""

    response_ids: IntArray
    reviewer_ids: IntArray
    blind: BoolArray
    given: Given


@dataclass(frozen=True, slots=True, eq=False)
class GradedAnswers:
    """What people and judges gave the logged answers that people reviewed.

    ``reviews`` are of all these answers. The other columns are of those among them that some judge version has a
    usable verdict on, by their ids: ``verdicts`` holds each version's current ones, aligned with ``response_ids``.
    ``query_types`` are positions in ``query_type_names``; ``asked_days`` count from 1970-01-01 (``NO_DAY``: no time).
    """

    response_ids: IntArray
    evidence_groups: IntArray
    query_types: IntArray
    query_type_names: tuple[str, ...]
    asked_days: IntArray
    verdicts: Mapping[int, Given]
    reviews: StandingReviews


def load_graded(connection: Connection) -> GradedAnswers:
    """Return every standing review of a logged answer beside the current verdicts of all judge versions.

    Reads the reviews, and of the current judgments those of reviewed responses only: two statements that walk
    indexes, and a third for reviewed answers without any verdict. An answer that a judge version was shown as an
    example, with what people gave it, is left out for that version.
    """
    reviews = _reviews(connection)
    query = select(
        CURRENT.c.judge_version_id,
        CURRENT.c.response_id,
        CURRENT.c.query_type,
        func.coalesce(CURRENT.c.asked_day, NO_DAY),
        CURRENT.c.evidence_group,
        *_given_columns(CURRENT.c),
    ).where(CURRENT_OF_VERSION, CURRENT.c.response_id.in_(select(REVIEW.c.response_id)))
    version_ids, response_ids, query_types, days, groups, *given_columns = read_columns(connection, query)
    given = Given(*given_columns)
    stands = among(response_ids, np.unique(reviews.response_ids)) & ~_shown(connection, version_ids, response_ids)
    known, first = np.unique(response_ids[stands], return_index=True)
    verdicts = {
        int(version): _aligned(known, response_ids[chosen], _at(given, chosen))
        for version in np.unique(version_ids[stands])
        for chosen in (np.flatnonzero(stands & (version_ids == version)),)
    }
    judged = among(reviews.response_ids, known)
    logged = _logged(connection, np.unique(reviews.response_ids[~judged]).tolist())
    return GradedAnswers(
        known,
        groups[stands][first],
        query_types.codes[stands][first],
        query_types.names,
        days[stands][first],
        verdicts,
        _kept(reviews, judged | among(reviews.response_ids, logged)),
    )


def _shown(connection: Connection, version_ids: IntArray, response_ids: IntArray) -> BoolArray:
    """Mark the verdicts on answers that were among the examples of the version that gave them."""
    shown = np.zeros(len(version_ids), dtype=np.bool_)
    for version_id, params in connection.execute(select(VERSION.c.id, VERSION.c.params)):
        examples = sorted(example_responses(params))
        if examples:
            shown |= (version_ids == version_id) & among(response_ids, np.array(examples, dtype=np.int64))
    return shown


def _reviews(connection: Connection) -> StandingReviews:
    query = select(
        REVIEW.c.response_id,
        REVIEW.c.reviewer_id,
        case((REVIEW.c.stage == "blind", 1), else_=0),
        *_given_columns(REVIEW.c),
    ).where(standing(), has_grade())
    responses, reviewers, blind, *given = read_columns(connection, query.order_by(REVIEW.c.id))
    return StandingReviews(responses, reviewers, blind == 1, Given(*given))


def _logged(connection: Connection, response_ids: Sequence[int]) -> IntArray:
    """Return those of the responses that are of the log, in order."""
    found: list[int] = []
    for some in batches(response_ids, _CHUNK):
        # The kind is looked at here: as a condition it makes SQLite read the whole log by its index of kinds.
        chunk = select(RESPONSE.c.id, RESPONSE.c.kind).where(RESPONSE.c.id.in_(some))
        found += [row.id for row in connection.execute(chunk) if row.kind == ResponseKind.LOG.value]
    return np.array(sorted(found), dtype=np.int64)


def _given_columns(table: Any) -> tuple[ColumnElement[Any], ...]:
    """Numbers instead of texts and NULLs: a million small strings cost more than all that is computed from them."""
    label = case(*((table.label == name, code) for code, name in enumerate(LABELS) if name), else_=0)
    return label, table.groundedness, func.coalesce(table.quality, 0)


def _at(given: Given, rows: npt.NDArray[Any]) -> Given:
    return Given(given.labels[rows], given.groundedness[rows], given.quality[rows])


def _aligned(known: IntArray, response_ids: IntArray, given: Given) -> Given:
    """Return verdicts on ``response_ids`` as rows of ``known``, empty where there is none."""
    at = np.searchsorted(known, response_ids)
    labels, quality = np.zeros(len(known), dtype=np.int64), np.zeros(len(known), dtype=np.int64)
    groundedness = np.full(len(known), np.nan)
    labels[at], groundedness[at], quality[at] = given.labels, given.groundedness, given.quality
    return Given(labels, groundedness, quality)


def _kept(reviews: StandingReviews, rows: npt.NDArray[Any]) -> StandingReviews:
    return StandingReviews(
        reviews.response_ids[rows],
        reviews.reviewer_ids[rows],
        reviews.blind[rows],
        _at(reviews.given, rows),
    )

"""Agreement on pairs reads beside the verdicts: type, source and gold of pairs, and scores of both their sides."""

from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, Subquery, and_, case, func, literal, select

from judgeboard.domain import Preference, Stage
from judgeboard.pair_records import OVERALL
from judgeboard.stats.arrays import TIE, FloatArray, IntArray, among
from judgeboard.store.reviews.standing import REVIEW, standing
from judgeboard.store.schema.method_tables import PAIR, PREFERENCE_SCORE
from judgeboard.store.schema.tables import CURRENT, JUDGMENT_SCORE, RESPONSE
from judgeboard.store.sql.column_arrays import Texts, read_columns

SIDES = ("", Preference.A.value, Preference.B.value, Preference.TIE.value)
"""What the positions in ``PairFacts.gold`` stand for; the first is no gold."""


@dataclass(frozen=True, slots=True, eq=False)
class PairFacts:
    """Columns of all pairs, by id."""

    ids: IntArray
    query_types: Texts
    sources: Texts
    gold: IntArray


def pair_facts(connection: Connection) -> PairFacts:
    """Return the facts of every pair; what a lead decided where people differed is gold before what the data says."""
    settled = _adjudications()
    known = func.coalesce(settled.c.preference, PAIR.c.gold)
    gold = case(*((known == side, literal(code)) for code, side in enumerate(SIDES) if side), else_=literal(0))
    query = (
        select(PAIR.c.id, PAIR.c.query_type, PAIR.c.source, gold)
        .join(settled, settled.c.pair_id == PAIR.c.id, isouter=True)
        .order_by(PAIR.c.id)
    )
    return PairFacts(*read_columns(connection, query))


def dimensions_of_version(connection: Connection, version_id: int) -> frozenset[str]:
    """Return the dimensions that a judge version's current verdicts score, on answers of any kind."""
    query = (
        select(JUDGMENT_SCORE.c.dimension)
        .join(CURRENT, CURRENT.c.judgment_id == JUDGMENT_SCORE.c.judgment_id)
        .where(CURRENT.c.judge_version_id == version_id, JUDGMENT_SCORE.c.value.is_not(None))
    )
    return frozenset(connection.execute(query.distinct()).scalars())


def score_differences(connection: Connection, version_id: int, dimension: str | None) -> tuple[IntArray, FloatArray]:
    """Return the pairs, by id, of which a version scored both answers, and its score of B less that of A.

    A side's score is that of the answer itself, else that of the logged answer it was taken from. Differences are
    rounded to 1e-9: float noise would make or break ties. Without ``dimension`` the score is the quality.
    """
    value = CURRENT.c.quality if dimension is None else JUDGMENT_SCORE.c.value
    scores = select(CURRENT.c.response_id, value).where(CURRENT.c.judge_version_id == version_id, value.is_not(None))
    if dimension is not None:
        scores = scores.join(JUDGMENT_SCORE, JUDGMENT_SCORE.c.judgment_id == CURRENT.c.judgment_id).where(
            JUDGMENT_SCORE.c.dimension == dimension
        )
    scored, values = read_columns(connection, scores.order_by(CURRENT.c.response_id))
    a, b = RESPONSE.alias(), RESPONSE.alias()
    sides = (
        select(
            PAIR.c.id, a.c.id, func.coalesce(a.c.derived_from, a.c.id), b.c.id, func.coalesce(b.c.derived_from, b.c.id)
        )
        .join(a, a.c.id == PAIR.c.response_a_id)
        .join(b, b.c.id == PAIR.c.response_b_id)
        .order_by(PAIR.c.id)
    )
    pairs, *answers = read_columns(connection, sides)
    of_a, of_b = (_score(own, origin, scored, values.astype(np.float64)) for own, origin in (answers[:2], answers[2:]))
    both = ~np.isnan(of_a) & ~np.isnan(of_b)
    return pairs[both], np.round((of_b - of_a)[both] / TIE) * TIE


def _adjudications() -> Subquery:
    """The last word on each pair that has one, the latest where several queues gave one."""
    latest = (
        select(REVIEW.c.pair_id, func.max(REVIEW.c.id).label("id"))
        .where(
            REVIEW.c.pair_id.is_not(None),
            REVIEW.c.queue_item_id.is_not(None),
            REVIEW.c.stage == Stage.ADJUDICATION.value,
            standing(),
        )
        .group_by(REVIEW.c.pair_id)
        .subquery()
    )
    said = PREFERENCE_SCORE.c.review_id == latest.c.id, PREFERENCE_SCORE.c.aspect == OVERALL
    return select(latest.c.pair_id, PREFERENCE_SCORE.c.preference).join(PREFERENCE_SCORE, and_(*said)).subquery()


def _score(own: IntArray, origin: IntArray, scored: IntArray, values: FloatArray) -> FloatArray:
    found: FloatArray = np.full(len(own), np.nan)
    for ids in (origin, own):
        rows = among(ids, scored)
        found[rows] = values[np.searchsorted(scored, ids[rows])]
    return found

"""Loads what people and every judge version gave the answers that people graded, as arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, select

from judgeboard.domain import ResponseKind
from judgeboard.judges.examples import example_responses
from judgeboard.stats.arrays import BoolArray, IntArray, among
from judgeboard.store.figures.current_verdicts import aligned, current_verdicts
from judgeboard.store.reviews.ratings import Given, StandingReviews, standing_reviews
from judgeboard.store.schema.tables import RESPONSE, VERSION
from judgeboard.store.sql.batches import batches

_CHUNK = 5_000  # far below the 32,766 variables of a statement


@dataclass(frozen=True, slots=True, eq=False)
class GradedAnswers:
    """What people and judges gave the logged answers that people reviewed.

    ``reviews`` are of all these answers. The other columns are of those among them that some judge version has a
    usable verdict on, by their ids: ``verdicts`` holds each version's current ones, aligned with ``response_ids``.
    ``query_types`` are positions in ``query_type_names``; ``asked_days`` count from 1970-01-01 (below 0: no time).
    """

    response_ids: IntArray
    evidence_groups: IntArray
    query_types: IntArray
    query_type_names: tuple[str, ...]
    asked_days: IntArray
    verdicts: Mapping[int, Given]
    reviews: StandingReviews


def load_graded(connection: Connection, dimension: str | None = None) -> GradedAnswers:
    """Return every standing review of a logged answer beside the current verdicts of all judge versions.

    Reads the reviews, and of the current judgments those of reviewed responses only: two statements that walk
    indexes, and a third for reviewed answers without any verdict. An answer that a judge version was shown as an
    example, with what people gave it, is left out for that version.

    Args:
        connection: An open transaction.
        dimension: What both gave on this dimension of a rubric (``scores``) instead of the three grades.
    """
    reviews = standing_reviews(connection, dimension)
    found = current_verdicts(connection, dimension, of_reviewed=True)
    reviewed = among(found.response_ids, np.unique(reviews.response_ids))
    found = found.at(reviewed & ~_shown(connection, found.version_ids, found.response_ids))
    known, first = np.unique(found.response_ids, return_index=True)
    verdicts = {
        int(version): aligned(known, found.response_ids[chosen], found.given.at(chosen))
        for version in np.unique(found.version_ids)
        for chosen in (np.flatnonzero(found.version_ids == version),)
    }
    judged = among(reviews.response_ids, known)
    logged = _logged(connection, np.unique(reviews.response_ids[~judged]).tolist())
    return GradedAnswers(
        known,
        found.evidence_groups[first],
        found.query_types.codes[first],
        found.query_types.names,
        found.days[first],
        verdicts,
        reviews.at(judged | among(reviews.response_ids, logged)),
    )


def _shown(connection: Connection, version_ids: IntArray, response_ids: IntArray) -> BoolArray:
    """Mark the verdicts on answers that were among the examples of the version that gave them."""
    shown = np.zeros(len(version_ids), dtype=np.bool_)
    for version_id, params in connection.execute(select(VERSION.c.id, VERSION.c.params)):
        examples = sorted(example_responses(params))
        if examples:
            shown |= (version_ids == version_id) & among(response_ids, np.array(examples, dtype=np.int64))
    return shown


def _logged(connection: Connection, response_ids: Sequence[int]) -> IntArray:
    """Return those of the responses that are of the log, in order."""
    found: list[int] = []
    for some in batches(response_ids, _CHUNK):
        # The kind is looked at here: as a condition it makes SQLite read the whole log by its index of kinds.
        chunk = select(RESPONSE.c.id, RESPONSE.c.kind).where(RESPONSE.c.id.in_(some))
        found += [row.id for row in connection.execute(chunk) if row.kind == ResponseKind.LOG.value]
    return np.array(sorted(found), dtype=np.int64)

"""Rows of reviews that people gave elsewhere."""

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select

from judgeboard.domain import ImportedGrade
from judgeboard.store.reviews.standing import standing
from judgeboard.store.schema.tables import REVIEW, REVIEW_SCORE, REVIEWER
from judgeboard.store.sql.insertion import insert_into
from judgeboard.times import iso_z

SCORE = REVIEW_SCORE
ORIGIN = "import"
# No file carries these, and a key that named them would be another than the one of the same grade stored before.
ONLY_AT_THE_DESK = {"claim_marks", "why_differs"}


@dataclass(frozen=True, slots=True)
class GradeOf:
    """An imported grade whose response has been found."""

    response_id: int
    source: str
    imported: ImportedGrade


def insert_grades(connection: Connection, grades: Sequence[GradeOf], batch_id: int, now: datetime) -> int:
    """Store grades as reviews of imported reviewers; return how many are new.

    The same grade (response, annotator, content) is stored once. Another grade of the same annotator on the same
    response replaces the one that stood.
    """
    reviewers = imported_reviewers(connection, {grade.imported.annotator for grade in grades}, now)
    keyed = {_request_key(grade): grade for grade in grades}
    known = set(connection.execute(select(REVIEW.c.request_key).where(REVIEW.c.request_key.in_(keyed))).scalars())
    left = {key: grade for key, grade in keyed.items() if key not in known}
    new = len(left)
    while left:  # once, unless an annotator graded a response several times: each replaces the one before
        first: dict[tuple[int, int], str] = {}
        for key, grade in left.items():
            first.setdefault((grade.response_id, reviewers[grade.imported.annotator]), key)
        before = _standing(connection, first)
        rows = [
            _row(left.pop(key), pair[1], key, batch_id, now) | {"replaces": before.get(pair)}
            for pair, key in first.items()
        ]
        ids = connection.execute(insert(REVIEW).returning(REVIEW.c.id, sort_by_parameter_order=True), rows).scalars()
        scores = [
            {"review_id": id_, "dimension": score.dimension, "value": score.value, "scale": score.scale}
            for id_, key in zip(ids, first.values(), strict=True)
            for score in keyed[key].imported.scores
        ]
        if scores:
            connection.execute(insert(SCORE), scores)
    return new


def imported_reviewers(connection: Connection, names: Collection[str], now: datetime) -> dict[str, int]:
    """Return the reviewers of these names that come from imports, by name, storing those who are new."""
    statement = insert_into(connection, REVIEWER).on_conflict_do_nothing(index_elements=["origin", "name"])
    rows = [{"origin": ORIGIN, "name": name, "role": "reviewer", "created_at": now} for name in sorted(names)]
    connection.execute(statement, rows)
    query = select(REVIEWER.c.name, REVIEWER.c.id).where(REVIEWER.c.origin == ORIGIN, REVIEWER.c.name.in_(names))
    return {row.name: row.id for row in connection.execute(query)}


def _standing(connection: Connection, pairs: Collection[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """The review without a flag that stands, per (response, reviewer)."""
    query = select(REVIEW.c.response_id, REVIEW.c.reviewer_id, REVIEW.c.id).where(
        REVIEW.c.response_id.in_({response_id for response_id, _ in pairs}),
        REVIEW.c.reviewer_id.in_({reviewer_id for _, reviewer_id in pairs}),
        REVIEW.c.flag_id.is_(None),
        standing(),
    )
    return {(response, reviewer): id_ for response, reviewer, id_ in connection.execute(query.order_by(REVIEW.c.id))}


def _row(grade: GradeOf, reviewer_id: int, key: str, batch_id: int, now: datetime) -> dict[str, Any]:
    given = grade.imported.grade
    return {
        "response_id": grade.response_id,
        "reviewer_id": reviewer_id,
        "label": given.label,
        "groundedness": given.groundedness,
        "quality": given.quality,
        "spans": None if given.spans is None else list(given.spans),
        "note": given.note,
        "corrected_answer": given.corrected_answer,
        "request_key": key,
        "import_batch_id": batch_id,
        "at": grade.imported.at or now,
    }


def _request_key(grade: GradeOf) -> str:
    """A hash of source, outside id, annotator and content: the same grade has the same key in every file."""
    given = {name: value for name, value in asdict(grade.imported.grade).items() if name not in ONLY_AT_THE_DESK}
    content: list[Any] = [grade.source, grade.imported.response_id, grade.imported.annotator, given]
    content += [asdict(score) for score in grade.imported.scores]
    at = None if grade.imported.at is None else iso_z(grade.imported.at)
    text = json.dumps([*content, at], sort_keys=True, separators=(",", ":"))
    return f"import:{hashlib.sha256(text.encode()).hexdigest()}"

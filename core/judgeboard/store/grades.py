"""Grades that people gave: for agreement, as examples for a judge, and imported."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, Connection, Float, case, cast, exists, func, insert, literal, select

from judgeboard.domain import ImportedGrade, Label, ResponseKind
from judgeboard.errors import BadInput
from judgeboard.stats.arrays import FloatArray, IntArray
from judgeboard.store.queue_tables import QUEUE_ITEM
from judgeboard.store.reviews import has_grade, standing
from judgeboard.store.statements import batches, insert_into, read_columns
from judgeboard.store.tables import CURRENT, JUDGMENT, JUDGMENT_SCORE, RESPONSE, REVIEW, REVIEW_SCORE, REVIEWER
from judgeboard.text import iso_z

if TYPE_CHECKING:
    from judgeboard.judges.material import Example

SCORE = REVIEW_SCORE
ITEM = QUEUE_ITEM

LABELS = ("", Label.GROUNDED.value, Label.HALLUCINATED.value)
"""What the positions in ``Given.labels`` stand for; the first is no label."""

NO_STAGE, BLIND, ADJUDICATION, AGAIN = 0, 1, 2, 3
"""Stages in ``StandingReviews.stages``; what was said after the reveal is not among them.

``AGAIN`` was said of an item that its author was served again: how far they agree with themselves, and nothing else.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """Grades or verdicts as columns of one length.

    ``labels`` are positions in ``LABELS``. What was not given is 0 there, NaN in ``groundedness``, 0 in ``quality``.
    ``scores`` are on the one dimension that was asked for, NaN everywhere where none was.
    """

    labels: IntArray
    groundedness: FloatArray
    quality: IntArray
    scores: FloatArray

    def at(self, rows: npt.NDArray[Any]) -> "Given":
        """Return some of the rows, by a mask or by positions."""
        return Given(self.labels[rows], self.groundedness[rows], self.quality[rows], self.scores[rows])


@dataclass(frozen=True, slots=True, eq=False)
class StandingReviews:
    """Reviews that stand and carry a grade, one row each, the oldest first."""

    response_ids: IntArray
    reviewer_ids: IntArray
    stages: IntArray
    given: Given

    def at(self, rows: npt.NDArray[Any]) -> "StandingReviews":
        """Return some of the rows, by a mask or by positions."""
        return StandingReviews(self.response_ids[rows], self.reviewer_ids[rows], self.stages[rows], self.given.at(rows))


def standing_reviews(connection: Connection, dimension: str | None = None) -> StandingReviews:
    """Return the reviews that stand and grade, but those that were given after the judge was revealed.

    A review that was unsure whether there is a problem counts with the grades that it gives: they were given, and
    nobody has to give any. Withdrawn and replaced ones do not count.

    Args:
        connection: An open transaction.
        dimension: Those with a score on this dimension of a rubric; without it those with one of the three grades.
    """
    again = exists().where(ITEM.c.id == REVIEW.c.queue_item_id, ITEM.c.again_for.is_not(None))
    stages = ((again, AGAIN), (REVIEW.c.stage == "blind", BLIND), (REVIEW.c.stage == "adjudication", ADJUDICATION))
    stage = case(*stages, else_=NO_STAGE)
    columns = (REVIEW.c.response_id, REVIEW.c.reviewer_id, stage)
    if dimension is None:
        query = select(*columns, *given_columns(REVIEW.c)).where(has_grade())
    else:
        query = (
            select(*columns, *given_columns(REVIEW.c, SCORE.c.value))
            .join(SCORE, SCORE.c.review_id == REVIEW.c.id)
            .where(SCORE.c.dimension == dimension, SCORE.c.value.is_not(None))
        )
    query = query.where(standing(), REVIEW.c.stage.is_distinct_from("revealed")).order_by(REVIEW.c.id)
    responses, reviewers, stages, *given = read_columns(connection, query)
    return StandingReviews(responses, reviewers, stages, given_of(given, len(responses)))


def given_columns(table: Any, score: ColumnElement[Any] | None = None) -> tuple[ColumnElement[Any], ...]:
    """Return the columns of ``Given``, the score last where there is one.

    Numbers instead of texts and NULLs: a million small strings cost more than all that is computed from them.
    """
    label = case(*((table.label == name, literal(code)) for code, name in enumerate(LABELS) if name), else_=literal(0))
    columns = (label, table.groundedness, func.coalesce(table.quality, 0))
    return columns if score is None else (*columns, score)


def given_of(columns: list[Any], n: int) -> Given:
    """Return what ``given_columns`` read of ``n`` rows."""
    scores = columns[3] if len(columns) > 3 else np.full(n, np.nan)
    return Given(columns[0], columns[1], columns[2], scores)


@dataclass(frozen=True, slots=True, eq=False)
class BeforeAndAfter:
    """A row per person and answer with a grade before and after, and the verdict of the judge that was shown.

    Labels are 1 (grounded) or 0; each column is on the grade's own scale.
    """

    response_ids: IntArray
    judge: FloatArray
    blind: FloatArray
    revealed: FloatArray


def before_and_after(connection: Connection, version_id: int, grade: str) -> BeforeAndAfter:
    """Return what people gave before and after they saw a verdict of a judge version.

    Of several standing reviews of one person the latest of each stage counts. The verdict is the one that was shown,
    which a later one of the same version need not be.

    Args:
        connection: An open transaction.
        version_id: The judge version whose verdict was shown.
        grade: ``label``, ``groundedness`` or ``quality``.
    """
    latest = [
        select(func.max(of.c.id).label("id"), of.c.response_id, of.c.reviewer_id)
        .where(standing(of), of.c.stage == stage, of.c[grade].is_not(None))
        .group_by(of.c.response_id, of.c.reviewer_id)
        .subquery(stage)
        for stage in ("blind", "revealed")
        for of in (REVIEW.alias(f"any_{stage}"),)
    ]
    blind, revealed = REVIEW.alias("before"), REVIEW.alias("after")
    first, second = latest
    same = (second.c.response_id == first.c.response_id) & (second.c.reviewer_id == first.c.reviewer_id)
    numbers = [_number(table.c[grade], grade) for table in (JUDGMENT, blind, revealed)]
    query = (
        select(revealed.c.response_id, *numbers)
        .select_from(second)
        .join(first, same)
        .join(blind, blind.c.id == first.c.id)
        .join(revealed, revealed.c.id == second.c.id)
        .join(JUDGMENT, JUDGMENT.c.id == revealed.c.judgment_seen_id)
        .where(JUDGMENT.c.judge_version_id == version_id, JUDGMENT.c[grade].is_not(None))
        .order_by(revealed.c.id)
    )
    return BeforeAndAfter(*read_columns(connection, query))


def _number(column: ColumnElement[Any], grade: str) -> ColumnElement[Any]:
    """Return a grade as a float, which is how its column is read."""
    if grade == "label":
        return cast(case((column == Label.GROUNDED.value, 1), else_=0), Float)
    return cast(column, Float)


OF_JUDGES = JUDGMENT_SCORE
OF_PEOPLE = REVIEW_SCORE


@dataclass(frozen=True, slots=True)
class DimensionScales:
    """The scales on which people or current verdicts score a dimension, as they are written; none: nobody does.

    ``whole`` says that every score is a whole number.
    """

    written: tuple[str, ...]
    whole: bool


def scales_of_dimension(connection: Connection, dimension: str) -> DimensionScales:
    """Return on which scales a dimension is scored, by standing reviews and current verdicts."""
    fraction = func.max(case((func.round(OF_PEOPLE.c.value) != OF_PEOPLE.c.value, 1), else_=0))
    people = (
        select(OF_PEOPLE.c.scale, fraction)
        .join(REVIEW, REVIEW.c.id == OF_PEOPLE.c.review_id)
        .where(OF_PEOPLE.c.dimension == dimension, OF_PEOPLE.c.value.is_not(None), standing())
        .group_by(OF_PEOPLE.c.scale)
    )
    fraction = func.max(case((func.round(OF_JUDGES.c.value) != OF_JUDGES.c.value, 1), else_=0))
    judges = (
        select(OF_JUDGES.c.scale, fraction)
        .join(CURRENT, CURRENT.c.judgment_id == OF_JUDGES.c.judgment_id)
        .where(OF_JUDGES.c.dimension == dimension, OF_JUDGES.c.value.is_not(None))
        .group_by(OF_JUDGES.c.scale)
    )
    found = [tuple(row) for query in (people, judges) for row in connection.execute(query)]
    return DimensionScales(tuple(sorted({scale for scale, _ in found})), not any(fraction for _, fraction in found))


def dimensions_scored(connection: Connection) -> tuple[str, ...]:
    """Return the dimensions that people scored, by name."""
    return tuple(sorted(connection.execute(select(OF_PEOPLE.c.dimension).distinct()).scalars()))


@dataclass(frozen=True, slots=True)
class _Graded:
    response_id: int
    adjudicated: bool
    scores: Mapping[str, float]
    note: str | None

    @property
    def level(self) -> float:
        """What examples are balanced by; only answers graded on the same scores are compared by it."""
        return round(sum(self.scores.values()) / len(self.scores), 9)


def examples_from_reviews(
    connection: Connection, count: int, *, dimensions: Collection[str] | None = None
) -> tuple["Example", ...]:
    """Return ``count`` answers with what people gave them, the same whenever the reviews are the same.

    An adjudicated answer goes before one that people merely agree on; one on which standing grades differ is left
    out. They are drawn from the levels in turn, the worst first, so that good and bad are shown; within a level the
    oldest answer goes first.

    Args:
        connection: A reading transaction.
        count: How many.
        dimensions: Those of a rubric; without them groundedness and quality are taken.

    Raises:
        BadInput: Fewer answers than that can serve.
    """
    reviews = _on_dimensions(connection, dimensions) if dimensions is not None else _on_rag_scales(connection)
    usable = _readable(connection, _agreed(reviews))
    if len(usable) < count:
        raise BadInput(
            f"--examples-from-reviews {count}: only {len(usable)} answers are graded by people without dispute"
        )
    return tuple(_example(connection, one) for one in _in_turn(usable, count))


def _on_rag_scales(connection: Connection) -> list[_Graded]:
    query = select(
        REVIEW.c.response_id,
        case((REVIEW.c.stage == "adjudication", 1), else_=0),
        REVIEW.c.groundedness,
        REVIEW.c.quality,
        REVIEW.c.note,
    ).where(standing(), REVIEW.c.quality.is_not(None))
    found = []
    for response_id, adjudicated, groundedness, quality, note in connection.execute(query.order_by(REVIEW.c.id)):
        scores = {"quality": quality} | ({} if groundedness is None else {"groundedness": groundedness})
        found.append(_Graded(response_id, bool(adjudicated), dict(sorted(scores.items())), note))
    return found


def _on_dimensions(connection: Connection, dimensions: Collection[str]) -> list[_Graded]:
    query = (
        select(
            REVIEW.c.id,
            REVIEW.c.response_id,
            case((REVIEW.c.stage == "adjudication", 1), else_=0),
            REVIEW.c.note,
            SCORE.c.dimension,
            SCORE.c.value,
        )
        .join(SCORE, SCORE.c.review_id == REVIEW.c.id)
        .where(standing(), SCORE.c.value.is_not(None), SCORE.c.dimension.in_(sorted(dimensions)))
    )
    scores: dict[int, dict[str, float]] = defaultdict(dict)
    about: dict[int, tuple[int, bool, str | None]] = {}
    for review_id, response_id, adjudicated, note, dimension, value in connection.execute(query.order_by(SCORE.c.id)):
        about[review_id] = (response_id, bool(adjudicated), note)
        scores[review_id][dimension] = int(value) if value == int(value) else value
    return [
        _Graded(response_id, adjudicated, dict(sorted(scores[review_id].items())), note)
        for review_id, (response_id, adjudicated, note) in sorted(about.items())
    ]


def _agreed(reviews: Iterable[_Graded]) -> list[_Graded]:
    """One for each answer: the latest adjudicated, else the first of those that all say the same."""
    by_response: dict[int, list[_Graded]] = defaultdict(list)
    for review in reviews:
        by_response[review.response_id].append(review)
    agreed = []
    for given in by_response.values():
        adjudicated = [review for review in given if review.adjudicated]
        if adjudicated:
            agreed.append(adjudicated[-1])
        elif all(review.scores == given[0].scores for review in given):
            agreed.append(next((review for review in given if review.note), given[0]))
    return agreed


def _readable(connection: Connection, agreed: Sequence[_Graded]) -> list[_Graded]:
    """Those whose answers are of the log and not forgotten."""
    ids = [one.response_id for one in agreed]
    kept: set[int] = set()
    for some in batches(ids):
        query = select(RESPONSE.c.id, RESPONSE.c.kind, RESPONSE.c.answer.is_not(None)).where(RESPONSE.c.id.in_(some))
        kept |= {id_ for id_, kind, there in connection.execute(query) if there and kind == ResponseKind.LOG.value}
    return [one for one in agreed if one.response_id in kept]


def _in_turn(usable: Iterable[_Graded], count: int) -> list[_Graded]:
    levels: dict[float, list[_Graded]] = defaultdict(list)
    for one in sorted(usable, key=lambda one: (not one.adjudicated, one.response_id)):
        levels[one.level].append(one)
    chosen: list[_Graded] = []
    while len(chosen) < count:
        for level in sorted(levels):
            if levels[level] and len(chosen) < count:
                chosen.append(levels[level].pop(0))
    return chosen


def _example(connection: Connection, one: _Graded) -> "Example":
    from judgeboard.judges.material import Example  # loads pydantic's types, which agreement does not need

    row: Any = connection.execute(
        select(RESPONSE.c.query, RESPONSE.c.answer, RESPONSE.c.passages, RESPONSE.c.reference).where(
            RESPONSE.c.id == one.response_id
        )
    ).one()
    return Example(
        query=row.query,
        answer=row.answer,
        scores=one.scores,
        reasoning=one.note,
        passages=None if row.passages is None else tuple(row.passages),
        reference=row.reference,
        response_id=one.response_id,
    )


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

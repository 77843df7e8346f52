"""People's grades: read for agreement, chosen as examples for a judge, and imported from files."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cache, reduce
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    Select,
    case,
    cast,
    exists,
    func,
    literal,
    select,
)

from judgeboard.domain import (
    EXPECTED,
    GRADE_TEXTS,
    Decision,
    DimensionScore,
    Grade,
    Label,
    ResponseKind,
    Stage,
)
from judgeboard.errors import BadInput
from judgeboard.stats.arrays import FloatArray, IntArray
from judgeboard.store.alignments import EvidenceRole, evidence_role, reserved_groups
from judgeboard.store.engine import AdvisoryLock, kept_while_reading, take_lock
from judgeboard.store.reviewers import authors, store_reviewer
from judgeboard.store.reviews import (
    Review,
    ReviewRecord,
    has_grade,
    insert_reviews,
    is_current,
    is_imported,
    is_test,
    reviews_on,
)
from judgeboard.store.sql_compiler import by_index
from judgeboard.store.statements import (
    CURRENT_OF_VERSION,
    Columns,
    any_row,
    grouped,
    listed,
    read_columns,
    rows_with,
)
from judgeboard.store.tables import (
    CURRENT,
    IMPORT_BATCH,
    JUDGMENT,
    JUDGMENT_SCORE,
    QUEUE_ITEM,
    RESPONSE,
    REVIEW,
    REVIEW_SCORE,
)
from judgeboard.text import counted, iso_z

if TYPE_CHECKING:
    from judgeboard.judges.prompt import Example

T = TypeVar("T")
LABELS = (
    "",
    Label.HALLUCINATED.value,
    Label.GROUNDED.value,
)  # ``Grades.labels`` has indexes of this tuple
HALLUCINATED, GROUNDED = (
    LABELS.index(label.value) for label in (Label.HALLUCINATED, Label.GROUNDED)
)

# Stages in ``GradedReviews.stages``. ``AGAIN``: a repeated item, which only counts for
# self-agreement.
NO_STAGE, BLIND, ADJUDICATION, AGAIN = 0, 1, 2, 3


@dataclass(frozen=True, slots=True, eq=False)
class Grades(Columns):
    """Grades of reviews or verdicts, by answer, as columns of equal length. Subclasses add columns.

    ``labels`` are positions in ``LABELS``. Missing values are 0 in ``labels`` and ``quality``, NaN
    in ``groundedness`` and ``scores``. ``scores`` are on the requested dimension; all are NaN if
    none was requested.
    """

    labels: IntArray
    groundedness: FloatArray
    quality: IntArray
    scores: FloatArray
    response_ids: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class GradedReviews(Grades):
    """Current reviews with a grade as columns, by answer; the oldest of an answer first."""

    reviewer_ids: IntArray
    stages: IntArray


@kept_while_reading
def graded_reviews(
    connection: Connection,
    dimension: str | None = None,
    *,
    implied_labels: bool = True,
    classes: tuple[str, ...] = (),
    ids: tuple[int, ...] | None = None,
) -> GradedReviews:
    """Return the current reviews with a grade, or with a score on a rubric's ``dimension``, ordered by answer.

    With ``classes``, the dimension is a category of a label schema, and the score is the number of
    the chosen class, from 1. Reviews given after the judge was revealed are left out; reviews with
    the decision "unsure" count. If ``implied_labels`` is False, a label that only a decision
    implies counts as missing. ``ids`` are the answers whose reviews are read (default: all).
    """
    again = exists().where(
        QUEUE_ITEM.c.id == REVIEW.c.queue_item_id, QUEUE_ITEM.c.repeat_for.is_not(None)
    )
    stages = (
        (again, AGAIN),
        (REVIEW.c.stage == "blind", BLIND),
        (REVIEW.c.stage == "adjudication", ADJUDICATION),
    )
    stage = case(*stages, else_=NO_STAGE)
    columns = (REVIEW.c.response_id, REVIEW.c.reviewer_id, stage)
    if dimension is not None and classes:
        choice = REVIEW.c.choices[dimension].as_string()
        number = cast(
            case(
                *((choice == name, literal(place)) for place, name in enumerate(classes, start=1))
            ),
            Float,
        )
        query = select(*columns, *grade_columns(REVIEW.c, number)).where(number.is_not(None))
    elif dimension is None:
        label, *other_columns = grade_columns(REVIEW.c)
        counted_label = (
            label if implied_labels else case((REVIEW.c.label_implied, literal(0)), else_=label)
        )
        query = select(*columns, counted_label, *other_columns).where(has_grade())
    else:
        query = (
            select(*columns, *grade_columns(REVIEW.c, REVIEW_SCORE.c.value))
            .join(REVIEW_SCORE, REVIEW_SCORE.c.review_id == REVIEW.c.id)
            .where(REVIEW_SCORE.c.dimension == dimension, REVIEW_SCORE.c.value.is_not(None))
        )
    query = query.where(
        is_current(), REVIEW.c.stage.is_distinct_from("revealed"), ~is_test()
    ).order_by(REVIEW.c.id)
    if ids is not None:
        query = query.where(REVIEW.c.response_id.in_(listed(connection, ids)))
        query = by_index(query, REVIEW, "ix_review_response")
    responses, reviewers, stages, *grades = read_columns(connection, query)
    reviews = GradedReviews(*with_scores(*grades), responses, reviewers, stages)
    return reviews.at(np.argsort(responses, kind="stable"))


def grade_columns(
    table: Any, score: ColumnElement[Any] | None = None
) -> tuple[ColumnElement[Any], ...]:
    """Return the columns of ``Grades``, the score last. All are numbers because texts are slower to read."""
    label = case(
        *((table.label == name, literal(code)) for code, name in enumerate(LABELS) if name),
        else_=literal(0),
    )
    columns = (label, table.groundedness, func.coalesce(table.quality, 0))
    return columns if score is None else (*columns, score)


def with_scores(
    labels: IntArray, groundedness: FloatArray, quality: IntArray, scores: FloatArray | None = None
) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
    """Return the columns of ``Grades`` from the values of ``grade_columns``. Without ``scores``, all scores are NaN."""
    return labels, groundedness, quality, np.full(len(labels), np.nan) if scores is None else scores


@dataclass(frozen=True, slots=True, eq=False)
class BeforeAndAfter(Columns):
    """People's grades before and after they saw a verdict, by person and answer; labels are 1 (grounded) or 0."""

    response_ids: IntArray
    judge: FloatArray
    blind: FloatArray
    revealed: FloatArray


def any_reveal(connection: Connection) -> bool:
    """Return whether anybody graded an answer after a verdict was revealed."""
    return any_row(connection, REVIEW.c.stage == Stage.REVEALED)


def before_and_after(connection: Connection, version_id: int, grade: str) -> BeforeAndAfter:
    """Return people's grades (``label``, ``groundedness``, ``quality``) before and after they saw a version's verdict.

    The latest current review of each person, answer and stage counts. The verdict is the one that
    the person saw.
    """
    query = _before_and_after(grade).where(JUDGMENT.c.judge_version_id == version_id)
    return BeforeAndAfter(*read_columns(connection, query))


@cache
def _before_and_after(grade: str) -> Select[Any]:
    # Cached, because SQLAlchemy needs more time to copy the columns of the aliases than a small
    # database needs to answer.
    latest = [
        select(func.max(of.c.id).label("id"), of.c.response_id, of.c.reviewer_id)
        .where(is_current(of), ~is_test(of), of.c.stage == stage, of.c[grade].is_not(None))
        .group_by(of.c.response_id, of.c.reviewer_id)
        .subquery(stage)
        for stage in ("blind", "revealed")
        for of in (REVIEW.alias(f"any_{stage}"),)
    ]
    blind, revealed = REVIEW.alias("before"), REVIEW.alias("after")
    first, second = latest
    same = (second.c.response_id == first.c.response_id) & (
        second.c.reviewer_id == first.c.reviewer_id
    )
    grades: list[ColumnElement[Any]] = [table.c[grade] for table in (JUDGMENT, blind, revealed)]
    if grade == "label":
        grades = [case((label == Label.GROUNDED, 1), else_=0) for label in grades]
    return (
        select(revealed.c.response_id, *(cast(number, Float) for number in grades))
        .select_from(second)
        .join(first, same)
        .join(blind, blind.c.id == first.c.id)
        .join(revealed, revealed.c.id == second.c.id)
        .join(JUDGMENT, JUDGMENT.c.id == revealed.c.judgment_seen_id)
        .where(JUDGMENT.c[grade].is_not(None))
        .order_by(revealed.c.id)
    )


@dataclass(frozen=True, slots=True)
class WrittenScale:
    """A scale as written ("1-5") with scores of a judge version (None: people). ``whole``: all scores are integers."""

    version_id: int | None
    text: str
    whole: bool


def scales_of_dimension(connection: Connection, dimension: str) -> tuple[WrittenScale, ...]:
    """Return the scales of a dimension's scores in current reviews and verdicts."""
    scales: list[WrittenScale] = []
    for scores in (REVIEW_SCORE, JUDGMENT_SCORE):
        has_fraction = func.max(case((func.round(scores.c.value) != scores.c.value, 1), else_=0))
        by: list[ColumnElement[Any]] = [scores.c.scale]
        query = select(has_fraction).where(
            scores.c.dimension == dimension, scores.c.value.is_not(None)
        )
        if scores is REVIEW_SCORE:
            query = query.join(REVIEW, REVIEW.c.id == scores.c.review_id).where(is_current())
        else:
            query = query.join(CURRENT, CURRENT.c.judgment_id == scores.c.judgment_id)
            by.append(CURRENT.c.judge_version_id)
        for fraction, text, *version in connection.execute(query.add_columns(*by).group_by(*by)):
            scales.append(WrittenScale(next(iter(version), None), text, not fraction))
    return tuple(scales)


def dimensions_scored(connection: Connection) -> tuple[str, ...]:
    """Return the dimensions that people scored, by name."""
    return tuple(sorted(connection.scalars(select(REVIEW_SCORE.c.dimension).distinct())))


def dimensions_of_both(
    connection: Connection, version_id: int | None = None
) -> dict[tuple[str, str], int]:
    """Return the dimensions on which people and a judge (default: any) scored the same answers.

    The keys are (dimension of people, dimension of the judge), the values numbers of answers.
    Expected scores repeat another dimension and are left out.
    """
    people, judge = REVIEW_SCORE.c, JUDGMENT_SCORE.c
    query = (
        select(people.dimension, judge.dimension, func.count(REVIEW.c.response_id.distinct()))
        .select_from(REVIEW)
        .join(REVIEW_SCORE, people.review_id == REVIEW.c.id)
        .join(CURRENT, CURRENT.c.response_id == REVIEW.c.response_id)
        .join(JUDGMENT_SCORE, judge.judgment_id == CURRENT.c.judgment_id)
        .where(
            is_current(),
            REVIEW.c.stage.is_distinct_from("revealed"),
            ~is_test(),
            CURRENT_OF_VERSION,
        )
        .where(
            people.value.is_not(None),
            judge.value.is_not(None),
            judge.dimension.not_like(f"{EXPECTED}%"),
        )
        .group_by(people.dimension, judge.dimension)
    )
    if version_id is not None:
        query = query.where(CURRENT.c.judge_version_id == version_id)
    return {(of_people, of_judge): n for of_people, of_judge, n in connection.execute(query)}


@dataclass(frozen=True, slots=True)
class _Graded:
    response_id: int
    adjudicated: bool
    scores: Mapping[str, float]
    note: str | None

    @property
    def level(self) -> float:
        """The mean score, by which examples are balanced."""
        return round(sum(self.scores.values()) / len(self.scores), 9)


def examples_from_reviews(
    connection: Connection, count: int, *, dimensions: Collection[str] | None = None
) -> "tuple[Example, ...]":
    """Return ``count`` answers with people's grades; the same reviews always give the same answers.

    Answers on which people differ, answers that are held out (`evidence_role`), and answers in
    evidence groups of anchors are left out. Levels (mean scores) take turns, the lowest first, so
    that good and bad answers are included. Within a level, adjudicated answers come first, then the
    oldest. The scores are on these ``dimensions`` of a rubric (default: groundedness and quality).
    Raises BadInput if there are too few usable answers.
    """
    # The latest adjudication of each answer, otherwise a review, if possible with a note, if all
    # scores agree.
    by_response = grouped(
        (review.response_id, review) for review in _graded(connection, dimensions)
    )
    agreed: list[_Graded] = []
    for reviews in by_response.values():
        adjudicated = [review for review in reviews if review.adjudicated]
        if adjudicated:
            agreed.append(adjudicated[-1])
        elif all(review.scores == reviews[0].scores for review in reviews):
            agreed.append(next((review for review in reviews if review.note), reviews[0]))
    # Only answers that are logged and not forgotten may be examples.
    query = select(RESPONSE.c.id, RESPONSE.c.kind, RESPONSE.c.evidence_group).where(
        RESPONSE.c.answer.is_not(None)
    )
    rows = rows_with(connection, query, RESPONSE.c.id, [review.response_id for review in agreed])
    anchors = reserved_groups(connection)
    usable_ids: set[int] = set()
    left_out: Counter[str] = Counter()
    for row in rows:
        if row.kind != ResponseKind.LOG:
            continue
        if row.evidence_group in anchors:
            left_out["have the evidence of an anchor"] += 1
        elif evidence_role(row.evidence_group) is EvidenceRole.HELD_OUT:
            left_out["are held out to test prompts"] += 1
        else:
            usable_ids.add(row.id)
    usable = [review for review in agreed if review.response_id in usable_ids]
    if len(usable) < count:
        reasons = "".join(f"; {n:,} more {reason}" for reason, n in left_out.items())
        raise BadInput(
            f"--examples-from-reviews {count}: only {counted(len(usable), 'answer')} "
            f"{'has' if len(usable) == 1 else 'have'} grades that people agree on and may be examples{reasons}"
        )
    usable.sort(key=lambda review: (review.level, not review.adjudicated, review.response_id))
    turns = in_turns(usable, lambda review: review.level)
    example_reviews = [review for turn in turns for review in turn][:count]
    return tuple(_example(connection, review) for review in example_reviews)


def possible_examples(
    connection: Connection, responses: Collection[int], dimensions: Collection[str] | None = None
) -> "Iterator[Example]":
    """Yield an example for each review of these answers, also for replaced reviews, the newest first."""
    return (_example(connection, review) for review in _graded(connection, dimensions, responses))


def _graded(
    connection: Connection,
    dimensions: Collection[str] | None,
    responses: Collection[int] | None = None,
) -> list[_Graded]:
    """Return the current reviews, oldest first; with ``responses``, all reviews of these answers, newest first."""
    columns = (
        REVIEW.c.id,
        REVIEW.c.response_id,
        REVIEW.c.stage,
        REVIEW.c.note,
        REVIEW.c.groundedness,
        REVIEW.c.quality,
    )
    if responses is None:
        query = select(*columns).where(is_current(), ~is_test()).order_by(REVIEW.c.id)
    else:
        query = (
            select(*columns).where(REVIEW.c.response_id.in_(responses)).order_by(REVIEW.c.id.desc())
        )
    scores: dict[int, dict[str, float]] = defaultdict(dict)
    if dimensions is None:
        query = query.where(REVIEW.c.quality.is_not(None))
    else:
        of_review = (
            REVIEW_SCORE.c.value.is_not(None),
            REVIEW_SCORE.c.dimension.in_(sorted(dimensions)),
        )
        scored = select(
            REVIEW_SCORE.c.review_id, REVIEW_SCORE.c.dimension, REVIEW_SCORE.c.value
        ).where(*of_review)
        for review_id, dimension, value in connection.execute(scored):
            scores[review_id][dimension] = int(value) if value == int(value) else value
    reviews = []
    for row in connection.execute(query):
        if dimensions is None:
            grades = {"groundedness": row.groundedness, "quality": row.quality}
            scores[row.id] = {name: score for name, score in grades.items() if score is not None}
        if row.id in scores:
            adjudicated = row.stage == Stage.ADJUDICATION
            reviews.append(
                _Graded(
                    row.response_id, adjudicated, dict(sorted(scores[row.id].items())), row.note
                )
            )
    return reviews


def _example(connection: Connection, review: _Graded) -> "Example":
    from judgeboard.judges.prompt import Example  # only a judge with examples needs it

    names = ("query", "answer", "passages", "reference")
    query = select(*(RESPONSE.c[name] for name in names)).where(RESPONSE.c.id == review.response_id)
    texts = connection.execute(query).one()._asdict()
    return Example(
        **texts, scores=review.scores, reasoning=review.note, response_id=review.response_id
    )


ORIGIN = "import"
# The parts of a grade that are always in the request key (`review_of_grade`). A part that is added
# later is in the key only if the part has a value. Otherwise the keys of earlier imports would
# change, and a file that is imported again would replace all grades.
_IN_KEY = {"label", "groundedness", "quality", "spans", "note", "corrected_answer", "scores"}


@dataclass(frozen=True, slots=True)
class ImportedGrade:
    """A person's grade from a file, with the external id and the source of the answer.

    Until the answer is found, ``response_id`` is 0, and ``source`` may be None. Each of the
    ``scores`` has its own scale. ``fields`` are values of the label schema with the title
    ``schema``; ``label_schema_id`` is its id, once it is found. ``review`` has the further columns
    of an export. ``rows`` is the number of rows of the file that were joined.
    """

    external_id: str
    annotator: str
    grade: Grade
    source: str | None = None
    at: datetime | None = None
    scores: tuple[DimensionScore, ...] = ()
    schema: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    review: ReviewRecord | None = None
    response_id: int = 0
    label_schema_id: int | None = None
    rows: int = 1

    @property
    def scored_grade(self) -> Grade:
        """The grade with the scores."""
        return replace(self.grade, scores=self.scores)

    def joined(self, other: "ImportedGrade") -> "ImportedGrade | None":
        """Return this grade joined with another grade by the same person, None if the two contradict each other."""
        own, others = self.scored_grade, other.scored_grade
        grade = own.updated(others)
        if grade != others.updated(own) or self.label_schema_id != other.label_schema_id:
            return None
        if grade == own.updated(own):
            return self
        at = max(filter(None, (self.at, other.at)), default=None)
        return replace(self, grade=grade, scores=grade.scores, at=at, rows=self.rows + 1)


def insert_grades(
    connection: Connection, grades: Sequence[ImportedGrade], batch_id: int | None, now: datetime
) -> tuple[int, int]:
    """Store grades as reviews of imported reviewers; return the numbers of new rows and of changed grades.

    Grades of a person that complete each other, such as one row for each dimension, are one
    review. A review replaces the person's current imported grade of the answer that has the same
    parts, and keeps the other parts of that grade. A review that adds nothing is not stored. A
    grade that was stored before counts again only if it was changed since (`Restoring`).
    """
    reviewers = imported_reviewers(connection, {grade.annotator for grade in grades})
    by_owner: dict[Hashable, list[ImportedGrade]] = defaultdict(list)
    for grade in grades:
        of_owner = by_owner[grade.response_id, reviewers[grade.annotator]]
        if of_owner and (joined_grade := of_owner[-1].joined(grade)):
            of_owner[-1] = joined_grade
        else:
            of_owner.append(grade)
    reviews = {
        review.request_key: (review, grade)
        for of_owner in by_owner.values()
        for grade in of_owner
        for review in [review_of_grade(grade, reviewers, batch_id, now)]
    }
    keys = known_keys(connection, reviews)
    reviews = {key: review for key, review in reviews.items() if not keys.get(key)}
    restoring = Restoring.of_import(connection, batch_id) if keys.keys() & reviews else Restoring()
    current = current_imports(connection, [review for review, _ in reviews.values()])
    new_rows = changed_grades = 0
    for turn in in_turns(reviews.values(), lambda each: owner_of(each[0])):
        new_reviews: list[Review] = []
        for review, grade in turn:
            before = current[owner_of(review)]
            same = [each for each in before if each.grade.graded & review.grade.graded]
            valid = restoring.restored(review, same) if review.request_key in keys else review
            changes = [] if valid is None else _changes(valid, same, grade.at)
            if not changes:
                continue
            new_reviews += changes
            current[owner_of(review)] = [each for each in before if each not in same]
            new_rows += grade.rows
            changed_grades += bool(same)
        for review, id_ in zip(new_reviews, insert_reviews(connection, new_reviews), strict=True):
            if review.decision is None:
                current[owner_of(review)].append(replace(review, id=id_))
    return new_rows, changed_grades


def _changes(review: Review, same: Sequence[Review], at: datetime | None) -> list[Review]:
    """Return a review that replaces the latest of ``same`` and has the parts of all; withdraw the older ones.

    Return nothing if the review adds nothing to ``same`` and ``at`` is not later than the latest.
    """
    if not same:
        return [review]
    *older, latest = same
    before = reduce(Grade.updated, (each.grade for each in same), Grade())
    grade = before.updated(review.grade)
    if grade == before and (at is None or at <= latest.at):
        return []
    schema_id = review.label_schema_id or latest.label_schema_id
    gone = replace(review, grade=Grade(), decision=Decision.WITHDRAWN)
    return [
        *(
            replace(gone, request_key=f"{gone.request_key}:{each.id}", replaces=each.id)
            for each in older
        ),
        replace(review, grade=grade, replaces=latest.id, label_schema_id=schema_id),
    ]


@dataclass(frozen=True, slots=True)
class Restoring:
    """Which stored grades (or feedback) of a file count again: grades that were changed and that the file changes back.

    If a file of this name was imported before, grades that another file changed stay changed: the
    file may not know of the change. ``imports`` are the imports of a file of this name, None if no
    such file was imported before.
    """

    imports: frozenset[int] | None = None

    @classmethod
    def of_import(cls, connection: Connection, batch_id: int | None) -> "Restoring":
        """Return which grades count again for an import."""
        own = (
            select(IMPORT_BATCH.c.file, IMPORT_BATCH.c.kind)
            .where(IMPORT_BATCH.c.id == batch_id)
            .subquery()
        )
        same_name = (IMPORT_BATCH.c.file == own.c.file) & (IMPORT_BATCH.c.kind == own.c.kind)
        query = select(IMPORT_BATCH.c.id, IMPORT_BATCH.c.finished_at).join(own, same_name)
        rows = connection.execute(query.where(IMPORT_BATCH.c.undone_at.is_(None))).all()
        before = any(row.id != batch_id and row.finished_at is not None for row in rows)
        return cls(frozenset(row.id for row in rows)) if before else cls()

    def may_change(self, batch_id: int | None) -> bool:
        """Whether this file may change what the import ``batch_id`` stored (None: what came without a file)."""
        return self.imports is None or batch_id in self.imports

    def restored(self, review: Review, current: Sequence[Review]) -> Review | None:
        """Return a stored review with a new request key if the review counts again, otherwise None.

        ``current`` are the person's current imported reviews of the same subject, the oldest first.
        A review from before the last of ``current`` does not count again.
        """
        if not current or review.at < current[-1].at:
            return None
        if not self.may_change(current[-1].import_batch_id):
            return None
        if all(each.request_key.startswith(review.request_key) for each in current):
            return None
        return replace(review, request_key=f"{review.request_key}:{current[-1].id}")


def review_of_grade(
    imported: ImportedGrade, reviewers: Mapping[str, int], batch_id: int | None, now: datetime
) -> Review:
    """Return the review of an imported grade; ``reviewers`` has the ids of people by name."""
    # A hash of source, external id, annotator and content, so that the same grade has the same key
    # in every file.
    own = imported.grade
    names = {*_IN_KEY, *(name for name in GRADE_TEXTS if getattr(own, name) is not None)}
    values: dict[str, Any] = {
        name: getattr(own, name) for name in names
    }  # `asdict` would copy each value
    values["scores"] = [asdict(score) for score in own.scores]
    content: list[Any] = [imported.source, imported.external_id, imported.annotator, values]
    content += [asdict(score) for score in imported.scores]
    fields = {**own.choices, **own.texts}
    content += [each for each in (fields, own.modes, own.label_implied) if each]
    content += [imported.review.content] if imported.review else []
    return Review(
        reviewer_id=reviewers[imported.annotator],
        request_key=import_key([*content, None if imported.at is None else iso_z(imported.at)]),
        at=imported.at or now,
        response_id=imported.response_id,
        grade=imported.scored_grade,
        label_schema_id=imported.label_schema_id,
        import_batch_id=batch_id,
        **(imported.review.columns if imported.review else {}),
    )


def known_keys(connection: Connection, keys: Collection[str]) -> dict[str, bool]:
    """Return which of these request keys have a review, and whether the review is current."""
    query = select(REVIEW.c.request_key, is_current()).where(REVIEW.c.request_key.in_(keys))
    return {key: bool(stands) for key, stands in connection.execute(query)}


def in_turns(items: Iterable[T], owner_of: Callable[[T], Hashable]) -> Iterator[list[T]]:
    """Yield lists with at most one item per owner, so that each item can replace the owner's previous item."""
    by_owner = grouped((owner_of(item), item) for item in items)
    for turn in zip_longest(*by_owner.values()):
        yield [item for item in turn if item is not None]


Owner = tuple[int | None, int | None, int]


def owner_of(review: Review) -> Owner:
    """Return the answer or the pair of a review, and the reviewer."""
    return review.response_id, review.pair_id, review.reviewer_id


def current_imports(
    connection: Connection, reviews: Collection[Review]
) -> dict[Owner, list[Review]]:
    """Return the current imported grades by the owners (`owner_of`) of these reviews, oldest first."""
    people = REVIEW.c.reviewer_id.in_({review.reviewer_id for review in reviews})
    current: dict[Owner, list[Review]] = defaultdict(list)
    for review in reviews_on(
        connection, reviews, people, REVIEW.c.decision.is_(None), is_imported(), is_current()
    ):
        current[owner_of(review)].append(review)
    return current


def imported_reviewers(connection: Connection, names: Collection[str]) -> dict[str, int]:
    """Return the ids of the authors with these names, and store new authors.

    "ines", "Ines" and "Ines " are one person. Several authors with such names that are stored
    already remain several.
    """
    take_lock(connection, AdvisoryLock.REVIEWER_NAMES)
    ids_by_name: dict[str, int] = {}
    ids_by_spelling: dict[str, int] = {}
    for name, id_ in authors(connection):
        ids_by_name.setdefault(name, id_)
        ids_by_spelling.setdefault(one_spelling(name), id_)
    new = {
        one_spelling(name): name
        for name in sorted(names, reverse=True)
        if one_spelling(name) not in ids_by_spelling
    }
    for spelling, name in sorted(new.items(), key=lambda item: item[1]):
        ids_by_spelling[spelling] = store_reviewer(connection, ORIGIN, " ".join(name.split())).id
    return {name: ids_by_name.get(name, ids_by_spelling[one_spelling(name)]) for name in names}


def several_of_spelling(connection: Connection) -> set[str]:
    """Return the spellings (`one_spelling`) that are names of several authors."""
    by_spelling: dict[str, set[int]] = defaultdict(set)
    for name, id_ in authors(connection):
        by_spelling[one_spelling(name)].add(id_)
    return {spelling for spelling, ids in by_spelling.items() if len(ids) > 1}


def author_spellings(connection: Connection) -> dict[str, set[str]]:
    """Return the names of authors by the common spelling (`one_spelling`)."""
    names: dict[str, set[str]] = defaultdict(set)
    for name, _ in authors(connection):
        names[one_spelling(name)].add(name)
    return dict(names)


def one_spelling(name: str) -> str:
    """Return the name of an author in lower case, with single blanks, and none at the ends."""
    return " ".join(name.split()).casefold()


def import_key(content: list[Any]) -> str:
    """Return the request key of an imported review: a hash of the content."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"import:{hashlib.sha256(text.encode()).hexdigest()}"

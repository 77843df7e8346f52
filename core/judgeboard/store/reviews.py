"""Reviews and comments as stored: read under lock, written once, never changed."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Row,
    Table,
    and_,
    case,
    exists,
    insert,
    or_,
    select,
    update,
)

from judgeboard.domain import (
    NOTES,
    OVERALL,
    AspectPreference,
    Claim,
    ClaimMark,
    ClaimStatus,
    Decision,
    DimensionScore,
    FlagState,
    Grade,
    Preference,
    Shown,
    Stage,
)
from judgeboard.errors import NotFound
from judgeboard.flags.rules import RULES
from judgeboard.registry.masks import masked
from judgeboard.store.hidden_rows import hidden_of
from judgeboard.store.judgments import claims_from
from judgeboard.store.sql_compiler import with_hidden_rows
from judgeboard.store.statements import (
    batches,
    columns_of,
    first_row,
    grouped,
    record_of,
    rows_of,
    rows_with,
)
from judgeboard.store.tables import (
    COMMENT,
    FLAG,
    JUDGMENT,
    PAIR,
    PREFERENCE_SCORE,
    QUEUE_ITEM,
    RESPONSE,
    REVIEW,
    REVIEW_FAILURE_MODE,
    REVIEW_FLAG,
    REVIEW_SCORE,
    REVIEWER,
    VERSION,
    Comment,
    Flag,
)

# Created once: an alias copies all columns of the table. The copy takes longer than most
# statements.
_LATER, WORSE, _NEWER = REVIEW.alias(), FLAG.alias("worse"), FLAG.alias("newer")


def is_current(review: FromClause = REVIEW) -> ColumnElement[bool]:
    """Return the condition that a row of ``review`` (the table or an alias) is neither replaced nor withdrawn.

    Undo, edit and re-grade add a row that names the replaced row. A replaced row never becomes
    current again.
    """
    is_replaced = exists(select(_LATER.c.id).where(_LATER.c.replaces == review.c.id))
    return and_(review.c.decision.is_distinct_from(Decision.WITHDRAWN), ~is_replaced)


def reviewed_by_others(
    connection: Connection, response_ids: Collection[int], reviewer_id: int
) -> set[int]:
    """Return which of these answers have a current review by somebody else."""
    query = select(REVIEW.c.response_id).where(
        REVIEW.c.response_id.in_(response_ids), REVIEW.c.reviewer_id != reviewer_id, is_current()
    )
    return set(connection.scalars(query))


def graded_by(connection: Connection, response_ids: Collection[int], reviewer_id: int) -> set[int]:
    """Return which of these answers have a current grade by this person."""
    query = select(REVIEW.c.response_id).where(
        REVIEW.c.response_id.in_(response_ids),
        REVIEW.c.reviewer_id == reviewer_id,
        is_current(),
        has_grade(),
    )
    return set(connection.scalars(query))


def has_grade() -> ColumnElement[bool]:
    """Return the condition that a review has a grade: a label, a groundedness or a quality."""
    return or_(
        REVIEW.c.label.is_not(None),
        REVIEW.c.groundedness.is_not(None),
        REVIEW.c.quality.is_not(None),
    )


def is_imported(review: FromClause = REVIEW) -> ColumnElement[bool]:
    """Return the condition that a review came from a file."""
    return review.c.request_key.startswith("import:")


def is_test(review: FromClause = REVIEW) -> ColumnElement[bool]:
    """Return the condition that a review is of a test or training item. Figures about answers exclude such reviews."""
    return exists().where(QUEUE_ITEM.c.id == review.c.queue_item_id, QUEUE_ITEM.c.test.is_(True))


def marks_json(marks: Iterable[ClaimMark]) -> list[dict[str, Any]] | None:
    """Return marks as a JSON value in order, without keys that have no value; None without marks."""
    return [
        {name: value for name, value in asdict(mark).items() if value is not None}
        | {"status": mark.status.value}
        for mark in marks
    ] or None


def marks_from(stored_marks: Iterable[Mapping[str, Any]] | None) -> tuple[ClaimMark, ...]:
    """Return stored marks; empty without marks or with forgotten marks."""
    return tuple(
        ClaimMark(**{**mark, "status": ClaimStatus(mark["status"])}) for mark in stored_marks or ()
    )


def claims_by_judgment(
    connection: Connection, judgment_ids: Collection[int], response_id: int
) -> dict[int, tuple[Claim, ...]]:
    """Return the claims of these judgments of the response, by judgment."""
    query = select(JUDGMENT.c.id, JUDGMENT.c.claims).where(
        JUDGMENT.c.id.in_(judgment_ids), JUDGMENT.c.response_id == response_id
    )
    return {row.id: claims_from(row.claims) or () for row in connection.execute(query)}


LONGEST_COMMENT = 5_000  # characters
STATE_AFTER = {Decision.CONFIRM: FlagState.CONFIRMED, Decision.DISMISS: FlagState.DISMISSED}


@dataclass(frozen=True, slots=True)
class LockedResponse:
    """A response that nobody else can review or judge until the transaction ends; a forgotten ``answer`` is None."""

    id: int
    external_id: str
    answer: str | None


@dataclass(frozen=True, slots=True)
class ReviewRecord:
    """The parts of an exported review beside the grade.

    ``number`` is the id of the review in the file, and ``replaces`` is the id of the replaced
    review. ``rules`` are the rules of the flags that the review decides. ``still_open`` are the
    rules of flags that are open in the file in spite of the review. ``seen`` names what was
    revealed to the reviewer: the judge, other people.
    """

    number: int
    replaces: int | None = None
    at: datetime | None = None
    decision: Decision | None = None
    stage: Stage | None = None
    seconds: float | None = None
    seen: tuple[str, ...] | None = None
    rules: tuple[str, ...] = ()
    still_open: frozenset[str] = frozenset()

    @property
    def content(self) -> dict[str, Any]:
        """The parts that have a meaning outside the file."""
        return {name: value for name, value in self.columns.items() if value is not None}

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of a stored review for these parts."""
        return {name: getattr(self, name) for name in ("decision", "stage", "seconds", "seen")}


@dataclass(frozen=True, slots=True)
class Review:
    """A review of an answer, or of a pair with the preference by aspect. ``flag_ids`` are the decided flags.

    Before a review is stored, the ``id`` is 0 and ``reviewer`` is empty. ``stands`` is False for a
    replaced review and for a withdrawal.
    """

    reviewer_id: int
    request_key: str
    at: datetime
    response_id: int | None = None
    pair_id: int | None = None
    flag_ids: tuple[int, ...] = ()
    decision: Decision | None = None
    grade: Grade = field(default_factory=Grade)
    judgment_seen_id: int | None = None
    seconds: float | None = None
    replaces: int | None = None
    bulk: str | None = None
    queue_item_id: int | None = None
    stage: Stage | None = None
    seen: tuple[str, ...] | None = None
    preferences: Mapping[str, AspectPreference] = field(default_factory=dict)
    shown: Shown | None = None
    label_schema_id: int | None = None
    import_batch_id: int | None = None
    id: int = 0
    reviewer: str = ""
    stands: bool = True

    @property
    def choice(self) -> Decision | Preference | None:
        """The decision on an answer, or the preference on a pair."""
        overall = self.preferences.get(OVERALL)
        return self.decision if overall is None else overall.preference


_OF_REVIEW = [column.name for column in columns_of(Review, REVIEW) if column is not REVIEW.c.id]
_OF_GRADE = [column.name for column in columns_of(Grade, REVIEW)]


def lock_subject(
    connection: Connection, response_id: int | None, pair_id: int | None
) -> LockedResponse | None:
    """Lock the answer or the pair that a review is about, or raise NotFound; return the answer, None for a pair."""
    if response_id is not None:
        return lock_response(connection, response_id)
    pair = select(PAIR.c.id).where(PAIR.c.id == pair_id).with_for_update()
    if connection.scalar(pair) is None:
        raise NotFound(f"no pair {pair_id}")
    return None


def lock_response(connection: Connection, response_id: int) -> LockedResponse:
    """Read and lock a response. Raises NotFound if there is none.

    A transaction on SQLite already locks the whole database. On PostgreSQL the response is locked
    before the flag, as in the code that stores judgments. Another order could deadlock.
    """
    responses = lock_responses(connection, [response_id])
    if not responses:
        raise NotFound(f"no answer {response_id}")
    return responses[response_id]


def lock_responses(
    connection: Connection, response_ids: Collection[int]
) -> dict[int, LockedResponse]:
    """Read and lock at most 1,000 responses in the order of ids."""
    query = select(RESPONSE.c.id, RESPONSE.c.external_id, RESPONSE.c.answer).where(
        RESPONSE.c.id.in_(response_ids)
    )
    rows = connection.execute(query.order_by(RESPONSE.c.id).with_for_update(key_share=True))
    return {row.id: LockedResponse(*row) for row in rows}


def lock_free_responses(connection: Connection, response_ids: Collection[int]) -> set[int]:
    """Lock these responses, except those that another transaction has locked; return the ids of the locked ones."""
    query = select(RESPONSE.c.id).with_for_update(key_share=True, skip_locked=True)
    locked_ids: set[int] = set()
    for batch in batches(sorted(response_ids)):
        locked_ids |= set(connection.scalars(query.where(RESPONSE.c.id.in_(batch))))
    return locked_ids


def lock_flag(connection: Connection, flag_id: int) -> tuple[Flag, LockedResponse]:
    """Read and lock a flag and its response. Raises NotFound if there is no such flag."""
    response_id = connection.scalar(select(FLAG.c.response_id).where(FLAG.c.id == flag_id))
    if response_id is None:
        raise NotFound(f"no flag {flag_id}")
    response = lock_response(connection, response_id)
    return lock_flags(connection, [response_id], [flag_id])[0], response


def lock_flags(
    connection: Connection, response_ids: Collection[int], flag_ids: Collection[int] | None = None
) -> list[Flag]:
    """Read and lock flags of locked responses, by id: these flags, or all open flags."""
    if flag_ids is not None and not flag_ids:
        return []
    condition = FLAG.c.state == FlagState.OPEN if flag_ids is None else FLAG.c.id.in_(flag_ids)
    query = select(Flag).where(FLAG.c.response_id.in_(response_ids), condition)
    return rows_of(connection, query.order_by(FLAG.c.id).with_for_update())


def open_flag_ids(connection: Connection, response_id: int) -> tuple[int, ...]:
    """Return the open flags of a response. The caller has locked the response."""
    query = select(FLAG.c.id).where(
        FLAG.c.response_id == response_id, FLAG.c.state == FlagState.OPEN
    )
    return tuple(connection.scalars(query.order_by(FLAG.c.id)))


def lock_reviewed(
    connection: Connection, review_id: int
) -> tuple[Review, tuple[Flag, ...], LockedResponse | None]:
    """Read a review, and lock the decided flags and the answer (None for a pair). Raises NotFound if there is none."""
    review = find_review(connection, review_id)
    if review is None:
        raise NotFound(f"no review {review_id}")
    response = lock_subject(connection, review.response_id, review.pair_id)
    flags = (
        () if response is None else tuple(lock_flags(connection, [response.id], review.flag_ids))
    )
    return review, flags, response


def find_review(
    connection: Connection,
    review_id: int | None = None,
    *,
    request_key: str | None = None,
    replaces: int | None = None,
) -> Review | None:
    """Return the review with this id or ``request_key``, or the one that ``replaces`` this id; None if there is none.

    One of the three is given.
    """
    query = _REVIEWS.where(_with_one_of(REVIEW, review_id, request_key, replaces))
    row = connection.execute(query).one_or_none()
    return None if row is None else _reviews(connection, [row])[0]


def _with_one_of(
    table: Table, id_: int | None, request_key: str | None, replaces: int | None
) -> ColumnElement[bool]:
    """Return the condition for the only value that is not None."""
    values = {"id": id_, "request_key": request_key, "replaces": replaces}
    (condition,) = (table.c[name] == value for name, value in values.items() if value is not None)
    return condition


def bulk_decisions(
    connection: Connection, bulk: str, response_ids: Collection[int] | None = None
) -> Sequence[Row[int, int, str, Decision | None]]:
    """Return (response_id, reviewer_id, by, decision) of the reviews of a bulk action (default: on all answers)."""
    columns = (
        REVIEW.c.response_id,
        REVIEW.c.reviewer_id,
        REVIEWER.c.name.label("by"),
        REVIEW.c.decision,
    )
    query = (
        select(*columns)
        .join(REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id)
        .where(REVIEW.c.bulk == bulk)
    )
    if response_ids is not None:
        query = query.where(REVIEW.c.response_id.in_(response_ids))
    return connection.execute(query).all()


def newest_bulk(connection: Connection, reviewer_id: int) -> str | None:
    """Return the bulk action of a reviewer's newest review, None if that review belongs to no bulk action."""
    return connection.scalar(
        select(REVIEW.c.bulk)
        .where(REVIEW.c.reviewer_id == reviewer_id)
        .order_by(REVIEW.c.id.desc())
        .limit(1)
    )


def reviews_of_bulk(
    connection: Connection, bulk: str, response_ids: Collection[int]
) -> list[Review]:
    """Return the current reviews of a bulk action on these answers."""
    return find_reviews(
        connection, REVIEW.c.bulk == bulk, REVIEW.c.response_id.in_(response_ids), is_current()
    )


def find_reviews(
    connection: Connection, *conditions: ColumnElement[bool], hidden_too: bool = False
) -> list[Review]:
    """Return the reviews that meet all conditions, the oldest first.

    ``hidden_too`` reads hidden rows too: the conditions must exclude what the viewer may not see.
    """
    query = _REVIEWS.where(*conditions).order_by(REVIEW.c.id)
    rows = connection.execute(with_hidden_rows(query) if hidden_too else query).all()
    return _reviews(connection, rows, hidden_too=hidden_too)


def reviews_on(
    connection: Connection, reviews: Collection[Review], *conditions: ColumnElement[bool]
) -> Iterator[Review]:
    """Yield all reviews of the same answers and pairs; the reviews of an answer come oldest first."""
    query = _REVIEWS.where(*conditions).order_by(REVIEW.c.id)
    for column, name in ((REVIEW.c.response_id, "response_id"), (REVIEW.c.pair_id, "pair_id")):
        ids = {getattr(review, name) for review in reviews} - {None}
        yield from _reviews(connection, list(rows_with(connection, query, column, ids)))


def current_reviews(
    connection: Connection,
    response_ids: Collection[int],
    *,
    flag_ids: Collection[int],
    decisions: Collection[Decision | None],
    reviewer_id: int | None = None,
) -> list[Review]:
    """Return the current reviews with one of ``decisions`` on any of these flags, the latest first.

    Without ``flag_ids``, the result has the reviews that decide no flag. With ``reviewer_id``, the
    result has only this person's reviews outside queues.
    """
    decides = exists().where(REVIEW_FLAG.c.review_id == REVIEW.c.id)
    of_flags = decides.where(REVIEW_FLAG.c.flag_id.in_(flag_ids)) if flag_ids else ~decides
    query = _REVIEWS.where(REVIEW.c.response_id.in_(response_ids), of_flags, is_current())
    if reviewer_id is not None:
        query = query.where(REVIEW.c.reviewer_id == reviewer_id, REVIEW.c.queue_item_id.is_(None))
    rows = connection.execute(query.order_by(REVIEW.c.id.desc())).all()
    return _reviews(connection, [row for row in rows if row.decision in decisions])


def insert_review(connection: Connection, review: Review) -> int:
    """Write a review with all scores and return the id."""
    return insert_reviews(connection, [review])[0]


def insert_reviews(connection: Connection, reviews: Sequence[Review]) -> list[int]:
    """Write reviews with all scores and return the ids in order."""
    rows = [
        {name: getattr(review, name) for name in _OF_REVIEW}
        | {name: getattr(review.grade, name) for name in _OF_GRADE}
        | {
            "claim_marks": marks_json(review.grade.claim_marks),
            "choices": dict(review.grade.choices) or None,
            "texts": dict(review.grade.texts) or None,
            "in_suite": True if review.grade.in_suite and review.grade.corrected_answer else None,
        }
        for review in reviews
    ]
    if not rows:
        return []
    # Ids are matched by key, because SQLite needs one statement per row to return ids in the order
    # of the parameters.
    statement = insert(REVIEW).returning(REVIEW.c.request_key, REVIEW.c.id)
    id_of = {row.request_key: row.id for row in connection.execute(statement, rows)}
    ids = [id_of[review.request_key] for review in reviews]
    parts: dict[Table, list[dict[str, Any]]] = {
        table: [] for table in (REVIEW_FLAG, REVIEW_SCORE, REVIEW_FAILURE_MODE, PREFERENCE_SCORE)
    }
    for id_, review in zip(ids, reviews, strict=True):
        parts[REVIEW_FLAG] += [
            {"review_id": id_, "flag_id": flag_id} for flag_id in review.flag_ids
        ]
        parts[REVIEW_SCORE] += [
            {"review_id": id_, **asdict(score)} for score in review.grade.scores
        ]
        parts[REVIEW_FAILURE_MODE] += [
            {"review_id": id_, "mode": mode} for mode in review.grade.modes
        ]
        parts[PREFERENCE_SCORE] += [
            {"review_id": id_, "aspect": aspect, **asdict(preference)}
            for aspect, preference in review.preferences.items()
        ]
    for table, of_table in parts.items():
        if of_table:
            connection.execute(insert(table), of_table)
    return ids


def modes_of(connection: Connection, review_ids: Collection[int]) -> dict[int, tuple[str, ...]]:
    """Return the failure modes of each review that has any, ordered by name."""
    query = select(REVIEW_FAILURE_MODE).order_by(REVIEW_FAILURE_MODE.c.mode)
    rows = rows_with(connection, query, REVIEW_FAILURE_MODE.c.review_id, review_ids)
    modes = grouped((row.review_id, row.mode) for row in rows)
    return {review_id: tuple(of_review) for review_id, of_review in modes.items()}


def scores_of(
    connection: Connection, review_ids: Collection[int]
) -> dict[int, tuple[DimensionScore, ...]]:
    """Return the scores of each review that has any, in stored order."""
    query = select(REVIEW_SCORE).order_by(REVIEW_SCORE.c.review_id, REVIEW_SCORE.c.id)
    rows = rows_with(connection, query, REVIEW_SCORE.c.review_id, review_ids)
    scores = grouped(
        (row.review_id, DimensionScore(row.dimension, row.value, row.scale)) for row in rows
    )
    return {review_id: tuple(of_review) for review_id, of_review in scores.items()}


def notes_of(connection: Connection, review_ids: Collection[int]) -> dict[int, Grade]:
    """Return the notes of each review that has any, as a grade. The grade of a pair consists of notes only."""
    notes = [REVIEW.c[name] for name in NOTES]
    query = select(REVIEW.c.id, *notes).where(or_(*(note.is_not(None) for note in notes)))
    return {
        row.id: grade_from(row) for row in rows_with(connection, query, REVIEW.c.id, review_ids)
    }


_GRADE_PARTS: dict[str, Callable[[Any], Any]] = {
    "spans": lambda spans: None if spans is None else tuple(spans),
    "claim_marks": marks_from,
    "choices": lambda choices: choices or {},
    "texts": lambda texts: texts or {},
    "in_suite": bool,
}
"""The columns of a review that differ in form from the fields of a grade, each with the converting function."""


def grade_from(
    row: Any, scores: tuple[DimensionScore, ...] = (), modes: tuple[str, ...] = ()
) -> Grade:
    """Return the grade in a row of reviews. Parts without a column in the row have default values."""
    parts = {
        name: row[place] if convert is None else convert(row[place])
        for name, place, convert in _places_of_grade(row._fields)
    }
    return Grade(**parts, scores=scores, modes=modes)


@cache
def _places_of_grade(
    columns: tuple[str, ...],
) -> tuple[tuple[str, int, Callable[[Any], Any] | None], ...]:
    """Return the parts of a grade in rows with these columns: name, place and conversion."""
    return tuple(
        (name, columns.index(name), _GRADE_PARTS.get(name)) for name in _OF_GRADE if name in columns
    )


def set_flag_states(connection: Connection, states: Mapping[int, FlagState]) -> None:
    """Store the states of these flags after reviews."""
    response_ids: set[int] = set()
    for state in sorted(set(states.values())):
        statement = update(FLAG).values(state=state).returning(FLAG.c.response_id)
        for batch in batches(
            [flag_id for flag_id, new_state in states.items() if new_state is state]
        ):
            response_ids.update(connection.scalars(statement.where(FLAG.c.id.in_(batch))))
    mark_leading_flags(connection, sorted(response_ids))


HAS_WORSE = exists().where(
    WORSE.c.response_id == FLAG.c.response_id,
    WORSE.c.state == FlagState.OPEN,
    or_(
        WORSE.c.severity > FLAG.c.severity,
        and_(WORSE.c.severity == FLAG.c.severity, WORSE.c.id < FLAG.c.id),
    ),
)
"""The answer has another open flag ``WORSE``, which is more severe, or equally severe and older."""
_MARK_LEADING = (
    update(FLAG)
    .where(FLAG.c.state == FlagState.OPEN.value, FLAG.c.leads != ~HAS_WORSE)
    .values(leads=~HAS_WORSE)
)


def mark_leading_flags(connection: Connection, response_ids: Sequence[int]) -> None:
    """Mark the worst open flag of each response as leading. The queue lists an answer with the leading flag."""
    for batch in batches(response_ids):
        connection.execute(_MARK_LEADING.where(FLAG.c.response_id.in_(batch)))


@dataclass(frozen=True, slots=True)
class DecidedFlag:
    """A flag that a review decided, or left open as unsure."""

    id: int
    rule: str
    state: str


def flags_decided(
    connection: Connection, review_ids: Collection[int]
) -> dict[int, list[DecidedFlag]]:
    """Return the decided flags by review, the worst first; reviews without flags are left out."""
    query = (
        select(REVIEW_FLAG.c.review_id, *columns_of(DecidedFlag, FLAG))
        .join(FLAG, FLAG.c.id == REVIEW_FLAG.c.flag_id)
        .order_by(FLAG.c.severity.desc(), FLAG.c.id)
    )
    rows = rows_with(connection, query, REVIEW_FLAG.c.review_id, review_ids)
    return grouped((row.review_id, record_of(DecidedFlag, row)) for row in rows)


@cache
def each_judge_rules() -> frozenset[str]:
    """Return the rules that can raise several flags on an answer, one for each judge."""
    return frozenset(rule.name for rule in RULES.values() if rule.each_judge)


def _judge_of(flag: FromClause) -> ColumnElement[Any]:
    judge = select(VERSION.c.name).join(JUDGMENT, JUDGMENT.c.judge_version_id == VERSION.c.id)
    return judge.where(JUDGMENT.c.id == flag.c.judgment_id).correlate(flag).scalar_subquery()


def flags_with_newer(connection: Connection, flag_ids: Collection[int]) -> set[int]:
    """Return the flags with a later open flag of the same rule and response (and judge, for rules per judge)."""
    query = select(FLAG.c.id).where(
        exists().where(
            _NEWER.c.response_id == FLAG.c.response_id,
            _NEWER.c.rule == FLAG.c.rule,
            _NEWER.c.state == FlagState.OPEN,
            _NEWER.c.id > FLAG.c.id,
            or_(
                FLAG.c.rule.not_in(each_judge_rules()),
                FLAG.c.judgment_id.is_not(None)
                & _judge_of(_NEWER).is_not_distinct_from(_judge_of(FLAG)),
            ),
        )
    )
    return {row.id for row in rows_with(connection, query, FLAG.c.id, flag_ids)}


_REVIEWS = select(
    *columns_of(Review, REVIEW),
    *columns_of(Grade, REVIEW),
    REVIEWER.c.name.label("reviewer"),
    is_current().label("stands"),
).join(REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id)


def _reviews(
    connection: Connection, rows: Sequence[Any], *, hidden_too: bool = False
) -> list[Review]:
    """Return the reviews in rows of `_REVIEWS`, with the parts that other tables have."""
    ids = [row.id for row in rows]
    query = select(REVIEW_FLAG).order_by(REVIEW_FLAG.c.review_id, REVIEW_FLAG.c.flag_id)
    links = with_hidden_rows(query) if hidden_too else query
    flags = grouped(rows_with(connection, links, REVIEW_FLAG.c.review_id, ids))
    scores, modes = scores_of(connection, ids), modes_of(connection, ids)
    preferences: dict[int, dict[str, AspectPreference]] = {}
    by_aspect = select(PREFERENCE_SCORE).order_by(PREFERENCE_SCORE.c.id)
    of_pairs = [row.id for row in rows if row.pair_id is not None]
    for score in rows_with(connection, by_aspect, PREFERENCE_SCORE.c.review_id, of_pairs):
        of_review = preferences.setdefault(score.review_id, {})
        of_review[score.aspect] = record_of(AspectPreference, score)
    return [
        record_of(
            Review,
            row,
            flag_ids=tuple(flags.get(row.id, ())),
            grade=grade_from(row, scores.get(row.id, ()), modes.get(row.id, ())),
            seen=None if row.seen is None else tuple(row.seen),
            preferences=preferences.get(row.id, {}),
            stands=bool(row.stands),
        )
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class ShownComment:
    """The last version of a comment, the name of the reviewer, and the time of the first version."""

    comment: Comment
    reviewer: str
    first_at: datetime


def comments_on(
    connection: Connection, response_id: int, viewer: int | None = None, *, own_first: bool = False
) -> tuple[ShownComment, ...]:
    """Return the current comments on an answer, the oldest first; if others are hidden (`hidden_of`), the viewer's."""
    query = select(Comment).where(COMMENT.c.response_id == response_id)
    comments = {each.id: each for each in rows_of(connection, query)}
    if not comments:
        return ()
    is_hidden = hidden_of(connection, viewer, response_id=response_id, own_first=own_first)
    replaced_ids = {comment.replaces for comment in comments.values()}
    authors = {comment.reviewer_id for comment in comments.values()}
    query_of_names = select(REVIEWER.c.id, REVIEWER.c.name).where(REVIEWER.c.id.in_(authors))
    names = dict(connection.execute(query_of_names).all())
    current_comments: list[tuple[int, ShownComment]] = []
    for comment in comments.values():
        if (
            comment.id in replaced_ids
            or comment.text is None
            or (is_hidden and comment.reviewer_id != viewer)
        ):
            continue
        first_version = comment
        while first_version.replaces is not None:
            first_version = comments[first_version.replaces]
        shown_comment = ShownComment(comment, names[comment.reviewer_id], first_version.at)
        current_comments.append((first_version.id, shown_comment))
    return tuple(comment for _, comment in sorted(current_comments, key=lambda each: each[0]))


def find_comment(
    connection: Connection,
    comment_id: int | None = None,
    *,
    request_key: str | None = None,
    replaces: int | None = None,
) -> Comment | None:
    """Return the comment with this id or ``request_key``, or the one that ``replaces`` this id; None if there is none.

    One of the three is given.
    """
    return first_row(
        connection,
        select(Comment).where(_with_one_of(COMMENT, comment_id, request_key, replaces)),
    )


def insert_comment(connection: Connection, comment: Comment) -> int:
    """Write a comment and return the id."""
    statement = insert(COMMENT).returning(COMMENT.c.id)
    return int(connection.scalar(statement, masked(comment.new_values())))


class Correction(NamedTuple):
    """A corrected answer; ``is_case`` if a reviewer added the text to a suite, or a flag of the answer is confirmed."""

    text: str
    is_case: bool


def corrections(connection: Connection) -> dict[int, Correction]:
    """Return the corrected answers by response: from the adjudication, otherwise from the latest review."""
    is_confirmed = exists().where(
        FLAG.c.response_id == REVIEW.c.response_id, FLAG.c.state == FlagState.CONFIRMED
    )
    query = (
        select(
            REVIEW.c.response_id,
            REVIEW.c.corrected_answer,
            or_(REVIEW.c.in_suite.is_not(None), is_confirmed),
        )
        .where(
            REVIEW.c.response_id.is_not(None),
            REVIEW.c.corrected_answer.is_not(None),
            is_current(),
            ~is_test(),
        )
        .order_by(case((REVIEW.c.stage == Stage.ADJUDICATION, 1), else_=0), REVIEW.c.id)
    )
    corrections_by_answer: dict[int, Correction] = {}
    for response_id, text, is_case in connection.execute(query):
        earlier_correction = corrections_by_answer.get(response_id)
        corrections_by_answer[response_id] = Correction(
            text, bool(is_case) or (earlier_correction is not None and earlier_correction.is_case)
        )
    return corrections_by_answer

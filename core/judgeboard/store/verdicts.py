"""What several judges, repeats of one judge and rubric judges gave the same answers."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Select, func, select

from judgeboard.domain import DimensionScore, Label, ResponseKind, Status, Verdict
from judgeboard.judges.rubric_file import EXPECTED, OVERALL
from judgeboard.stats.arrays import AnyArray, BoolArray, IntArray, among
from judgeboard.stats.repeats import RepeatedItem, RepeatedMeasure, repeated_measures
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.grades import Given, StandingReviews, given_columns, given_of, standing_reviews
from judgeboard.store.judge_versions import version_title
from judgeboard.store.reviews import standing
from judgeboard.store.statements import CURRENT_OF_VERSION, Texts, batches, read_columns
from judgeboard.store.tables import CURRENT, JUDGMENT, JUDGMENT_SCORE, RESPONSE, REVIEW, REVIEW_SCORE, REVIEWER, VERSION

SCORE = JUDGMENT_SCORE


class StoredOpinion(NamedTuple):
    """A judgment as a member's opinion, without its own reasoning."""

    judgment_id: int
    ask: int
    verdict: Verdict


@dataclass(slots=True)
class Judged:
    """A logged answer with its opinions: by judge version (`by_version`), or by repeat (`by_repeat`)."""

    response_id: int
    evidence_group: int
    opinions: dict[int, StoredOpinion] = field(default_factory=dict)


_COLUMNS = (
    JUDGMENT.c.id,
    JUDGMENT.c.response_id,
    RESPONSE.c.evidence_group,
    JUDGMENT.c.judge_version_id,
    JUDGMENT.c.ask,
    JUDGMENT.c.repeat,
    JUDGMENT.c.status,
    JUDGMENT.c.groundedness,
    JUDGMENT.c.quality,
    JUDGMENT.c.label,
)


def by_version(connection: Connection, version_ids: Sequence[int], where: RowFilter | None = None) -> dict[int, Judged]:
    """Return each logged answer that some of these versions judged, with each one's current verdict, by response.

    Where a version has no usable one its latest stands, as what it is; repeats beyond the first do not count.
    """
    query = _query(connection, version_ids, where or RowFilter()).where(JUDGMENT.c.repeat == 0)
    judged: dict[int, Judged] = {}
    for row, verdict in _read(connection, query, version_ids):
        one = judged.setdefault(row.response_id, Judged(row.response_id, row.evidence_group))
        known = one.opinions.get(row.judge_version_id)
        if known is None or verdict.status is Status.OK or known.verdict.status is not Status.OK:
            one.opinions[row.judge_version_id] = StoredOpinion(row.id, row.ask, verdict)
    return judged


def by_repeat(connection: Connection, version_id: int, where: RowFilter | None = None) -> dict[int, Judged]:
    """Return each answer that a version was asked again about, with each repeat of its first ask, by response.

    Without ``where`` answers of every kind count: repeats recorded elsewhere are of answers that no log holds.
    """
    first_ask = (JUDGMENT.c.judge_version_id == version_id, JUDGMENT.c.ask == 0)
    again = select(JUDGMENT.c.response_id).where(*first_ask, JUDGMENT.c.repeat > 0)
    # Most versions were never asked twice: theirs may be a million judgments, of which none is read here.
    if connection.execute(again.limit(1)).first() is None:
        return {}
    query = _query(connection, [version_id], where).where(JUDGMENT.c.ask == 0, JUDGMENT.c.response_id.in_(again))
    judged: dict[int, Judged] = {}
    for row, verdict in _read(connection, query, [version_id]):
        one = judged.setdefault(row.response_id, Judged(row.response_id, row.evidence_group))
        one.opinions[row.repeat] = StoredOpinion(row.id, row.ask, verdict)
    return judged


class LatestCombined(NamedTuple):
    """What was last stored of a combined version on an answer."""

    ask: int
    status: str
    reasoning: str | None
    error: str | None


def latest_combined(connection: Connection, version_id: int) -> dict[int, LatestCombined]:
    """Return what a combined version last said of each answer, by response."""
    columns = (JUDGMENT.c.response_id, JUDGMENT.c.ask, JUDGMENT.c.status, JUDGMENT.c.reasoning, JUDGMENT.c.error)
    query = select(*columns).where(JUDGMENT.c.judge_version_id == version_id).order_by(JUDGMENT.c.id)
    return {row[0]: LatestCombined(*row[1:]) for row in connection.execute(query)}


def _query(connection: Connection, version_ids: Sequence[int], where: RowFilter | None) -> Select[Any]:
    return (
        select(*_COLUMNS)
        .join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id)
        .where(
            JUDGMENT.c.judge_version_id.in_(version_ids),
            RESPONSE.c.answer.is_not(None),
            *([] if where is None else response_conditions(connection, where)),
        )
        .order_by(JUDGMENT.c.id)
    )


def _read(connection: Connection, query: Select[Any], version_ids: Sequence[int]) -> Iterable[tuple[Any, Verdict]]:
    scores: dict[int, list[DimensionScore]] = {}
    scored = (
        select(SCORE.c.judgment_id, SCORE.c.dimension, SCORE.c.value, SCORE.c.scale)
        .join(JUDGMENT, JUDGMENT.c.id == SCORE.c.judgment_id)
        .where(JUDGMENT.c.judge_version_id.in_(version_ids))
        .order_by(SCORE.c.id)
    )
    for judgment_id, dimension, value, scale in connection.execute(scored):
        scores.setdefault(judgment_id, []).append(DimensionScore(dimension, value, scale))
    for row in connection.execute(query):
        yield (
            row,
            Verdict(
                Status(row.status),
                groundedness=row.groundedness,
                quality=row.quality,
                label=None if row.label is None else Label(row.label),
                scores=tuple(scores.get(row.id, ())),
            ),
        )


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedAnswers:
    """Answers with their repeats, one row per answer and judge version; several versions are pooled."""

    answers: tuple[Judged, ...]
    values: tuple[RepeatedItem, ...]
    groups: IntArray

    @property
    def response_ids(self) -> IntArray:
        """The response of each row."""
        return np.array([each.response_id for each in self.answers], dtype=np.int64)

    def measures(self) -> tuple[RepeatedMeasure, ...]:
        """Return how far the repeats agree on each measure, the main one first."""
        return repeated_measures(self.values, self.groups)


def repeated_answers(connection: Connection, version_ids: Iterable[int]) -> RepeatedAnswers:
    """Return what these versions were asked several times, in the order of versions and answers."""
    answers = tuple(
        one
        for version_id in version_ids
        for _, one in sorted(by_repeat(connection, version_id).items())
        if len(one.opinions) > 1
    )
    values = tuple({number: values_of(each.verdict) for number, each in one.opinions.items()} for one in answers)
    return RepeatedAnswers(answers, values, np.array([one.evidence_group for one in answers], dtype=np.int64))


def values_of(verdict: Verdict) -> dict[str, float]:
    """Return what a usable verdict gives, by measure; a label is 1 (grounded) or 0.

    On two values the interval metric is the nominal one. A mean over levels repeats the score that it belongs to, and
    is no measure of its own.
    """
    if verdict.status is not Status.OK:
        return {}
    given: dict[str, float | None] = {
        "label": None if verdict.label is None else float(verdict.label is Label.GROUNDED),
        "groundedness": verdict.groundedness,
        "quality": verdict.quality,
        **{score.dimension: score.value for score in verdict.scores if not score.dimension.startswith(EXPECTED)},
    }
    return {measure: float(value) for measure, value in given.items() if value is not None}


RUBRIC = "rubric"


@dataclass(frozen=True, slots=True)
class RubricVerdict:
    """A rubric judge's current verdict: (score 1 to 5 or None, sentence or None) by dimension.

    ``words`` are those of the levels 1 to 5 by dimension; ``note`` says what the judge left out or added.
    """

    version_title: str
    overall: float | None
    note: str | None
    dimensions: Mapping[str, tuple[float | None, str | None]]
    words: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class RubricScores:
    """The current verdicts of rubric judges on an answer, and what people gave: (reviewer, score) by dimension."""

    verdicts: tuple[RubricVerdict, ...] = ()
    people: Mapping[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """The dimensions that a judge was asked for, with the words of their levels; of two judges the first's."""
        found: dict[str, tuple[str, ...]] = {}
        for verdict in self.verdicts:
            found = {**verdict.words, **found}
        return found


def load_rubric_scores(connection: Connection, response_id: int) -> RubricScores:
    """Return what stands on the item page for rubrics; empty, after one statement, where no such judge judged it."""
    verdicts = _verdicts(connection, response_id)
    return RubricScores(verdicts, _people(connection, response_id)) if verdicts else RubricScores()


def _verdicts(connection: Connection, response_id: int) -> tuple[RubricVerdict, ...]:
    judged = connection.execute(
        select(JUDGMENT.c.id, JUDGMENT.c.reasoning, VERSION.c.name, VERSION.c.number, VERSION.c.params)
        .join(CURRENT, CURRENT.c.judgment_id == JUDGMENT.c.id)
        .join(VERSION, VERSION.c.id == JUDGMENT.c.judge_version_id)
        .where(CURRENT.c.response_id == response_id, CURRENT.c.is_current.is_(True), VERSION.c.kind == RUBRIC)
        .order_by(VERSION.c.name)
    ).all()
    verdicts = []
    for row in judged:
        query = select(SCORE.c.dimension, SCORE.c.value, SCORE.c.reasoning).where(SCORE.c.judgment_id == row.id)
        scores = {name: (value, why) for name, value, why in connection.execute(query.order_by(SCORE.c.id))}
        overall, _ = scores.pop(OVERALL, (None, None))
        words = {one["name"]: tuple(one["levels"]) for one in row.params.get("dimensions", ())}
        verdicts.append(RubricVerdict(version_title(row.name, row.number), overall, row.reasoning, scores, words))
    return tuple(verdicts)


def _people(connection: Connection, response_id: int) -> dict[str, tuple[tuple[str, float], ...]]:
    query = (
        select(REVIEW_SCORE.c.dimension, REVIEWER.c.name, REVIEW_SCORE.c.value)
        .join(REVIEW, REVIEW.c.id == REVIEW_SCORE.c.review_id)
        .join(REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id)
        .where(REVIEW.c.response_id == response_id, standing(), REVIEW_SCORE.c.value.is_not(None))
        .order_by(REVIEW_SCORE.c.id)
    )
    people: dict[str, tuple[tuple[str, float], ...]] = {}
    for dimension, name, value in connection.execute(query):
        people[dimension] = (*people.get(dimension, ()), (name, value))
    return people


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
        if not params.get("examples"):
            continue
        from judgeboard.judges.material import example_responses  # loads pydantic's types

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

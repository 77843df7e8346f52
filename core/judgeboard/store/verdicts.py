"""Verdicts on the same answers by several judges, by repeats and by rubric judges; and graded answers."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, Select, func, select

from judgeboard.domain import (
    EXPECTED,
    OVERALL,
    DimensionScore,
    Label,
    ResponseKind,
    Status,
    Verdict,
)
from judgeboard.stats.arrays import BoolArray, IntArray, among
from judgeboard.stats.repeats import RepeatedItem, RepeatedMeasure, repeated_measures
from judgeboard.store.alignments import shown_answers
from judgeboard.store.engine import kept_while_reading
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.grades import GradedReviews, Grades, grade_columns, with_scores
from judgeboard.store.judgments import dimension_scores
from judgeboard.store.reviews import is_current
from judgeboard.store.statements import (
    CURRENT_OF_VERSION,
    NO_DAY,
    Columns,
    TextColumn,
    count_rows,
    grouped,
    listed,
    read_columns,
    record_of,
    rows_with,
)
from judgeboard.store.tables import (
    CURRENT,
    JUDGMENT,
    JUDGMENT_SCORE,
    RESPONSE,
    REVIEW,
    REVIEW_SCORE,
    REVIEWER,
    VERSION,
    version_title,
)

if TYPE_CHECKING:
    from judgeboard.judges.rubric_file import Dimension


class StoredOpinion(NamedTuple):
    """A judgment as the opinion of a jury member or a repeat, without the reasoning."""

    judgment_id: int
    ask: int
    verdict: Verdict


@dataclass(slots=True)
class Judged:
    """An answer with opinions, by judge version (`by_version`) or by repeat (`by_repeat`)."""

    response_id: int
    evidence_group: int
    query_type: str
    opinions: dict[int, StoredOpinion] = field(default_factory=dict)


def by_version(
    connection: Connection, version_ids: Sequence[int], where: RowFilter | None = None
) -> dict[int, Judged]:
    """Return the logged answers that any version judged, with each version's latest judgment (usable if possible)."""
    query = _query(connection, version_ids, where or RowFilter()).where(JUDGMENT.c.repeat == 0)
    answers: dict[int, Judged] = {}
    for row, verdict in _read(connection, query, version_ids):
        answer = answers.setdefault(
            row.response_id, Judged(row.response_id, row.evidence_group, row.query_type)
        )
        last = answer.opinions.get(row.judge_version_id)
        if last is None or verdict.status is Status.OK or last.verdict.status is not Status.OK:
            answer.opinions[row.judge_version_id] = StoredOpinion(row.id, row.ask, verdict)
    return answers


def matching_answers(connection: Connection, where: RowFilter) -> IntArray:
    """Return the ids, ascending, of the logged answers that match."""
    query = (
        select(RESPONSE.c.id).where(*response_conditions(connection, where)).order_by(RESPONSE.c.id)
    )
    ids: IntArray = read_columns(connection, query)[0]
    return ids


def count_answers(connection: Connection, where: RowFilter | None = None) -> int:
    """Return the number of logged answers that `by_version` could return."""
    conditions = response_conditions(connection, where or RowFilter())
    return count_rows(connection, RESPONSE, RESPONSE.c.answer.is_not(None), *conditions)


def by_repeat(
    connection: Connection, version_id: int, where: RowFilter | None = None
) -> dict[int, Judged]:
    """Return the answers that a version judged repeatedly, with each repeat of the first ask, by response.

    Without ``where``, answers of every kind count, because imported repeats are about answers
    outside the log.
    """
    first_ask = (JUDGMENT.c.judge_version_id == version_id, JUDGMENT.c.ask == 0)
    repeated_ids = select(JUDGMENT.c.response_id).where(*first_ask, JUDGMENT.c.repeat > 0)
    # Most versions have no repeats but possibly a million judgments: this check reads none of these
    # judgments.
    if connection.scalar(repeated_ids.limit(1)) is None:
        return {}
    query = _query(connection, [version_id], where).where(
        JUDGMENT.c.ask == 0, JUDGMENT.c.response_id.in_(repeated_ids)
    )
    answers: dict[int, Judged] = {}
    for row, verdict in _read(connection, query, [version_id]):
        answer = answers.setdefault(
            row.response_id, Judged(row.response_id, row.evidence_group, row.query_type)
        )
        answer.opinions[row.repeat] = StoredOpinion(row.id, row.ask, verdict)
    return answers


class LatestCombined(NamedTuple):
    """The latest judgment of a combined version on an answer."""

    ask: int
    status: str
    reasoning: str | None
    error: str | None


def latest_combined(connection: Connection, version_id: int) -> dict[int, LatestCombined]:
    """Return the latest judgment of a combined version on each answer, by response."""
    columns = (
        JUDGMENT.c.response_id,
        JUDGMENT.c.ask,
        JUDGMENT.c.status,
        JUDGMENT.c.reasoning,
        JUDGMENT.c.error,
    )
    query = (
        select(*columns).where(JUDGMENT.c.judge_version_id == version_id).order_by(JUDGMENT.c.id)
    )
    return {row[0]: LatestCombined(*row[1:]) for row in connection.execute(query)}


def _query(
    connection: Connection, version_ids: Sequence[int], where: RowFilter | None
) -> Select[Any]:
    names = (
        "id",
        "response_id",
        "judge_version_id",
        "ask",
        "repeat",
        "status",
        "groundedness",
        "quality",
        "label",
    )
    return (
        select(
            RESPONSE.c.evidence_group, RESPONSE.c.query_type, *(JUDGMENT.c[name] for name in names)
        )
        .join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id)
        .where(
            JUDGMENT.c.judge_version_id.in_(version_ids),
            RESPONSE.c.answer.is_not(None),
            *([] if where is None else response_conditions(connection, where)),
        )
        .order_by(JUDGMENT.c.id)
    )


def _read(
    connection: Connection, query: Select[Any], version_ids: Sequence[int]
) -> Iterable[tuple[Any, Verdict]]:
    names = ("judgment_id", "dimension", "value", "scale")
    score_query = (
        select(*(JUDGMENT_SCORE.c[name] for name in names))
        .join(JUDGMENT, JUDGMENT.c.id == JUDGMENT_SCORE.c.judgment_id)
        .where(JUDGMENT.c.judge_version_id.in_(version_ids))
        .order_by(JUDGMENT_SCORE.c.id)
    )
    rows = connection.execute(score_query)
    scores = grouped((judgment_id, DimensionScore(*score)) for judgment_id, *score in rows)
    for row in connection.execute(query):
        yield row, record_of(Verdict, row, scores=tuple(scores.get(row.id, ())))


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedAnswers:
    """Answers with repeats, one row per answer and judge version; several versions are pooled."""

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


def repeated_answers(
    connection: Connection, version_ids: Iterable[int], where: RowFilter | None = None
) -> RepeatedAnswers:
    """Return the answers that these versions judged several times, in the order of versions and answers.

    Answers of every kind count, because imported repeats are about answers outside the log.
    """
    if where is not None and not where.kinds:
        where = None if where == RowFilter() else replace(where, kinds=tuple(ResponseKind))
    answers = tuple(
        answer
        for version_id in version_ids
        for _, answer in sorted(by_repeat(connection, version_id, where).items())
        if len(answer.opinions) > 1
    )
    values = tuple(
        {number: values_of(opinion.verdict) for number, opinion in answer.opinions.items()}
        for answer in answers
    )
    return RepeatedAnswers(
        answers, values, np.array([answer.evidence_group for answer in answers], dtype=np.int64)
    )


def values_of(verdict: Verdict) -> dict[str, float]:
    """Return the values of a usable verdict by measure, without expected scores; a label is 1 (grounded) or 0."""
    if verdict.status is not Status.OK:
        return {}
    values: dict[str, float | None] = {
        "label": None if verdict.label is None else float(verdict.label is Label.GROUNDED),
        "groundedness": verdict.groundedness,
        "quality": verdict.quality,
        **{
            score.dimension: score.value
            for score in verdict.scores
            if not score.dimension.startswith(EXPECTED)
        },
    }
    return {measure: float(value) for measure, value in values.items() if value is not None}


RUBRIC = "rubric"


@dataclass(frozen=True, slots=True)
class RubricVerdict:
    """A rubric judge's current verdict: (score or None, reasoning or None) by dimension.

    ``rubric`` has the dimensions that the judge was asked for; ``note`` tells what the judge left
    out or added.
    """

    version_title: str
    overall: float | None
    note: str | None
    dimensions: Mapping[str, tuple[float | None, str | None]]
    rubric: "Mapping[str, Dimension]"


@dataclass(frozen=True, slots=True)
class RubricScores:
    """The current verdicts of rubric judges on an answer, and people's (reviewer, score) by dimension."""

    verdicts: tuple[RubricVerdict, ...] = ()
    people: Mapping[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """The descriptions of levels 1 to 5 by judged dimension; if two judges share one, the first counts."""
        from judgeboard.judges.rubric_file import SCALE  # few answers have a rubric's scores

        dimensions = [
            dimension
            for verdict in reversed(self.verdicts)
            for dimension in verdict.rubric.values()
        ]
        return {
            each.name: each.levels for each in dimensions if each.ordered and each.scale == SCALE
        }


def load_rubric_scores(connection: Connection, response_id: int) -> RubricScores:
    """Return the rubric scores of an answer; empty, after one statement, if no rubric judge judged the answer."""
    judgments = connection.execute(
        select(
            JUDGMENT.c.id, JUDGMENT.c.reasoning, VERSION.c.name, VERSION.c.number, VERSION.c.params
        )
        .join(CURRENT, CURRENT.c.judgment_id == JUDGMENT.c.id)
        .join(VERSION, VERSION.c.id == JUDGMENT.c.judge_version_id)
        .where(
            CURRENT.c.response_id == response_id,
            CURRENT.c.is_current.is_(True),
            VERSION.c.kind == RUBRIC,
        )
        .order_by(VERSION.c.name)
    ).all()
    if not judgments:
        return RubricScores()
    from judgeboard.judges.rubric_file import stored_dimensions  # few answers have such scores

    scores_by_judgment = dimension_scores(connection, [row.id for row in judgments])
    verdicts = []
    for row in judgments:
        scores = {
            score.dimension: (score.value, score.reasoning)
            for score in scores_by_judgment.get(row.id, ())
        }
        overall, _ = scores.pop(OVERALL, (None, None))
        rubric = {dimension.name: dimension for dimension in stored_dimensions(row.params)}
        title = version_title(row.name, row.number)
        verdicts.append(RubricVerdict(title, overall, row.reasoning, scores, rubric))
    # The scores of people, by dimension.
    query = (
        select(REVIEW_SCORE.c.dimension, REVIEWER.c.name, REVIEW_SCORE.c.value)
        .join(REVIEW, REVIEW.c.id == REVIEW_SCORE.c.review_id)
        .join(REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id)
        .where(REVIEW.c.response_id == response_id, is_current(), REVIEW_SCORE.c.value.is_not(None))
        .order_by(REVIEW_SCORE.c.id)
    )
    people = grouped((row.dimension, (row.name, row.value)) for row in connection.execute(query))
    return RubricScores(
        tuple(verdicts), {dimension: tuple(scores) for dimension, scores in people.items()}
    )


@dataclass(frozen=True, slots=True, eq=False)
class CurrentVerdicts(Grades):
    """Current verdicts on logged answers as columns; ``days`` count from 1970-01-01 (``NO_DAY``: no time)."""

    version_ids: IntArray
    query_types: TextColumn
    days: IntArray
    evidence_groups: IntArray

    def of_version(self, version_id: int) -> "CurrentVerdicts":
        """Return the verdicts of one judge version, by answer."""
        rows = np.flatnonzero(self.version_ids == version_id)
        return self.at(rows[np.argsort(self.response_ids[rows], kind="stable")])


def current_verdicts(
    connection: Connection,
    dimension: str | None = None,
    *,
    of_reviewed: bool = False,
    version_ids: Collection[int] | None = None,
) -> CurrentVerdicts:
    """Return the current verdicts of judge versions on the log, with the score on ``dimension`` if one is named.

    The answers with which a judge version's prompt was made are left out for this version.
    ``of_reviewed`` reads the verdicts on reviewed answers from an index instead of the whole log.
    """
    verdicts = read_verdicts(
        connection, dimension, of_reviewed=of_reviewed, version_ids=version_ids
    )
    in_prompts = _in_prompts(connection, verdicts.version_ids, verdicts.response_ids)
    return verdicts.at(~in_prompts) if in_prompts.any() else verdicts


def read_verdicts(
    connection: Connection,
    dimension: str | None = None,
    *,
    of_reviewed: bool = False,
    version_ids: Collection[int] | None = None,
    ids: IntArray | None = None,
) -> CurrentVerdicts:
    """Return `current_verdicts` by answer, also of answers with which a prompt was made.

    ``ids`` are the reviewed answers whose verdicts are read (default: all).
    """
    query = select(
        CURRENT.c.judge_version_id,
        CURRENT.c.response_id,
        CURRENT.c.query_type,
        func.coalesce(CURRENT.c.asked_day, NO_DAY),
        CURRENT.c.evidence_group,
        *grade_columns(CURRENT.c, None if dimension is None else JUDGMENT_SCORE.c.value),
    ).where(CURRENT_OF_VERSION)
    reviewed_ids = select(REVIEW.c.response_id)
    if ids is not None:
        reviewed_ids = reviewed_ids.where(
            REVIEW.c.response_id.in_(listed(connection, ids.tolist()))
        )
    if of_reviewed:
        query = query.where(CURRENT.c.response_id.in_(reviewed_ids))
    if version_ids is not None:
        query = query.where(CURRENT.c.judge_version_id.in_(version_ids))
    if dimension is not None:
        query = query.join(
            JUDGMENT_SCORE, JUDGMENT_SCORE.c.judgment_id == CURRENT.c.judgment_id
        ).where(JUDGMENT_SCORE.c.dimension == dimension, JUDGMENT_SCORE.c.value.is_not(None))
    versions, responses, types, days, groups, *grades = read_columns(connection, query)
    verdicts = CurrentVerdicts(*with_scores(*grades), responses, versions, types, days, groups)
    return verdicts.at(np.lexsort((versions, responses)))


@dataclass(frozen=True, slots=True, eq=False)
class ServedNotices(Columns):
    """Reviewed answers that were served with one of some notices, by ascending id."""

    response_ids: IntArray
    evidence_groups: IntArray
    notices: TextColumn
    query_types: TextColumn


def read_notices(
    connection: Connection,
    notice: ColumnElement[str],
    kinds: Sequence[str],
    ids: IntArray | None = None,
) -> ServedNotices:
    """Return the reviewed answers with a notice of one of these kinds; ``ids`` limits the answers (default: all)."""
    reviewed_ids = select(REVIEW.c.response_id).where(REVIEW.c.response_id.is_not(None))
    if ids is not None:
        reviewed_ids = reviewed_ids.where(
            REVIEW.c.response_id.in_(listed(connection, ids.tolist()))
        )
    query = select(RESPONSE.c.id, RESPONSE.c.evidence_group, notice, RESPONSE.c.query_type)
    query = query.where(RESPONSE.c.id.in_(reviewed_ids), notice.in_(kinds)).order_by(RESPONSE.c.id)
    return ServedNotices(*read_columns(connection, query))


def graded_answers(
    connection: Connection, reviews: GradedReviews, current: CurrentVerdicts
) -> tuple[GradedReviews, CurrentVerdicts]:
    """Return the reviews of logged answers, and the ``current`` verdicts on these answers.

    An answer is left out for a judge version whose prompt was made with this answer.
    """
    in_prompts = _in_prompts(connection, current.version_ids, current.response_ids)
    verdicts = current.at(np.isin(current.response_ids, reviews.response_ids) & ~in_prompts)
    is_judged = np.isin(reviews.response_ids, verdicts.response_ids)
    response_ids = np.unique(reviews.response_ids[~is_judged]).tolist()
    # The kind is compared in Python: a condition in SQL would make SQLite read the whole log by the
    # index of kinds.
    rows = rows_with(
        connection, select(RESPONSE.c.id, RESPONSE.c.kind), RESPONSE.c.id, response_ids
    )
    logged_ids = np.array(
        sorted(row.id for row in rows if row.kind == ResponseKind.LOG), dtype=np.int64
    )
    return reviews.at(is_judged | among(reviews.response_ids, logged_ids)), verdicts


@dataclass(frozen=True, slots=True, eq=False)
class MadePrompt:
    """Ids, ascending, of the answers with which prompts were made: ``examples`` and ``develop`` answers.

    The labels of develop answers shaped or chose a prompt. A develop answer that is also an example
    counts as an example. Figures of the judge exclude both.
    """

    examples: IntArray
    develop: IntArray

    @property
    def both(self) -> IntArray:
        """All these answers."""
        return np.union1d(self.examples, self.develop)

    def counts(self, response_ids: IntArray) -> dict[str, int]:
        """Count the answers (ascending) that made a prompt, by use."""
        kinds = {"prompt_examples": self.examples, "develop": self.develop}
        return {kind: int(among(response_ids, ids).sum()) for kind, ids in kinds.items()}


def answers_of_prompts(connection: Connection, version_ids: Collection[int]) -> MadePrompt:
    """Return the answers with which the prompts of judge versions were made."""
    prompts = [
        each for version_id, each in made_prompts(connection).items() if version_id in version_ids
    ]
    return _made_prompt(
        {id_ for each in prompts for id_ in each.examples.tolist()},
        {id_ for each in prompts for id_ in each.develop.tolist()},
    )


@kept_while_reading
def made_prompts(connection: Connection) -> dict[int, MadePrompt]:
    """Return the answers with which prompts were made, by the id of the judge version; most versions have none."""
    aligned_answers = shown_answers(connection)
    prompts = {}
    for version_id, params in connection.execute(select(VERSION.c.id, VERSION.c.params)):
        if not params.get("examples") and version_id not in aligned_answers:
            continue
        from judgeboard.judges.prompt import example_responses  # few versions have examples

        prompts[version_id] = _made_prompt(
            example_responses(params), aligned_answers.get(version_id, frozenset())
        )
    return prompts


def _made_prompt(examples: Collection[int], develop: Collection[int]) -> MadePrompt:
    develop_only = set(develop) - set(examples)
    return MadePrompt(
        np.array(sorted(examples), dtype=np.int64), np.array(sorted(develop_only), dtype=np.int64)
    )


def _in_prompts(connection: Connection, version_ids: IntArray, response_ids: IntArray) -> BoolArray:
    in_prompts = np.zeros(len(version_ids), dtype=np.bool_)
    for version_id, prompt in made_prompts(connection).items():
        in_prompts |= (version_ids == version_id) & among(response_ids, prompt.both)
    return in_prompts


def count_verdicts(connection: Connection, version_id: int) -> int:
    """Return the number of a version's current verdicts on logged answers, including forgotten answers (index only)."""
    of_version = CURRENT.c.judge_version_id == version_id
    return count_rows(connection, CURRENT, CURRENT_OF_VERSION, of_version)

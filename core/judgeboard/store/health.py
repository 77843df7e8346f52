"""Reads scores, requests and costs of judge versions for health checks, and control answers."""

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    FromClause,
    Select,
    Text,
    and_,
    case,
    cast,
    exists,
    false,
    func,
    or_,
    select,
    true,
)

from judgeboard.domain import (
    AUDIT,
    EXPECTED,
    MENDED,
    OVERALL,
    PAIRWISE,
    Label,
    Response,
    ResponseKind,
    Status,
)
from judgeboard.errors import BadInput
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray, no_floats, no_ints
from judgeboard.stats.proportions import RatioSums
from judgeboard.store.columns import row_of
from judgeboard.store.events import LATEST, EventFilter, latest_events
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.flags import SPLIT
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.pairs import OriginalAnswer
from judgeboard.store.responses import last_logged_id
from judgeboard.store.runs import RESUMABLE
from judgeboard.store.statements import (
    CURRENT_OF_VERSION,
    LOGGED,
    TextColumn,
    columns_of,
    last_ids,
    listed,
    number_of,
    read_columns,
    record_of,
)
from judgeboard.store.tables import (
    ANSWER_FACT,
    COMPARISON,
    CURRENT,
    EVENT,
    FEEDBACK,
    JUDGMENT,
    JUDGMENT_REVIEW,
    JUDGMENT_SCORE,
    PAIR,
    RESPONSE,
    REVIEW,
    RUN,
    SETTING,
    STEP_TABLES,
    VERSION,
    StoredVersion,
)

# Requests to judges, of all methods.
_REQUEST_TABLES = (
    JUDGMENT,
    *(table for table in STEP_TABLES if row_of(table).in_record and "judge_version_id" in table.c),
)
_OF_JUDGMENTS = (*_REQUEST_TABLES, FEEDBACK, SETTING)
_CHANGING = ("forget", "undo_import")  # events that change stored judgments


class RecordMark(NamedTuple):
    """While the mark is unchanged, the figures of all judge versions are unchanged.

    While ``judgments`` is unchanged, the figures that depend on no review and no new answer are
    unchanged.
    """

    judgments: tuple[Hashable, ...]
    others: tuple[Hashable, ...]


def record_mark(connection: Connection) -> RecordMark:
    """Return the current mark."""
    last_change = select(func.max(EVENT.c.id)).where(EVENT.c.kind.in_(_CHANGING))
    of_judgments = (*last_ids(connection, *_OF_JUDGMENTS), number_of(connection, last_change))
    return RecordMark(of_judgments, last_ids(connection, RESPONSE, REVIEW, EVENT))


# A judgment review outside a run was computed without a request.
_REQUESTS = tuple(
    (table, JUDGMENT_REVIEW.c.run_id.is_not(None) if table is JUDGMENT_REVIEW else true())
    for table in _REQUEST_TABLES
)
_MICRO = 1_000_000


_USES = JUDGMENT, COMPARISON, JUDGMENT_REVIEW


def versions_in_use(connection: Connection) -> list[StoredVersion]:
    """Return the judge versions with a judgment, a comparison or a review of a judgment, by name and number."""
    uses = (exists().where(steps.c.judge_version_id == VERSION.c.id) for steps in _USES)
    return list_versions(connection, select(VERSION.c.id).where(or_(*uses)))


def asked_by_status(connection: Connection, version_id: int) -> dict[str, int]:
    """Return the number of requests to a version by status, of all methods."""
    counts: Counter[str] = Counter()
    for steps, is_request in _REQUESTS:
        query = select(steps.c.status, func.count()).where(
            steps.c.judge_version_id == version_id, is_request
        )
        for status, n in connection.execute(query.group_by(steps.c.status)):
            counts[status] += n
    return {status.value: counts[status.value] for status in Status if counts[status.value]}


def count_ties(connection: Connection, version_id: int) -> int:
    """Return the number of a jury's unparsable verdicts, of all methods, that are ties of the members' labels."""
    queries = (
        select(func.count()).where(steps.c.judge_version_id == version_id, steps.c.error == SPLIT)
        for steps, _ in _REQUESTS
    )
    return sum(number_of(connection, query) for query in queries)


def count_mended(connection: Connection, version_id: int) -> int:
    """Return the number of a version's replies, of all methods, that were mended to be read."""
    queries = (
        select(func.count()).where(
            steps.c.judge_version_id == version_id,
            steps.c.status == Status.OK,
            cast(steps.c.attempts, Text).contains(f'"detail": "{MENDED}'),
        )
        for steps, _ in _REQUESTS
    )
    return sum(number_of(connection, query) for query in queries)


def not_reached(connection: Connection, version_id: int) -> int:
    """Return the number of steps that a version's unfinished runs selected but did not reach."""
    unfinished = select(RUN.c.id, RUN.c.selected).where(
        RUN.c.judge_version_id == version_id,
        RUN.c.state.in_(RESUMABLE),
        RUN.c.selected.is_not(None),
    )
    unreached_steps = 0
    for run_id, selected_steps in connection.execute(unfinished).all():
        # This count reads only the index of runs.
        counts = (
            select(func.count()).where(steps.c.run_id == run_id)
            for steps in (JUDGMENT, *STEP_TABLES)
        )
        reached_steps = sum(number_of(connection, count) for count in counts)
        unreached_steps += max(0, selected_steps - reached_steps)
    return unreached_steps


def judged_generators(connection: Connection, version_id: int) -> dict[str | None, int]:
    """Return the number of logged answers that a version scored, by generator model (None: unknown)."""
    query = select(RESPONSE.c.generator_model).join_from(
        CURRENT, RESPONSE, RESPONSE.c.id == CURRENT.c.response_id
    )
    return _by_model(
        connection, query.where(CURRENT_OF_VERSION, CURRENT.c.judge_version_id == version_id)
    )


def _by_model(connection: Connection, query: Select[Any]) -> Counter[str | None]:
    counts = query.add_columns(func.count()).group_by(RESPONSE.c.generator_model)
    return Counter(dict(connection.execute(counts).all()))


def generators_of_run(connection: Connection, run_id: int) -> dict[str | None, int]:
    """Return the number of answers that a run judged, by generator model (None: unknown)."""
    response_ids = select(JUDGMENT.c.response_id).where(JUDGMENT.c.run_id == run_id)
    return _by_model(
        connection, select(RESPONSE.c.generator_model).where(RESPONSE.c.id.in_(response_ids))
    )


def compared_generators(connection: Connection, version_id: int) -> dict[str | None, int]:
    """Return the number of answers of pairs that a version compared, by generator model (None: unknown)."""
    pairs = (
        select(COMPARISON.c.pair_id)
        .where(COMPARISON.c.judge_version_id == version_id)
        .distinct()
        .subquery()
    )
    compared = select(RESPONSE.c.generator_model).join_from(
        pairs, PAIR, PAIR.c.id == pairs.c.pair_id
    )
    sides = (PAIR.c.response_a_id, PAIR.c.response_b_id)
    of_a, of_b = (
        _by_model(connection, compared.join(RESPONSE, RESPONSE.c.id == side)) for side in sides
    )
    return of_a + of_b


def cost_sums(connection: Connection, version_id: int) -> RatioSums:
    """Return the sums of judging costs (upper) and answering costs (lower), over answers whose two costs are known."""
    judging = cast(func.sum(JUDGMENT.c.cost_micro), Float) / _MICRO
    both = (
        select(judging.label("judge"), RESPONSE.c.generator_cost.label("generator"))
        .join_from(JUDGMENT, RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id)
        .where(
            LOGGED,
            JUDGMENT.c.judge_version_id == version_id,
            JUDGMENT.c.cost_micro.is_not(None),
            RESPONSE.c.generator_cost.is_not(None),
        )
        .group_by(RESPONSE.c.id, RESPONSE.c.generator_cost)
        .subquery()
    )
    upper, lower = both.c.judge, both.c.generator
    sums = (upper, lower, upper * upper, lower * lower, upper * lower)
    n, *totals = connection.execute(
        select(func.count(), *(func.coalesce(func.sum(each), 0.0) for each in sums)).select_from(
            both
        )
    ).one()
    return RatioSums(n, *map(float, totals))


def answer_facts(connection: Connection, response_ids: IntArray) -> tuple[FloatArray, TextColumn]:
    """Return lengths in characters (NaN: forgotten) and generator models ("": unknown) in the order of the ids."""
    columns = cast(ANSWER_FACT.c.length, Float), func.coalesce(RESPONSE.c.generator_model, "")
    query = select(RESPONSE.c.id, *columns).join(ANSWER_FACT, isouter=True)
    query = query.where(RESPONSE.c.id.in_(listed(connection, response_ids.tolist())))
    ids, lengths, models = read_columns(connection, query.order_by(RESPONSE.c.id))
    rows = np.searchsorted(ids, response_ids)
    return lengths[rows], models.at(rows)


_MARK = "#control-"
# Metadata key of a control answer that repeats the answer of another response; the value is that
# response's id.
ANSWER_OF = "answer_of"
STYLE = "style"
"""Metadata key of a control answer with an injection; the value is the style of the injection."""


def control_id(original: str, kind: str, seed: int) -> str:
    """Return the external id of a control answer."""
    return f"{original}{_MARK}{kind}-{seed}"


def control_kind(external_id: str) -> str | None:
    """Return the kind of a control answer from the external id, which forgetting keeps; None for other ids."""
    _, mark, suffix = external_id.rpartition(_MARK)
    return suffix.rpartition("-")[0] if mark else None


@dataclass(frozen=True, slots=True)
class StoredControl:
    """A control answer and its original."""

    response_id: int
    original_id: int
    external_id: str

    @property
    def kind(self) -> str | None:
        """The kind, None if another program stored the control answer."""
        return control_kind(self.external_id)


def list_controls(connection: Connection) -> list[StoredControl]:
    """Return all control answers, oldest first."""
    query = select(RESPONSE.c.id, RESPONSE.c.derived_from, RESPONSE.c.external_id).where(
        RESPONSE.c.kind == ResponseKind.CONTROL, RESPONSE.c.derived_from.is_not(None)
    )
    return [StoredControl(*row) for row in connection.execute(query.order_by(RESPONSE.c.id))]


def originals_of_controls(connection: Connection) -> dict[int, OriginalAnswer]:
    """Return the originals of all control answers with another text, by the id of the control answer.

    Raises BadInput if there are none.
    """
    original = RESPONSE.alias("original")
    query = (
        select(RESPONSE.c.id, *columns_of(OriginalAnswer, original))
        .join(original, original.c.id == RESPONSE.c.derived_from)
        .where(RESPONSE.c.kind == ResponseKind.CONTROL, RESPONSE.c.answer != original.c.answer)
        .order_by(RESPONSE.c.id)
    )
    originals = {id_: OriginalAnswer(*row) for id_, *row in connection.execute(query)}
    if not originals:
        raise BadInput(_NO_CONTROLS)
    return originals


_NO_CONTROLS = (
    "there are no such control answers yet. To make them: `judgeboard test controls make`"
)


def controls_of(connection: Connection, kinds: Collection[str]) -> RowFilter:
    """Return the filter for the stored control answers of these kinds and the originals.

    Raises BadInput if there are none yet.
    """
    controls = [each for each in list_controls(connection) if each.kind in kinds]
    if not controls:
        raise BadInput(_NO_CONTROLS)
    ids = {each.response_id for each in controls} | {each.original_id for each in controls}
    return RowFilter(
        response_ids=tuple(sorted(ids)), kinds=(ResponseKind.CONTROL, ResponseKind.LOG)
    )


def answers_to_change(connection: Connection, where: RowFilter) -> tuple[IntArray, IntArray]:
    """Return ids and evidence groups of the answers from which control answers can be made, ordered by id."""
    conditions = [*response_conditions(connection, where), RESPONSE.c.answer.is_not(None)]
    query = (
        select(RESPONSE.c.id, RESPONSE.c.evidence_group).where(*conditions).order_by(RESPONSE.c.id)
    )
    ids, groups = read_columns(connection, query)
    return np.asarray(ids), np.asarray(groups)


def read_originals(connection: Connection, ids: Sequence[int]) -> list[tuple[int, Response]]:
    """Return ids and answers in the order of ``ids``, without forgotten answers; at most 1,000."""
    names = (
        "id",
        "source",
        "external_id",
        "query",
        "answer",
        "passages",
        "query_type",
        "generator_model",
        "reference",
        "asked_at",
    )
    query = select(*(RESPONSE.c[name] for name in names)).where(RESPONSE.c.id.in_(ids))
    originals = {
        row.id: record_of(Response, row)
        for row in connection.execute(query)
        if row.query is not None and row.answer is not None
    }
    return [(id_, originals[id_]) for id_ in ids if id_ in originals]


_EXPECTED = (
    f"{EXPECTED}%"  # SQL pattern of expected scores (G-Eval), which repeat another dimension
)
_HALF = 0.5  # of groundedness
_MIDDLE = 2.5  # neutral feedback on the quality scale
NEWEST = 20_000  # newest answers that are read, enough for a correlation with two digits

Scores = Mapping[str, FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredAnswers:
    """The newest logged answers that a version scored: scores by measure (NaN: missing), lengths, evidence groups."""

    scores: Scores = field(default_factory=dict)
    lengths: FloatArray = field(default_factory=no_floats)
    groups: IntArray = field(default_factory=no_ints)


@dataclass(frozen=True, slots=True, eq=False)
class FeedbackScores:
    """Answers with clear feedback: scores by measure, whether the feedback is negative, evidence groups."""

    scores: Scores = field(default_factory=dict)
    down: BoolArray = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    groups: IntArray = field(default_factory=no_ints)


@dataclass(frozen=True, slots=True, eq=False)
class ControlScores:
    """The control answers of one kind: the number, and the scores (NaN: missing) of original and control answer.

    ``suitable`` is the number of logged answers from which control answers of this kind can be
    made, None if some answers were not tried. ``styles`` are styles of injections ("": none, or
    forgotten).
    """

    made: int = 0
    control_ids: IntArray = field(default_factory=no_ints)
    before: Scores = field(default_factory=dict)
    after: Scores = field(default_factory=dict)
    groups: IntArray = field(default_factory=no_ints)
    suitable: int | None = None
    original_ids: IntArray = field(default_factory=no_ints)
    styles: TextColumn = field(default_factory=lambda: TextColumn((), no_ints()))

    def scored(self, scores: Scores, measure: str) -> FloatArray:
        """Return the scores of a measure; NaN for all control answers if the judge does not give the measure."""
        return scores.get(measure, np.full(len(self.control_ids), np.nan))

    def judged(self, measure: str) -> BoolArray:
        """Return which control answers have a score both before and after the change."""
        return ~np.isnan(self.before[measure]) & ~np.isnan(self.after[measure])


def scored_lengths(connection: Connection, version_id: int) -> ScoredAnswers:
    """Return the newest logged answers that a version scored, with their lengths."""
    newest = _newest(version_id)
    query = (
        select(*_measures(newest), newest.c.evidence_group, cast(ANSWER_FACT.c.length, Float))
        .join_from(newest, ANSWER_FACT, ANSWER_FACT.c.response_id == newest.c.response_id)
        .where(ANSWER_FACT.c.length.is_not(None))
    )
    *measures, groups, lengths = read_columns(connection, query)
    return ScoredAnswers(_named(measures), lengths, groups)


def scored_feedback(connection: Connection, version_id: int) -> FeedbackScores:
    """Return the newest scored answers with clear feedback; neutral feedback is left out."""
    newest = _newest(version_id, CURRENT.c.user_quality.is_not(None))
    query = select(*_measures(newest), newest.c.evidence_group, cast(newest.c.user_quality, Float))
    *measures, groups, quality = read_columns(connection, query)
    plain = quality != _MIDDLE
    scores = _named([column[plain] for column in measures])
    return FeedbackScores(scores, quality[plain] < _MIDDLE, groups[plain])


MADE_CONTROLS = "make_control_answers"
"""The kind of events of control answers.

If all logged answers were tried, an event has the number of ``suitable`` answers and the
``last_response_id`` of the logged answers.
"""


def suitable_answers(connection: Connection) -> dict[str, int]:
    """Return the number of suitable answers by kind of control answers, without kinds tried before the last answer."""
    last, numbers = last_logged_id(connection), dict[str, int]()
    for event in latest_events(connection, EventFilter(kind=MADE_CONTROLS), limit=LATEST):
        if event.details.get("last_response_id") == last:
            numbers.setdefault(str(event.details["control"]), int(event.details["suitable"]))
    return numbers


def control_rows(connection: Connection, version: StoredVersion) -> dict[str, ControlScores]:
    """Return all control answers by kind, with a version's scores for control answers and originals.

    A supreme judge that reviews verdicts has two scores: ``label`` is the label of the answer that
    the review implies, and ``mark`` is 1 if the review finds the verdict correct. A mark is missing
    if the verdicts on control answer and original differ, because marks of different verdicts
    cannot be compared. The score of a pairwise judge is the ``preference`` for the control answer.
    The preference for an original is 0.5.
    """
    original = RESPONSE.alias("original")
    after: FromClause = CURRENT.alias("after")
    before: FromClause = CURRENT.alias("before")
    names: tuple[str, ...] = _NAMES
    of_before: Sequence[ColumnElement[Any]] = _measures(before)
    of_after: Sequence[ColumnElement[Any]] = _measures(after)
    is_after = _verdict_of(after, version.id, RESPONSE.c.id)
    is_before = _verdict_of(before, version.id, original.c.id)
    if version.kind == PAIRWISE:
        names, of_before, of_after = ("preference",), [cast(0.5, Float)], of_after[3:]
        is_before = false()
    elif version.kind == AUDIT and version.params.get("approach") == 1:
        names, verdicts = ("label", "mark"), _reviewed_verdicts(version.id)
        after, before = verdicts.alias("after"), verdicts.alias("before")
        same = after.c.good == before.c.good
        of_before, of_after = (
            [each.c.label, case((same, each.c.mark))] for each in (before, after)
        )
        is_after = after.c.response_id == RESPONSE.c.id
        is_before = before.c.response_id == original.c.id
    query = (
        select(
            RESPONSE.c.external_id,
            RESPONSE.c.id,
            original.c.id,
            original.c.evidence_group,
            func.coalesce(RESPONSE.c.extra[STYLE].as_string(), ""),
            *of_before,
            *of_after,
        )
        .join_from(RESPONSE, original, original.c.id == RESPONSE.c.derived_from)
        .join(after, is_after, isouter=True)
        .join(before, is_before, isouter=True)
        .where(RESPONSE.c.kind == ResponseKind.CONTROL, RESPONSE.c.derived_from.is_not(None))
        .order_by(RESPONSE.c.id)
    )
    external_ids, ids, originals, groups, styles, *values = read_columns(connection, query)
    kinds = np.array([control_kind(each) or "" for each in external_ids.names], dtype=object)
    kinds = kinds[external_ids.codes]
    half, suitable = len(values) // 2, suitable_answers(connection)
    return {
        str(kind): ControlScores(
            int(rows.sum()),
            ids[rows],
            dict(zip(names, (column[rows] for column in values[:half]), strict=True)),
            dict(zip(names, (column[rows] for column in values[half:]), strict=True)),
            groups[rows],
            suitable.get(str(kind)),
            originals[rows],
            styles.at(rows),
        )
        for kind in sorted({*kinds.tolist(), *suitable})
        if kind
        for rows in (kinds == kind,)
    }


def _reviewed_verdicts(version_id: int) -> Any:
    """Return the verdicts that a version reviewed last, by answer, as a subquery.

    ``good`` is 1 if the verdict calls the answer good, ``mark`` is 1 if the review calls the verdict
    correct, and ``label`` is 1 if both together say that the answer is good.
    """
    of_judgment = JUDGMENT.c.id == JUDGMENT_REVIEW.c.judgment_id
    latest = (
        select(func.max(JUDGMENT_REVIEW.c.id))
        .join(JUDGMENT, of_judgment)
        .where(
            JUDGMENT_REVIEW.c.judge_version_id == version_id, JUDGMENT_REVIEW.c.correct.is_not(None)
        )
        .group_by(JUDGMENT.c.response_id)
    )
    is_good = func.coalesce(
        case((JUDGMENT.c.label == Label.GROUNDED, 1.0), (JUDGMENT.c.label.is_not(None), 0.0)),
        case((JUDGMENT.c.groundedness >= _HALF, 1.0), (JUDGMENT.c.groundedness.is_not(None), 0.0)),
        case((JUDGMENT.c.quality > _MIDDLE, 1.0), (JUDGMENT.c.quality.is_not(None), 0.0)),
    )
    mark = case((JUDGMENT_REVIEW.c.correct, 1.0), else_=0.0)
    return (
        select(
            JUDGMENT.c.response_id,
            cast(is_good, Float).label("good"),
            cast(mark, Float).label("mark"),
            cast(case((is_good == mark, 1.0), (is_good.is_not(None), 0.0)), Float).label("label"),
        )
        .join(JUDGMENT_REVIEW, of_judgment)
        .where(JUDGMENT_REVIEW.c.id.in_(latest))
        .subquery()
    )


@dataclass(frozen=True, slots=True, eq=False)
class ValueCounts:
    """How often each value of a measure occurs in the log; a dimension of a rubric also has its stored ``scale``."""

    values: FloatArray
    counts: IntArray
    scale: str | None = None


def value_counts(connection: Connection, version_id: int) -> dict[str, ValueCounts]:
    """Return how often a version gave each value, by measure and by dimension of its rubric."""
    mine = (CURRENT_OF_VERSION, CURRENT.c.judge_version_id == version_id)
    counts_by_measure: dict[str, ValueCounts] = {}
    for name, column in zip(_NAMES[:3], _measures(CURRENT)[:3], strict=True):
        query = select(column.label("value"), func.count()).where(
            *mine, CURRENT.c[name].is_not(None)
        )
        values, counts = read_columns(connection, query.group_by(CURRENT.c[name]))
        if len(values):
            counts_by_measure[name] = ValueCounts(values, counts)
    score = JUDGMENT_SCORE.c
    dimensions = (
        select(score.dimension, score.scale, cast(score.value, Float), func.count())
        .join(CURRENT, CURRENT.c.judgment_id == score.judgment_id)
        .where(
            *mine,
            score.value.is_not(None),
            score.dimension != OVERALL,
            score.dimension.not_like(_EXPECTED),
        )
        .group_by(score.dimension, score.scale, score.value)
    )
    names, scales, values, counts = read_columns(connection, dimensions)
    for place, name in enumerate(names.names):
        rows = names.codes == place
        codes = np.unique(scales.codes[rows])
        counts_by_measure[name] = ValueCounts(
            values[rows], counts[rows], scales.names[int(codes[0])] if len(codes) == 1 else None
        )
    return counts_by_measure


_NAMES = ("groundedness", "quality", "label", "score")


def _measures(current: Any) -> tuple[ColumnElement[Any], ...]:
    # The score is a rubric's overall score, otherwise the mean of its dimensions.
    columns = current.c
    label = case((columns.label == Label.GROUNDED, 1.0), (columns.label.is_not(None), 0.0))
    overall = func.max(case((JUDGMENT_SCORE.c.dimension == OVERALL, JUDGMENT_SCORE.c.value)))
    mean = select(func.coalesce(overall, func.avg(JUDGMENT_SCORE.c.value))).where(
        JUDGMENT_SCORE.c.judgment_id == columns.judgment_id,
        JUDGMENT_SCORE.c.dimension.not_like(_EXPECTED),
    )
    return (
        cast(columns.groundedness, Float),
        cast(columns.quality, Float),
        cast(label, Float),
        cast(mean.scalar_subquery(), Float),
    )


def _newest(version_id: int, *conditions: ColumnElement[bool]) -> Any:
    names = (
        "response_id",
        "judgment_id",
        "evidence_group",
        "groundedness",
        "quality",
        "label",
        "user_quality",
    )
    query = select(*(CURRENT.c[name] for name in names)).where(
        CURRENT_OF_VERSION, CURRENT.c.judge_version_id == version_id, *conditions
    )
    return query.order_by(CURRENT.c.response_id.desc()).limit(NEWEST).subquery("newest")


def _verdict_of(
    current: Any, version_id: int, response_id: ColumnElement[Any]
) -> ColumnElement[bool]:
    return and_(current.c.judge_version_id == version_id, current.c.response_id == response_id)


def _named(columns: list[FloatArray]) -> Scores:
    return dict(zip(_NAMES, columns, strict=True))

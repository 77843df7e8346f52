"""Answers as columns, for figures about all answers, and random draws within strata of flags and verdicts."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from heapq import nsmallest
from typing import Any

import numpy as np
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    and_,
    case,
    cast,
    func,
    literal,
    select,
)

from judgeboard.domain import (
    Decision,
    Estimate,
    FlagState,
    ItemState,
    Label,
    QueueOrder,
    ResponseKind,
    Status,
)
from judgeboard.flags.rules import RANDOM_SAMPLE, sampling_number
from judgeboard.settings.model import Cuts
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray, among, no_ints, renumbered
from judgeboard.stats.means import median
from judgeboard.stats.sample_size import allocated
from judgeboard.store.engine import kept_while_reading
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.leases import NOT_UNDONE
from judgeboard.store.queues import ANSWERS, list_queues
from judgeboard.store.responses import last_response_id
from judgeboard.store.reviews import is_current, is_test
from judgeboard.store.settings import thresholds
from judgeboard.store.sql_compiler import by_index
from judgeboard.store.statements import (
    CURRENT_OF_VERSION,
    NO_DAY,
    NOT_OK,
    PICKED,
    Columns,
    TextColumn,
    any_row,
    below_cut,
    listed,
    read_columns,
    read_numbers,
)
from judgeboard.store.tables import (
    CURRENT,
    FLAG,
    JUDGMENT,
    QUEUE_ITEM,
    RESPONSE,
    REVIEW,
    SKIP,
    Queue,
)

GOOD, BAD, UNUSABLE = 0, 1, 2
"""The codes of ``JudgedAnswers.verdicts``."""

_NO_SCORE = -1
_STEPS = 1e9


@dataclass(frozen=True, eq=False)
class JudgedAnswers(Columns):
    """Logged answers that a judge version was asked about, one row each.

    ``scores`` are the judge's groundedness (NaN if there is none), ``qualities`` the judge's
    quality (0 if there is none). ``days`` are UTC days since 1970-01-01. A rule other than the
    random sample flagged the ``picked`` answers. The random sample flagged the ``drawn`` answers.
    """

    response_ids: IntArray
    evidence_groups: IntArray
    days: IntArray
    verdicts: IntArray
    scores: FloatArray
    qualities: IntArray
    picked: BoolArray
    drawn: BoolArray
    query_types: TextColumn

    @cached_property
    def groups(self) -> IntArray:
        """The evidence groups as small numbers."""
        return renumbered(self.evidence_groups)


def judged_answers(
    connection: Connection,
    version_id: int | None,
    cuts: Cuts,
    where: RowFilter | None = None,
    ids: IntArray | None = None,
) -> JudgedAnswers:
    """Return the answers with the verdicts, by ascending id; ``ids`` limits the answers (default: all).

    A verdict is the judge's label. Without a label, the verdict is BAD if the groundedness is below
    the cut. Without a version, all answers have the verdict ``UNUSABLE``.
    """

    def among_ids(response_id: ColumnElement[int]) -> tuple[ColumnElement[bool], ...]:
        return () if ids is None else (response_id.in_(listed(connection, ids.tolist())),)

    of_response = select(
        RESPONSE.c.query_type,
        _packed(RESPONSE.c.id, literal(0), literal(UNUSABLE)),
        RESPONSE.c.evidence_group,
        func.coalesce(RESPONSE.c.asked_day, NO_DAY),
        literal(_NO_SCORE),
    ).where(*among_ids(RESPONSE.c.id))
    conditions = response_conditions(connection, where or RowFilter())
    if version_id is None:
        return _read(connection, ids, of_response.where(*conditions))
    usable = select(
        CURRENT.c.query_type,
        _packed(
            CURRENT.c.response_id,
            func.coalesce(CURRENT.c.quality, 0),
            case(
                (CURRENT.c.label == Label.HALLUCINATED, literal(BAD)),
                (CURRENT.c.label.is_not(None), literal(GOOD)),
                (CURRENT.c.groundedness.is_(None), literal(UNUSABLE)),
                (below_cut(CURRENT.c.groundedness, CURRENT.c.query_type, cuts), literal(BAD)),
                else_=literal(GOOD),
            ),
        ),
        CURRENT.c.evidence_group,
        func.coalesce(CURRENT.c.asked_day, NO_DAY),
        # A whole number of steps, because whole numbers are read fast. Scores that differ by less
        # than a step count as equal.
        func.coalesce(cast(func.round(CURRENT.c.groundedness * _STEPS), BigInteger), _NO_SCORE),
    ).where(
        CURRENT_OF_VERSION,
        CURRENT.c.judge_version_id == version_id,
        *among_ids(CURRENT.c.response_id),
    )
    if ids is not None:  # SQLite would otherwise read all verdicts in the order of query types
        usable = by_index(usable, CURRENT, "ix_current_judgment_response")
    with_verdict = (
        CURRENT.c.response_id == JUDGMENT.c.response_id,
        CURRENT.c.judge_version_id == version_id,
    )
    failed_ids = select(JUDGMENT.c.response_id).where(
        JUDGMENT.c.judge_version_id == version_id,
        # Both conditions are needed: with the first, SQLite can use the partial index; with the
        # second, SQLite prefers this index to others.
        NOT_OK,
        JUDGMENT.c.status.in_([each for each in Status if each is not Status.OK]),
        ~select(CURRENT.c.response_id).where(*with_verdict).exists(),
        *among_ids(JUDGMENT.c.response_id),
    )
    unusable = of_response.where(RESPONSE.c.id.in_(failed_ids)).distinct()
    if where in {None, RowFilter()}:
        # An expression, because the index of `kind` would lead through the whole log.
        return _read(
            connection,
            ids,
            usable,
            unusable.where(RESPONSE.c.kind.concat("") == ResponseKind.LOG.value),
        )
    matching_ids = select(RESPONSE.c.id).where(*conditions)
    return _read(
        connection,
        ids,
        usable.where(CURRENT.c.response_id.in_(matching_ids)),
        unusable.where(RESPONSE.c.id.in_(matching_ids)),
    )


def gives_labels(connection: Connection, version_id: int) -> bool:
    """Return whether a judge version gave a label to any answer. Otherwise the threshold decides the verdicts."""
    return any_row(
        connection,
        CURRENT_OF_VERSION,
        CURRENT.c.judge_version_id == version_id,
        CURRENT.c.label.is_not(None),
    )


def _packed(
    response_id: ColumnElement[int], quality: ColumnElement[int], verdict: ColumnElement[int]
) -> ColumnElement[int]:
    """Return all three in one number, because each column of a million answers takes a tenth of a second to read."""
    return response_id * 32 + quality * 4 + verdict


def _read(connection: Connection, ids: IntArray | None, *queries: Select[Any]) -> JudgedAnswers:
    types, (packed, groups, days, steps) = read_numbers(connection, *queries)
    response_ids, scores = packed >> 5, np.where(steps < 0, np.nan, steps / _STEPS)
    # The answers that another rule flagged, and the answers of the random sample.
    query = select(FLAG.c.query_type, FLAG.c.response_id)
    if ids is not None:  # SQLite would otherwise read all flags by another index
        of_ids = query.where(FLAG.c.response_id.in_(listed(connection, ids.tolist())))
        query = by_index(of_ids, FLAG, "ix_flag_response")
    in_sample = and_(FLAG.c.rule == RANDOM_SAMPLE, FLAG.c.state != FlagState.SUPERSEDED)
    is_picked, is_drawn = (
        np.isin(response_ids, read_numbers(connection, query.where(rule))[1][0])
        for rule in (PICKED, in_sample)
    )
    qualities = packed >> 2 & 7
    answers = JudgedAnswers(
        response_ids, groups, days, packed & 3, scores, qualities, is_picked, is_drawn, types
    )
    return answers.at(np.argsort(response_ids))


@dataclass(frozen=True, slots=True, eq=False)
class RandomOrder:
    """The ids, ascending, of answers that people reviewed in queues in random order with the same filter.

    ``flagged_only`` queues have only answers with open flags, and thus no answers that people
    decided before. Other queues are drawn from all answers that match ``where``. A queue with a
    number of items is drawn once: answers with an id above ``last_id`` were logged later (None:
    later answers join the queue). A planned queue is drawn from the answers that the judge versions
    of the plan were asked about until then: ``judged_by`` has the ids of these versions with this
    time.
    """

    where: RowFilter
    flagged_only: bool
    last_id: int | None
    judged_by: tuple[tuple[int, datetime], ...]
    reviewed: IntArray


def reviewed_in_random_order(connection: Connection) -> list[RandomOrder]:
    """Return the answers that people reviewed in queues in random order, by filter and by time of the draw.

    Items that a person added, repeats and tests do not count. Queues of answers on which two judges
    differ do not count either.
    """
    return _random_orders(connection, filter(_is_random, list_queues(connection, subject=ANSWERS)))


def open_in_random_order(connection: Connection) -> dict[str, IntArray]:
    """Return the ids of the answers with an open item in an open queue in random order, by the name of the queue."""
    queues = filter(_is_random, list_queues(connection, only_open=True, subject=ANSWERS))
    items = select(QUEUE_ITEM.c.response_id).where(
        QUEUE_ITEM.c.state == ItemState.OPEN,
        QUEUE_ITEM.c.repeat_for.is_(None),
        QUEUE_ITEM.c.test.is_(False),
    )
    return {
        queue.name: read_columns(connection, items.where(QUEUE_ITEM.c.queue_id == queue.id))[0]
        for queue in queues
    }


def _is_random(queue: Queue) -> bool:
    """Whether the labels of a queue are a random sample of the answers that the queue was drawn from."""
    return queue.sort is QueueOrder.RANDOM and not queue.training and not queue.of_difference


def _random_orders(connection: Connection, queues: Iterable[Queue]) -> list[RandomOrder]:
    queue_ids: dict[
        tuple[RowFilter, bool, int | None, tuple[tuple[int, datetime], ...]], list[int]
    ] = {}
    for queue in queues:
        last_id = None if queue.max_items is None else _last_logged(connection, queue.created_at)
        judged_by = tuple((version_id, queue.created_at) for version_id in _planned_versions(queue))
        queue_ids.setdefault((queue.filter, queue.flagged_only, last_id, judged_by), []).append(
            queue.id
        )
    query = (
        select(QUEUE_ITEM.c.response_id)
        .join(REVIEW, REVIEW.c.queue_item_id == QUEUE_ITEM.c.id)
        .where(
            QUEUE_ITEM.c.repeat_for.is_(None),
            QUEUE_ITEM.c.test.is_(False),
            QUEUE_ITEM.c.bulk.is_(None),
        )
    )
    orders = []
    for key, ids in queue_ids.items():
        of_queues = query.where(QUEUE_ITEM.c.queue_id.in_(ids))
        orders.append(RandomOrder(*key, np.unique(read_columns(connection, of_queues)[0])))
    return orders


def _planned_versions(queue: Queue) -> tuple[int, ...]:
    """Return the ids of the judge versions whose verdicts decided the draw of a queue, ascending."""
    version_ids = [(queue.plan or {}).get(name) for name in STORED_AS.values()]
    return tuple(sorted(each for each in version_ids if each is not None))


def judged_until(
    connection: Connection, version_id: int, at: datetime, ids: IntArray, *, is_asked: bool
) -> BoolArray:
    """Return for each answer whether a judge version was asked about the answer until this time.

    ``is_asked``: the version was asked about all these answers until today. If the version has no
    judgment any more, all answers count.
    """
    is_judged = np.ones(len(ids), dtype=np.bool_)
    if not is_asked:
        asked_ids = judged_answers(connection, version_id, Cuts(0)).response_ids
        if not len(asked_ids):
            return is_judged
        is_judged = np.isin(ids, asked_ids)
    query = select(JUDGMENT.c.response_id).where(JUDGMENT.c.judge_version_id == version_id)
    later = np.intersect1d(
        read_columns(connection, query.where(JUDGMENT.c.created_at > at))[0], ids
    )
    # Two queries: in one, SQLite would search all earlier judgments for each later one.
    conditions = (
        JUDGMENT.c.created_at <= at,
        JUDGMENT.c.response_id.in_(listed(connection, later.tolist())),
    )
    earlier = read_columns(connection, query.where(*conditions))[0] if len(later) else no_ints()
    return is_judged & ~np.isin(ids, np.setdiff1d(later, earlier))


def _last_logged(connection: Connection, at: datetime) -> int:
    """Return the greatest id of the answers that were stored until this time, 0 without such answers.

    Ids grow with time, so a binary search reads about twenty rows. No index has the times, and a
    scan would read all texts.
    """
    low, high = (
        0,
        last_response_id(connection),
    )
    while low < high:
        middle = (low + high + 1) // 2
        row = select(RESPONSE.c.id, RESPONSE.c.imported_at).where(RESPONSE.c.id <= middle)
        latest = connection.execute(row.order_by(RESPONSE.c.id.desc()).limit(1)).one_or_none()
        if latest is None or latest.imported_at <= at:
            low = middle
        else:
            high = latest.id - 1
    return low


def reviewed_where_verdicts_differ(
    connection: Connection, version_ids: Collection[int]
) -> list[RandomOrder]:
    """Return the answers that people reviewed in queues planned for these two judge versions, by time of the draw.

    Such queues are random samples of all answers on which the two verdicts differ. Queues with a
    filter do not count.
    """
    return _random_orders(
        connection,
        (
            queue
            for queue in list_queues(connection, subject=ANSWERS)
            if queue.of_difference
            and _planned_versions(queue) == tuple(sorted(version_ids))
            and queue.filter == RowFilter()
        ),
    )


@kept_while_reading
def unsure_answers(connection: Connection) -> IntArray:
    """Return the ids, ascending, of answers with an unsure review. Other people may have labelled such answers."""
    query = select(REVIEW.c.response_id).where(
        REVIEW.c.decision == Decision.UNSURE,
        REVIEW.c.response_id.is_not(None),
        is_current(),
        ~is_test(),
    )
    return np.unique(read_columns(connection, query)[0])


@kept_while_reading
def skipped_answers(connection: Connection) -> IntArray:
    """Return the ids, ascending, of answers that somebody skipped in a queue. Others may have labelled such answers."""
    query = (
        select(QUEUE_ITEM.c.response_id)
        .join(SKIP, SKIP.c.queue_item_id == QUEUE_ITEM.c.id)
        .where(QUEUE_ITEM.c.response_id.is_not(None), NOT_UNDONE)
    )
    return np.unique(read_columns(connection, query)[0])


LEAST_OF_STRATUM = 2
"""The minimum number of answers that a plan draws from each stratum. Otherwise all strata have the same probability."""

STORED_AS = {"version_id": "judge_version_id", "other_id": "other_judge_version_id"}
_VERDICTS = {GOOD: "good", BAD: "bad", UNUSABLE: "unusable"}
_READ_AT_ONCE = 10_000  # answers


@dataclass(frozen=True, slots=True)
class DrawnStratum:
    """A stratum of a draw: ``drawn`` of the ``answers``; the ``labelled`` answers count already and are not drawn.

    ``picked`` is whether a rule flagged the answers, None if flags do not define the strata.
    ``verdict`` is good, bad or unusable, None without a judge. All answers of the stratum with a
    position below ``next_position`` are drawn or labelled.
    """

    picked: bool | None
    verdict: str | None
    answers: int
    labelled: int
    drawn: int
    next_position: float = 1.0

    @property
    def inclusion_probability(self) -> float:
        """The probability that an answer of the stratum without a label is drawn."""
        free = self.answers - self.labelled
        return self.drawn / free if free else 1.0

    def as_dict(self) -> dict[str, Any]:
        """Return the stratum as JSON values, as stored with a queue."""
        names = (
            "picked",
            "verdict",
            "answers",
            "labelled",
            "drawn",
            "inclusion_probability",
            "next_position",
        )
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer for a queue, with the open flags that put the answer there; ``severity`` is the highest of these flags.

    In a planned draw, ``stratum`` is the index of the stratum, and ``position`` is the place in the
    random order (0 to 1).
    """

    response_id: int
    source: str
    external_id: str
    asked_day: int | None
    severity: float = 0.0
    flag_ids: tuple[int, ...] = ()
    stratum: int | None = None
    position: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class DrawPlan:
    """What decides a draw beside the filter: the judge version with the title (None: no judge), and sampled labels.

    ``labelled`` are the ids, ascending, of answers whose labels count already. These answers are
    not drawn again. With another judge version (``other_id``), only answers are drawn on which the
    two verdicts differ.
    """

    version_id: int | None = None
    judge: str | None = None
    labelled: IntArray | None = None
    other_id: int | None = None
    other_judge: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as JSON values, without the labels, as stored with a queue."""
        names = ("version_id", "judge", "other_id", "other_judge")
        return {STORED_AS.get(name, name): getattr(self, name) for name in names}


def draw_by_stratum(
    connection: Connection, where: RowFilter, plan: DrawPlan, n: int, seed: str
) -> tuple[tuple[DrawnStratum, ...], list[Candidate]]:
    """Draw ``n`` answers at random, with the same probability in each stratum; return the strata and the answers.

    The answers are in random order. With a judge version, answers that the version was not asked
    about are left out. The seed alone decides the draw.
    """
    # The ids of the answers of the plan, ascending, and the code of the stratum of each answer.
    cuts = thresholds(connection).cuts
    judged = judged_answers(connection, plan.version_id, cuts, where)
    if plan.other_id is None:
        ids = judged.response_ids
        codes = 3 * judged.picked + judged.verdicts
    else:
        other_answers = judged_answers(connection, plan.other_id, cuts, where)
        ids, at, at_other = np.intersect1d(
            judged.response_ids,
            other_answers.response_ids,
            assume_unique=True,
            return_indices=True,
        )
        codes, other_codes = judged.verdicts[at], other_answers.verdicts[at_other]
        differ = (codes != other_codes) & (codes != UNUSABLE) & (other_codes != UNUSABLE)
        ids, codes = ids[differ], codes[differ]
    is_labelled = among(ids, no_ints() if plan.labelled is None else plan.labelled)
    free, first = _lots(connection, where, ids, codes, ~is_labelled, n + 1, seed)
    answers = np.bincount(codes, minlength=6)
    stratum_codes = [
        code for code in (3 + BAD, 3 + GOOD, 3 + UNUSABLE, BAD, GOOD, UNUSABLE) if answers[code]
    ]
    counts = allocated(n, [int(free[code]) for code in stratum_codes], least=LEAST_OF_STRATUM)
    strata = tuple(
        DrawnStratum(
            None if plan.other_id else code >= 3,
            None if plan.version_id is None else _VERDICTS[code % 3],
            int(answers[code]),
            int(answers[code] - free[code]),
            count,
            first[code][count][0] if count < len(first[code]) else 1.0,
        )
        for code, count in zip(stratum_codes, counts, strict=True)
    )
    candidates = [
        Candidate(
            id_, row.source, row.external_id, row.asked_day, stratum=stratum, position=position
        )
        for stratum, (code, count) in enumerate(zip(stratum_codes, counts, strict=True))
        for position, id_, row in first[code][:count]
    ]
    return strata, sorted(candidates, key=lambda answer: (answer.position, answer.response_id))


def _lots(
    connection: Connection,
    where: RowFilter,
    ids: IntArray,
    codes: IntArray,
    may_be_drawn: BoolArray,
    n: int,
    seed: str,
) -> tuple[IntArray, list[list[tuple[float, int, Any]]]]:
    """Return for each code of a stratum how many answers may be drawn, and the first ``n`` answers in random order."""
    columns = (RESPONSE.c.id, RESPONSE.c.source, RESPONSE.c.external_id, RESPONSE.c.asked_day)
    query = select(*columns).where(
        *response_conditions(connection, where), RESPONSE.c.answer.is_not(None)
    )
    free, first = (
        np.zeros(6, dtype=np.int64),
        list[list[tuple[float, int, Any]]]([[] for _ in range(6)]),
    )
    for rows in connection.execute(
        query, execution_options={"yield_per": _READ_AT_ONCE}
    ).partitions():
        batch = np.array([row.id for row in rows], dtype=np.int64)
        in_strata = among(batch, ids)
        at = np.searchsorted(ids, batch[in_strata])
        drawable = may_be_drawn[at]
        lots: list[list[tuple[float, int, Any]]] = [[] for _ in range(6)]
        for row_at, code in zip(
            np.flatnonzero(in_strata)[drawable].tolist(), codes[at][drawable].tolist(), strict=True
        ):
            row = rows[row_at]
            lots[code].append(
                (sampling_number(f"{seed}:order", row.source, row.external_id), row.id, row)
            )
        for code, candidates in enumerate(lots):
            free[code] += len(candidates)
            if candidates:
                first[code] = nsmallest(n, [*first[code], *candidates], key=lambda lot: lot[:2])
    return free, first


_LATEST_REVIEWS = 1_000


def review_time(connection: Connection) -> Estimate:
    """Return the median time of the latest 1,000 reviews, in seconds."""
    query = (
        select(REVIEW.c.seconds).where(REVIEW.c.seconds.is_not(None)).order_by(REVIEW.c.id.desc())
    )
    [seconds] = read_columns(connection, query.limit(_LATEST_REVIEWS))
    # The median, because a break with an item left open must not count as review time.
    return median(seconds)

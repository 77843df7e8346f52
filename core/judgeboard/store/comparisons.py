"""Judges' comparisons of pairs, one row per order shown."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, func, select

from judgeboard.domain import OVERALL, Preference, Shown, Status, StepRecord
from judgeboard.store.clock import utc_now
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.judgments import step_values
from judgeboard.store.run_steps import LatestAsk
from judgeboard.store.statements import batches, grouped, insert_or_skip, record_of, rows_with
from judgeboard.store.tables import COMPARISON, COMPARISON_SCORE, PAIR, RESPONSE, StoredVersion
from judgeboard.text import storable_or_none

SCORE = COMPARISON_SCORE

PLAIN, REFERENCE = "plain", "reference"
_QUESTION_DIGITS = 64  # of the question's hash, the first part of a pair's content hash
_KEY = ("pair_id", "judge_version_id", "condition", "shown", "ask")


@dataclass(frozen=True, slots=True)
class NewComparison:
    """A comparison of a pair by a judge, in one order, to be stored.

    ``preferences`` refer to the stored answers, not to the order ``shown``, and are empty if the
    verdict is unusable. ``condition`` is ``reference`` if the judge was shown the text
    ``reference`` as correct, otherwise ``plain``.
    """

    pair_id: int
    shown: Shown
    record: StepRecord
    preferences: Mapping[str, Preference] = field(default_factory=dict)
    condition: str = PLAIN
    reference: str | None = None
    reasoning: str | None = None
    ask: int = 0


class ComparisonKey(NamedTuple):
    """The unique key of a comparison within one judge version."""

    pair_id: int
    condition: str
    shown: str
    ask: int


class StoredComparison(NamedTuple):
    """A stored comparison of a pair in one condition and order, with the preferences by aspect."""

    id: int
    condition: str
    shown: Shown
    status: Status
    preferences: dict[str, Preference]
    reference: str | None
    reasoning: str | None
    error: str | None
    run_id: int | None


class BothOrders(NamedTuple):
    """A judge version's preferences on one aspect of a pair, in both orders.

    ``ab`` is the preference with A shown first, ``ba`` with B shown first; both refer to the stored
    answers. None means unmeasured: the judge was not asked in this order (``asked_ab``,
    ``asked_ba`` is False) or gave no usable verdict. ``question`` is the id of the first pair with
    the same question.
    """

    version_id: int
    condition: str
    pair_id: int
    query_type: str
    aspect: str
    ab: Preference | None
    ba: Preference | None
    asked_ab: bool
    asked_ba: bool
    gold: Preference | None
    question: int


# One row for each aspect of a comparison; a comparison without aspects has one row.
_WITH_SCORES = select(COMPARISON, SCORE.c.aspect, SCORE.c.preference).join(
    SCORE, SCORE.c.comparison_id == COMPARISON.c.id, isouter=True
)


def store_comparisons(
    connection: Connection,
    version: StoredVersion,
    run_id: int | None,
    items: Sequence[NewComparison],
    now: datetime | None = None,
) -> None:
    """Store comparisons of one version. Comparisons that are already stored do not change."""
    now = now or utc_now()
    statement = insert_or_skip(connection, COMPARISON, *_KEY).returning(
        COMPARISON.c.pair_id,
        COMPARISON.c.condition,
        COMPARISON.c.shown,
        COMPARISON.c.ask,
        COMPARISON.c.id,
    )
    for some in batches(items):
        batch = {key_of(item): item for item in reversed(some)}
        rows = [
            {
                "pair_id": item.pair_id,
                "judge_version_id": version.id,
                "condition": item.condition,
                "reference": storable_or_none(item.reference),
                "shown": item.shown,
                "ask": item.ask,
                "reasoning": storable_or_none(item.reasoning),
                **step_values(item.record, run_id, now),
            }
            for item in batch.values()
        ]
        ids = {ComparisonKey(*key): id_ for *key, id_ in connection.execute(statement, rows)}
        add_aspects(connection, {id_: batch[key].preferences for key, id_ in ids.items()})


def add_aspects(
    connection: Connection, preferences: Mapping[int, Mapping[str, Preference]]
) -> None:
    """Store preferences on aspects that these comparisons, by id, do not have yet."""
    rows = [
        {"comparison_id": id_, "aspect": aspect, "preference": preference.value}
        for id_, by_aspect in preferences.items()
        for aspect, preference in by_aspect.items()
    ]
    if rows:
        connection.execute(insert_or_skip(connection, SCORE, "comparison_id", "aspect"), rows)


def key_of(item: NewComparison) -> ComparisonKey:
    """Return the unique key of a comparison."""
    return ComparisonKey(item.pair_id, item.condition, item.shown.value, item.ask)


def stored_comparisons(
    connection: Connection, version_id: int, pair_ids: Collection[int]
) -> dict[ComparisonKey, StoredComparison]:
    """Return the comparisons of these pairs by a judge version, by key."""
    query = _WITH_SCORES.where(COMPARISON.c.judge_version_id == version_id)
    comparisons: dict[ComparisonKey, StoredComparison] = {}
    for row in rows_with(connection, query, COMPARISON.c.pair_id, pair_ids):
        key = record_of(ComparisonKey, row)
        comparison = comparisons.get(key)
        if comparison is None:
            comparison = comparisons[key] = record_of(StoredComparison, row, preferences={})
        if row.aspect is not None:
            comparison.preferences[row.aspect] = row.preference
    return comparisons


def load_comparisons(
    connection: Connection, version_ids: Collection[int], *, condition: str | None = None
) -> list[BothOrders]:
    """Return these versions' preferences in both orders, one row per condition, pair and aspect, in a fixed order.

    If a pair was asked several times in one order, the latest usable verdict counts. If no verdict
    in an order is usable, this order is unmeasured on every aspect of the version's verdicts
    (``overall`` if the version has none). ``condition`` limits the result to ``plain`` or
    ``reference``.
    """
    columns = ("judge_version_id", "condition", "pair_id", "shown", "ask")
    query: Select[Any] = _WITH_SCORES.with_only_columns(
        *(COMPARISON.c[name] for name in columns),
        SCORE.c.aspect,
        SCORE.c.preference,
        maintain_column_froms=True,
    ).where(COMPARISON.c.judge_version_id.in_(version_ids))
    if condition is not None:
        query = query.where(COMPARISON.c.condition == condition)
    # The preferences by (version, condition, pair, order shown); empty if no verdict was usable.
    verdicts: dict[tuple[int, str, int, str], dict[str, Preference]] = {}
    latest: dict[tuple[int, str, int, str], int] = {}
    for version_id, kind, pair_id, shown, ask, aspect, preference in connection.execute(query):
        key = (version_id, kind, pair_id, shown)
        preferences = verdicts.setdefault(key, {})
        if aspect is None or ask < latest.get(key, 0):
            continue
        if ask > latest.get(key, 0):
            preferences.clear()
        latest[key] = ask
        preferences[aspect] = preference
    aspects: dict[tuple[int, str], set[str]] = {}
    for (version_id, kind, _, _), preferences in verdicts.items():
        aspects.setdefault((version_id, kind), set()).update(preferences)
    pair_rows = rows_with(
        connection,
        select(PAIR.c.id, PAIR.c.query_type, PAIR.c.gold),
        PAIR.c.id,
        {pair_id for _, _, pair_id, _ in verdicts},
    )
    pairs = {id_: (query_type, gold) for id_, query_type, gold in pair_rows}
    questions = question_groups(connection)
    rows = []
    for version_id, kind, pair_id in sorted({key[:3] for key in verdicts}):
        ab, ba = (
            verdicts.get((version_id, kind, pair_id, order.value)) for order in (Shown.AB, Shown.BA)
        )
        query_type, gold = pairs[pair_id]
        for aspect in sorted(aspects[version_id, kind]) or (OVERALL,):
            a_first, b_first = (
                None if by_aspect is None else by_aspect.get(aspect) for by_aspect in (ab, ba)
            )
            more = (ab is not None, ba is not None, gold, questions[pair_id])
            rows.append(
                BothOrders(version_id, kind, pair_id, query_type, aspect, a_first, b_first, *more)
            )
    return rows


def question_groups(connection: Connection) -> dict[int, int]:
    """Return, for each pair, the id of the first pair with the same question: such pairs are not independent.

    The hash tells equal questions (with options and reference) even after `judgeboard db forget`
    deleted the texts.
    """
    question = func.substr(PAIR.c.content_hash, 1, _QUESTION_DIGITS)
    query = select(PAIR.c.id, func.min(PAIR.c.id).over(partition_by=question))
    return dict(connection.execute(query).all())


QUESTION_START = 300


class PairHead(NamedTuple):
    """The parts of a pair that lists show: the start of the question and the models of the answers."""

    source: str
    external_id: str
    question: str | None
    model_a: str | None
    model_b: str | None


def versions_that_compared(connection: Connection) -> list[StoredVersion]:
    """Return the judge versions with comparisons, by name and number."""
    return list_versions(
        connection, select(COMPARISON.c.judge_version_id).where(COMPARISON.c.condition == PLAIN)
    )


_A, _B = RESPONSE.alias(), RESPONSE.alias()
_WITH_ANSWERS = PAIR.outerjoin(_A, _A.c.id == PAIR.c.response_a_id).outerjoin(
    _B, _B.c.id == PAIR.c.response_b_id
)


def pairs_with_texts(connection: Connection, pair_ids: Collection[int]) -> tuple[int, ...]:
    """Return the pairs whose question and two answers are neither missing nor forgotten, ordered by id."""
    query = (
        select(PAIR.c.id)
        .join(_A, _A.c.id == PAIR.c.response_a_id)
        .join(_B, _B.c.id == PAIR.c.response_b_id)
        .where(PAIR.c.question.is_not(None), _A.c.answer.is_not(None), _B.c.answer.is_not(None))
        .order_by(PAIR.c.id)
    )
    return tuple(row.id for row in rows_with(connection, query, PAIR.c.id, pair_ids))


def pair_heads(connection: Connection, pair_ids: Collection[int]) -> dict[int, PairHead]:
    """Return the heads of these pairs, by id."""
    start = func.substr(PAIR.c.question, 1, QUESTION_START)
    columns = (
        PAIR.c.id,
        PAIR.c.source,
        PAIR.c.external_id,
        start,
        _A.c.generator_model,
        _B.c.generator_model,
    )
    query = select(*columns).select_from(_WITH_ANSWERS)
    return {
        id_: PairHead(*head) for id_, *head in rows_with(connection, query, PAIR.c.id, pair_ids)
    }


def uncompared(connection: Connection) -> list[BothOrders]:
    """Return all pairs whose two answers are stored, ordered by id, each without a comparison."""
    query = (
        select(PAIR.c.id, PAIR.c.query_type, PAIR.c.gold)
        .where(PAIR.c.response_a_id.is_not(None), PAIR.c.response_b_id.is_not(None))
        .order_by(PAIR.c.id)
    )
    questions = question_groups(connection)
    return [
        BothOrders(
            0,
            PLAIN,
            id_,
            query_type,
            OVERALL,
            None,
            None,
            asked_ab=False,
            asked_ba=False,
            gold=gold,
            question=questions[id_],
        )
        for id_, query_type, gold in connection.execute(query)
    ]


def latest_asks(
    connection: Connection, version_id: int, pair_ids: Collection[int]
) -> dict[tuple[int, Shown], LatestAsk]:
    """Return the latest plain ask of these pairs, by (pair, order shown); ok if any ask in this order was usable."""
    names = ("pair_id", "shown", "ask", "status", "run_id")
    query = (
        select(*(COMPARISON.c[name] for name in names))
        .where(COMPARISON.c.judge_version_id == version_id, COMPARISON.c.condition == PLAIN)
        .order_by(COMPARISON.c.ask)
    )
    latest: dict[tuple[int, Shown], LatestAsk] = {}
    for pair_id, shown, ask, status, run_id in rows_with(
        connection, query, COMPARISON.c.pair_id, pair_ids
    ):
        earlier = latest.get((pair_id, shown))
        counted = Status.OK if earlier and earlier.usable else status
        latest[pair_id, shown] = LatestAsk(ask, run_id, counted)
    return latest


def status_counts(
    connection: Connection, version_id: int, pair_ids: Collection[int] | None = None
) -> dict[Status, int]:
    """Return the number of a version's plain comparisons by status, for these pairs (default: all)."""
    query = (
        select(COMPARISON.c.status, func.count())
        .where(COMPARISON.c.judge_version_id == version_id, COMPARISON.c.condition == PLAIN)
        .group_by(COMPARISON.c.status)
    )
    counts = dict.fromkeys(Status, 0)
    for status, n in rows_with(connection, query, COMPARISON.c.pair_id, pair_ids):
        counts[status] += n
    return counts


def latest_comparisons(
    connection: Connection, version_id: int, pair_id: int, conditions: Sequence[str] = (PLAIN,)
) -> list[StoredComparison]:
    """Return a version's latest comparisons of a pair, one per condition and order asked, ab first.

    An order without a usable comparison has the latest unusable one.
    """
    of_pair = (COMPARISON.c.judge_version_id == version_id) & (COMPARISON.c.pair_id == pair_id)
    query = _WITH_SCORES.where(of_pair, COMPARISON.c.condition.in_(conditions)).order_by(
        COMPARISON.c.ask
    )
    latest: dict[tuple[str, Shown], StoredComparison] = {}
    for row in connection.execute(query):
        key = (row.condition, row.shown)
        comparison = latest.get(key)
        if comparison is None or comparison.id != row.id:
            if (
                comparison is not None
                and comparison.status is Status.OK
                and row.status is not Status.OK
            ):
                continue
            comparison = latest[key] = record_of(StoredComparison, row, preferences={})
        if row.aspect is not None:
            comparison.preferences[row.aspect] = row.preference
    return [latest[key] for key in sorted(latest)]


def compared_pairs(
    connection: Connection, version_id: int
) -> dict[int, list[tuple[Status, str | None]]]:
    """Return (status, shown reference) for the latest ask of each of a version's comparisons, by pair."""
    key = (COMPARISON.c.pair_id, COMPARISON.c.condition, COMPARISON.c.shown)
    query = select(*key, COMPARISON.c.status, COMPARISON.c.reference).where(
        COMPARISON.c.judge_version_id == version_id
    )
    latest = {tuple(row[:3]): row for row in connection.execute(query.order_by(COMPARISON.c.ask))}
    return grouped((row.pair_id, (row.status, row.reference)) for row in latest.values())

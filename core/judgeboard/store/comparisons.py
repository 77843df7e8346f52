"""What judges made of pairs, one row per order shown."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, select, true

from judgeboard.domain import OVERALL, Preference, Shown, Status, StepRecord
from judgeboard.store.judge_versions import StoredVersion, list_versions
from judgeboard.store.judgments import step_columns
from judgeboard.store.method_tables import COMPARISON, COMPARISON_SCORE, PAIR
from judgeboard.store.statements import batches, insert_or_skip
from judgeboard.store.tables import RESPONSE
from judgeboard.text import storable_or_none

SCORE = COMPARISON_SCORE

PLAIN, REFERENCE = "plain", "reference"
_KEY = ("pair_id", "judge_version_id", "condition", "shown", "ask")


@dataclass(frozen=True, slots=True)
class NewComparison:
    """A comparison of a pair by a judge, in one order, to be stored.

    ``preferences`` are in terms of the stored answers, whatever the order ``shown``; empty where it is unusable.
    ``condition`` is ``plain``, or ``reference`` where the judge was shown the answer ``reference`` as correct.
    """

    pair_id: int
    shown: Shown
    record: StepRecord
    preferences: Mapping[str, Preference] = field(default_factory=dict)
    condition: str = PLAIN
    reference: str | None = None
    reasoning: str | None = None
    ask: int = 0

    def __post_init__(self) -> None:
        if bool(self.preferences) != (self.record.status is Status.OK):
            raise ValueError(f"a comparison that is {self.record.status} has {len(self.preferences)} preferences")


class ComparisonKey(NamedTuple):
    """What a comparison of one judge version is stored once by."""

    pair_id: int
    condition: str
    shown: str
    ask: int


class StoredComparison(NamedTuple):
    """A comparison as it is stored."""

    id: int
    status: str
    preferences: dict[str, str]
    run_id: int | None = None


class BothOrders(NamedTuple):
    """What a judge version says of a pair on one aspect, in both orders.

    ``ab`` and ``ba`` are the preferences in terms of the stored answers when A, or B, was shown first; None is
    unmeasured: not asked (``asked_ab``, ``asked_ba`` False), or asked without a usable verdict.
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


def store_comparisons(
    connection: Connection,
    version: StoredVersion,
    run_id: int | None,
    items: Sequence[NewComparison],
    now: datetime | None = None,
) -> set[ComparisonKey]:
    """Store comparisons of one judge version; return which came in.

    One that is stored already (same pair, version, condition, order and ask) counts as done and is left as it was.
    """
    now = now or datetime.now(UTC)
    came_in: set[ComparisonKey] = set()
    statement = insert_or_skip(connection, COMPARISON, *_KEY).returning(
        COMPARISON.c.pair_id, COMPARISON.c.condition, COMPARISON.c.shown, COMPARISON.c.ask, COMPARISON.c.id
    )
    for some in batches(items):
        batch = {key_of(item): item for item in reversed(some)}
        rows = [_row(version.id, run_id, item, now) for item in batch.values()]
        ids = {ComparisonKey(*key): id_ for *key, id_ in connection.execute(statement, rows)}
        add_aspects(connection, {id_: batch[key].preferences for key, id_ in ids.items()})
        came_in |= ids.keys()
    return came_in


def add_aspects(connection: Connection, preferences: Mapping[int, Mapping[str, Preference]]) -> None:
    """Store preferences on aspects that these comparisons, by id, say nothing of yet."""
    rows = [
        {"comparison_id": id_, "aspect": aspect, "preference": preference.value}
        for id_, given in preferences.items()
        for aspect, preference in given.items()
    ]
    if rows:
        connection.execute(insert_or_skip(connection, SCORE, "comparison_id", "aspect"), rows)


def key_of(item: NewComparison) -> ComparisonKey:
    """Return what a comparison is stored once by."""
    return ComparisonKey(item.pair_id, item.condition, item.shown.value, item.ask)


def stored_comparisons(
    connection: Connection, version_id: int, pair_ids: Collection[int]
) -> dict[ComparisonKey, StoredComparison]:
    """Return what a judge version said of these pairs, by key."""
    columns = (COMPARISON.c.pair_id, COMPARISON.c.condition, COMPARISON.c.shown, COMPARISON.c.ask)
    found: dict[ComparisonKey, StoredComparison] = {}
    for batch in batches(sorted(set(pair_ids))):
        query = (
            select(*columns, COMPARISON.c.id, COMPARISON.c.status, COMPARISON.c.run_id)
            .add_columns(SCORE.c.aspect, SCORE.c.preference)
            .join(SCORE, SCORE.c.comparison_id == COMPARISON.c.id, isouter=True)
            .where(COMPARISON.c.judge_version_id == version_id, COMPARISON.c.pair_id.in_(batch))
        )
        for pair_id, condition, shown, ask, id_, status, run_id, aspect, preference in connection.execute(query):
            key = ComparisonKey(pair_id, condition, shown, ask)
            one = found.setdefault(key, StoredComparison(id_, status, {}, run_id))
            if aspect is not None:
                one.preferences[aspect] = preference
    return found


def load_comparisons(
    connection: Connection,
    version_ids: Collection[int],
    *,
    condition: str | None = None,
    run_id: int | None = None,
) -> list[BothOrders]:
    """Return what these versions say of every pair they were asked about, one row per aspect, in a fixed order.

    Of several asks in one order the latest usable one counts. An order that was asked without a usable verdict is
    unmeasured on every aspect that the version speaks of (``overall`` where it speaks of none).

    Args:
        connection: A transaction.
        version_ids: Judge versions.
        condition: Only ``plain`` or ``reference``; both where it is not given.
        run_id: Only what this run asked.
    """
    asked = _asked(connection, version_ids, condition, run_id)
    aspects: dict[tuple[int, str], set[str]] = {}
    said: dict[tuple[int, str, int, str], dict[str, Preference]] = {}
    for (version_id, kept, pair_id, shown), preferences in asked.items():
        said[version_id, kept, pair_id, shown] = preferences
        aspects.setdefault((version_id, kept), set()).update(preferences)
    pairs = _pairs(connection, {pair_id for _, _, pair_id, _ in said})
    rows = []
    for version_id, kept, pair_id in sorted({key[:3] for key in said}):
        ab = said.get((version_id, kept, pair_id, Shown.AB.value))
        ba = said.get((version_id, kept, pair_id, Shown.BA.value))
        query_type, gold = pairs[pair_id]
        for aspect in sorted(aspects[version_id, kept]) or (OVERALL,):
            one, other = (None if given is None else given.get(aspect) for given in (ab, ba))
            asked_both = (ab is not None, ba is not None)
            rows.append(BothOrders(version_id, kept, pair_id, query_type, aspect, one, other, *asked_both, gold))
    return rows


def _asked(
    connection: Connection, version_ids: Collection[int], condition: str | None, run_id: int | None
) -> dict[tuple[int, str, int, str], dict[str, Preference]]:
    """The preferences by (version, condition, pair, order shown); empty where no ask was usable."""
    query = (
        select(
            COMPARISON.c.judge_version_id,
            COMPARISON.c.condition,
            COMPARISON.c.pair_id,
            COMPARISON.c.shown,
            COMPARISON.c.ask,
            SCORE.c.aspect,
            SCORE.c.preference,
        )
        .join(SCORE, SCORE.c.comparison_id == COMPARISON.c.id, isouter=True)
        .where(COMPARISON.c.judge_version_id.in_(version_ids))
    )
    if condition is not None:
        query = query.where(COMPARISON.c.condition == condition)
    if run_id is not None:
        query = query.where(COMPARISON.c.run_id == run_id)
    known = {preference.value: preference for preference in Preference}  # a look-up is cheaper than a call
    asked: dict[tuple[int, str, int, str], dict[str, Preference]] = {}
    latest: dict[tuple[int, str, int, str], int] = {}
    for version_id, kept, pair_id, shown, ask, aspect, preference in connection.execute(query):
        key = (version_id, kept, pair_id, shown)
        said = asked.setdefault(key, {})
        if aspect is None or ask < latest.get(key, 0):
            continue
        if ask > latest.get(key, 0):
            said.clear()
        latest[key] = ask
        said[aspect] = known[preference]
    return asked


def _pairs(connection: Connection, ids: Collection[int]) -> dict[int, tuple[str, Preference | None]]:
    found: dict[int, tuple[str, Preference | None]] = {}
    for batch in batches(sorted(set(ids))):
        query = select(PAIR.c.id, PAIR.c.query_type, PAIR.c.gold).where(PAIR.c.id.in_(batch))
        for id_, query_type, gold in connection.execute(query):
            found[id_] = (query_type, None if gold is None else Preference(gold))
    return found


def _row(version_id: int, run_id: int | None, item: NewComparison, now: datetime) -> dict[str, Any]:
    return {
        "pair_id": item.pair_id,
        "judge_version_id": version_id,
        "condition": item.condition,
        "reference": storable_or_none(item.reference),
        "shown": item.shown.value,
        "ask": item.ask,
        "reasoning": storable_or_none(item.reasoning),
        **step_columns(item.record, run_id, now),
    }


QUESTION_START = 300


class LatestInOrder(NamedTuple):
    """The latest ask of a pair in one order, and whether any ask in it was usable."""

    ask: int
    usable: bool
    run_id: int | None


class LatestComparison(NamedTuple):
    """The latest usable comparison of one pair in one order, or the latest one if none is usable."""

    comparison_id: int
    shown: Shown
    status: Status
    preferences: dict[str, Preference]
    reasoning: str | None
    error: str | None


class PairHead(NamedTuple):
    """What a list shows of a pair: the start of its question, and who wrote its answers."""

    source: str
    external_id: str
    question: str | None
    model_a: str | None
    model_b: str | None


def versions_that_compared(connection: Connection) -> list[StoredVersion]:
    """Return the judge versions with comparisons, by their id."""
    asked = select(COMPARISON.c.judge_version_id).where(COMPARISON.c.condition == PLAIN).distinct()
    ids = set(connection.execute(asked).scalars())
    return [version for version in list_versions(connection) if version.id in ids]


def pairs_with_texts(connection: Connection, pair_ids: Collection[int]) -> tuple[int, ...]:
    """Return those of the pairs, by id, that have their question and both answers, neither forgotten nor absent."""
    a, b = RESPONSE.alias(), RESPONSE.alias()
    query = (
        select(PAIR.c.id)
        .join(a, a.c.id == PAIR.c.response_a_id)
        .join(b, b.c.id == PAIR.c.response_b_id)
        .where(PAIR.c.question.is_not(None), a.c.answer.is_not(None), b.c.answer.is_not(None))
        .order_by(PAIR.c.id)
    )
    found: list[int] = []
    for batch in batches(sorted(set(pair_ids))):
        found += connection.execute(query.where(PAIR.c.id.in_(batch))).scalars()
    return tuple(found)


def pair_heads(connection: Connection, pair_ids: Collection[int]) -> dict[int, PairHead]:
    """Return what a list shows of these pairs, by id."""
    a, b = RESPONSE.alias(), RESPONSE.alias()
    start = func.substr(PAIR.c.question, 1, QUESTION_START)
    query = (
        select(PAIR.c.id, PAIR.c.source, PAIR.c.external_id, start, a.c.generator_model, b.c.generator_model)
        .join(a, a.c.id == PAIR.c.response_a_id, isouter=True)
        .join(b, b.c.id == PAIR.c.response_b_id, isouter=True)
    )
    found: dict[int, PairHead] = {}
    for batch in batches(sorted(set(pair_ids))):
        found |= {id_: PairHead(*rest) for id_, *rest in connection.execute(query.where(PAIR.c.id.in_(batch)))}
    return found


def uncompared(connection: Connection) -> list[BothOrders]:
    """Return all pairs with both answers as rows that no judge said anything of, by id."""
    query = (
        select(PAIR.c.id, PAIR.c.query_type, PAIR.c.gold)
        .where(PAIR.c.response_a_id.is_not(None), PAIR.c.response_b_id.is_not(None))
        .order_by(PAIR.c.id)
    )
    return [
        BothOrders(
            0, PLAIN, id_, query_type, OVERALL, None, None, False, False, None if gold is None else Preference(gold)
        )
        for id_, query_type, gold in connection.execute(query)
    ]


def latest_asks(
    connection: Connection, version_id: int, pair_ids: Collection[int]
) -> dict[tuple[int, Shown], LatestInOrder]:
    """Return the latest plain ask of these pairs by pair and order shown."""
    columns = (COMPARISON.c.pair_id, COMPARISON.c.shown, COMPARISON.c.ask, COMPARISON.c.status, COMPARISON.c.run_id)
    found: dict[tuple[int, Shown], LatestInOrder] = {}
    for batch in batches(sorted(set(pair_ids))):
        query = select(*columns).where(
            COMPARISON.c.judge_version_id == version_id,
            COMPARISON.c.condition == PLAIN,
            COMPARISON.c.pair_id.in_(batch),
        )
        for pair_id, shown, ask, status, run_id in connection.execute(query.order_by(COMPARISON.c.ask)):
            key = (pair_id, Shown(shown))
            usable = status == Status.OK.value or (key in found and found[key].usable)
            found[key] = LatestInOrder(ask, usable, run_id)
    return found


def status_counts(
    connection: Connection, version_id: int, pair_ids: Collection[int] | None = None
) -> dict[Status, int]:
    """Return how the plain comparisons of a version ended, on these pairs or on all."""
    query = (
        select(COMPARISON.c.status, func.count())
        .where(COMPARISON.c.judge_version_id == version_id, COMPARISON.c.condition == PLAIN)
        .group_by(COMPARISON.c.status)
    )
    counts = dict.fromkeys(Status, 0)
    limits = [true()] if pair_ids is None else [COMPARISON.c.pair_id.in_(b) for b in batches(sorted(set(pair_ids)))]
    for limit in limits:
        for status, n in connection.execute(query.where(limit)):
            counts[Status(status)] += n
    return counts


def latest_comparisons(connection: Connection, version_id: int, pair_id: int) -> list[LatestComparison]:
    """Return what a version said of a pair without further help, one entry for each order asked, ab first."""
    query = (
        select(
            COMPARISON.c.id,
            COMPARISON.c.shown,
            COMPARISON.c.status,
            COMPARISON.c.reasoning,
            COMPARISON.c.error,
            SCORE.c.aspect,
            SCORE.c.preference,
        )
        .join(SCORE, SCORE.c.comparison_id == COMPARISON.c.id, isouter=True)
        .where(
            COMPARISON.c.judge_version_id == version_id,
            COMPARISON.c.pair_id == pair_id,
            COMPARISON.c.condition == PLAIN,
        )
        .order_by(COMPARISON.c.ask)
    )
    found: dict[Shown, LatestComparison] = {}
    for id_, order, status, reasoning, error, aspect, preference in connection.execute(query):
        shown = Shown(order)
        said = found.get(shown)
        if said is None or said.comparison_id != id_:
            if said is not None and said.status is Status.OK and status != Status.OK.value:
                continue
            said = found[shown] = LatestComparison(id_, shown, Status(status), {}, reasoning, error)
        if aspect is not None:
            said.preferences[aspect] = Preference(preference)
    return [found[shown] for shown in Shown if shown in found]

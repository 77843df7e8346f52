"""Which pairs a judge version was asked about, and how it answered, as reports and pages read it."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, func, select, true

from judgeboard.domain import Preference, Shown, Status
from judgeboard.pair_records import OVERALL
from judgeboard.store.judgments.judge_versions import StoredVersion, list_versions
from judgeboard.store.pairs.comparisons import PLAIN, BothOrders
from judgeboard.store.schema.method_tables import COMPARISON, COMPARISON_SCORE, PAIR
from judgeboard.store.schema.tables import RESPONSE
from judgeboard.store.sql.batches import batches

SCORE = COMPARISON_SCORE
QUESTION_START = 300


class LatestInOrder(NamedTuple):
    """The latest ask of a pair in one order, and whether any ask in it was usable."""

    ask: int
    usable: bool
    run_id: int | None


class SaidOfPair(NamedTuple):
    """What a version said of one pair in one order, the latest usable ask before any other."""

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


def said_of_pair(connection: Connection, version_id: int, pair_id: int) -> list[SaidOfPair]:
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
    found: dict[Shown, SaidOfPair] = {}
    for id_, order, status, reasoning, error, aspect, preference in connection.execute(query):
        shown = Shown(order)
        said = found.get(shown)
        if said is None or said.comparison_id != id_:
            if said is not None and said.status is Status.OK and status != Status.OK.value:
                continue
            said = found[shown] = SaidOfPair(id_, shown, Status(status), {}, reasoning, error)
        if aspect is not None:
            said.preferences[aspect] = Preference(preference)
    return [found[shown] for shown in Shown if shown in found]

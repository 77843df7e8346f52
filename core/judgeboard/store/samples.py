"""Samples of answers to a question, and the steps of a self-reference run."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, select

from judgeboard.domain import OVERALL, Preference, Status, StepRecord
from judgeboard.store.comparisons import REFERENCE
from judgeboard.store.judge_versions import StoredVersion, list_versions
from judgeboard.store.judgments import step_columns
from judgeboard.store.statements import batches, columns_of, insert_or_skip, rows_with
from judgeboard.store.tables import COMPARISON, COMPARISON_SCORE, PAIR, SAMPLE
from judgeboard.text import storable_or_none

_KEY = ("pair_id", "judge_version_id", "number", "ask")

FAILED = frozenset({Status.ERROR, Status.REFUSED})
"""The call gave nothing: the model may well have had an answer. An unparsable reply is a try without an answer."""


@dataclass(frozen=True, slots=True)
class NewSample:
    """One try at a question on its way into the store: ``number`` counts from 0, ``answer`` None could not be read.

    ``ask`` counts how often this try was asked for before.
    """

    pair_id: int
    number: int
    answer: str | None
    record: StepRecord
    ask: int = 0

    def __post_init__(self) -> None:
        if self.answer is not None and self.record.status is not Status.OK:
            raise ValueError(f"a sample that is {self.record.status} has no answer")


class SampleKey(NamedTuple):
    """Which try at which question a sample of one judge version is."""

    pair_id: int
    number: int


class StoredSample(NamedTuple):
    """The latest ask of a try; ``answer`` None could not be read, was never given, or was forgotten."""

    answer: str | None
    status: str
    ask: int = 0
    run_id: int | None = None


class SampledQuestion(NamedTuple):
    """The tries of a version at one question: ``answers`` and ``statuses`` by number, None where none was read.

    Of a try that was asked for several times the latest ask counts.
    """

    version_id: int
    pair_id: int
    source: str
    query_type: str
    options: tuple[str, ...] | None
    reference: str | None
    gold: Preference | None
    answers: tuple[str | None, ...]
    statuses: tuple[str, ...]


def store_samples(
    connection: Connection,
    version: StoredVersion,
    run_id: int | None,
    items: Sequence[NewSample],
    now: datetime | None = None,
) -> set[SampleKey]:
    """Store samples of one judge version; return which came in.

    One that is stored already (same question, version, number and ask) counts as done and is left as it was.
    """
    now = now or datetime.now(UTC)
    statement = insert_or_skip(connection, SAMPLE, *_KEY).returning(SAMPLE.c.pair_id, SAMPLE.c.number)
    came_in: set[SampleKey] = set()
    for some in batches(items):
        rows = [_row(version.id, run_id, item, now) for item in some]
        came_in |= {SampleKey(*key) for key in connection.execute(statement, rows)}
    return came_in


def stored_samples(connection: Connection, version_id: int, pair_ids: Collection[int]) -> dict[SampleKey, StoredSample]:
    """Return what a version tried at these questions, by key, the latest ask of each try."""
    query = select(*columns_of(SampleKey, SAMPLE), *columns_of(StoredSample, SAMPLE))
    query = query.where(SAMPLE.c.judge_version_id == version_id).order_by(SAMPLE.c.ask)
    return {
        SampleKey(pair_id, number): StoredSample(*sample)
        for pair_id, number, *sample in rows_with(connection, query, SAMPLE.c.pair_id, pair_ids)
    }


def load_samples(
    connection: Connection, version_ids: Collection[int], *, run_id: int | None = None
) -> list[SampledQuestion]:
    """Return the samples of these versions, or of one run of them, by version and question."""
    tried = select(
        SAMPLE.c.judge_version_id, SAMPLE.c.pair_id, SAMPLE.c.number, SAMPLE.c.answer, SAMPLE.c.status
    ).where(SAMPLE.c.judge_version_id.in_(version_ids))
    if run_id is not None:
        tried = tried.where(SAMPLE.c.run_id == run_id)
    tries: dict[tuple[int, int], dict[int, tuple[str | None, str]]] = {}
    for version_id, pair_id, number, answer, status in connection.execute(tried.order_by(SAMPLE.c.ask)):
        tries.setdefault((version_id, pair_id), {})[number] = (answer, status)
    pairs = _pairs(connection, {pair_id for _, pair_id in tries})
    questions = []
    for (version_id, pair_id), by_number in sorted(tries.items()):
        answers, statuses = zip(*(by_number[number] for number in sorted(by_number)), strict=True)
        questions.append(SampledQuestion(version_id, pair_id, *pairs[pair_id], answers, statuses))
    return questions


def _pairs(connection: Connection, ids: Collection[int]) -> dict[int, tuple[Any, ...]]:
    query = select(PAIR.c.id, *columns_of(SampledQuestion, PAIR))
    return {id_: tuple(columns) for id_, *columns in rows_with(connection, query, PAIR.c.id, ids)}


def _row(version_id: int, run_id: int | None, item: NewSample, now: datetime) -> dict[str, Any]:
    return {
        "pair_id": item.pair_id,
        "judge_version_id": version_id,
        "number": item.number,
        "ask": item.ask,
        "answer": storable_or_none(item.answer),
        **step_columns(item.record, run_id, now),
    }


SCORE = COMPARISON_SCORE


@dataclass(slots=True)
class ComparedPairs:
    """The comparisons of a version: how many ended how, by pair, and the references that it was shown.

    Of an order that was asked several times the latest ask counts.
    """

    statuses: dict[int, Counter[str]] = field(default_factory=dict)
    references: dict[int, set[str]] = field(default_factory=dict)


def compared_pairs(connection: Connection, version_id: int) -> ComparedPairs:
    """Return what a version's comparisons were, by pair; a reference that is not recorded is left out."""
    found = ComparedPairs()
    place = (COMPARISON.c.pair_id, COMPARISON.c.condition, COMPARISON.c.shown)
    query = select(*place, COMPARISON.c.status, COMPARISON.c.reference).where(
        COMPARISON.c.judge_version_id == version_id
    )
    latest = {
        (pair_id, condition, shown): (status, reference)
        for pair_id, condition, shown, status, reference in connection.execute(query.order_by(COMPARISON.c.ask))
    }
    for (pair_id, condition, _), (status, reference) in latest.items():
        found.statuses.setdefault(pair_id, Counter())[status] += 1
        if condition == REFERENCE and reference is not None:
            found.references.setdefault(pair_id, set()).add(reference)
    return found


class StoredTry(NamedTuple):
    """One sample as it is stored; ``answer`` None where none was read."""

    number: int
    answer: str | None
    status: str
    raw: str | None


class StoredOrder(NamedTuple):
    """What a version said of a pair in one order; ``preference`` None where that is not usable."""

    condition: str
    shown: str
    status: str
    reference: str | None
    preference: str | None
    reasoning: str | None


def tries_at(connection: Connection, version_id: int, pair_id: int) -> list[StoredTry]:
    """Return what a version sampled of a question, in its order, the latest ask of each try."""
    query = select(*columns_of(StoredTry, SAMPLE)).where(
        SAMPLE.c.judge_version_id == version_id, SAMPLE.c.pair_id == pair_id
    )
    rows = connection.execute(query.order_by(SAMPLE.c.number, SAMPLE.c.ask))
    return list({row.number: StoredTry(*row) for row in rows}.values())


def orders_of(connection: Connection, version_id: int, pair_id: int) -> list[StoredOrder]:
    """Return what a version said of a pair, overall where it speaks of several aspects, plain before reference."""
    columns = (COMPARISON.c.condition, COMPARISON.c.shown, COMPARISON.c.status, COMPARISON.c.reference)
    query = (
        select(*columns, SCORE.c.preference, COMPARISON.c.reasoning, SCORE.c.aspect)
        .join(SCORE, SCORE.c.comparison_id == COMPARISON.c.id, isouter=True)
        .where(COMPARISON.c.judge_version_id == version_id, COMPARISON.c.pair_id == pair_id)
        .order_by(COMPARISON.c.condition, COMPARISON.c.shown, COMPARISON.c.ask)
    )
    latest = {(row.condition, row.shown, row.aspect): row for row in connection.execute(query)}
    usable = {(row.condition, row.shown) for row in latest.values() if row.aspect is not None}
    rows = [row for row in latest.values() if row.aspect is not None or (row.condition, row.shown) not in usable]
    overall = [row for row in rows if row.aspect in {None, OVERALL}]
    return [StoredOrder(*row[:-1]) for row in overall or rows]


def sampling_versions(connection: Connection) -> list[StoredVersion]:
    """Return the judge versions that sampled answers to questions, the newest sample first."""
    latest = select(SAMPLE.c.judge_version_id, func.max(SAMPLE.c.id)).group_by(SAMPLE.c.judge_version_id)
    newest = {version_id: last for version_id, last in connection.execute(latest)}  # noqa: C416 - rows are no pairs to mypy
    versions = [version for version in list_versions(connection) if version.id in newest]
    return sorted(versions, key=lambda version: -newest[version.id])


def most_samples(connection: Connection, version_id: int) -> int:
    """Return how many samples of a question a version has at most."""
    highest = select(func.max(SAMPLE.c.number)).where(SAMPLE.c.judge_version_id == version_id)
    found = connection.execute(highest).scalar()
    return 0 if found is None else int(found) + 1

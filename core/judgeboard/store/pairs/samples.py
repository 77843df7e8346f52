"""Samples in the store: the tries of a model at a question, landed once, loaded by question in their order."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from judgeboard.domain import Preference, Status, StepRecord
from judgeboard.storable_text import storable_or_none
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.runs.step_rows import step_columns
from judgeboard.store.schema.method_tables import PAIR, SAMPLE
from judgeboard.store.sql.batches import batches
from judgeboard.store.sql.insertion import insert_or_skip

_KEY = ("pair_id", "judge_version_id", "number", "ask")

FAILED = frozenset({Status.ERROR, Status.REFUSED})
"""The call gave nothing: the model may well have had an answer. An unparsable reply is a try without an answer."""

_Question = tuple[str, str, tuple[str, ...] | None, str | None, Preference | None]


@dataclass(frozen=True, slots=True)
class LandedSample:
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


def land_samples(
    connection: Connection,
    version: StoredVersion,
    run_id: int | None,
    items: Sequence[LandedSample],
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
    columns = (SAMPLE.c.pair_id, SAMPLE.c.number, SAMPLE.c.answer, SAMPLE.c.status, SAMPLE.c.ask, SAMPLE.c.run_id)
    ordered, found = sorted(set(pair_ids)), {}
    for some in batches(ordered):
        query = select(*columns).where(SAMPLE.c.judge_version_id == version_id, SAMPLE.c.pair_id.in_(some))
        for pair_id, number, *said in connection.execute(query.order_by(SAMPLE.c.ask)):
            found[SampleKey(pair_id, number)] = StoredSample(*said)
    return found


def load_samples(
    connection: Connection, version_ids: Collection[int], *, run_id: int | None = None
) -> list[SampledQuestion]:
    """Return the tries of these versions at every question, by version and question.

    Args:
        connection: A transaction.
        version_ids: Judge versions: what sampled, as its judge.
        run_id: Only what this run sampled.
    """
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
    for (version_id, pair_id), some in sorted(tries.items()):
        in_order = [some[number] for number in sorted(some)]
        answers, statuses = tuple(one[0] for one in in_order), tuple(one[1] for one in in_order)
        questions.append(SampledQuestion(version_id, pair_id, *pairs[pair_id], answers, statuses))
    return questions


def _pairs(connection: Connection, ids: Collection[int]) -> dict[int, _Question]:
    ordered, found = sorted(ids), {}
    columns = (PAIR.c.id, PAIR.c.source, PAIR.c.query_type, PAIR.c.options, PAIR.c.reference, PAIR.c.gold)
    for some in batches(ordered):
        query = select(*columns).where(PAIR.c.id.in_(some))
        for id_, source, query_type, options, reference, gold in connection.execute(query):
            found[id_] = (
                source,
                query_type,
                None if options is None else tuple(options),
                reference,
                None if gold is None else Preference(gold),
            )
    return found


def _row(version_id: int, run_id: int | None, item: LandedSample, now: datetime) -> dict[str, Any]:
    return {
        "pair_id": item.pair_id,
        "judge_version_id": version_id,
        "number": item.number,
        "ask": item.ask,
        "answer": storable_or_none(item.answer),
        **step_columns(item.record, run_id, now),
    }

"""The answers that judges sampled for questions, one row per sample and ask."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from judgeboard.domain import Preference, Status, StepRecord
from judgeboard.methods.self_reference.tables import SAMPLE, Sample
from judgeboard.store.clock import utc_now
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.judgments import step_values
from judgeboard.store.statements import (
    batches,
    columns_of,
    insert_or_skip,
    record_of,
    rows_of,
    rows_with,
)
from judgeboard.store.tables import PAIR, StoredVersion
from judgeboard.text import storable_or_none

FAILED = frozenset({Status.ERROR, Status.REFUSED})
"""Statuses without a reply: the model may still answer. An unparsable reply counts as a sample without an answer."""


@dataclass(frozen=True, slots=True)
class NewSample:
    """A sample to store; ``number`` counts from 0, ``answer`` is None if unreadable, ``ask`` counts earlier asks.

    ``correct`` is whether the answer is right, None if a file does not say.
    """

    pair_id: int
    number: int
    answer: str | None
    record: StepRecord
    ask: int = 0
    correct: bool | None = None


class SampleKey(NamedTuple):
    """The unique key of a sample within one judge version: the question and the number of the sample."""

    pair_id: int
    number: int


class StoredSample(NamedTuple):
    """The latest ask of a sample; ``answer`` is None if unreadable, missing, or forgotten."""

    answer: str | None
    status: str
    ask: int = 0
    run_id: int | None = None
    correct: bool | None = None


class SampledQuestion(NamedTuple):
    """A version's samples for one question: the latest ask of each, by number; an unreadable answer is None.

    ``correct`` is whether each answer is right, None if a file does not say.
    """

    pair_id: int
    source: str
    query_type: str
    options: tuple[str, ...] | None
    reference: str | None
    gold: Preference | None
    answers: tuple[str | None, ...]
    statuses: tuple[str, ...]
    correct: tuple[bool | None, ...]


def store_samples(
    connection: Connection,
    version: StoredVersion,
    run_id: int | None,
    items: Sequence[NewSample],
    now: datetime | None = None,
) -> None:
    """Store samples of one judge version. Samples that are already stored do not change."""
    now = now or utc_now()
    statement = insert_or_skip(connection, SAMPLE, "pair_id", "judge_version_id", "number", "ask")
    for batch in batches(items):
        rows = [
            {
                "pair_id": item.pair_id,
                "judge_version_id": version.id,
                "number": item.number,
                "ask": item.ask,
                "answer": storable_or_none(item.answer),
                "correct": item.correct,
                **step_values(item.record, run_id, now),
            }
            for item in batch
        ]
        connection.execute(statement, rows)


def stored_samples(
    connection: Connection, version_id: int, pair_ids: Collection[int] | None = None
) -> dict[SampleKey, StoredSample]:
    """Return the latest ask of each sample of a version for the questions ``pair_ids`` (default: all), by key."""
    query = select(*columns_of(SampleKey, SAMPLE), *columns_of(StoredSample, SAMPLE))
    query = query.where(SAMPLE.c.judge_version_id == version_id).order_by(SAMPLE.c.ask)
    return {
        SampleKey(pair_id, number): StoredSample(*sample)
        for pair_id, number, *sample in rows_with(connection, query, SAMPLE.c.pair_id, pair_ids)
    }


def load_samples(connection: Connection, version_id: int) -> list[SampledQuestion]:
    """Return the samples of a version, by question."""
    samples: dict[int, list[StoredSample]] = {}
    for (pair_id, _), sample in sorted(stored_samples(connection, version_id).items()):
        samples.setdefault(pair_id, []).append(sample)
    query = select(PAIR.c.id.label("pair_id"), *columns_of(SampledQuestion, PAIR)).order_by(
        PAIR.c.id
    )
    return [
        record_of(
            SampledQuestion,
            row,
            answers=tuple(sample.answer for sample in samples[row.pair_id]),
            statuses=tuple(sample.status for sample in samples[row.pair_id]),
            correct=tuple(sample.correct for sample in samples[row.pair_id]),
        )
        for row in rows_with(connection, query, PAIR.c.id, samples)
    ]


def tries_at(connection: Connection, version_id: int, pair_id: int) -> list[Sample]:
    """Return the latest ask of each sample of a version for a question, in order."""
    query = select(Sample).where(
        SAMPLE.c.judge_version_id == version_id, SAMPLE.c.pair_id == pair_id
    )
    samples = rows_of(connection, query.order_by(SAMPLE.c.number, SAMPLE.c.ask))
    return list({sample.number: sample for sample in samples}.values())


def sampling_versions(connection: Connection) -> list[StoredVersion]:
    """Return the judge versions that sampled answers to questions, the newest sample first."""
    latest = select(SAMPLE.c.judge_version_id, func.max(SAMPLE.c.id)).group_by(
        SAMPLE.c.judge_version_id
    )
    newest = dict(connection.execute(latest).all())
    versions = [version for version in list_versions(connection) if version.id in newest]
    return sorted(versions, key=lambda version: -newest[version.id])


def most_samples(connection: Connection, version_id: int) -> int:
    """Return the maximum number of samples of a version for one question."""
    samples = select(func.coalesce(func.max(SAMPLE.c.number) + 1, 0)).where(
        SAMPLE.c.judge_version_id == version_id
    )
    return int(connection.execute(samples).scalar_one())

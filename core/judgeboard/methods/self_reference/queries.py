"""The answers that judges sampled for questions, one row per sample and ask, and their exported table."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, func, select

from judgeboard.domain import Preference, Status, StepRecord
from judgeboard.formats.files import Column, ColumnType
from judgeboard.methods.self_reference.tables import SAMPLE, Sample
from judgeboard.store.clock import utc_now
from judgeboard.store.export import PAIR_COLUMNS, ROW_KEY, ExportTable, pair_items, read_chunks
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.judgments import step_values
from judgeboard.store.statements import (
    batches,
    columns_of,
    insert_or_skip,
    number_of,
    record_of,
    rows_of,
    rows_with,
)
from judgeboard.store.tables import PAIR, VERSION, StoredVersion
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


class StoredSample(NamedTuple):
    """The latest ask of a sample; ``answer`` is None if unreadable, missing, or forgotten.

    ``correct`` is whether the answer is right, None if a file does not say.
    """

    answer: str | None
    status: str
    ask: int = 0
    run_id: int | None = None
    correct: bool | None = None


class SampledQuestion(NamedTuple):
    """A version's samples for one question: the latest ask of each, by number."""

    pair_id: int
    source: str
    query_type: str
    options: tuple[str, ...] | None
    reference: str | None
    gold: Preference | None
    samples: tuple[StoredSample, ...]


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
) -> dict[int, dict[int, StoredSample]]:
    """Return the latest ask of each sample of a version, by question (default: all) and number of the sample."""
    query = select(SAMPLE.c.pair_id, SAMPLE.c.number, *columns_of(StoredSample, SAMPLE))
    query = query.where(SAMPLE.c.judge_version_id == version_id).order_by(SAMPLE.c.ask)
    samples: dict[int, dict[int, StoredSample]] = {}
    for pair_id, number, *sample in rows_with(connection, query, SAMPLE.c.pair_id, pair_ids):
        samples.setdefault(pair_id, {})[number] = StoredSample(*sample)
    return samples


def load_samples(connection: Connection, version_id: int) -> list[SampledQuestion]:
    """Return the samples of a version, by question."""
    samples = stored_samples(connection, version_id)
    query = select(PAIR.c.id.label("pair_id"), *columns_of(SampledQuestion, PAIR)).order_by(
        PAIR.c.id
    )
    return [
        record_of(
            SampledQuestion,
            row,
            samples=tuple(sample for _, sample in sorted(samples[row.pair_id].items())),
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
    samples = select(func.max(SAMPLE.c.number) + 1).where(SAMPLE.c.judge_version_id == version_id)
    return number_of(connection, samples)


_SAMPLE_COLUMNS = (
    *PAIR_COLUMNS,
    Column("judge"),
    Column("judge_version"),
    *(
        Column(name, ColumnType.JSON)
        for name in ("samples", "correct", "statuses", "models", "raw")
    ),
)


def _samples(connection: Connection, *where: ColumnElement[bool]) -> Iterator[dict[str, Any]]:
    # The position of a sample is the number, so samples after a missing one (in an unfinished run)
    # are left out.
    versions = select(VERSION.c.id, VERSION.c.name, VERSION.c.fingerprint).order_by(VERSION.c.id)
    for version_id, name, fingerprint in connection.execute(versions).all():
        of_version = SAMPLE.c.judge_version_id == version_id
        question_ids = select(PAIR.c.id.label(ROW_KEY)).where(
            PAIR.c.id.in_(select(SAMPLE.c.pair_id).where(of_version))
        )
        for chunk in read_chunks(connection, question_ids.where(*where)):
            ids = [row[ROW_KEY] for row in chunk]
            samples: dict[int, list[Row[Any]]] = {}
            query = select(SAMPLE).where(of_version, SAMPLE.c.pair_id.in_(ids))
            for sample in connection.execute(
                query.order_by(SAMPLE.c.pair_id, SAMPLE.c.number, SAMPLE.c.ask)
            ):
                of_pair = samples.setdefault(sample.pair_id, [])
                if sample.number == len(of_pair):
                    of_pair.append(sample)
                elif sample.number == len(of_pair) - 1:  # sampled again: the latest ask counts
                    of_pair[-1] = sample
            for pair_id, item in pair_items(connection, ids).items():
                if of_pair := samples[pair_id]:
                    models = [sample.model_reported for sample in of_pair]
                    raw = [sample.raw for sample in of_pair]
                    correct = [sample.correct for sample in of_pair]
                    yield {
                        **item,
                        "judge": name,
                        "judge_version": fingerprint,
                        "samples": [sample.answer for sample in of_pair],
                        "correct": correct if set(correct) != {None} else None,
                        "statuses": [sample.status for sample in of_pair],
                        "models": models if any(models) else None,
                        "raw": raw if any(raw) else None,
                    }


SAMPLES = ExportTable(_SAMPLE_COLUMNS, _samples, pair=PAIR.c.id)

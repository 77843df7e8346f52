"""What a judge version sampled and compared, with the answers that it was shown as correct."""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from judgeboard.pair_records import OVERALL
from judgeboard.store.judgments.judge_versions import StoredVersion, list_versions
from judgeboard.store.pairs.comparisons import REFERENCE
from judgeboard.store.schema.method_tables import COMPARISON, COMPARISON_SCORE, SAMPLE

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
    columns = (SAMPLE.c.number, SAMPLE.c.answer, SAMPLE.c.status, SAMPLE.c.raw)
    query = select(*columns).where(SAMPLE.c.judge_version_id == version_id, SAMPLE.c.pair_id == pair_id)
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

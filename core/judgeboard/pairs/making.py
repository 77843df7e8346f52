"""Where pairs come from: the logged answers of two sources, or a file."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from judgeboard.errors import BadInput, NotFound
from judgeboard.imports.importing import import_file
from judgeboard.imports.pairs import ImportedPair
from judgeboard.imports.reading import read_records
from judgeboard.pair_records import Pair
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.pairs.pairs import land_pairs, pairs_named
from judgeboard.store.responses.log_answers import LogAnswer, log_answers
from judgeboard.store.sql.batches import batches


@dataclass(frozen=True, slots=True)
class PairSet:
    """Stored pairs that belong together, by id; ``left_out`` counts what could not become one of them.

    ``words`` say what the set is.
    """

    words: str
    pair_ids: tuple[int, ...]
    new: int = 0
    left_out: int = 0


def pairs_between(store: Store, a: str, b: str, *, actor: str = "library") -> PairSet:
    """Store the pairs that the logged answers of two sources make now, and return them, whether new or stored before.

    Answers to the same query belong together, and where both have passages, only to the same passages. An answer
    enters one pair: where a query was answered several times, the first with the first. The pairs name the logged
    answers themselves, which are not copied. What finds no partner is left out and counted.

    Raises:
        BadInput: It is one source twice.
        NotFound: A source has no answers.
    """
    if a == b:
        raise BadInput("--a and --b must name two sources: answers of one are not held against themselves")
    with store.writing() as connection:
        sides = [log_answers(connection, source) for source in (a, b)]
        for source, answers in zip((a, b), sides, strict=True):
            if not answers:
                raise NotFound(f"no answers of a source {source!r}: import them with --source {source}")
        partners = _partners(*sides)
        made = [_pair(a, b, one, other) for one, other in partners]
        landed = land_pairs(connection, made)
        if landed.new:
            record_event(connection, "make_pairs", actor, details={"new": len(landed.new)})
    if landed.conflicts:
        raise BadInput(f"a pair of {a} and {b} cannot be stored: {landed.conflicts[0].reason}")
    ids = tuple(sorted(id_ for id_ in landed.ids if id_ is not None))
    left_out = sum(map(len, sides)) - 2 * len(partners)
    return PairSet(f"{a} against {b}", ids, len(landed.new), left_out)


def pairs_in_file(store: Store, file: Path, *, source: str | None = None, actor: str = "library") -> PairSet:
    """Import a file of pairs and return the pairs that it holds, also those that were stored before.

    Raises:
        BadInput: The file cannot be read, or holds no usable pair.
    """
    summary = import_file(store, file, kind="pairs", source=source, actor=actor)
    named: dict[tuple[str, str], None] = {}
    with read_records(file, kind="pairs", source=source) as reading:
        for record in reading:
            if isinstance(record, ImportedPair):
                named[record.pair.source, record.pair.external_id] = None
    keys = list(named)
    ids: list[int] = []
    with store.reading() as connection:
        for some in batches(keys):
            batch = set(some)
            found = pairs_named(connection, {external_id for _, external_id in batch})
            ids += [each.id for name, pairs in found.items() for each in pairs if (each.source, name) in batch]
    if not ids:
        raise BadInput(f"{file} holds no usable pair: {summary.rejected:,} of {summary.rows:,} rows were rejected")
    return PairSet(str(file), tuple(sorted(ids)), summary.new, summary.rejected)


def _partners(of_a: list[LogAnswer], of_b: list[LogAnswer]) -> list[tuple[LogAnswer, LogAnswer]]:
    waiting: dict[str, list[LogAnswer]] = defaultdict(list)
    for each in of_b:
        waiting[each.query].append(each)
    partners: list[tuple[LogAnswer, LogAnswer]] = []
    unmatched: list[LogAnswer] = []
    # Equal passages first, so that an answer without any takes no partner away from one that has them.
    for each in of_a:
        same = next((other for other in waiting[each.query] if other.evidence_group == each.evidence_group), None)
        if same is None:
            unmatched.append(each)
        else:
            waiting[each.query].remove(same)
            partners.append((each, same))
    for each in unmatched:
        other = next((one for one in waiting[each.query] if not (one.has_passages and each.has_passages)), None)
        if other is not None:
            waiting[each.query].remove(other)
            partners.append((each, other))
    return partners


def _pair(a: str, b: str, one: LogAnswer, other: LogAnswer) -> Pair:
    return Pair(
        source=f"{a} / {b}",
        external_id=f"{one.external_id} / {other.external_id}",
        question=one.query,
        query_type=one.query_type,
        reference=one.reference if one.reference is not None else other.reference,
        sides=(one.id, other.id),
    )

"""The one way into the store for pairs: once by (source, external id), their answers as responses beside them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from judgeboard.content_hash import PairHash, pair_hash
from judgeboard.errors import BadInput
from judgeboard.pair_records import Pair
from judgeboard.storable_text import unstorable
from judgeboard.store.pairs.pair_items import NamedPair, PairItem, load_pairs, pair_ids, pairs_named
from judgeboard.store.pairs.pair_sides import land_sides, origins_of, unlogged_names
from judgeboard.store.schema.method_tables import PAIR
from judgeboard.store.sql.batches import batches
from judgeboard.store.sql.insertion import insert_or_skip

__all__ = [
    "LandedPairs",
    "NamedPair",
    "PairConflict",
    "PairItem",
    "land_pairs",
    "load_pairs",
    "pair_ids",
    "pairs_named",
]


Key = tuple[str, str]

_BY_KEY = select(PAIR.c.source, PAIR.c.external_id, PAIR.c.id, PAIR.c.content_hash, PAIR.c.gold).where(
    PAIR.c.source.in_(bindparam("sources", expanding=True)),
    PAIR.c.external_id.in_(bindparam("external_ids", expanding=True)),
)


@dataclass(frozen=True, slots=True)
class PairConflict:
    """A pair whose id is stored with other content; ``index`` is its place among those that were handed over."""

    index: int
    field: str
    reason: str


@dataclass(slots=True)
class LandedPairs:
    """What became of pairs: ``ids`` in their order (None for a conflict), and which of these are ``new``."""

    ids: list[int | None] = field(default_factory=list)
    new: list[int] = field(default_factory=list)
    unchanged: int = 0
    conflicts: list[PairConflict] = field(default_factory=list)


class _Known(NamedTuple):
    id: int
    hash: PairHash
    gold: str | None


def land_pairs(
    connection: Connection, pairs: Sequence[Pair], batch_id: int | None = None, now: datetime | None = None
) -> LandedPairs:
    """Store pairs that are new by (source, external id).

    A known pair with equal texts is unchanged, also one that comes without answers (a question that was sampled)
    beside the stored one that has them; with other texts, or with another gold, it is a conflict and left as it was.
    The answers become responses of kind ``pair_side``, unless ``sides`` names stored ones. Nothing is read or written
    row by row.

    Raises:
        BadInput: A text holds NUL or a lone surrogate, which not both engines can hold.
    """
    now = now or datetime.now(UTC)
    landed = LandedPairs()
    for some in batches(pairs):
        _land_batch(connection, some, batch_id, now, landed)
    return landed


def _land_batch(
    connection: Connection, pairs: Sequence[Pair], batch_id: int | None, now: datetime, landed: LandedPairs
) -> None:
    start = len(landed.ids)
    for pair in pairs:
        _check_storable(pair)
    hashes = [pair_hash(pair) for pair in pairs]
    first: dict[Key, int] = {}
    for index, pair in enumerate(pairs):
        first.setdefault(_key(pair), index)
    known = _find(connection, first)
    new = {key: index for key, index in first.items() if key not in known}
    refused = _insert(connection, pairs, hashes, new, batch_id, now)
    inserted = {key for key in new if key not in refused}
    known |= _find(connection, new)
    came_in: set[Key] = set()
    for index, pair in enumerate(pairs):
        key = _key(pair)
        stored = known.get(key)
        clash = ("id", refused[key]) if stored is None else _clash(pair, hashes[index], stored)
        if clash is not None or stored is None:
            landed.ids.append(None)
            landed.conflicts.append(PairConflict(start + index, *(clash or ("id", "not stored"))))
            continue
        landed.ids.append(stored.id)
        if key in inserted and key not in came_in:
            came_in.add(key)
            landed.new.append(stored.id)
        else:
            landed.unchanged += 1


def _insert(
    connection: Connection,
    pairs: Sequence[Pair],
    hashes: Sequence[PairHash],
    new: dict[Key, int],
    batch_id: int | None,
    now: datetime,
) -> dict[Key, str]:
    """Insert the new pairs; return why some of them could not come in."""
    if not new:
        return {}
    origins = origins_of(connection, [pairs[index] for index in new.values()])
    sides = land_sides(connection, [pairs[index] for index in new.values()], origins, batch_id, now)
    refused: dict[Key, str] = {}
    rows = []
    for (key, index), found in zip(new.items(), sides, strict=True):
        if isinstance(found, str):
            refused[key] = found
            continue
        pair = pairs[index]
        rows.append(
            {
                "source": pair.source,
                "external_id": pair.external_id,
                "query_type": pair.query_type,
                "question": pair.question,
                "options": None if pair.options is None else list(pair.options),
                "reference": pair.reference,
                "response_a_id": found[0],
                "response_b_id": found[1],
                "gold": None if pair.gold is None else pair.gold.value,
                "extra": pair.metadata | unlogged_names(pair, origins),
                "content_hash": hashes[index].stored,
                "import_batch_id": batch_id,
                "imported_at": now,
            }
        )
    if rows:
        connection.execute(insert_or_skip(connection, PAIR, "source", "external_id"), rows)
    return refused


def _find(connection: Connection, keys: Collection[Key]) -> dict[Key, _Known]:
    parts = {"sources": list({source for source, _ in keys}), "external_ids": list({each for _, each in keys})}
    wanted = set(keys)
    return {
        (source, external_id): _Known(id_, PairHash.read(stored), gold)
        for source, external_id, id_, stored, gold in connection.execute(_BY_KEY, parts)
        if (source, external_id) in wanted
    }


def _clash(pair: Pair, given: PairHash, stored: _Known) -> tuple[str, str] | None:
    """Say in which field a pair differs from the stored one of its id, and how."""
    if given.question != stored.hash.question:
        return "question", f"{pair.external_id!r} is stored with another question, options or reference"
    if given.answers is not None and given.answers != stored.hash.answers:
        how = "without answers" if stored.hash.answers is None else "with other answers"
        return "answer_a", f"{pair.external_id!r} is stored {how}"
    if pair.gold is not None and pair.gold != stored.gold:
        how = "without a gold" if stored.gold is None else f"with the gold {stored.gold!r}"
        return "gold", f"{pair.external_id!r} is stored {how}"
    return None


def _key(pair: Pair) -> Key:
    return pair.source, pair.external_id


def _check_storable(pair: Pair) -> None:
    texts = [(name, getattr(pair, name)) for name in ("source", "external_id", "query_type", "question", "reference")]
    texts += [(name, getattr(pair, name)) for name in ("answer_a", "answer_b", "model_a", "model_b")]
    texts += [("options", option) for option in pair.options or ()]
    for name, text in texts:
        if text is not None and (found := unstorable(text)):
            raise BadInput(f"{name} of pair {pair.external_id!r} holds {found}")

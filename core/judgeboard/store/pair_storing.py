"""Pairs stored with the answers that stand on their sides."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from judgeboard.domain import Pair, Response, ResponseKind
from judgeboard.errors import BadInput
from judgeboard.store.method_tables import PAIR
from judgeboard.store.responses import PairHash, find_responses, pair_hash
from judgeboard.store.statements import batches, insert_or_skip
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import RESPONSE
from judgeboard.text import unstorable

UNLOGGED = {"a": "response_a", "b": "response_b"}
"""Under what a pair keeps the outside id of an answer that no log holds, by side."""

Sides = tuple[int | None, int | None]


def side_id(external_id: str, side: str) -> str:
    """Return the outside id of a pair's answer ``a`` or ``b``."""
    return f"pair:{external_id}:{side}"


class Origin(NamedTuple):
    """A stored response that a pair's answer may have been taken from."""

    id: int
    source: str
    answer: str | None


Origins = Mapping[str, list[Origin]]


def unlogged_names(pair: Pair, origins: Origins) -> dict[str, str]:
    """Return, by column, the outside ids that a pair gives answers which no log holds; verdicts may name them."""
    names = {UNLOGGED["a"]: pair.response_a, UNLOGGED["b"]: pair.response_b}
    return {column: name for column, name in names.items() if name is not None and name not in origins}


def sides_named(connection: Connection, names: Collection[str]) -> dict[str, list[tuple[int, str]]]:
    """Return, for each outside id of an answer that only pairs hold, its (response id, source) in every pair."""
    found: dict[str, list[tuple[int, str]]] = {}
    for some in batches(sorted(set(names))):
        for side, response in (("a", PAIR.c.response_a_id), ("b", PAIR.c.response_b_id)):
            name = PAIR.c.extra[UNLOGGED[side]].as_string()
            query = select(name, response, PAIR.c.source).where(name.in_(some), response.is_not(None))
            for outside, id_, source in connection.execute(query.order_by(PAIR.c.id)):
                found.setdefault(outside, []).append((id_, source))
    return found


def store_sides(
    connection: Connection, pairs: Sequence[Pair], origins: Origins, batch_id: int | None, now: datetime
) -> list[Sides | str]:
    """Store the answers of these pairs, each under an id of its own; return the two ids of each, or why there are none.

    A side is derived from the logged response that the pair names for it (``origins_of``), where that has the same
    answer.
    """
    responses: list[Response] = []
    for pair in pairs:
        if pair.sides is None and pair.answer_a is not None and pair.answer_b is not None:
            responses.append(_side(pair, "a", pair.answer_a, pair.model_a, origins.get(pair.response_a or "")))
            responses.append(_side(pair, "b", pair.answer_b, pair.model_b, origins.get(pair.response_b or "")))
    result = store_responses(connection, responses, batch_id, now)
    clashes = {(clash.source, clash.external_id) for clash in result.conflicts}
    stored: dict[tuple[str, str], int] = {}
    for some in batches(responses):
        keys = [(each.source, each.external_id) for each in some]
        stored |= {key: known.id for key, known in find_responses(connection, keys).items()}
    return [_of(pair, stored, clashes) for pair in pairs]


def _of(pair: Pair, stored: dict[tuple[str, str], int], clashes: set[tuple[str, str]]) -> Sides | str:
    if pair.sides is not None:
        return pair.sides
    if pair.answer_a is None:
        return None, None
    a, b = ((pair.source, side_id(pair.external_id, side)) for side in "ab")
    for key in (a, b):
        if key in clashes:
            return f"the response {key[1]!r} is stored with other content"
    return stored[a], stored[b]


def _side(pair: Pair, side: str, answer: str, model: str | None, origins: list[Origin] | None) -> Response:
    same = [origin for origin in origins or () if origin.answer == answer]
    same.sort(key=lambda origin: (origin.source != pair.source, origin.id))  # the pair's own log first
    return Response(
        source=pair.source,
        external_id=side_id(pair.external_id, side),
        query=pair.question,
        answer=answer,
        query_type=pair.query_type,
        generator_model=model,
        reference=pair.reference,
        kind=ResponseKind.PAIR_SIDE,
        derived_from=same[0].id if same else None,
    )


def origins_of(connection: Connection, pairs: Sequence[Pair]) -> Origins:
    """Return the stored responses that pairs name their answers by, by outside id."""
    named = sorted({name for pair in pairs for name in (pair.response_a, pair.response_b) if name is not None})
    found: dict[str, list[Origin]] = {}
    columns = (RESPONSE.c.external_id, RESPONSE.c.id, RESPONSE.c.source, RESPONSE.c.answer)
    for some in batches(named):
        query = select(*columns).where(RESPONSE.c.external_id.in_(some))
        for external_id, *origin in connection.execute(query):
            found.setdefault(external_id, []).append(Origin(*origin))
    return found


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
class StoredPairs:
    """What became of pairs: ``ids`` in their order (None for a conflict), and which of these are ``new``."""

    ids: list[int | None] = field(default_factory=list)
    new: list[int] = field(default_factory=list)
    unchanged: int = 0
    conflicts: list[PairConflict] = field(default_factory=list)


class _Known(NamedTuple):
    id: int
    hash: PairHash
    gold: str | None


def store_pairs(
    connection: Connection, pairs: Sequence[Pair], batch_id: int | None = None, now: datetime | None = None
) -> StoredPairs:
    """Store pairs that are new by (source, external id).

    A known pair with equal texts is unchanged, also one that comes without answers (a question that was sampled)
    beside the stored one that has them; with other texts, or with another gold, it is a conflict and left as it was.
    The answers become responses of kind ``pair_side``, unless ``sides`` names stored ones. Nothing is read or written
    row by row.

    Raises:
        BadInput: A text holds NUL or a lone surrogate, which not both engines can hold.
    """
    now = now or datetime.now(UTC)
    result = StoredPairs()
    for some in batches(pairs):
        _store_batch(connection, some, batch_id, now, result)
    return result


def _store_batch(
    connection: Connection, pairs: Sequence[Pair], batch_id: int | None, now: datetime, result: StoredPairs
) -> None:
    start = len(result.ids)
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
            result.ids.append(None)
            result.conflicts.append(PairConflict(start + index, *(clash or ("id", "not stored"))))
            continue
        result.ids.append(stored.id)
        if key in inserted and key not in came_in:
            came_in.add(key)
            result.new.append(stored.id)
        else:
            result.unchanged += 1


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
    sides = store_sides(connection, [pairs[index] for index in new.values()], origins, batch_id, now)
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
            raise BadInput(f"{name} of pair {pair.external_id!r} contains {found}")

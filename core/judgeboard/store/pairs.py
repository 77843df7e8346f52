"""Pairs: stored and read with both answers, found by external id; and two sources' answers to the same questions."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, select

from judgeboard.domain import Pair, PairItem, Preference, Response, ResponseKind
from judgeboard.llm.chat import earlier_turns
from judgeboard.store.clock import utc_now
from judgeboard.store.filter_conditions import pair_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.responses import Named, check_storable, key_of, named, pair_hash
from judgeboard.store.sql_compiler import with_hidden_rows
from judgeboard.store.statements import (
    batches,
    columns_of,
    grouped,
    insert_or_skip,
    last_ids,
    record_of,
    rows_by_key,
    rows_with,
)
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import COMPARISON, EVENT, PAIR, RESPONSE, REVIEW, STEP_TABLES

_A, _B = RESPONSE.alias(), RESPONSE.alias()
_PAIRS = (
    select(
        PAIR,
        _A.c.answer.label("answer_a"),
        _B.c.answer.label("answer_b"),
        _A.c.generator_model.label("model_a"),
        _B.c.generator_model.label("model_b"),
        _A.c.passages.label("passages_a"),
        _B.c.passages.label("passages_b"),
        _A.c.messages.label("messages_a"),
        _B.c.messages.label("messages_b"),
    )
    .join(_A, _A.c.id == PAIR.c.response_a_id, isouter=True)
    .join(_B, _B.c.id == PAIR.c.response_b_id, isouter=True)
    .order_by(PAIR.c.id)
)


def load_pairs(
    connection: Connection, ids: Collection[int], *, hidden_too: bool = False
) -> list[PairItem]:
    """Return these pairs by id; ``hidden_too`` includes pairs that the reader must review blind."""
    rows = rows_with(connection, with_hidden_rows(_PAIRS) if hidden_too else _PAIRS, PAIR.c.id, ids)
    items = []
    for row in rows:
        passages = row.passages_a if row.passages_a == row.passages_b else None
        turns, other_turns = map(earlier_turns, (row.messages_a, row.messages_b))
        items.append(
            record_of(PairItem, row, passages=passages, turns=turns if turns == other_turns else ())
        )
    return items


def matching_pairs(connection: Connection, where: RowFilter) -> frozenset[int] | None:
    """Return the ids of the pairs that match; None if the filter is empty."""
    if where == RowFilter():
        return None
    return frozenset(connection.scalars(select(PAIR.c.id).where(*pair_conditions(where))))


def ids_of_pairs(
    connection: Connection, keys: Collection[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    """Return the ids of the pairs with these keys that are stored, by (source, external id)."""
    return {key: pair.id for key, pair in _find(connection, keys).items()}


def pairs_named(connection: Connection, external_ids: Collection[str]) -> dict[str, list[Named]]:
    """Return, by external id, the pairs with these external ids in any source, the oldest first."""
    return named(connection, PAIR, external_ids)


def last_rows(connection: Connection) -> tuple[Hashable, ...]:
    """Return the highest id of each table that figures of pairs read; equal ids mean equal contents."""
    steps = (table for table in STEP_TABLES if "pair_id" in table.c and table is not COMPARISON)
    return last_ids(connection, PAIR, COMPARISON, REVIEW, *steps, EVENT)


UNLOGGED = {"a": "response_a", "b": "response_b"}
"""The field, by side, where a pair stores the external id of an answer outside all logs; verdicts may use this id."""

Sides = tuple[int | None, int | None]


def side_id(external_id: str, side: str) -> str:
    """Return the external id of a pair's answer ``a`` or ``b``."""
    return f"pair:{external_id}:{side}"


class OriginalAnswer(NamedTuple):
    """A stored response from which an answer of a pair or a control answer may be made."""

    id: int
    source: str
    answer: str | None


Origins = Mapping[str, list[OriginalAnswer]]


def sides_named(connection: Connection, names: Collection[str]) -> dict[str, list[Named]]:
    """Return the answers outside all logs, by the external id in the pair."""
    sides: dict[str, list[Named]] = {}
    for side, response in (("a", PAIR.c.response_a_id), ("b", PAIR.c.response_b_id)):
        name = PAIR.c.extra[UNLOGGED[side]].as_string()
        query = (
            select(name, response, PAIR.c.source).where(response.is_not(None)).order_by(PAIR.c.id)
        )
        for external_id, *row in rows_with(connection, query, name, names):
            sides.setdefault(external_id, []).append(Named(*row))
    return sides


def store_sides(
    connection: Connection,
    pairs: Sequence[Pair],
    origins: Origins,
    batch_id: int | None,
    now: datetime,
) -> list[Sides | str]:
    """Store the answers of these pairs; return, per pair, the ids of the two answers, or the reason why there are none.

    A side is stored as derived from the response that the pair names (``origins_of``) if both have
    the same answer.
    """
    responses: list[Response] = []
    for pair in pairs:
        if pair.sides is None and pair.answer_a is not None and pair.answer_b is not None:
            responses += (
                _side(pair, "a", pair.answer_a, pair.model_a, origins.get(pair.response_a or "")),
                _side(pair, "b", pair.answer_b, pair.model_b, origins.get(pair.response_b or "")),
            )
    result = store_responses(connection, responses, batch_id, now)
    clashes = {key_of(responses[index]) for index in result.differing}
    ids_by_key = dict(zip(map(key_of, responses), result.ids, strict=True))
    return [_of(pair, ids_by_key, clashes) for pair in pairs]


def _of(
    pair: Pair, ids_by_key: dict[tuple[str, str], int], clashes: set[tuple[str, str]]
) -> Sides | str:
    if pair.sides is not None:
        return pair.sides
    if pair.answer_a is None:
        return None, None
    a, b = ((pair.source, side_id(pair.external_id, side)) for side in "ab")
    for key in (a, b):
        if key in clashes:
            return "one of its answers is stored with other content"
    return ids_by_key[a], ids_by_key[b]


def _side(
    pair: Pair, side: str, answer: str, model: str | None, origins: list[OriginalAnswer] | None
) -> Response:
    same_answers = [origin for origin in origins or () if origin.answer == answer]
    same_answers.sort(
        key=lambda origin: (origin.source != pair.source, origin.id)
    )  # the pair's own log first
    return Response(
        source=pair.source,
        external_id=side_id(pair.external_id, side),
        query=pair.question,
        answer=answer,
        query_type=pair.query_type,
        generator_model=model,
        reference=pair.reference,
        kind=ResponseKind.PAIR_SIDE,
        derived_from=same_answers[0].id if same_answers else None,
    )


def origins_of(connection: Connection, pairs: Sequence[Pair]) -> Origins:
    """Return the stored responses to which the answers of pairs refer, by external id."""
    names = {
        name for pair in pairs for name in (pair.response_a, pair.response_b) if name is not None
    }
    query = select(RESPONSE.c.external_id, *columns_of(OriginalAnswer, RESPONSE))
    rows = rows_with(connection, query, RESPONSE.c.external_id, names)
    return grouped((external_id, OriginalAnswer(*origin)) for external_id, *origin in rows)


@dataclass(frozen=True, slots=True)
class DifferingPair:
    """A pair whose id is stored with other content; ``index`` is the index of the pair in the argument."""

    index: int
    field: str
    reason: str


@dataclass(slots=True)
class StoredPairs:
    """The result of storing pairs: the ``ids`` in order (None if not stored), and the ``new`` ids."""

    ids: list[int | None] = field(default_factory=list)
    new: list[int] = field(default_factory=list)
    unchanged: int = 0
    conflicts: list[DifferingPair] = field(default_factory=list)


class _Known(NamedTuple):
    id: int
    content_hash: str
    gold: Preference | None


def store_pairs(
    connection: Connection,
    pairs: Sequence[Pair],
    batch_id: int | None = None,
    now: datetime | None = None,
) -> StoredPairs:
    """Store pairs that are new by (source, external id).

    A known pair with equal texts is unchanged, even if only the stored pair has answers (a sampled
    question). A known pair with other texts or another gold label is not stored. Answers become
    responses of kind ``pair_side``, unless ``sides`` names stored responses. All reads and writes
    are in batches. Raises BadInput if a text contains NUL or a lone surrogate: one of the engines
    cannot store such a text.
    """
    now = now or utc_now()
    result = StoredPairs()
    for batch in batches(pairs):
        start = len(result.ids)
        for pair in batch:
            check_storable(
                f"pair {pair.external_id!r}", ((name, getattr(pair, name)) for name in _TEXTS)
            )
        hashes = [pair_hash(pair) for pair in batch]
        first_indexes: dict[tuple[str, str], int] = {}
        for index, pair in enumerate(batch):
            first_indexes.setdefault(key_of(pair), index)
        stored_pairs = _find(connection, first_indexes.keys())
        new = {key: index for key, index in first_indexes.items() if key not in stored_pairs}
        reasons = _insert(connection, batch, hashes, new, batch_id, now)
        new_keys = {key for key in new if key not in reasons}
        stored_pairs |= _find(connection, new.keys())
        for index, pair in enumerate(batch):
            key = key_of(pair)
            row = stored_pairs.get(key)
            clash = ("id", reasons[key]) if row is None else _clash(pair, hashes[index], row)
            if clash is not None or row is None:
                result.ids.append(None)
                result.conflicts.append(
                    DifferingPair(start + index, *(clash or ("id", "not stored")))
                )
                continue
            result.ids.append(row.id)
            if key in new_keys and index == new[key]:
                result.new.append(row.id)
            else:
                result.unchanged += 1
    return result


def _insert(
    connection: Connection,
    pairs: Sequence[Pair],
    hashes: Sequence[str],
    new: dict[tuple[str, str], int],
    batch_id: int | None,
    now: datetime,
) -> dict[tuple[str, str], str]:
    if not new:
        return {}
    origins = origins_of(connection, [pairs[index] for index in new.values()])
    sides = store_sides(
        connection, [pairs[index] for index in new.values()], origins, batch_id, now
    )
    reasons: dict[tuple[str, str], str] = {}
    rows = []
    for (key, index), ids_or_reason in zip(new.items(), sides, strict=True):
        if isinstance(ids_or_reason, str):
            reasons[key] = ids_or_reason
            continue
        pair = pairs[index]
        names = {UNLOGGED["a"]: pair.response_a, UNLOGGED["b"]: pair.response_b}
        rows.append(
            {
                **{name: getattr(pair, name) for name in _COPIED},
                "response_a_id": ids_or_reason[0],
                "response_b_id": ids_or_reason[1],
                "extra": pair.metadata
                | {key: name for key, name in names.items() if name and name not in origins},
                "content_hash": hashes[index],
                "import_batch_id": batch_id,
                "imported_at": now,
            }
        )
    if rows:
        connection.execute(insert_or_skip(connection, PAIR, "source", "external_id"), rows)
    return reasons


_TEXTS = (
    *("source", "external_id", "query_type", "question", "reference"),
    *("answer_a", "answer_b", "model_a", "model_b", "options"),
)
_COPIED = ("source", "external_id", "query_type", "question", "options", "reference", "gold")


def _find(
    connection: Connection, keys: Collection[tuple[str, str]]
) -> dict[tuple[str, str], _Known]:
    rows = rows_by_key(connection, PAIR, keys, *columns_of(_Known, PAIR))
    return {key: record_of(_Known, row) for key, row in rows.items()}


def _clash(pair: Pair, content_hash: str, stored_pair: _Known) -> tuple[str, str] | None:
    question, answers = content_hash.split(":")
    stored_question, stored_answers = stored_pair.content_hash.split(":")
    if question != stored_question:
        return "question", "the stored question, options or reference differ"
    if answers and answers != stored_answers:
        return "answer_a", "the stored answers differ"
    if pair.gold is not None and pair.gold != stored_pair.gold:
        return "gold", "the stored gold differs"
    return None

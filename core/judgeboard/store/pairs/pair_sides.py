"""The two answers of a pair as responses of their own, so that judges can be asked about each."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, select

from judgeboard.domain import Response, ResponseKind
from judgeboard.pair_records import Pair
from judgeboard.store.landing import land_responses
from judgeboard.store.responses.response_rows import find_responses
from judgeboard.store.schema.method_tables import PAIR
from judgeboard.store.schema.tables import RESPONSE
from judgeboard.store.sql.batches import batches

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


def land_sides(
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
    landed = land_responses(connection, responses, batch_id, now)
    clashes = {(clash.source, clash.external_id) for clash in landed.conflicts}
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

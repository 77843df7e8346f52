"""The two answers of a pair as responses of their own, so that judges can be asked about each."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, select

from judgeboard.domain import Response, ResponseKind
from judgeboard.pair_records import Pair
from judgeboard.store.landing import land_responses
from judgeboard.store.responses.response_rows import find_responses
from judgeboard.store.schema.tables import ResponseRow
from judgeboard.store.sql.batches import batches

RESPONSE = ResponseRow.__table__

Sides = tuple[int | None, int | None]


def side_id(external_id: str, side: str) -> str:
    """Return the outside id of a pair's answer ``a`` or ``b``."""
    return f"pair:{external_id}:{side}"


def land_sides(connection: Connection, pairs: Sequence[Pair], batch_id: int | None, now: datetime) -> list[Sides | str]:
    """Store the answers of these pairs, each under an id of its own; return the two ids of each, or why there are none.

    A side is derived from the logged response that the pair names for it, where that has the same answer.
    """
    origins = _origins(connection, pairs)
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


class _Origin(NamedTuple):
    id: int
    source: str
    answer: str | None


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


def _side(pair: Pair, side: str, answer: str, model: str | None, origins: list[_Origin] | None) -> Response:
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


def _origins(connection: Connection, pairs: Sequence[Pair]) -> dict[str, list[_Origin]]:
    named = sorted({name for pair in pairs for name in (pair.response_a, pair.response_b) if name is not None})
    found: dict[str, list[_Origin]] = {}
    columns = (RESPONSE.c.external_id, RESPONSE.c.id, RESPONSE.c.source, RESPONSE.c.answer)
    for some in batches(named):
        query = select(*columns).where(RESPONSE.c.external_id.in_(some))
        for external_id, *origin in connection.execute(query):
            found.setdefault(external_id, []).append(_Origin(*origin))
    return found

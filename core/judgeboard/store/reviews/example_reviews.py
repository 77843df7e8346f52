"""Takes worked examples for a judge from what people said of logged answers."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, case, select

from judgeboard.domain import ResponseKind
from judgeboard.errors import BadInput
from judgeboard.judges.examples import Example
from judgeboard.store.reviews.standing import REVIEW, standing
from judgeboard.store.schema.tables import RESPONSE, REVIEW_SCORE
from judgeboard.store.sql.batches import batches

SCORE = REVIEW_SCORE


@dataclass(frozen=True, slots=True)
class _Graded:
    response_id: int
    adjudicated: bool
    scores: Mapping[str, float]
    note: str | None

    @property
    def level(self) -> float:
        """What examples are balanced by; only answers graded on the same scores are compared by it."""
        return round(sum(self.scores.values()) / len(self.scores), 9)


def examples_from_reviews(
    connection: Connection, count: int, *, dimensions: Collection[str] | None = None
) -> tuple[Example, ...]:
    """Return ``count`` answers with what people gave them, the same whenever the reviews are the same.

    An adjudicated answer goes before one that people merely agree on; one on which standing grades differ is left
    out. They are drawn from the levels in turn, the worst first, so that good and bad are shown; within a level the
    oldest answer goes first.

    Args:
        connection: A reading transaction.
        count: How many.
        dimensions: Those of a rubric; without them groundedness and quality are taken.

    Raises:
        BadInput: Fewer answers than that can serve.
    """
    reviews = _on_dimensions(connection, dimensions) if dimensions is not None else _on_rag_scales(connection)
    usable = _readable(connection, _agreed(reviews))
    if len(usable) < count:
        raise BadInput(
            f"--examples-from-reviews {count}: only {len(usable)} answers are graded by people without dispute"
        )
    return tuple(_example(connection, one) for one in _in_turn(usable, count))


def _on_rag_scales(connection: Connection) -> list[_Graded]:
    query = select(
        REVIEW.c.response_id,
        case((REVIEW.c.stage == "adjudication", 1), else_=0),
        REVIEW.c.groundedness,
        REVIEW.c.quality,
        REVIEW.c.note,
    ).where(standing(), REVIEW.c.quality.is_not(None))
    found = []
    for response_id, adjudicated, groundedness, quality, note in connection.execute(query.order_by(REVIEW.c.id)):
        scores = {"quality": quality} | ({} if groundedness is None else {"groundedness": groundedness})
        found.append(_Graded(response_id, bool(adjudicated), dict(sorted(scores.items())), note))
    return found


def _on_dimensions(connection: Connection, dimensions: Collection[str]) -> list[_Graded]:
    query = (
        select(
            REVIEW.c.id,
            REVIEW.c.response_id,
            case((REVIEW.c.stage == "adjudication", 1), else_=0),
            REVIEW.c.note,
            SCORE.c.dimension,
            SCORE.c.value,
        )
        .join(SCORE, SCORE.c.review_id == REVIEW.c.id)
        .where(standing(), SCORE.c.value.is_not(None), SCORE.c.dimension.in_(sorted(dimensions)))
    )
    scores: dict[int, dict[str, float]] = defaultdict(dict)
    about: dict[int, tuple[int, bool, str | None]] = {}
    for review_id, response_id, adjudicated, note, dimension, value in connection.execute(query.order_by(SCORE.c.id)):
        about[review_id] = (response_id, bool(adjudicated), note)
        scores[review_id][dimension] = int(value) if value == int(value) else value
    return [
        _Graded(response_id, adjudicated, dict(sorted(scores[review_id].items())), note)
        for review_id, (response_id, adjudicated, note) in sorted(about.items())
    ]


def _agreed(reviews: Iterable[_Graded]) -> list[_Graded]:
    """One for each answer: the latest adjudicated, else the first of those that all say the same."""
    by_response: dict[int, list[_Graded]] = defaultdict(list)
    for review in reviews:
        by_response[review.response_id].append(review)
    agreed = []
    for given in by_response.values():
        adjudicated = [review for review in given if review.adjudicated]
        if adjudicated:
            agreed.append(adjudicated[-1])
        elif all(review.scores == given[0].scores for review in given):
            agreed.append(next((review for review in given if review.note), given[0]))
    return agreed


def _readable(connection: Connection, agreed: Sequence[_Graded]) -> list[_Graded]:
    """Those whose answers are of the log and not forgotten."""
    ids = [one.response_id for one in agreed]
    kept: set[int] = set()
    for some in batches(ids):
        query = select(RESPONSE.c.id, RESPONSE.c.kind, RESPONSE.c.answer.is_not(None)).where(RESPONSE.c.id.in_(some))
        kept |= {id_ for id_, kind, there in connection.execute(query) if there and kind == ResponseKind.LOG.value}
    return [one for one in agreed if one.response_id in kept]


def _in_turn(usable: Iterable[_Graded], count: int) -> list[_Graded]:
    levels: dict[float, list[_Graded]] = defaultdict(list)
    for one in sorted(usable, key=lambda one: (not one.adjudicated, one.response_id)):
        levels[one.level].append(one)
    chosen: list[_Graded] = []
    while len(chosen) < count:
        for level in sorted(levels):
            if levels[level] and len(chosen) < count:
                chosen.append(levels[level].pop(0))
    return chosen


def _example(connection: Connection, one: _Graded) -> Example:
    row: Any = connection.execute(
        select(RESPONSE.c.query, RESPONSE.c.answer, RESPONSE.c.passages, RESPONSE.c.reference).where(
            RESPONSE.c.id == one.response_id
        )
    ).one()
    return Example(
        query=row.query,
        answer=row.answer,
        scores=one.scores,
        reasoning=one.note,
        passages=None if row.passages is None else tuple(row.passages),
        reference=row.reference,
        response_id=one.response_id,
    )

"""What a reviewer reads of an item: an answer, or a pair in the order that is theirs; never what is hidden."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection

from judgeboard.domain import Shown
from judgeboard.review.pair_sides import order_for
from judgeboard.store.pairs.pair_items import load_pairs
from judgeboard.store.queues.item_texts import AnswerText, answer_texts


class Subject(Protocol):
    """Anything that names what an item holds: a held item, an item as stored."""

    @property
    def response_id(self) -> int | None:
        """The answer, None where it is a pair."""

    @property
    def pair_id(self) -> int | None:
        """The pair, None where it is an answer."""


@dataclass(frozen=True, slots=True)
class PairText:
    """Two answers as one person reads them, in the order ``shown``; which model wrote which is not told."""

    pair_id: int
    query_type: str
    question: str | None
    options: tuple[str, ...]
    passages: tuple[str, ...] | None
    left: str | None
    right: str | None
    shown: Shown


ItemText = AnswerText | PairText


def item_texts(connection: Connection, subjects: Sequence[Subject], reviewer_id: int) -> list[ItemText]:
    """Return the texts of items in their order, pairs with the sides as this person is shown them."""
    answers = answer_texts(connection, [one.response_id for one in subjects if one.response_id is not None])
    pairs = pair_texts(connection, [one.pair_id for one in subjects if one.pair_id is not None], reviewer_id)
    return [answers[one.response_id] if one.response_id is not None else pairs[one.pair_id or 0] for one in subjects]


def pair_texts(connection: Connection, pair_ids: Sequence[int], reviewer_id: int) -> dict[int, PairText]:
    """Return pairs by id, as this person is shown them."""
    found = {}
    for pair in load_pairs(connection, pair_ids, hidden_too=True):
        shown = order_for(pair.id, reviewer_id)
        sides = (pair.answer_a, pair.answer_b) if shown is Shown.AB else (pair.answer_b, pair.answer_a)
        found[pair.id] = PairText(
            pair.id, pair.query_type, pair.question, pair.options or (), pair.passages, *sides, shown
        )
    return found

"""The parts of an answer or a pair that a reviewer is shown, and the parts that stay hidden."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from judgeboard.domain import Preference, Shown
from judgeboard.errors import DecisionRefused
from judgeboard.reviews.leases import LeasedItem
from judgeboard.store.hidden_rows import hidden_of
from judgeboard.store.leases import JUDGE, PEOPLE
from judgeboard.store.pairs import load_pairs
from judgeboard.store.queue_items import AnswerText, answer_texts
from judgeboard.store.reviews import reviewed_by_others
from judgeboard.store.tables import QueueItem, Reviewer


def check_not_blind(
    connection: Connection,
    reviewer: Reviewer,
    response_id: int | None,
    pair_id: int | None,
    name: str,
) -> None:
    """Raise `DecisionRefused` if the reviewer must still review the answer or the pair blind in a queue."""
    if hidden_of(connection, reviewer.id, response_id=response_id, pair_id=pair_id):
        raise DecisionRefused(
            f"You review {name} blind, before you see other reviews: open it in its queue."
        )


def in_view(
    connection: Connection, response_id: int, reviewer_id: int, judgment_id: int | None
) -> tuple[str, ...]:
    """Return the hidden parts that a reviewer saw outside queues: a judgment on the screen, other people's reviews.

    Reviews of others are shown after the reviewer's own.
    """
    judge = () if judgment_id is None else (JUDGE,)
    if hidden_of(connection, reviewer_id, response_id=response_id, own_first=True).people:
        return judge
    return (*judge, PEOPLE) if reviewed_by_others(connection, [response_id], reviewer_id) else judge


def order_for(pair_id: int, reviewer_id: int) -> Shown:
    """Return the order in which a person is shown a pair: pseudo-random by pair and person, and always the same."""
    digest = hashlib.sha256(f"shown:{pair_id}:{reviewer_id}".encode()).digest()
    return Shown.BA if digest[0] % 2 else Shown.AB


def stored_side(side: str, order: Shown) -> Preference:
    """Return the preference (A, B, tie) that a side (left, right, tie) means if a pair is shown in this order."""
    if side == "tie":
        return Preference.TIE
    return Preference.A if (side == "left") == (order is Shown.AB) else Preference.B


def shown_side(preference: Preference, order: Shown) -> str:
    """Return the side (left, right, tie) that a preference (A, B, tie) means if a pair is shown in this order."""
    if preference is Preference.TIE:
        return "tie"
    return "left" if (preference is Preference.A) == (order is Shown.AB) else "right"


@dataclass(frozen=True, slots=True)
class PairText:
    """The texts of a pair as one person reads them: in the order ``shown``, without the names of the models."""

    pair_id: int
    query_type: str
    question: str | None
    options: tuple[str, ...]
    passages: tuple[str, ...] | None
    left: str | None
    right: str | None
    shown: Shown


ItemText = AnswerText | PairText


def item_texts(
    connection: Connection, items: Sequence[LeasedItem | QueueItem], reviewer_id: int
) -> list[ItemText]:
    """Return the texts of items in the order of ``items``; pairs are ordered as this person is shown them."""
    answers = answer_texts(
        connection, [item.response_id for item in items if item.response_id is not None]
    )
    pairs = pair_texts(
        connection, [item.pair_id for item in items if item.pair_id is not None], reviewer_id
    )
    return [
        answers[item.response_id] if item.response_id is not None else pairs[item.pair_id or 0]
        for item in items
    ]


def pair_texts(
    connection: Connection, pair_ids: Sequence[int], reviewer_id: int
) -> dict[int, PairText]:
    """Return the texts of pairs by id, with the answers in the order that this reviewer sees."""
    texts = {}
    for pair in load_pairs(connection, pair_ids, hidden_too=True):
        order = order_for(pair.id, reviewer_id)
        sides = (
            (pair.answer_a, pair.answer_b) if order is Shown.AB else (pair.answer_b, pair.answer_a)
        )
        texts[pair.id] = PairText(
            pair.id,
            pair.query_type,
            pair.question,
            pair.options or (),
            pair.passages,
            *sides,
            order,
        )
    return texts

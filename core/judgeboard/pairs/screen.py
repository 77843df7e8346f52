"""One pair as a person judges it: both answers in an order of their own, and the judge only after the decision."""

import re
from dataclasses import dataclass

from sqlalchemy import Connection

from judgeboard.domain import Preference, Shown
from judgeboard.errors import NotFound
from judgeboard.pairs.votes import Votes, votes_by_pair
from judgeboard.review.pair_sides import order_for, shown_side, stored_side
from judgeboard.store.pairs.compared_pairs import SaidOfPair, said_of_pair
from judgeboard.store.pairs.pairs import load_pairs
from judgeboard.store.pairs.preferences import (
    StandingPreference,
    load_preferences,
    own_preferences,
    saw_the_rest,
)

MORE_THAN_ONE = 2


@dataclass(frozen=True, slots=True)
class Revealed:
    """What a person sees once they have decided; models are those of the left and the right answer."""

    external_id: str
    model_left: str | None
    model_right: str | None
    said: tuple[SaidOfPair, ...]
    gold: Preference | None
    votes: Votes | None


@dataclass(frozen=True, slots=True)
class PairScreen:
    """One pair in the order ``shown`` to one person, with what they said of it.

    ``own`` was given blind, ``overruled`` after the rest was revealed; ``revealed`` is None until they have spoken of
    the pair, on whatever aspect, unless they came from where the verdict is shown: what may not be shown is not even
    read. ``last_id`` is the last preference on the aspect that stands, None before the first.
    """

    pair_id: int
    aspect: str
    query_type: str
    question: str | None
    options: tuple[str, ...]
    passages: tuple[str, ...]
    left: str | None
    right: str | None
    shown: Shown
    own: Preference | None
    overruled: Preference | None
    revealed: Revealed | None
    last_id: int | None = None

    @property
    def decidable(self) -> bool:
        """Whether both answers are there: neither forgotten nor never recorded."""
        return self.left is not None and self.right is not None

    @property
    def seen_id(self) -> int | None:
        """The judge's verdict that is in view: that in the order in which the person sees the pair, else the other."""
        if self.revealed is None or not self.revealed.said:
            return None
        return min(self.revealed.said, key=lambda said: said.shown is not self.shown).comparison_id

    def side(self, preference: Preference) -> str:
        """Return where a stored answer stands on this screen: left, right or tie."""
        return shown_side(preference, self.shown)

    def preference(self, side: str) -> Preference:
        """Return which stored answer stands at a side: the reverse of `side`."""
        return stored_side(side, self.shown)


def pair_screen(
    connection: Connection,
    pair_id: int,
    *,
    aspect: str,
    reviewer_id: int,
    version_id: int | None,
    verdict_seen: bool = False,
) -> PairScreen:
    """Return a pair as this person sees it.

    Args:
        connection: A transaction.
        pair_id: Which pair.
        aspect: On which aspect.
        reviewer_id: Who looks; the order is theirs.
        version_id: Whose verdicts are shown after the decision; None shows none.
        verdict_seen: The person has seen that judge's verdict on the pair: it is shown at once, and what they say is
            said over it.

    Raises:
        NotFound: No such pair.
    """
    pair = next(iter(load_pairs(connection, [pair_id])), None)
    if pair is None:
        raise NotFound(f"no pair {pair_id}")
    given = own_preferences(connection, pair_id, reviewer_id, aspect)
    order = given[0].shown if given and given[0].shown is not None else order_for(pair_id, reviewer_id)
    left, right = _in_order(order, pair.answer_a, pair.answer_b)
    spoken = saw_the_rest(connection, pair_id, reviewer_id)
    may_see = spoken or verdict_seen
    said = (
        tuple(_of_aspect(each, aspect) for each in said_of_pair(connection, version_id, pair_id))
        if may_see and version_id is not None
        else ()
    )
    revealed = None
    if spoken or said:
        model_left, model_right = _in_order(order, pair.model_a, pair.model_b)
        votes = votes_by_pair(load_preferences(connection, [pair_id], aspect=aspect))
        revealed = Revealed(pair.external_id, model_left, model_right, said, pair.gold, votes.get((pair_id, aspect)))
    return PairScreen(
        pair_id=pair.id,
        aspect=aspect,
        query_type=pair.query_type,
        question=pair.question,
        options=pair.options or (),
        passages=pair.passages or (),
        left=left,
        right=right,
        shown=order,
        own=_latest(given, blind=True),
        overruled=_latest(given, blind=False),
        revealed=revealed,
        last_id=given[-1].preference_id if given else None,
    )


def _in_order(order: Shown, of_a: str | None, of_b: str | None) -> tuple[str | None, str | None]:
    return (of_a, of_b) if order is Shown.AB else (of_b, of_a)


def _latest(given: list[StandingPreference], *, blind: bool) -> Preference | None:
    return next((each.preference for each in reversed(given) if each.blind is blind), None)


def _of_aspect(said: SaidOfPair, aspect: str) -> SaidOfPair:
    """Leave of reasons by aspect, each in a line that names it, those of this aspect."""
    if said.reasoning is None or len(said.preferences) < MORE_THAN_ONE:
        return said
    names = "|".join(re.escape(name) for name in said.preferences)
    parts = re.split(rf"^({names}): ", said.reasoning, flags=re.MULTILINE)
    if len(parts) == 1:  # recorded elsewhere, in a form of its own
        return said
    reasons = dict(zip(parts[1::2], parts[2::2], strict=True))
    return said._replace(reasoning=reasons.get(aspect, "").rstrip("\n") or None)

"""One pair of answers as a person sees it, and the list of pairs that the person works through."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import Connection

from judgeboard.agreement.pair_report import PairLine
from judgeboard.domain import Preference, Shown
from judgeboard.errors import NotFound
from judgeboard.reviews.shown import order_for, shown_side
from judgeboard.store import comparisons, preferences
from judgeboard.store.pairs import load_pairs


@dataclass(frozen=True, slots=True)
class Revealed:
    """The data that a person sees only after a decision. ``model_left`` is the model that wrote the left answer."""

    external_id: str
    model_left: str | None
    model_right: str | None
    latest_comparisons: tuple[comparisons.LatestComparison, ...]
    gold: Preference | None
    votes: preferences.Votes | None


@dataclass(frozen=True, slots=True)
class PairScreen:
    """One pair in the order ``shown`` to one person, with the person's preferences.

    ``own`` is the blind preference, ``overruled`` the preference after the reveal. ``revealed`` is read only if the
    person has decided on any aspect or came from a page that shows the verdict; otherwise it is None. ``last_id`` is
    the id of the person's latest preference on the aspect.
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
        """Whether both answers are available."""
        return self.left is not None and self.right is not None

    @property
    def seen_id(self) -> int | None:
        """The id of the visible comparison: in the person's order if it exists, otherwise in the other order."""
        if self.revealed is None or not self.revealed.latest_comparisons:
            return None
        return min(self.revealed.latest_comparisons, key=lambda each: each.shown is not self.shown).comparison_id

    def side(self, preference: Preference) -> str:
        """Return the side of a stored answer on this screen: left, right or tie."""
        return shown_side(preference, self.shown)


def pair_screen(
    connection: Connection,
    pair_id: int,
    *,
    aspect: str,
    reviewer_id: int,
    version_id: int | None,
    verdict_seen: bool = False,
) -> PairScreen:
    """Return a pair as a person sees it, in that person's order, or raise NotFound.

    ``version_id`` is the judge version whose verdicts are revealed (None: no verdicts). ``verdict_seen`` means that the
    person has already seen that verdict: it is shown, and a preference overrules it.
    """
    pair = next(iter(load_pairs(connection, [pair_id])), None)
    if pair is None:
        raise NotFound(f"no pair {pair_id}")
    own = preferences.own_preferences(connection, pair_id, reviewer_id, aspect)
    order = own[0].shown if own and own[0].shown is not None else order_for(pair_id, reviewer_id)
    left, right = _in_order(order, pair.answer_a, pair.answer_b)
    spoken = preferences.saw_hidden_parts(connection, pair_id, reviewer_id)
    may_see = spoken or verdict_seen
    latest = (
        tuple(_of_aspect(each, aspect) for each in comparisons.latest_comparisons(connection, version_id, pair_id))
        if may_see and version_id is not None
        else ()
    )
    revealed = None
    if spoken or latest:
        model_left, model_right = _in_order(order, pair.model_a, pair.model_b)
        votes = preferences.votes_by_pair(preferences.load_preferences(connection, [pair_id], aspect=aspect))
        revealed = Revealed(pair.external_id, model_left, model_right, latest, pair.gold, votes.get((pair_id, aspect)))
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
        own=_latest(own, blind=True),
        overruled=_latest(own, blind=False),
        revealed=revealed,
        last_id=own[-1].review_id if own else None,
    )


def _in_order(order: Shown, of_a: str | None, of_b: str | None) -> tuple[str | None, str | None]:
    return (of_a, of_b) if order is Shown.AB else (of_b, of_a)


def _latest(own: list[preferences.CurrentPreference], *, blind: bool) -> Preference | None:
    return next((each.preference for each in reversed(own) if each.blind is blind), None)


def _of_aspect(comparison: comparisons.LatestComparison, aspect: str) -> comparisons.LatestComparison:
    """Keep only the reasons for this aspect, if the reasoning has a line for each aspect."""
    if comparison.reasoning is None or len(comparison.preferences) < 2:
        return comparison
    names = "|".join(re.escape(name) for name in comparison.preferences)
    parts = re.split(rf"^({names}): ", comparison.reasoning, flags=re.MULTILINE)
    if len(parts) == 1:  # recorded elsewhere, in another form
        return comparison
    reasons = dict(zip(parts[1::2], parts[2::2], strict=True))
    return comparison._replace(reasoning=reasons.get(aspect, "").rstrip("\n") or None)


class ListedPairs:
    """The pairs of one list by id, and the pairs that the person has not compared yet. It makes no database reads."""

    def __init__(self, aspect: str, lines: Iterable[PairLine]) -> None:
        self.aspect = aspect
        by_id = {line.pair_id: line.mine for line in lines}
        self._positions = {pair_id: position for position, pair_id in enumerate(sorted(by_id), start=1)}
        self._left = [pair_id for pair_id in self._positions if not by_id[pair_id]]

    def __len__(self) -> int:
        return len(self._positions)

    def position(self, pair_id: int) -> int | None:
        """Return the position of a pair in the list, from 1; None if it is not in the list."""
        return self._positions.get(pair_id)

    def judged(self, pair_id: int) -> None:
        """Remove a pair from the pairs that are not compared yet."""
        with suppress(ValueError):
            self._left.remove(pair_id)

    def following(self, pair_id: int) -> int | None:
        """Return the next pair without a preference; after the last pair, start again. None if there is no other."""
        following = next((each for each in self._left if each > pair_id), next(iter(self._left), None))
        return None if following == pair_id else following

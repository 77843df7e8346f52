"""Stores which of two answers a person finds better, blind or after the rest was revealed to them."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime

from judgeboard.domain import Preference, Shown
from judgeboard.errors import BadInput
from judgeboard.judges.pairwise_form import checked_aspects
from judgeboard.pair_records import OVERALL, AspectPreference
from judgeboard.people import Action, allowed
from judgeboard.review.blind import check_pair_not_blind
from judgeboard.review.checks import checked_key, checked_seconds
from judgeboard.storable_text import unstorable
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.pairs.desk_preferences import (
    comparison_is_of,
    lock_pair,
    own_preferences,
    preference_by_key,
    saw_the_rest,
)
from judgeboard.store.pairs.preferences import insert_preferences
from judgeboard.store.reviews.reviewers import Reviewer


@dataclass(frozen=True, slots=True)
class Preferred:
    """A stored preference; ``repeated`` when the same request had stored it before."""

    preference_id: int
    repeated: bool


def prefer(
    store: Store,
    *,
    pair_id: int,
    reviewer: Reviewer,
    preference: Preference,
    shown: Shown,
    request_key: str,
    aspect: str = OVERALL,
    comparison_seen_id: int | None = None,
    revealed: bool = False,
    note: str | None = None,
    seconds: float | None = None,
    now: datetime | None = None,
) -> Preferred:
    """Store which answer of a pair a person finds better.

    The first word of a person on a pair is blind, unless something was in view already; it reveals gold, models, other
    people and the judge to them, so that every later word, on whatever aspect, is not. A blind word is never replaced;
    one that is not replaces the one before it on its aspect. Agreement with people counts a person's blind word on an
    aspect, and where there is none the latest other one (`votes_by_pair`).

    Args:
        store: Where the pair is.
        pair_id: Which pair.
        reviewer: Who says it.
        preference: In terms of the stored answers, whatever the order shown.
        shown: Which stored answer stood first.
        request_key: Unique to this press; the same key again stores nothing.
        aspect: What they were compared in.
        comparison_seen_id: The judge's verdict that was in view; None where none was.
        revealed: Anything else of what a blind person does not see was in view.
        note: Why.
        seconds: How long the person looked.
        now: When; the present by default.

    Raises:
        DecisionRefused: The person is to review the pair blind in a queue and has not: it is decided there.
        NotAllowed: No admin lets this person review.
        NotFound: No such pair.
        BadInput: The comparison is of another pair, the key of another press, or a value cannot be stored.
    """
    key, spent = checked_key(request_key), checked_seconds(seconds)
    (aspect,) = checked_aspects((aspect,))
    why = checked_note(note)
    at = now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        lock_pair(connection, pair_id)
        known = preference_by_key(connection, key)
        if known is not None:
            if known[1:5] != (pair_id, reviewer.id, aspect, preference):
                raise BadInput("this request key belongs to another preference: every press needs its own")
            return Preferred(known.id, repeated=True)
        if comparison_seen_id is not None and not comparison_is_of(connection, comparison_seen_id, pair_id):
            raise BadInput(f"comparison {comparison_seen_id} is not one of pair {pair_id}")
        check_pair_not_blind(connection, reviewer, pair_id)
        blind = comparison_seen_id is None and not revealed and not saw_the_rest(connection, pair_id, reviewer.id)
        own = own_preferences(connection, pair_id, reviewer.id, aspect)
        before = [] if blind else [each for each in own if not each.blind and each.queue_item_id is None]
        row = {
            "pair_id": pair_id,
            "reviewer_id": reviewer.id,
            "shown": shown.value,
            "comparison_seen_id": comparison_seen_id,
            "blind": blind,
            "note": why,
            "seconds": spent,
            "replaces": before[-1].id if before else None,
            "request_key": key,
            "at": at,
        }
        (preference_id,) = insert_preferences(connection, [row], [{aspect: AspectPreference(preference)}])
        details = {"preference": preference_id, "pair": pair_id, "said": preference.value}
        record_event(connection, "prefer", reviewer.name, details=details, now=at)
        return Preferred(preference_id, repeated=False)


def checked_note(note: str | None) -> str | None:
    """Return a note as it is stored, None for a blank one.

    Raises:
        BadInput: It cannot be stored.
    """
    why = (note or "").strip() or None
    if why is not None and (reason := unstorable(why)):
        raise BadInput(f"the note cannot be stored: {reason}")
    return why


def order_for(pair_id: int, reviewer_id: int) -> Shown:
    """Return in which order a person is shown a pair: as good as random over pairs and people, and always the same."""
    digest = hashlib.sha256(f"shown:{pair_id}:{reviewer_id}".encode()).digest()
    return Shown.BA if digest[0] % 2 else Shown.AB


def stored_side(side: str, shown: Shown) -> Preference:
    """Return which stored answer stands at a side (left, tie, right) of a pair that is shown in this order."""
    if side == "tie":
        return Preference.TIE
    return Preference.A if (side == "left") == (shown is Shown.AB) else Preference.B


def shown_side(preference: Preference, shown: Shown) -> str:
    """Return at which side (left, tie, right) a stored answer stands in a pair that is shown in this order."""
    if preference is Preference.TIE:
        return "tie"
    return "left" if (preference is Preference.A) == (shown is Shown.AB) else "right"

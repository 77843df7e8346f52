"""The last word on a pair of which reviewers prefer different answers: a lead's, with a reason; it is gold."""

from dataclasses import dataclass
from datetime import UTC, datetime

from judgeboard.domain import ItemState, Preference, Shown, Stage
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.pair_records import OVERALL, AspectPreference
from judgeboard.pairs.preferring import checked_note
from judgeboard.people import Action, allowed
from judgeboard.queues.adjudicating import NOT_SPLIT
from judgeboard.queues.pair_deciding import check_same_preference
from judgeboard.review.blind import check_pair_not_blind
from judgeboard.review.checks import checked_key, checked_seconds
from judgeboard.review.settling import settle_item
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.pairs.desk_preferences import lock_pair, preference_by_key
from judgeboard.store.pairs.preferences import insert_preferences
from judgeboard.store.queues.item_rows import item_by_id, lock_item
from judgeboard.store.queues.leases import JUDGE, PEOPLE
from judgeboard.store.queues.queue_rows import queue_by_id
from judgeboard.store.reviews.reviewers import Reviewer


@dataclass(frozen=True, slots=True)
class AdjudicatedPair:
    """A stored adjudication of a pair; ``repeated`` when the same request had stored it before."""

    preference_id: int
    item_id: int
    repeated: bool


def adjudicate_pair(
    store: Store,
    item_id: int,
    *,
    by: Reviewer,
    preference: Preference,
    reason: str,
    request_key: str,
    seconds: float | None = None,
    now: datetime | None = None,
) -> AdjudicatedPair:
    """Say which answer of a pair is better (in stored terms) after the reviewers differed.

    Raises:
        NotAllowed: Only leads adjudicate.
        NotFound: No such item.
        DecisionRefused: The item is not split (any more).
        BadInput: No reason is given, the item is an answer, or a value cannot be used.
    """
    key, spent, at = checked_key(request_key), checked_seconds(seconds), now or datetime.now(UTC)
    why = checked_note(reason)
    with allowed(store, by, Action.ADJUDICATE) as connection:
        pair_id = item_by_id(connection, item_id).pair_id
        if pair_id is None:
            raise BadInput(f"item {item_id} is an answer: confirm or dismiss it")
        lock_pair(connection, pair_id)
        item = lock_item(connection, item_id)
        stored = preference_by_key(connection, key)
        if stored is not None:
            same = (stored.queue_item_id, stored.preference) == (item_id, preference)
            check_same_preference(stored, by, same=same)
            return AdjudicatedPair(stored.id, item_id, repeated=True)
        if item.state is not ItemState.SPLIT:
            raise DecisionRefused(NOT_SPLIT[item.state])
        check_pair_not_blind(connection, by, pair_id)
        if why is None:
            raise BadInput("say why: an adjudication needs a reason")
        row = {
            "pair_id": pair_id,
            "reviewer_id": by.id,
            "shown": Shown.AB.value,
            "blind": False,
            "note": why,
            "seconds": spent,
            "request_key": key,
            "at": at,
            "queue_item_id": item_id,
            "stage": Stage.ADJUDICATION.value,
            "seen": [JUDGE, PEOPLE],
        }
        (preference_id,) = insert_preferences(connection, [row], [{OVERALL: AspectPreference(preference)}])
        settle_item(connection, item_id, at)
        queue = queue_by_id(connection, item.queue_id).name
        details = {"preference": preference_id, "item": item_id, "queue": queue, "said": preference.value}
        record_event(connection, "adjudicate_pair", by.name, details=details, now=at)
        return AdjudicatedPair(preference_id, item_id, repeated=False)

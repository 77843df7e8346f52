"""Why a person has nothing left in a queue, as the pages and ``queue next`` say it."""

import pytest

from judgeboard.domain import Decision, QueueOrder
from judgeboard.reviews.leases import skip
from judgeboard.reviews.nothing_left import nothing_left
from judgeboard.store.engine import Store
from judgeboard.store.queues import queue_named
from judgeboard.store.reviewers import Reviewer
from queue_case import QueueCase, queue_case


@pytest.fixture
def case(store: Store) -> QueueCase:
    return queue_case(store)


def reason(case: QueueCase, who: Reviewer) -> str | None:
    with case.store.reading() as connection:
        nothing = nothing_left(connection, queue_named(connection, "q"), who.id, case.now)
    return None if nothing is None else nothing.reason


def test_the_reason_names_what_others_have_only_if_it_may_come_to_this_person(case: QueueCase) -> None:
    case.queue(needed=2)
    assert reason(case, case.mara) == "It has no items for you."
    case.flagged(0.1, 0.2)
    assert reason(case, case.mara) is None
    for _ in range(2):
        assert reason(case, case.mara) is None
        case.review(case.mara)
    leased = [case.lease(who) for who in (case.jon, case.ada)]
    assert reason(case, case.mara) == "You have reviewed all 2 items.", "what others have cannot come to Mara"
    assert reason(case, case.lead) == "Others have leased 2 items, which may become available later."
    assert reason(case, case.jon) is None, "Jon has an item"
    case.later(days=1)
    assert reason(case, case.lead) is None, "the leases ended"
    skip(case.store, case.lease(case.lead).token, case.lead, now=case.now)
    case.review(case.lead)
    assert len({each.item_id for each in leased}) == 2
    assert reason(case, case.lead) == "1 item needs reviews by others. You have reviewed 1 item."
    case.review(case.jon)
    assert reason(case, case.lead) == "All 2 items are reviewed. You have reviewed 1 item."
    assert reason(case, case.ada) == "All 2 items are reviewed."


def test_a_training_queue_is_open_until_every_gold_label_was_reviewed(case: QueueCase) -> None:
    case.flagged(0.1)
    case.queue("gold", needed=2, order=QueueOrder.OLDEST)
    for who, decision in ((case.jon, Decision.CONFIRM), (case.ada, Decision.DISMISS)):
        decided = case.review(who, decision, "gold")
    case.adjudicate(decided.item_id)
    case.queue(training=True, flagged_only=False)
    assert reason(case, case.mara) is None, "its items are stored when Mara begins"
    case.review(case.mara)
    assert reason(case, case.mara) == "You have reviewed the only item."

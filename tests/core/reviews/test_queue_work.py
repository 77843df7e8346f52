"""Why a person has nothing left in a queue, as the pages and ``queue next`` say it."""

import random

import pytest

from engines import on_sqlite
from judgeboard.domain import ItemState
from judgeboard.reviews.leases import undo_skips
from judgeboard.reviews.person_work import everybodys_work
from judgeboard.reviews.queue_work import nothing_left, own_queues
from judgeboard.store.leases import CANNOT_BE_JUDGED
from judgeboard.store.queues import queue_named
from queue_case import CONFIRM, DISMISS, UNSURE
from result_fields import check_fields


def reason(case, who):
    """Return the items, how many the person reviewed, how many others have, and how many the person skipped."""
    return case.read(nothing_left, case.read(queue_named, "q"), who.id, case.now)


@on_sqlite
def test_the_reason_counts_what_others_have_only_if_it_may_come_to_this_person(case):
    case.queue(needed=2)
    assert reason(case, case.mara) == (0, 0, 0, 0)
    case.flagged(0.1, 0.2)
    for _ in range(2):
        assert reason(case, case.mara) is None
        case.review(case.mara)
    for who in (case.jon, case.ada):
        case.lease(who)
    # What others have cannot come to Mara.
    assert reason(case, case.mara) == (2, 2, 0, 0)
    assert reason(case, case.lead) == (2, 0, 2, 0)
    # Jon has an item.
    assert reason(case, case.jon) is None
    case.later(days=1)
    # The leases ended.
    assert reason(case, case.lead) is None
    case.skip(case.lease(case.lead), case.lead)
    case.review(case.lead)
    assert reason(case, case.lead) == (2, 1, 0, 1)
    case.review(case.jon)
    assert reason(case, case.lead) == (2, 1, 0, 0)


@on_sqlite
def test_a_skipped_item_that_still_needs_a_review_is_counted_and_can_be_had_back(case):
    queue = case.queue(assigned=(case.mara, case.jon), needed=2).queue
    skipped, _ = case.flagged(0.1, 0.2)
    for _ in range(2):
        case.review(case.jon)
    case.skip(case.lease(case.mara), case.mara)
    case.review(case.mara)
    assert reason(case, case.mara) == (2, 1, 0, 1)
    (own,) = case.read(own_queues, case.mara.id, case.now)
    check_fields(own, left=1, skipped=1)
    assert case.read(own_queues, case.jon.id, case.now) == []
    everybody = case.read(everybodys_work, now=case.now)
    assert {work.person.name: work.left for work in everybody} == {"Jon": 0, "Mara": 1}
    assert case.take(case.mara) is None, "a skipped item does not come by itself"
    assert len(undo_skips(case.store, queue, case.mara, now=case.now)) == 1
    assert case.lease(case.mara).response_id == skipped
    assert undo_skips(case.store, queue, case.mara, now=case.now) == []


@on_sqlite
def test_a_training_queue_is_open_until_every_gold_label_was_reviewed(case):
    case.queue_of(0.1, name="gold", needed=2)
    case.review(case.jon, name="gold")
    case.adjudicate(case.review(case.ada, DISMISS, "gold").item_id)
    case.queue(training=True, flagged_only=False)
    # Its items are stored when Mara begins.
    assert reason(case, case.mara) is None
    case.review(case.mara)
    assert reason(case, case.mara) == (1, 1, 0, 0)


@on_sqlite
def test_a_repeat_that_comes_next_is_left(case):
    case.queue_of(0.1, repeat_rate=0.95)
    case.review(case.mara)
    assert reason(case, case.mara) == (1, 1, 0, 0)
    case.later(days=8)
    assert reason(case, case.mara) is None
    assert reason(case, case.jon) == (1, 0, 0, 0)
    case.review(case.mara)
    assert reason(case, case.mara) == (2, 2, 0, 0)


def act(case, leased, who, chance):
    """Decide the item, skip or decline it, release it or keep it."""
    match chance.randrange(8):
        case 0:
            case.skip(leased, who)
        case 1:
            case.skip(leased, who, CANNOT_BE_JUDGED)
        case 2:
            case.release(leased, who)
        case 3:
            pass  # the person keeps the item
        case _:
            case.say(leased, who, chance.choice((CONFIRM, DISMISS, UNSURE)))


@on_sqlite
@pytest.mark.parametrize(
    "seed", [2, 4, 5, 10]
)  # which bring up 21 reasons; the first six bring up 19
def test_nothing_is_left_exactly_where_no_item_can_be_leased(case, seed):
    chance = random.Random(seed)
    case.queue(needed=2, repeat_rate=0.5, test_rate=0.3, lease_seconds=3_600)
    for _ in range(80):
        operation = chance.choice(("answer", "time", "adjudicate", *["review"] * 6))
        who = chance.choice(case.people)
        if operation == "answer":
            case.flagged(0.1)
        elif operation == "time":
            case.later(hours=chance.choice((0.5, 2, 200)))
        elif operation == "adjudicate":
            conflicts = [item for item in case.items() if item["state"] == ItemState.CONFLICT]
            if conflicts:
                case.adjudicate(conflicts[0]["id"])
        else:
            why = reason(case, who)
            leased = case.take(who)
            assert (why is None) == (leased is not None), f"{who.name}: {why}"
            if leased is not None:
                act(case, leased, who, chance)

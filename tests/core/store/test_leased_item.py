"""What is read of an item that somebody holds: its texts, and nothing that is to be hidden."""

import pytest

from engines import on_sqlite
from judgeboard.domain import QueueOrder
from judgeboard.reviews.leases import skip
from judgeboard.store.engine import Store
from judgeboard.store.hidden_rows import read_as
from judgeboard.store.items import load_item
from judgeboard.store.leases import own_progress
from queue_case import DISMISS, QueueCase, queue_case


@pytest.fixture
def case(store: Store) -> QueueCase:
    return queue_case(store)


def read(case: QueueCase, who, response_id: int):
    with case.store.reading() as connection:
        read_as(connection, who.id)
        return load_item(connection, response_id)


def test_who_holds_an_item_blind_reads_its_texts_alone_and_all_of_it_after_the_grade(case) -> None:
    (response_id,) = case.flagged(0.1)
    case.queue(order=QueueOrder.OLDEST, blind_judge=True, blind_people=True, needed=2)
    leased = case.lease(case.mara)
    case.review(case.jon, DISMISS, groundedness=0.5)
    found = read(case, case.mara, response_id)
    assert found.hidden.judge
    assert found.answer
    assert (found.judgments, found.currents, found.flags, found.reviews) == ((), (), (), ())
    assert read(case, case.ada, response_id).currents, "to whom it is not hidden it is there"
    case.say(leased, case.mara)
    found = read(case, case.mara, response_id)
    assert not found.hidden
    assert {review.reviewer for review in found.reviews} == {"Mara", "Jon"}
    assert found.currents


@on_sqlite
def test_how_much_is_left_leaves_out_what_one_did_skipped_or_others_hold(case) -> None:
    case.flagged(0.1, 0.2, 0.3, 0.4)
    queue = case.queue(needed=2).queue

    def place(who) -> tuple[int, int]:
        with case.store.reading() as connection:
            return own_progress(connection, queue.id, who.id, case.now)

    assert place(case.mara) == (0, 4)
    case.review(case.mara)
    assert place(case.mara) == (1, 3)
    skip(case.store, case.lease(case.mara).token, case.mara, now=case.now)
    assert place(case.mara) == (1, 2)
    leased = case.lease(case.mara)
    assert place(case.mara) == (1, 2), "what one holds is left too"
    case.review(case.jon)
    for who in (case.jon, case.ada):
        case.lease(who)
    assert place(case.jon) == (1, 3)
    assert leased

"""What is read of an item that somebody holds: its texts, and nothing that is to be hidden."""

import pytest

from judgeboard.domain import QueueOrder
from judgeboard.reviews.leases import skip
from judgeboard.store.engine import Store
from judgeboard.store.hidden_rows import read_as
from judgeboard.store.items import load_item
from judgeboard.store.leases import own_progress
from queue_desk import DISMISS, QueueDesk, queue_desk


@pytest.fixture
def desk(store: Store) -> QueueDesk:
    return queue_desk(store)


def read(desk: QueueDesk, who, response_id: int):
    with desk.store.reading() as connection:
        read_as(connection, who.id)
        return load_item(connection, response_id)


def test_who_holds_an_item_blind_reads_its_texts_alone_and_all_of_it_after_the_grade(desk) -> None:
    (response_id,) = desk.flagged(0.1)
    desk.queue(order=QueueOrder.OLDEST, blind_judge=True, blind_people=True, needed=2)
    held = desk.held(desk.mara)
    desk.review(desk.jon, DISMISS, groundedness=0.5)
    found = read(desk, desk.mara, response_id)
    assert found.hidden.judge
    assert found.answer
    assert (found.judgments, found.currents, found.flags, found.reviews) == ((), (), (), ())
    assert read(desk, desk.ada, response_id).currents, "to whom it is not hidden it is there"
    desk.say(held, desk.mara)
    found = read(desk, desk.mara, response_id)
    assert not found.hidden
    assert {review.reviewer for review in found.reviews} == {"Mara", "Jon"}
    assert found.currents


def test_how_much_is_left_leaves_out_what_one_did_skipped_or_others_hold(desk) -> None:
    desk.flagged(0.1, 0.2, 0.3, 0.4)
    queue = desk.queue(needed=2).queue

    def place(who) -> tuple[int, int]:
        with desk.store.reading() as connection:
            return own_progress(connection, queue.id, who.id, desk.now)

    assert place(desk.mara) == (0, 4)
    desk.review(desk.mara)
    assert place(desk.mara) == (1, 3)
    skip(desk.store, desk.held(desk.mara).token, desk.mara, now=desk.now)
    assert place(desk.mara) == (1, 2)
    held = desk.held(desk.mara)
    assert place(desk.mara) == (1, 2), "what one holds is left too"
    desk.review(desk.jon)
    for who in (desk.jon, desk.ada):
        desk.held(who)
    assert place(desk.jon) == (1, 3)
    assert held

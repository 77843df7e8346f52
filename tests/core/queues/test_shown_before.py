"""A review is blind only where its author could not have read of the answer before, as far as is stored."""

from typing import Any

import pytest

from judgeboard.domain import Decision, QueueOrder
from queue_desk import CONFIRM, DISMISS, QueueDesk

BLIND: dict[str, Any] = {"blind_judge": True, "blind_people": True, "order": QueueOrder.OLDEST}


def stamp(desk: QueueDesk) -> tuple[str | None, list[str]]:
    last = desk.reviews()[-1]
    return last["stage"], last["seen"]


@pytest.mark.parametrize("second", [CONFIRM, DISMISS])
def test_an_item_that_was_done_and_waits_again_lay_open_to_who_comes_then(desk: QueueDesk, second: Decision) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2, assigned=(desk.mara, desk.jon, desk.ada), **BLIND)
    first = desk.review(desk.mara, CONFIRM)
    desk.review(desk.jon, second)
    desk.undo(first.review_id, desk.mara)
    desk.later(minutes=11)
    desk.review(desk.ada)
    assert stamp(desk) == (None, ["judge", "people"])


def test_a_word_taken_back_before_the_item_was_done_opens_it_to_nobody(desk: QueueDesk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2, assigned=(desk.mara, desk.jon), **BLIND)
    first = desk.review(desk.mara)
    desk.undo(first.review_id, desk.mara)
    desk.review(desk.mara)
    desk.review(desk.jon)
    assert stamp(desk) == ("blind", [])


def test_who_took_an_answer_where_the_judge_is_in_sight_has_seen_it(desk: QueueDesk) -> None:
    desk.flagged(0.1)
    desk.queue("in sight", needed=2, blind_people=True)
    desk.held(desk.mara, "in sight")
    desk.later(minutes=1)
    desk.queue("blind", needed=2, **BLIND)
    desk.review(desk.mara, name="blind")
    assert stamp(desk) == (None, ["judge"])
    desk.review(desk.jon, name="blind")
    assert stamp(desk) == ("blind", [])


def test_what_was_hidden_already_when_it_was_taken_elsewhere_stays_blind(desk: QueueDesk) -> None:
    desk.flagged(0.1)
    desk.queue("blind", needed=2, assigned=(desk.mara,), **BLIND)
    desk.queue("in sight", needed=2)
    desk.later(minutes=1)
    desk.held(desk.mara, "in sight")
    desk.review(desk.mara, name="blind")
    assert stamp(desk) == ("blind", [])

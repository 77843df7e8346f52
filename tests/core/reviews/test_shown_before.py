"""A review is blind only where its author could not have read of the answer before, as far as is stored."""

from typing import Any

import pytest

from engines import on_sqlite
from judgeboard.domain import Decision, QueueOrder
from queue_case import CONFIRM, DISMISS, QueueCase

BLIND: dict[str, Any] = {"blind_judge": True, "blind_people": True, "order": QueueOrder.OLDEST}


def stamp(case: QueueCase) -> tuple[str | None, list[str]]:
    last = case.reviews()[-1]
    return last["stage"], last["seen"]


@pytest.mark.parametrize("second", [CONFIRM, DISMISS])
def test_an_item_that_was_done_and_waits_again_lay_open_to_who_comes_then(case: QueueCase, second: Decision) -> None:
    case.flagged(0.1)
    case.queue(needed=2, assigned=(case.mara, case.jon, case.ada), **BLIND)
    first = case.review(case.mara, CONFIRM)
    case.review(case.jon, second)
    case.undo(first.review_id, case.mara)
    case.later(minutes=11)
    case.review(case.ada)
    assert stamp(case) == (None, ["judge", "people"])


@on_sqlite
def test_a_word_taken_back_before_the_item_was_done_opens_it_to_nobody(case: QueueCase) -> None:
    case.flagged(0.1)
    case.queue(needed=2, assigned=(case.mara, case.jon), **BLIND)
    first = case.review(case.mara)
    case.undo(first.review_id, case.mara)
    case.review(case.mara)
    case.review(case.jon)
    assert stamp(case) == ("blind", [])


@on_sqlite
def test_who_took_an_answer_where_the_judge_is_in_sight_has_seen_it(case: QueueCase) -> None:
    case.flagged(0.1)
    case.queue("in sight", needed=2, blind_people=True)
    case.lease(case.mara, "in sight")
    case.later(minutes=1)
    case.queue("blind", needed=2, **BLIND)
    case.review(case.mara, name="blind")
    assert stamp(case) == (None, ["judge"])
    case.review(case.jon, name="blind")
    assert stamp(case) == ("blind", [])


@on_sqlite
def test_what_was_hidden_already_when_it_was_taken_elsewhere_stays_blind(case: QueueCase) -> None:
    case.flagged(0.1)
    case.queue("blind", needed=2, assigned=(case.mara,), **BLIND)
    case.queue("in sight", needed=2)
    case.later(minutes=1)
    case.lease(case.mara, "in sight")
    case.review(case.mara, name="blind")
    assert stamp(case) == ("blind", [])

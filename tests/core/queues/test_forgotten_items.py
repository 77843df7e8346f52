"""A forgotten answer is in nobody's hands any more, and nothing is written about it again."""

import pytest

from judgeboard.domain import Grade
from judgeboard.errors import DecisionRefused
from judgeboard.reviews.changes import comment, edit_comment
from judgeboard.reviews.decisions import grade
from judgeboard.store.forgetting import forget_response
from queue_desk import QueueDesk


def forget(desk: QueueDesk, named: str) -> None:
    with desk.store.writing() as connection:
        forget_response(connection, named, actor="me")


def test_who_holds_a_forgotten_answer_cannot_write_its_text_down_again(desk: QueueDesk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2)
    held = desk.held(desk.mara)
    forget(desk, "a0")
    for said in ({"note": "it said Quokka"}, {"corrected_answer": "Quokka"}):
        with pytest.raises(DecisionRefused, match="texts of a0 were deleted"):
            desk.say(held, desk.mara, **said)
    with pytest.raises(DecisionRefused, match="left its queue"):
        desk.say(held, desk.mara)
    assert desk.reviews() == []


def test_a_forgotten_answer_is_handed_to_nobody_whatever_comes_to_match(desk: QueueDesk) -> None:
    forgotten, other = desk.flagged(0.1, 0.2)
    desk.queue(needed=2)
    desk.held(desk.mara)
    forget(desk, "a0")
    desk.judge(forgotten, 0.05, version=2)
    assert desk.item_states() == ["left", "open"]
    assert desk.held(desk.mara).response_id == desk.held(desk.jon).response_id == other
    desk.queue("later")
    assert desk.held(desk.ada, "later").response_id == other


def test_a_grade_of_a_forgotten_answer_takes_no_text(desk: QueueDesk) -> None:
    (response_id,) = desk.add("a0")
    forget(desk, "a0")
    with pytest.raises(DecisionRefused, match="texts of a0 were deleted"):
        grade(
            desk.store,
            response_id=response_id,
            reviewer=desk.mara,
            grade=Grade(note="it said Quokka"),
            request_key="k",
        )


def test_a_forgotten_answer_takes_no_comment_and_one_on_it_is_not_changed(desk: QueueDesk) -> None:
    (response_id,) = desk.add("a0")
    said = comment(desk.store, response_id=response_id, reviewer=desk.mara, text="look", request_key="1")
    forget(desk, "a0")
    with pytest.raises(DecisionRefused, match="texts of a0 were deleted"):
        comment(desk.store, response_id=response_id, reviewer=desk.mara, text="Quokka", request_key="2")
    with pytest.raises(DecisionRefused, match="already been edited or withdrawn"):
        edit_comment(desk.store, comment_id=said, reviewer=desk.mara, text="Quokka", request_key="3")

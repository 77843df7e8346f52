"""Any answer can be graded; grading again replaces one's own grade."""

import pytest
from sqlalchemy import text

from judgeboard.domain import Decision, Label
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.store.events import record_event
from review_desk import Desk


def test_an_answer_without_a_flag_can_be_graded(desk: Desk) -> None:
    review_id = desk.grade(desk.mara, label=Label.GROUNDED, quality=4, seconds=3.0)
    (review,) = desk.reviews()
    assert (review["id"], review["flag_id"], review["decision"], review["label"]) == (review_id, None, None, "grounded")
    assert desk.events() == [("grade", "Mara")]


def test_grading_again_replaces_ones_own_grade_only(desk: Desk) -> None:
    first, others = desk.grade(desk.mara, quality=2), desk.grade(desk.jon, quality=1)
    second = desk.grade(desk.mara, groundedness=0.8)
    assert [(row["id"], row["replaces"]) for row in desk.reviews()] == [(first, None), (others, None), (second, first)]
    assert [row["id"] for row in desk.standing()] == [others, second]


def test_a_grade_does_not_replace_a_decision(desk: Desk) -> None:
    flag = desk.judge(0.1)
    desk.decide(flag, desk.mara, Decision.CONFIRM)
    desk.grade(desk.mara, quality=1)
    assert [row["decision"] for row in desk.standing()] == ["confirm", None]
    assert desk.state(flag) == "confirmed"


def test_a_grade_does_not_close_a_flag(desk: Desk) -> None:
    flag = desk.judge(0.1)
    desk.grade(desk.mara, label=Label.HALLUCINATED)
    assert desk.state(flag) == "open"


def test_the_same_press_twice_is_one_grade(desk: Desk) -> None:
    first = desk.grade(desk.mara, quality=2, request_key="pressed")
    assert desk.grade(desk.mara, quality=2, request_key="pressed") == first
    assert len(desk.reviews()) == 1
    with pytest.raises(BadInput, match="another review"):
        desk.grade(desk.jon, quality=2, request_key="pressed")


def test_a_note_alone_is_worth_saving_but_nothing_is_not(desk: Desk) -> None:
    desk.grade(desk.mara, note="see page 3")
    with pytest.raises(BadInput, match="nothing to save"):
        desk.grade(desk.mara, note="   ")
    assert len(desk.reviews()) == 1


def test_an_answer_that_is_not_there_is_said(desk: Desk) -> None:
    desk.response_id = 99
    with pytest.raises(NotFound, match="no answer 99"):
        desk.grade(desk.mara, quality=1)


def test_a_grade_taken_back_leaves_nothing_standing(desk: Desk) -> None:
    desk.grade(desk.mara, quality=2)
    second = desk.grade(desk.mara, quality=3)
    undone = desk.undo(second, desk.mara)
    assert undone.message == (
        "Undone: your grade of ragtruth-12260 is withdrawn. Your earlier grade is in the history."
    )
    assert (undone.flag_id, undone.reopened) == (None, False)
    assert desk.standing() == []
    third = desk.grade(desk.mara, quality=4)
    assert [row["id"] for row in desk.standing()] == [third]


def test_a_grade_of_a_forgotten_answer_takes_no_spans(desk: Desk) -> None:
    with desk.store.writing() as connection:
        record_event(connection, "forget", "test", response_id=desk.response_id)
        connection.execute(text("UPDATE response SET query = NULL, answer = NULL, passages = NULL"))
    with pytest.raises(BadInput, match="0 characters"):
        desk.grade(desk.mara, spans=({"start": 0, "end": 1},))
    desk.grade(desk.mara, quality=1)


def test_undoing_a_replaced_grade_is_refused(desk: Desk) -> None:
    first = desk.grade(desk.mara, quality=2)
    desk.grade(desk.mara, quality=3)
    with pytest.raises(DecisionRefused, match="newer review"):
        desk.undo(first, desk.mara)

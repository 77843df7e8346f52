"""Any answer can be graded; grading again replaces one's own grade."""

import pytest
from sqlalchemy import text

from engines import on_sqlite
from judgeboard.errors import BadInput, NotFound
from judgeboard.store.events import record_event
from queue_case import CONFIRM
from result_fields import check_fields
from stored_rows import columns


@on_sqlite
def test_an_answer_without_a_flag_can_be_graded(team):
    review_id = team.grade(team.mara, label="grounded", quality=4, seconds=3.0)
    (review,) = team.reviews()
    check_fields(review, id=review_id, flag_ids=(), decision=None, label="grounded")
    assert team.events() == [("grade", "Mara")]


@on_sqlite
def test_grading_again_replaces_ones_own_grade_only(team):
    first, others = team.grade(team.mara, quality=2), team.grade(team.jon, quality=1)
    second = team.grade(team.mara, groundedness=0.8)
    assert columns(team.reviews(), "id", "replaces") == [
        (first, None),
        (others, None),
        (second, first),
    ]
    assert columns(team.standing(), "id") == [others, second]


@on_sqlite
def test_a_grade_does_not_replace_a_decision(team):
    flag = team.judge(0.1)
    team.decide(flag, team.mara, CONFIRM)
    team.grade(team.mara, quality=1)
    assert columns(team.standing(), "decision") == ["confirm", None]
    assert team.state(flag) == "confirmed"


@on_sqlite
def test_the_same_press_twice_is_one_grade(team):
    press = {"quality": 2, "request_key": "pressed"}
    assert team.grade(team.mara, **press) == team.grade(team.mara, **press)
    assert len(team.reviews()) == 1
    with pytest.raises(BadInput, match="another review"):
        team.grade(team.jon, **press)


@on_sqlite
def test_a_note_alone_is_worth_saving_but_nothing_is_not(team):
    team.grade(team.mara, note="see page 3")
    with pytest.raises(BadInput, match="nothing to save"):
        team.grade(team.mara, note="   ")
    assert len(team.reviews()) == 1


@on_sqlite
def test_an_answer_that_is_not_there_is_said(team):
    team.response_id = 99
    with pytest.raises(NotFound, match="no answer 99"):
        team.grade(team.mara, quality=1)


@on_sqlite
def test_a_grade_taken_back_leaves_nothing_standing(team):
    team.grade(team.mara, quality=2)
    second = team.grade(team.mara, quality=3)
    assert team.undo(second, team.mara).code == "undone_grade"
    assert team.standing() == []
    third = team.grade(team.mara, quality=4)
    assert columns(team.standing(), "id") == [third]


@on_sqlite
def test_a_grade_of_a_forgotten_answer_takes_no_spans(team):
    with team.store.writing() as connection:
        record_event(connection, "forget", "test", response_id=team.response_id)
        connection.execute(text("UPDATE response SET query = NULL, answer = NULL, passages = NULL"))
    with pytest.raises(BadInput, match="0 characters"):
        team.grade(team.mara, spans=({"start": 0, "end": 1},))
    team.grade(team.mara, quality=1)

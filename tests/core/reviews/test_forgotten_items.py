"""A forgotten answer is in nobody's hands any more, and nothing is written about it again."""

import pytest

from engines import on_sqlite
from judgeboard.errors import DecisionRefused
from judgeboard.reviews.changes import comment
from judgeboard.store.forgetting import forget_response
from stored_rows import write_to


def forget(case):
    write_to(case.store, forget_response, "a0", actor="me")


def test_who_holds_a_forgotten_answer_cannot_write_its_text_down_again(case):
    case.queue_of(0.1, needed=2)
    leased = case.lease(case.mara)
    forget(case)
    for said in ({"note": "it said Quokka"}, {"corrected_answer": "Quokka"}):
        with pytest.raises(DecisionRefused, match="a0"):
            case.say(leased, case.mara, **said)
    with pytest.raises(DecisionRefused, match="left its queue"):
        case.say(leased, case.mara)
    assert case.reviews() == []


@on_sqlite
def test_a_forgotten_answer_is_handed_to_nobody_whatever_comes_to_match(case):
    forgotten, other = case.flagged(0.1, 0.2)
    case.queue(needed=2)
    case.lease(case.mara)
    forget(case)
    case.judge(forgotten, 0.05, version=2)
    assert case.item_states() == ["left", "open"]
    assert case.lease(case.mara).response_id == case.lease(case.jon).response_id == other
    case.queue("later")
    assert case.lease(case.ada, "later").response_id == other


def test_a_grade_of_a_forgotten_answer_takes_no_text(case):
    (response_id,) = case.add("a0")
    forget(case)
    with pytest.raises(DecisionRefused, match="a0"):
        case.grade(response_id, case.mara, note="it said Quokka")


@on_sqlite
def test_a_forgotten_answer_takes_no_comment_and_one_on_it_is_not_changed(case):
    (response_id,) = case.add("a0")
    comment_id = case.comment(response_id, case.mara, "look")
    forget(case)
    with pytest.raises(DecisionRefused, match="a0"):
        case.comment(response_id, case.mara, "Quokka")
    with pytest.raises(DecisionRefused):
        comment(case.store, replaces=comment_id, reviewer=case.mara, text="Quokka", request_key="3")

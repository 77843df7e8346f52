"""Taking a review back: whose, when, and what becomes of its flag."""

from datetime import timedelta

import pytest

from judgeboard.domain import Decision, FlagState, Grade
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.reviews.changes import Undone
from review_desk import NOW, Desk


@pytest.mark.parametrize("decision", [Decision.CONFIRM, Decision.DISMISS])
def test_undo_opens_the_flag_again(desk: Desk, flag: int, decision) -> None:
    decided = desk.decide(flag, desk.mara, decision)
    undone = desk.undo(decided.review_id, desk.mara)
    assert undone == Undone(
        desk.response_id,
        None,
        flag,
        reopened=True,
        item_state=None,
        message="Undone: ragtruth-12260 is open again.",
    )
    assert desk.state(flag) == "open"
    assert desk.standing() == []
    assert [(row["decision"], row["replaces"]) for row in desk.reviews()] == [
        (decision, None),
        ("withdrawn", decided.review_id),
    ]
    assert desk.events() == [("decide", "Mara"), ("undo", "Mara")]
    assert desk.decide(flag, desk.jon, Decision.CONFIRM).state is FlagState.CONFIRMED


def test_undo_gives_an_unsure_flag_back(desk: Desk, flag: int) -> None:
    unsure = desk.decide(flag, desk.mara, Decision.UNSURE)
    undone = desk.undo(unsure.review_id, desk.mara)
    assert undone.message == "Undone: ragtruth-12260 is in your queue again."
    assert not undone.reopened
    assert desk.standing() == []


def test_undo_does_not_bring_an_earlier_doubt_back(desk: Desk, flag: int) -> None:
    desk.decide(flag, desk.mara, Decision.UNSURE)
    sure = desk.decide(flag, desk.mara, Decision.CONFIRM)
    assert desk.undo(sure.review_id, desk.mara).reopened
    assert desk.standing() == []


def test_the_same_undo_twice_counts_once(desk: Desk, flag: int) -> None:
    decided = desk.decide(flag, desk.mara, Decision.CONFIRM)
    first = desk.undo(decided.review_id, desk.mara, request_key="undo")
    assert desk.undo(decided.review_id, desk.mara, request_key="undo") == first
    assert len(desk.reviews()) == 2


def test_another_undo_of_the_same_review_is_refused(desk: Desk, flag: int) -> None:
    decided = desk.decide(flag, desk.mara, Decision.CONFIRM)
    desk.undo(decided.review_id, desk.mara)
    with pytest.raises(DecisionRefused, match="undone already"):
        desk.undo(decided.review_id, desk.mara)
    with pytest.raises(DecisionRefused, match="undone already"):
        desk.undo(desk.reviews()[-1]["id"], desk.mara)


def test_only_ones_own_review_can_be_taken_back(desk: Desk, flag: int) -> None:
    decided = desk.decide(flag, desk.mara, Decision.CONFIRM)
    with pytest.raises(DecisionRefused, match="Mara's review: only Mara"):
        desk.undo(decided.review_id, desk.jon)
    assert desk.state(flag) == "confirmed"


def test_a_flag_is_not_reopened_beside_a_newer_one(desk: Desk, flag: int) -> None:
    decided = desk.decide(flag, desk.mara, Decision.CONFIRM)
    newer = desk.judge(0.2, version=2)
    assert (newer != flag, desk.state(newer)) == (True, "open")
    undone = desk.undo(decided.review_id, desk.mara)
    assert undone.message == "Cannot reopen: a newer flag is open on this answer."
    assert not undone.reopened
    assert (desk.state(flag), desk.state(newer)) == ("superseded", "open")
    assert desk.standing() == []


def test_a_newer_flag_that_is_decided_does_not_stand_in_the_way(desk: Desk, flag: int) -> None:
    decided = desk.decide(flag, desk.mara, Decision.CONFIRM)
    newer = desk.judge(0.2, version=2)
    desk.decide(newer, desk.jon, Decision.DISMISS)
    assert desk.undo(decided.review_id, desk.mara).reopened
    assert (desk.state(flag), desk.state(newer)) == ("open", "dismissed")


def test_a_kept_draft_can_be_taken_back_without_touching_the_flag(desk: Desk, flag: int) -> None:
    desk.decide(flag, desk.jon, Decision.CONFIRM)
    with pytest.raises(DecisionRefused):
        desk.decide(flag, desk.mara, Decision.DISMISS, grade=Grade(quality=4))
    draft = desk.reviews()[-1]
    assert not desk.undo(draft["id"], desk.mara).reopened
    assert desk.state(flag) == "confirmed"


def test_undoing_a_doubt_leaves_anothers_decision_alone(desk: Desk, flag: int) -> None:
    unsure = desk.decide(flag, desk.mara, Decision.UNSURE)
    desk.decide(flag, desk.jon, Decision.CONFIRM)
    desk.undo(unsure.review_id, desk.mara)
    assert desk.state(flag) == "confirmed"


def test_the_refusal_after_an_undo_names_the_new_decision(desk: Desk, flag: int) -> None:
    first = desk.decide(flag, desk.jon, Decision.CONFIRM)
    desk.undo(first.review_id, desk.jon)
    desk.decide(flag, desk.jon, Decision.DISMISS, now=NOW + timedelta(hours=1))
    with pytest.raises(DecisionRefused, match="Jon dismissed ragtruth-12260 at 10:41 UTC"):
        desk.decide(flag, desk.mara, Decision.CONFIRM, now=NOW + timedelta(hours=2))


def test_a_key_of_another_press_is_refused(desk: Desk, flag: int) -> None:
    decided = desk.decide(flag, desk.mara, Decision.CONFIRM, request_key="pressed")
    with pytest.raises(BadInput, match="another review"):
        desk.undo(decided.review_id, desk.mara, request_key="pressed")
    assert desk.state(flag) == "confirmed"


def test_a_review_that_is_not_there_is_said(desk: Desk) -> None:
    with pytest.raises(NotFound, match="no review 5"):
        desk.undo(5, desk.mara)

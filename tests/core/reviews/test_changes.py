"""Changes of one's own review: another row, or undone; the flag follows."""

from datetime import timedelta

import pytest

from engines import on_sqlite
from judgeboard.domain import Decision, Grade
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.store.items import load_item
from queue_case import CONFIRM, DISMISS, UNSURE
from result_fields import check_fields
from review_case import NOW
from stored_rows import columns


@pytest.fixture
def confirmed(team, flag):
    """The id of the review in which Mara confirms the flag."""
    return team.decide(flag, team.mara, CONFIRM).review_id


@on_sqlite
@pytest.mark.parametrize(
    ("first", "then", "state"),
    [
        (CONFIRM, DISMISS, "dismissed"),
        (DISMISS, CONFIRM, "confirmed"),
        (CONFIRM, CONFIRM, "confirmed"),
        (CONFIRM, UNSURE, "open"),
        (UNSURE, DISMISS, "dismissed"),
    ],
)
def test_a_changed_mind_is_another_row_and_the_flag_follows(team, flag, first, then, state):
    before = team.decide(flag, team.mara, first, grade=Grade(quality=1, note="no")).review_id
    team.change(before, team.mara, then, quality=3)
    assert team.state(flag) == state
    old, new = team.reviews()
    # What was said first stays.
    check_fields(old, quality=1, note="no")
    check_fields(new, replaces=before, decision=then, quality=3, note=None)
    assert team.events()[-1] == ("edit", "Mara")


@on_sqlite
def test_a_grade_is_changed_without_a_flag(team):
    before = team.grade(team.mara, quality=1)
    team.change(before, team.mara, groundedness=0.5)
    assert columns(team.standing(), "quality", "groundedness") == [(None, 0.5)]


def test_what_is_unsure_now_is_superseded_where_a_newer_flag_waits(team, flag, confirmed):
    newer = team.judge(0.2, version=2)
    team.change(confirmed, team.mara, UNSURE)
    assert (team.state(flag), team.state(newer)) == ("superseded", "open")


@on_sqlite
def test_only_ones_own_that_stands_is_changed(team, flag, confirmed):
    with pytest.raises(DecisionRefused, match="Mara"):
        team.change(confirmed, team.jon, DISMISS)
    second = team.change(confirmed, team.mara, DISMISS)
    with pytest.raises(DecisionRefused, match="newer review"):
        team.change(confirmed, team.mara, CONFIRM)
    team.undo(second, team.mara)
    with pytest.raises(DecisionRefused, match="undone already"):
        team.change(second, team.mara, CONFIRM)
    with pytest.raises(NotFound, match="no review 99"):
        team.change(99, team.mara, CONFIRM)
    assert team.state(flag) == "open"


@on_sqlite
def test_a_word_on_a_flag_stays_one_and_a_grade_says_something(team, confirmed):
    grade = team.grade(team.mara, quality=1)
    for review_id, word in ((confirmed, None), (confirmed, Decision.WITHDRAWN), (grade, CONFIRM)):
        with pytest.raises(BadInput):
            team.change(review_id, team.mara, word, quality=2)
    with pytest.raises(BadInput, match="nothing to save"):
        team.change(grade, team.mara)


@on_sqlite
def test_the_same_press_twice_is_one_change(team, confirmed):
    press = {"decision": DISMISS, "request_key": "pressed"}
    one, again = (team.change(confirmed, team.mara, **press) for _ in range(2))
    assert one == again
    assert len(team.reviews()) == 2
    reviews = team.read(load_item, team.response_id).reviews
    assert [review.stands for review in reviews] == [True, False]


def undone(team, review_id):
    told = team.undo(review_id, team.mara)
    assert told.values["answer"] == "ragtruth-12260"
    return told.code


@on_sqlite
@pytest.mark.parametrize("decision", [CONFIRM, DISMISS])
def test_undo_opens_the_flag_again(team, flag, decision):
    decided = team.decide(flag, team.mara, decision)
    assert undone(team, decided.review_id) == "undone_open"
    assert team.state(flag) == "open"
    assert team.standing() == []
    assert columns(team.reviews(), "decision", "replaces") == [
        (decision, None),
        ("withdrawn", decided.review_id),
    ]
    assert team.events() == [("decide", "Mara"), ("undo", "Mara")]
    team.decide(flag, team.jon, CONFIRM)
    assert team.state(flag) == "confirmed"


@on_sqlite
def test_undo_gives_an_unsure_flag_back(team, flag):
    unsure = team.decide(flag, team.mara, UNSURE)
    assert undone(team, unsure.review_id) == "undone_unsure"
    assert team.standing() == []


@on_sqlite
def test_undo_does_not_bring_an_earlier_doubt_back(team, flag):
    team.decide(flag, team.mara, UNSURE)
    sure = team.decide(flag, team.mara, CONFIRM)
    assert undone(team, sure.review_id) == "undone_open"
    assert team.standing() == []


@on_sqlite
def test_the_same_undo_twice_counts_once(team, confirmed):
    first, again = (team.undo(confirmed, team.mara, request_key="undo") for _ in range(2))
    assert first == again
    assert len(team.reviews()) == 2


@on_sqlite
def test_only_ones_own_review_can_be_taken_back(team, flag, confirmed):
    with pytest.raises(DecisionRefused, match="Mara"):
        team.undo(confirmed, team.jon)
    assert team.state(flag) == "confirmed"


@on_sqlite
def test_a_flag_is_not_reopened_beside_a_newer_one(team, flag, confirmed):
    newer = team.judge(0.2, version=2)
    assert (newer != flag, team.state(newer)) == (True, "open")
    assert undone(team, confirmed) == "undone_superseded"
    assert (team.state(flag), team.state(newer)) == ("superseded", "open")
    assert team.standing() == []


@on_sqlite
def test_a_newer_flag_that_is_decided_does_not_stand_in_the_way(team, flag, confirmed):
    newer = team.judge(0.2, version=2)
    team.decide(newer, team.jon, DISMISS)
    assert undone(team, confirmed) == "undone_open"
    assert (team.state(flag), team.state(newer)) == ("open", "dismissed")


@on_sqlite
def test_a_kept_note_can_be_taken_back_without_touching_the_flag(team, flag):
    team.decide(flag, team.jon, CONFIRM)
    with pytest.raises(DecisionRefused):
        team.decide(flag, team.mara, DISMISS, grade=Grade(note="Why?"))
    kept = team.reviews()[-1]
    assert undone(team, kept["id"]) == "undone_grade"
    assert team.state(flag) == "confirmed"


@on_sqlite
def test_undoing_a_doubt_leaves_anothers_decision_alone(team, flag):
    unsure = team.decide(flag, team.mara, UNSURE)
    team.decide(flag, team.jon, CONFIRM)
    team.undo(unsure.review_id, team.mara)
    assert team.state(flag) == "confirmed"


@on_sqlite
def test_the_refusal_after_an_undo_names_the_new_decision(team, flag):
    first = team.decide(flag, team.jon, CONFIRM)
    team.undo(first.review_id, team.jon)
    team.decide(flag, team.jon, DISMISS, at=NOW + timedelta(hours=1))
    with pytest.raises(DecisionRefused, match=r"dismissed by Jon.* 10:41 UTC"):
        team.decide(flag, team.mara, CONFIRM, at=NOW + timedelta(hours=2))


@on_sqlite
def test_a_key_of_another_press_is_refused(team, flag):
    decided = team.decide(flag, team.mara, CONFIRM, request_key="pressed")
    with pytest.raises(BadInput, match="another review"):
        team.undo(decided.review_id, team.mara, request_key="pressed")
    assert team.state(flag) == "confirmed"

"""A flag is decided once; what came with a refused press is kept."""

from datetime import timedelta

import pytest

from judgeboard.domain import Decision, FlagState, Grade, Label
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.reviews.checks import ensure_reviewer
from judgeboard.reviews.decisions import Decided
from judgeboard.store.reviewers import Reviewer
from review_desk import ANSWER, NOW, Desk

GRADE = Grade(
    label=Label.HALLUCINATED,
    groundedness=0.5,
    quality=2,
    spans=({"start": 4, "end": 8, "why": "wrong"},),
    note="The length is not there.",
    corrected_answer="60 m",
)


@pytest.mark.parametrize(
    ("decision", "state"),
    [(Decision.CONFIRM, "confirmed"), (Decision.DISMISS, "dismissed"), (Decision.UNSURE, "open")],
)
def test_a_decision_is_one_review_with_everything_given(desk: Desk, flag: int, decision, state) -> None:
    seen = desk.flags()[0]["judgment_id"]
    decided = desk.decide(flag, desk.mara, decision, grade=GRADE, judgment_seen_id=seen, seconds=12.5)
    assert decided == Decided(decided.review_id, flag, FlagState(state), repeated=False)
    assert desk.state(flag) == state
    (review,) = desk.reviews()
    assert review["decision"] == decision
    assert (review["label"], review["groundedness"], review["quality"]) == ("hallucinated", 0.5, 2)
    assert review["spans"] == [{"start": 4, "end": 8, "why": "wrong"}]
    assert (review["note"], review["corrected_answer"]) == ("The length is not there.", "60 m")
    assert (review["judgment_seen_id"], review["seconds"], review["at"]) == (seen, 12.5, NOW)
    assert desk.events() == [("decide", "Mara")]


def test_the_same_press_twice_counts_once(desk: Desk, flag: int) -> None:
    first = desk.decide(flag, desk.mara, Decision.CONFIRM, request_key="pressed")
    again = desk.decide(flag, desk.mara, Decision.CONFIRM, request_key="pressed")
    assert again == Decided(first.review_id, flag, FlagState.CONFIRMED, repeated=True)
    assert len(desk.reviews()) == 1


def test_a_repeated_press_answers_what_it_did_even_after_an_undo(desk: Desk, flag: int) -> None:
    first = desk.decide(flag, desk.mara, Decision.CONFIRM, request_key="pressed")
    desk.undo(first.review_id, desk.mara)
    again = desk.decide(flag, desk.mara, Decision.CONFIRM, request_key="pressed")
    assert (again.review_id, again.repeated) == (first.review_id, True)
    assert desk.state(flag) == "open"


def test_a_key_of_another_press_is_refused(desk: Desk, flag: int) -> None:
    desk.decide(flag, desk.mara, Decision.UNSURE, request_key="pressed")
    for by, decision in ((desk.jon, Decision.UNSURE), (desk.mara, Decision.CONFIRM)):
        with pytest.raises(BadInput, match="belongs to another review"):
            desk.decide(flag, by, decision, request_key="pressed")
    with pytest.raises(BadInput, match="belongs to another review"):
        desk.grade(desk.mara, quality=3, request_key="pressed")
    assert desk.state(flag) == "open"


def test_the_second_decision_is_refused_with_who_what_and_when(desk: Desk, flag: int) -> None:
    desk.decide(flag, desk.jon, Decision.CONFIRM)
    with pytest.raises(DecisionRefused) as refused:
        desk.decide(flag, desk.mara, Decision.DISMISS, now=NOW + timedelta(minutes=3))
    assert str(refused.value) == "Jon confirmed ragtruth-12260 at 09:41 UTC."
    with pytest.raises(DecisionRefused) as refused:
        desk.decide(flag, desk.jon, Decision.DISMISS, now=NOW + timedelta(days=40))
    assert str(refused.value) == "You confirmed ragtruth-12260 on 1 March at 09:41 UTC."
    assert [review["decision"] for review in desk.reviews()] == ["confirm"]
    assert desk.state(flag) == "confirmed"


def test_what_came_with_a_refused_decision_is_kept(desk: Desk, flag: int) -> None:
    desk.decide(flag, desk.jon, Decision.DISMISS)
    for _ in range(2):  # pressed twice: kept once
        with pytest.raises(DecisionRefused, match=r"Your note is kept\.$"):
            desk.decide(flag, desk.mara, Decision.CONFIRM, grade=GRADE, request_key="late")
    decided, kept = desk.reviews()
    assert (kept["decision"], kept["flag_id"], kept["reviewer_id"]) == (None, flag, desk.mara.id)
    assert (kept["note"], kept["groundedness"], kept["corrected_answer"]) == (GRADE.note, 0.5, "60 m")
    assert desk.standing() == [decided, kept]
    assert desk.events() == [("decide", "Jon"), ("keep_draft", "Mara")]


def test_the_last_draft_of_several_refused_presses_stands(desk: Desk, flag: int) -> None:
    desk.decide(flag, desk.jon, Decision.DISMISS)
    for quality in (1, 2):
        with pytest.raises(DecisionRefused, match="Your grade is kept"):
            desk.decide(flag, desk.mara, Decision.CONFIRM, grade=Grade(quality=quality))
    assert [review["quality"] for review in desk.standing()] == [None, 2]


def test_a_superseded_flag_says_that_a_newer_verdict_came(desk: Desk, flag: int) -> None:
    desk.judge(0.9)
    assert desk.state(flag) == "superseded"
    with pytest.raises(DecisionRefused) as refused:
        desk.decide(flag, desk.mara, Decision.CONFIRM)
    assert str(refused.value) == "A newer judgment replaced this flag on ragtruth-12260."
    assert desk.reviews() == []


def test_a_newer_judgment_does_not_refuse_while_the_flag_is_open(desk: Desk, flag: int) -> None:
    seen = desk.flags()[0]["judgment_id"]
    desk.judge(0.2)
    assert desk.state(flag) == "open"
    desk.decide(flag, desk.mara, Decision.CONFIRM, judgment_seen_id=seen)
    assert desk.reviews()[0]["judgment_seen_id"] == seen


def test_a_later_decision_replaces_being_unsure(desk: Desk, flag: int) -> None:
    unsure = desk.decide(flag, desk.mara, Decision.UNSURE, grade=Grade(note="hm"))
    again = desk.decide(flag, desk.mara, Decision.UNSURE)
    sure = desk.decide(flag, desk.mara, Decision.DISMISS)
    assert [review["replaces"] for review in desk.reviews()] == [None, unsure.review_id, again.review_id]
    assert [review["id"] for review in desk.standing()] == [sure.review_id]


def test_somebody_elses_doubt_stands_beside_a_decision(desk: Desk, flag: int) -> None:
    desk.decide(flag, desk.mara, Decision.UNSURE)
    desk.decide(flag, desk.jon, Decision.CONFIRM)
    assert [review["decision"] for review in desk.standing()] == ["unsure", "confirm"]


def test_blank_texts_are_nothing(desk: Desk, flag: int) -> None:
    desk.decide(flag, desk.mara, Decision.CONFIRM, grade=Grade(note="  \n", corrected_answer=" ", spans=()))
    (review,) = desk.reviews()
    assert (review["note"], review["corrected_answer"], review["spans"]) == (None, None, None)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"grade": Grade(spans=({"start": 0, "end": len(ANSWER) + 1},))}, "22 characters"),
        ({"grade": Grade(spans=({"start": 4, "end": 4},))}, "not 4 to 4"),
        ({"grade": Grade(spans=({"start": -1, "end": 4},))}, "not -1 to 4"),
        ({"grade": Grade(spans=({"start": 0, "end": 2.5},))}, "not 0 to 2.5"),
        ({"grade": Grade(spans=({"end": 3},))}, "not None to 3"),
        ({"grade": Grade(spans=({"start": 0, "end": 3, "text": "a\x00"},))}, "text of a span .* NUL"),
        ({"grade": Grade(note="a\x00b")}, "note cannot be stored: NUL at character 2"),
        ({"grade": Grade(corrected_answer="\ud800")}, "corrected answer cannot be stored"),
        ({"judgment_seen_id": 999}, "judgment 999 does not belong to ragtruth-12260"),
        ({"seconds": -1}, "number of seconds"),
        ({"seconds": float("nan")}, "number of seconds"),
        ({"request_key": ""}, "request key"),
        ({"request_key": "k" * 201}, "request key"),
        ({"decision": Decision.WITHDRAWN}, "undo"),
    ],
)
def test_what_cannot_be_used_changes_nothing(sqlite_desk: Desk, given, said) -> None:
    flag = sqlite_desk.judge(0.3)
    given = {"decision": Decision.CONFIRM} | given
    with pytest.raises(BadInput, match=said):
        sqlite_desk.decide(flag, sqlite_desk.mara, **given)
    assert sqlite_desk.reviews() == []
    assert sqlite_desk.state(flag) == "open"


def test_the_last_character_can_be_marked(sqlite_desk: Desk) -> None:
    flag = sqlite_desk.judge(0.3)
    whole = {"start": 0, "end": len(ANSWER)}
    sqlite_desk.decide(flag, sqlite_desk.mara, Decision.CONFIRM, grade=Grade(spans=(whole,)))
    assert sqlite_desk.reviews()[0]["spans"] == [whole]


def test_a_flag_that_is_not_there_is_said(desk: Desk) -> None:
    with pytest.raises(NotFound, match="no flag 77"):
        desk.decide(77, desk.mara, Decision.CONFIRM)


def test_a_reviewer_is_one_person_however_the_name_is_spaced(desk: Desk) -> None:
    assert ensure_reviewer(desk.store, "page", "  Mara ") == desk.mara
    assert ensure_reviewer(desk.store, "import", "Mara").id != desk.mara.id
    assert desk.mara == Reviewer(desk.mara.id, "page", "Mara", "reviewer")


@pytest.mark.parametrize("name", ["", "  ", "a" * 81, "a\u202eb"])
def test_a_name_that_cannot_be_shown_is_refused(sqlite_desk: Desk, name: str) -> None:
    with pytest.raises(BadInput, match="reviewer"):
        ensure_reviewer(sqlite_desk.store, "page", name)

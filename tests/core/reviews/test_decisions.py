"""A flag is decided once. Of a refused decision only the note is stored, so it counts in no figure."""

from dataclasses import replace
from datetime import timedelta

import pytest

from engines import on_sqlite
from judgeboard.domain import Decision, Grade, Label
from judgeboard.errors import BadInput, Contradiction, DecisionRefused, NotFound
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.decisions import labelled_decision
from judgeboard.store.own_reviews import read_draft, save_draft
from queue_case import CONFIRM, DISMISS, UNSURE
from result_fields import check_fields
from review_case import ANSWER, NOW
from stored_rows import columns, write_to

GRADE = Grade(
    label=Label.HALLUCINATED,
    groundedness=0.5,
    quality=2,
    spans=({"start": 4, "end": 8, "why": "wrong"},),
    note="The length is not there.",
    corrected_answer="60 m",
)


@on_sqlite
@pytest.mark.parametrize(
    ("decision", "state"),
    [(CONFIRM, "confirmed"), (DISMISS, "dismissed"), (UNSURE, "open")],
)
def test_a_decision_is_one_review_with_everything_given(team, flag, decision, state):
    seen = team.flags()[0]["judgment_id"]
    grade = replace(GRADE, label=Label.GROUNDED if decision is DISMISS else Label.HALLUCINATED)
    given = {"judgment_seen_id": seen, "seconds": 12.5}
    assert team.decide(flag, team.mara, decision, grade=grade, **given).held is None
    assert team.state(flag) == state
    (review,) = team.reviews()
    check_fields(review, decision=decision, label=grade.label, groundedness=0.5, quality=2)
    check_fields(review, spans=[*GRADE.spans], note=GRADE.note, corrected_answer="60 m")
    check_fields(review, **given, at=NOW)
    assert team.events() == [("decide", "Mara")]


@pytest.mark.parametrize(
    ("label", "rules", "quality", "decision"),
    [
        (Label.HALLUCINATED, (), 4, CONFIRM),
        (Label.HALLUCINATED, ("low_groundedness", "low_quality"), None, CONFIRM),
        (Label.HALLUCINATED, ("low_quality",), None, None),
        (Label.GROUNDED, (), None, DISMISS),
        (Label.GROUNDED, (), 3, DISMISS),
        (Label.GROUNDED, (), 2, None),
        (Label.GROUNDED, ("low_groundedness",), None, DISMISS),
        (Label.GROUNDED, ("low_groundedness", "poor_rating"), None, None),
        (None, (), 1, None),
    ],
)
def test_a_label_makes_the_decision_where_it_leaves_nothing_open(label, rules, quality, decision):
    assert labelled_decision(Grade(label=label, quality=quality), rules, low_quality=2) is decision


@on_sqlite
def test_a_repeated_press_answers_what_it_did_even_after_an_undo(team, flag):
    first = team.decide(flag, team.mara, CONFIRM, request_key="pressed")
    team.undo(first.review_id, team.mara)
    again = team.decide(flag, team.mara, CONFIRM, request_key="pressed")
    check_fields(again, review_id=first.review_id, repeated=True)
    # The decision and its withdrawal.
    assert len(team.reviews()) == 2
    assert team.state(flag) == "open"


@on_sqlite
def test_a_key_of_another_press_is_refused(team, flag):
    team.decide(flag, team.mara, UNSURE, request_key="pressed")
    for by, decision in ((team.jon, UNSURE), (team.mara, CONFIRM)):
        with pytest.raises(BadInput):
            team.decide(flag, by, decision, request_key="pressed")
    with pytest.raises(BadInput):
        team.grade(team.mara, quality=3, request_key="pressed")
    assert team.state(flag) == "open"


@on_sqlite
def test_the_second_decision_is_refused_with_who_what_and_when(team, flag):
    team.decide(flag, team.jon, CONFIRM)
    with pytest.raises(DecisionRefused, match=r"ragtruth-12260.* by Jon.*09:41"):
        team.decide(flag, team.mara, DISMISS, at=NOW + timedelta(minutes=3))
    with pytest.raises(DecisionRefused, match=r"by you.*1 Mar 09:41"):
        team.decide(flag, team.jon, DISMISS, at=NOW + timedelta(days=40))
    assert columns(team.reviews(), "decision") == ["confirm"]
    assert team.state(flag) == "confirmed"


@on_sqlite
def test_only_the_note_of_a_refused_decision_is_stored(team, flag):
    team.decide(flag, team.jon, DISMISS)
    for _ in range(2):  # pressed twice: kept once
        with pytest.raises(DecisionRefused, match="kept"):
            team.decide(flag, team.mara, CONFIRM, grade=GRADE, request_key="late")
    decided, kept = team.reviews()
    check_fields(kept, note=GRADE.note, flag_ids=(), reviewer_id=team.mara.id)
    grade = ("label", "groundedness", "quality", "spans", "corrected_answer")
    check_fields(kept, **dict.fromkeys(("decision", *grade)))
    assert team.standing() == [decided, kept]
    assert team.events() == [("decide", "Jon"), ("keep_draft", "Mara")]


@on_sqlite
def test_a_refused_decision_leaves_the_persons_accepted_grade_and_draft_alone(team, flag):
    team.decide(flag, team.jon, DISMISS)
    team.grade(team.mara, quality=1)
    draft = (team.mara.id, team.response_id)
    write_to(team.store, save_draft, *draft, {"quality": 4}, NOW + timedelta(minutes=1))
    late = Grade(quality=4, note="Too long.")
    with pytest.raises(DecisionRefused):
        team.decide(flag, team.mara, CONFIRM, grade=late, at=NOW + timedelta(minutes=2))
    assert columns(team.standing(), "quality", "note") == [
        (None, None),
        (1, None),
        (None, "Too long."),
    ]
    assert team.read(read_draft, *draft) == {"quality": 4}


@on_sqlite
def test_a_superseded_flag_says_that_a_newer_verdict_came(team, flag):
    team.judge(0.9)
    assert team.state(flag) == "superseded"
    with pytest.raises(DecisionRefused, match="ragtruth-12260"):
        team.decide(flag, team.mara, CONFIRM)
    assert team.reviews() == []


@on_sqlite
def test_a_newer_judgment_does_not_refuse_while_the_flag_is_open(team, flag):
    seen = team.flags()[0]["judgment_id"]
    team.judge(0.2)
    assert team.state(flag) == "open"
    team.decide(flag, team.mara, CONFIRM, judgment_seen_id=seen)
    assert team.reviews()[0]["judgment_seen_id"] == seen


def test_blank_texts_are_nothing(team, flag):
    blank = Grade(note="  \n", corrected_answer=" ", spans=())
    team.decide(flag, team.mara, CONFIRM, grade=blank)
    (review,) = team.reviews()
    check_fields(review, note=None, corrected_answer=None, spans=None)


@on_sqlite
@pytest.mark.parametrize(
    ("given", "said"),
    [
        *(
            ({"grade": Grade(spans=({"start": 0, "end": 3} | span,))}, said)
            for span, said in (
                ({"end": len(ANSWER) + 1}, "22 characters"),
                ({"start": 4, "end": 4}, "not 4 to 4"),
                ({"end": 2.5}, "not 0 to 2.5"),
                ({"text": "a\x00"}, "text of a span .* NUL"),
            )
        ),
        ({"grade": Grade(note="a\x00b")}, "note cannot be stored: NUL at character 2"),
        ({"grade": Grade(corrected_answer="\ud800")}, "corrected answer cannot be stored"),
        ({"judgment_seen_id": 999}, "judgment 999 does not belong to ragtruth-12260"),
        ({"seconds": float("nan")}, "number of seconds"),
        ({"seconds": 10**400}, "number of seconds"),
        ({"request_key": ""}, "request key"),
        ({"request_key": "k" * 201}, "request key"),
        ({"decision": Decision.WITHDRAWN}, "undo"),
    ],
)
def test_what_cannot_be_used_changes_nothing(team, flag, given, said):
    with pytest.raises(BadInput, match=said):
        team.decide(flag, team.mara, **{"decision": CONFIRM} | given)
    assert (team.reviews(), team.state(flag)) == ([], "open")


@on_sqlite
def test_the_last_character_can_be_marked(team, flag):
    whole = {"start": 0, "end": len(ANSWER)}
    team.decide(flag, team.mara, CONFIRM, grade=Grade(spans=(whole,)))
    assert team.reviews()[0]["spans"] == [whole]


@on_sqlite
def test_a_flag_that_is_not_there_is_said(team):
    with pytest.raises(NotFound, match="no flag 77"):
        team.decide(77, team.mara, CONFIRM)


@on_sqlite
def test_a_reviewer_is_one_person_however_the_name_is_spaced(team):
    assert ensure_reviewer(team.store, "page", "  Mara ") == team.mara
    assert ensure_reviewer(team.store, "import", "Mara").id != team.mara.id
    check_fields(team.mara, origin="page", name="Mara", role="reviewer")


@pytest.mark.parametrize("name", ["", "  ", "a" * 81, "a\u202eb"])
def test_a_name_that_cannot_be_shown_is_refused(sqlite_store, name):
    with pytest.raises(BadInput, match="reviewer"):
        ensure_reviewer(sqlite_store, "page", name)


@on_sqlite
def test_an_id_that_no_database_can_hold_is_bad_input(team):
    for number in (2**63, -(2**63) - 1):
        with pytest.raises(BadInput, match=r"2\*\*63|out of range"):
            team.decide(number, team.mara, CONFIRM)


@on_sqlite
@pytest.mark.parametrize(
    ("decision", "label"),
    [(DISMISS, Label.HALLUCINATED), (CONFIRM, Label.GROUNDED)],
)
def test_a_label_that_contradicts_its_decision_is_refused(team, flag, decision, label):
    with pytest.raises(Contradiction, match=label):
        team.decide(flag, team.mara, decision, grade=Grade(label=label))
    assert (team.reviews(), team.state(flag)) == ([], "open")
    other = Label.GROUNDED if label is Label.HALLUCINATED else Label.HALLUCINATED
    review_id = team.decide(flag, team.mara, decision, grade=Grade(label=other)).review_id
    with pytest.raises(Contradiction, match=label):
        team.change(review_id, team.mara, decision, label=label)
    assert columns(team.reviews(), "label") == [other]

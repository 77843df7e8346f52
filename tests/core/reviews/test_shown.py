"""What a review's author had seen before: the judge, other people, the same answer."""

import pytest

from engines import on_sqlite
from judgeboard.reviews.submissions import reveal
from judgeboard.store.tables import JUDGMENT
from queue_case import CONFIRM, DISMISS
from served_queues import BLIND
from stored_rows import columns


def stamp(case):
    last = case.reviews()[-1]
    return last["stage"], last["seen"]


@pytest.mark.parametrize("second", [CONFIRM, DISMISS])
def test_an_item_that_was_done_and_waits_again_lay_open_to_who_comes_then(case, second):
    case.queue_of(0.1, needed=2, assigned=(case.mara, case.jon, case.ada), **BLIND)
    first = case.review(case.mara)
    case.review(case.jon, second)
    case.undo(first.review_id, case.mara)
    case.later(minutes=11)
    case.review(case.ada)
    assert stamp(case) == (None, ["judge", "people"])


@on_sqlite
def test_a_word_taken_back_before_the_item_was_done_opens_it_to_nobody(case):
    case.queue_of(0.1, needed=2, assigned=(case.mara, case.jon), **BLIND)
    first = case.review(case.mara)
    case.undo(first.review_id, case.mara)
    case.review(case.mara)
    case.review(case.jon)
    assert stamp(case) == ("blind", [])


@on_sqlite
def test_who_takes_a_review_back_after_a_look_at_the_judge_is_blind_no_more(case):
    case.queue_of(0.1, **BLIND)
    done = case.review(case.mara)
    reveal(case.store, done.review_id, reviewer=case.mara, now=case.now)
    case.undo(done.review_id, case.mara)
    case.review(case.mara)
    assert stamp(case) == (None, ["judge", "people"])


@on_sqlite
def test_who_took_an_answer_where_the_judge_is_in_sight_has_seen_it(case):
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
def test_what_was_hidden_already_when_it_was_taken_elsewhere_stays_blind(case):
    case.flagged(0.1)
    case.queue("blind", needed=2, assigned=(case.mara,), **BLIND)
    case.queue("in sight", needed=2)
    case.later(minutes=1)
    case.lease(case.mara, "in sight")
    case.review(case.mara, name="blind")
    assert stamp(case) == ("blind", [])


def seen(team):
    return columns(team.reviews(), "seen")


def judged(team):
    team.judge(0.1)
    return team.rows(JUDGMENT)[-1]["id"]


@on_sqlite
def test_the_judge_was_seen_where_a_judgment_was_on_the_screen(team):
    team.grade(team.mara, label="grounded")
    team.grade(team.mara, label="grounded", judgment_seen_id=judged(team))
    assert seen(team) == [[], ["judge"]]


@on_sqlite
def test_people_were_seen_by_who_had_reviewed_before(team):
    first = team.grade(team.mara, label="grounded")
    team.grade(team.jon, label="grounded")
    team.undo(first, team.mara)
    team.grade(team.mara, label="hallucinated", judgment_seen_id=judged(team))
    assert [each for each in seen(team) if each is not None] == [[], [], ["judge", "people"]]


@on_sqlite
def test_a_first_decision_was_given_without_the_reviews_of_others(team):
    team.grade(team.jon, label="grounded")
    judgment = judged(team)
    (flag,) = team.flags()
    team.decide(flag["id"], team.mara, CONFIRM, judgment_seen_id=judgment)
    assert seen(team)[-1] == ["judge"]

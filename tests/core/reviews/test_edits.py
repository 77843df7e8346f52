"""A review of one's own is changed by another row; the flag follows from what is said now."""

from typing import Any

import pytest

from engines import on_sqlite
from judgeboard.domain import Decision, Grade
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.reviews.changes import edit
from judgeboard.store.items import load_item
from judgeboard.store.reviewers import Reviewer
from review_case import NOW, ReviewCase


def change(team: ReviewCase, review_id: int, by: Reviewer, decision: Decision | None = None, **given: Any) -> int:
    options = {"request_key": f"edit {next(team.keys)}"} | {
        name: given.pop(name) for name in ("request_key", "judgment_seen_id", "seconds") if name in given
    }
    return edit(
        team.store, review_id=review_id, reviewer=by, decision=decision, grade=Grade(**given), now=NOW, **options
    )


@on_sqlite
@pytest.mark.parametrize(
    ("first", "then", "state"),
    [
        (Decision.CONFIRM, Decision.DISMISS, "dismissed"),
        (Decision.DISMISS, Decision.CONFIRM, "confirmed"),
        (Decision.CONFIRM, Decision.CONFIRM, "confirmed"),
        (Decision.CONFIRM, Decision.UNSURE, "open"),
        (Decision.UNSURE, Decision.DISMISS, "dismissed"),
    ],
)
def test_a_changed_mind_is_another_row_and_the_flag_follows(
    team: ReviewCase, flag: int, first: Decision, then: Decision, state: str
) -> None:
    before = team.decide(flag, team.mara, first, grade=Grade(quality=1, note="no")).review_id
    change(team, before, team.mara, then, quality=3)
    assert team.state(flag) == state
    old, new = team.reviews()
    assert (old["quality"], old["note"]) == (1, "no"), "what was said first stays"
    assert (new["replaces"], new["decision"], new["quality"], new["note"]) == (before, then, 3, None)
    assert team.events()[-1] == ("edit", "Mara")


@on_sqlite
def test_a_grade_is_changed_without_a_flag(team: ReviewCase) -> None:
    before = team.grade(team.mara, quality=1)
    change(team, before, team.mara, groundedness=0.5)
    assert [(row["quality"], row["groundedness"]) for row in team.standing()] == [(None, 0.5)]


def test_what_is_unsure_now_is_superseded_where_a_newer_flag_waits(team: ReviewCase, flag: int) -> None:
    before = team.decide(flag, team.mara, Decision.CONFIRM).review_id
    newer = team.judge(0.2, version=2)
    change(team, before, team.mara, Decision.UNSURE)
    assert (team.state(flag), team.state(newer)) == ("superseded", "open")


@on_sqlite
def test_only_ones_own_that_stands_is_changed(team: ReviewCase, flag: int) -> None:
    before = team.decide(flag, team.mara, Decision.CONFIRM).review_id
    with pytest.raises(DecisionRefused, match="only Mara can edit it"):
        change(team, before, team.jon, Decision.DISMISS)
    second = change(team, before, team.mara, Decision.DISMISS)
    with pytest.raises(DecisionRefused, match="newer review"):
        change(team, before, team.mara, Decision.CONFIRM)
    team.undo(second, team.mara)
    with pytest.raises(DecisionRefused, match="undone already"):
        change(team, second, team.mara, Decision.CONFIRM)
    with pytest.raises(NotFound, match="no review 99"):
        change(team, 99, team.mara, Decision.CONFIRM)
    assert team.state(flag) == "open"


@on_sqlite
def test_a_word_on_a_flag_stays_one_and_a_grade_says_something(team: ReviewCase, flag: int) -> None:
    decision, grade = (
        team.decide(flag, team.mara, Decision.CONFIRM).review_id,
        team.grade(team.mara, quality=1),
    )
    for review_id, word in ((decision, None), (decision, Decision.WITHDRAWN), (grade, Decision.CONFIRM)):
        with pytest.raises(BadInput):
            change(team, review_id, team.mara, word, quality=2)
    with pytest.raises(BadInput, match="nothing to save"):
        change(team, grade, team.mara)


@on_sqlite
def test_the_same_press_twice_is_one_change(team: ReviewCase, flag: int) -> None:
    before = team.decide(flag, team.mara, Decision.CONFIRM).review_id
    one, again = (change(team, before, team.mara, Decision.DISMISS, request_key="pressed") for _ in range(2))
    assert one == again
    assert len(team.reviews()) == 2
    with team.store.reading() as connection:
        assert [review.stands for review in load_item(connection, team.response_id).reviews] == [True, False]

"""A review outside of queues says what its author had before them: the judge, other people."""

from engines import on_sqlite
from judgeboard.domain import Decision, Label
from judgeboard.store.tables import JUDGMENT
from review_case import ReviewCase


def seen(team: ReviewCase) -> list[list[str] | None]:
    return [row["seen"] for row in team.reviews()]


def judged(team: ReviewCase) -> int:
    team.judge(0.1)
    return int(team.rows(JUDGMENT)[-1]["id"])


@on_sqlite
def test_the_judge_was_seen_where_a_judgment_was_on_the_screen(team: ReviewCase) -> None:
    team.grade(team.mara, label=Label.GROUNDED)
    team.grade(team.mara, label=Label.GROUNDED, judgment_seen_id=judged(team))
    assert seen(team) == [[], ["judge"]]


@on_sqlite
def test_people_were_seen_where_what_another_said_stood_there(team: ReviewCase) -> None:
    first = team.grade(team.mara, label=Label.GROUNDED)
    team.grade(team.jon, label=Label.GROUNDED)
    team.undo(first, team.mara)
    team.grade(team.mara, label=Label.HALLUCINATED, judgment_seen_id=judged(team))
    assert [row for row in seen(team) if row is not None] == [[], ["people"], ["judge", "people"]]


@on_sqlite
def test_a_decision_says_it_too(team: ReviewCase) -> None:
    team.grade(team.jon, label=Label.GROUNDED)
    judgment = judged(team)
    (flag,) = [flag["id"] for flag in team.flags() if flag["state"] == "open"]
    team.decide(flag, team.mara, Decision.CONFIRM, judgment_seen_id=judgment)
    assert seen(team)[-1] == ["judge", "people"]

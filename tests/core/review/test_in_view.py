"""A review outside of queues says what its author had before them: the judge, other people."""

from judgeboard.domain import Decision, Label
from judgeboard.store.tables import JUDGMENT
from review_desk import Desk


def seen(desk: Desk) -> list[list[str] | None]:
    return [row["seen"] for row in desk.reviews()]


def judged(desk: Desk) -> int:
    desk.judge(0.1)
    return int(desk.rows(JUDGMENT)[-1]["id"])


def test_the_judge_was_seen_where_a_judgment_was_on_the_screen(desk: Desk) -> None:
    desk.grade(desk.mara, label=Label.GROUNDED)
    desk.grade(desk.mara, label=Label.GROUNDED, judgment_seen_id=judged(desk))
    assert seen(desk) == [[], ["judge"]]


def test_people_were_seen_where_what_another_said_stood_there(desk: Desk) -> None:
    first = desk.grade(desk.mara, label=Label.GROUNDED)
    desk.grade(desk.jon, label=Label.GROUNDED)
    desk.undo(first, desk.mara)
    desk.grade(desk.mara, label=Label.HALLUCINATED, judgment_seen_id=judged(desk))
    assert [row for row in seen(desk) if row is not None] == [[], ["people"], ["judge", "people"]]


def test_a_decision_says_it_too(desk: Desk) -> None:
    desk.grade(desk.jon, label=Label.GROUNDED)
    judgment = judged(desk)
    (flag,) = [flag["id"] for flag in desk.flags() if flag["state"] == "open"]
    desk.decide(flag, desk.mara, Decision.CONFIRM, judgment_seen_id=judgment)
    assert seen(desk)[-1] == ["judge", "people"]

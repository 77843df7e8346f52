"""What one person reviewed, newest first, fifty a page; and one review whole, to be changed."""

from datetime import UTC, datetime

import pytest

from judgeboard.domain import Decision, DimensionScore, Grade, Label, Response
from judgeboard.reviews.changes import edit, undo
from judgeboard.reviews.decisions import grade
from judgeboard.store.engine import Store
from judgeboard.store.own_reviews import own_reviews_page, whole_review
from judgeboard.store.storing import store_responses
from query_plans import plans_of
from review_desk import Desk, flagged_desk

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def desk(store: Store) -> Desk:
    return flagged_desk(store)


def page(desk: Desk, **given):
    with desk.store.reading() as connection:
        return own_reviews_page(connection, desk.mara.id, **given)


def test_each_line_says_what_was_said_and_what_became_of_it(desk: Desk) -> None:
    flag = desk.judge(0.3)
    desk.decide(flag, desk.mara, Decision.CONFIRM, grade=Grade(quality=2, note="no"), seconds=9.0)
    desk.grade(desk.jon, quality=1)
    [line] = page(desk).lines
    assert (line.external_id, line.rule, line.state, line.decision) == (
        "ragtruth-12260",
        "low_groundedness",
        "confirmed",
        "confirm",
    )
    assert (line.quality, line.note, line.seconds, line.queue, line.final) == (2, "no", 9.0, None, False)
    assert line.question == "How long is the rope?"


def test_only_what_stands_is_listed(desk: Desk) -> None:
    flag = desk.judge(0.3)
    first = desk.decide(flag, desk.mara, Decision.CONFIRM).review_id
    second = edit(
        desk.store, review_id=first, reviewer=desk.mara, decision=Decision.DISMISS, grade=Grade(), request_key="e"
    ).review_id
    assert [line.review_id for line in page(desk).lines] == [second]
    undo(desk.store, review_id=second, reviewer=desk.mara, request_key="u")
    assert page(desk).lines == ()
    assert (page(desk).total, page(desk).first) == (0, 0)


def test_pages_follow_each_other_by_key(desk: Desk) -> None:
    with desk.store.writing() as connection:
        ids = store_responses(connection, [Response("log", f"r{n}", "q", "a") for n in range(7)]).new
    reviews = [
        grade(desk.store, response_id=id_, reviewer=desk.mara, grade=Grade(quality=1), request_key=f"g{id_}")
        for id_ in ids
    ]
    first = page(desk, limit=3)
    second = page(desk, limit=3, after=first.next_key)
    last = page(desk, limit=3, after=second.next_key)
    listed = [line.review_id for part in (first, second, last) for line in part.lines]
    assert listed == reviews[::-1]
    assert [(part.first, part.total) for part in (first, second, last)] == [(1, 7), (4, 7), (7, 7)]
    assert (first.previous_key, last.next_key) == (None, None)
    assert page(desk, limit=3, before=second.previous_key) == first


def test_a_review_comes_back_whole(desk: Desk) -> None:
    given = Grade(
        label=Label.GROUNDED,
        groundedness=0.5,
        quality=3,
        note="so",
        corrected_answer="60 m",
        scores=(DimensionScore("clarity", 4, "1-5"),),
    )
    review_id = grade(
        desk.store, response_id=desk.response_id, reviewer=desk.mara, grade=given, seconds=3.0, request_key="g"
    )
    with desk.store.reading() as connection:
        whole = whole_review(connection, review_id)
        assert whole_review(connection, 99) is None
    assert whole is not None
    assert (whole.grade, whole.decision, whole.seconds, whole.stands) == (given, None, 3.0, True)


def test_a_page_is_read_from_the_index_of_reviewers(sqlite_store: Store) -> None:
    desk = flagged_desk(sqlite_store)
    with plans_of(sqlite_store) as plans:
        page(desk)
    assert any("ix_review_reviewer" in plan for plan in plans)
    assert not [plan for plan in plans if "SCAN review" in plan]

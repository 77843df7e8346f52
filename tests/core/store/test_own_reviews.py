"""What one person reviewed, newest first, fifty a page; and one review whole, to be changed."""

from datetime import UTC, datetime

import pytest

from engines import on_sqlite
from judgeboard.domain import Decision, DimensionScore, Grade, Label, Response
from judgeboard.reviews.changes import edit, undo
from judgeboard.reviews.decisions import grade
from judgeboard.store.engine import Store
from judgeboard.store.own_reviews import own_reviews_page, whole_review
from judgeboard.store.reviews import DecidedFlag
from judgeboard.store.storing import store_responses
from query_plans import plans_of
from review_case import ReviewCase, flagged_case

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def case(store: Store) -> ReviewCase:
    return flagged_case(store)


def page(case: ReviewCase, **given):
    with case.store.reading() as connection:
        return own_reviews_page(connection, case.mara.id, **given)


@on_sqlite
def test_each_line_says_what_was_said_and_what_became_of_it(case: ReviewCase) -> None:
    flag = case.judge(0.3)
    case.decide(flag, case.mara, Decision.CONFIRM, grade=Grade(quality=2, note="no"), seconds=9.0)
    case.grade(case.jon, quality=1)
    [line] = page(case).lines
    assert (line.external_id, line.decision) == ("ragtruth-12260", "confirm")
    assert line.flags == (DecidedFlag(flag, "low_groundedness", "confirmed"),)
    assert (line.quality, line.note, line.seconds, line.queue, line.final) == (2, "no", 9.0, None, False)
    assert line.question == "How long is the rope?"


def test_only_what_stands_is_listed(case: ReviewCase) -> None:
    flag = case.judge(0.3)
    first = case.decide(flag, case.mara, Decision.CONFIRM).review_id
    second = edit(
        case.store, review_id=first, reviewer=case.mara, decision=Decision.DISMISS, grade=Grade(), request_key="e"
    )
    assert [line.review_id for line in page(case).lines] == [second]
    undo(case.store, review_id=second, reviewer=case.mara, request_key="u")
    assert page(case).lines == ()
    assert (page(case).total, page(case).first) == (0, 0)


def test_pages_follow_each_other_by_key(case: ReviewCase) -> None:
    with case.store.writing() as connection:
        ids = store_responses(connection, [Response("log", f"r{n}", "q", "a") for n in range(7)]).new
    reviews = [
        grade(case.store, response_id=id_, reviewer=case.mara, grade=Grade(quality=1), request_key=f"g{id_}")
        for id_ in ids
    ]
    first = page(case, limit=3)
    second = page(case, limit=3, after=first.next_key)
    last = page(case, limit=3, after=second.next_key)
    listed = [line.review_id for part in (first, second, last) for line in part.lines]
    assert listed == reviews[::-1]
    assert [(part.first, part.total) for part in (first, second, last)] == [(1, 7), (4, 7), (7, 7)]
    assert (first.previous_key, last.next_key) == (None, None)
    assert page(case, limit=3, before=second.previous_key) == first


@on_sqlite
def test_a_review_comes_back_whole(case: ReviewCase) -> None:
    given_grade = Grade(
        label=Label.GROUNDED,
        groundedness=0.5,
        quality=3,
        note="so",
        corrected_answer="60 m",
        scores=(DimensionScore("clarity", 4, "1-5"),),
    )
    review_id = grade(
        case.store, response_id=case.response_id, reviewer=case.mara, grade=given_grade, seconds=3.0, request_key="g"
    )
    with case.store.reading() as connection:
        whole = whole_review(connection, review_id)
        assert whole_review(connection, 99) is None
    assert whole is not None
    assert (whole.grade, whole.decision, whole.seconds, whole.stands) == (given_grade, None, 3.0, True)


def test_a_page_is_read_from_the_index_of_reviewers(sqlite_store: Store) -> None:
    case = flagged_case(sqlite_store)
    with plans_of(sqlite_store) as plans:
        page(case)
    assert any("ix_review_reviewer" in plan for plan in plans)
    assert not [plan for plan in plans if "SCAN review" in plan]

"""A person's own reviews, newest first, by page; and one review whole, to be changed."""

import pytest

from engines import on_sqlite
from judgeboard.domain import (
    Decision,
    DimensionScore,
    Grade,
    Label,
    Preference,
    QueueOrder,
)
from judgeboard.store.listing import LinePage
from judgeboard.store.own_reviews import has_pair_reviews, own_reviews_page
from judgeboard.store.reviews import DecidedFlag, find_review
from pair_log import add_pairs
from query_plans import plans_of
from queue_case import queue_case
from review_case import flagged_case


@pytest.fixture
def case(store):
    return flagged_case(store)


def page(case, **given):
    return case.read(own_reviews_page, case.mara.id, **given)


@on_sqlite
def test_each_line_says_what_was_said_and_what_became_of_it(case):
    flag = case.judge(0.3)
    case.decide(flag, case.mara, Decision.CONFIRM, grade=Grade(quality=2, note="no"), seconds=9.0)
    case.grade(case.jon, quality=1)
    [line] = page(case).lines
    assert (line.external_id, line.review.decision) == ("ragtruth-12260", "confirm")
    assert line.flags == (DecidedFlag(flag, "low_groundedness", "confirmed"),)
    assert (line.review.grade, line.review.seconds) == (Grade(quality=2, note="no"), 9.0)
    assert (line.queue, line.final) == (None, False)
    assert line.question == "How long is the rope?"


def test_only_what_stands_is_listed(case):
    flag = case.judge(0.3)
    first = case.decide(flag, case.mara, Decision.CONFIRM).review_id
    second = case.change(first, case.mara, Decision.DISMISS)
    assert [line.review.id for line in page(case).lines] == [second]
    case.undo(second, case.mara)
    assert page(case) == LinePage((), 0, 0, None, None)


@on_sqlite
def test_a_review_comes_back_whole(case):
    fields = {
        "label": Label.GROUNDED,
        "groundedness": 0.5,
        "quality": 3,
        "note": "so",
        "corrected_answer": "60 m",
        "scores": (DimensionScore("clarity", 4, "1-5"),),
    }
    review_id = case.grade(case.mara, seconds=3.0, **fields)
    assert case.read(find_review, 99) is None
    whole = case.read(find_review, review_id)
    assert (whole.grade, whole.seconds) == (Grade(**fields), 3.0)
    assert (whole.decision, whole.stands) == (None, True)


def test_a_page_is_read_the_index_of_reviewers(sqlite_store):
    case = flagged_case(sqlite_store)
    with plans_of(sqlite_store) as plans:
        page(case)
    assert "ix_review_reviewer" in str(plans)
    assert "SCAN review" not in str(plans)


def say(case, who, preference, key):
    return case.review(who, preference, "pairs", note=key).review_id


def page_of_pairs(case, **options):
    return page(case, pairs=True, **options)


def asked_case(store):
    case = queue_case(store)
    add_pairs(store, 5, query_type="pairs")
    case.queue("pairs", subject="pairs", order=QueueOrder.OLDEST, needed=2)
    return case


def test_ones_own_stand_newest_first_and_by_page(store):
    case = asked_case(store)
    ids = [say(case, case.mara, Preference.A, f"m{n}") for n in range(5)]
    say(case, case.jon, Preference.B, "j")
    case.undo(ids[1], case.mara)
    first = page_of_pairs(case, limit=3)
    second = page_of_pairs(case, limit=3, after=first.next_key)
    listed = [line.review.id for line in (*first.lines, *second.lines)]
    assert listed == [ids[4], ids[3], ids[2], ids[0]]
    assert [(one.first, one.total) for one in (first, second)] == [(1, 4), (4, 4)]
    assert page_of_pairs(case, limit=3, before=second.previous_key) == first
    newest = first.lines[0]
    assert (newest.review.choice, newest.review.grade.note) == (Preference.A, "m4")
    assert newest.queue == "pairs"
    assert newest.question == "Which, 4?"


def test_who_said_nothing_of_pairs_has_none(store):
    case = asked_case(store)
    say(case, case.jon, Preference.TIE, "j")
    assert case.read(has_pair_reviews, case.jon.id)
    assert not case.read(has_pair_reviews, case.mara.id)
    assert page_of_pairs(case) == LinePage((), 0, 0, None, None)
    assert case.take(case.mara, "pairs") is not None

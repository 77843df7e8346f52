"""A user's feedback comes in on the scale it was given on; what cannot be told is never guessed."""

import pytest

from judgeboard.domain import Feedback, FeedbackKind, Rejected
from judgeboard.text import as_utc

UP, DOWN = Feedback(FeedbackKind.THUMBS, 1), Feedback(FeedbackKind.THUMBS, 0)


def stars(value):
    return Feedback(FeedbackKind.STARS, value)


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("thumbs", 1, UP),
        ("thumbs", 0, DOWN),
        ("thumbs_up", True, UP),
        ("liked", False, DOWN),
        ("stars", 1, stars(1)),
        ("star_rating", 4.5, stars(4.5)),
        ("feedback", "up", UP),
        ("feedback", " Down ", DOWN),
        ("feedback", "👍🏽", UP),
        ("feedback", "👎", DOWN),
        ("rating", "positive", UP),
        ("feedback", False, DOWN),
        ("rating", 4, stars(4)),
        ("feedback", {"thumbs": "up"}, UP),
        ("feedback", {"thumbs": 0}, DOWN),
        ("feedback", {"stars": 4}, stars(4)),
        ("feedback", '{"stars": 4}', stars(4)),
        ("feedback", {"kind": "stars", "value": 1}, stars(1)),
    ],
)
def test_feedback_is_read(one, column, value, expected):
    response = one({"query": "q", "answer": "a", column: value})
    assert response.feedback == (expected,)
    assert response.metadata == {}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("thumbs", 2), ("thumbs", 0.5), ("stars", 0), ("stars", 6), ("stars", "up"), ("stars", True)),
        *(("feedback", "so-so"), ("feedback", "4"), ("feedback", {"score": 1}), ("feedback", [1])),
        *(("feedback", {"thumbs": 1, "stars": 5}), ("feedback", {"stars": "4"}), ("feedback", -1), ("feedback", "")),
        ("feedback", {"stars": 4, "at": "yesterday"}),
    ],
)
def test_what_is_no_feedback_rejects_its_row(one, column, value):
    item = one({"query": "q", "answer": "a", column: value})
    assert isinstance(item, Rejected)
    assert item.field == column.removeprefix("user_").replace("rating", "feedback")


@pytest.mark.parametrize(
    ("column", "value"), [("feedback", 1), ("feedback", 0), ("rating", 1), ("rating", 1.0), ("user_feedback", 0)]
)
def test_a_bare_one_or_nought_is_left_out_and_its_row_is_read(one, column, value):
    response = one({"query": "q", "answer": "a", column: value})
    assert (response.answer, response.feedback, response.metadata) == ("a", (), {})


@pytest.mark.parametrize(("scale", "expected"), [("thumbs", UP), ("stars", stars(1))])
def test_a_bare_one_is_told_by_the_mapping(one, scale, expected):
    response = one({"query": "q", "answer": "a", "rating": 1}, mapping={"rating": scale})
    assert response.feedback == (expected,)


def test_several_feedbacks_with_user_and_time_are_kept(one):
    given = [{"kind": "thumbs", "value": 0, "user": "u", "at": "2026-03-01"}, {"stars": 2, "user": None}]
    response = one({"query": "q", "answer": "a", "feedback": given})
    assert response.feedback == (Feedback(FeedbackKind.THUMBS, 0, "u", as_utc("2026-03-01")), stars(2))


def test_no_feedback_is_none(one):
    assert one({"query": "q", "answer": "a", "feedback": None, "thumbs": None}).feedback == ()

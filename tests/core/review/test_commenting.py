"""Remarks on an answer stand beside each other with name and time; an author changes or takes back their own."""

from datetime import timedelta
from pathlib import Path

import pytest

from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.reviews.changes import LONGEST_COMMENT, comment, edit_comment, withdraw_comment
from judgeboard.store.export import export_tables
from judgeboard.store.forgetting import forget_response
from judgeboard.store.reviews import Comment, comments_on
from judgeboard.store.tables import COMMENT
from review_desk import NOW, Desk

LATER = NOW + timedelta(minutes=5)


def said(desk: Desk) -> tuple[Comment, ...]:
    with desk.store.reading() as connection:
        return comments_on(connection, desk.response_id)


def say(desk: Desk, by, text: str, key: str = "said") -> int:
    return comment(desk.store, response_id=desk.response_id, reviewer=by, text=text, request_key=key, now=NOW)


def test_comments_stand_in_order_with_name_and_time(desk: Desk) -> None:
    say(desk, desk.mara, " The rope is 70 m in the catalogue. ", "one")
    comment(
        desk.store, response_id=desk.response_id, reviewer=desk.jon, text="Which one?", request_key="two", now=LATER
    )
    assert [(one.reviewer, one.text, one.at, one.edited_at) for one in said(desk)] == [
        ("Mara", "The rope is 70 m in the catalogue.", NOW, None),
        ("Jon", "Which one?", LATER, None),
    ]
    assert desk.events() == [("comment", "Mara"), ("comment", "Jon")]


def test_an_edit_is_a_row_that_keeps_the_place_of_the_first(desk: Desk) -> None:
    first = say(desk, desk.mara, "60 m", "one")
    say(desk, desk.jon, "No.", "two")
    second = edit_comment(desk.store, comment_id=first, reviewer=desk.mara, text="70 m", request_key="three", now=LATER)
    edited, answered = said(desk)
    assert (edited.id, edited.text, edited.at, edited.edited_at) == (second, "70 m", NOW, LATER)
    assert answered.text == "No."
    assert [row["text"] for row in desk.rows(COMMENT)] == ["60 m", "No.", "70 m"], "what was said first stays"
    assert desk.events()[-1] == ("edit_comment", "Mara")
    with pytest.raises(DecisionRefused, match="edited or withdrawn"):
        edit_comment(desk.store, comment_id=first, reviewer=desk.mara, text="80 m", request_key="four")


def test_a_comment_taken_back_is_gone_from_the_page_and_not_from_the_table(desk: Desk) -> None:
    first = say(desk, desk.mara, "60 m")
    last = withdraw_comment(desk.store, comment_id=first, reviewer=desk.mara, request_key="back", now=LATER)
    assert said(desk) == ()
    assert [(row["text"], row["replaces"]) for row in desk.rows(COMMENT)] == [("60 m", None), (None, first)]
    for gone in (first, last):
        with pytest.raises(DecisionRefused, match="edited or withdrawn"):
            withdraw_comment(desk.store, comment_id=gone, reviewer=desk.mara, request_key=f"again {gone}")


def test_only_its_author_changes_a_comment(desk: Desk) -> None:
    first = say(desk, desk.mara, "60 m")
    with pytest.raises(DecisionRefused, match="only Mara can edit it"):
        edit_comment(desk.store, comment_id=first, reviewer=desk.jon, text="70 m", request_key="k")
    with pytest.raises(DecisionRefused, match="only Mara can edit it"):
        withdraw_comment(desk.store, comment_id=first, reviewer=desk.jon, request_key="k")
    assert len(desk.rows(COMMENT)) == 1


def test_the_same_press_twice_is_one_comment(desk: Desk) -> None:
    assert say(desk, desk.mara, "60 m") == say(desk, desk.mara, "60 m")
    first = said(desk)[0].id
    edits = {
        edit_comment(desk.store, comment_id=first, reviewer=desk.mara, text="70 m", request_key="e") for _ in range(2)
    }
    assert len(edits) == 1
    assert len(desk.events()) == 2
    with pytest.raises(BadInput, match="another comment"):
        say(desk, desk.jon, "60 m")


@pytest.mark.parametrize("text", ["", "  \n ", "x" * (LONGEST_COMMENT + 1), "half \ud800", "nul \x00"])
def test_what_is_no_comment_is_refused(desk: Desk, text: str) -> None:
    with pytest.raises(BadInput):
        say(desk, desk.mara, text)
    assert desk.rows(COMMENT) == []
    assert desk.events() == []


def test_a_comment_on_nothing_is_said_so(desk: Desk) -> None:
    with pytest.raises(NotFound):
        comment(desk.store, response_id=99, reviewer=desk.mara, text="hm", request_key="k")
    with pytest.raises(NotFound, match="no comment 99"):
        withdraw_comment(desk.store, comment_id=99, reviewer=desk.mara, request_key="k")


def test_a_forgotten_answer_has_no_comments(desk: Desk) -> None:
    say(desk, desk.mara, "60 m")
    with desk.store.writing() as connection:
        forget_response(connection, "ragtruth-12260", actor="Mara")
    assert said(desk) == ()
    assert [row["text"] for row in desk.rows(COMMENT)] == [None]


def test_comments_are_exported_with_those_they_replaced(desk: Desk, tmp_path: Path) -> None:
    first = say(desk, desk.mara, "60 m")
    edit_comment(desk.store, comment_id=first, reviewer=desk.mara, text="=70 m", request_key="e", now=LATER)
    assert export_tables(desk.store, {"comments": tmp_path / "c.csv"}, format="csv") == {"comments": 2}
    assert "'=70 m" in (tmp_path / "c.csv").read_text(), "no spreadsheet takes a comment for a formula"

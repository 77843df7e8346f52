"""Comments on the item page: sent with Enter, changed and withdrawn by their author, shown to the others as text."""

import pytest

from app_pages import field_of, press, shown
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.changes import comment
from judgeboard.store.reviews import comments_on
from queue_case import queue_case
from stored_rows import read


def send(app, text):
    field = field_of(app, "comment_")
    field.set_value(text)
    return press(app, "send_")


@pytest.fixture
def said(page_rows, sqlite_store):
    def listed():
        return [
            (one.reviewer, one.comment.text)
            for one in read(sqlite_store, comments_on, page_rows.responses["claims"])
        ]

    return listed


def test_a_comment_is_sent_and_everybody_reads_it(open_answer, open_flag, said):
    page = send(open_flag("claims"), "see <b>page 3</b>")
    assert said() == [("Mara", "see <b>page 3</b>")]
    assert "Saved: your comment" in shown(page)
    field = field_of(page, "comment_")
    # The field is empty for the next one.
    assert field.value == ""
    jons = open_flag("claims", reviewer="Jon")
    assert "Comments" not in shown(jons)  # until Jon's own review
    press(press(jons, "quality4_"), "confirm_")
    jons = open_answer("claims", reviewer="Jon")
    bodies = "".join(node.proto.body for node in jons.get("html"))
    assert "see &lt;b&gt;page 3&lt;/b&gt;" in bodies
    assert "Comments (1)" in bodies


def test_ones_own_is_changed_and_withdrawn(open_flag, said):
    page = send(open_flag("claims"), "sixty")
    press(page, "change_comment_")
    field = field_of(page, "comment_")
    assert field.value == "sixty"
    send(page, "seventy")
    assert said() == [("Mara", "seventy")]
    assert "(changed " in shown(page)
    press(page, "withdraw_comment_")
    assert said() == []


def test_comments_of_others_have_no_buttons_and_nobody_comments_without_a_name(
    page_rows, open_answer, open_flag, sqlite_store
):
    jon = ensure_reviewer(sqlite_store, "page", "Jon")
    comment(
        sqlite_store,
        response_id=page_rows.responses["claims"],
        reviewer=jon,
        text="hm",
        request_key="j",
    )
    press(press(open_flag("claims"), "quality4_"), "confirm_")
    mine = open_answer("claims")
    assert "hm" in shown(mine)
    assert not [one for one in mine.button if one.key and "_comment_" in one.key]
    nobody = open_flag("claims", reviewer="")
    assert not [one for one in nobody.text_input if one.key and one.key.startswith("comment_")]


def test_nobody_comments_on_a_blind_item_before_the_judge_is_shown(open_page, page_store):
    case = queue_case(page_store)
    case.queue_of(
        0.1,
        blind_judge=True,
        blind_people=True,
        order="oldest",
        grades=("label",),
        optional_grades=(),
    )
    page = open_page("item", queue="q")
    for key in ("Q", "Y"):
        assert not [one for one in page.text_input if one.key and one.key.startswith("comment_")]
        [button] = [each for each in page.button if each.proto.shortcut.upper() == key]
        press(page, f"{button.key}_")
    assert [one for one in page.text_input if one.key and one.key.startswith("comment_")]

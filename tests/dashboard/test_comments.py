"""Comments on the item page: sent with Enter, changed and withdrawn by their author, shown to the others as text."""

import pytest

from app_pages import field_of, keys, markup, press, shown
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.changes import comment
from judgeboard.store.reviews import comments_on
from stored_rows import read


def send(app, text):
    field_of(app, "comment_").set_value(text)
    return press(app, "send_")


def has_field(app):
    return any((each.key or "").startswith("comment_") for each in app.text_input)


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
    # The field is empty for the next one.
    assert field_of(page, "comment_").value == ""
    jons = open_flag("claims", reviewer="Jon")
    assert "Comments" not in shown(jons)  # until Jon's own review
    press(press(jons, "quality4_"), "confirm_")
    jons = open_answer("claims", reviewer="Jon")
    assert "see &lt;b&gt;page 3&lt;/b&gt;" in markup(jons)
    assert "Comments (1)" in shown(jons)


def test_ones_own_is_changed_and_withdrawn(open_flag, said):
    page = send(open_flag("claims"), "sixty")
    press(page, "change_comment_")
    assert field_of(page, "comment_").value == "sixty"
    send(page, "seventy")
    assert said() == [("Mara", "seventy")]
    assert "(changed " in shown(page)
    press(page, "withdraw_comment_")
    assert said() == []


def test_comments_of_others_have_no_buttons_and_nobody_comments_without_a_name(
    page_rows, open_answer, open_flag, sqlite_store
):
    about = {"response_id": page_rows.responses["claims"], "request_key": "j"}
    jon = ensure_reviewer(sqlite_store, "page", "Jon")
    comment(sqlite_store, reviewer=jon, text="hm", **about)
    press(press(open_flag("claims"), "quality4_"), "confirm_")
    mine = open_answer("claims")
    assert "hm" in shown(mine)
    assert "_comment_" not in str(keys(mine))
    nobody = open_flag("claims", reviewer="")
    assert not has_field(nobody)


def test_nobody_comments_on_a_blind_item_before_the_judge_is_shown(open_page, case):
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
        assert not has_field(page)
        [button] = [each for each in page.button if each.proto.shortcut.upper() == key]
        press(page, f"{button.key}_")
    assert has_field(page)

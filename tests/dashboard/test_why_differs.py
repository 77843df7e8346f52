"""Why a person and the judge differ: one key on the item, pills on the page Agreement, counted per judge version."""

import pytest

from app_pages import press, shown, with_label
from judgeboard.domain import Grade, WhyDiffers
from judgeboard.store.items import load_item
from judgeboard.store.tables import REVIEW
from judgeboard.store.verdict_pairs import why_counts
from judgeboard_dashboard.widgets.texts import WHY_DIFFERS
from queue_case import queue_case
from stored_rows import read, rows_of


def why(app):
    return [one.label for one in app.button if one.key == "why"]


def reviews(store, response_id):
    return read(store, load_item, response_id).reviews


def test_the_key_is_there_only_where_one_differs(open_flag):
    page = open_flag("claims")
    assert why(page) == []
    # The judge gave 3, too.
    assert why(press(page, "quality3_")) == []
    assert len(why(press(page, "quality1_"))) == 1
    for reason in ("missed_support", "fluent_text"):
        assert why(press(page, "why_")) == [WHY_DIFFERS[reason]]
    assert why(press(page, "quality3_")) == []


def test_a_reason_without_a_difference_is_not_saved_and_the_verdict_that_was_seen_is(
    page_rows, open_flag, sqlite_store
):
    page = open_flag("claims")
    for key in ("quality1_", "why_", "quality3_", "confirm_"):
        press(page, key)
    [review] = reviews(sqlite_store, page_rows.responses["claims"])
    assert review.grade.quality == 3
    assert review.grade.why_differs is None
    [row] = rows_of(sqlite_store, REVIEW)
    item = read(sqlite_store, load_item, page_rows.responses["claims"])
    assert row["judgment_seen_id"] == item.currents[0].id


@pytest.fixture
def graded(page_rows, sqlite_store):
    """An answer on which Mara differs from the judge by 0.58."""
    response_id = page_rows.responses["claims"]
    case = queue_case(sqlite_store)
    case.grade(response_id, case.mara, groundedness=1.0)
    return response_id


def test_the_page_agreement_asks_who_graded_and_counts(graded, open_page, sqlite_store):
    page = open_page("agreement", grade="Groundedness")
    pills = with_label(page.get("button_group"), "Why they differ")
    pills.set_value(WhyDiffers.PARTIAL_SUPPORT).run()
    new, old = reviews(sqlite_store, graded)
    assert new.grade == Grade(groundedness=1.0, why_differs=WhyDiffers.PARTIAL_SUPPORT)
    assert not old.stands
    again = open_page("agreement", grade="Groundedness")
    assert "Partial support" in shown(again)
    [counts] = read(sqlite_store, why_counts)
    assert counts.title == "rag v1"
    assert counts.answers == 1
    assert counts.reasons[WhyDiffers.PARTIAL_SUPPORT] == 1


def test_who_did_not_grade_is_not_asked(graded, open_page):
    for reviewer in ("Jon", ""):
        page = open_page("agreement", reviewer=reviewer, grade="Groundedness")
        assert not page.exception
        assert "Why they differ" not in [one.label for one in page.get("button_group")]

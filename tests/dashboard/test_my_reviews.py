"""My reviews: what one said, newest first; a click opens it, to be changed by another row or undone."""

import pytest

from app_pages import press, shown, table
from judgeboard.domain import ClaimMark, ClaimStatus, Decision, Grade, QueueOrder
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.decisions import decide, grade
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.items import load_item
from judgeboard.store.own_reviews import own_reviews_page, whole_review
from judgeboard_dashboard.review.people import rows_of
from queue_case import queue_case


@pytest.fixture
def mine(page_rows, sqlite_store: Store) -> tuple[int, int]:
    """A decision and a grade of Mara's, the decision first."""
    mara = ensure_reviewer(sqlite_store, "page", "Mara")
    mark = ClaimMark(ClaimStatus.SUPPORTED, judgment_id=None, start=0, end=7)
    decided = decide(
        sqlite_store,
        flag_id=page_rows.flags["claims"],
        reviewer=mara,
        decision=Decision.CONFIRM,
        grade=Grade(quality=2, note="no", claim_marks=(mark,)),
        seconds=8.0,
        request_key="one",
    ).review_id
    graded = grade(
        sqlite_store,
        response_id=page_rows.responses["good"],
        reviewer=mara,
        grade=Grade(groundedness=0.5),
        request_key="two",
    )
    return decided, graded


def lines(store: Store):
    with store.reading() as connection:
        return own_reviews_page(connection, ensure_reviewer(store, "page", "Mara").id).lines


def test_they_are_listed_newest_first_with_what_was_said(mine, open_page) -> None:
    page = open_page("my_reviews")
    assert "2 reviews, newest first" in shown(page)
    rows = table(page, "Review")
    assert list(rows["Id"]) == ["good", "claims"]
    assert list(rows["Review"]) == ["Graded", "Confirmed"]
    assert list(rows["Note"])[1] == "no"
    assert rows["Seconds"][1] == 8


def test_a_blind_word_and_the_one_after_the_judge_are_told_apart(page_rows, sqlite_store, open_page) -> None:
    case = queue_case(sqlite_store)
    case.queue(where=RowFilter(rules=("low_groundedness",)), blind_judge=True, order=QueueOrder.OLDEST)
    case.reveal(case.review(case.mara, Decision.CONFIRM), case.mara, Decision.DISMISS)
    rows = table(open_page("my_reviews"), "Review")
    assert list(rows["Review"]) == ["Confirmed, blind; then dismissed"], "one person, one answer, one line"
    item = shown(open_page("item", response=lines(sqlite_store)[0].response_id))
    assert "confirmed (blind)" in item
    assert "dismissed (judge shown)" in item


def test_nothing_reviewed_is_said_and_nobody_is_asked_who_they_are(page_rows, open_page) -> None:
    assert "You have not reviewed any answers yet." in shown(open_page("my_reviews"))
    assert open_page("my_reviews", reviewer="").text_input(key="who_name")


def test_a_line_leads_to_its_answer_with_the_review_to_be_changed(mine, page_rows, sqlite_store) -> None:
    newest, oldest = lines(sqlite_store)
    assert dict(rows_of(newest).query) == {"response": str(page_rows.responses["good"]), "edit": str(mine[1])}
    assert dict(rows_of(oldest).query) == {"response": str(page_rows.responses["claims"]), "edit": str(mine[0])}


def test_a_decision_is_changed_from_what_it_was(mine, page_rows, open_page, sqlite_store: Store) -> None:
    page = open_page("item", flag=page_rows.flags["claims"], edit=mine[0])
    draft = page.session_state["review_session"].draft(page_rows.responses["claims"])
    assert (draft.quality, draft.note, len(draft.marks)) == (2, "no", 1)
    assert "Change your review: is there a problem?" in shown(page)
    press(press(page, "quality4_"), "dismiss_")
    assert "Saved: your review of claims is changed" in shown(page), "it is said on the list"
    with sqlite_store.reading() as connection:
        item = load_item(connection, page_rows.responses["claims"])
        changed = whole_review(connection, item.reviews[0].id)
    new, old = item.reviews
    assert (new.decision, new.quality, new.note, len(new.claim_marks)) == ("dismiss", 4, "no", 1)
    assert changed is not None
    assert (changed.seconds or 0) >= 8, "the time of the first look stays counted"
    assert (old.decision, old.stands) == ("confirm", False)
    assert next(flag.state for flag in item.flags if flag.id == page_rows.flags["claims"]) == "dismissed"


def test_a_grade_is_changed_and_undone(mine, page_rows, open_page, sqlite_store: Store) -> None:
    page = open_page("item", response=page_rows.responses["good"], edit=mine[1])
    press(press(page, "groundednessG_"), "save_")
    assert [line.groundedness for line in lines(sqlite_store)] == [1.0, None]
    [newest, _] = lines(sqlite_store)
    press(open_page("item", response=page_rows.responses["good"], edit=newest.review_id), "undo")
    assert [line.external_id for line in lines(sqlite_store)] == ["claims"]


def test_leaving_without_saving_leaves_no_draft(mine, page_rows, open_page) -> None:
    page = open_page("item", flag=page_rows.flags["claims"], edit=mine[0])
    del page.query_params["edit"]
    page.run()
    assert page.session_state["review_session"].draft(page_rows.responses["claims"]).quality is None


@pytest.mark.parametrize("edit", ["x", "999", "9" * 40])
def test_an_address_that_names_no_review_of_ones_own_opens_the_answer(mine, page_rows, open_page, edit: str) -> None:
    page = open_page("item", flag=page_rows.flags["plain-01"], edit=edit)
    assert "Is there a problem?" in shown(page)
    theirs = open_page("item", reviewer="Jon", flag=page_rows.flags["claims"], edit=mine[0])
    assert "Change your review" not in shown(theirs)

"""My reviews: what one said, newest first; a click opens it, to be changed by another row or undone."""

import io
import json
from datetime import UTC, datetime

import pytest

from app_pages import click, keys, press, shown, table
from judgeboard.domain import (
    AspectPreference,
    ClaimMark,
    ClaimStatus,
    Grade,
    Preference,
)
from judgeboard.imports.importing import import_file
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.filters import RowFilter
from judgeboard.store.items import load_item
from judgeboard.store.own_reviews import OwnReview, own_reviews_page
from judgeboard.store.reviews import Review, find_review
from judgeboard_dashboard.views.my_reviews import pair_rows, preference_words, rows_of
from pair_log import add_pairs
from queue_case import CONFIRM, DISMISS, queue_case
from stored_rows import read


@pytest.fixture
def mine(page_rows, sqlite_store):
    """A decision and a grade of Mara's, the decision first."""
    case = queue_case(sqlite_store)
    mark = ClaimMark(ClaimStatus.SUPPORTED, judgment_id=None, start=0, end=7)
    grade = Grade(quality=2, note="no", claim_marks=(mark,))
    decision = Submission(
        flag_id=page_rows.flags["claims"],
        reviewer=case.mara,
        decision=CONFIRM,
        seconds=8.0,
        grade=grade,
        request_key="one",
    )
    good = page_rows.responses["good"]
    decided = submit(sqlite_store, decision).review_id
    return decided, case.grade(good, case.mara, groundedness=0.5, request_key="two")


def lines(store):
    return read(store, own_reviews_page, ensure_reviewer(store, "page", "Mara").id).lines


def test_they_are_listed_newest_first_with_every_text_and_only_the_author_sees_them(
    mine, page_rows, sqlite_store, open_page
):
    case = queue_case(sqlite_store)
    texts = {"note": "wrong rock", "corrected_answer": "It is\ngranite."}
    case.grade(page_rows.responses["two-judges"], case.mara, **texts)
    page = open_page("my_reviews")
    assert "3 reviews, " in shown(page)
    rows = table(page, "Review")
    assert list(rows["Id"]) == ["two-judges", "good", "claims"]
    assert list(rows["Review"])[1:] == ["Graded", "Confirmed"]
    assert rows["Note"][0] == "wrong rock"
    assert rows["Corrected answer"][0] == "It is granite."
    assert rows["Note"][2] == "no"
    assert rows["Seconds"][2] == 8
    assert "granite" not in shown(open_page("my_reviews", reviewer="Jon"))


def test_a_blind_word_and_the_one_after_the_judge_are_told_apart(
    page_rows, sqlite_store, open_page
):
    case = queue_case(sqlite_store)
    case.queue(where=RowFilter(rules=("low_groundedness",)), blind_judge=True, order="oldest")
    case.reveal(case.review(case.mara), case.mara, DISMISS)
    rows = table(open_page("my_reviews"), "Review")
    # One person, one answer, one line.
    [words] = rows["Review"]
    assert words.split("; ") == ["Confirmed, blind", "then dismissed"]
    item = shown(open_page("item", response=lines(sqlite_store)[0].review.response_id))
    assert "confirmed (blind)" in item
    assert "dismissed (judge shown)" in item


def test_grades_of_a_file_are_those_of_the_person_with_that_name(page_rows, page_store, open_page):
    row = json.dumps({"response_id": "claims", "annotator": "zoe", "label": "grounded"})
    import_file(page_store, io.BytesIO(row.encode()), kind="grades", name="grades.jsonl")
    assert list(table(open_page("my_reviews", reviewer="Zoe"), "Review")["Id"]) == ["claims"]


def test_a_line_leads_to_its_answer_with_the_review_to_be_changed(mine, page_rows, sqlite_store):
    for line, name, review in zip(
        lines(sqlite_store), ("good", "claims"), reversed(mine), strict=True
    ):
        answer = page_rows.responses[name]
        assert dict(rows_of(line).query) == {"response": str(answer), "edit": str(review)}


def test_a_decision_is_changed_from_what_it_was(mine, page_rows, open_flag, sqlite_store):
    page = open_flag("claims", edit=mine[0])
    draft = page.session_state["review_session"].draft(page_rows.responses["claims"])
    assert (draft.quality, draft.notes["note"], len(draft.marks)) == (2, "no", 1)
    assert "Change your review?" in shown(page)
    press(press(page, "quality4_"), "dismiss_")
    # It is said on the list.
    assert "review of claims" in shown(page)
    item = read(sqlite_store, load_item, page_rows.responses["claims"])
    changed = read(sqlite_store, find_review, item.reviews[0].id)
    new, old = item.reviews
    assert new.decision == "dismiss"
    assert new.grade.quality == 4
    assert new.grade.note == "no"
    assert len(new.grade.claim_marks) == 1
    # The time of the first look stays counted.
    assert (changed.seconds or 0) >= 8
    assert old.decision == "confirm"
    assert old.stands is False
    states = {flag.id: flag.state for flag in item.flags}
    assert states[page_rows.flags["claims"]] == "dismissed"


def test_a_grade_is_changed_and_undone(mine, open_answer, sqlite_store):
    page = open_answer("good", edit=mine[1])
    press(press(page, "groundednessG_"), "save_")
    assert [line.review.grade.groundedness for line in lines(sqlite_store)] == [1.0, None]
    [newest, _] = lines(sqlite_store)
    press(open_answer("good", edit=newest.review.id), "undo")
    assert [line.external_id for line in lines(sqlite_store)] == ["claims"]


def test_leaving_without_saving_leaves_no_draft(mine, page_rows, open_flag):
    page = open_flag("claims", edit=mine[0])
    del page.query_params["edit"]
    page.run()
    assert page.session_state["review_session"].draft(page_rows.responses["claims"]).quality is None


@pytest.mark.parametrize("edit", ["x", "999", "9" * 40])
def test_an_address_that_names_no_review_of_ones_own_opens_the_answer(mine, open_flag, edit):
    page = open_flag("plain-01", edit=edit)
    assert "confirm" in keys(page)
    theirs = open_flag("claims", reviewer="Jon", edit=mine[0])
    assert "Change your review" not in shown(page) + shown(theirs)


@pytest.mark.parametrize(
    ("preferences", "words"),
    [
        ({"overall": Preference.TIE}, "Tie"),
        ({"overall": Preference.B}, "B"),
        ({}, "Noted"),
        ({"tone": Preference.A, "facts": Preference.B}, "Tone: A; facts: B"),
    ],
)
def test_a_line_names_the_stored_answers_and_leads_to_its_pair(preferences, words):
    stored = {aspect: AspectPreference(each) for aspect, each in preferences.items()}
    review = Review(1, "key", datetime(2026, 1, 1, tzinfo=UTC), pair_id=7, preferences=stored)
    line = OwnReview(review, "p0", "QA", "Which?", None, (), None, None)
    assert preference_words(line) == words
    assert dict(pair_rows(line).query) == {"pair": "7"}


def test_the_list_is_one_press_away_and_names_no_id_of_the_log(page_rows, open_page, sqlite_store):
    case = queue_case(sqlite_store)
    [pair_id] = add_pairs(sqlite_store, 1, query_type="pairs")
    case.queue("pairs", subject="pairs", order="oldest")
    case.review(case.mara, Preference.TIE, "pairs")
    page = click(open_page("my_reviews"), "my_other")
    assert "1 preference, " in shown(page)
    rows = table(page, "Review")
    assert list(rows["Review"]) == ["Tie"]
    assert list(rows["Pair"]) == [f"pair {pair_id}"]
    assert "p0" not in rows.to_string()

"""The attempts on the item page: what is shown of each, and which people select."""

import re

import pytest

from app_pages import body_with, plain, press, shown, texts
from judgeboard.methods.refining.attempts import attempt_sequences, select_attempt
from judgeboard.people.roster import ensure_reviewer
from judgeboard.store.forgetting import forget_response
from refined_answers import BETTER, HOSTILE, ORIGINAL, fill_attempts, refine_in_vain
from stored_rows import read, write_to


@pytest.fixture
def ids(page_rows, sqlite_store, fill_once):
    return fill_once("attempts", sqlite_store, fill_attempts)


def test_both_answers_and_both_judgments_are_shown_and_which_was_kept(ids, open_page):
    page = open_page("item", response=ids["reflected"])
    page_text = shown(page)
    assert "Self-reflection · 1" in page_text
    assert "by rag v" in page_text
    assert "Attempt 1kept" in page_text
    texts = body_with(page, 'class="jb-attempt-text')
    old, new = texts.split("Attempt 1")
    assert "0.20, quality 2" in old
    assert "0.90, quality 4" in new
    assert "<del>soft " in old
    assert "<ins>" not in old
    assert "hard" not in old
    assert "<ins>hard " in new
    assert "<del>" not in new
    assert "soft" not in new


def test_the_attempts_are_a_sequence_with_ratings_feedback_and_cost(ids, open_page):
    page = open_page("item", response=ids["refined"])
    page_text = shown(page)
    assert "3 attempts" in page_text
    assert "by refine v1" in page_text
    places = [
        page_text.index(text)
        for text in ("The original", "Attempt 1", "2 of 4", HOSTILE, "Attempt 2")
    ]
    assert places == sorted(places)
    assert "No usable judgment" in page_text
    assert page_text.partition("Attempt 3kept")[2].startswith("rated 4 of")
    bodies = "".join(
        node.proto.body for node in page.get("html") if not node.proto.body.startswith("<s")
    )
    assert "<script>window" not in bodies
    assert "<img src=x" not in bodies


def test_that_no_attempt_passed_and_that_the_text_stayed_is_said(ids, open_page, sqlite_store):
    refine_in_vain(sqlite_store, "reflected")
    page = open_page("item", response=ids["reflected"])
    page_text = shown(page)
    assert "2 attempts" in page_text
    assert f"Attempt 1not rated{BETTER}" in page_text
    assert "2kept, not passed" in page_text
    assert last_part(page).startswith("Attempt 2not rated")


def last_part(page):
    body = body_with(page, 'class="jb-attempt-text')
    return plain(body)


def selections(page):
    """Return who selected which attempt, as the page lists it."""
    return re.findall(r"(Mara|Jon <b>) selected (attempt \d|the original)", shown(page))


def test_everybodys_word_is_shown(ids, open_page, sqlite_store):
    jon = ensure_reviewer(sqlite_store, "page", "Jon <b>")
    [sequence] = read(sqlite_store, attempt_sequences, ids["refined"])
    select_attempt(
        sqlite_store,
        run_id=sequence.run_id,
        subject=sequence.subject,
        number=1,
        reviewer=jon,
        request_key="x",
    )
    page = press(open_page("item", response=ids["refined"]), "select_")
    assert sorted(selections(page)) == [("Jon <b>", "attempt 1"), ("Mara", "attempt 3")]
    assert "by Jon <b>" in shown(page)


def test_a_made_answer_shows_what_it_is_an_attempt_at(ids, open_page):
    made = next(id_ for name, id_ in ids.items() if name.startswith("reflected~"))
    page_text = shown(open_page("item", response=made))
    assert "The original" in page_text
    assert "not flagged" not in page_text


def test_an_answer_without_attempts_has_no_such_part(open_answer):
    page = open_answer("good")
    assert not texts(page, "jb-attempts")
    assert not [button for button in page.button if button.key in {"view", "select"}]


def test_forgotten_attempts_say_so(ids, open_page, sqlite_store):
    write_to(sqlite_store, forget_response, "refined", actor="Mara")
    page_text = shown(open_page("item", response=ids["refined"]))
    assert "judgeboard db forget" in page_text
    assert BETTER not in page_text
    assert ORIGINAL not in page_text

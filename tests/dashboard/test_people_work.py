"""The page People, one's own work on My reviews, the notifications in the head, and training in a queue."""

import pytest

from app_pages import in_address, press, shown, table, table_rows, text_with, texts
from judgeboard.domain import Label
from judgeboard.reviews.changes import comment
from judgeboard.store.events import EventFilter, latest_events
from judgeboard_dashboard.gate import MANAGED
from queue_case import CONFIRM, DISMISS, queue_case
from stored_rows import read

REASON = "the fee is made up"


@pytest.fixture
def case(page_store):
    """Mara and Jon differ on one of two answers; the lead confirmed its flag."""
    case = queue_case(page_store)
    case.queue_of(0.1, 0.2, 0.3, needed=2, assigned=(case.mara, case.jon))
    for decision in (DISMISS, CONFIRM):
        decided = case.review(case.mara, label=Label.HALLUCINATED)
        case.review(case.jon, decision)
        if decision is DISMISS:
            case.adjudicate(decided.item_id, CONFIRM, REASON, label=Label.HALLUCINATED)
    return case


NONE, HALF, ALL = "0 % [0, 79], n = 1", "50 % [9, 91], n = 2", "100 % [21, 100], n = 1"


def test_a_lead_sees_how_people_review(open_page, case):
    case.queue("other", assigned=(case.mara,))
    page = open_page("people", reviewer="Lead")
    rows = table(page, "Person")
    assert list(rows["Person"]) == ["Jon", "Mara"]
    assert list(rows["Left"]) == [1, 2]
    assert list(rows["With gold"]) == [NONE, ALL]
    assert list(rows["With others"]) == [HALF] * 2
    # Nobody has repeated items.
    assert "With self" not in rows
    assert table_rows(page, "Reviews agree")[0][1] == NONE
    assert table_rows(page, "Queue") == [["q", 2, 1]]
    assert "people" in MANAGED, "hidden from reviewers"


def test_my_reviews_shows_ones_own_progress_and_agreement(open_page, case):
    page = open_page("my_reviews")
    assert [agreement for _, agreement in table_rows(page, "Reviews agree")] == [ALL, HALF]
    assert table_rows(page, "Queue") == [["q", 2, 1]]
    assert "95 % intervals" in shown(page)
    assert "Reviews agree" not in open_page("my_reviews", reviewer="Ada").dataframe


def bell(page):
    """What the button of the notifications is sent as."""
    [text] = [str(each.proto) for each in page.get("popover") if "Notif" in str(each.proto)]
    return text


def test_a_notification_opens_what_it_is_about_and_is_read_then(open_page, case):
    answer = case.items()[0]["response_id"]
    comment(case.store, response_id=answer, reviewer=case.jon, text="@Mara, why?", request_key="c")
    page = open_page("overview")
    assert "Notifications (3)" in bell(page)
    listed = [each for each in page.button if (each.key or "").startswith("notification_")]
    subjects = [each.label.partition(" · ")[0].split(" ") for each in listed]
    assert [(words[0], words[-1]) for words in subjects] == [
        ("Jon", "a0"),
        ("Reviewers", "a0"),
        ("Lead", "q"),
    ]
    listed[1].click().run()
    assert in_address(page, "conflict") == str(case.items()[0]["id"])
    page = open_page("overview")
    assert "Notifications (1)" in bell(page)
    press(page, "notifications_read")
    assert len(read(case.store, latest_events, EventFilter(kind="mention"), limit=5)) == 1
    next(each for each in page.button if each.label.startswith("Jon mentioned you")).click().run()
    assert page.query_params["response"] == str(answer)


def test_in_training_the_gold_label_is_told_after_each_item(open_page, case):
    case.queue("training", training=True, assigned=(case.ada,))
    page = open_page("item", reviewer="Ada", queue="training")
    assert any(text.startswith("Training. ") for text in texts(page))
    assert REASON not in shown(page)
    press(page, "dismiss")
    assert text_with(page, "Differs", "confirmed, hallucinated", REASON)


def test_training_that_is_open_to_everybody_counts_all_its_items_from_the_first(open_page, case):
    decided = case.review(case.mara)
    case.review(case.jon, DISMISS)
    case.adjudicate(decided.item_id, CONFIRM, REASON)
    case.queue("training", training=True)
    page = open_page("item", reviewer="Ada", queue="training")
    assert text_with(page, "1 of 2", "“training”")
    assert text_with(press(page, "confirm"), "2 of 2", "“training”")

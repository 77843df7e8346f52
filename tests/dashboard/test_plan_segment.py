"""The segment Plan of the Queue page: the number of labels, the plan in words, and the button for its queue."""

import pytest

from app_pages import markup
from judgeboard.store.engine import Store
from judgeboard.store.tables import QUEUE
from queue_case import QueueCase, queue_case


@pytest.fixture
def queues(page_store: Store) -> QueueCase:
    made = queue_case(page_store)
    made.flagged(*(0.1 for _ in range(40)), *(0.9 for _ in range(160)))
    return made


def test_a_lead_chooses_the_number_of_labels_and_creates_the_queue(queues, open_page) -> None:
    page = open_page("queue", reviewer="Lead", show="Plan")
    assert "To know the share of bad answers to ±6.9 percentage points, label 200 answers" in markup(page)
    slider = next(each for each in page.select_slider if each.label == "Answers to label")
    slider.set_value(50).run()
    assert not page.exception
    assert "To know the share of bad answers to ±13.9 percentage points, label 50 answers" in markup(page)
    page.button(key="plan_create_queue").click().run()
    assert not page.exception
    assert "with 50 answers" in markup(page)
    [row] = queues.rows(QUEUE)
    assert (row["name"], row["max_items"], row["drawn_from"]) == ("Share of bad answers: 50 labels", 50, 200)
    assert (row["blind_judge"], row["implied_labels"]) == (True, True)
    assert [stratum["answers"] for stratum in row["plan"]["strata"]] == [40, 160]


def test_a_queue_of_a_plan_leads_to_its_figure(queues, open_page) -> None:
    page = open_page("queue", reviewer="Lead", show="Plan")
    page.button(key="plan_create_queue").click().run()
    assert not [button for button in page.button if button.key == "queue_rate"]
    again = open_page("queue", reviewer="Lead", show="Plan")
    assert "200 answers in “Share of bad answers: 200 labels”. Their labels count here too." in markup(again)
    assert again.button(key="plan_earlier").label == "Review that queue"
    queues.review(queues.mara, name=queues.rows(QUEUE)[0]["name"])
    page = open_page("queue", reviewer="Lead", show="Queues")
    assert page.button(key="queue_rate").label == "Share of bad answers"
    assert "199 answers in “Share" in markup(open_page("queue", reviewer="Lead", show="Plan"))


def test_without_answers_there_is_no_plan(page_store: Store, open_page) -> None:
    page = open_page("queue", reviewer="Lead", show="Plan")
    assert not page.exception
    assert "No plan: a plan needs answers" in markup(page)

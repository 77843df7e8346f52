"""The segment Plan of the Queue page: the precision, the plan in words, and the button that creates the queue."""

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


def test_a_lead_chooses_a_precision_and_creates_the_queue(queues, open_page) -> None:
    page = open_page("queue", reviewer="Lead", show="Plan")
    assert "To know the share of bad answers to ±5 percentage points" in markup(page)
    page.number_input(key="plan_points").set_value(15.0).run()
    assert not page.exception
    assert "To know the share of bad answers to ±15 percentage points, 43 labels are needed" in markup(page)
    page.button(key="plan_create_queue").click().run()
    assert not page.exception
    [row] = queues.rows(QUEUE)
    assert (row["name"], row["max_items"], row["drawn_from"]) == ("Rate to ±15 points", 43, 200)
    assert [stratum["answers"] for stratum in row["plan"]["strata"]] == [40, 160]


def test_without_answers_there_is_no_plan(page_store: Store, open_page) -> None:
    page = open_page("queue", reviewer="Lead", show="Plan")
    assert not page.exception
    assert "No plan: a plan needs answers" in markup(page)

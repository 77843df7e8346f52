"""A lead in a browser goes from a log without labels to the share of bad answers, by a plan and its queue."""

import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from graded_log import BAD, GOOD, GradedLog
from judgeboard.domain import Decision
from judgeboard.reviews.queues import assign_queue
from judgeboard.store.engine import Store
from judgeboard.store.tables import RESPONSE
from page_state import idle, settled
from queue_case import QueueCase, queue_case
from queue_page import press
from served import serving

pytestmark = pytest.mark.browser

ANSWERS, TYPED = 600, 2
MADE_UP = "The wall is made of cheese."
QUEUE = "Share of bad answers: 200 labels"


@pytest.fixture(scope="module")
def site(new_store: Callable[[], Store], port: int) -> Iterator[SimpleNamespace]:
    """A server on answers of which 30 % are bad; the judge finds two of three, and raises some false alarms."""
    store = new_store()
    log = GradedLog(store)
    ids = log.answers_of({"answer": MADE_UP} if place % 10 < 3 else {} for place in range(ANSWERS))
    bad, good = (
        {"label": label, "groundedness": score} for label, score in ((BAD, 0.1), (GOOD, 0.9))
    )
    log.say(
        log.version(),
        {answer: bad if place % 10 in {0, 1, 9} else good for place, answer in enumerate(ids)},
    )
    with serving(str(store.engine.url.database), port) as url:
        yield SimpleNamespace(url=url, case=queue_case(store))


def test_from_a_log_without_labels_to_the_share_of_bad_answers(reviewer, site) -> None:
    page = reviewer("Lead")
    page.goto("/agreement")
    page.get_by_role("button", name="Plan the labels").click()
    expect(page.get_by_text("±6.9 percentage points")).to_be_visible()
    idle(page)
    page.get_by_role("button", name="Create this queue").click()
    expect(page.get_by_text(f"Created “{QUEUE}” with 200 answers")).to_be_visible()
    page.get_by_role("button", name="Start reviewing").click()
    settled(page)
    expect(page.get_by_text("Y: hallucinated, N: grounded")).to_be_visible()
    for _ in range(TYPED):
        press(page, decision(page))
    review_the_others(site.case)
    for _ in range(
        site.case.item_states().count("open") - 1
    ):  # the page has leased some items in advance
        press(page, decision(page))
    page.keyboard.press(decision(page))
    expect(page.get_by_text("Nothing is left for you")).to_be_visible()
    page.get_by_role("button", name="Share of bad answers").click()
    value, low, high = rate_of(page)
    assert low < 30 < high
    assert abs(value - 30) < 7
    assert high - low <= 14


def decision(page: Page) -> str:
    """Return the key for the answer that the page shows."""
    return "y" if page.get_by_text(MADE_UP).count() else "n"


def review_the_others(case: QueueCase) -> None:
    """Decide what the browser has not leased, as another person would to whom the queue is assigned."""
    assign_queue(case.store, QUEUE, by="test", add=[case.mara])
    while (leased := case.take(case.mara, QUEUE)) is not None:
        with case.store.reading() as connection:
            stored = select(RESPONSE.c.answer).where(RESPONSE.c.id == leased.response_id)
            answer = connection.execute(stored).scalar_one()
        case.say(leased, case.mara, Decision.CONFIRM if answer == MADE_UP else Decision.DISMISS)


def rate_of(page: Page) -> tuple[int, ...]:
    line = page.locator(".jb-say").filter(has_text="of all answers are bad")
    expect(line).to_contain_text("200 labels")
    words = re.match(r"About (\d+) % \[(\d+), (\d+)\] of all answers are bad", line.inner_text())
    assert words is not None, line.inner_text()
    return tuple(int(each) for each in words.groups())

"""Items of a queue with keys alone, on PostgreSQL, and a sentence that is typed where keys decide."""

from contextlib import closing

import pytest
from playwright.sync_api import expect

from browser_windows import Reviewers, Windows
from page_state import GUARD, idle, press_at_times
from queue_page import opened, row
from served_queues import served_queues

pytestmark = pytest.mark.browser


def decide_two(page, name):
    """Grade and decide two items of a queue with keys alone."""
    opened(page, name)
    for decision in "yn":
        for key in "3d":
            page.keyboard.press(key)
        before = row(page)
        page.wait_for_timeout(GUARD)  # somebody read it
        page.keyboard.press(decision)
        expect(page.locator(f".jb-head[data-row='{before}']")).to_have_count(0)
        idle(page)


def test_a_sentence_typed_in_a_queue_outside_a_field_decides_nothing(mara, site):
    opened(mara, site.queue(2))
    before, first = len(site.reviews()), row(mara)
    idle(mara)
    press_at_times(
        mara, "could you think about it", 0.06
    )  # outside the field, as fast as people type
    mara.wait_for_timeout(1500)  # a press that counts is sent by then
    idle(mara)
    assert row(mara) == first
    assert len(site.reviews()) == before


@pytest.mark.postgres
def test_two_items_with_keys_alone_on_postgresql(browser, postgres_store):
    with served_queues(postgres_store) as started:
        name = started.queue(2)
        with closing(Windows(browser, started.url)) as windows:
            decide_two(Reviewers(windows)("Mara"), name)
        made = [review[1:4] for review in started.reviews()]
    assert made == [("confirm", None, 0.5), ("dismiss", None, 0.5)]

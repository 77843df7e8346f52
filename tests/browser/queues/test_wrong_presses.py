"""Wrong presses: none stores what was not meant. One page session on an item whose required grades are missing."""

import pytest
from playwright.sync_api import expect
from sqlalchemy import func, select

from browser_windows import Reviewers, Windows
from judgeboard.store.tables import SKIP
from page_state import GUARD, idle
from queue_page import opened, row

pytestmark = pytest.mark.browser

COVERED = [("h", key, "Escape") for key in "ynujzlkqwasdfg1234bxpiv"]  # under the list of keys
MODIFIED = [(f"{modifier}+{key}",) for modifier in ("Control", "Alt") for key in "ynu"]
UNFINISHED = [
    ("y",),
    ("n",),
    ("Control+Enter",),
    ("k", "y"),
    ("2", "k", "y"),
]  # required grades are missing
ELSEWHERE = [
    ("e",),
    ("9",),
    ("0",),
    ("F8",),
    ("Enter",),
    ("Backspace",),
    ("Space",),
]  # keys of other screens
FIELDS = [("m", *"yn1j", "Escape"), ("c", *"yn1j", "Enter", "Escape"), ("t", *"yn1j", "Escape")]
GROUPS = {
    "covered": COVERED,
    "modified": MODIFIED,
    "unfinished": UNFINISHED,
    "elsewhere": ELSEWHERE,
    "fields": FIELDS,
}


@pytest.fixture(scope="module")
def item(windows_at, browser, site):
    """An item that requires two levels of a rubric."""
    reviewers = Reviewers(windows_at.setdefault(site.url, Windows(browser, site.url)))
    page = reviewers("Mara")
    opened(page, site.queue(2, grades=("tone", "safety")))
    page.wait_for_timeout(GUARD)
    yield page
    reviewers.close()


@pytest.mark.parametrize("group", GROUPS)
def test_wrong_presses_store_nothing(item, site, group):
    def stored():
        with site.store.reading() as connection:
            return len(site.reviews()), connection.execute(
                select(func.count()).select_from(SKIP)
            ).scalar_one()

    before, shown = stored(), row(item)
    for presses in GROUPS[group]:
        for press in presses:
            item.keyboard.press(press)
            item.wait_for_timeout(20)
        item.wait_for_timeout(150)
        idle(item)
    assert (stored(), row(item)) == (before, shown)
    expect(item.locator(".jb-keys")).not_to_be_visible()

"""Nothing moves between items, panes fill the window, and an item is read and decided on a phone."""

from functools import partial

import pytest
from playwright.sync_api import expect

from judgeboard_dashboard.app import TABS
from page_fit import looks, overflowing, reaches_bar
from page_state import DECIDE, PAUSE, at_rest, idle, in_the_end, settled, visit

pytestmark = pytest.mark.browser

ANCHORS = (
    ".st-key-head",
    "[class*='st-key-pane_answer']:visible",
    "[class*='st-key-pane_passages']:visible",
    "[class*='st-key-pane_judge']:visible",
    ".st-key-bar",
    ".st-key-decide",
)


# Panes scroll, the page does not.
PAGE_STANDS = """() => {
  const main = document.querySelector("[data-testid=stMain]");
  return main.scrollHeight - main.clientHeight <= 1;
}"""


def boxes(page):
    return {name: page.locator(name).bounding_box() for name in ANCHORS}


def settle(page, *, after=""):
    """Wait until a row other than ``after`` is drawn whole; return which."""
    head = page.locator(f".jb-head:not([data-row='{after}'])")
    expect(head).to_be_visible()
    expect(page.locator(".st-key-decide button:visible").first).to_be_visible()
    idle(page)
    return str(head.get_attribute("data-row"))


def test_the_anchors_keep_their_place_over_all_items(page, site):
    """Down the list in one look, and up again in the other."""
    visit(page, "/item")
    row = settle(page)
    for look, key in zip(looks(page), "jk", strict=True):
        before = at_rest(partial(boxes, page))
        assert all(before.values()), before
        for _ in range(4):
            page.wait_for_timeout(PAUSE)
            page.keyboard.press(key)
            row = settle(page, after=row)
            assert in_the_end(partial(boxes, page), before) == before, look


def test_the_bar_is_in_view_panes_fill_the_window_and_each_item_starts_at_its_top(page, site):
    visit(page, f"/item?flag={site.rows.flags['many-passages']}")
    row = settle(page)
    for height in (700, 1080, 900):
        page.set_viewport_size({"width": 1440, "height": height})
        assert in_the_end(partial(reaches_bar, page, ANCHORS[2]), expected=True), height
        page.wait_for_function(PAGE_STANDS)
    pane = page.locator(ANCHORS[2])
    pane.evaluate("node => node.scrollTo({top: 300, behavior: 'instant'})")
    page.keyboard.press("3")
    expect(page.get_by_role("button", name="Gaps")).to_have_attribute("kind", "primary")
    idle(page)
    assert pane.evaluate("node => node.scrollTop") == 300
    page.keyboard.press("k")
    settle(page, after=row)
    top = partial(page.locator(ANCHORS[2]).evaluate, "node => node.scrollTop")
    # A grade keeps the place, an item does not.
    assert in_the_end(top, 0) == 0


def test_a_filter_of_any_length_does_not_push_the_page_sideways(page, site):
    for place in ("rejudge", "open_flags", "responses"):
        visit(page, f"/{place}?text={'x' * 6000}")
        expect(page.get_by_role("heading", level=1)).to_have_text(TABS[place].page)
        expect(page.get_by_role("textbox", name="Find")).to_be_visible()
        idle(page)
        expect(page.locator(".st-key-rejudge_form .jb-cap, .jb-empty").first).to_be_visible()
        assert overflowing(page) == [], place


def test_an_item_is_read_and_decided_on_a_phone_and_at_200_percent(page, site):
    for flag, (width, height) in zip(
        ("plain-11", "plain-12"), ((390, 844), (720, 450)), strict=True
    ):
        page.set_viewport_size({"width": width, "height": height})
        visit(page, f"/item?flag={site.rows.flags[flag]}")
        settled(page, DECIDE)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        for text in (
            "What is rock number",
            "Granite cools slowly below the surface.",
            "(threshold ",
        ):
            found = page.get_by_text(text).locator("visible=true").first
            found.scroll_into_view_if_needed()
            expect(found).to_be_in_viewport()
        button = page.get_by_role("button", name="Dismiss")
        button.scroll_into_view_if_needed()
        button.click()
        expect(
            page.get_by_role("status").filter(has_text=f"Saved: dismissed {flag}")
        ).to_have_count(1)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)

"""Addresses say what a page shows, and bring it back."""

import re

import pytest
from playwright.sync_api import expect

from page_state import idle, visit

pytestmark = pytest.mark.browser


def test_a_filter_stands_in_the_address_and_survives_back(page, site):
    visit(page, "/open_flags?rule=low_groundedness&query_type=odd")
    expect(page.locator(".jb-say")).to_contain_text(
        "10 answers with open flags in odd, low groundedness"
    )
    idle(page)
    page.get_by_label("Find").fill("evil")
    page.get_by_label("Find").press("Enter")
    expect(page.locator(".jb-say")).to_contain_text("“evil”")
    page.wait_for_url(re.compile("text=evil"))
    page.get_by_role("button", name="Start reviewing").click()
    page.wait_for_url(re.compile(r"/item\?.*flag=\d+"))
    assert "rule=low_groundedness" in page.url
    assert "text=evil" in page.url
    expect(page.locator(".jb-head")).to_contain_text("low groundedness")
    page.go_back()
    expect(page.locator(".jb-say")).to_contain_text("“evil”")
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.locator(".jb-say")).to_contain_text("open flags · most doubtful first")
    expect(page).not_to_have_url(re.compile("rule="))


def test_a_click_on_a_line_opens_its_item(page, site):
    visit(page, "/open_flags?text=many-passages&rule=low_groundedness")
    expect(page.locator(".jb-say")).to_contain_text("1 answer")
    table = page.locator("[data-testid=stDataFrame] canvas").first
    expect(table).to_be_visible()
    idle(page)
    box = table.bounding_box()
    table.evaluate("canvas => canvas.focus()")
    page.mouse.click(box["x"] + 600, box["y"] + 18)
    idle(page)
    # Neither the focus nor a click on a header opens an item.
    assert "/open_flags" in page.url
    page.mouse.click(box["x"] + 600, box["y"] + 58)
    page.wait_for_url(re.compile(rf"flag={site.rows.flags['many-passages']}\b"))
    expect(page.locator(".jb-jumps")).to_contain_text("30 passages")

"""Addresses say what a page shows, and bring it back."""

import re
import socket
import urllib.request
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from page_state import idle, visit

pytestmark = pytest.mark.browser


def test_a_filter_stands_in_the_address_and_survives_back(page: Page, site) -> None:
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


def test_an_unknown_address_says_so(page: Page, site) -> None:
    page.goto("/nonsense")
    expect(page.get_by_role("dialog")).to_contain_text("not found")
    page.get_by_role("button", name="Close").click()
    expect(page).to_have_title(re.compile("Overview"))


def test_next_and_previous_stay_in_the_filter(page: Page, site) -> None:
    visit(page, "/item?query_type=odd&rule=low_groundedness")
    expect(page.locator(".jb-head")).to_contain_text("1 of 10")
    expect(page).to_have_title("1 of 10 · Judgeboard")
    page.keyboard.press("j")
    expect(page.locator(".jb-head")).to_contain_text("2 of 10")
    idle(page)
    page.keyboard.press("k")
    expect(page.locator(".jb-head")).to_contain_text("1 of 10")


def test_a_click_on_a_line_opens_its_item(page: Page, site) -> None:
    visit(page, "/open_flags?text=many-passages&rule=low_groundedness")
    expect(page.locator(".jb-say")).to_contain_text("1 answer")
    table = page.locator("[data-testid=stDataFrame] canvas").first
    expect(table).to_be_visible()
    idle(page)
    box = table.bounding_box()
    assert box is not None
    table.evaluate("canvas => canvas.focus()")
    page.mouse.click(box["x"] + 600, box["y"] + 18)
    idle(page)
    # Neither the focus nor a click on a header opens an item.
    assert "/open_flags" in page.url
    page.mouse.click(box["x"] + 600, box["y"] + 58)
    page.wait_for_url(re.compile(rf"flag={site.rows.flags['many-passages']}\b"))
    expect(page.locator(".jb-jumps")).to_contain_text("30 passages")


def test_the_server_forbids_browsers_to_go_elsewhere(site) -> None:
    with urllib.request.urlopen(f"{site.url}/healthz") as answer:
        assert answer.headers["content-security-policy"].startswith("default-src 'self'")


@pytest.mark.parametrize(("host", "taken"), [("evil.example", False), ("localhost", True)])
def test_a_page_that_renames_itself_to_this_server_gets_no_data(
    site, host: str, taken: bool
) -> None:
    port = urlsplit(site.url).port
    lines = (
        "GET /_stcore/stream HTTP/1.1",
        f"Host: {host}:{port}",
        f"Origin: http://{host}:{port}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==",
        "",
        "",
    )
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall("\r\n".join(lines).encode())
        answer = connection.recv(100)
    assert answer.startswith(b"HTTP/1.1 101") == taken, answer

"""Walks through a queue in a browser as a person does: waits for the item, reads, presses keys."""

from playwright.sync_api import Page, expect

GUARD = 750  # ms: on a row that just appeared nothing is decided


def opened(page: Page, name: str) -> None:
    page.goto(f"/item?queue={name.replace(' ', '+')}")
    settled(page)


def settled(page: Page) -> None:
    """Wait until an item is drawn and its first moments, in which decisions are not taken, are over."""
    expect(page.locator(".jb-head")).to_be_visible()
    idle(page)
    page.wait_for_timeout(GUARD)


def idle(page: Page) -> None:
    expect(page.locator("[data-testid=stApp]")).to_have_attribute("data-test-script-state", "notRunning")


def row(page: Page) -> str:
    return str(page.locator(".jb-head").get_attribute("data-row"))


def press(page: Page, key: str) -> None:
    """Press a key that brings another row to the screen."""
    before = row(page)
    page.keyboard.press(key)
    expect(page.locator(f".jb-head:not([data-row='{before}'])")).to_be_visible()
    settled(page)

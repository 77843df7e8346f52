"""Walks through a queue in a browser as a person does: waits for the item, reads, presses keys."""

from playwright.sync_api import expect

from page_state import settled, visit


def in_queue(name):
    """The address of a queue's next item."""
    return f"/item?queue={name.replace(' ', '+')}"


def opened(page, name):
    visit(page, in_queue(name))
    settled(page)


def row(page):
    return str(page.locator(".jb-head").get_attribute("data-row"))


def press(page, key):
    """Press a key that brings another row to the screen."""
    before = row(page)
    page.keyboard.press(key)
    expect(page.locator(f".jb-head:not([data-row='{before}'])")).to_be_visible()
    settled(page)

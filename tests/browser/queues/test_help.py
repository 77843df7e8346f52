"""A browser sends the press of each key that a screen lists, and presses in quick succession are all executed.

That the lists name all keys, and what each does, is checked without a browser: tests/dashboard/test_lists_of_keys.py.
"""

import pytest
from playwright.sync_api import Page, expect

from judgeboard.reviews.failure_modes import save_mode
from judgeboard_dashboard.review.fields import CONFLICT_KEYS, ITEM_KEYS, QUEUE_KEYS
from listed_keys import MODE_KEY, keys_of
from page_state import idle, in_the_end, settled, visit

pytestmark = pytest.mark.browser

FIELDS = {"M": '[class*="st-key-note_"] input:visible', "T": '[class*="st-key-comment_"] input:visible'}
STREAMLITS = {"F10"}  # our script leaves it to Streamlit: see test_beside_the_answer.py
# Which press the server handled last, and which it did not execute.
DONE = "() => { const {done, returned} = document.querySelector('.jb-head').dataset; return [Number(done), returned]; }"
# From now on the page keeps what it would send. These keys have a button each, without any action.
KEEP = """(keys) => {
  window.kept = [];
  window.__judgeboardSend = (presses) => presses.forEach(({n, key}) => { kept[n] = key; });
  for (const key of keys) document.querySelector("[data-testid=stMain]").insertAdjacentHTML(
    "beforeend", `<button><kbd aria-label="Shortcut ${key.replace("+", " + ")}">${key}</kbd></button>`);
}"""


def together(page: Page, *keys: str) -> None:
    """Press keys right after each other, as fast as people grade: the server must execute each of them."""
    idle(page)
    done, returned = page.evaluate(DONE)
    for key in keys:
        page.keyboard.press(key)
    expected = [done + len(keys), returned]
    assert in_the_end(lambda: page.evaluate(DONE), expected) == expected, keys


def test_each_key_that_a_screen_lists_is_sent(reviewer, site) -> None:
    page = reviewer("Ida")
    save_mode(site.store, "Wrong product", key=MODE_KEY, by=site.case.lead)
    site.queue(1)
    visit(page, f"/item?query_type=type{site.names}")
    settled(page)
    together(page, *"1234", *"ASDFG", *"QW", f"Shift+{MODE_KEY}", "V")
    together(page, *"BXP")
    idle(page)
    before = page.evaluate(DONE)
    page.keyboard.press("h")
    expect(page.locator(".jb-keys")).to_be_visible()
    for key in "3yj":  # what is covered gets no key
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    expect(page.locator(".jb-keys")).not_to_be_visible()
    assert page.evaluate(DONE) == before
    for key, field in FIELDS.items():
        page.keyboard.press(key)
        expect(page.locator(field)).to_be_focused()
        page.keyboard.press("Escape")
    listed = {key for entry, _ in (*ITEM_KEYS, *QUEUE_KEYS, *CONFLICT_KEYS) for key in keys_of(entry)}
    keys = sorted(listed - {*FIELDS, *STREAMLITS, "H"})
    page.evaluate(KEEP, [key.replace("Control", "Ctrl") for key in keys])
    for key in keys:
        page.keyboard.press(key)
    sent = [key.replace("Control", "Ctrl") for key in keys]
    assert in_the_end(lambda: [key for key in page.evaluate("kept") if key], sent) == sent

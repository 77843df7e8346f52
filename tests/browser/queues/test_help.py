"""A browser lists the keys of a screen and sends the press of each; presses in quick succession are all executed.

What each does is checked without a browser: tests/dashboard/test_lists_of_keys.py.
"""

import pytest
from playwright.sync_api import expect

from judgeboard.reviews.failure_modes import save_mode
from page_state import idle, in_the_end, settled, visit

pytestmark = pytest.mark.browser

FIELDS = {
    "C": ".jb-search:visible",
    "M": '[class*="st-key-note_"] input:visible',
    "T": '[class*="st-key-comment_"] input:visible',
}
MODE_KEY = "B"  # of the failure mode that is chosen by its letter
EVERY = ("Ctrl+Enter", "9", "0", "F6", "F8")  # keys that other items have
# Which press the server handled last, and which it did not execute.
DONE = "() => { const {done, returned} = document.querySelector('.jb-head').dataset; return [Number(done), returned]; }"
# From now on the page keeps what it would send. These keys have a button each, without any action.
KEEP = """(keys) => {
  window.kept = [];
  window.__judgeboardSend = (presses) => presses.forEach(({n, key}) => { kept[n] = key; });
  for (const key of keys) document.querySelector("[data-testid=stMain]").insertAdjacentHTML(
    "beforeend", `<button><kbd aria-label="Shortcut ${key.replace("+", " + ")}">${key}</kbd></button>`);
}"""


def together(page, *keys):
    """Press keys right after each other, as fast as people grade: the server must execute each of them."""
    idle(page)
    done, returned = page.evaluate(DONE)
    for key in keys:
        page.keyboard.press(key)
    expected = [done + len(keys), returned]
    assert in_the_end(lambda: page.evaluate(DONE), expected) == expected, keys


def test_each_key_that_a_screen_lists_is_sent(reviewer, site):
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
    listed = page.locator(".jb-keys kbd").all_text_contents()
    assert {*"1234", *"ASDFG", *"QWYNUHLVBXPIMT", f"Shift+{MODE_KEY}"} <= {*listed}
    assert "9" not in listed, "no attempts"
    expect(page.locator(".jb-keys")).to_contain_text("Groundedness: 0.8")
    for key in "3yj":  # what is covered gets no key
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    expect(page.locator(".jb-keys")).not_to_be_visible()
    assert page.evaluate(DONE) == before
    for key, field in FIELDS.items():
        page.keyboard.press(key)
        expect(page.locator(field)).to_be_focused()
        page.keyboard.press("Escape")
    keys = [key for key in EVERY if key not in listed]
    page.evaluate(KEEP, keys)
    sent = [key for key in (*listed, *EVERY) if key not in {*FIELDS, "H", "R"}]
    for key in sent:
        page.keyboard.press(key.replace("Ctrl", "Control"))
        page.wait_for_timeout(20)
    assert in_the_end(lambda: [key for key in page.evaluate("kept") if key], sent) == sent

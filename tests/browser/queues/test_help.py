"""The list of keys of each screen: each key does something there."""

import re
from collections.abc import Iterator, Sequence

import pytest
from playwright.sync_api import Page, expect

from judgeboard.domain import Preference
from judgeboard.reviews.failure_modes import save_mode
from judgeboard_dashboard.review.fields import CONFLICT_KEYS, ITEM_KEYS, QUEUE_KEYS
from page_state import GUARD, PAUSE, idle, in_the_end, settled
from pair_log import add_pairs
from queue_case import CONFIRM, DISMISS
from queue_page import opened
from refined_answers import fill_attempts
from served_queues import BLIND

pytestmark = pytest.mark.browser

FIELDS = {"M": '[class*="st-key-note_"] input:visible', "T": '[class*="st-key-comment_"] input:visible'}
MODE_KEY = "B"
DECIDING = {*"YNUQWE", "Control+Enter"}
DONE = "() => document.querySelector('.jb-head')?.dataset.done + ' ' + location.href"


def keys_of(entry: str) -> Iterator[str]:
    """The keys that one entry of a list names, as Playwright names them."""
    if entry == "Ctrl Enter":
        yield "Control+Enter"
    elif entry.startswith("Shift"):
        yield f"Shift+{MODE_KEY}"
    else:
        for part in entry.split():
            first, dash, last = part.partition("–")
            yield from (str(digit) for digit in range(int(first), int(last) + 1)) if dash else (part,)


def named(keys: Sequence[tuple[str, str]]) -> set[str]:
    return {key for entry, _ in keys for key in keys_of(entry)}


def takes(page: Page, keys: Sequence[str]) -> set[str]:
    """Press these keys; each must be executed by the server, or move the cursor into its field. Return the keys."""
    for key in keys:
        idle(page)
        if key in DECIDING:
            page.wait_for_timeout(GUARD)
        if key in FIELDS:
            page.keyboard.press(key)
            expect(page.locator(FIELDS[key])).to_be_focused()
            page.keyboard.press("Escape")
            continue
        before = page.evaluate(DONE)
        page.keyboard.press(key)
        taken = in_the_end(lambda before=before: page.evaluate(DONE) != before, True)
        assert taken, (key, page.locator(".jb-head").inner_text())
        if key == "F9":
            page.locator('[class*="st-key-corrected_"] textarea').fill("Better.")
            page.keyboard.press("Control+Enter")
            expect(page.get_by_role("button", name="Add to suite")).to_be_visible()
            page.keyboard.press("Escape")
        elif key in {"F7", "F2", "I"}:  # back to the texts
            page.wait_for_timeout(PAUSE)
            page.keyboard.press(key)
    return set(keys)


GRADES = (*"1234", *"ASDFG", *"QW", f"Shift+{MODE_KEY}")
READING = ("H", *"VBXP", "I", "F4", "F7", "F2", "F9", "F8", "M", "T", "O")
ELSEWHERE = {"F6", "F10"}  # these need a judge and a trace: see test_rejudge.py and test_trace.py


@pytest.fixture
def modes(site) -> None:
    save_mode(site.store, "Wrong product", key=MODE_KEY, by=site.case.lead)


@pytest.mark.usefixtures("modes")
def test_each_key_of_the_item_page(reviewer, site) -> None:
    site.queue(5)
    page = reviewer("Ida")
    page.goto(f"/item?query_type=type{site.names}")
    settled(page)
    taken = takes(page, (*GRADES, *READING, "E", "J", "K", "W", "Y", "Z", "Q", "N", "U", "L"))
    page.wait_for_url(re.compile("/open_flags"))
    page.goto(f"/item?response={fill_attempts(site.store)['refined']}")
    settled(page)
    taken |= takes(page, ("9", "0", "3", "Control+Enter"))
    assert taken | ELSEWHERE == named(ITEM_KEYS)


@pytest.mark.usefixtures("modes")
def test_each_key_of_a_queue(reviewer, site) -> None:
    page = reviewer("Mara")
    grades = ("label", "groundedness", "quality")
    opened(page, site.queue(3, optional_grades=grades, grades=()))
    taken = takes(page, (*GRADES, *READING, "Y", "Z", "Q", "N", "U", "L"))
    opened(page, site.queue(2, **BLIND, grades=("label", "tone"), optional_grades=()))
    taken |= takes(page, (*"12345", "K", "1", "Q", "Y", "E", "Y", "J"))
    expect(page.get_by_label("Reason to skip")).to_be_focused()
    add_pairs(site.store, 3)
    site.case.queue("pairs", subject="pairs", order="random", optional_grades=())
    for key in "QWE":
        opened(page, "pairs")
        taken |= takes(page, (key,))
    assert taken | ELSEWHERE == named(QUEUE_KEYS)


@pytest.mark.usefixtures("modes")
def test_each_key_of_a_conflict(reviewer, site) -> None:
    grades = ("label", "groundedness", "quality")
    name = site.queue(3, needed=2, optional_grades=grades, grades=())
    for _ in range(3):
        site.case.review(site.case.mara, CONFIRM, name)
        site.case.review(site.case.jon, DISMISS, name)
    page = reviewer("Lead")
    page.goto("/conflicts")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    idle(page)
    page.keyboard.press("Enter")
    settled(page)
    taken = takes(page, (*GRADES, *READING, "J"))
    settled(page)
    page.locator(FIELDS["M"]).fill("The passage says so.")
    page.keyboard.press("Escape")
    taken |= takes(page, ("Y", "Z"))
    taken |= takes(page, ("Q", "N"))
    idle(page)
    page.keyboard.press("Escape")  # where the reason is missing, N puts the cursor into its field
    taken |= takes(page, ("L",))
    add_pairs(site.store, 1, source="split")
    site.case.queue("split", subject="pairs", order="random", needed=2, optional_grades=())
    site.case.review(site.case.mara, Preference.A, "split")
    site.case.review(site.case.jon, Preference.B, "split")
    page.goto("/conflicts?of=split")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    idle(page)
    page.keyboard.press("Enter")
    settled(page)
    page.locator(FIELDS["M"]).fill("The left answer is wrong.")
    page.keyboard.press("Escape")
    assert taken | ELSEWHERE | takes(page, ("E",)) == named(CONFLICT_KEYS)

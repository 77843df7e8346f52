"""The list of keys of each screen names the keys that the screen has, and each key does something."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import pytest
from playwright.sync_api import Page, expect

from judgeboard.domain import Preference
from judgeboard.reviews.failure_modes import save_mode
from judgeboard_dashboard.review.fields import CONFLICT_KEYS, ITEM_KEYS, QUEUE_KEYS
from page_state import GUARD, PAUSE, idle, in_the_end, settled, visit
from pair_log import add_pairs
from queue_case import CONFIRM, DISMISS
from queue_page import in_queue
from refined_answers import fill_attempts
from served_queues import BLIND

pytestmark = pytest.mark.browser

FIELDS = {"M": '[class*="st-key-note_"] input:visible', "T": '[class*="st-key-comment_"] input:visible'}
MODE_KEY = "B"
DECIDING = {*"YNUE", "Control+Enter"}
# Which press the server handled last, which it did not execute, and the address.
DONE = """() => {
  const {done = 0, returned = ""} = document.querySelector(".jb-head")?.dataset ?? {};
  return [Number(done), returned, location.href];
}"""
BUTTONS = """() => [...document.querySelectorAll('button:not(:disabled) kbd[aria-label^="Shortcut "]')].map(
  (kbd) => kbd.getAttribute("aria-label").replace("Shortcut ", "").replaceAll(" ", ""))"""

GRADES = (*"1234", *"ASDFG", *"QW", f"Shift+{MODE_KEY}")
READING = ("H", *"VBXP", "I", "F4", "F7", "F2", "F9", "F8", "M", "T", "O")
SHARED = {*GRADES, *READING}  # the same parts on all screens: each key is pressed on the item page, some on the others
ELSEWHERE = {"F6", "F10"}  # these need a judge and a trace: see test_rejudge.py and test_beside_the_answer.py


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


@dataclass
class Keys:
    """The keys of one screen: those that its list names, those that it was seen to have, and those that were pressed.

    A screen has a key when a button shows it, or when the field is there to which it moves the cursor.
    """

    page: Page
    listed: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    pressed: set[str] = field(default_factory=set)

    def open(self, address: str) -> None:
        visit(self.page, address)
        settled(self.page)

    def show_list(self) -> None:
        """Press H and read the list."""
        self.together("H")
        entries = self.page.locator(".jb-keys kbd").all_inner_texts()
        self.listed = {key for entry in entries for key in keys_of(entry)}

    def look(self) -> None:
        """Note which keys the screen has now."""
        idle(self.page)
        self.seen |= {key.replace("Ctrl", "Control") for key in self.page.evaluate(BUTTONS)}
        self.seen |= {key for key, box in FIELDS.items() if self.page.locator(box).count()}

    def together(self, *keys: str) -> None:
        """Press keys right after each other, as fast as people grade: the server must execute each of them."""
        self.look()
        done, returned, at = self.page.evaluate(DONE)
        for key in keys:
            self.page.keyboard.press(key)
        read = partial(self.page.evaluate, DONE)
        assert in_the_end(read, [done + len(keys), returned, at]) == [done + len(keys), returned, at], keys
        self.pressed |= set(keys)
        self.look()

    def one_by_one(self, *keys: str) -> None:
        """Press keys; the server must execute each before the next."""
        for key in keys:
            self.look()
            if key in DECIDING:
                self.page.wait_for_timeout(GUARD)
            before = self.page.evaluate(DONE)
            self.page.keyboard.press(key)
            taken = in_the_end(lambda before=before: self.page.evaluate(DONE) != before, True)
            assert taken, (key, self.page.locator(".jb-head").inner_text())
            self.pressed.add(key)

    def to_fields(self, *keys: str) -> None:
        """Press the keys that move the cursor into a field."""
        self.look()
        for key in keys:
            self.page.keyboard.press(key)
            expect(self.page.locator(FIELDS[key])).to_be_focused()
            self.page.keyboard.press("Escape")
        self.pressed |= set(keys)

    def correct(self) -> None:
        """Correct the answer, which can then be added to a suite."""
        self.one_by_one("F9")
        self.page.locator('[class*="st-key-corrected_"] textarea').fill("Better.")
        self.page.keyboard.press("Control+Enter")
        expect(self.page.get_by_role("button", name="Add to suite")).to_be_visible()
        self.page.keyboard.press("Escape")
        self.look()

    def give_reason(self, words: str) -> None:
        settled(self.page)
        self.page.locator(FIELDS["M"]).fill(words)
        self.page.keyboard.press("Escape")

    def check(self, keys: Sequence[tuple[str, str]]) -> None:
        """The screen shows this list, which names all that it was seen to have, and no more."""
        assert self.listed == {key for entry, _ in keys for key in keys_of(entry)}
        assert self.listed | ELSEWHERE == self.seen | ELSEWHERE


@pytest.fixture
def modes(site) -> None:
    save_mode(site.store, "Wrong product", key=MODE_KEY, by=site.case.lead)


@pytest.mark.usefixtures("modes")
def test_each_key_of_the_item_page(reviewer, site) -> None:
    site.queue(5)
    keys = Keys(reviewer("Ida"))
    keys.open(f"/item?query_type=type{site.names}")
    keys.show_list()
    keys.together(*GRADES)
    keys.together("V")
    keys.together(*"BXP")
    keys.to_fields("M", "T")
    keys.one_by_one("O", "F4", "I")
    keys.page.wait_for_timeout(PAUSE)
    keys.one_by_one("I", "F7", "F2")
    keys.page.wait_for_timeout(PAUSE)
    keys.one_by_one("F2")
    keys.correct()
    keys.one_by_one("F8", *"EJKWYZQNUL")
    keys.page.wait_for_url(re.compile("/open_flags"))
    keys.open(f"/item?response={fill_attempts(site.store)['refined']}")
    keys.one_by_one("9", "0", "3", "Control+Enter")
    keys.check(ITEM_KEYS)
    assert keys.pressed | ELSEWHERE == keys.listed


@pytest.mark.usefixtures("modes")
def test_each_key_of_a_queue(reviewer, site) -> None:
    """What only a queue has is pressed here; that its Q, W and E decide pairs shows test_queues.py."""
    keys = Keys(reviewer("Mara"))
    graded = site.queue(3, optional_grades=("label", "groundedness", "quality"), grades=())
    keys.open(in_queue(graded))
    keys.show_list()
    keys.together("1", "A", "W", f"Shift+{MODE_KEY}", "V")
    keys.to_fields("M")
    keys.correct()
    keys.one_by_one(*"YZQNUL")
    keys.page.wait_for_url(re.compile("/queue"))
    keys.open(in_queue(site.queue(2, **BLIND, grades=("label", "tone"), optional_grades=())))
    keys.together(*"12345K1Q")
    keys.one_by_one(*"YEYJ")
    expect(keys.page.get_by_label("Reason to skip")).to_be_focused()
    keys.check(QUEUE_KEYS)
    assert keys.listed - keys.pressed <= SHARED | ELSEWHERE


@pytest.mark.usefixtures("modes")
def test_each_key_of_a_conflict(reviewer, site) -> None:
    """What only a conflict has is pressed here."""
    name = site.queue(3, needed=2, optional_grades=("label", "groundedness", "quality"), grades=())
    for _ in range(3):
        site.case.review(site.case.mara, CONFIRM, name)
        split = site.case.review(site.case.jon, DISMISS, name)
    keys = Keys(reviewer("Lead"))
    keys.open(f"/conflicts?conflict={split.item_id}")
    keys.show_list()
    keys.together("1", "A", "W", f"Shift+{MODE_KEY}", "V")
    keys.to_fields("M")
    keys.correct()
    keys.one_by_one("J")
    keys.give_reason("The passage says so.")
    keys.one_by_one(*"YZQN")
    idle(keys.page)
    keys.page.keyboard.press("Escape")  # where the reason is missing, N puts the cursor into its field
    keys.one_by_one("L")
    add_pairs(site.store, 1, source="split")
    site.case.queue("split", subject="pairs", order="random", needed=2, optional_grades=())
    site.case.review(site.case.mara, Preference.A, "split")
    split = site.case.review(site.case.jon, Preference.B, "split")
    keys.open(f"/conflicts?conflict={split.item_id}")
    keys.give_reason("The left answer is wrong.")
    keys.one_by_one("E")
    keys.check(CONFLICT_KEYS)
    assert keys.listed - keys.pressed <= SHARED | ELSEWHERE

"""The list of keys of each screen names the keys that the screen has, and the server executes each.

That a browser sends the press of each of them shows tests/browser/queues/test_help.py.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app_pages import OpenPage, markup
from judgeboard.domain import Preference
from judgeboard.reviews.failure_modes import save_mode
from judgeboard.store.engine import Store
from judgeboard.store.tables import REVIEW_SCORE
from judgeboard_dashboard.review import screen
from judgeboard_dashboard.review.fields import CONFLICT_KEYS, ITEM_KEYS, QUEUE_KEYS
from judgeboard_dashboard.widgets.keys import keyboard
from listed_keys import MODE_KEY, keys_of
from pair_log import add_pairs
from queue_case import CONFIRM, DISMISS
from refined_answers import fill_attempts
from served_queues import BLIND, ServedQueues, queues_in

FIELDS = {"M": "note_", "T": "comment_"}
READING = ("H", *"VBXP", "I", "F4", "F7", "F2", "F9", "F8", "M", "T", "O")
SHARED = {*"1234", *"ASDFG", *"QW", f"Shift+{MODE_KEY}", *READING}  # each is pressed on the item page
ELSEWHERE = {"F6", "F10"}  # these need a judge and a trace: see test_judge_again.py and test_trace_pane.py


@dataclass
class Keys:
    """The keys of one screen: those that its list names, those that it was seen to have, and those that were pressed.

    A screen has a key when a button shows it, or when the field is there to which it moves the cursor.
    """

    open_page: OpenPage
    sent: list[Mapping[str, Any]]
    page: AppTest = field(init=False)
    listed: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    pressed: set[str] = field(default_factory=set)

    def open(self, view: str, reviewer: str, **query: object) -> None:
        self.page = self.open_page(view, reviewer=reviewer, **query)

    def read_list(self) -> None:
        """Read the list, which H shows."""
        [keys] = re.findall("<dialog.*?</dialog>", markup(self.page), re.DOTALL)
        entries = re.findall("<kbd>(.*?)</kbd>", keys)
        self.listed = {key for entry in entries for key in keys_of(entry)}

    def look(self) -> None:
        """Note which keys the screen has now."""
        shortcuts = {button.proto.shortcut for button in self.page.button if not button.disabled}
        self.seen |= {name for name in map(as_listed, shortcuts) if name}
        self.seen |= {key for key, start in FIELDS.items() if self.field(start) is not None}

    def field(self, start: str) -> Any:
        fields = (*self.page.text_input, *self.page.text_area)
        return next((each for each in fields if (each.key or "").startswith(start)), None)

    def press(self, *keys: str) -> None:
        """Press keys one after the other: the server must execute each."""
        for key in keys:
            self.look()
            presses = self.page.session_state["keyboard"]
            number = presses.done + 1
            self.sent[:] = [{"n": number, "row": presses.row, "key": key.replace("Control", "Ctrl"), "since": 5_000}]
            self.page.run()
            self.sent.clear()
            assert not self.page.exception, key
            presses = self.page.session_state["keyboard"]
            assert (presses.done, number in presses.returned) == (number, False), (key, markup(self.page))
            self.pressed.add(key)

    def to_fields(self, *keys: str) -> None:
        """The fields are there to which these keys move the cursor."""
        assert all(self.field(FIELDS[key]) is not None for key in keys)
        self.pressed |= set(keys)

    def correct(self) -> None:
        """Correct the answer, which can then be added to a suite."""
        self.press("F9")
        self.field("corrected_").set_value("Better.").run()
        self.look()

    def give_reason(self, words: str) -> None:
        self.field(FIELDS["M"]).set_value(words).run()

    def check(self, keys: Sequence[tuple[str, str]]) -> None:
        """The screen shows this list, which names all that it was seen to have, and no more."""
        assert self.listed == {key for entry, _ in keys for key in keys_of(entry)}
        assert self.listed | ELSEWHERE == self.seen | ELSEWHERE


def as_listed(shortcut: str) -> str:
    """The name of a button's shortcut as Playwright and the lists of this test have it."""
    return re.sub("^ctrl", "Control", "+".join(part.capitalize() for part in shortcut.split("+")), flags=re.IGNORECASE)


@pytest.fixture
def queues(page_store: Store) -> ServedQueues:
    made = queues_in(page_store)
    save_mode(page_store, "Wrong product", key=MODE_KEY, by=made.case.lead)
    return made


@pytest.fixture
def keys(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> Keys:
    """The keys of a screen, whose presses come with its next run, as from a browser."""
    sent: list[Mapping[str, Any]] = []

    def listen() -> None:
        keyboard().sent = tuple(sent)

    monkeypatch.setattr(screen, "listen", listen)
    return Keys(open_page, sent)


def test_each_key_of_the_item_page(queues: ServedQueues, keys: Keys) -> None:
    queues.queue(5)
    keys.open("item", "Ida", query_type=f"type{queues.names}")
    keys.read_list()
    keys.press(*"1234", *"ASDFG", *"QW", f"Shift+{MODE_KEY}", *"VBXP")
    keys.to_fields("M", "T")
    keys.press("H", "O", "F4", "I", "I", "F7", "F2", "F2")
    keys.correct()
    keys.press("F8", *"EJKWYZQNUL")
    assert "response" not in keys.page.query_params
    keys.open("item", "Ida", response=fill_attempts(queues.store)["refined"])
    keys.press("9", "0", "3", "Control+Enter")
    keys.check(ITEM_KEYS)
    assert keys.pressed | ELSEWHERE == keys.listed


def test_each_key_of_a_queue(queues: ServedQueues, keys: Keys) -> None:
    """What only a queue has is pressed here; that its Q, W and E decide pairs shows tests/browser/queues."""
    graded = queues.queue(3, optional_grades=("label", "groundedness", "quality"), grades=())
    keys.open("item", "Mara", queue=graded)
    keys.read_list()
    keys.press("1", "A", "W", f"Shift+{MODE_KEY}", "V")
    keys.to_fields("M")
    keys.correct()
    keys.press(*"YZQNUL")
    keys.open("item", "Mara", queue=queues.queue(2, **BLIND, grades=("label", "tone"), optional_grades=()))
    keys.press(*"12345K1Q", *"YEYJ")
    assert keys.field("reason_") is not None
    keys.check(QUEUE_KEYS)
    assert keys.listed - keys.pressed <= SHARED | ELSEWHERE


def test_where_the_quality_is_graded_too_each_digit_is_for_one_field_after_the_other(
    queues: ServedQueues, keys: Keys
) -> None:
    keys.open("item", "Mara", queue=queues.queue(1, grades=("quality", "tone", "safety")))
    keys.press(*"445", "Y")
    [review] = queues.case.reviews()
    scores = {row["dimension"]: row["value"] for row in queues.case.rows(REVIEW_SCORE)}
    assert (review["quality"], scores) == (4, {"tone": 4, "safety": 5})


def test_each_key_of_a_conflict(queues: ServedQueues, keys: Keys) -> None:
    """What only a conflict has is pressed here."""
    name = queues.queue(3, needed=2, optional_grades=("label", "groundedness", "quality"), grades=())
    for _ in range(3):
        queues.case.review(queues.case.mara, CONFIRM, name)
        split = queues.case.review(queues.case.jon, DISMISS, name)
    keys.open("conflicts", "Lead", conflict=split.item_id)
    keys.read_list()
    keys.press("1", "A", "W", f"Shift+{MODE_KEY}", "V")
    keys.to_fields("M")
    keys.correct()
    keys.press("J")
    keys.give_reason("The passage says so.")
    keys.press(*"YZQN", "L")
    add_pairs(queues.store, 1, source="split")
    queues.case.queue("split", subject="pairs", order="random", needed=2, optional_grades=())
    queues.case.review(queues.case.mara, Preference.A, "split")
    split = queues.case.review(queues.case.jon, Preference.B, "split")
    keys.open("conflicts", "Lead", conflict=split.item_id)
    keys.give_reason("The left answer is wrong.")
    keys.press("E")
    keys.check(CONFLICT_KEYS)
    assert keys.listed - keys.pressed <= SHARED | ELSEWHERE

"""The server executes each key of each screen.

That a browser lists and sends them shows tests/browser/queues/test_help.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app_pages import OpenPage, markup
from judgeboard.domain import Preference
from judgeboard.reviews.failure_modes import save_mode
from judgeboard.store.tables import REVIEW_SCORE
from judgeboard_dashboard.review import screen
from judgeboard_dashboard.widgets.keys import keyboard
from pair_log import add_pairs
from queue_case import CONFIRM, DISMISS
from refined_answers import fill_attempts
from served_queues import BLIND, queues_in

FIELDS = {"M": "note_", "T": "comment_"}
MODE_KEY = "B"  # of the failure mode that is chosen by its letter


@dataclass
class Keys:
    """The keys of one screen."""

    open_page: OpenPage
    sent: list[Mapping[str, Any]]
    page: AppTest = field(init=False)

    def open(self, view, reviewer, **query):
        self.page = self.open_page(view, reviewer=reviewer, **query)

    def field(self, start):
        fields = (*self.page.text_input, *self.page.text_area)
        return next((each for each in fields if (each.key or "").startswith(start)), None)

    def press(self, *keys):
        """Press keys one after the other: the server must execute each."""
        for key in keys:
            presses = self.page.session_state["keyboard"]
            number, name = presses.done + 1, key.replace("Control", "Ctrl")
            self.sent.append({"n": number, "row": presses.row, "key": name, "since": 5_000})
            self.page.run()
            self.sent.clear()
            assert not self.page.exception, key
            presses = self.page.session_state["keyboard"]
            assert presses.done == number, (key, markup(self.page))
            assert number not in presses.returned, (key, markup(self.page))

    def to_fields(self, *keys):
        """The fields are there to which these keys move the cursor."""
        assert all(self.field(FIELDS[key]) is not None for key in keys)

    def correct(self):
        """Correct the answer, which can then be added to a suite."""
        self.press("F9")
        self.field("corrected_").set_value("Better.").run()

    def give_reason(self, words):
        self.field(FIELDS["M"]).set_value(words).run()


@pytest.fixture
def queues(page_store):
    made = queues_in(page_store)
    save_mode(page_store, "Wrong product", key=MODE_KEY, by=made.case.lead)
    return made


@pytest.fixture
def keys(open_page, monkeypatch):
    """The keys of a screen, whose presses come with its next run, as from a browser."""
    sent = []

    def listen():
        keyboard().sent = tuple(sent)

    monkeypatch.setattr(screen, "listen", listen)
    return Keys(open_page, sent)


def test_each_key_of_the_item_page(queues, keys):
    queues.queue(5)
    keys.open("item", "Ida", query_type=f"type{queues.names}")
    keys.press(*"1234", *"ASDFG", *"QW", f"Shift+{MODE_KEY}", *"VBXP")
    keys.to_fields("M", "T")
    keys.press("H", "O", "F4", "I", "I", "F7", "F2", "F2")
    keys.correct()
    keys.press("F8", *"EJKWYZQNUL")
    assert "response" not in keys.page.query_params
    keys.open("item", "Ida", response=fill_attempts(queues.store)["refined"])
    keys.press("9", "0", "3", "Control+Enter")


def test_each_key_of_a_queue(queues, keys):
    """What only a queue has is pressed here; that its Q, W and E decide pairs shows tests/browser/queues."""
    graded = queues.queue(3, optional_grades=("label", "groundedness", "quality"), grades=())
    keys.open("item", "Mara", queue=graded)
    keys.press("1", "A", "W", f"Shift+{MODE_KEY}", "V")
    keys.to_fields("M")
    keys.correct()
    keys.press(*"YZQNUL")
    keys.open(
        "item", "Mara", queue=queues.queue(2, **BLIND, grades=("label", "tone"), optional_grades=())
    )
    keys.press(*"12345K1Q", *"YEYJ")


def test_where_the_quality_is_graded_too_each_digit_is_for_one_field_after_the_other(queues, keys):
    keys.open("item", "Mara", queue=queues.queue(1, grades=("quality", "tone", "safety")))
    keys.press(*"445", "Y")
    [review] = queues.case.reviews()
    scores = {row["dimension"]: row["value"] for row in queues.case.rows(REVIEW_SCORE)}
    assert review["quality"] == 4
    assert scores == {"tone": 4, "safety": 5}


def test_each_key_of_a_conflict(queues, keys):
    """What only a conflict has is pressed here."""
    name = queues.queue(
        3, needed=2, optional_grades=("label", "groundedness", "quality"), grades=()
    )
    for _ in range(3):
        queues.case.review(queues.case.mara, CONFIRM, name)
        split = queues.case.review(queues.case.jon, DISMISS, name)
    keys.open("conflicts", "Lead", conflict=split.item_id)
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

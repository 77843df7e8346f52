"""Buttons with keys that count every press once, also held keys and keys pressed in quick succession.

Streamlit may end a callback at any use of ``st.session_state`` if the next press has arrived. So a callback here does
not use Streamlit: it stores the press in the session's `Keyboard`, and the next run of the page executes it.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal

import streamlit as st

SAME_KEY = 0.25  # seconds; two presses of one key within them count as one
FRESH_ROW = 0.7  # seconds; nobody can have read a row that appeared within them
SHORTEST_LIMIT, LONGEST_LIMIT = 60.0, 300.0  # seconds
READ_A_SECOND = 15.0  # characters: about 150 words a minute, a slow and careful reader


class Turn(IntEnum):
    """The order in which presses that arrive together are executed: grades before their decision."""

    GIVE = 0
    DECIDE = 1
    UNDO = 2
    MOVE = 3


@dataclass(frozen=True, slots=True)
class Press:
    """An accepted press: its action, and its turn among those that arrive with it.

    ``each``: two presses in quick succession count as two, as for a key that moves to the next item.
    """

    turn: Turn
    act: Callable[[], None]
    each: bool = False


@dataclass
class Keyboard:
    """The presses of one browser session, and the last time of each key and of the row on the screen.

    Times are seconds of a monotonic clock. ``taken`` counts every press that arrived, accepted or not: the browser
    sends a press again that is missing from it. ``counted`` is the time spent on the row until the last activity at
    ``alive``; no pause counts more than ``longest``.
    """

    pressed: dict[str, float] = field(default_factory=dict)
    row: str | None = None
    appeared: float = 0.0
    decided: float = -FRESH_ROW
    waiting: list[Press] = field(default_factory=list)
    taken: int = 0
    counted: float = 0.0
    alive: float = 0.0
    longest: float = SHORTEST_LIMIT

    def press(self, key: str, press: Press, now: float) -> bool:
        """Accept a press; False for a held key, and for a decision on a row that has just appeared."""
        self.taken += 1
        self._stir(now)
        before = self.pressed.get(key)
        self.pressed[key] = now
        if before is not None and now - before < SAME_KEY and not press.each:
            return False
        if press.turn is Turn.DECIDE:
            if now - max(self.appeared, self.decided) < FRESH_ROW:
                return False
            self.decided = now  # the next row appears now
        self.waiting.append(press)
        return True

    def work_off(self) -> Iterator[Press]:
        """Yield the accepted presses in their order, each once."""
        while self.waiting:
            press = min(self.waiting, key=lambda press: press.turn)
            self.waiting.remove(press)
            yield press

    def appear(self, row: str, now: float, longest: float = SHORTEST_LIMIT) -> None:
        """Note the row on the screen, and the longest pause on it that is no absence."""
        if row != self.row:
            self.row, self.appeared = row, now
            self.counted, self.alive = 0.0, now
        self.longest = longest
        self._stir(now)

    def seconds(self, now: float) -> float:
        """Return the time spent on the row, without absences."""
        return self.counted + self._pause(now)

    def _stir(self, now: float) -> None:
        self.counted += self._pause(now)
        self.alive = max(self.alive, now)

    def _pause(self, now: float) -> float:
        return min(max(0.0, now - self.alive), self.longest)


def longest_pause(characters: int) -> float:
    """Return the most seconds that one pause counts on an item whose texts have so many characters: 60 to 300."""
    return min(LONGEST_LIMIT, max(SHORTEST_LIMIT, characters / READ_A_SECOND))


def keyboard() -> Keyboard:
    """Return the keyboard of this browser session."""
    presses: Keyboard = st.session_state.setdefault("keyboard", Keyboard())
    return presses


def key_button(
    label: str,
    act: Callable[[], None],
    *,
    key: str,
    turn: Turn = Turn.GIVE,
    shortcut: str | None = None,
    chosen: bool = False,
    quiet: bool = False,
    tip: str | None = None,
    each: bool = False,
    **options: Any,
) -> None:
    """Show a button with a keyboard shortcut; ``options`` are further arguments of ``st.button``.

    ``label`` is a constant text, never text from a log. ``act`` is executed at the page's next run
    (`Keyboard.work_off`); it must not use Streamlit. ``key`` is unique on the page and for each row, so that a late
    press still belongs to its row. ``turn`` orders presses that arrive together; a row that has just appeared takes no
    decision. ``chosen`` shows the button filled, ``quiet`` without a border. ``each`` counts two presses in quick
    succession as two; the browser still counts a held key once.
    """
    kind: Literal["primary", "secondary", "tertiary"] = "primary" if chosen else "tertiary" if quiet else "secondary"
    st.button(
        label,
        key=key,
        shortcut=shortcut,
        type=kind,
        help=tip,
        on_click=take_press,
        args=(keyboard(), shortcut or key, Press(turn, act, each)),
        wrap=False,
        **options,
    )


def take_press(presses: Keyboard, name: str, press: Press) -> None:
    """Store a press of the key or button ``name``; the callback of a button."""
    presses.press(name, press, time.monotonic())

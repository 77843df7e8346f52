"""Buttons with keys that count a press once and lose none: held keys, mashed keys, keys pressed in quick succession.

Streamlit may end a callback at any use of ``st.session_state`` when the next press has arrived. So a callback here
touches nothing of Streamlit: it hands the press to the session's `Keyboard`, and the page works it off at its next run.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

import streamlit as st

from judgeboard.reviews.checks import SHORTEST_LIMIT, active_seconds

SAME_KEY = 0.25  # seconds between two presses of one key that are meant as two
FRESH_ROW = 0.7  # seconds in which nobody has read the row that just appeared


class Turn(IntEnum):
    """In which order presses that arrive together are worked off: what is given before what it is given with."""

    GIVE = 0
    DECIDE = 1
    UNDO = 2
    MOVE = 3


@dataclass(frozen=True, slots=True)
class Press:
    """A press that was meant: what it does, and when among those that arrive with it.

    ``each``: two in quick succession are meant as two, as for a key that goes on to the next thing each time.
    """

    turn: Turn
    act: Callable[[], None]
    each: bool = False


@dataclass
class Keyboard:
    """The presses of one browser session, and when each key and the row on the screen were seen last.

    Times are seconds of a clock that only rises. ``taken`` counts every press that arrived, meant or not: the browser
    sends one again that does not show in it. ``counted`` are the seconds spent on the row up to the last sign of life
    at ``alive``, where no pause counts more than ``longest``.
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
        """Take a press; False where it is not meant: a held key, or a decision on a row that just appeared."""
        self.taken += 1
        self._stir(now)
        before = self.pressed.get(key)
        self.pressed[key] = now
        if before is not None and now - before < SAME_KEY and not press.each:
            return False
        if press.turn is Turn.DECIDE:
            if now - max(self.appeared, self.decided) < FRESH_ROW:
                return False
            self.decided = now  # another row follows, which nobody has read yet
        self.waiting.append(press)
        return True

    def work_off(self) -> Iterator[Press]:
        """Yield what was pressed, each once; what is given comes before the decision that it is given with."""
        while self.waiting:
            press = min(self.waiting, key=lambda one: one.turn)
            self.waiting.remove(press)
            yield press

    def appear(self, row: str, now: float, longest: float = SHORTEST_LIMIT) -> None:
        """Say which row is on the screen, and how long a pause may be there without being an absence."""
        if row != self.row:
            self.row, self.appeared = row, now
            self.counted, self.alive = 0.0, now
        self.longest = longest
        self._stir(now)

    def seconds(self, now: float) -> float:
        """How long somebody has looked at the row, absences left out (review.time_spent)."""
        return self.counted + self._pause(now)

    def _stir(self, now: float) -> None:
        self.counted += self._pause(now)
        self.alive = max(self.alive, now)

    def _pause(self, now: float) -> float:
        return active_seconds([max(0.0, now - self.alive)], self.longest)


def keyboard() -> Keyboard:
    """Return the keyboard of this browser session."""
    held: Keyboard = st.session_state.setdefault("keyboard", Keyboard())
    return held


def key_button(
    label: str,
    act: Callable[[], None],
    *,
    key: str,
    turn: Turn,
    shortcut: str | None = None,
    chosen: bool = False,
    quiet: bool = False,
    icon: str | None = None,
    tip: str | None = None,
    disabled: bool = False,
    each: bool = False,
) -> None:
    """Show a button that also listens to a key.

    Args:
        label: Words of ours, never text from a log.
        act: What a press does. It may not touch Streamlit, and is done at the page's next run (`Keyboard.work_off`).
        key: Unique on the page and different for each row: a press then belongs to the row that was on the screen
            when it was made, however late it arrives.
        turn: Its turn among presses that arrive together; a decision is not taken from a row that just appeared.
        shortcut: The key, shown in the button.
        chosen: Filled, as a grade that was given.
        quiet: Without a border, as the buttons of the head line.
        icon: A ``:material/…:`` icon.
        tip: What the button means.
        disabled: Shown but deaf.
        each: Two presses in quick succession are two; the browser still counts a held key once.
    """
    kind: Literal["primary", "secondary", "tertiary"] = "primary" if chosen else "tertiary" if quiet else "secondary"
    st.button(
        label,
        key=key,
        shortcut=shortcut,
        type=kind,
        icon=icon,
        help=tip,
        disabled=disabled,
        on_click=take_press,
        args=(keyboard(), shortcut or key, Press(turn, act, each)),
        wrap=False,
    )


def take_press(held: Keyboard, name: str, press: Press) -> None:
    """Hand a press of the key or button ``name`` to the keyboard; the callback of a button."""
    held.press(name, press, time.monotonic())

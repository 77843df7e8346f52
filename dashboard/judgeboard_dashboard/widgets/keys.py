"""Buttons with keys that count every press once, even on a busy server.

The browser numbers the presses of keys and the clicks on buttons with keys, and sends all
unacknowledged presses (keys.js). `Keyboard.work_off` executes each number once, and the next head
line acknowledges the executed numbers.

A click on a button without a key has no number. The callback of such a click does not use
Streamlit, because Streamlit may end a callback at any use of ``st.session_state`` if the next press
has arrived. The callback only stores the press in the session's `Keyboard`, and `work_off` executes
the press too.
"""

import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal

import streamlit as st

from judgeboard_dashboard.session import button

SAME_KEY = 0.25  # seconds; two clicks on one button within this time count as one
FRESH_ROW = 0.7  # seconds; nobody can read a new row in less time
SHORTEST_LIMIT, LONGEST_LIMIT = 60.0, 300.0  # seconds
_NOT_IN_CLASS = re.compile(
    r"[^a-zA-Z0-9_-]"
)  # Streamlit writes a hyphen for these in the class of a button
READ_A_SECOND = 15.0  # characters: about 150 words a minute, a slow and careful reader


class Turn(IntEnum):
    """The order in which clicks that arrive together are executed: grades before the decision.

    Every turn except GIVE may change the screen.
    """

    GIVE = 0
    DECIDE = 1
    UNDO = 2
    MOVE = 3


@dataclass(frozen=True, slots=True)
class Press:
    """What a button does: the action, and the turn among clicks that arrive together.

    ``each``: two clicks in quick succession count as two, as for a key that moves to the next item.
    """

    turn: Turn
    act: Callable[[], None]
    each: bool = False


@dataclass
class Keyboard:
    """The presses of one browser session, when each key was last pressed, and when the row on the screen appeared.

    ``buttons`` maps keys, and the classes of buttons, to the row's buttons. ``sent`` are the
    presses that the browser sent with this run. ``done`` is the number of the last handled press.
    ``returned`` are numbers that were not executed, because the screen may have changed before the
    press. ``early`` is whether a decision was refused because the row had just appeared. ``waiting``
    are accepted clicks. Times are seconds of a monotonic clock. ``counted`` is the time spent on the
    row until the last activity, at ``alive``; a pause counts at most ``longest``.
    """

    pressed: dict[str, float] = field(default_factory=dict)
    row: str | None = None
    appeared: float = 0.0
    waiting: list[Press] = field(default_factory=list)
    buttons: dict[str, Press] = field(default_factory=dict)
    sent: Sequence[Mapping[str, Any]] = ()
    done: int = 0
    returned: list[int] = field(default_factory=list)
    early: bool = False
    session: str = field(default_factory=lambda: secrets.token_hex(4))
    counted: float = 0.0
    alive: float = 0.0
    longest: float = SHORTEST_LIMIT

    def press(self, key: str, press: Press, now: float) -> bool:
        """Accept a click. Return False for a double click, and for a decision on a row that has just appeared."""
        self._stir(now)
        before = self.pressed.get(key)
        self.pressed[key] = now
        if before is not None and now - before < SAME_KEY and not press.each:
            return False
        if press.turn is Turn.DECIDE:
            self.early = now - self.appeared < FRESH_ROW
            if self.early:
                return False
            self.appeared = now  # the next row appears now
        self.waiting.append(press)
        return True

    def work_off(self) -> Iterator[Press]:
        """Yield the accepted clicks, then the presses of keys in the order of the presses, each once.

        The press of a key counts as executed when the caller asks for the next press.
        """
        while self.waiting:
            press = min(self.waiting, key=lambda press: press.turn)
            self.waiting.remove(press)
            yield press
        has_changed = False
        for key_press in self.sent:
            number = int(key_press["n"])
            if number <= self.done:
                continue
            name = str(key_press.get("button") or key_press["key"]).lower()
            button = None if has_changed or key_press["row"] != self.row else self.buttons.get(name)
            if button is None:
                self.returned = [*self.returned[-20:], number]
            elif button.turn is Turn.DECIDE and key_press["since"] < FRESH_ROW * 1000:
                self.early = True
            else:
                has_changed = button.turn is not Turn.GIVE
                self._stir(time.monotonic())
                yield button
            self.done = number

    def appear(self, row: str, now: float, longest: float = SHORTEST_LIMIT) -> None:
        """Note the row on the screen, and the maximum time that one pause counts."""
        if row != self.row:
            self.row, self.appeared, self.buttons = row, now, {}
            self.counted, self.alive = 0.0, now
        self.longest = longest
        self._stir(now)

    def seconds(self, now: float) -> float:
        """Return the time spent on the row; one pause counts at most ``longest``."""
        return self.counted + self._pause(now)

    def _stir(self, now: float) -> None:
        self.counted += self._pause(now)
        self.alive = max(self.alive, now)

    def _pause(self, now: float) -> float:
        return min(max(0.0, now - self.alive), self.longest)


def longest_pause(characters: int) -> float:
    """Return the maximum seconds (60 to 300) that one pause counts on an item whose texts have so many characters."""
    return min(LONGEST_LIMIT, max(SHORTEST_LIMIT, characters / READ_A_SECOND))


def keyboard() -> Keyboard:
    """Return the keyboard of this browser session."""
    presses: Keyboard = st.session_state.setdefault("keyboard", Keyboard())
    return presses


# Gives keys.js the function that sends presses. Sending reruns the fragment that calls `listen`.
_SENDER = """
export default ({ setStateValue }) => {
  const send = (presses) => setStateValue("presses", presses);
  window.__judgeboardSend = send;
  return () => {
    if (window.__judgeboardSend === send) window.__judgeboardSend = null;
  };
};
"""


def listen() -> None:
    """Take the presses that the browser sent with this run."""
    sender = st.components.v2.component("judgeboard_sender", js=_SENDER, isolate_styles=False)
    with st.container(key="sender"):
        state = sender(key="keys_sent", default={"presses": []}, on_presses_change=lambda: None)
    keyboard().sent = state.presses or ()


def key_button(
    label: str,
    act: Callable[[], None],
    *,
    key: str,
    turn: Turn = Turn.GIVE,
    shortcut: str | None = None,
    by_key: Callable[[], None] | None = None,
    is_chosen: bool = False,
    quiet: bool = False,
    tip: str | None = None,
    each: bool = False,
    icon: str | None = None,
    disabled: bool = False,
) -> None:
    """Show a button with a keyboard shortcut.

    ``label`` must be a constant text, never text from a log. ``act`` is executed at the page's next
    run (`Keyboard.work_off`), and must not use Streamlit. ``key`` must be unique on the page.
    ``turn`` orders clicks that arrive together; a decision on a row that has just appeared is
    refused. ``by_key`` is the action of the shortcut, if the shortcut has another action than a
    click. ``is_chosen`` shows the button filled, ``quiet`` without a border. ``each`` counts two
    clicks in quick succession as two.
    """
    presses, press = keyboard(), Press(turn, act, each)
    if shortcut is None:
        key = f"{key}_{presses.row}"  # so that a late click does not count for the next row
    elif not disabled:
        presses.buttons[shortcut.lower()] = press if by_key is None else Press(turn, by_key, each)
        presses.buttons[_NOT_IN_CLASS.sub("-", f"st-key-{key}").lower()] = press
    kind: Literal["primary", "secondary", "tertiary"] = (
        "primary" if is_chosen else "tertiary" if quiet else "secondary"
    )
    button(
        label,
        key=key,
        shortcut=shortcut,
        type=kind,
        help=tip,
        on_click=take_press,
        args=(presses, shortcut or key, press),
        icon=icon,
        disabled=disabled,
    )


def take_press(presses: Keyboard, name: str, press: Press) -> None:
    """Store a click on the button ``name``; the callback of a button."""
    presses.press(name, press, time.monotonic())

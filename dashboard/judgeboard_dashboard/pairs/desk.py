"""What a browser session holds while a person judges pairs: what was said last, where to go, the keys of presses."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st

from judgeboard.errors import JudgeboardError
from judgeboard.pairs.screen import PairScreen
from judgeboard.pairs.walk import PairWalk
from judgeboard.review import Reviewer, prefer
from judgeboard.store.engine import Store
from judgeboard_dashboard.errors import numbered
from judgeboard_dashboard.pairs.place import Place
from judgeboard_dashboard.picking import Rows


@dataclass
class PairDesk:
    """The person's place; it lives in the session and knows nothing of Streamlit."""

    said: str = ""
    refused: bool = False
    goal: Rows | None = None
    walk: PairWalk | None = None
    _walks_through: tuple[object, ...] = ()
    _seen: set[tuple[int, int]] = field(default_factory=set)
    _tokens: dict[str, str] = field(default_factory=dict)

    def token(self, row: str) -> str:
        """Return the request key of a screen: the same until its preference is stored, so that none is stored twice."""
        return self._tokens.setdefault(row, secrets.token_urlsafe(12))

    def walk_of(self, place: Place, reviewer_id: int, read: Callable[[], PairWalk]) -> PairWalk:
        """Return the list that the person goes through, read when they come to it first."""
        through = (place.version_id, place.aspect, place.listed, place.query_types, reviewer_id)
        if self.walk is None or self._walks_through != through:
            self.walk, self._walks_through = read(), through
        return self.walk

    def see(self, reviewer_id: int, pair_id: int) -> None:
        """Remember that all of a pair was in view: what this person says of it later here is not blind."""
        self._seen.add((reviewer_id, pair_id))

    def has_seen(self, reviewer_id: int, pair_id: int) -> bool:
        """Whether it was."""
        return (reviewer_id, pair_id) in self._seen

    def say(self, sentence: str, *, refused: bool = False) -> None:
        """Set what the line over the pair says first."""
        self.said, self.refused = sentence, refused


@dataclass(frozen=True, slots=True)
class PairPresses:
    """What can be pressed on a screen, bound when it was drawn; nothing here touches Streamlit."""

    store: Store
    here: PairDesk
    reviewer: Reviewer
    screen: PairScreen
    place: Place
    token: str
    seconds: Callable[[], float]

    def decide(self, side: str) -> None:
        """Store which side is better: without the judge's verdict in view, or over it."""
        screen = self.screen
        try:
            prefer(
                self.store,
                pair_id=screen.pair_id,
                reviewer=self.reviewer,
                preference=screen.preference(side),
                shown=screen.shown,
                request_key=self.token,
                aspect=screen.aspect,
                comparison_seen_id=screen.seen_id,
                revealed=screen.revealed is not None,
                seconds=self.seconds(),
            )
            self.here.say(_saved(screen))
        except JudgeboardError as error:
            self.here.say(f"Not saved: {error}", refused=True)
        except Exception as error:  # noqa: BLE001 - the last handler of a press: the number leads to the traceback
            self.here.say(f"Something went wrong: error {numbered(error)} in the server's log.", refused=True)

    def go(self, rows: Rows) -> None:
        """Go to another pair, or to the list."""
        self.here.say("")
        self.here.goal = rows


def pair_desk() -> PairDesk:
    """Return the desk of this browser session."""
    held: PairDesk = st.session_state.setdefault("pair_desk", PairDesk())
    return held


def _saved(screen: PairScreen) -> str:
    if screen.revealed is None:
        return "Saved."
    if screen.seen_id is not None:
        return "Saved: your word stands over the judge's."
    return "Saved beside your first word, which is the one that counts." if screen.own is not None else "Saved."


def screen_row(screen: PairScreen) -> str:
    """Return what the guard, the widgets and the request keys know a screen by: another one after every preference."""
    return f"p{screen.pair_id}n{screen.last_id or 0}"

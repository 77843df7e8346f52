"""Reviewing one pair of answers: two answers side by side, three keys, and the reveal."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import streamlit as st

from judgeboard.domain import Preference, Shown, Status
from judgeboard.errors import JudgeboardError, NotFound
from judgeboard.methods.pair_report import (
    ComparedPairs,
    Listed,
    PairGroup,
    PairLine,
    PairScreen,
    PairWalk,
    Revealed,
    pair_screen,
)
from judgeboard.reviews.decisions import prefer
from judgeboard.store.comparisons import LatestComparison
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import StoredVersion, get_version
from judgeboard.store.pairs import LastRows, last_rows
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.row_filter import hides_rows
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.session import ask_reviewer, current_reviewer, numbered, open_rows, reading, store
from judgeboard_dashboard.widgets.keys import Turn, key_button, keyboard
from judgeboard_dashboard.widgets.navigation import Rows
from judgeboard_dashboard.widgets.texts import UNKNOWN, capital, count, sentence

LISTED = {
    Listed.ALL: "All pairs",
    Listed.INCONSISTENT: "Inconsistent",
    Listed.WRONG: "Wrong",
    Listed.UNMEASURED: "Unmeasured",
    Listed.UNJUDGED: "Not judged by people",
}
SIDES = {"left": "the left answer is better", "right": "the right answer is better", "tie": "neither is better"}
_STORED = {Preference.A: "A", Preference.B: "B", Preference.TIE: "tie"}


def stored_words(preference: Preference | None) -> str | None:
    """Return A, B or tie; None where there is nothing to say."""
    return None if preference is None else _STORED[preference]


def verdict_words(line: PairLine) -> str:
    """Return the judge's verdict on a pair, or why there is none."""
    return stored_words(line.verdict) or ("inconsistent" if line.inconsistent else "unmeasured")


def people_words(line: PairLine) -> str | None:
    """Return "B (3)", "split (2)", None where nobody said anything."""
    if line.people is None:
        return None
    return f"{stored_words(line.people.majority) or 'split'} ({line.people.people:,})"


PAGE = "pairs"
# Of the list: bound to its fields. Of one pair: read here.
LIST_FIELDS = ("version", "aspect", "list", "types")
PAIR_FIELDS = ("pair", "of", "in", "among", "type", "seen")


@dataclass(frozen=True, slots=True)
class Place:
    """One pair of a list: ``version_id`` None is the list of pairs that no judge compared.

    ``verdict_seen`` says that it was opened by its line in the list, where the judge's verdict on it stands.
    """

    pair_id: int
    version_id: int | None
    aspect: str
    listed: Listed
    query_types: tuple[str, ...]
    verdict_seen: bool = False

    def rows(self) -> Rows:
        """Return the address of this pair."""
        query: dict[str, str | list[str]] = {"pair": str(self.pair_id), "in": self.aspect}
        if self.version_id is not None:
            query["of"] = str(self.version_id)
        if self.listed is not Listed.ALL:
            query["among"] = str(list(Listed).index(self.listed))
        if self.query_types:
            query["type"] = list(self.query_types)
        if self.verdict_seen:
            query["seen"] = "1"
        return Rows(PAGE, query)

    def at(self, pair_id: int) -> "Place":
        """Return another pair of the same list, whose verdict was not in view."""
        return replace(self, pair_id=pair_id, verdict_seen=False)


def place_in_address() -> Place | None:
    """Return the pair that the address names, None where it names none.

    Raises:
        NotFound: What it names is no number.
    """
    if not st.query_params.get("pair"):
        return None
    among = _number("among") or 0
    return Place(
        pair_id=_number("pair") or 0,
        version_id=_number("of"),
        aspect=st.query_params.get("in") or "overall",
        listed=list(Listed)[among] if among < len(Listed) else Listed.ALL,
        query_types=tuple(st.query_params.get_all("type")),
        verdict_seen=st.query_params.get("seen") == "1",
    )


def list_rows(place: Place, title: str | None, words: Mapping[Listed, str]) -> Rows:
    """Return the address of the list that a pair was opened from; ``title`` is that of its judge version."""
    query: dict[str, str | list[str]] = {"aspect": place.aspect}
    if title is not None:
        query["version"] = title
    if place.listed is not Listed.ALL:
        query["list"] = words[place.listed]
    if place.query_types:
        query["types"] = list(place.query_types)
    return Rows(PAGE, query)


def _number(name: str) -> int | None:
    given = st.query_params.get(name)
    if not given:
        return None
    if not given.isdecimal() or len(given) > 18:
        raise NotFound(f"This address names no pair: {name}={given}")
    return int(given)


MOST_HELD = 8


class HeldPairs:
    """The pairs of one judge version as one person sees their list; nothing in it changes."""

    def __init__(self, found: ComparedPairs) -> None:
        """Take what was read, and work out its figures."""
        self.found = found
        self.groups: tuple[PairGroup, ...] = found.groups()


def held_pairs(version: StoredVersion | None, reviewer_id: int | None) -> HeldPairs:
    """Return all pairs that a version compared, read again only where rows were added since.

    What is held is everything: who may not see all of it has their own read anew.
    """
    with reading() as connection:
        if hides_rows(connection):
            return HeldPairs(ComparedPairs(connection, version, reviewer_id))
        upto = last_rows(connection)
    return _read(str(store().engine.url), None if version is None else version.id, reviewer_id, upto)


@st.cache_resource(max_entries=MOST_HELD, show_spinner=False)
def _read(address: str, version_id: int | None, reviewer_id: int | None, upto: LastRows) -> HeldPairs:  # noqa: ARG001 - the key
    with store().reading() as connection:
        version = None if version_id is None else get_version(connection, version_id)
        return HeldPairs(ComparedPairs(connection, version, reviewer_id))


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


def reveal(screen: PairScreen, revealed: Revealed, judge: str | None) -> Html:
    """Return what was hidden, all of it in terms of the left and the right answer on the screen.

    Args:
        screen: The pair as this person sees it.
        revealed: What was hidden.
        judge: The title of the judge version, None where no judge is looked at.
    """
    facts = [
        _fact("You", _side(screen, screen.own) or "Nothing yet, without having seen the judge"),
        _fact(
            "You, having seen the judge" if revealed.said else "You, having seen this", _side(screen, screen.overruled)
        )
        if screen.overruled is not None
        else None,
        _fact("Judge", judge) if judge is not None else None,
        *(_order(screen, said) for said in revealed.said),
        _fact("Together", _together(screen, revealed.said)) if revealed.said else None,
        _fact("Gold", _side(screen, revealed.gold)) if revealed.gold is not None else None,
        _fact("People", _people(screen, revealed)),
        _fact("Left answer by", revealed.model_left or UNKNOWN),
        _fact("Right answer by", revealed.model_right or UNKNOWN),
        _fact("Pair", revealed.external_id),
    ]
    reasons = [_reason(screen, said) for said in revealed.said]
    return tag("div", tag("div", *facts, cls="jb-facts"), *reasons, cls="jb-revealed")


def _order(screen: PairScreen, said: LatestComparison) -> Html:
    return _fact(_order_words(screen, said.shown), _verdict(screen, said))


def _order_words(screen: PairScreen, shown: Shown) -> str:
    return f"Judge, {'left' if shown is screen.shown else 'right'} answer shown first"


def _verdict(screen: PairScreen, said: LatestComparison) -> str:
    if said.status is not Status.OK:
        return f"No usable verdict ({said.status.value})"
    return _side(screen, said.preferences.get(screen.aspect)) or "Nothing on this aspect"


def _together(screen: PairScreen, said: tuple[LatestComparison, ...]) -> str:
    if len(said) == 1:
        return "Asked in this order only"
    verdicts = {each.preferences.get(screen.aspect) for each in said}
    if None in verdicts:
        return "Unmeasured: one order has no usable verdict"
    return "The same in both orders" if len(verdicts) == 1 else "Inconsistent: the order decided"


def _people(screen: PairScreen, revealed: Revealed) -> str:
    votes = revealed.votes
    if votes is None:
        return "Nobody yet"
    said = _side(screen, votes.majority) or "No majority"
    mine = ", you among them" if (screen.own, screen.overruled) != (None, None) else ""
    return f"{said} ({votes.people:,}{mine})"


def _side(screen: PairScreen, preference: Preference | None) -> str:
    return "" if preference is None else capital(SIDES[screen.side(preference)])


def _reason(screen: PairScreen, said: LatestComparison) -> Html | None:
    text = said.reasoning or said.error
    if not text:
        return None
    return tag(
        "div",
        tag(
            "div",
            f"Its reasons, {'left' if said.shown is screen.shown else 'right'} answer shown first",
            cls="jb-label",
        ),
        tag("div", text, cls="jb-reason"),
    )


def _fact(name: str, value: str) -> Html:
    return tag("div", tag("span", name, cls="jb-who"), tag("span", value), cls="jb-fact")


DECISIONS = (
    ("left", "Left is better", "A", ":material/arrow_back:"),
    ("right", "Right is better", "B", ":material/arrow_forward:"),
    ("tie", "Tie", "T", ":material/drag_handle:"),
)
FORGOTTEN = "This text was removed (judgeboard forget)."


def one_pair(place: Place) -> None:
    """Show a pair; of judge and models nothing is sent to the browser until the person has decided.

    Where it was opened by its line in the list, which shows the judge's verdict, there is nothing left to hide.

    Args:
        place: Which pair of which list.
    """
    here = pair_desk()
    for press in keyboard().work_off():
        press.act()
    if here.goal is not None:
        goal, here.goal = here.goal, None
        open_rows(goal.page, **dict(goal.query))
    reviewer = current_reviewer()
    if reviewer is None:
        _before(place)
        ask_reviewer()
        return
    with reading() as connection:
        version = None if place.version_id is None else get_version(connection, place.version_id)
    walk = here.walk_of(place, reviewer.id, partial(_walk, place, version, reviewer))
    with reading() as connection:
        screen = pair_screen(
            connection,
            place.pair_id,
            aspect=walk.aspect,
            reviewer_id=reviewer.id,
            version_id=place.version_id,
            verdict_seen=place.verdict_seen or here.has_seen(reviewer.id, place.pair_id),
        )
    if screen.revealed is not None:
        here.see(reviewer.id, place.pair_id)
    if screen.last_id is not None:
        walk.judged(place.pair_id)
    presses = _presses(here, reviewer, screen, place)
    _head(presses, walk, version)
    show(pair_texts_shown(screen.question, screen.options, screen.passages, screen.left, screen.right))
    if screen.revealed is not None:
        show(reveal(screen, screen.revealed, None if version is None else version.title))
    _bar(presses, walk)


def _before(place: Place) -> None:
    """Say what comes once a name is given: the text of the pair waits for it, since the order of its sides does."""
    if place.verdict_seen:
        sentence("You will read this pair with the judge's verdict, and can overrule it.")
        return
    with reading() as connection:
        version = None if place.version_id is None else get_version(connection, place.version_id)
    found = held_pairs(version, None).found
    n = len(found.lines(found.known_aspect(place.aspect), place.listed, place.query_types))
    sentence(
        f"You will judge {count(n, 'pair')}, one after the other: which of two answers is better. Who wrote them and "
        "what the judge said is hidden until you have decided."
    )


def _walk(place: Place, version: StoredVersion | None, reviewer: Reviewer) -> PairWalk:
    found = held_pairs(version, reviewer.id).found
    aspect = found.known_aspect(place.aspect)
    return PairWalk(aspect, found.lines(aspect, place.listed, place.query_types))


def _presses(here: PairDesk, reviewer: Reviewer, screen: PairScreen, place: Place) -> PairPresses:
    held, row = keyboard(), screen_row(screen)
    held.appear(row, time.monotonic())  # first: the drawing may be cut off by the next press
    return PairPresses(store(), here, reviewer, screen, place, here.token(row), lambda: held.seconds(time.monotonic()))


def _head(presses: PairPresses, walk: PairWalk, version: StoredVersion | None) -> None:
    place, here = presses.place, presses.here
    number = walk.place(place.pair_id)
    where = "Pair" if number is None else f"Pair {number:,} of {len(walk):,}"
    said = tag("span", here.said, " ", cls="jb-refused" if here.refused else "jb-saved") if here.said else None
    with st.container(key="pair_head", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        show(tag("div", said, f"{where} · {presses.screen.query_type} · {presses.screen.aspect}", cls="jb-cap jb-line"))
        key_button(
            "List",
            partial(presses.go, list_rows(place, None if version is None else version.title, LISTED)),
            key=f"list_{screen_row(presses.screen)}",
            turn=Turn.MOVE,
            shortcut="L",
            quiet=True,
        )


def pair_texts_shown(
    question: str | None, options: Sequence[str], passages: Sequence[str], left: str | None, right: str | None
) -> Html:
    """Return the question over two answers beside each other; a text that is None was forgotten."""
    lines = [tag("div", f"{chr(65 + place)}. {text}") for place, text in enumerate(options)]
    read = [
        tag("div", tag("div", f"Passage {number}", cls="jb-label"), tag("div", text, cls="jb-evidence"), cls="jb-block")
        for number, text in enumerate(passages, start=1)
    ]
    return tag(
        "div",
        tag("div", question or FORGOTTEN, cls="jb-evidence jb-question jb-asked"),
        tag("div", *lines, cls="jb-evidence") if lines else None,
        tag("details", tag("summary", count(len(read), "passage")), *read) if read else None,
        tag("div", _answer_side("Left", left), _answer_side("Right", right), cls="jb-answers"),
        cls="jb-pane jb-pair",
    )


def _answer_side(name: str, text: str | None) -> Html:
    return tag(
        "div",
        tag("div", name, cls="jb-label"),
        tag("div", FORGOTTEN if text is None else text, cls="jb-evidence"),
        cls="jb-answer-side",
    )


def _bar(presses: PairPresses, walk: PairWalk) -> None:
    screen, row = presses.screen, screen_row(presses.screen)
    decided = screen.revealed is not None
    question = _question(screen)
    chosen = screen.overruled if screen.overruled is not None else screen.own
    with st.bottom, st.container(key="pair_bar", horizontal=True, vertical_alignment="bottom", gap="small"):
        with st.container(width="content", gap="xxsmall"):
            show(tag("div", question, cls="jb-label"))
            with st.container(key="pair_decide", horizontal=True, gap="xxsmall", wrap=False):
                for side, name, shortcut, icon in DECISIONS:
                    key_button(
                        name,
                        partial(presses.decide, side),
                        key=f"{side}_{row}",
                        turn=Turn.DECIDE,
                        # A second press of the key that decided must not overrule what nobody has read yet.
                        shortcut=None if decided else shortcut,
                        chosen=chosen is not None and screen.side(chosen) == side,
                        icon=icon,
                        disabled=not screen.decidable,
                    )
        following = walk.following(presses.place.pair_id)
        key_button(
            "Next pair",
            partial(presses.go, presses.place.at(following or 0).rows()),
            key=f"next_{row}",
            turn=Turn.MOVE,
            shortcut="J",
            icon=":material/skip_next:",
            disabled=following is None,
            tip="The next pair of the list that you have not judged",
        )


def _question(screen: PairScreen) -> str:
    if screen.revealed is None:
        return "Which answer is better?"
    if screen.seen_id is None:
        return "Change your mind; your first word counts" if screen.own is not None else "Which answer is better?"
    return "Overrule the judge" if screen.own is None else "Overrule the judge, or change your mind"

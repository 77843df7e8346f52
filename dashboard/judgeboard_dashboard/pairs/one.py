"""One pair at a time: two answers beside each other, three keys, and what was hidden after the decision."""

import time
from collections.abc import Sequence
from functools import partial

import streamlit as st

from judgeboard.pairs.screen import PairScreen, pair_screen
from judgeboard.pairs.walk import PairWalk
from judgeboard.review import Reviewer
from judgeboard.store.judgments.judge_versions import StoredVersion, get_version
from judgeboard_dashboard.controls import Turn, key_button, keyboard
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.pairs.desk import PairDesk, PairPresses, pair_desk, screen_row
from judgeboard_dashboard.pairs.held import held_pairs
from judgeboard_dashboard.pairs.place import Place, list_rows
from judgeboard_dashboard.pairs.reveal import reveal
from judgeboard_dashboard.pairs.words import LISTED
from judgeboard_dashboard.saying import sentence
from judgeboard_dashboard.session import ask_reviewer, current_reviewer, open_rows, reading, store
from judgeboard_dashboard.words import count

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
        tag("div", _side("Left", left), _side("Right", right), cls="jb-answers"),
        cls="jb-pane jb-pair",
    )


def _side(name: str, text: str | None) -> Html:
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

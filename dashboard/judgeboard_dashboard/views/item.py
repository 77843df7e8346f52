"""The item: decide one answer with two or three keys; nothing but text changes between items."""

import time

import streamlit as st

from judgeboard.domain import FlagState
from judgeboard.errors import NotFound
from judgeboard.filters import RowFilter
from judgeboard.refining import attempt_sequences
from judgeboard.review import Reviewer
from judgeboard.store.desk.queue_pages import Neighbours, neighbours, queue_page
from judgeboard.store.judgments.rubric_scores import RubricScores, load_rubric_scores
from judgeboard.store.responses.items import Item, load_item, response_of_flag
from judgeboard.store.settings_table import thresholds
from judgeboard_dashboard.address import filter_in
from judgeboard_dashboard.controls import Turn, key_button, keyboard
from judgeboard_dashboard.evidence import Html, as_label, show, size, tag
from judgeboard_dashboard.item.attempts import attempts_link, attempts_section
from judgeboard_dashboard.item.bar import bar
from judgeboard_dashboard.item.desk import Desk, Done, Draft, Goal, desk
from judgeboard_dashboard.item.fields import read_fields
from judgeboard_dashboard.item.head_line import facts, head_line, place_words, undo_button
from judgeboard_dashboard.item.history import decided_words
from judgeboard_dashboard.item.judge_pane import judge_pane, primary_verdict
from judgeboard_dashboard.item.marks import NumberedClaim, numbered
from judgeboard_dashboard.item.presses import Presses
from judgeboard_dashboard.item.screen import Listing, Screen
from judgeboard_dashboard.item.text_panes import answer_pane, passages_pane, unsent
from judgeboard_dashboard.session import current_reviewer, open_rows, page, store
from judgeboard_dashboard.waiting import nothing_waits
from judgeboard_dashboard.words import SORTS

DEFAULT_SORT = next(iter(SORTS))
WIDTHS = (1.0, 1.05, 0.85)
PANE_HEIGHT = 500  # the stylesheet stretches it to the window


def item() -> None:
    """Show the answer that the address names, or the first that waits."""
    here, reviewer, listing = desk(), current_reviewer(), _listing()
    read_fields(here)
    for press in keyboard().work_off():
        press.act()
    _go(here)
    flag_id, response_id = _number("flag"), _number("response")
    from_list = flag_id is not None or response_id is None
    reviewer_id = None if reviewer is None else reviewer.id
    with store().reading() as connection:
        if from_list and flag_id is None:
            first = queue_page(connection, listing.where, listing.sort, limit=1, reviewer_id=reviewer_id)
            if not first.lines:
                _end(here, reviewer, others=queue_page(connection, RowFilter(), limit=1).total)
                return
            flag_id = first.lines[0].flag_id
            _address(Goal(flag_id=flag_id))
        found = load_item(connection, response_id or 0 if flag_id is None else response_of_flag(connection, flag_id))
        beside = None if flag_id is None else neighbours(connection, listing.where, listing.sort, flag_id, reviewer_id)
        threshold = thresholds(connection).low_groundedness
    _draw(here, reviewer, listing, found, beside, threshold, flag_id=flag_id, from_list=from_list)


def _draw(
    here: Desk,
    reviewer: Reviewer | None,
    listing: Listing,
    found: Item,
    beside: Neighbours | None,
    threshold: float,
    *,
    flag_id: int | None,
    from_list: bool,
) -> None:
    flag = found.flag if flag_id is None else next((one for one in found.flags if one.id == flag_id), None)
    if flag is not None and flag.state == FlagState.OPEN:
        here.seen_open.add(flag.id)
    seen = primary_verdict(found)
    screen = Screen(
        response_id=found.response_id,
        external_id=found.external_id,
        flag_id=flag.id if flag is not None and flag.id in here.seen_open else None,
        judgment_seen_id=seen.id if seen else None,
        listing=listing,
        from_list=from_list,
    )
    held = keyboard()
    held.appear(screen.row, time.monotonic())  # first: the drawing may be cut off by the next press
    presses = Presses(store(), here, reviewer, screen, lambda: held.seconds(time.monotonic()))
    st.set_page_config(page_title=f"{place_words(beside) or as_label(found.external_id)} · Judgeboard", layout="wide")
    with store().reading() as connection:
        sequences = attempt_sequences(connection, found.response_id)
        rubric = load_rubric_scores(connection, found.response_id)
    head_line(presses, beside, facts(found, flag), _undoable(here, found, reviewer), DEFAULT_SORT)
    _panes(presses, found, threshold, rubric, attempts_link(sequences))
    attempts_section(presses, sequences)
    bar(presses, rubric, decided=decided_words(found, flag))


def _go(here: Desk) -> None:
    """Go where the last press wanted to; the goal is dropped only when the address says it."""
    goal = here.goal
    if goal is None:
        return
    if goal.page is not None:
        here.goal = None
        open_rows(goal.page, **goal.query)
    _address(goal)
    here.goal = None


def _address(goal: Goal) -> None:
    for name, value in (("flag", goal.flag_id), ("response", goal.response_id)):
        if value is not None:
            st.query_params[name] = str(value)
        elif name in st.query_params:
            del st.query_params[name]


def _listing() -> Listing:
    query = {name: st.query_params.get_all(name) for name in st.query_params}
    where, _ = filter_in(query)
    sort = query.get("sort", [DEFAULT_SORT])[-1]
    return Listing(where, sort if sort in SORTS else DEFAULT_SORT)


def _number(name: str) -> int | None:
    """A number of the address, None where it names none.

    Raises:
        NotFound: It is not a number that a row can have.
    """
    given = st.query_params.get(name)
    if not given:
        return None
    if not given.isdecimal() or len(given) > 18:
        raise NotFound(f"This address names no {'flag' if name == 'flag' else 'answer'}: {name}={given}")
    return int(given)


def _undoable(here: Desk, found: Item, reviewer: Reviewer | None) -> Done | None:
    """What Z takes back: the last review of this session, else one's own on this item."""
    if here.done:
        return here.done[-1]
    own = next(
        (one for one in found.reviews if reviewer is not None and one.stands and one.reviewer_id == reviewer.id), None
    )
    return None if own is None else Done(own.id, found.response_id, own.flag_id, Draft())


def _panes(presses: Presses, found: Item, threshold: float, rubric: RubricScores, link: Html | None) -> None:
    seen = primary_verdict(found)
    claims: list[NumberedClaim] = numbered(seen.claims or ()) if seen else []
    whole = found.response_id in presses.here.whole
    more = 0 if whole else unsent([found.query, found.answer], found.passages)
    panes = (
        ("answer", answer_pane(found, claims, whole=whole, link=link)),
        ("passages", passages_pane(found, claims, whole=whole)),
        (
            "judge",
            judge_pane(found, claims, threshold, presses.screen.flag_id, rubric, keys_shown=presses.here.keys_shown),
        ),
    )
    with st.container(key="panes"):
        for column, (name, markup) in zip(st.columns(WIDTHS, gap="small"), panes, strict=True):
            # The id in the key mounts the pane anew, so that the next item starts at its top.
            with column, st.container(height=PANE_HEIGHT, border=True, key=f"pane_{name}_{found.response_id}"):
                show(markup)
                if more and name != "judge":
                    said = f"Show all ({size(more)})"
                    key_button(said, presses.whole, key=f"whole_{name}_{found.response_id}", turn=Turn.GIVE)


def _end(here: Desk, reviewer: Reviewer | None, others: int) -> None:
    """Nothing waits in this list, or nothing any more."""
    if here.said:
        show(tag("div", here.said, cls="jb-note" if here.refused else "jb-say"))
    if not others:
        nothing_waits()
    else:
        said = "That was the last one in this filter." if here.done else "No open flag matches this filter."
        show(tag("div", f"{said} {others:,} {'other waits' if others == 1 else 'others wait'}.", cls="jb-empty"))
    with st.container(horizontal=True, gap="small"):
        if st.button("To the queue", key="end_to_queue", shortcut="Enter", type="primary", disabled=not others):
            here.say("")
            open_rows("queue")
        if here.done:
            undo_button(store(), here, reviewer, here.done[-1], "end")


with page("Item", heading=False):
    item()

"""The item: decide one answer with two or three keys; nothing but text changes between items."""

import time
from functools import partial

import streamlit as st

from judgeboard.domain import ClaimMark, FlagState
from judgeboard.errors import NotFound
from judgeboard.methods.attempts import attempt_sequences
from judgeboard.reviews.checks import longest_pause
from judgeboard.store.filters import RowFilter
from judgeboard.store.items import Item, ItemFlag, load_item, response_of_flag
from judgeboard.store.open_flags import Neighbours, neighbours, queue_page
from judgeboard.store.own_reviews import WholeReview
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.reviews import comments_on
from judgeboard.store.settings import thresholds
from judgeboard.store.verdicts import load_rubric_scores
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.review.attempts import attempts_link, attempts_section
from judgeboard_dashboard.review.bar import bar, facts, head_line, place_words, undo_button
from judgeboard_dashboard.review.claims import shown_claims, statements_of
from judgeboard_dashboard.review.comments import RemarkPresses, read_remarks, remark_fields, remarks_block
from judgeboard_dashboard.review.decisions import MarkPresses, Presses
from judgeboard_dashboard.review.drafts import EDIT, Desk, Done, Draft, Goal, Listing, Screen, desk, own_to_change
from judgeboard_dashboard.review.fields import read_fields
from judgeboard_dashboard.review.leases import let_go
from judgeboard_dashboard.review.queue_page import review_queue
from judgeboard_dashboard.review.signals import decided_words, judge_pane, primary_verdict
from judgeboard_dashboard.review.texts import item_panes, tools_line
from judgeboard_dashboard.session import current_reviewer, open_rows, page, reading, store
from judgeboard_dashboard.widgets.filters import filter_in
from judgeboard_dashboard.widgets.keys import keyboard
from judgeboard_dashboard.widgets.texts import SORTS, nothing_waits

DEFAULT_SORT = next(iter(SORTS))


def item() -> None:
    """Show the answer that the address names, or the first that waits."""
    here, reviewer, listing = desk(), current_reviewer(), _listing()
    read_fields(here)
    read_remarks(here)
    for press in keyboard().work_off():
        press.act()
    _go(here)
    flag_id, response_id = _number("flag"), _number("response")
    from_list = flag_id is not None or response_id is None
    reviewer_id = None if reviewer is None else reviewer.id
    with reading() as connection:
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
    changed = own_to_change(here, reviewer, found)
    seen = primary_verdict(found)
    screen = Screen(
        response_id=found.response_id,
        external_id=found.external_id,
        flag_id=_flag_to_decide(here, flag, changed),
        judgment_seen_id=seen.id if seen else None,
        listing=listing,
        from_list=from_list,
        edits=None if changed is None else changed.id,
        seconds_before=0.0 if changed is None else changed.seconds or 0.0,
    )
    held = keyboard()
    # First of all: the drawing may be cut off by the next press.
    held.appear(screen.row, time.monotonic(), longest_pause(_characters(found)))
    presses = Presses(store(), here, reviewer, screen, lambda: held.seconds(time.monotonic()), seen, threshold)
    st.set_page_config(page_title=f"{place_words(beside) or found.external_id} · Judgeboard", layout="wide")
    with reading() as connection:
        sequences = attempt_sequences(connection, found.response_id)
        rubric = load_rubric_scores(connection, found.response_id)
        remarks = comments_on(connection, found.response_id, None if reviewer is None else reviewer.id)
    claims = (seen.claims or ()) if seen else ()
    marks = MarkPresses(
        here,
        found.response_id,
        statements_of(found.answer, claims, screen.judgment_seen_id),
        _saved_marks(found, reviewer),
    )
    head_line(presses, beside, facts(found, flag), _undoable(here, found, reviewer, changed), DEFAULT_SORT)
    tools_line(
        marks,
        screen.row,
        presses.by_sentence,
        why=presses.why if presses.differs() else None,
        reason=here.draft(found.response_id).why,
    )
    item_panes(
        found,
        claims,
        marks,
        judge_pane(
            found,
            shown_claims(claims, marks.statements, marks.shown, marks.at),
            threshold,
            screen.flag_id,
            rubric,
            keys_shown=here.keys_shown,
            remarks=remarks_block(remarks),
        ),
        presses.whole,
        link=attempts_link(sequences),
        under_third=partial(remark_fields, RemarkPresses(store(), here, reviewer, found.response_id), remarks),
    )
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
    if EDIT in st.query_params:
        del st.query_params[EDIT]


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


def _undoable(here: Desk, found: Item, reviewer: Reviewer | None, changed: WholeReview | None) -> Done | None:
    """What Z takes back: the review being changed, the last one of this session, else one's own on this item."""
    if changed is not None:
        return Done(changed.id, found.response_id, changed.flag_id, Draft.of(changed.grade))
    if here.done:
        return here.done[-1]
    own = next(
        (one for one in found.reviews if reviewer is not None and one.stands and one.reviewer_id == reviewer.id), None
    )
    return None if own is None else Done(own.id, found.response_id, own.flag_id, Draft())


def _flag_to_decide(here: Desk, flag: ItemFlag | None, changed: WholeReview | None) -> int | None:
    """The flag that waits, or that of the review being changed; None where there is nothing to decide."""
    if changed is not None:
        return changed.flag_id if changed.decision is not None else None
    return flag.id if flag is not None and flag.id in here.seen_open else None


def _saved_marks(found: Item, reviewer: Reviewer | None) -> tuple[ClaimMark, ...]:
    """The marks of the reviewer's latest review that stands and has any."""
    own = (
        one.claim_marks
        for one in found.reviews
        if reviewer is not None and one.stands and one.reviewer_id == reviewer.id and one.claim_marks
    )
    return next(own, ())


def _characters(found: Item) -> int:
    return sum(len(text or "") for text in (found.query, found.answer, *(found.passages or ())))


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
    if st.query_params.get("queue"):
        review_queue(st.query_params["queue"])
    else:
        let_go()
        item()

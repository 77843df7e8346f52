"""Where a session's way through a queue is kept, and given up when its reviewer goes to another page."""

import streamlit as st

from judgeboard.errors import JudgeboardError
from judgeboard.review import Reviewer
from judgeboard.store.engine import Store
from judgeboard_dashboard.queue_review.walk import Walk, begin

_WALK = "queue_walk"


def walk_through(store: Store, name: str, reviewer: Reviewer) -> Walk:
    """Return the way of this session through a queue; one through another queue, or of another person, ends.

    Raises:
        NotFound: No such queue.
    """
    walk: Walk | None = st.session_state.get(_WALK)
    if walk is None or walk.queue.name != name or walk.reviewer.id != reviewer.id or walk.store is not store:
        let_go()
        walk = begin(store, name, reviewer)
        st.session_state[_WALK] = walk
    return walk


def let_go() -> None:
    """Give back what this session holds; called by every page that is not that of a queue."""
    walk: Walk | None = st.session_state.get(_WALK)
    if walk is None:
        return
    del st.session_state[_WALK]
    try:
        walk.let_go()
    except JudgeboardError:  # the time of a lease ends by itself
        return

"""Where a person is on the Queue page: which segment, and of queues and splits which one."""

from dataclasses import dataclass

import streamlit as st

from judgeboard.errors import NotFound

WAITING, QUEUES, SPLITS, MINE = "Waiting", "Queues", "Splits", "My reviews"
SEGMENTS = (WAITING, QUEUES, SPLITS, MINE)
_FIELD, _SEEN = "queue_segment", "queue_segment_seen"
FIELDS = ("show", "new", "split", "of", "on")
PAIRS = "pairs"


@dataclass(frozen=True, slots=True)
class Place:
    """A segment; ``new``: the form of a new queue; ``split``: an item.

    ``of``: only the splits of this queue; ``on_pairs``: of one's own reviews those of pairs.
    """

    segment: str
    new: bool = False
    split: int | None = None
    of: str | None = None
    on_pairs: bool = False


def place() -> Place:
    """Show the segments and return where the address says one is.

    Raises:
        NotFound: It names no item.
    """
    segment = _segment()
    given = st.query_params.get("split")
    if given is not None and (not given.isdecimal() or len(given) > 18):
        raise NotFound(f"This address names no item: split={given}")
    return Place(
        segment,
        new=st.query_params.get("new") == "1",
        split=None if given is None else int(given),
        of=st.query_params.get("of"),
        on_pairs=st.query_params.get("on") == PAIRS,
    )


def _segment() -> str:
    """Show the segments, kept equal to the address by hand: links within the page set what it says.

    A field that is bound to it would refuse that.
    """
    asked = st.query_params.get("show") or WAITING
    asked = asked if asked in SEGMENTS else WAITING
    if st.session_state.get(_SEEN) != asked or _FIELD not in st.session_state:
        st.session_state[_FIELD] = asked
    with st.container(key="segments"):
        field = st.segmented_control("Show", SEGMENTS, required=True, key=_FIELD, label_visibility="collapsed")
    chosen = field or asked
    if chosen != asked:
        go(show=None if chosen == WAITING else chosen, new=None, split=None, of=None, on=None)
    st.session_state[_SEEN] = chosen
    return chosen


def go(**parameters: str | None) -> None:
    """Change what the address says; what is None goes."""
    for name, value in parameters.items():
        if value is None:
            st.query_params.pop(name, None)
        else:
            st.query_params[name] = value

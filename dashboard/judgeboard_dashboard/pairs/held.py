"""What is read of all pairs at once, held for every session of the server until rows are added."""

import streamlit as st

from judgeboard.pairs.report import ComparedPairs, PairGroup
from judgeboard.store.judgments.judge_versions import StoredVersion, get_version
from judgeboard.store.pairs.last_rows import LastRows, last_rows
from judgeboard.store.row_filter import hides_rows
from judgeboard_dashboard.session import reading, store

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

"""The page of self-reference as it was worked out, held for every session of the server until rows are added."""

import streamlit as st

from judgeboard.self_reference.page import SelfReferencePage, self_reference_page
from judgeboard.store.judgments.judge_versions import StoredVersion, get_version
from judgeboard.store.pairs.last_rows import LastRows, last_rows
from judgeboard.store.row_filter import hides_rows
from judgeboard_dashboard.session import reading, store

MOST_HELD = 8


def held_page(version: StoredVersion, k: int, needed: int) -> SelfReferencePage:
    """Return the page of a version at one gate, worked out again only where rows were added since.

    What is held is everything: who may not see all of it has their own worked out.
    """
    with reading() as connection:
        if hides_rows(connection):
            return self_reference_page(connection, version, k, needed)
        upto = last_rows(connection)
    return _worked_out(str(store().engine.url), version.id, k, needed, upto)


@st.cache_resource(max_entries=MOST_HELD, show_spinner=False)
def _worked_out(address: str, version_id: int, k: int, needed: int, upto: LastRows) -> SelfReferencePage:  # noqa: ARG001 - the key
    with store().reading() as connection:
        return self_reference_page(connection, get_version(connection, version_id), k, needed)

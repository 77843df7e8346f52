"""Tables hold whatever a file may hold."""

import streamlit as st

from judgeboard.reports.output import Column, Table
from judgeboard_dashboard.widgets.tables import table_frame


def test_half_a_character_is_shown_as_one_that_is_not_known() -> None:
    shown = table_frame(Table((Column("Query"), Column("n", "count")), (("rock \ud800 face", 1), (None, None))))
    assert shown["Query"][0] == "rock \ufffd face"
    assert shown["Query"].isna()[1]


def test_a_header_of_a_long_list_chooses_the_order_of_the_whole_list() -> None:
    from judgeboard_dashboard.widgets.tables import sorts_by_header

    sort = sorts_by_header("headers", {"Asked": ("newest", "oldest"), "Why": ("worst",)})
    chosen = []
    for title in ("Why", "Asked", "Asked", "Asked", "Answer", "Why"):
        sort(title)
        chosen.append(st.session_state["headers_sort"])
    assert chosen == ["worst", "newest", "oldest", "newest", "newest", "worst"]

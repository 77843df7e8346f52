"""Numbers of a sentence, and cells of a table."""

import re

import pytest
import streamlit as st

from judgeboard.formats.output import Column, Table
from judgeboard_dashboard.evidence import tag
from judgeboard_dashboard.widgets.tables import table_frame
from judgeboard_dashboard.widgets.texts import numbers


@pytest.mark.parametrize(
    ("said", "bold"),
    {
        "gpt-4 as judge v117: 2 of 14 checks warn": ["2", "14"],
        "GPT-4/Vanilla_NoRules v1: 734 pairs": ["734"],
        "llama-3.1-8b v1 and phi/3 looked at 1,344 verdicts": ["1,344"],
        "right on 49 % [44, 54] of 300, 1 in 4, 2.5 points": ["49 %", "300", "1 in 4", "2.5"],
        "rose in about the week of 12 Oct 2026, from 7 % to 97 %": ["7 %", "97 %"],
    }.items(),
)
def test_a_digit_inside_a_name_or_a_date_is_no_number(said, bold):
    assert re.findall(r"<b[^>]*>(.*?)</b>", numbers(said)) == bold


def test_a_number_of_several_words_is_never_broken_over_two_lines():
    assert numbers("49 % of 300") == f"{tag('b', '49 %', cls='jb-whole')} of {tag('b', '300')}"


def test_half_a_character_is_shown_as_one_that_is_not_known():
    shown = table_frame(
        Table((Column("Query"), Column("n", "count")), (("rock \ud800 face", 1), (None, None)))
    )
    assert shown["Query"][0] == "rock \ufffd face"
    assert shown["Query"].isna()[1]


def test_a_header_of_a_long_list_chooses_the_order_of_the_whole_list():
    from judgeboard_dashboard.widgets.tables import sorts_by_header

    sort = sorts_by_header("headers", {"Asked": ("newest", "oldest"), "Why": ("worst",)})
    chosen = []
    for title in ("Why", "Asked", "Asked", "Asked", "Answer", "Why"):
        sort(title)
        chosen.append(st.session_state["headers_sort"])
    assert chosen == ["worst", "newest", "oldest", "newest", "newest", "worst"]

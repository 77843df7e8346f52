"""The style sheet, the script and the palette of all pages."""

from functools import cache
from importlib.resources import files

import streamlit as st

from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.review.claims import MOST_LIT

SHEETS = ("style.css", "figures.css", "operations.css", "pairs.css", "judges.css", "queues.css")


def dress(reviewer: str) -> None:
    """Send stylesheet and script, both constants of this package, and the reviewer's name as data for the script.

    The script keeps the name in a cookie of the browser's session. None of the three takes room on the page.
    """
    st.html(f"<style>{''.join(map(_text, SHEETS))}{_lit_claims()}</style>")
    with st.container(key="unseen"):
        st.html(f"<script>{_text('keys.js')}</script>", unsafe_allow_javascript=True)
        show(tag("span", cls="jb-reviewer", data_name=reviewer))


@cache
def _lit_claims() -> str:
    """A claim under the pointer lights up in all panes at once, without a script."""
    numbers = range(1, MOST_LIT + 1)
    return "".join(f"body:has(.c{n}:hover) .c{n}{{outline:1.5px solid var(--jb-acc)}}" for n in numbers)


@cache
def _text(name: str) -> str:
    return (files("judgeboard_dashboard") / name).read_text(encoding="utf-8")

"""What a page has of its session: the database, the reviewer, the frame around it, the way to other pages."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import NoReturn
from urllib.parse import unquote

import streamlit as st

from judgeboard.review import Reviewer, ensure_reviewer
from judgeboard.store.engine import Store, database_url, open_store
from judgeboard_dashboard.errors import caught
from judgeboard_dashboard.evidence import show, tag

VIEWS = "views"
ORIGIN = "desk"
NAME_FIELD = "who_name"
NAME_COOKIE = "judgeboard_reviewer"
LONGEST_NAME = 60
_NAME = "reviewer_name"


def store() -> Store:
    """Return the open database; one engine for all sessions of the server.

    Raises:
        JudgeboardError: it is missing, of another revision or cannot be reached.
    """
    return _opened(database_url().render_as_string(hide_password=False))


@contextmanager
def page(title: str, *, heading: bool = True) -> Iterator[None]:
    """Frame a page: the tab's title, the heading, and errors as sentences.

    Args:
        title: The page's name as in the navigation.
        heading: Whether to show it on the page; the item page has its head line instead.
    """
    st.set_page_config(page_title=f"{title} · Judgeboard", layout="wide")
    if heading:
        st.title(title, anchor=False)
    with caught():
        yield


def open_rows(name: str, **parameters: str | float | list[str] | None) -> NoReturn:
    """Go to a page with its rows chosen: ``open_rows("responses", query_type="QA")``; None is left out.

    Call it in the body of a page, never inside a callback.
    """
    st.switch_page(f"{VIEWS}/{name}.py", query_params=as_query(parameters))


def as_query(parameters: Mapping[str, str | int | float | list[str] | None]) -> dict[str, str | list[str]]:
    """Return parameters as an address carries them, those that are None or empty left out."""
    return {
        key: value if isinstance(value, list) else str(value)
        for key, value in parameters.items()
        if value is not None and value not in ("", [])
    }


def current_reviewer() -> Reviewer | None:
    """Return who is reviewing in this browser, None until a name was given (`ask_reviewer`)."""
    name = reviewer_name()
    if not name:
        return None
    known: dict[tuple[str, str], Reviewer] = st.session_state.setdefault("reviewers", {})
    database = store()
    key = (database.shown_url, name)
    if key not in known:
        known[key] = ensure_reviewer(database, ORIGIN, name)
    return known[key]


def reviewer_name() -> str:
    """Return the name given in this browser, an empty text where none was or it was taken back."""
    if _NAME not in st.session_state:
        st.session_state[_NAME] = tidy_name(unquote(st.context.cookies.get(NAME_COOKIE, "")))
    name: str = st.session_state[_NAME]
    return name


def ask_reviewer(why: str = "Your name stands beside what you decide.") -> Reviewer | None:
    """Return the reviewer; where no name is known yet, show the one-line form that asks for it and return None.

    The name is kept for the browser's session (a cookie without an end), so that a reload or a deep link asks no more.
    """
    reviewer = current_reviewer()
    if reviewer is not None:
        return reviewer
    with st.container(key="who", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input("Who is reviewing?", key=NAME_FIELD, placeholder="Your name", width=260, on_change=give_name)
        st.button("OK", key="who_start", on_click=give_name)
        show(tag("div", why, cls="jb-cap"), width="content")
    return None


def tidy_name(given: str) -> str:
    """Return a name in one line without control characters, at most 60 characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in given).split())[:LONGEST_NAME]


def give_name() -> None:
    """Take the name from its field; called when the field changes or its button is pressed."""
    name = tidy_name(st.session_state.get(NAME_FIELD, ""))
    if name:
        st.session_state[_NAME] = name


def change_name() -> None:
    """Take the name back: the next page that needs one asks again."""
    st.session_state[_NAME] = ""


@cache
def _opened(url: str) -> Store:
    return open_store(url)

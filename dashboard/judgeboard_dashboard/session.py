"""What a page knows of its browser session: the database, the reviewer, errors, the way to other pages."""

import logging
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import NoReturn
from urllib.parse import unquote

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from judgeboard.domain import Role
from judgeboard.errors import JudgeboardError, NotAllowed
from judgeboard.people.permissions import role_of
from judgeboard.people.roster import admit
from judgeboard.reviews.checks import ensure_reviewer
from judgeboard.store.engine import Store, database_url, open_store
from judgeboard.store.hidden_rows import Reading, Seen, count_hidden
from judgeboard.store.reviewers import Reviewer, reviewer_by_id
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.sign_in import sign_in, verified_address

_log = logging.getLogger("judgeboard.dashboard")


@contextmanager
def caught() -> Iterator[None]:
    """Show expected errors as they are, all others as a number that stands in the log beside the traceback."""
    try:
        yield
    except JudgeboardError as error:
        problem(str(error))
    except Exception as error:  # noqa: BLE001 - the last handler of a page: the number leads to the traceback
        problem(f"Something went wrong here: error {numbered(error)}. The server's log has the details.")


def numbered(error: Exception) -> str:
    """Write an unexpected error to the server's log and return the number it stands under."""
    number = secrets.token_hex(3).upper()
    _log.error("error %s", number, exc_info=error)
    return number


def problem(sentence: str) -> None:
    """Show one sentence with the amber bar at its left."""
    show(tag("div", sentence, cls="jb-note", role="alert"))


VIEWS = "views"
ORIGIN = "desk"
NAME_FIELD = "who_name"
NAME_COOKIE = "judgeboard_reviewer"
LONGEST_NAME = 60
_NAME = "reviewer_name"
_SEEN: ContextVar[Seen | None] = ContextVar("seen", default=None)
_ARRIVED = "arrived"


def store() -> Store:
    """Return the open database, for what acts on it; what a page shows is read by `reading`.

    One engine for all sessions of the server.

    Raises:
        JudgeboardError: it is missing, of another revision or cannot be reached.
    """
    return _opened(database_url().render_as_string(hide_password=False))


def seen() -> Seen:
    """Return the database as the person at this browser may see it: without what they are to review blind.

    Raises:
        RuntimeError: Nobody is at a browser here: what is to run later is made by `as_now`.
    """
    kept = _SEEN.get()
    if kept is not None:
        return kept
    if get_script_run_ctx() is None:
        raise RuntimeError("outside of a session nobody is known who may see anything")
    reviewer = current_reviewer()
    return Seen(store(), None if reviewer is None else reviewer.id)


def reading() -> Reading:
    """A transaction that reads what the person at this browser may see."""
    return seen().reading()


def as_now(make: Callable[[], bytes]) -> Callable[[], bytes]:
    """Return a function that reads as the person who is at this browser now: downloads are made outside of sessions."""
    now = seen()

    def made() -> bytes:
        _still_here(now)
        before = _SEEN.set(now)
        try:
            return make()
        finally:
            _SEEN.reset(before)

    return made


def _still_here(now: Seen) -> None:
    """Refuse what was prepared for somebody who was removed since."""
    if not sign_in().asked or now.viewer is None:
        return
    with now.store.reading() as connection:
        person = reviewer_by_id(connection, now.viewer)
    if person is None or role_of(person) is Role.NONE:
        raise NotAllowed("An admin removed you meanwhile.")


@contextmanager
def page(title: str, *, heading: bool = True, answers: bool = True) -> Iterator[None]:
    """Frame a page: the tab's title, the heading, and errors as sentences.

    Args:
        title: The page's name as in the navigation.
        heading: Whether to show it on the page; the item page has its head line instead.
        answers: Whether answers, or figures of them, are shown: then it is said where some are left out.
    """
    st.set_page_config(page_title=f"{title} · Judgeboard", layout="wide")
    if heading:
        st.title(title, anchor=False)
    if heading and answers:
        with suppress(Exception):  # the page will say it
            _say_hidden()
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
    """Return who uses this browser: the person who signed in, as stored at this moment, else whoever typed a name.

    None until a name was given (`ask_reviewer`); never None where people sign in.

    Raises:
        NotAllowed: Where people sign in: nobody has, or no admin lets them in (any more).
    """
    if sign_in().asked:
        return signed_in()
    name = reviewer_name()
    if not name:
        return None
    known: dict[tuple[str, str], Reviewer] = st.session_state.setdefault("reviewers", {})
    database = store()
    key = (database.shown_url, name)
    if key not in known:
        known[key] = ensure_reviewer(database, ORIGIN, name)
    return known[key]


def signed_in() -> Reviewer:
    """Return the person who signed in, as stored at this moment.

    Raises:
        NotAllowed: Nobody has, or no admin lets them in (any more).
    """
    address = None if sign_in().fault else verified_address()
    if address is None:
        raise NotAllowed("Sign in first.")
    arrives = st.session_state.get(_ARRIVED) != address
    st.session_state[_ARRIVED] = address
    return admit(store(), address, arrives=arrives)


def reviewer_name() -> str:
    """Return the name given in this browser, an empty text where none was, it was taken back, or people sign in."""
    if sign_in().asked:
        return ""
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


def _say_hidden() -> None:
    with reading() as connection:
        left_out = count_hidden(connection)
    if left_out:
        answers = "1 answer you review blind is" if left_out == 1 else f"{left_out:,} answers you review blind are"
        show(tag("div", f"{answers} left out.", cls="jb-cap"))


@cache
def _opened(url: str) -> Store:
    return open_store(url)

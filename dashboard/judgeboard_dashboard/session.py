"""The frame of a page in a browser session: title, columns, database, reviewer, errors, links to other pages."""

import getpass
import logging
import os
import secrets
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, partial
from threading import Lock
from typing import Any, Concatenate, Literal, NoReturn, ParamSpec, TypedDict, TypeVar, Unpack
from urllib.parse import unquote

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from judgeboard.domain import Action, Role
from judgeboard.errors import JudgeboardError, NotAllowed
from judgeboard.measure.sample import count_logged
from judgeboard.people.permissions import ENTERED, may, role_of, why_not
from judgeboard.people.roster import admit, ensure_reviewer
from judgeboard.settings.masking import masked, without_secrets
from judgeboard.settings.model import variable_of
from judgeboard.store.engine import Store, database_url
from judgeboard.store.hidden_rows import Reading, Reads, Seen, count_hidden
from judgeboard.store.opening import open_store
from judgeboard.store.outages import outage_words
from judgeboard.store.reviewers import reviewer_by_id
from judgeboard.store.sql_compiler import row_limits
from judgeboard.store.tables import Reviewer
from judgeboard.text import counted
from judgeboard_dashboard.evidence import show_div
from judgeboard_dashboard.sign_in import (
    SignInEnded,
    SignIns,
    entries,
    shown_cookie,
    sign_in,
    valid_sign_in,
)

_log = logging.getLogger("judgeboard.dashboard")
Figures = TypeVar("Figures")
Asked = ParamSpec("Asked")


@contextmanager
def caught() -> Iterator[None]:
    """Show an expected error as a sentence. Log any other error with the traceback, and show the number in the log."""
    try:
        yield
    except SignInEnded:
        st.rerun()  # the whole page, also from a part of a page: the whole page asks the person to sign in
    except JudgeboardError as error:
        problem(str(error))
    except Exception as error:  # noqa: BLE001 - the last handler of a page
        number, outage = numbered(error), outage_words(error)
        if outage is not None:
            problem(f"{outage}. Try again in a moment.")
        else:
            problem(f"Internal error {number}. The server's log has the details.")


@contextmanager
def saving(refusal: str = "Not saved") -> Iterator[None]:
    """Rerun the page after the block has stored something. If storing fails, show ``refusal`` and the reason."""
    try:
        yield
    except JudgeboardError as error:
        problem(f"{refusal}: {error}")
    else:
        st.rerun()


def numbered(error: Exception) -> str:
    """Write an unexpected error to the server's log and return the number in the log."""
    number = secrets.token_hex(3).upper()
    _log.error("error %s", number, exc_info=error)
    return number


def problem(sentence: str) -> None:
    """Show a sentence as a warning. One that names the address of the database is for admins and for the log."""
    if names_database(sentence) and not sees_database():
        _log.warning("not shown to everybody: %s", sentence)
        sentence = "The database cannot be used. The server's log has the reason. Ask an admin."
    show_div("jb-note", without_secrets(sentence), role="alert")


def names_database(text: str) -> bool:
    """Return whether a text has the path or the URL of the database in use."""
    url = database_url()
    address = url.database if url.get_backend_name() == "sqlite" else masked(url.render_as_string())
    return bool(address) and str(address) in text


def sees_database() -> bool:
    """Return whether the person may see the address of the database: without sign-in everybody, otherwise an admin."""
    if not sign_in().asked:
        return True
    try:
        return role_of(signed_in()) is Role.ADMIN
    except Exception:  # noqa: BLE001 - also because the database cannot be read
        return False


VIEWS = "views"
NAME_FIELD = "who_name"
NAME_COOKIE = "judgeboard_reviewer"
SUGGESTED_COOKIE = "judgeboard_suggested"  # the same name, until somebody enters a name or decides
LONGEST_NAME = 60
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_NAME = "reviewer_name"
_VIEW, _VISIT = "open_view", "page_visit"
_SUGGESTED, _REPLACED = "name_suggested", "name_replaced"
_SEEN: ContextVar[Seen | None] = ContextVar("seen", default=None)
_PERSON: ContextVar[list[Reviewer] | None] = ContextVar("person", default=None)
_ARRIVED = "arrived"
_BEGUN = (
    SignIns()
)  # sign-ins with a stored event: a page that is loaded again begins another session of Streamlit
_OPENING = Lock()


def store() -> Store:
    """Return the server's database, for changes. Pages read the database with `reading`.

    Raises JudgeboardError if the database is missing, has another revision, or cannot be reached.
    """
    with _OPENING:  # otherwise two threads open the database twice, and only one of the two is closed at the end
        return _opened(os.environ.get(variable_of("db")))


def seen() -> Seen:
    """Return the database without the rows that the person must review blind.

    Raises RuntimeError without a browser session. Use `as_now` for a function that runs later.
    """
    restored = _SEEN.get()
    if restored is not None:
        return restored
    if get_script_run_ctx() is None:
        raise RuntimeError("there is no browser session here")
    reviewer = current_reviewer()
    return Seen(store(), None if reviewer is None else reviewer.id)


def reading() -> Reading:
    """Return a transaction that reads what the person may see."""
    return seen().reading()


def read(
    function: Callable[Concatenate[Reads, Asked], Figures],
    *values: Asked.args,
    **options: Asked.kwargs,
) -> Figures:
    """Return what a function reads, limited to what the person may see; `reading` is for several functions."""
    with reading() as connection:
        return function(connection, *values, **options)


def read_all(
    function: Callable[Concatenate[Reads, Asked], Figures],
    *values: Asked.args,
    **options: Asked.kwargs,
) -> Figures:
    """Return what a function reads of all rows, for sign-in, marks and changes; `read` is for what a person sees."""
    with store().reading() as connection:
        return function(connection, *values, **options)


def kept_until_new_rows(
    mark: Callable[..., tuple[Hashable, ...]],
    load: Callable[..., Figures],
    key: tuple[Hashable, ...],
) -> Figures:
    """Return what ``load`` returns for a connection, kept for all sessions as long as ``mark`` returns the same.

    ``key`` tells the figures from all others. ``load`` uses the connection and the key alone, and
    no figures of an earlier look, when other rows may have been hidden. A person with very many
    answers to review blind gets figures that are not kept.
    """
    # The mark is older than the figures, and of all rows: a change may be hidden from the person.
    state = read_all(mark)
    with reading() as connection:
        limits = row_limits(connection)
        if limits is None:
            return load(connection)
        # As a text: Streamlit hashes ("a", "b") and ("astr:b",) to the same value.
        text = repr((str(store().engine.url), limits, state, *key))
        figures: Figures = _kept(text, partial(load, connection))
    return figures


@st.cache_resource(max_entries=40, show_spinner=False)
def _kept(key: str, _load: Callable[[], Any]) -> Any:  # noqa: ARG001 - the cache's key
    return _load()


def as_now(make: Callable[[], bytes]) -> Callable[[], bytes]:
    """Return a function that reads as the current person, for downloads, which run outside sessions."""
    now = seen()
    sign_ins = entries()

    def made() -> bytes:
        if sign_in().asked:
            valid_sign_in(sign_ins)
        # Refuse the download if the person was removed in the meantime.
        if sign_in().asked and now.viewer is not None:
            viewer = read_all(reviewer_by_id, now.viewer)
            if viewer is None or role_of(viewer) is Role.NONE:
                raise NotAllowed("An admin has removed you.")
        before = _SEEN.set(now)
        try:
            return make()
        finally:
            _SEEN.reset(before)

    return made


def enter(view: str) -> None:
    """Begin to show a view: another one than before counts as a visit."""
    st.session_state[_VISIT] = visit() + (st.session_state.get(_VIEW) != view)
    st.session_state[_VIEW] = view


@contextmanager
def page(*, answers: bool = True) -> Iterator[None]:
    """Show the errors of a view as sentences.

    If ``answers`` is true, the view is about answers and also shows how many answers are hidden.
    """
    if answers:
        with caught(), suppress(JudgeboardError):  # the view itself shows the error
            with reading() as connection:
                hidden = count_hidden(connection)
                visible = count_logged(connection) if hidden else 0
            if hidden:
                seen_words = f"You see {visible:,} of {counted(visible + hidden, 'answer')}."
                show_div("jb-cap", f"{seen_words} You are to review the others blind.")
    with caught():
        yield


def visit() -> int:
    """Return how many views this browser session has opened; a view that is opened again counts again."""
    return int(st.session_state.get(_VISIT, 0))


def stacking_columns(
    name: str, widths: int | Sequence[float], gap: Literal["small", "medium", "large"] = "medium"
) -> list[Any]:
    """Return columns; a narrow page shows the columns below each other. ``name`` must be unique on the page."""
    with st.container(key=f"stack_{name}"):
        return st.columns(widths, gap=gap)


def in_row(
    key: str | None = None,
    *,
    align: Literal["center", "bottom"] = "center",
    gap: Literal["small", "xsmall"] = "small",
    wrap: bool = True,
) -> DeltaGenerator:
    """Return a container whose parts stand side by side."""
    return st.container(key=key, horizontal=True, vertical_alignment=align, gap=gap, wrap=wrap)


class ButtonLooks(TypedDict, total=False):
    """How a button looks and what a press calls: arguments of ``st.button``."""

    type: Literal["primary", "secondary", "tertiary"]
    icon: str | None
    help: str | None
    shortcut: str | None
    disabled: bool
    on_click: Callable[..., None]
    args: tuple[object, ...]
    kwargs: dict[str, object]


def button(label: str, *, key: str, **looks: Unpack[ButtonLooks]) -> bool:
    """Show a button with the label on one line; return whether the button was pressed."""
    return st.button(label, key=key, wrap=False, **looks)


def open_rows(name: str, **parameters: str | float | list[str] | None) -> NoReturn:
    """Open a page with a filter: ``open_rows("responses", query_type="QA")``; None is skipped.

    For the body of a page, not for a callback.
    """
    st.switch_page(f"{VIEWS}/{name}.py", query_params=as_query(parameters))


def as_query(
    parameters: Mapping[str, str | int | float | list[str] | None],
) -> dict[str, str | list[str]]:
    """Return parameters for an address, without parameters that are None or empty."""
    return {
        key: value if isinstance(value, list) else str(value)
        for key, value in parameters.items()
        if value is not None and value not in ("", [])
    }


def as_id(text: str) -> int | None:
    """Return the id in a text of an address, None for a text that cannot be an id."""
    return int(text) if text.isdecimal() and len(text) <= 18 else None


def current_query() -> dict[str, list[str]]:
    """Return the parameters of the address, each with all values."""
    return {name: st.query_params.get_all(name) for name in st.query_params}


def current_reviewer() -> Reviewer | None:
    """Return the person who signed in. If sign-in is off, return the person who entered a name, otherwise None.

    Raises NotAllowed if sign-in is on and the person has not signed in, was not added by an admin,
    or was removed. If the sign-in has ended, the error is SignInEnded.
    """
    if sign_in().asked:
        return signed_in()
    name = reviewer_name()
    if not name:
        return None
    reviewers: dict[tuple[str, str], Reviewer] = st.session_state.setdefault("reviewers", {})
    database = store()
    key = (database.shown_url, name)
    if key not in reviewers:
        reviewers[key] = ensure_reviewer(database, ENTERED, name)
    return reviewers[key]


@contextmanager
def one_person() -> Iterator[None]:
    """Read only once who signed in: a run of a page asks dozens of times. A change reads the role again."""
    before = _PERSON.set([])
    try:
        yield
    finally:
        _PERSON.reset(before)


def signed_in() -> Reviewer:
    """Return the person who signed in, as stored now or, within `one_person`, as stored at the first call.

    Raises NotAllowed if the person has not signed in, was not added by an admin, or was removed.
    """
    people = _PERSON.get()
    if people:
        return people[0]
    name, facts = valid_sign_in([] if sign_in().fault else entries())
    database = store()
    begun = {**facts, "address": name, "database": database.shown_url}
    arrives = st.session_state.get(_ARRIVED) != name and begun not in _BEGUN
    st.session_state[_ARRIVED] = name
    person = admit(database, name, arrives=arrives)
    if arrives:
        _BEGUN.add(begun)
    if people is not None:
        people.append(person)
    return person


def reviewer_name() -> str:
    """Return the name entered in this browser; an empty text if sign-in is on.

    Before a name is entered, the name is a suggested one; the message of the first decision says so.
    """
    if sign_in().asked:
        return ""
    if _NAME not in st.session_state:
        cookie, suggested = map(shown_cookie, (NAME_COOKIE, SUGGESTED_COOKIE))
        own_name = tidy_name(unquote(cookie))
        name = own_name or suggested_name()
        st.session_state[_NAME] = name
        st.session_state[_SUGGESTED] = bool(name) and (not own_name or suggested == cookie)
    visible_name: str = st.session_state[_NAME]
    return visible_name


def name_is_suggested() -> bool:
    """Return whether the reviewer's name is the suggested one, which nobody has entered or decided under yet."""
    return bool(st.session_state.get(_SUGGESTED))


def accept_name() -> None:
    """Note that a decision was stored under the suggested name."""
    st.session_state[_SUGGESTED] = False


def replaced_reviewer() -> Reviewer | None:
    """Return the person of a suggested name that this session has replaced, only once; None if there is none."""
    name = st.session_state.pop(_REPLACED, None)
    return None if name is None else ensure_reviewer(store(), ENTERED, name)


def ask_reviewer(
    why: str = "Your name is stored with each decision.", *, to: Action | None = None
) -> Reviewer | None:
    """Return the reviewer, who may take the action ``to``.

    Without a name, say where to enter a name and return None. Without the permission, say who has
    the permission and return None.
    """
    reviewer = current_reviewer()
    if reviewer is None:
        show_div("jb-cap", f"Enter your name at the top of the page. {why}")
        return None
    if to is not None and not may(reviewer, to):
        show_div("jb-cap", why_not(to, reviewer))
        return None
    return reviewer


def name_field() -> None:
    """Show the field for the name."""
    st.text_input(
        "Your name",
        key=NAME_FIELD,
        label_visibility="collapsed",
        placeholder="Your name",
        width=220,
        on_change=give_name,
    )


def tidy_name(name: str) -> str:
    """Return a name on one line, without control characters, of at most 60 characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in name).split())[
        :LONGEST_NAME
    ]


def suggested_name() -> str:
    """Return the system user's name if the server serves only this machine, otherwise an empty text."""
    if (
        not {str(st.get_option("server.address")), *st.get_option("server.allowedHosts")}
        <= LOOPBACK
    ):
        return ""
    try:
        return tidy_name(getpass.getuser())
    except (KeyError, OSError):  # the user has no name
        return ""


def give_name() -> None:
    """Read the name from the field; the callback of the field."""
    st.session_state[_NAME] = tidy_name(st.session_state.get(NAME_FIELD, ""))
    st.session_state[_SUGGESTED] = False
    if st.session_state[_NAME] and st.session_state.get(_VIEW) == "item":
        st.rerun()  # a press on this page redraws only the item, but the name is shown outside the item


def named_reviewer() -> Reviewer | None:
    """Return the reviewer after a press of a button; show a problem if there is no name."""
    reviewer = current_reviewer()
    if reviewer is None:
        problem("Enter your name at the top of the page first.")
    return reviewer


def change_name() -> None:
    """Forget the name, so that the field for the name is shown again."""
    if name_is_suggested():
        st.session_state[_REPLACED] = st.session_state[_NAME]
    st.session_state[_NAME] = ""


def change_words(words: str) -> str:
    """Return a sentence about a change; an empty text if answers are hidden, because these may have changed."""
    return "" if read(count_hidden) else words


@cache
def _opened(_named: str | None) -> Store:
    return open_store()

"""Which pages a person may open, and what everybody else sees."""

import logging

import streamlit as st

from judgeboard.errors import BadInput, NotAllowed
from judgeboard.people.permissions import Action, check_allowed, may, role_of, why_not
from judgeboard.people.roster import turn_away
from judgeboard_dashboard.evidence import as_label, show, tag
from judgeboard_dashboard.session import caught, change_name, current_reviewer, signed_in, store
from judgeboard_dashboard.sign_in import sign_in, verified_address

_ATTEMPTS = "refused_attempts"
_TURNED_AWAY = "turned_away"
_log = logging.getLogger("judgeboard.dashboard")


def let_in() -> bool:
    """Whether who uses this browser may see any page; where not, show the one that says why and what to do."""
    asked = sign_in()
    if not asked.asked:
        return True
    if asked.fault is not None:
        _log.error("nobody can sign in: %s", asked.fault)
        _plain("Nobody can sign in: something is missing in how this server was set up. Its log says what.")
        return False
    with caught():
        try:
            address = verified_address()
            if address is not None:
                current_reviewer()
                return True
        except BadInput as error:
            if not st.session_state.get(_TURNED_AWAY):
                st.session_state[_TURNED_AWAY] = True
                turn_away(store())
            _plain(str(error), "Ask whoever runs this Judgeboard.")
            _sign_out()
            return False
        except NotAllowed as error:
            _plain(str(error), "Ask whoever runs this Judgeboard, and then load this page again.")
            _sign_out()
            return False
        _plain("This is the desk of people who check an LLM judge. It is for those whom an admin has added.")
        _sign_in_buttons()
    return False


def demand(action: Action) -> None:
    """Refuse a page to whom it is not for; called first in its body, within `session.page`.

    An attempt leaves an event; drawing the refused page again is the same attempt.

    Raises:
        NotAllowed: The role of the person does not allow the action.
    """
    if permitted(action):
        return
    person = signed_in()
    attempts: set[tuple[Action, str | None]] = st.session_state.setdefault(_ATTEMPTS, set())
    attempt = (action, st.context.url)
    if attempt in attempts:
        raise NotAllowed(why_not(action, role_of(person)))
    attempts.add(attempt)
    check_allowed(store(), person, action)  # who was promoted since it was read passes


def permitted(action: Action) -> bool:
    """Whether who uses this browser may do this: to hide what would be refused. The change itself asks again."""
    return not sign_in().asked or may(signed_in(), action)


def who_button(page: str) -> None:
    """Show who uses this browser, and the way out: to another name, or to sign out."""
    person = current_reviewer()
    if person is None:
        return
    signed_in = sign_in().asked
    st.button(
        as_label(person.name),
        key=f"{page}_who",
        type="tertiary",
        icon=":material/logout:" if signed_in else ":material/person:",
        help="You are signed in. Press to sign out."
        if signed_in
        else "You review under this name. Press to give another.",
        on_click=st.logout if signed_in else change_name,
        wrap=False,
    )


def _plain(*sentences: str) -> None:
    st.title("Judgeboard", anchor=False)
    show(tag("div", *(tag("div", sentence) for sentence in sentences), cls="jb-empty", role="status"))


def _sign_in_buttons() -> None:
    with st.container(key="sign_in", horizontal=True, gap="small"):
        for name in sign_in().providers:
            label = "Sign in" if name is None else f"Sign in with {as_label(name)}"
            st.button(
                label,
                key=f"sign_in_{name or 'default'}",
                type="primary",
                icon=":material/login:",
                on_click=st.login,
                args=(name,),
                wrap=False,
            )


def _sign_out() -> None:
    st.button("Sign out", key="sign_out", icon=":material/logout:", on_click=st.logout, wrap=False)

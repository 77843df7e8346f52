"""Sign-in and permissions of pages: who may open a page, and what everybody else sees."""

import logging

import streamlit as st

from judgeboard.domain import Action, Role
from judgeboard.errors import BadInput, NotAllowed
from judgeboard.people.permissions import check_allowed, may, role_of, why_not
from judgeboard.people.roster import turn_away
from judgeboard_dashboard.evidence import as_label, show_div, tag
from judgeboard_dashboard.return_page import open_form, start_sign_in
from judgeboard_dashboard.session import (
    button,
    caught,
    change_name,
    current_reviewer,
    in_row,
    name_field,
    signed_in,
    store,
)
from judgeboard_dashboard.sign_in import (
    SignInEnded,
    entries,
    sign_in,
    sign_out,
    ways,
)

# Views that need `Action.SEE_MANAGED`. These views are hidden from people without the permission,
# and each view also checks the permission (`demand`).
MANAGED = frozenset(
    {
        *("rejudge", "alerts"),
        *("sources", "people"),
        *("settings", "thresholds", "schemas", "versions", "events"),
    }
)
_CHANGE_NAME = "You review under this name. Press to change it."
_ATTEMPTS = "refused_attempts"
_TURNED_AWAY = "turned_away"
_log = logging.getLogger("judgeboard.dashboard")


def let_in() -> bool:
    """Return whether this browser may open pages; if not, show why and what to do."""
    configuration = sign_in()
    if not configuration.asked:
        return True
    if configuration.fault is not None:
        _log.error("sign-in is not set up correctly: %s", configuration.fault)
        _plain("Sign-in is not set up correctly on this server. The server's log has the details.")
        return False
    invitation = "Judgeboard checks an LLM judge against people. Sign in to continue. An admin must have added you."
    with caught():
        try:
            if entries():
                current_reviewer()
                demand(Action.SEE_PAGES)
                return True
        except SignInEnded as ended:
            invitation = str(ended)
        except (BadInput, NotAllowed) as error:
            unverified = isinstance(error, BadInput)
            if unverified and not st.session_state.get(_TURNED_AWAY):
                st.session_state[_TURNED_AWAY] = True
                turn_away(store())
            _plain(
                str(error),
                f"Ask an admin of this server{'' if unverified else ', then reload this page'}.",
            )
            button("Sign out", key="sign_out", icon=":material/logout:", on_click=sign_out)
            return False
        forms = [way.form for way in ways() if way.form and way.is_on()]
        if not (forms or configuration.providers):
            invitation = (
                "A proxy in front of this server signs people in, but told this server no name. "
                "Open these pages at the address of the proxy."
            )
        _plain(invitation)
        with in_row("sign_in"):
            for form in forms:
                button(
                    "Sign in with a password",
                    key=f"sign_in_{form}",
                    type="primary",
                    icon=":material/login:",
                    on_click=open_form,
                    args=(form,),
                )
            for name in configuration.providers:
                label = "Sign in" if name is None else f"Sign in with {as_label(name)}"
                button(
                    label,
                    key=f"sign_in_{name or 'default'}",
                    type="primary",
                    icon=":material/login:",
                    on_click=start_sign_in,
                    args=(name,),
                )
    return False


def demand(action: Action) -> None:
    """Refuse the page if the person lacks this permission. Must come first within `session.page`.

    A refused attempt is stored as an event, once per page and session.

    Raises:
        NotAllowed: The role of the person does not allow the action.
    """
    if permitted(action):
        return
    person = signed_in()
    attempts: set[tuple[Action, str | None]] = st.session_state.setdefault(_ATTEMPTS, set())
    attempt = (action, st.context.url)
    if attempt in attempts:
        raise NotAllowed(why_not(action, person))
    attempts.add(attempt)
    check_allowed(store(), person, action)  # passes if the role was changed in the meantime


def permitted(action: Action) -> bool:
    """Return whether the person may do this, to hide controls of pages. A change checks the permission again."""
    return not sign_in().asked or may(signed_in(), action)


def is_reviewer() -> bool:
    """Return whether the person signed in with the role reviewer."""
    return sign_in().asked and role_of(signed_in()) == Role.REVIEWER


def refusal(action: Action) -> str | None:
    """Return why the person may not do this, for the help of a disabled control; None if the person may."""
    return None if permitted(action) else why_not(action, signed_in())


def may_open(name: str) -> bool:
    """Return whether the person may open a view, named by the file of the view."""
    return name not in MANAGED or permitted(Action.SEE_MANAGED)


def who_button() -> None:
    """Show a button with the person's name, which signs the person out or, without sign-in, asks for another name.

    Without a name, show the field for a name.
    """
    person = current_reviewer()
    if person is None:
        name_field()
        return
    signed_in = sign_in().asked
    stays = signed_in and not any(entry.leads_to for entry in entries())
    words = "You are signed in. Press to sign out." if signed_in else _CHANGE_NAME
    button(
        as_label(person.name),
        key="person",
        type="tertiary",
        icon=":material/logout:" if signed_in and not stays else ":material/person:",
        help="You are signed in at the proxy of this server. Sign out there." if stays else words,
        on_click=sign_out if signed_in else change_name,
        disabled=stays,
    )


def _plain(*sentences: str) -> None:
    st.title("Judgeboard", anchor=False)
    show_div("jb-empty", *(tag("div", sentence) for sentence in sentences), role="status")

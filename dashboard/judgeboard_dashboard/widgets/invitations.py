"""The links with which people set a password, on the page of accounts."""

from urllib.parse import urlsplit

import streamlit as st

from judgeboard.accounts.accounts import LINK_DAYS, invite, link_address
from judgeboard.domain import ROLES, Role
from judgeboard.errors import JudgeboardError
from judgeboard.store.tables import Reviewer
from judgeboard_dashboard.session import button, problem, store
from judgeboard_dashboard.sign_in import configured_sign_in
from judgeboard_dashboard.widgets.texts import caption, heading


def invitations(admin: Reviewer) -> None:
    """Make a link with which a person sets a password, and show the link once."""
    heading("Invite, or reset a password")
    with st.container(border=True, key="people_invite"):
        name = st.text_input(
            "Name or e-mail address",
            key="invite_name",
            help="The person signs in with it. For a person with a password, the link resets it.",
        )
        role = st.selectbox(
            "Role of a new person",
            ROLES,
            index=None,
            placeholder=str(Role.REVIEWER),
            format_func=str,
            key="invite_role",
        )
        if not button("Create link", key="invite_save", icon=":material/link:"):
            return
        try:
            token = invite(store(), name, role, admin)
        except JudgeboardError as error:
            problem(f"Not invited: {error}")
            return
        here = urlsplit(st.context.url or "")
        server = f"{here.scheme}://{here.netloc}{configured_sign_in().prefix}"
        st.code(link_address(token, server), language=None, wrap_lines=True)
        caption(
            f"Send this link to {name.strip()}. It is shown only now, and works once, for {LINK_DAYS} days. "
            "When it is used, all earlier sign-ins of the person end."
        )

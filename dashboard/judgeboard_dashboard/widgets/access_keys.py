"""The keys of assistants and other programs, with their last use, and a form for a new key."""

import streamlit as st

from judgeboard.domain import Action
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.receiving.keys import (
    INGEST,
    READ,
    REVIEW,
    KeyUse,
    create_key,
    keys_with_use,
    revoke,
)
from judgeboard.store.clock import utc_now
from judgeboard.store.tables import Reviewer
from judgeboard.store.traces import list_sources
from judgeboard.text import MAX_NAME, day_words, shortened, utc_day
from judgeboard_dashboard.evidence import as_label
from judgeboard_dashboard.session import (
    ask_reviewer,
    button,
    reading,
    saving,
    stacking_columns,
    store,
    visit,
)
from judgeboard_dashboard.widgets.rule_states import LONGEST_LABEL
from judgeboard_dashboard.widgets.tables import choose_row, foot
from judgeboard_dashboard.widgets.texts import caption, heading, sentence, when, when_known

SCOPES = {
    INGEST: "Send answers and feedback",
    READ: "Read answers and figures",
    REVIEW: "Send reviews",
}
COLUMNS: Columns[KeyUse] = {
    Column("Key", width=180): lambda use: use.key.name,
    Column("State", width=90): lambda use: use.key.unusable(utc_now()) or "usable",
    Column(
        "Last used", width=115, help="Last day (UTC) on which a request with this key was accepted"
    ): (
        lambda use: None if use.last_used is None else day_words(utc_day(use.last_used), year=True)
    ),
    Column("Source", width=150, help="The only source that the key may send or read"): (
        lambda use: use.key.source or "any"
    ),
    Column("Scopes", width=130): lambda use: ", ".join(use.key.scopes),
    Column("Expires", width=110): lambda use: when_known(use.key.expires_at),
    Column("Created", width=120): lambda use: when(use.key.created_at),
    Column("By", width=150): lambda use: use.key.created_by,
}
_CREATED = "created_key"


def access_keys() -> None:
    """Show the keys with the button that revokes one, the token of a new key, and the form."""
    with reading() as connection:
        listed = keys_with_use(connection)
        sources = sorted({source.source for source in list_sources(connection)})
    sentence("A service proves with a key who it is: its requests have the token of the key.")
    reviewer = ask_reviewer("Your name is stored with the key.", to=Action.MANAGE_KEYS)
    _token()
    if listed:
        heading("Keys")
        chosen = listed[choose_row(Table.of(listed, COLUMNS), key=f"keys_{len(listed)}", most=10)]
        foot(
            Table.of(listed, COLUMNS), "keys", "The first request of each day is recorded as a use."
        )
        if reviewer is not None and chosen.key.revoked_at is None:
            label = f"Revoke {as_label(shortened(chosen.key.name, LONGEST_LABEL))}"
            with st.popover(
                label, icon=":material/key_off:", key=f"key_revoking_{chosen.key.name}"
            ):
                caption("Requests with this key are refused from now on. It cannot be used again.")
                # The key of the button has the name: if another person has changed the list, a press
                # revokes no other key.
                if button(label, key=f"key_revoke_{chosen.key.name}"):
                    with saving("Not revoked"):
                        revoke(store(), chosen.key.name, by=reviewer)
    else:
        caption(
            "There is no key yet: only this machine may send. As soon as there is a key, every sender needs one."
        )
    if reviewer is not None:
        _form(sources, reviewer)


def _token() -> None:
    """Show the token of a key that was just created, until the person leaves the page."""
    shown_in, name, token = st.session_state.get(_CREATED, (None, "", ""))
    if shown_in != visit():
        st.session_state.pop(_CREATED, None)
        return
    with st.container(border=True, key="key_token"):
        sentence(
            "Copy the token now. It is not stored and cannot be shown again.",
            lead=f"Created: {name}.",
        )
        st.code(token, language=None)
        caption("Send it as `Authorization: Bearer TOKEN` or `x-api-key: TOKEN`.")


def _form(sources: list[str], reviewer: Reviewer) -> None:
    heading("New key")
    left, right = stacking_columns("key_form", 2, gap="large")
    with left:
        name = st.text_input(
            "Name", key="key_name", max_chars=MAX_NAME, placeholder="The service that gets the key"
        )
        source = st.selectbox(
            "Source",
            sources,
            index=None,
            key="key_source",
            accept_new_options=True,
            placeholder="Any",
            help="The only source that the key may send or read.",
        )
    with right:
        scopes = st.multiselect(
            "Scopes",
            list(SCOPES),
            default=[INGEST],
            key="key_scopes",
            format_func=SCOPES.__getitem__,
        )
        days = st.number_input(
            "Expires after (days)", 1, value=None, key="key_days", placeholder="Never"
        )
    usable = bool(name.strip() and scopes)
    if button("Create key", key="key_create", type="primary", disabled=not usable):
        with saving("Not created"):
            token = create_key(
                store(), name.strip(), scopes=scopes, source=source or None, days=days, by=reviewer
            )
            st.session_state[_CREATED] = visit(), name.strip(), token
    caption(
        "To limit requests per second or their size, use a terminal: `judgeboard sources keys create --help`"
    )

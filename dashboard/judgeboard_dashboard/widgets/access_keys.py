"""The keys of assistants, agents and other programs: a form for a new key, all keys, and how one is revoked."""

import streamlit as st

from judgeboard.domain import Action
from judgeboard.errors import JudgeboardError
from judgeboard.formats.output import Column, Table
from judgeboard.receiving.keys import INGEST, create_key, last_use, revoke
from judgeboard.registry.scopes import SCOPES
from judgeboard.store.api_keys import list_keys
from judgeboard.store.clock import utc_now
from judgeboard.store.tables import Reviewer
from judgeboard.text import MAX_NAME, shortened
from judgeboard_dashboard.evidence import as_label
from judgeboard_dashboard.session import (
    ask_reviewer,
    button,
    problem,
    reading,
    saving,
    stacking_columns,
    store,
)
from judgeboard_dashboard.widgets.rule_states import LONGEST_LABEL
from judgeboard_dashboard.widgets.tables import choose_row
from judgeboard_dashboard.widgets.texts import caption, heading, when, when_known


def access_keys() -> None:
    """Show all keys with the button that revokes the selected one, and the form for a new key."""
    reviewer = ask_reviewer("Your name is stored with the key.", to=Action.MANAGE_KEYS)
    left, right = stacking_columns("access_keys", [1.7, 1])
    # The form comes first, so that the list has the new key.
    if reviewer is not None:
        with right:
            new_key(reviewer)
    with left:
        all_keys(reviewer)


def all_keys(reviewer: Reviewer | None) -> None:
    """Show all keys, and the button that revokes the selected one."""
    with reading() as connection:
        keys = list_keys(connection)
        uses = {key.id: last_use(connection, key) for key in keys}
    heading("Keys")
    if not keys:
        caption(
            "There is no key yet: only this machine may send. As soon as there is a key, every sender needs one."
        )
        return
    rows = Table.of(
        keys,
        {
            Column("Key", width=180): lambda key: key.name,
            Column("State", width=90): lambda key: key.unusable(utc_now()) or "usable",
            Column("Last used", width=130, help="The first request of each day is recorded"): (
                lambda key: when_known(uses[key.id])
            ),
            Column("Source", width=150, help="The only source that the key may send or read"): (
                lambda key: key.source or "any"
            ),
            Column("Scopes", width=130): lambda key: ", ".join(key.scopes),
            Column("Expires", width=130): lambda key: when_known(key.expires_at),
            Column("Created", width=130): lambda key: when(key.created_at),
            Column("By", width=150): lambda key: key.created_by,
        },
    )
    key = keys[choose_row(rows, key=f"keys_{len(keys)}", most=10)]
    if reviewer is None or key.revoked_at is not None:
        return
    label = f"Revoke {as_label(shortened(key.name, LONGEST_LABEL))}"
    with st.popover(label, icon=":material/key_off:", key=f"key_revoking_{key.id}"):
        caption("Requests with this key are refused from now on. The key cannot be used again.")
        if button(label, key=f"key_revoke_{key.id}"):
            with saving("Not revoked"):
                revoke(store(), key.name, by=reviewer)


def new_key(reviewer: Reviewer) -> None:
    """Make a key, and show the token once."""
    heading("New key")
    with st.container(border=True, key="key_form"):
        name = st.text_input(
            "Name", key="key_name", max_chars=MAX_NAME, placeholder="The program that gets the key"
        )
        scopes = st.multiselect(
            "Scopes",
            list(SCOPES),
            default=[INGEST],
            key="key_scopes",
            format_func=lambda scope: f"{scope}: {SCOPES[scope]}",
        )
        source = st.text_input(
            "Source",
            key="key_source",
            placeholder="Any",
            help="The only source that the key may send or read.",
        )
        days = st.number_input(
            "Expires after (days)", 1, value=None, key="key_days", placeholder="Never"
        )
        usable = bool(name.strip() and scopes)
        if not button("Create key", key="key_create", type="primary", disabled=not usable):
            return
        try:
            token = create_key(
                store(), name.strip(), scopes=scopes, source=source or None, days=days, by=reviewer
            )
        except JudgeboardError as error:
            problem(f"Not created: {error}")
            return
        st.code(token, language=None, wrap_lines=True)
        caption(
            "Copy the token now: it is not stored. Send it as `Authorization: Bearer TOKEN` or `x-api-key: TOKEN`."
        )

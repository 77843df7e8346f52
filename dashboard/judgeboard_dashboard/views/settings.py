"""The page Settings: flag rules, judge versions, failure modes, people and events."""

from collections.abc import Callable

import streamlit as st

from judgeboard.people.permissions import Action
from judgeboard.store.judge_versions import list_versions, retired_versions
from judgeboard.store.overview import count_open_flags, count_responses
from judgeboard.store.response_pages import response_facets
from judgeboard.store.settings import setting_origins
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import demand, permitted, who_button
from judgeboard_dashboard.session import page, reading, store
from judgeboard_dashboard.widgets.administration import database, events, people, versions
from judgeboard_dashboard.widgets.failure_modes import failure_mode_list
from judgeboard_dashboard.widgets.filters import switch
from judgeboard_dashboard.widgets.rule_settings import apply_rules, rules_form


def rules() -> None:
    """Show the flag rules at the left, the judge versions at the right."""
    demand(Action.CHANGE_SETTINGS)
    with reading() as connection:
        lines = setting_origins(connection)
        listed, retired = list_versions(connection), retired_versions(connection)
        query_types = response_facets(connection).query_types
        answers, open_flags = count_responses(connection), count_open_flags(connection)
    with st.container(key="stack_settings"):
        left, right = st.columns([1, 1.35], gap="medium")
    with left:
        rules_form(lines, sorted({version.name for version in listed if version.id not in retired}), query_types)
        apply_rules(answers)
        if permitted(Action.MANAGE_PEOPLE):  # the environment contains addresses of machines
            database(store(), answers, open_flags)
    with right:
        versions(listed, retired)


# The name of a part is also in the address.
PARTS: dict[str, Callable[[], None]] = {
    "Rules": rules,
    "Failure modes": failure_mode_list,
    "People": people,
    "Events": events,
}


def settings() -> None:
    """Show the selected part."""
    with st.container(key="settings_parts", horizontal=True, vertical_alignment="center", gap="small"):
        names = {name: name for name in PARTS}
        chosen = switch("Part of Settings", names, key="part", label_visibility="collapsed")
        show(tag("span"), width="stretch")
        who_button("settings")
    PARTS[chosen]()


with page("Settings", answers=False):
    settings()

"""Settings: the thresholds of the flag rules, the primary judge, judge versions with their prompts, the database."""

import streamlit as st

from judgeboard.store.figures.counts import store_counts
from judgeboard.store.judgments.judge_versions import list_versions
from judgeboard.store.responses.response_facets import response_facets
from judgeboard.store.settings_table import setting_origins
from judgeboard_dashboard.session import page, store
from judgeboard_dashboard.settings_parts.apply_rules import apply_rules
from judgeboard_dashboard.settings_parts.database import database
from judgeboard_dashboard.settings_parts.rules_form import rules_form
from judgeboard_dashboard.settings_parts.versions import versions


def settings() -> None:
    """Show what can be set at the left, what judged at the right."""
    with store().reading() as connection:
        lines = setting_origins(connection)
        listed = list_versions(connection)
        query_types = response_facets(connection).query_types
        counts = store_counts(connection)
    with st.container(key="stack_settings"):
        left, right = st.columns([1, 1.35], gap="medium")
    with left:
        rules_form(lines, sorted({version.name for version in listed}), query_types)
        apply_rules(counts.responses)
        database(store(), counts)
    with right:
        versions(listed)


with page("Settings"):
    settings()

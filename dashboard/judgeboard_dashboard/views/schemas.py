"""The page Schemas: the stored versions of label schemas, with YAML, preview and agreement."""

import shlex

import streamlit as st

from judgeboard.domain import Action
from judgeboard.measure.fields import field_agreement
from judgeboard.reports.agreement import fields_table
from judgeboard.store.label_schemas import list_schemas
from judgeboard.store.tables import SchemaVersion
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.review.schema_editor import schema_editor
from judgeboard_dashboard.session import page, read
from judgeboard_dashboard.widgets.tables import show_rows
from judgeboard_dashboard.widgets.texts import caption, confirm, confirmation, heading, sentence

NEW = "New schema"
_SAVED = "schema_saved"


def schemas() -> None:
    """Show one version: the YAML on the left, the preview on the right, the agreement of the fields below."""
    demand(Action.SEE_MANAGED)
    versions = {each.title: each for each in read(list_schemas)}
    confirmation("schemas")
    sentence("A label schema names the fields that reviewers of a queue fill in.")
    if _SAVED in st.session_state:
        st.session_state["version"] = st.session_state.pop(_SAVED)
    title = st.selectbox("Version", [*versions, NEW], key="version", bind="query-params", width=320)
    version = versions.get(title or "")
    st.fragment(schema_editor)(version, on_save=_saved)
    caption(
        "A changed schema becomes the next version of its name. Queues and reviews keep their version."
    )
    if version is not None:
        heading("Agreement")
        results = read(field_agreement, version.name)
        show_rows(fields_table(results), key="schema_agreement", most=12)
        caption(f"Reviews of all versions of {version.name}. A judge can fill in the same fields:")
        command = (
            f"judgeboard judge --judge rubric --schema {shlex.quote(version.name)} --model MODEL"
        )
        st.code(command, language=None, wrap_lines=True)


def _saved(version: SchemaVersion) -> None:
    confirm("schemas", f"Saved: {version.title}. New queues can use it.")
    st.session_state[_SAVED] = version.title


with page(answers=False):
    schemas()

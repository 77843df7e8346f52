"""The page Schemas: the stored versions of label schemas, with YAML editor, preview and agreement."""

import shlex

import streamlit as st

from judgeboard.agreement.fields import field_agreement
from judgeboard.errors import JudgeboardError
from judgeboard.formats.label_schema import SchemaField, as_yaml, schema_in
from judgeboard.people.permissions import Action, may
from judgeboard.reports.agreement import fields_table
from judgeboard.reports.output import Column, Columns, Table
from judgeboard.reviews.label_schemas import add_schema
from judgeboard.store.label_schemas import StoredSchema, list_schemas
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.session import current_reviewer, page, reading, saving, stacking_columns, store
from judgeboard_dashboard.widgets.confirmations import confirm, confirmation
from judgeboard_dashboard.widgets.tables import show_rows
from judgeboard_dashboard.widgets.texts import caption, heading, sentence

EXAMPLE = """name: support
fields:
  - label
  - name: verdict
    type: category
    required: true
    options: [send, fix, discard]
  - {name: tone, type: scale, levels: {1: rude, 2: neutral, 3: friendly}}
"""
NEW = "New schema"


def schemas() -> None:
    """Show one version as YAML on the left, its fields and their agreement on the right."""
    with reading() as connection:
        versions = {each.title: each for each in list_schemas(connection)}
    confirmation("schemas")
    sentence("A label schema names the fields that reviewers of a queue fill in.")
    left, right = stacking_columns("schemas", 2, gap="large")
    with left:
        title = st.selectbox("Version", [*versions, NEW], key="version", bind="query-params")
        stored = versions.get(title or "")
        text = _editor(stored)
    with right:
        _preview(text)
        if stored is not None:
            _agreement(stored)


def _editor(stored: StoredSchema | None) -> str:
    text = EXAMPLE if stored is None else as_yaml(stored.schema)
    name = "new" if stored is None else str(stored.id)
    edited: str = st.text_area("Schema as YAML", text, height=420, key=f"schema_yaml_{name}")
    reviewer = current_reviewer()
    allowed = reviewer is not None and may(reviewer, Action.MAKE_QUEUES)
    if st.button("Save version", key="schema_save", type="primary", disabled=not allowed) and reviewer is not None:
        with saving():
            saved = add_schema(store(), schema_in(edited), by=reviewer)
            confirm("schemas", f"Saved: {saved.title}. New queues can use it.")
    caption(
        "A changed schema becomes the next version of its name. Queues and reviews keep their version. "
        "A rubric can be pasted too: its dimensions become scales."
    )
    return edited


def _preview(text: str) -> None:
    heading("Preview")
    try:
        schema = schema_in(text)
    except JudgeboardError as error:
        show(tag("div", str(error), cls="jb-wrong"))
        return
    show_rows(Table.of(schema.fields, FIELD_COLUMNS), key="schema_fields", most=12)
    if any(field.required for field in schema.fields):
        caption("* required to confirm or dismiss")


def _values(field: SchemaField) -> str:
    if field.levels:
        return ", ".join(f"{level} {name}" if name else str(level) for level, name in field.levels)
    keys = {option.value: f" ({option.key})" for option in field.options if option.key}
    return ", ".join(f"{value}{keys.get(value, '')}" for value in field.values if not isinstance(value, bool))


def _word(value: object) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


FIELD_COLUMNS: Columns[SchemaField] = {
    Column("Field", width=110): lambda field: f"{field.name}{' *' if field.required else ''}",
    Column("Type", width=120): lambda field: (
        f"{field.type.value.replace('_', '/')}{' (several)' if field.many else ''}"
    ),
    Column("Values", width=245): _values,
    Column("Shown", width=160): lambda field: (
        " and ".join(f"{name} is {' or '.join(map(_word, values))}" for name, values in field.shown_when) or "always"
    ),
}


def _agreement(stored: StoredSchema) -> None:
    heading("Agreement")
    with reading() as connection:
        results = field_agreement(connection, stored.schema.name)
    show_rows(fields_table(results), key="schema_agreement", most=12)
    caption(f"Reviews of all versions of {stored.schema.name}. A judge can fill in the same fields:")
    command = f"judgeboard judge --judge rubric --schema {shlex.quote(stored.schema.name)} --model MODEL"
    st.code(command, language=None, wrap_lines=True)


with page(answers=False):
    schemas()

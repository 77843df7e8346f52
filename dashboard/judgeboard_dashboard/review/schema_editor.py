"""The editor of a label schema: the YAML, a menu that adds fields, and a preview of the review screen."""

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import streamlit as st

from judgeboard.domain import Action, Response
from judgeboard.errors import JudgeboardError
from judgeboard.formats.label_schema import LabelSchema, as_yaml, schema_in
from judgeboard.reviews.queues import add_schema
from judgeboard.store.tables import SchemaVersion
from judgeboard_dashboard.evidence import show_div
from judgeboard_dashboard.review.actions import deciding_field
from judgeboard_dashboard.review.drafts import Draft, ReviewSession
from judgeboard_dashboard.review.fields import fill_fields, grade_groups, note_fields
from judgeboard_dashboard.review.schema_form import SchemaActions, schema_fields
from judgeboard_dashboard.session import (
    ask_reviewer,
    button,
    in_row,
    saving,
    stacking_columns,
    store,
)
from judgeboard_dashboard.widgets.keys import keyboard
from judgeboard_dashboard.widgets.texts import caption, heading

EXAMPLE = """name: support
fields:
- name: label
- name: verdict
  type: category
  help: Would you send this answer to the customer?
  required: true
  options:
  - send
  - fix
  - discard
- name: tone
  type: scale
  levels:
    1: rude
    2: neutral
    3: friendly
"""
ADDED = {
    "Category": "{name: category, type: category, options: [option 1, option 2]}",
    "Several options": "{name: options, type: category, many: true, options: [option 1, option 2]}",
    "Yes or no": "{name: yes or no, type: yes_no}",
    "Scale": "{name: scale, type: scale, levels: {1: poor, 2: fair, 3: good}}",
    "Number": "{name: number, type: number, low: 0, high: 100}",
    "Text": "{name: text, type: text}",
    "Spans of the answer": "{name: spans, type: spans, options: [type 1, type 2]}",
    "Spans of the passages": "{name: passage spans, type: spans, on: passages, options: [type 1, type 2]}",
    "Ranking of passages": "{name: ranking, type: ranking}",
    "Label (built-in)": "label",
    "Groundedness (built-in)": "groundedness",
    "Quality (built-in)": "quality",
    "Note (built-in)": "note",
    "Corrected answer (built-in)": "corrected_answer",
}
"""The fields that the menu adds, as YAML."""
SAMPLE = Response(
    "",
    "",
    "",
    "The answer of an item.",
    ("The first passage.", "The second passage.", "The third passage."),
)
_PREVIEW = "schema_preview"
_FIRST_FILL = 1_000_000_000  # the preview's fields never have the keys of a real review's fields


def schema_editor(
    version: SchemaVersion | None, *, on_save: Callable[[SchemaVersion], None]
) -> None:
    """Show the YAML on the left and the preview on the right. Call ``on_save`` with a new stored version."""
    key = f"schema_text_{version.id if version else 'new'}"
    st.session_state.setdefault(key, as_yaml(version.content) if version else EXAMPLE)
    left, right = stacking_columns("schema_editor", [1.15, 1], gap="large")
    with left:
        text = str(st.text_area("Schema as YAML", height=460, key=key, persist_state="session"))
        caption(
            "Ctrl-Enter updates the preview. Every field may have `help: …`, `required: true` and "
            "`shown_when: {verdict: [fix, discard]}`. An option may be `{value: send, key: A, help: …}`. "
            "You can also paste a rubric."
        )
    schema, names = None, set[str]()
    with right:
        try:
            schema = schema_in(text)
        except JudgeboardError as error:
            show_div("jb-wrong", str(error))
        else:
            names = {each.name for each in schema.fields}
            _preview(schema)
    with left, in_row():
        st.menu_button(
            "Add field",
            [words for words, field_name in ADDED.items() if field_name not in names],
            key="schema_add",
            icon=":material/add:",
            disabled=schema is None,
            on_click=_add,
            args=(key, schema),
        )
        reviewer = ask_reviewer("Your name is stored with the version.", to=Action.MAKE_QUEUES)
        is_pressed = button(
            "Save version", key="schema_save", type="primary", disabled=reviewer is None
        )
    if is_pressed and reviewer is not None:
        with left, saving():
            on_save(add_schema(store(), schema_in(text), by=reviewer))
            del st.session_state[key]


def _add(key: str, schema: LabelSchema) -> None:
    """Add the field that was chosen in the menu to a schema. ``key`` is the key of the schema's text."""
    (field,) = schema_in(
        f"{{name: added, fields: [{ADDED[st.session_state['schema_add']]}]}}"
    ).fields
    names = {each.name for each in schema.fields}
    if field.name in names:
        others = (f"{field.name} {number}" for number in count(2))
        field = replace(field, name=next(name for name in others if name not in names))
    st.session_state[key] = as_yaml(replace(schema, fields=(*schema.fields, field)))


def _preview(schema: LabelSchema) -> None:
    """Show the fields as on the review screen. A person can try the fields; nothing is stored."""
    heading("Preview")
    session: ReviewSession = st.session_state.setdefault(
        _PREVIEW, ReviewSession(_fills=_FIRST_FILL)
    )
    if session.draft(0).schema != schema:
        session.put_draft(0, Draft(schema=schema))
    quality = next((each for each in schema.fields if each.name == "quality"), None)
    actions = SchemaActions(session, 0, schema, SAMPLE, quality)
    keys = keyboard()
    keys.appear("schema", time.monotonic())
    for press in keys.work_off():
        press.act()
    fill_fields(actions.draft)
    marks = {
        each.name: "required" if each.required else "optional"
        for each in schema.fields
        if each.built_in
    }
    with st.container(key="schema_preview", border=True, gap="small"):
        schema_fields(actions)
        if marks:
            with in_row(align="bottom"):
                grade_groups(actions, marks, actions)
        if "note" in marks:
            note_fields(actions.draft, "Note (M)", "Optional: what is wrong, or why it is fine")
        if "corrected_answer" in marks:
            caption("Reviewers correct the answer in its place (F9).")
    if session.message:
        caption(session.message)
    if (decides := deciding_field(actions.draft)) is not None:
        caption(f"The field {decides.name} is the decision: reviewers are asked for no other one.")
    missing_fields = schema.missing(actions.draft.all_values())
    caption(
        f"Required to confirm or dismiss: {', '.join(missing_fields)}."
        if missing_fields
        else "A reviewer can decide now."
    )

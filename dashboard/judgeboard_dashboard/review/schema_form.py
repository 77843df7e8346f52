"""The fields beside an answer: fields of a label schema or a rubric, with keys, and the failure modes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from itertools import zip_longest
from typing import Any

import streamlit as st
from streamlit.components import v2

from judgeboard.domain import Response
from judgeboard.formats.label_schema import BUILT_IN, TYPED, FieldType, LabelSchema, SchemaField
from judgeboard.judges.rubric_file import LEVELS
from judgeboard.reviews.checks import ASKED
from judgeboard.store.issues import list_modes
from judgeboard.store.tables import Queue
from judgeboard.text import shortened
from judgeboard_dashboard.evidence import as_label, show_div, tag
from judgeboard_dashboard.review.actions import Actions, DraftActions
from judgeboard_dashboard.review.claims import statements_of
from judgeboard_dashboard.review.drafts import AskedField, Draft, own_field
from judgeboard_dashboard.theme import SPANS
from judgeboard_dashboard.widgets.keys import key_button

YES_NO = {True: "Yes", False: "No"}
SELECT_FIRST = "Select a part of the text first: with the mouse, with the arrow keys, or a whole sentence with V."
LONGEST_LEVEL_NAME = 24  # characters; the tip of the button shows the whole name
NO_WORDS: Mapping[str, Sequence[str]] = {}

_SELECTION = (files("judgeboard_dashboard") / "selection.js").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class SchemaActions(DraftActions):
    """The actions for the fields of a schema.

    The current field is read when a key press is processed: two digits in quick succession fill in
    two fields, even if the second field is not drawn yet. The ``quality`` of the built-in grade has
    digits too. If the schema asks for ``quality``, this field is the first one.
    """

    schema: LabelSchema
    response: Response
    quality: SchemaField | None = None

    @property
    def fields(self) -> tuple[SchemaField, ...]:
        """The shown fields that digits or typed text can go to."""
        own = tuple(
            field for field in self.schema.shown(self.draft.all_values()) if not field.built_in
        )
        return own if self.quality is None else (self.quality, *own)

    @property
    def choosable(self) -> list[SchemaField]:
        """The shown fields with choices."""
        return [field for field in self.fields if field.type not in TYPED]

    @property
    def current(self) -> SchemaField | None:
        """The field that digits or typed text go to; None if no field is shown."""
        named_field = next(
            (field for field in self.fields if field.name == self.draft.field_at), None
        )
        return named_field or next(iter(self.choosable or self.fields), None)

    def choices(self, field: SchemaField) -> tuple[Any, ...]:
        """Return what a reviewer can choose in a field: the values, or the numbers of the passages."""
        if field.type is FieldType.RANKING:
            return tuple(range(1, len(self.response.passages or ()) + 1))
        return field.values

    def next(self) -> None:
        """Go to the next field, or from the last to the first. A required field without a value is not skipped."""
        names, field = [field.name for field in self.fields], self.current
        if field is None:
            return
        if field.required and self.draft.all_values().get(field.name) in (None, "", []):
            asks: AskedField | None = "field" if field.type in TYPED else None
            self.session.say(f"Not skipped: {field.name} is required.", refused=True, asks=asks)
            return
        self.session.say("")
        self.draft.field_at = names[(names.index(field.name) + 1) % len(names)]

    def digits(self, field: SchemaField) -> dict[str, Any]:
        """Return the value that each digit chooses in a field.

        A level of a scale has the digit of the level. Other values count from 1. The digit 0 is
        the tenth value if no value is 0.
        """
        first = field.values[0] if field.type is FieldType.SCALE else 1
        numbered = [*enumerate(self.choices(field), start=first)]
        return {
            str(number % 10): value for number, value in reversed(numbered) if 0 <= number <= 10
        }

    def pick(self, digit: str) -> None:
        """Choose the value with this digit in the current field."""
        values = {} if self.current is None else self.digits(self.current)
        if self.current is not None and digit in values:
            self.choose(self.current, values[digit])

    def choose(self, field: SchemaField, value: Any) -> None:
        """Choose a value, or remove a chosen value. In a single-choice field, then go to the next field."""
        values, before = self.draft.values, self.draft.values.get(field.name)
        self.draft.field_at = field.name
        if field.type is FieldType.SPANS:
            self._mark(field, value)
            return
        if field.many or field.type is FieldType.RANKING:
            values[field.name] = self.draft.toggle(own_field(field.name), value, before or ())
            return
        if field.built_in:
            self.give(field.name, value)
        elif (
            not self.draft.use_restored(own_field(field.name), value)
            and before is not None
            and before == value
        ):
            del values[field.name]
        else:
            values[field.name] = value
        if self.draft.all_values().get(field.name) is not None:
            later = [each.name for each in self.choosable]
            self.draft.field_at = [*later[later.index(field.name) + 1 :], field.name][0]

    def remove(self, field: SchemaField, span: Mapping[str, Any]) -> None:
        """Remove a span."""
        self.draft.values[field.name] = [
            each for each in self.draft.values.get(field.name, ()) if each != span
        ]

    def _mark(self, field: SchemaField, kind: str) -> None:
        """Mark the selected text, otherwise the current sentence of the answer."""
        place = self._place(field)
        if place is None:
            self.session.say(SELECT_FIRST, refused=True)
            return
        spans = self.draft.values.get(field.name, [])
        self.draft.values[field.name] = self.draft.toggle(
            own_field(field.name), {"type": kind, **place}, spans
        )
        self.session.say("")

    def _place(self, field: SchemaField) -> dict[str, int] | None:
        selection, answer = self.draft.selection, self.response.answer
        if selection is not None and bool(selection["passage"]) == (field.on == "passages"):
            place = {"start": selection["start"], "end": selection["end"]}
            return place | ({"passage": selection["passage"]} if field.on == "passages" else {})
        statements = statements_of(answer)
        if field.on == "answer" and self.draft.at is not None and statements:
            statement = statements[self.draft.at % len(statements)]
            if statement.start is not None and statement.end is not None:
                return {"start": statement.start, "end": statement.end}
        return None


def rubric_schema(
    rules: Queue, words: Mapping[str, Sequence[str]] = NO_WORDS, *, required: bool = True
) -> LabelSchema | None:
    """Return the dimensions of a rubric that a queue asks for, as scales from 1 to 5; None without dimensions.

    ``words`` has the meanings of the levels by dimension, from a judge that the reviewer may see.
    """
    scales = tuple(
        SchemaField(
            name,
            FieldType.SCALE,
            required=required and name in rules.grades,
            levels=tuple(zip_longest(LEVELS, words.get(name, ())[: len(LEVELS)])),
        )
        for name in rules.asked
        if name not in ASKED
    )
    return LabelSchema("rubric", scales) if scales else None


def schema_actions(
    actions: Actions, rules: Queue | None, response: Response
) -> SchemaActions | None:
    """Return the actions for the fields of the draft's schema, None without a schema; ``rules`` ask for the quality."""
    if actions.draft.schema is None:
        return None
    quality = None
    if rules is not None and "quality" in rules.asked:
        quality = replace(BUILT_IN["quality"], required="quality" in rules.grades)
    return SchemaActions(actions.session, actions.subject, actions.draft.schema, response, quality)


def side_fields(actions: Actions, rules: Queue | None, response: Response) -> None:
    """Show the fields of the draft's schema, and the failure modes. See `schema_actions`."""
    draft, fields = actions.draft, schema_actions(actions, rules, response)
    if fields is not None:
        schema_fields(fields)
        if fields.schema.of_type(FieldType.SPANS):
            draft, colours = fields.draft, _colours(fields.schema)
            spans: Sequence[Mapping[str, Any]] = [
                {"passage": None, **span, "colour": colours[field.name, span["type"]]}
                for field in fields.schema.of_type(FieldType.SPANS)
                for span in draft.values.get(field.name, ())
            ]
            current = fields.current
            on_passages = current is not None and current.on == "passages"
            selection = v2.component("judgeboard_selection", js=_SELECTION)
            selection(
                data={
                    "spans": spans,
                    "first": "#p1 .jb-evidence" if on_passages else ".jb-answer",
                    "row": actions.row,
                },
                key=f"selection_{draft.noted}",
                on_selection_change=lambda: None,
                height=1,
            )
    with actions.store.reading() as connection:  # everybody may see the list
        all_modes = list_modes(connection).values()
    tag_modes = [mode for mode in all_modes if not mode.retired or mode.name in draft.modes]
    if not tag_modes:
        return
    with st.container(key="failure_modes", gap="xxsmall"):
        show_div("jb-label", "Failure modes")
        with st.container(horizontal=True, gap="xxsmall"):
            for place, mode in enumerate(tag_modes):
                key_button(
                    as_label(mode.name),
                    partial(draft.choose_mode, mode.name),
                    key=f"mode_{place}",
                    shortcut=f"Shift+{mode.key}" if mode.key else None,
                    is_chosen=mode.name in draft.modes,
                    tip=as_label(mode.description) if mode.description else None,
                )


def schema_fields(fields: SchemaActions) -> None:
    """Show the fields of a label schema, except the parts of the built-in grade."""
    draft = fields.draft
    current = fields.current
    with st.container(key="rubric_group_fields", gap="small"):
        for place, field in enumerate(fields.fields):
            if field.built_in:
                continue
            at = field is current
            key = (
                "schema_here" if at and field.type in TYPED else f"schema_field_{place}"
            )  # key K focuses this field
            with st.container(key=key, gap="xxsmall"):
                mark = "required" if field.required else "optional"
                show_div(
                    "jb-label",
                    f"{'▸ ' if at else ''}{field.name}",
                    tag("span", mark, cls=f"jb-{mark}"),
                )
                if field.help:
                    show_div("jb-cap", field.help)
                if field.type in TYPED:
                    _typed_field(draft, field)
                else:
                    chosen_value = fields.draft.values.get(field.name)
                    options = {option.value: option for option in field.options}
                    digits = (
                        {value: digit for digit, value in fields.digits(field).items()}
                        if at
                        else {}
                    )
                    with st.container(horizontal=True, gap="xxsmall"):
                        for number, value in enumerate(fields.choices(field)):
                            option = options.get(value)
                            own_key, digit = (
                                None if option is None else option.key,
                                digits.get(value),
                            )
                            name = _words(field, value, chosen_value)
                            key_button(
                                as_label(shortened(name, LONGEST_LEVEL_NAME)),
                                partial(fields.choose, field, value),
                                key=f"field_{field.name}_{number}",
                                shortcut=own_key or digit,
                                by_key=partial(fields.pick, digit)
                                if digit and not own_key
                                else None,
                                is_chosen=_is_chosen(field, value, chosen_value),
                                tip=as_label(
                                    (option and option.help)
                                    or (name if len(name) > LONGEST_LEVEL_NAME else "")
                                )
                                or None,
                                each=True,
                            )
                if field.type is FieldType.SPANS:
                    _spans(fields, field)
        if current is not None:
            key_button(
                "Next field", fields.next, key="field_next", shortcut="K", quiet=True, each=True
            )


def typed_key(draft: Draft, field: SchemaField) -> str:
    """Return the key of the field for a number or a text. The key changes when the key of the note changes."""
    return f"schema_{field.name}_{draft.noted}"


def read_schema_fields(draft: Draft) -> None:
    """Copy typed and selected values into the draft."""
    if draft.schema is None:
        return
    state = st.session_state
    for field in draft.schema.of_type(*TYPED):
        if typed_key(draft, field) in state:
            value = state[typed_key(draft, field)]
            draft.values[field.name] = value
            if value in (None, ""):
                del draft.values[field.name]
    component = state.get(f"selection_{draft.noted}")
    selection = None if component is None else component.get("selection")
    if selection is not None and selection != draft.selected:
        draft.selected = draft.selection = dict(selection)


def _typed_field(draft: Draft, field: SchemaField) -> None:
    key = typed_key(draft, field)
    if key not in st.session_state:
        st.session_state[key] = draft.values.get(field.name)
    label = as_label(field.name)
    if field.type is FieldType.TEXT:
        st.text_area(label, key=key, height=80, label_visibility="collapsed")
    else:
        st.number_input(
            label,
            field.low,
            field.high,
            value=None,
            key=key,
            label_visibility="collapsed",
            format="%g",
        )


def _words(field: SchemaField, value: Any, chosen_value: Any) -> str:
    """Return the name of a choice. A level with a name shows no number, which would look like the key."""
    if field.type is FieldType.RANKING:
        ranks = list(chosen_value or ())
        return f"Passage {value}{f' ({ranks.index(value) + 1})' if value in ranks else ''}"
    if isinstance(value, bool):
        return YES_NO[value]
    return dict(field.levels).get(value) or str(value)


def _is_chosen(field: SchemaField, value: Any, chosen_value: Any) -> bool:
    if chosen_value is None or field.type is FieldType.SPANS:
        return False
    return value in chosen_value if isinstance(chosen_value, list) else bool(chosen_value == value)


def _spans(fields: SchemaActions, field: SchemaField) -> None:
    for number, span in enumerate(fields.draft.values.get(field.name, ())):
        passage = span.get("passage")
        text = (
            fields.response.answer
            if passage is None
            else (fields.response.passages or ())[passage - 1]
        )
        colour = _colours(fields.schema)[field.name, span["type"]]
        words = f"{span['type']}{f', passage {passage}' if passage else ''}: "
        with st.container(horizontal=True, gap="xxsmall", vertical_alignment="center", wrap=False):
            quote = f"“{shortened(text[span['start'] : span['end']])}”"
            show_div("jb-cap jb-line", tag("b", words, cls=f"jb-span-{colour}"), quote)
            key = f"unmark_{field.name}_{number}"
            key_button("Remove", partial(fields.remove, field, span), key=key, quiet=True)


def _colours(schema: LabelSchema) -> dict[tuple[str, str], int]:
    types = [
        (field.name, value) for field in schema.of_type(FieldType.SPANS) for value in field.values
    ]
    return {each: place % len(SPANS) for place, each in enumerate(types)}

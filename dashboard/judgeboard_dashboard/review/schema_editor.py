"""The form for a label schema: its fields, its YAML, and a preview with the fields of the review screen.

The form changes the record of the schema (`LabelSchema`). The YAML is its export, and YAML can be pasted back.
`schema_in` checks both, with the sentences of `judgeboard queue schema add`.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from judgeboard.domain import Action, Response
from judgeboard.errors import JudgeboardError
from judgeboard.formats.label_schema import (
    BUILT_IN,
    KEYS,
    MOST_OPTIONS,
    FieldType,
    LabelSchema,
    Option,
    SchemaField,
    as_yaml,
)
from judgeboard.formats.label_schema import schema_in as checked_schema
from judgeboard.reviews.queues import add_schema
from judgeboard.store.label_schemas import StoredSchema
from judgeboard_dashboard.evidence import as_label, show, tag
from judgeboard_dashboard.review.drafts import Draft, ReviewSession
from judgeboard_dashboard.review.fields import fill_fields, grade_groups, note_fields
from judgeboard_dashboard.review.schema_form import SchemaActions, schema_fields
from judgeboard_dashboard.session import ask_reviewer, problem, stacking_columns, store
from judgeboard_dashboard.widgets.keys import keyboard
from judgeboard_dashboard.widgets.texts import caption, heading

EXAMPLE = """name: support
fields:
  - label
  - name: verdict
    type: category
    required: true
    options: [send, fix, discard]
  - {name: tone, type: scale, levels: {1: rude, 2: neutral, 3: friendly}}
"""
KINDS = {
    FieldType.CATEGORY: "Category",
    FieldType.YES_NO: "Yes or no",
    FieldType.SCALE: "Scale",
    FieldType.NUMBER: "Number",
    FieldType.TEXT: "Text",
    FieldType.SPANS: "Spans of the text",
    FieldType.RANKING: "Ranking of passages",
}
YES_NO = {True: "yes", False: "no"}
SAMPLE = Response(
    "", "", "", "The answer of an item.", ("The first passage.", "The second passage.", "The third passage.")
)
_DRAFT, _PREVIEW = "schema_draft", "schema_preview"
_FIRST_FILL = 1_000_000_000  # the preview's fields never have the keys of a real review's fields


@dataclass
class SchemaDraft:
    """A label schema that is not stored yet.

    ``of`` is the id of the version that it changes, None for a new schema. ``schema`` is the record that the form
    changes; it may still be incomplete. ``text`` is the schema as YAML. ``typed``: the text was typed, and the form
    cannot show it because it has an error. ``at`` is the index of the open field. ``shown`` is part of the keys of the
    form: a new number refills it from the record. ``texts`` counts the texts; it is the key of the area with the YAML.
    """

    of: int | None
    schema: LabelSchema
    text: str
    typed: bool = False
    at: int | None = None
    shown: int = 0
    texts: int = 0

    @classmethod
    def start(cls, stored: StoredSchema | None) -> "SchemaDraft":
        """Return the draft of a version, or of a new schema."""
        if stored is None:
            return cls(None, checked_schema(EXAMPLE), EXAMPLE)
        return cls(stored.id, stored.schema, as_yaml(stored.schema))

    def change(self, schema: LabelSchema, *, refill: bool = True) -> None:
        """Replace the record; its YAML follows."""
        self.schema, self.text, self.typed = schema, as_yaml(schema), False
        self.texts += 1
        if refill:
            self.shown += 1

    def paste(self, text: str) -> None:
        """Take a text of YAML. If it has no error, the form shows it."""
        self.text = text
        try:
            self.schema, self.typed = checked_schema(text), False
        except JudgeboardError:
            self.typed = True
        self.at = None
        self.shown += 1
        self.texts += 1

    def change_field(self, place: int, changed: Callable[[SchemaField], SchemaField], *, refill: bool = False) -> None:
        """Change one field. Conditions of later fields follow a new name."""
        fields = list(self.schema.fields)
        before = fields[place]
        after = fields[place] = changed(before)
        if after.name != before.name:
            fields = [_renamed(each, before.name, after.name) for each in fields]
        self.change(replace(self.schema, fields=tuple(fields)), refill=refill)

    def change_option(self, place: int, number: int, changed: Callable[[Option], Option]) -> None:
        """Change one option. Conditions of later fields follow a new value."""
        options = list(self.schema.fields[place].options)
        before = options[number]
        after = options[number] = changed(before)
        self.change_field(place, lambda field: replace(field, options=tuple(options)))
        if after.value != before.value:
            name = self.schema.fields[place].name
            fields = tuple(_renamed_value(each, name, before.value, after.value) for each in self.schema.fields)
            if fields != self.schema.fields:
                self.change(replace(self.schema, fields=fields))

    def add(self, kind: FieldType | str) -> None:
        """Add a field of a type, or a part of the built-in grade, and open it."""
        taken = {each.name for each in self.schema.fields}
        added = _new_field(kind, taken) if isinstance(kind, FieldType) else BUILT_IN[kind]
        self.change(replace(self.schema, fields=(*self.schema.fields, added)))
        self.at = len(self.schema.fields) - 1

    def remove(self, place: int) -> None:
        """Remove a field."""
        fields = [each for number, each in enumerate(self.schema.fields) if number != place]
        self.change(replace(self.schema, fields=tuple(fields)))
        self.at = None

    def move(self, place: int, by: int) -> None:
        """Exchange a field with the one before it (-1) or after it (1)."""
        fields = list(self.schema.fields)
        fields[place], fields[place + by] = fields[place + by], fields[place]
        self.change(replace(self.schema, fields=tuple(fields)))
        if self.at == place:
            self.at = place + by

    def open(self, place: int) -> None:
        """Open a field, or close it."""
        self.at = None if self.at == place else place


def _new_field(kind: FieldType, taken: set[str]) -> SchemaField:
    start = kind.value.replace("_", " ")
    names = (start, *(f"{start} {number}" for number in range(2, len(taken) + 3)))
    return SchemaField(next(name for name in names if name not in taken), kind, **_parts_of(kind))


def _parts_of(kind: FieldType) -> dict[str, Any]:
    """Return the parts with which a new field of a type is complete."""
    if kind in {FieldType.CATEGORY, FieldType.SPANS}:
        return {"options": (Option("option 1"), Option("option 2"))}
    return {"levels": tuple((level, None) for level in range(1, 6))} if kind is FieldType.SCALE else {}


def _renamed(each: SchemaField, before: str, after: str) -> SchemaField:
    conditions = tuple((after if name == before else name, values) for name, values in each.shown_when)
    return replace(each, shown_when=conditions)


def _renamed_value(each: SchemaField, field_name: str, before: str, after: str) -> SchemaField:
    conditions = tuple(
        (name, tuple(after if name == field_name and value == before else value for value in values))
        for name, values in each.shown_when
    )
    return replace(each, shown_when=conditions)


def schema_editor(stored: StoredSchema | None, *, saved: Callable[[StoredSchema], None]) -> None:
    """Show the form on the left and the preview on the right. ``saved`` is called with the version that was stored."""
    draft: SchemaDraft | None = st.session_state.get(_DRAFT)
    if draft is None or draft.of != (None if stored is None else stored.id):
        draft = st.session_state[_DRAFT] = SchemaDraft.start(stored)
    left, right = stacking_columns("schema_editor", [1.15, 1], gap="large")
    with left:
        _Form(draft).show()
        _save(draft, saved)
    with right:
        _preview(draft)


def _save(draft: SchemaDraft, saved: Callable[[StoredSchema], None]) -> None:
    reviewer = ask_reviewer("Your name is stored with the version.", to=Action.MAKE_QUEUES)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        pressed = st.button("Save version", key="schema_save", type="primary", disabled=reviewer is None, wrap=False)
        st.download_button(
            "Download YAML",
            draft.text,
            f"{draft.schema.name or 'schema'}.yaml",
            "application/yaml",
            key="schema_download",
            icon=":material/download:",
            on_click="ignore",
            type="tertiary",
        )
    if pressed and reviewer is not None:
        try:
            stored = add_schema(store(), checked_schema(draft.text), by=reviewer)
        except JudgeboardError as error:
            problem(f"Not saved: {error}")
        else:
            del st.session_state[_DRAFT]
            saved(stored)


@dataclass(frozen=True, slots=True)
class _Form:
    """The fields of the form. Each writes its part of the record in its callback, before the next run draws it."""

    draft: SchemaDraft

    def show(self) -> None:
        draft = self.draft
        if draft.typed:
            caption("The YAML has an error. The form is shown again after the error is corrected.")
        else:
            self._text("Name of the schema", "name", draft.schema.name, self._rename)
            with st.container(key="schema_fields", gap="xsmall"):
                for place, each in enumerate(draft.schema.fields):
                    self._row(place, each)
            self._additions()
        with st.expander("YAML", key="schema_yaml_part", expanded=draft.typed):
            key = self._start(("yaml", draft.texts), draft.text)
            st.text_area(
                "Schema as YAML",
                height=320,
                key=key,
                on_change=self._unless_older(lambda: draft.paste(st.session_state[key]), texts=True),
                help="The file that `judgeboard queue schema add` reads. Paste a file here to fill in the form. A "
                "rubric can be pasted too: its dimensions become scales.",
            )

    def _key(self, *parts: object) -> str:
        return "_".join(map(str, ("schema_of", *parts, self.draft.shown)))

    def _rename(self, name: str) -> None:
        self.draft.change(replace(self.draft.schema, name=name.strip()), refill=False)

    def _row(self, place: int, each: SchemaField) -> None:
        is_open = self.draft.at == place
        kind = "built-in" if each.built_in else KINDS[each.type]
        label = f"{'▾' if is_open else '▸'} {as_label(each.name)} :gray[· {kind}{', required' * each.required}]"
        st.button(label, key=self._key("open", place), type="tertiary", on_click=self.draft.open, args=(place,))
        if is_open:
            with st.container(key=self._key("field", place), border=True, gap="small"):
                self._field(place, each)
                self._moves(place)

    def _moves(self, place: int) -> None:
        draft, last = self.draft, len(self.draft.schema.fields) - 1
        with st.container(horizontal=True, gap="medium"):
            for label, icon, act, args, off in (
                ("Move up", ":material/arrow_upward:", draft.move, (place, -1), place == 0),
                ("Move down", ":material/arrow_downward:", draft.move, (place, 1), place == last),
                ("Remove field", ":material/delete:", draft.remove, (place,), last == 0),
            ):
                key = self._key(*label.lower().split(), place)
                st.button(label, key=key, icon=icon, on_click=act, args=args, disabled=off, type="tertiary", wrap=False)

    def _field(self, place: int, each: SchemaField) -> None:
        change = partial(self.draft.change_field, place)
        if not each.built_in:
            with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
                self._text(
                    "Field name",
                    ("name", place),
                    each.name,
                    lambda name: change(lambda field: replace(field, name=name.strip())),
                )
                self._choice(
                    "Type", ("type", place), tuple(KINDS), each.type, KINDS, lambda kind: self._retype(place, kind)
                )
        hint = "Shown under the name of the field"
        self._text(
            "Help",
            ("help", place),
            each.help,
            lambda text: change(lambda field: replace(field, help=text.strip() or None)),
            hint,
        )
        with st.container(horizontal=True, gap="medium"):
            self._tick(
                "Required",
                ("required", place),
                each.required,
                lambda on: change(lambda field: replace(field, required=on)),
            )
            if each.type is FieldType.CATEGORY and not each.built_in:
                self._tick(
                    "Several options",
                    ("many", place),
                    each.many,
                    lambda on: change(lambda field: replace(field, many=on)),
                )
        if not each.built_in:
            if each.type in {FieldType.CATEGORY, FieldType.SPANS}:
                self._options(place, each)
            if each.type is FieldType.SPANS:
                texts = {"answer": "the answer", "passages": "the passages"}
                self._choice(
                    "Spans of",
                    ("on", place),
                    tuple(texts),
                    each.on,
                    texts,
                    lambda on: change(lambda field: replace(field, on=on)),
                )
            if each.type is FieldType.SCALE:
                self._levels(place, each)
            if each.type is FieldType.NUMBER:
                with st.container(horizontal=True, gap="small"):
                    self._number(
                        "Lowest (optional)",
                        ("low", place),
                        each.low,
                        lambda end: change(lambda field: replace(field, low=end)),
                    )
                    self._number(
                        "Highest (optional)",
                        ("high", place),
                        each.high,
                        lambda end: change(lambda field: replace(field, high=end)),
                    )
        self._conditions(place, each)

    def _retype(self, place: int, kind: FieldType) -> None:
        before = self.draft.schema.fields[place]
        has_options = {FieldType.CATEGORY, FieldType.SPANS}
        parts = _parts_of(kind) | ({"options": before.options} if {kind, before.type} <= has_options else {})
        after = SchemaField(before.name, kind, before.help, before.required, shown_when=before.shown_when, **parts)
        self.draft.change_field(place, lambda _field: after)

    def _options(self, place: int, each: SchemaField) -> None:
        for number, option in enumerate(each.options):
            keys, first = (place, number), number == 0
            change = partial(self.draft.change_option, place, number)
            with st.container(horizontal=True, gap="small", vertical_alignment="bottom", wrap=False):
                self._text(
                    f"Option {number + 1}",
                    ("option", *keys),
                    option.value,
                    partial(_set_value, change),
                    labelled=first,
                    shown_label="Options",
                )
                self._text(
                    f"Help of option {number + 1}",
                    ("option_help", *keys),
                    option.help,
                    partial(_set_help, change),
                    labelled=first,
                    shown_label="Help",
                )
                if each.type is FieldType.CATEGORY:
                    self._choice(
                        f"Key of option {number + 1}",
                        ("option_key", *keys),
                        tuple(KEYS),
                        option.key,
                        {},
                        partial(_set_key, change),
                        labelled=first,
                        shown_label="Key",
                        width=90,
                        optional=True,
                    )
                st.button(
                    "Remove",
                    key=self._key("option_remove", *keys),
                    wrap=False,
                    type="tertiary",
                    disabled=len(each.options) == 1,
                    on_click=self._without_option,
                    args=(place, number),
                )
        st.button(
            "Add option",
            key=self._key("option_add", place),
            icon=":material/add:",
            type="tertiary",
            on_click=self._with_option,
            args=(place,),
        )

    def _without_option(self, place: int, number: int) -> None:
        options = self.draft.schema.fields[place].options
        left = (*options[:number], *options[number + 1 :])
        self.draft.change_field(place, lambda field: replace(field, options=left), refill=True)

    def _with_option(self, place: int) -> None:
        options = self.draft.schema.fields[place].options
        values = {option.value for option in options}
        names = (f"option {number}" for number in range(len(options) + 1, 2 * len(options) + 2))
        added = Option(next(name for name in names if name not in values))
        self.draft.change_field(place, lambda field: replace(field, options=(*options, added)), refill=True)

    def _levels(self, place: int, each: SchemaField) -> None:
        first, names = each.levels[0][0], [name for _, name in each.levels]

        def change(first: int, names: Sequence[str | None], *, refill: bool = True) -> None:
            levels = tuple((first + step, name) for step, name in enumerate(names))
            self.draft.change_field(place, lambda field: replace(field, levels=levels), refill=refill)

        with st.container(horizontal=True, gap="small", vertical_alignment="bottom", wrap=False):
            self._number("Lowest level", ("level", place), first, lambda low: change(int(low or 0), names), step=1)
            self._number(
                "Number of levels",
                ("level_count", place),
                len(names),
                lambda size: change(first, _cut(names, size)),
                step=1,
            )
        for number, name in enumerate(names):

            def rename(text: str, number: int = number) -> None:
                now = [level_name for _, level_name in self.draft.schema.fields[place].levels]
                now[number] = text.strip() or None
                change(first, now, refill=False)

            self._text(f"Name of level {first + number}", ("level_name", place, number), name, rename, "No name")

    def _conditions(self, place: int, each: SchemaField) -> None:
        """Show the earlier values for which the field is shown: one of each field that is named."""
        earlier = self.draft.schema.fields[:place]
        chosen = [(name, value) for name, values in each.shown_when for value in values]
        offered = [(other.name, value) for other in earlier for value in other.values]
        offered += [pair for pair in chosen if pair not in offered]
        if not offered:
            return
        key = self._start(("shown_when", place), [offered.index(pair) for pair in chosen])

        def take() -> None:
            pairs = [offered[number] for number in sorted(st.session_state[key])]
            names = dict.fromkeys(name for name, _ in pairs)
            conditions = tuple((name, tuple(value for of, value in pairs if of == name)) for name in names)
            self.draft.change_field(place, lambda field: replace(field, shown_when=conditions))

        st.multiselect(
            "Shown only if",
            range(len(offered)),
            key=key,
            format_func=lambda number: _condition_words(*offered[number]),
            placeholder="Always shown",
            on_change=self._unless_older(take),
            help="Of several values of one field, any is enough. If several fields are named, each needs one of its "
            "values.",
        )

    def _additions(self) -> None:
        names = {each.name for each in self.draft.schema.fields}
        with st.container(horizontal=True, gap="small", key="schema_add"):
            with st.popover("Add field", icon=":material/add:", key=self._key("add")):
                for kind, words in KINDS.items():
                    st.button(words, key=f"schema_add_{kind}", type="tertiary", on_click=self.draft.add, args=(kind,))
            if set(BUILT_IN) - names:
                with st.popover("Add built-in field", key=self._key("add_built_in")):
                    for name in BUILT_IN:
                        if name not in names:
                            key = f"schema_add_{name}"
                            words = name.replace("_", " ").capitalize()
                            st.button(words, key=key, type="tertiary", on_click=self.draft.add, args=(name,))

    def _text(
        self,
        label: str,
        part: object,
        value: str | None,
        take: Callable[[str], None],
        placeholder: str | None = None,
        *,
        labelled: bool = True,
        shown_label: str | None = None,
    ) -> None:
        key = self._start(part, value or "")
        st.text_input(
            (shown_label if labelled and shown_label else label),
            key=key,
            placeholder=placeholder,
            label_visibility="visible" if labelled else "collapsed",
            on_change=self._unless_older(lambda: take(st.session_state[key] or "")),
        )

    def _number(
        self, label: str, part: object, value: float | None, take: Callable[[Any], None], *, step: int | None = None
    ) -> None:
        key = self._start(part, value)
        st.number_input(
            label,
            value=None,
            step=step,
            key=key,
            format="%d" if step else "%g",
            on_change=self._unless_older(lambda: take(st.session_state[key])),
        )

    def _tick(self, label: str, part: object, value: bool, take: Callable[[bool], None]) -> None:
        key = self._start(part, value)
        st.checkbox(label, key=key, on_change=self._unless_older(lambda: take(st.session_state[key])))

    def _choice(
        self,
        label: str,
        part: object,
        values: Sequence[Any],
        value: Any,
        words: Mapping[Any, str],
        take: Callable[[Any], None],
        *,
        labelled: bool = True,
        shown_label: str | None = None,
        width: int | None = None,
        optional: bool = False,
    ) -> None:
        key = self._start(part, value)
        st.selectbox(
            shown_label if labelled and shown_label else label,
            values,
            key=key,
            index=None if optional else 0,
            format_func=lambda each: words.get(each, str(each)),
            label_visibility="visible" if labelled else "collapsed",
            on_change=self._unless_older(lambda: take(st.session_state[key])),
            width=width or "stretch",
            placeholder="–",
        )

    def _start(self, part: object, value: Any) -> str:
        """Return the key of a field; a field that is not drawn yet starts with the value of the record."""
        key = self._key(*(part if isinstance(part, tuple) else (part,)))
        st.session_state.setdefault(key, value)
        return key

    def _unless_older(self, take: Callable[[], None], *, texts: bool = False) -> Callable[[], None]:
        """Return what takes a change of a field, unless the field was replaced since it was drawn.

        A browser that has not drawn the new fields yet sends the values of the old ones with the next change. Streamlit
        has forgotten these by then, and takes them for changes.
        """
        drawn = self.draft.texts if texts else self.draft.shown

        def take_it() -> None:
            if drawn == (self.draft.texts if texts else self.draft.shown):
                take()

        return take_it


_ChangeOption = Callable[[Callable[[Option], Option]], None]


def _set_value(change: _ChangeOption, text: str | None) -> None:
    """Give an option a value; the record refuses an empty one."""
    change(lambda option: replace(option, value=(text or "").strip()))


def _set_help(change: _ChangeOption, text: str | None) -> None:
    change(lambda option: replace(option, help=(text or "").strip() or None))


def _set_key(change: _ChangeOption, key: str | None) -> None:
    change(lambda option: replace(option, key=key or None))


def _cut(names: Sequence[str | None], size: float | None) -> list[str | None]:
    """Return the names of so many levels; a scale has at least 2."""
    levels = min(max(int(size or 2), 2), MOST_OPTIONS)
    return [*names, *[None] * levels][:levels]


def _condition_words(name: str, value: object) -> str:
    return f"{name} is {YES_NO[value] if isinstance(value, bool) else value}"


def _preview(draft: SchemaDraft) -> None:
    """Show the fields as the review screen draws them. They can be tried out; nothing is stored."""
    heading("Preview")
    try:
        schema = checked_schema(draft.text)
    except JudgeboardError as error:
        show(tag("div", str(error), cls="jb-wrong"))
        return
    session: ReviewSession = st.session_state.setdefault(_PREVIEW, ReviewSession(_fills=_FIRST_FILL))
    if session.draft(0).schema != schema:
        session.put_draft(0, Draft(schema=schema))
    quality = next((each for each in schema.fields if each.name == "quality"), None)
    actions = SchemaActions(session, 0, schema, SAMPLE, quality)
    keys = keyboard()
    keys.appear("schema", time.monotonic())
    for press in keys.work_off():
        press.act()
    fill_fields(actions.draft)
    marks = {each.name: "required" if each.required else "optional" for each in schema.fields if each.built_in}
    with st.container(key="schema_preview", border=True, gap="small"):
        schema_fields(actions)
        if marks:
            with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
                grade_groups(actions, marks, actions)
        if "note" in marks:
            note_fields(actions.draft, "Note (M)", "Optional: what is wrong, or why it is fine")
        if "corrected_answer" in marks:
            caption("Reviewers correct the answer in its place (F9).")
    if session.message:
        caption(session.message)
    missing = schema.missing(actions.draft.all_values())
    caption(f"Required to confirm or dismiss: {', '.join(missing)}." if missing else "A reviewer can decide now.")
